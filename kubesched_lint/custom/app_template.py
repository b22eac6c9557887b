"""What bjw-s' app-template makes of its values: workloads by controller, with containers and volumes by name.

It follows the common library of the version that the card names; names in comments are those of its templates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from heapq import heapify, heappop, heappush
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from kubesched_lint.custom.chart_values import Values
from kubesched_lint.custom.derive import UnreadableError
from kubesched_lint.custom.limits import MOST_PARTS
from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.base.plain import value_at
from kubesched_lint.sources.manifests.document import Move

_KINDS = {
    "deployment": ("apps/v1", "Deployment"),
    "daemonset": ("apps/v1", "DaemonSet"),
    "statefulset": ("apps/v1", "StatefulSet"),
    "cronjob": ("batch/v1", "CronJob"),
    "job": ("batch/v1", "Job"),
}
_NAME = 63
"""Longest name that the chart makes."""


class Plain(Struct):
    """An object of the chart, and where its fields come from."""

    value: dict[str, Any]
    moves: dict[Path, Move] = field(default_factory=dict)
    open: tuple[str, ...] = ()
    """The values that another template than the release's name leaves open."""


class Chart(Struct, frozen=True):
    """What the card says: options of pods and containers that are passed through."""

    pod: tuple[str, ...]
    container: tuple[str, ...]
    is_newer: bool = False
    """Whether the version is newer than the card: it may know further options of pods, and is read like 5.3."""


def objects_of(values: Values, chart: Chart) -> Iterator[Plain]:
    """Yield workloads and claims. Raises UnreadableError for a name that a template makes."""
    reading = _Reading(values, chart)
    yield from reading.workloads()
    yield from reading.claims()


