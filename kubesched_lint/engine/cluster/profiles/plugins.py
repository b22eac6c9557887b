"""The plugins of a profile at each extension point, after defaults, ``multiPoint`` and the user's changes are merged.

Mirrors ``pkg/scheduler/apis/config/v1/default_plugins.go`` and expandMultiPointPlugins of
``pkg/scheduler/framework/runtime/framework.go`` (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from kubesched_lint.engine.model.pod import DEVICES_PLUGIN, FILTERS, WEIGHTS

MULTI_POINT = "multiPoint"
_WITHOUT_PREFILTER = ("NodeUnschedulable", "NodeName", "TaintToleration")
EXTENSION_POINTS = {
    "preEnqueue": ("SchedulingGates", DEVICES_PLUGIN, "DefaultPreemption"),
    "queueSort": ("PrioritySort",),
    "preFilter": (*(name for name in FILTERS if name not in _WITHOUT_PREFILTER), DEVICES_PLUGIN),
    "filter": (*FILTERS, DEVICES_PLUGIN),
    "postFilter": (DEVICES_PLUGIN, "DefaultPreemption"),
    "preScore": (*(name for name in WEIGHTS if name != "ImageLocality"), "VolumeBinding"),
    "score": (*WEIGHTS, "VolumeBinding", DEVICES_PLUGIN),
    "reserve": ("VolumeBinding", DEVICES_PLUGIN),
    "permit": (),
    "preBind": ("VolumeBinding", DEVICES_PLUGIN),
    "bind": ("DefaultBinder",),
    "postBind": (),
}
"""Extension point → kube-scheduler's own plugins that have one."""
OWN = frozenset(name for names in EXTENSION_POINTS.values() for name in names)
"""The plugins of kube-scheduler itself."""


class Plugin(Struct, frozen=True):
    name: str
    weight: int = 0


class PluginSet(Struct, frozen=True):
    """What a profile enables and disables at one extension point; ``*`` disables all default plugins."""

    enabled: tuple[Plugin, ...] = ()
    disabled: frozenset[str] = frozenset()


_ALWAYS = tuple(name for name in FILTERS if name != "NodeDeclaredFeatures")
DEFAULTS = PluginSet(
    (
        *(Plugin(name, WEIGHTS.get(name, 0)) for name in ("SchedulingGates", "PrioritySort", *_ALWAYS)),
        Plugin(DEVICES_PLUGIN, 2),
        Plugin("DefaultPreemption"),
        *(Plugin(name, weight) for name, weight in WEIGHTS.items() if name not in FILTERS),
        Plugin("DefaultBinder"),
        Plugin("NodeDeclaredFeatures"),  # feature gates add their plugins at the end
    )
)
"""What kube-scheduler enables at ``multiPoint``."""


def plugin_sets(profile: Mapping[str, Any]) -> Mapping[str, PluginSet]:
    """Return extension point → what a decoded profile enables and disables there."""
    sets = {}
    for point in (MULTI_POINT, *EXTENSION_POINTS):
        chosen = profile.get("plugins", {}).get(point, {})
        enabled = tuple(Plugin(plugin.get("name", ""), plugin.get("weight", 0)) for plugin in chosen.get("enabled", ()))
        disabled = frozenset(plugin.get("name", "") for plugin in chosen.get("disabled", ()))
        if enabled or disabled:
            sets[point] = PluginSet(enabled, disabled)
    return sets


def merged(defaults: PluginSet, custom: PluginSet) -> PluginSet:
    """Return the defaults with the user's changes: one that he enables again keeps its place (mergePluginSet)."""
    disabled = custom.disabled | defaults.disabled
    again = {plugin.name: (i, plugin) for i, plugin in enumerate(custom.enabled)}
    kept = [] if "*" in disabled else [plugin for plugin in defaults.enabled if plugin.name not in disabled]
    replaced = {again[plugin.name][0] for plugin in kept if plugin.name in again}
    enabled = [again.get(plugin.name, (0, plugin))[1] for plugin in kept]
    enabled += [plugin for i, plugin in enumerate(custom.enabled) if i not in replaced]
    return PluginSet(tuple(enabled), disabled)


def at_point(point: str, custom: Mapping[str, PluginSet]) -> tuple[Plugin, ...]:
    """Return the enabled plugins of an extension point, in the order in which they run.

    First those that both the point and ``multiPoint`` enable, then those of ``multiPoint``, then the point's others.
    """
    own = custom.get(point, PluginSet())
    if "*" in own.disabled:
        return own.enabled
    everywhere = merged(DEFAULTS, custom.get(MULTI_POINT, PluginSet())).enabled
    shared = [plugin for plugin in everywhere if has_point(plugin.name, point)]
    names = {plugin.name for plugin in shared}
    enabled_names = {plugin.name for plugin in own.enabled}
    first = [plugin for plugin in own.enabled if plugin.name in names and plugin.name not in own.disabled]
    then = [plugin for plugin in shared if plugin.name not in enabled_names and plugin.name not in own.disabled]
    return (*first, *then, *(plugin for plugin in own.enabled if plugin not in first))


def weights(custom: Mapping[str, PluginSet]) -> Iterator[tuple[str, int]]:
    """Yield the score plugins with their weights: that of the point before that of ``multiPoint``; 0 means 1."""
    given: dict[str, int] = {}
    everywhere = merged(DEFAULTS, custom.get(MULTI_POINT, PluginSet())).enabled
    for plugin in (*custom.get("score", PluginSet()).enabled, *everywhere):
        given.setdefault(plugin.name, plugin.weight or 1)
    for plugin in at_point("score", custom):
        yield plugin.name, given[plugin.name]


def has_point(name: str, point: str) -> bool:
    """Return whether a plugin has an extension point; one of somebody's own may have any."""
    return name in EXTENSION_POINTS[point] or name not in OWN


def foreign(custom: Mapping[str, PluginSet]) -> Sequence[str]:
    """Return the enabled plugins that kube-scheduler does not have, sorted."""
    sets = (merged(DEFAULTS, custom.get(MULTI_POINT, PluginSet())), *custom.values())
    return sorted({plugin.name for plugin_set in sets for plugin in plugin_set.enabled} - OWN)


_LEANING = (
    ("preFilter", "filter", (DEVICES_PLUGIN, "NodeDeclaredFeatures")),
    ("preFilter", "reserve", (DEVICES_PLUGIN, "VolumeBinding")),
    ("filter", "reserve", (DEVICES_PLUGIN,)),
    ("preScore", "score", ("TaintToleration", "PodTopologySpread", "InterPodAffinity")),
)
"""An extension point, and a later one at which the plugins fail without the first."""


def half_disabled(custom: Mapping[str, PluginSet]) -> Iterator[str]:
    """Yield the plugins that fail in some attempts, because they run at one point and not at an earlier one.

    Whether they fail depends on the number of feasible nodes, on feature gates and on claims.
    """
    running_at = {
        point: {plugin.name for plugin in at_point(point, custom)} for points in _LEANING for point in points[:2]
    }
    for earlier, later, names in _LEANING:
        for name in names:
            if name in running_at[later] and name not in running_at[earlier]:
                yield f"{name} runs at {later} and not at {earlier}"
