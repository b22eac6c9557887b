"""Whether kube-scheduler starts with a configuration; if not, why, in its own words.

Mirrors strict decoding, ``pkg/scheduler/apis/config/validation/validation.go`` and ``validation_pluginargs.go``, and
NewFramework of ``framework/runtime/framework.go`` (v1.36). Of the sections that change no decision (clients, leader
election), durations are only decoded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain

from msgspec.structs import replace

from kubesched_lint.engine.apiserver.values.causes import (
    Cause,
    complaints,
    duplicate,
    field_of,
    forbidden,
    invalid,
    named,
    not_supported,
    required,
)
from kubesched_lint.engine.apiserver.values.decoding import decode
from kubesched_lint.engine.apiserver.values.names import label_key, label_value
from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.base.releases import RECORDED
from kubesched_lint.engine.cluster.profiles.plugins import (
    DEFAULTS,
    EXTENSION_POINTS,
    MULTI_POINT,
    PluginSet,
    at_point,
    foreign,
    has_point,
    merged,
    plugin_sets,
)
from kubesched_lint.engine.model.decode.fields import DecodeError, Value
from kubesched_lint.engine.model.pod import DEFAULT_SCHEDULER

API_VERSION, KIND = "kubescheduler.config.k8s.io/v1", "KubeSchedulerConfiguration"
_REMOVED = ("AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits")
_STRATEGIES = ("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio")
_ACTIONS = ("DoNotSchedule", "ScheduleAnyway")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def validated(configuration: Value, *, scores_capacity: bool = False) -> Value:
    """Return a configuration as kube-scheduler decodes it. Raises DecodeError with the first thing that it refuses.

    ``scores_capacity``: the gate StorageCapacityScoring is on.
    """
    if configuration.get("apiVersion") != API_VERSION:
        raise DecodeError(("apiVersion",), f"only {API_VERSION} is read")
    decoded, causes, _ = decode(configuration, RECORDED, f"v1.{KIND}")
    causes = causes or tuple(_decode_arguments(decoded))
    for cause in causes or chain(_invalid(decoded, scores_capacity=scores_capacity), _not_started(decoded)):
        raise DecodeError(cause.path, str(cause) if cause.reason else cause.message)
    result: Value = decoded
    return result


def _decode_arguments(configuration: Value) -> Iterator[Cause]:
    """Put decoded arguments in the place of the raw ones; yield what cannot be decoded."""
    for i, profile in enumerate(configuration.get("profiles", ())):
        for j, entry in enumerate(profile.get("pluginConfig", ())):
            name, args = entry.get("name", ""), entry.get("args")
            if name in _ARGUMENTS and args is not None:
                yield from _of_other_kind(name, args, (i, j))
                entry["args"], causes, _ = decode(args, RECORDED, f"v1.{name}Args")
                where = f"decoding .profiles[{i}].pluginConfig[{j}]: decoding args for plugin {name}"
                for cause in causes:
                    path = ("profiles", i, "pluginConfig", j, "args", *cause.path)
                    yield replace(cause, message=f"{where}: {cause.message}", path=path)


def _of_other_kind(name: str, args: object, at: tuple[int, int]) -> Iterator[Cause]:
    """Yield why arguments have another type than those of their plugin (decodeNestedObjects of config/v1/types.go)."""
    if not isinstance(args, dict):
        return
    where = f"decoding .profiles[{at[0]}].pluginConfig[{at[1]}]"
    path: Path = ("profiles", at[0], "pluginConfig", at[1], "args")
    version, kind = args.get("apiVersion") or API_VERSION, args.get("kind") or f"{name}Args"
    if version != API_VERSION or str(kind).removesuffix("Args") not in _ARGUMENTS:
        text = f'{where}: decoding args for plugin {name}: no kind "{kind}" is registered for version "{version}"'
        yield Cause("", "", text, (*path, "kind" if version == API_VERSION else "apiVersion"))
    elif kind != f"{name}Args":
        group = API_VERSION.partition("/")[0]
        text = f"{where}: args for plugin {name} were not of type {name}Args.{group}, got {kind}.{group}"
        yield Cause("", "", text, (*path, "kind"))


def _invalid(configuration: Value, *, scores_capacity: bool) -> Iterator[Cause]:
    yield from _sections(configuration)
    if configuration.get("parallelism", 16) <= 0:
        yield invalid(("parallelism",), configuration["parallelism"], "should be an integer value greater than zero")
    profiles = configuration.get("profiles") or [{}]
    seen: set[str] = set()
    for i, profile in enumerate(profiles):
        path: Path = ("profiles", i)
        name = profile.get("schedulerName", DEFAULT_SCHEDULER if len(profiles) == 1 else "")
        if not name:
            yield required((*path, "schedulerName"))
        yield from _percentage(profile, path)
        yield from _plugins(profile.get("plugins", {}), (*path, "plugins"))
        entries = profile.get("pluginConfig", ())
        yield from _plugin_config(entries, (*path, "pluginConfig"), scores_capacity=scores_capacity)
        if name in seen:
            yield duplicate((*path, "schedulerName"), {})  # a field.Path, of which JSON shows nothing
        seen.add(name)
    yield from _queue_sort(profiles)
    yield from _percentage(configuration, ())
    first = configuration.get("podInitialBackoffSeconds", 1)
    if first <= 0:
        yield invalid(("podInitialBackoffSeconds",), first, "must be greater than 0")
    last = configuration.get("podMaxBackoffSeconds", 10)
    if last < first:
        yield invalid(("podMaxBackoffSeconds",), last, "must be greater than or equal to PodInitialBackoffSeconds")
    yield from _extenders(configuration.get("extenders", ()), ("extenders",))


def _sections(configuration: Value) -> Iterator[Cause]:
    burst, election = configuration.get("clientConnection", {}).get("burst", 0), configuration.get("leaderElection", {})
    if burst < 0:
        yield invalid(("clientConnection", "burst"), burst, "must be non-negative")
    lock = election.get("resourceLock") or "leases"
    if election.get("leaderElect", True) and lock != "leases":
        yield invalid(("leaderElection", "resourceLock"), lock, 'resourceLock value must be "leases"')


def _percentage(value: Value, path: Path) -> Iterator[Cause]:
    percentage = value.get("percentageOfNodesToScore", 0)
    if not 0 <= percentage <= 100:
        yield invalid((*path, "percentageOfNodesToScore"), percentage, "not in valid range [0-100]")


def _plugins(plugins: Value, path: Path) -> Iterator[Cause]:
    for point, chosen in plugins.items():
        for i, plugin in enumerate(chosen.get("enabled", ())):
            if plugin.get("name") in _REMOVED and point != "multiPoint":
                yield _removed((*path, point, "enabled", i), plugin["name"])


def _removed(path: Path, name: str) -> Cause:
    text = f'was invalid in version "{API_VERSION}" (KubeSchedulerConfiguration is version "{API_VERSION}")'
    return invalid(path, name, text)


def _plugin_config(entries: Sequence[Value], path: Path, *, scores_capacity: bool) -> Iterator[Cause]:
    seen: set[str] = set()
    for i, entry in enumerate(entries):
        name = entry.get("name", "")
        if name in seen:
            yield duplicate((*path, i), name)
        seen.add(name)
        if name in _REMOVED:
            yield _removed((*path, i), name)
        elif name in _ARGUMENTS:
            at: Path = (*path, i, "args")
            args = entry.get("args", {})
            for cause in _ARGUMENTS[name](args, at):
                # Only the plugin itself validates these (noderesources/fit.go), and it knows no path.
                is_bare = name == "NodeResourcesFit"
                yield replace(cause, field=cause.field.removeprefix(f"{field_of(at)}.")) if is_bare else cause
            if name == "VolumeBinding":
                yield from _capacity_shape(args.get("shape"), (*at, "shape"), allowed=scores_capacity)


def _queue_sort(profiles: Sequence[Value]) -> Iterator[Cause]:
    sets = [profile.get("plugins", {}).get("queueSort", {}) for profile in profiles]
    count = len(sets[0].get("enabled", ()))
    if count > 1:
        where = ("profiles", 0, "plugins", "queueSort", "enabled")
        field = "profiles[0].plugins.queueSort.Enabled"
        yield invalid(where, count, "only one queue sort plugin can be enabled", field=field)
    for i, chosen in enumerate(sets):
        if chosen != sets[0]:
            shown = {
                point: [_internal(p, name="", weight=0) for p in chosen.get(point.lower(), ())] or None
                for point in _SET
            }
            yield invalid(("profiles", i, "plugins", "queueSort"), shown, "must be the same for all profiles")


_SET = ("Enabled", "Disabled")


def _internal(value: Value, **fields: object) -> Value:
    """Return a value as JSON shows kube-scheduler's internal type: all its fields, by their names in Go."""
    return {name.capitalize(): value.get(name, default) for name, default in fields.items()}