class _Reading:
    def __init__(self, values: Values, chart: Chart) -> None:
        self._values = values
        self._chart = chart
        self._all = values.value
        self._global = _mapping(self._all.get("global"))

    # --- names --------------------------------------------------------------------------------------------------------

    @property
    def _app(self) -> str:
        """``names.name``: app-template sets the release's name if nobody sets another."""
        return _cut(str(self._global.get("nameOverride") or self._values.release))

    @property
    def _full(self) -> str:
        """``names.fullname``."""
        whole = self._global.get("fullnameOverride") or self._all.get("fullnameOverride")
        release = self._values.release
        return _cut(self._named(whole, ()) if whole else release if self._app in release else f"{release}-{self._app}")

    def _name_of(self, identifier: str, values: Mapping[str, Any], count: int, at: Path) -> str:
        """``determineResourceNameFromValues``."""
        if values.get("forceRename"):
            return self._named(values["forceRename"], (*at, "forceRename")).lower()
        name = self._full
        if values.get("prefix") and (prefix := self._named(values["prefix"], (*at, "prefix"))) != name:
            name = f"{prefix}-{name}"
        is_appended = count > 1 or self._global.get("alwaysAppendIdentifierToResourceName")
        if is_appended and not name.endswith(f"-{identifier}") and identifier != name:
            name = f"{name}-{identifier}"
        if values.get("suffix"):
            suffix = self._named(values["suffix"], (*at, "suffix"))
            name = name if name.endswith(f"-{suffix}") else f"{name}-{suffix}"
        return name.lower()

    def _named(self, text: Any, at: Path) -> str:
        filled = self._values.filled(text, at)
        if not isinstance(filled, str):
            raise UnreadableError(f"{'.'.join(map(str, at)) or 'fullnameOverride'} is a template")
        return filled

    # --- workloads ----------------------------------------------------------------------------------------------------

    def workloads(self) -> Iterator[Plain]:
        controllers = _enabled(self._all.get("controllers"))
        if len(controllers) > MOST_PARTS:
            raise UnreadableError(f"more than {MOST_PARTS} controllers")
        for name, values in controllers.items():
            kind = str(values.get("type") or "deployment").lower()
            if kind not in _KINDS:
                raise UnreadableError(f"controllers.{name}.type is {kind}")
            yield self._workload(name, values, kind, len(controllers))

    def _workload(self, name: str, values: Mapping[str, Any], kind: str, count: int) -> Plain:
        at: Path = ("controllers", name)
        before = len(self._values.open)
        api, title = _KINDS[kind]
        meta = {"name": self._name_of(name, values, count, at), "namespace": self._values.namespace}
        plain = Plain({"apiVersion": api, "kind": title, "metadata": meta, "spec": {}})
        self._moved(plain, (), at)
        own = _labels(self._app, self._values.release, name)
        if self._chart.is_newer:
            more: Path = (*at, "extraSelectorLabels")
            own |= self._values.filled(_mapping(values.get("extraSelectorLabels")), more) or {}
        inner: Path = ("spec", "jobTemplate", "spec") if kind == "cronjob" else ("spec",)
        spec = plain.value["spec"]
        if kind == "cronjob":
            settings = _mapping(values.get("cronjob"))
            spec["schedule"] = settings.get("schedule")
            spec["suspend"] = settings.get("suspend") or False
            for key, default in (("concurrencyPolicy", "Forbid"), ("timeZone", None)):
                self._passed(plain, ("spec", key), settings.get(key) or default, (*at, "cronjob", key))
            spec = spec.setdefault("jobTemplate", {}).setdefault("spec", {})
            self._passed(plain, (*inner, "parallelism"), settings.get("parallelism"), (*at, "cronjob", "parallelism"))
        elif kind == "job":
            for key in ("suspend", "parallelism", "completions", "completionMode"):
                self._passed(plain, ("spec", key), _mapping(values.get("job")).get(key), (*at, "job", key))
        else:
            spec["selector"] = {"matchLabels": own}
            if kind != "daemonset":
                self._scaled(plain, values, kind, at)
        self._template(plain, (*inner, "template"), values, own, at, kind in ("cronjob", "job"))
        plain.open = tuple(self._values.open[before:])
        return plain

    def _scaled(self, plain: Plain, values: Mapping[str, Any], kind: str, at: Path) -> None:
        spec = plain.value["spec"]
        is_scaled = self._chart.is_newer and bool(values.get("horizontalPodAutoscaler"))
        if "replicas" not in values and not is_scaled:
            spec["replicas"] = 1
        if not is_scaled:
            self._passed(plain, ("spec", "replicas"), values.get("replicas"), (*at, "replicas"))
        rolling = _mapping(values.get("rollingUpdate"))
        if kind == "deployment":
            spec["strategy"] = {"type": values.get("strategy") or "Recreate"}
            self._moved(plain, ("spec", "strategy", "type"), (*at, "strategy"))
            for ours, theirs in (("unavailable", "maxUnavailable"), ("surge", "maxSurge")):
                key = theirs if self._chart.is_newer and theirs in rolling else ours
                is_given = key in rolling if self._chart.is_newer else bool(rolling.get(key))
                if spec["strategy"]["type"] == "RollingUpdate" and is_given:
                    where: Path = ("spec", "strategy", "rollingUpdate", theirs)
                    self._passed(plain, where, rolling[key], (*at, "rollingUpdate", key))
            return
        own = _mapping(values.get("statefulset"))
        spec["podManagementPolicy"] = own.get("podManagementPolicy") or "OrderedReady"
        self._moved(plain, ("spec", "podManagementPolicy"), (*at, "statefulset", "podManagementPolicy"))
        spec["updateStrategy"] = {"type": values.get("strategy") or "RollingUpdate"}
        spec["serviceName"] = self._full
        templates = [template for template in _list(own.get("volumeClaimTemplates")) if isinstance(template, dict)]
        if templates:
            spec["volumeClaimTemplates"] = [{"metadata": {"name": t.get("name")}, "spec": _claim(t)} for t in templates]
            self._moved(plain, ("spec", "volumeClaimTemplates"), (*at, "statefulset", "volumeClaimTemplates"))

    def _template(
        self, plain: Plain, to: Path, values: Mapping[str, Any], own: Mapping[str, str], at: Path, is_job: bool
    ) -> None:
        """``pod.spec`` and ``pod.metadata.labels``."""
        defaults, pod = _mapping(self._all.get("defaultPodOptions")), _mapping(values.get("pod"))
        merges = self._all.get("defaultPodOptionsStrategy") == "merge"
        shared = _mapping(self._global.get("labels")) if self._global.get("propagateGlobalMetadataToPods") else {}
        labels = {**shared, **_mapping(defaults.get("labels")), **_mapping(pod.get("labels"))}
        if self._chart.is_newer:
            labels = {**shared, **_mapping(_option("labels", defaults, pod, merges)[0])}
        filled = self._values.filled(labels, (*at, "pod", "labels")) or {}
        self._put(plain, (*to, "metadata", "labels"), {**own, **filled, **(own if self._chart.is_newer else {})})
        known = dict.fromkeys(self._chart.pod)
        known |= dict.fromkeys((*defaults, *pod) if self._chart.is_newer else ())
        for option in known.keys() - {"labels", "annotations"}:
            value, is_own = _option(option, defaults, pod, merges)
            source: Path = (*at, "pod", option) if is_own else ("defaultPodOptions", option)
            self._passed(plain, (*to, "spec", option), value, source)
            if value is None and option not in pod and option not in defaults:  # here it may be added
                own_option: Path = ("spec", "values", *at, "pod", option)
                plain.moves.setdefault(
                    (*to, "spec", option), Move((*to, "spec", option), self._values.document, own_option)
                )
        if self._chart.is_newer:
            spread = _mapping(value_at(plain.value, (*to, "spec"))).get("topologySpreadConstraints")
            selected = [
                {"labelSelector": {"matchLabels": own}, **constraint}
                for constraint in _list(spread)
                if isinstance(constraint, dict)
            ]
            if selected:
                self._put(plain, (*to, "spec", "topologySpreadConstraints"), selected)
        if is_job and not pod.get("restartPolicy"):
            self._put(plain, (*to, "spec", "restartPolicy"), "Never")
        for key in ("initContainers", "containers"):
            items = list(self._containers(values, key, (*at, key)))
            if items:
                self._put(plain, (*to, "spec", key), [value for value, _ in items])
            for number, (value, where) in enumerate(items):
                self._moved(plain, (*to, "spec", key, number), where)
                for part in value:
                    self._moved(plain, (*to, "spec", key, number, part), (*where, part))
                    self._moved(plain, (*to, "spec", key, number, part), (*at, "defaultContainerOptions", part))
        volumes = list(self._volumes(at[1]))
        if volumes:
            self._put(plain, (*to, "spec", "volumes"), [value for value, _ in volumes])
            for number, (_, name) in enumerate(volumes):
                self._moved(plain, (*to, "spec", "volumes", number), ("persistence", name))

    def _containers(self, values: Mapping[str, Any], key: str, at: Path) -> Iterator[tuple[dict[str, Any], Path]]:
        """``container.valuesToObject`` and ``container.spec``, in the order of ``dependsOn``."""
        is_default = key == "containers" or values.get("applyDefaultContainerOptionsToInitContainers") is not False
        defaults = _mapping(values.get("defaultContainerOptions")) if is_default else {}
        merges = values.get("defaultContainerOptionsStrategy") == "merge"
        for name in _ordered(_enabled(values.get(key))):
            given = _mapping(_mapping(values.get(key)).get(name))
            whole = {option: _option(option, defaults, given, merges)[0] for option in {**defaults, **given}}
            image = whole.get("image")
            text = f"{image.get('repository')}:{image.get('tag')}" if isinstance(image, dict) else str(image)
            container = {"name": given.get("nameOverride") or name, "image": text}
            for option in self._chart.container:
                value = self._values.filled(whole.get(option), (*at, name, option))
                if value not in (None, "", {}, []):
                    container[option] = value
            yield container, (*at, name)

    # --- volumes ------------------------------------------------------------------------------------------------------

    @cached_property
    def _persistence(self) -> Mapping[str, Mapping[str, Any]]:
        return _enabled(self._all.get("persistence"))

    def _volumes(self, controller: object) -> Iterator[tuple[dict[str, Any], str]]:
        """``pod.field.volumes``."""
        for name, item in self._persistence.items():
            mounts = _mapping(item.get("advancedMounts"))
            if item.get("globalMounts") or mounts.get(str(controller)) or not mounts:
                volume = self._volume(name, item)
                if volume is not None:
                    yield {"name": name, **volume}, name

    def _volume(self, name: str, item: Mapping[str, Any]) -> dict[str, Any] | None:
        at: Path = ("persistence", name)
        kind = item.get("type") or "persistentVolumeClaim"
        if kind == "persistentVolumeClaim":
            claim = self._values.filled(item.get("existingClaim"), (*at, "existingClaim"))
            if item.get("existingClaim") and claim is None:
                return None
            return {kind: {"claimName": claim or self._claim_name(name, item)}}
        if kind == "custom":
            spec = self._values.filled(_mapping(item.get("volumeSpec")), (*at, "volumeSpec"))
            return spec if isinstance(spec, dict) else None
        fields = _VOLUMES.get(str(kind)) or (_NEWER_VOLUMES.get(str(kind)) if self._chart.is_newer else None)
        if fields is None:
            raise UnreadableError(f"persistence.{name}.type is {kind}")
        return {str(kind): fields(item)}

    def _claim_name(self, name: str, item: Mapping[str, Any]) -> str:
        return self._name_of(name, item, self._claim_count, ("persistence", name))

    @cached_property
    def _claim_count(self) -> int:
        return sum(map(_makes_claim, self._persistence.values()))

    def claims(self) -> Iterator[Plain]:
        """``pvc``: the claims that the chart makes."""
        for name, item in self._persistence.items():
            if _makes_claim(item):
                meta = {"name": self._claim_name(name, item), "namespace": self._values.namespace}
                value = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": _claim(item)}
                plain = Plain(value)
                self._moved(plain, (), ("persistence", name))
                yield plain

    # --- fields -------------------------------------------------------------------------------------------------------

    def _passed(self, plain: Plain, to: Path, value: Any, at: Path) -> None:
        filled = self._values.filled(value, at)
        if filled is not None:
            self._put(plain, to, filled)
            self._moved(plain, to, at)

    def _moved(self, plain: Plain, to: Path, at: Path) -> None:
        """Say where a field comes from; it can be changed there only if the same stands there."""
        move = self._values.move(to, at)
        if move is not None:
            is_same = self._values.plain_at(at) == value_at(plain.value, to)
            plain.moves.setdefault(to, replace(move, is_exact=move.is_exact and is_same))

    @staticmethod
    def _put(plain: Plain, to: Path, value: Any) -> None:
        held: Any = plain.value
        for step in to[:-1]:
            held = held.setdefault(step, {})
        held[to[-1]] = value


