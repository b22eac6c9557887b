"""From a decoded KubeSchedulerConfiguration to the profiles that it sets up.

Mirrors ``pkg/scheduler/apis/config/v1/defaults.go`` and ``conversion.go`` (v1.36). ``validity`` decodes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from kubesched_lint.engine.base.places import Path, Source
from kubesched_lint.engine.cluster.profiles.plugins import (
    PluginSet,
    at_point,
    foreign,
    half_disabled,
    plugin_sets,
    weights,
)
from kubesched_lint.engine.model.decode.fields import Value, each
from kubesched_lint.engine.model.decode.pods import node_terms, preferred_node_term, spread_constraint
from kubesched_lint.engine.model.pod import (
    DEFAULT_SCHEDULER,
    DEVICES_PLUGIN,
    EQUAL_WEIGHTS,
    FILTERS,
    LEAST_ALLOCATED,
    NEED_PREFILTER,
    PREFILTERS,
    WEIGHTS,
    SchedulerProfile,
    ScoringStrategy,
)

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def profiles_of(configuration: Value, source: Source | None = None) -> Mapping[str, SchedulerProfile]:
    """Return scheduler name → profile of a valid configuration, with its place in ``source``."""
    profiles = (
        replace(
            _profile(profile, i, configuration),
            origin="" if source is None else f"{source.path}:{source.span(('profiles', i)).line}",
            source=source,
            configuration=configuration,
        )
        for i, profile in enumerate(configuration.get("profiles") or [{}])
    )
    return {profile.name: profile for profile in profiles}


def _profile(profile: Value, number: int, configuration: Value) -> SchedulerProfile:
    custom = plugin_sets(profile)
    filters, prefilters, after = (_names(custom, point) for point in ("filter", "preFilter", "postFilter"))
    failing = tuple(name for name in filters if name in NEED_PREFILTER and name not in prefilters)
    every = dict(weights(custom))
    extenders = configuration.get("extenders", ())
    for_all: int = configuration.get("percentageOfNodesToScore", 0)
    return SchedulerProfile(
        name=profile.get("schedulerName") or DEFAULT_SCHEDULER,
        filters=tuple(name for name in filters if name in FILTERS),
        prefilters=tuple(name for name in prefilters if name in PREFILTERS),
        failing=failing,
        weights={name: weight for name, weight in every.items() if name in WEIGHTS},
        capacity_weight=every.get("VolumeBinding", 0),
        preempts="DefaultPreemption" in after,
        allocates_devices=DEVICES_PLUGIN in filters,
        devices_weight=every.get(DEVICES_PLUGIN, 0),
        percentage_of_nodes_to_score=profile.get("percentageOfNodesToScore", for_all),
        unmodelled=(
            *(f"the extender {extender.get('urlPrefix', '')}".rstrip() for extender in extenders),
            *(f"the plugin {name}" for name in foreign(custom)),
        ),
        half_disabled=() if failing else tuple(half_disabled(custom)),
        **_arguments(profile, ("profiles", number, "pluginConfig"), frozenset(_taken_over(extenders))),
    )


def _taken_over(extenders: list[Value]) -> Iterator[str]:
    """Yield the resources that extenders take over from NodeResourcesFit."""
    for extender in extenders:
        for resource in extender.get("managedResources", ()):
            if resource.get("ignoredByScheduler"):
                yield resource["name"]


def _names(custom: Mapping[str, PluginSet], point: str) -> tuple[str, ...]:
    return tuple(plugin.name for plugin in at_point(point, custom))


def _arguments(profile: Value, path: Path, ignored: frozenset[str]) -> dict[str, Any]:
    """Return the fields of a profile that ``pluginConfig`` sets."""
    arguments: dict[str, Any] = {"ignored_resources": frozenset()}
    for i, entry in enumerate(profile.get("pluginConfig", ())):
        read = _READERS.get(entry.get("name", ""))
        if read is not None:
            arguments.update(read(entry.get("args", {}), (*path, i, "args")))
    arguments["ignored_resources"] |= ignored
    return arguments


def _fit(args: Value, path: Path) -> Iterator[tuple[str, Any]]:
    yield "ignored_resources", frozenset(args.get("ignoredResources", ()))
    yield "ignored_resource_groups", frozenset(args.get("ignoredResourceGroups", ()))
    strategy = args.get("scoringStrategy", {})
    yield (
        "strategy",
        ScoringStrategy(
            strategy.get("type") or LEAST_ALLOCATED,
            dict(_resources(strategy)) or EQUAL_WEIGHTS,
            _shape(strategy.get("requestedToCapacityRatio", {})),
        ),
    )


def _shape(value: Value) -> tuple[tuple[int, int], ...]:
    return tuple((point.get("utilization", 0), point.get("score", 0)) for point in value.get("shape", ()))


def _volume_binding(args: Value, path: Path) -> Iterator[tuple[str, Any]]:
    if points := _shape(args):
        yield "capacity_shape", points


def _resources(value: Value) -> Iterator[tuple[str, int]]:
    for resource in value.get("resources", ()):
        yield resource.get("name", ""), resource.get("weight") or 1


def _balanced(args: Value, path: Path) -> Iterator[tuple[str, Any]]:
    yield "balanced_resources", tuple(dict(_resources(args)) or EQUAL_WEIGHTS)


def _node_affinity(args: Value, path: Path) -> Iterator[tuple[str, Any]]:
    added, affinity_path = args.get("addedAffinity", {}), (*path, "addedAffinity")
    if _REQUIRED in added:
        yield "added_node_terms", node_terms(added[_REQUIRED], (*affinity_path, _REQUIRED))
    yield "added_preferred_node_terms", each(preferred_node_term, added, _PREFERRED, affinity_path)


def _spread(args: Value, path: Path) -> Iterator[tuple[str, Any]]:
    if args.get("defaultingType") == "List":
        yield "default_spread", each(spread_constraint, args, "defaultConstraints", path)


def _pod_affinity(args: Value, path: Path) -> Iterator[tuple[str, Any]]:
    yield "hard_pod_affinity_weight", args.get("hardPodAffinityWeight", 1)
    yield "ignores_preferred_terms_of_existing_pods", args.get("ignorePreferredTermsOfExistingPods", False)


def _preemption(args: Value, path: Path) -> Iterator[tuple[str, Any]]:
    for key, name in (
        ("minCandidateNodesPercentage", "min_candidate_nodes_percentage"),
        ("minCandidateNodesAbsolute", "min_candidate_nodes_absolute"),
    ):
        if key in args:
            yield name, args[key]


_READERS = {
    "DefaultPreemption": _preemption,
    "InterPodAffinity": _pod_affinity,
    "NodeAffinity": _node_affinity,
    "NodeResourcesBalancedAllocation": _balanced,
    "NodeResourcesFit": _fit,
    "PodTopologySpread": _spread,
    "VolumeBinding": _volume_binding,
}
READ_ARGUMENTS = frozenset(_READERS)
"""The plugins whose arguments are read."""