def _extenders(extenders: Sequence[Value], path: Path) -> Iterator[Cause]:
    seen: set[str] = set()
    for i, extender in enumerate(extenders):
        weight = extender.get("weight", 0)
        if extender.get("prioritizeVerb") and weight <= 0:
            yield invalid((*path, i, "weight"), weight, "must have a positive weight applied to it")
        for j, resource in enumerate(extender.get("managedResources", ())):
            at, name = (*path, i, "managedResources", j, "name"), resource.get("name", "")
            wrong = complaints(at, name, label_key(name))
            yield from wrong
            if not wrong and ("/" not in name or "kubernetes.io/" in name or name.startswith("requests.")):
                yield invalid(at, name, "is an invalid extended resource name")
            if name in seen:
                yield invalid(at, name, "duplicate extender managed resource name")
            seen.add(name)
    binders = sum(bool(extender.get("bindVerb")) for extender in extenders)
    if binders > 1:
        yield invalid(path, f"found {binders} extenders implementing bind", "only one extender can implement bind")


# --- The plugins of a profile ----------------------------------------------------------------------------------------


def _not_started(configuration: Value) -> Iterator[Cause]:
    """Yield the plugins with which a profile cannot be made."""
    for i, profile in enumerate(configuration.get("profiles") or [{}]):
        custom = plugin_sets(profile)
        point, message = _fault(profile.get("schedulerName") or DEFAULT_SCHEDULER, custom)
        if message:
            yield Cause("", "", message, ("profiles", i, "plugins", *([point] if point in custom else ())))