def _labels(app: str, release: str, controller: str) -> dict[str, str]:
    names = ("controller", "instance", "name")
    return {f"app.kubernetes.io/{key}": text for key, text in zip(names, (controller, release, app), strict=True)}


def _option(name: str, defaults: Mapping[str, Any], own: Mapping[str, Any], merges: bool) -> tuple[Any, bool]:
    """``getOption``: the value of an option, and whether it is the object's own; empty values count as none."""
    value, default = own.get(name), defaults.get(name)
    if isinstance(value, dict) and isinstance(default, dict) and merges:
        return _filled_up(value, default), True
    if not _is_empty(value):
        return value, True
    return (None if _is_empty(default) else default), False


def _filled_up(own: Mapping[str, Any], default: Mapping[str, Any]) -> dict[str, Any]:
    """``merge``: own values, and defaults where they are empty, at any depth."""
    filled = dict(own)
    for key, value in default.items():
        held = filled.get(key)
        if isinstance(held, dict) and isinstance(value, dict):
            filled[key] = _filled_up(held, value)
        elif _is_empty(held):
            filled[key] = value
    return filled


def _is_empty(value: Any) -> bool:
    return not isinstance(value, bool) and value in (None, "", {}, [], 0)


def _enabled(value: Any) -> dict[str, Mapping[str, Any]]:
    """Return the entries of a mapping that are enabled, in the order of Go's templates."""
    entries = {str(name): entry for name, entry in _mapping(value).items() if isinstance(entry, dict)}
    return {name: entries[name] for name in sorted(entries) if entries[name].get("enabled", True)}


