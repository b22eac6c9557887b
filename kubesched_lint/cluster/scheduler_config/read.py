"""From a KubeSchedulerConfiguration to the profiles that it sets up.

Mirrors ``pkg/scheduler/apis/config/v1/defaults.go`` and ``conversion.go`` (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from kubesched_lint.cluster.scheduler_config.plugins import (
    EXTENSION_POINTS,
    MULTI_POINT,
    Plugin,
    PluginSet,
    at_point,
    fault,
    foreign,
    half_disabled,
    weights,
)
from kubesched_lint.findings import Path, Source
from kubesched_lint.model.decode.fields import DecodeError, Value, boolean, each, integer, items, mapping, text, texts
from kubesched_lint.model.decode.pods import node_terms, preferred_node_term, spread_constraint
from kubesched_lint.model.pod import (
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
    SpreadConstraint,
)

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def profiles_of(configuration: Value, source: Source | None = None) -> Mapping[str, SchedulerProfile]:
    """Return scheduler name → profile, with its place in ``source``.

    Raises DecodeError for a wrong type, and for plugins with which kube-scheduler does not start.
    """
    percentage = integer(configuration, "percentageOfNodesToScore", ()) or 0
    written = list(items(configuration, "profiles", ())) or [({}, ())]
    ignored, unmodelled = _extenders(configuration)
    found = (
        replace(
            _profile(profile, path, percentage, ignored, unmodelled),
            origin="" if source is None else f"{source.path}:{source.span(path).line}",
            source=source,
            configuration=configuration,
        )
        for profile, path in written
    )
    return {profile.name: profile for profile in found}


def _extenders(configuration: Value) -> tuple[frozenset[str], tuple[str, ...]]:
    """Return the resources that extenders take over from NodeResourcesFit, and the extenders themselves."""
    ignored: set[str] = set()
    named: list[str] = []
    for extender, path in items(configuration, "extenders", ()):
        named.append(f"the extender {text(extender, 'urlPrefix', path)}".rstrip())
        for resource, at in items(extender, "managedResources", path):
            if boolean(resource, "ignoredByScheduler", at):
                ignored.add(text(resource, "name", at))
    return frozenset(ignored), tuple(named)


def _profile(
    profile: Value, path: Path, percentage: int, ignored: frozenset[str], unmodelled: tuple[str, ...]
) -> SchedulerProfile:
    name, custom = text(profile, "schedulerName", path) or DEFAULT_SCHEDULER, _plugin_sets(profile, path)
    point, wrong = fault(name, custom)
    if wrong:
        raise DecodeError((*path, "plugins", *([point] if point in custom else ())), wrong)
    filters, prefilters, after = (_names(custom, point) for point in ("filter", "preFilter", "postFilter"))
    failing = tuple(name for name in filters if name in NEED_PREFILTER and name not in prefilters)
    every = dict(weights(custom))
    scored = {name: weight for name, weight in every.items() if name in WEIGHTS}
    own = integer(profile, "percentageOfNodesToScore", path)
    return SchedulerProfile(
        name=name,
        filters=tuple(name for name in filters if name in FILTERS),
        prefilters=tuple(name for name in prefilters if name in PREFILTERS),
        failing=failing,
        weights=scored,
        capacity_weight=every.get("VolumeBinding", 0),
        preempts="DefaultPreemption" in after,
        allocates_devices=DEVICES_PLUGIN in filters,
        devices_weight=every.get(DEVICES_PLUGIN, 0),
        percentage_of_nodes_to_score=percentage if own is None else own,
        unmodelled=(*unmodelled, *(f"the plugin {name}" for name in foreign(custom))),
        half_disabled=() if failing else tuple(half_disabled(custom)),
        **_arguments(profile, path, ignored),
    )


def _names(custom: Mapping[str, PluginSet], point: str) -> tuple[str, ...]:
    return tuple(plugin.name for plugin in at_point(point, custom))


def _plugin_sets(profile: Value, path: Path) -> Mapping[str, PluginSet]:
    plugins, here = mapping(profile, "plugins", path), (*path, "plugins")
    found = {}
    for point in (MULTI_POINT, *EXTENSION_POINTS):
        value, at = mapping(plugins, point, here), (*here, point)
        enabled = tuple(
            Plugin(text(item, "name", place), integer(item, "weight", place) or 0)
            for item, place in items(value, "enabled", at)
        )
        disabled = frozenset(text(item, "name", place) for item, place in items(value, "disabled", at))
        if enabled or disabled:
            found[point] = PluginSet(enabled, disabled)
    return found


def _arguments(profile: Value, path: Path, ignored: frozenset[str]) -> dict[str, Any]:
    """Return the fields of a profile that ``pluginConfig`` sets."""
    found: dict[str, Any] = {"ignored_resources": ignored}
    for entry, at in items(profile, "pluginConfig", path):
        read = _READERS.get(text(entry, "name", at))
        if read is not None:
            found.update(read(mapping(entry, "args", at), (*at, "args")))
    found["ignored_resources"] |= ignored
    return found


def _fit(args: Value, path: Path) -> Iterator[tuple[str, Any]]:
    yield "ignored_resources", frozenset(texts(args, "ignoredResources", path))
    yield "ignored_resource_groups", frozenset(texts(args, "ignoredResourceGroups", path))
    strategy, here = mapping(args, "scoringStrategy", path), (*path, "scoringStrategy")
    ratio = mapping(strategy, "requestedToCapacityRatio", here)
    yield (
        "strategy",
        ScoringStrategy(
            text(strategy, "type", here) or LEAST_ALLOCATED,
            dict(_resources(strategy, here)) or EQUAL_WEIGHTS,
            _shape(ratio, (*here, "requestedToCapacityRatio")),
        ),
    )


def _shape(value: Value, path: Path) -> tuple[tuple[int, int], ...]:
    return tuple(
        (integer(point, "utilization", at) or 0, integer(point, "score", at) or 0)
        for point, at in items(value, "shape", path)
    )


def _volume_binding(args: Value, path: Path) -> Iterator[tuple[str, Any]]:
    if points := _shape(args, path):
        yield "capacity_shape", points


def _resources(value: Value, path: Path) -> Iterator[tuple[str, int]]:
    for item, at in items(value, "resources", path):
        yield text(item, "name", at), integer(item, "weight", at) or 1


def _balanced(args: Value, path: Path) -> Iterator[tuple[str, Any]]:
    yield "balanced_resources", tuple(dict(_resources(args, path)) or EQUAL_WEIGHTS)


def _node_affinity(args: Value, path: Path) -> Iterator[tuple[str, Any]]:
    added, here = mapping(args, "addedAffinity", path), (*path, "addedAffinity")
    required = added.get(_REQUIRED)
    if required is not None:
        yield "added_node_terms", node_terms(mapping(added, _REQUIRED, here), (*here, _REQUIRED))
    yield "added_preferred_node_terms", each(preferred_node_term, added, _PREFERRED, here)


def _spread(args: Value, path: Path) -> Iterator[tuple[str, Any]]:
    constraints: tuple[SpreadConstraint, ...] = each(spread_constraint, args, "defaultConstraints", path)
    if text(args, "defaultingType", path) == "List":
        yield "default_spread", constraints


def _pod_affinity(args: Value, path: Path) -> Iterator[tuple[str, Any]]:
    weight = integer(args, "hardPodAffinityWeight", path)
    yield "hard_pod_affinity_weight", 1 if weight is None else weight
    yield "ignores_preferred_terms_of_existing_pods", boolean(args, "ignorePreferredTermsOfExistingPods", path)


def _preemption(args: Value, path: Path) -> Iterator[tuple[str, Any]]:
    for key, name in (
        ("minCandidateNodesPercentage", "min_candidate_nodes_percentage"),
        ("minCandidateNodesAbsolute", "min_candidate_nodes_absolute"),
    ):
        amount = integer(args, key, path)
        if amount is not None:
            yield name, amount


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