def _fault(scheduler: str, custom: Mapping[str, PluginSet]) -> tuple[str, str]:
    """Return the extension point and the message with which NewFramework ends; two empty strings if it accepts all."""
    for point in EXTENSION_POINTS:
        kind = _interface(point)
        seen: set[str] = set()
        for plugin in custom.get(point, PluginSet()).enabled:
            if not plugin.name:
                return point, f'{kind} "" does not exist'
            if not has_point(plugin.name, point):
                return point, f'plugin "{plugin.name}" does not extend {kind} plugin'
            if plugin.name in seen:
                return point, f'plugin "{plugin.name}" already registered as "{kind}"'
            seen.add(plugin.name)
    for point in EXTENSION_POINTS:
        twice = next(_enabled_twice(point, custom), "")
        if twice:
            return MULTI_POINT, f'plugin "{twice}" already registered as "{_interface(point)}"'
    sorting, binding = len(at_point("queueSort", custom)), len(at_point("bind", custom))
    if foreign(custom):
        return "", ""  # a plugin of somebody's own may sort and bind
    if sorting != 1:
        text = f'only one queue sort plugin required for profile with scheduler name "{scheduler}", but got {sorting}'
        return "queueSort", text
    if not binding:
        return "bind", f'at least one bind plugin is needed for profile with scheduler name "{scheduler}"'
    return "", ""


def _interface(point: str) -> str:
    return f"{point[0].upper()}{point[1:]}Plugin"


def _enabled_twice(point: str, custom: Mapping[str, PluginSet]) -> Iterator[str]:
    """Yield the plugins of kube-scheduler that ``multiPoint`` enables twice at a point, and nothing overrides there."""
    own = custom.get(point, PluginSet())
    overridden = own.disabled | {plugin.name for plugin in own.enabled}
    everywhere = [plugin.name for plugin in merged(DEFAULTS, custom.get(MULTI_POINT, PluginSet())).enabled]
    if "*" not in own.disabled:
        left = (name for name in everywhere if name in EXTENSION_POINTS[point] and name not in overridden)
        yield from (name for name in left if everywhere.count(name) > 1)


# --- The arguments of plugins ----------------------------------------------------------------------------------------