def _ordered(entries: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """``kahn``: names after those that they depend on, else in their order. Raises UnreadableError for a circle."""
    left = {name: _waits_for(entry) for name, entry in entries.items()}
    waiting: dict[str, list[str]] = {}
    for name, before in left.items():
        for other in before:
            waiting.setdefault(other, []).append(name)
    ready, done = [name for name, before in left.items() if not before], list[str]()
    heapify(ready)
    while ready:
        name = heappop(ready)
        done.append(name)
        for after in waiting.get(name, ()):
            left[after].discard(name)
            if not left[after]:
                heappush(ready, after)
    stuck = next((name for name, before in left.items() if before), None)
    if stuck is not None:
        raise UnreadableError(f"dependsOn of {stuck} names no container before it")
    return done


def _waits_for(entry: Mapping[str, Any]) -> set[str]:
    after = entry.get("dependsOn")
    return {after} if isinstance(after, str) else {str(name) for name in _list(after)}


def _makes_claim(item: Mapping[str, Any]) -> bool:
    return (item.get("type") or "persistentVolumeClaim") == "persistentVolumeClaim" and not item.get("existingClaim")


def _claim(item: Mapping[str, Any]) -> dict[str, Any]:
    spec: dict[str, Any] = {"accessModes": [item.get("accessMode")], "resources": {"requests": {}}}
    spec["resources"]["requests"]["storage"] = item.get("size")
    if item.get("storageClass"):
        spec["storageClassName"] = "" if item["storageClass"] == "-" else item["storageClass"]
    if item.get("volumeName"):
        spec["volumeName"] = item["volumeName"]
    return spec


_VOLUMES: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "emptyDir": lambda item: {key: item[key] for key in ("medium", "sizeLimit") if item.get(key)},
    "hostPath": lambda item: {"path": item.get("hostPath")},
    "nfs": lambda item: {"server": item.get("server"), "path": item.get("path")},
    "configMap": lambda item: {},
    "secret": lambda item: {},
}


_NEWER_VOLUMES: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "ephemeral": lambda item: {"volumeClaimTemplate": {"spec": _claim(item)}},
    "image": lambda item: {"reference": str(item.get("image"))},
}


def is_of_author(address: str) -> bool:
    """Return whether the repository of a chart is bjw-s' own or a mirror of it; True if nobody knows the address."""
    return not address or "bjw-s" in address


def not_read_in(values: Values) -> str:
    """Return which part of a controller becomes an object that is not read, in a version newer than the card."""
    for name, controller in _enabled(values.value.get("controllers")).items():
        key = next((key for key in ("horizontalPodAutoscaler", "podDisruptionBudget") if controller.get(key)), "")
        if key:
            return f"controllers.{name}.{key} is not read"
    return ""


def _cut(name: str) -> str:
    return name[:_NAME].removesuffix("-")


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