def _preemption(args: Value, path: Path) -> Iterator[Cause]:
    share, count = args.get("minCandidateNodesPercentage", 10), args.get("minCandidateNodesAbsolute", 100)
    of_share, of_count = (*path, "minCandidateNodesPercentage"), (*path, "minCandidateNodesAbsolute")
    if not 0 <= share <= 100:
        yield invalid(of_share, share, "not in valid range [0, 100]")
    if count < 0:
        yield invalid(of_count, count, "not in valid range [0, inf)")
    if not share and not count:
        yield invalid(of_share, share, "cannot be zero at the same time as minCandidateNodesAbsolute")
        yield invalid(of_count, count, "cannot be zero at the same time as minCandidateNodesPercentage")


def _pod_affinity(args: Value, path: Path) -> Iterator[Cause]:
    weight = args.get("hardPodAffinityWeight", 1)
    if not 0 <= weight <= 100:
        yield invalid((*path, "hardPodAffinityWeight"), weight, "not in valid range [0, 100]")


def _spread(args: Value, path: Path) -> Iterator[Cause]:
    constraints, kind = args.get("defaultConstraints", ()), args.get("defaultingType") or "System"
    if kind not in ("System", "List"):
        yield not_supported((*path, "defaultingType"), named(kind), ("System", "List"))
    elif kind == "System" and constraints:
        yield invalid((*path, "defaultingType"), named(kind), "when .defaultConstraints are not empty")
    seen = set()
    for i, constraint in enumerate(constraints):
        constraint_path: Path = (*path, "defaultConstraints", i)
        skew, key = constraint.get("maxSkew", 0), constraint.get("topologyKey", "")
        action = constraint.get("whenUnsatisfiable", "")
        if skew <= 0:
            yield invalid((*constraint_path, "maxSkew"), skew, "not in valid range (0, inf)")
        if not key:
            yield required((*constraint_path, "topologyKey"), "can not be empty")
        else:
            yield from complaints((*constraint_path, "topologyKey"), key, label_key(key))
        if not action:
            yield required((*constraint_path, "whenUnsatisfiable"), "can not be empty")
        elif action not in _ACTIONS:
            yield not_supported((*constraint_path, "whenUnsatisfiable"), named(action), _ACTIONS)
        if constraint.get("labelSelector") is not None:
            text = "constraint must not define a selector, as they deduced for each pod"
            yield forbidden((*constraint_path, "labelSelector"), text)
        if (key, action) in seen:
            yield duplicate(constraint_path, f"{{{key}, {action}}}")
        seen.add((key, action))


def _shape(points: Sequence[Value], path: Path) -> Iterator[Cause]:
    if not points:
        yield required(path, "at least one point must be specified")
        return
    uses = [point.get("utilization", 0) for point in points]
    for i in range(1, len(uses)):
        if uses[i - 1] >= uses[i]:
            yield invalid((*path, i, "utilization"), uses[i], "values must be sorted in increasing order")
            break
    for i, point in enumerate(points):
        for name, most in (("utilization", 100), ("score", 10)):
            amount = point.get(name, 0)
            if not 0 <= amount <= most:
                yield invalid((*path, i, name), amount, f"not in valid range [0, {most}]")


def _balanced(args: Value, path: Path) -> Iterator[Cause]:
    seen = set()
    for i, resource in enumerate(args.get("resources", ())):
        name, weight = resource.get("name", ""), resource.get("weight") or 1
        if name in seen:
            yield duplicate((*path, "resources", i, "name"), name)
        seen.add(name)
        if weight != 1:
            yield invalid((*path, "resources", i, "weight"), weight, "must be 1")


def _fit(args: Value, path: Path) -> Iterator[Cause]:
    for i, name in enumerate(args.get("ignoredResources", ())):
        yield from complaints((*path, "ignoredResources", i), name, label_key(name))
    for i, group in enumerate(args.get("ignoredResourceGroups", ())):
        group_path: Path = (*path, "ignoredResourceGroups", i)
        if "/" in group:
            yield invalid(group_path, group, "resource group name can't contain '/'")
        yield from complaints(group_path, group, label_key(group))
    strategy = args.get("scoringStrategy")
    if strategy is not None:
        yield from _strategy(strategy, (*path, "scoringStrategy"))


def _strategy(strategy: Value, path: Path) -> Iterator[Cause]:
    kind, ratio = strategy.get("type", ""), strategy.get("requestedToCapacityRatio")
    if kind not in _STRATEGIES:
        yield not_supported((*path, "type"), named(kind), _STRATEGIES)
    for i, resource in enumerate(strategy.get("resources", ())):
        weight = resource.get("weight") or 1
        if not 0 < weight <= 100:
            text = f"resource weight of {resource.get('name', '')} not in valid range (0, 100]"
            yield invalid((*path, "resources", i, "weight"), weight, text)
    of_ratio = (*path, "requestedToCapacityRatio")
    if kind == "RequestedToCapacityRatio":
        if ratio is None:
            yield required(of_ratio, "must be specified when type is RequestedToCapacityRatio")
        else:
            yield from _shape(ratio.get("shape", []), (*of_ratio, "shape"))
    elif ratio is not None:
        yield forbidden(of_ratio, "must be nil when type is not RequestedToCapacityRatio")


def _node_affinity(args: Value, path: Path) -> Iterator[Cause]:
    added, affinity_path = args.get("addedAffinity", {}), (*path, "addedAffinity")
    for i, term in enumerate(added.get(_REQUIRED, {}).get("nodeSelectorTerms", ())):
        yield from _term(term, (*affinity_path, _REQUIRED, "nodeSelectorTerms", i))
    for i, preferred in enumerate(added.get(_PREFERRED, ())):
        yield from _term(preferred.get("preference", {}), (*affinity_path, _PREFERRED, i))


def _term(term: Value, path: Path) -> Iterator[Cause]:
    """Yield the causes of newNodeSelectorTerm, ``component-helpers/scheduling/corev1/nodeaffinity``."""
    for i, expression in enumerate(term.get("matchExpressions", ())):
        yield from _expression(expression, (*path, "matchExpressions", i))
    for i, field in enumerate(term.get("matchFields", ())):
        field_path, operator, values = (*path, "matchFields", i), field.get("operator", ""), field.get("values", [])
        if operator not in ("In", "NotIn"):
            yield not_supported((*field_path, "operator"), named(operator), ("In", "NotIn"))
        elif len(values) != 1:
            yield invalid((*field_path, "values"), values, "must have one element")


def _expression(requirement: Value, path: Path) -> Iterator[Cause]:
    key, operator, values = requirement.get("key", ""), requirement.get("operator", ""), requirement.get("values", [])
    of_values = (*path, "values")
    if operator not in _OPERATORS:
        yield not_supported((*path, "operator"), named(operator), _OPERATORS)
        return
    if label_key(key):
        yield invalid((*path, "key"), key, "; ".join(label_key(key)))
    if operator in ("In", "NotIn") and not values:
        yield invalid(of_values, values, "for 'in', 'notin' operators, values set can't be empty")
    elif operator in ("Exists", "DoesNotExist") and values:
        yield invalid(of_values, values, "values set must be empty for exists and does not exist")
    elif operator in ("Gt", "Lt"):
        if len(values) != 1:
            yield invalid(of_values, values, "for 'Gt', 'Lt' operators, exactly one value is required")
        for i, value in enumerate(values):
            if not value.lstrip("+-").isdecimal():
                yield invalid((*of_values, i), value, "for 'Gt', 'Lt' operators, the value must be an integer")
    for i, value in enumerate(values):
        if label_value(value):
            yield invalid((*of_values, i), value, "; ".join(label_value(value)))


_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")


def _volume_binding(args: Value, path: Path) -> Iterator[Cause]:
    seconds = args.get("bindTimeoutSeconds", 600)
    if seconds < 0:
        text = "invalid BindTimeoutSeconds, should not be a negative value"
        yield invalid((*path, "bindTimeoutSeconds"), seconds, text)


def _capacity_shape(points: Sequence[Value] | None, path: Path, *, allowed: bool) -> Iterator[Cause]:
    if points is not None and not allowed:
        text = "unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring"
        yield invalid(path, [_internal(point, utilization=0, score=0) for point in points], text)
    elif points:
        yield from _shape(points, path)


def _nothing(args: Value, path: Path) -> Iterator[Cause]:
    """The timeouts of DynamicResources change no decision that we model."""
    return iter(())


_ARGUMENTS: dict[str, Callable[[Value, Path], Iterator[Cause]]] = {
    "DefaultPreemption": _preemption,
    "DynamicResources": _nothing,
    "InterPodAffinity": _pod_affinity,
    "NodeAffinity": _node_affinity,
    "NodeResourcesBalancedAllocation": _balanced,
    "NodeResourcesFit": _fit,
    "PodTopologySpread": _spread,
    "VolumeBinding": _volume_binding,
}
