"""What the API server makes of a pod that a controller creates: the reference's own reading, over plain values.

Imports nothing of the product but decoding. Mirrors ``plugin/pkg/admission/{limitranger,priority,runtimeclass}``,
``k8s.io/pod-security-admission/policy`` and ``pkg/registry/core/pod/strategy.go`` (v1.36).
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct, field

from kubesched_lint.engine.model.decode.pods import decode_pod
from kubesched_lint.engine.model.pod import Pod

Value = dict[str, Any]
DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"


class NotCoveredError(Exception):
    """The reference says nothing of such a world."""


class RefusedError(Exception):
    """The API server refuses the pod; the text says why."""


def milli(text: str | int) -> int:
    """Thousandths of a quantity."""
    text = str(text)
    for suffix, factor in (("m", 1), ("Gi", 1000 << 30), ("Mi", 1000 << 20), ("Ki", 1000 << 10)):
        if text.endswith(suffix):
            return int(text[: -len(suffix)]) * factor
    return int(text) * 1000


class Admission(Struct):
    """The objects that admission reads."""

    priorities: Mapping[str, Value] = field(default_factory=dict)
    runtime_classes: Mapping[str, Value] = field(default_factory=dict)
    limits: tuple[Value, ...] = ()
    enforced: Mapping[str, str] = field(default_factory=dict)
    """Namespace → Pod Security level."""
    listed: frozenset[str] | None = None
    """Kinds of which the cluster tells all objects; None: every kind."""

    @staticmethod
    def of(objects: list[Value], *, listed: frozenset[str] | None) -> Admission:
        def kind(name: str) -> list[Value]:
            return [v for v in objects if v["kind"] == name]

        label = "pod-security.kubernetes.io/enforce"
        return Admission(
            {v["metadata"]["name"]: v for v in kind("PriorityClass")},
            {v["metadata"]["name"]: v for v in kind("RuntimeClass")},
            tuple(kind("LimitRange")),
            {v["metadata"]["name"]: (v["metadata"].get("labels") or {}).get(label, "") for v in kind("Namespace")},
            listed,
        )

    def stored(self, template: Value, namespace: str, labels: Mapping[str, str]) -> Pod:
        """The pod as it is stored; ``labels`` are those that its controller adds. Raises RefusedError."""
        spec: Value = copy.deepcopy(template["spec"])
        own = {**(template["metadata"].get("labels") or {}), **labels}
        for container in spec["containers"]:
            resources = container.setdefault("resources", {})
            resources["requests"] = {**resources.get("limits", {}), **resources.get("requests", {})}
        self._defaults(spec, namespace)
        self._priority(spec)
        if spec.get("runtimeClassName"):
            self._sandbox(spec, spec["runtimeClassName"])
        merge_label_keys(spec, own)
        self._check_limits(spec, namespace)
        self._check_security(spec, namespace)
        return decode_pod(spec, namespace, own, ("spec",), ("metadata", "labels"))

    # --- LimitRanger ------------------------------------------------------------------------------------------------

    def _items(self, namespace: str) -> Iterator[Value]:
        """SetDefaults_LimitRangeItem: max gives default, default gives defaultRequest, then min does."""
        for limits in self.limits:
            if limits["metadata"]["namespace"] != namespace:
                continue
            for found in limits["spec"]["limits"]:
                if found["type"] == "Container":
                    default = {**found.get("max", {}), **found.get("default", {})}
                    request = {**found.get("min", {}), **default, **found.get("defaultRequest", {})}
                    yield {**found, "default": default, "defaultRequest": request}

    def _defaults(self, spec: Value, namespace: str) -> None:
        for limit in self._items(namespace):
            for container in spec["containers"]:
                resources = container["resources"]
                resources["limits"] = {**limit["default"], **resources.get("limits", {})}
                resources["requests"] = {**limit["defaultRequest"], **resources["requests"]}

    def _check_limits(self, spec: Value, namespace: str) -> None:
        for container in spec["containers"]:
            requests, limits = container["resources"]["requests"], container["resources"].get("limits", {})
            for name, amount in requests.items():
                if name in limits and milli(amount) > milli(limits[name]):
                    raise RefusedError(f"must be less than or equal to {name} limit")
            for limit in self._items(namespace):
                for name, least in limit.get("min", {}).items():
                    found = [milli(side[name]) for side in (requests, limits) if name in side]
                    if name not in requests or min(found) < milli(least):
                        raise RefusedError(f"minimum {name} usage per Container is {least}")
                for name, most in limit.get("max", {}).items():
                    found = [milli(side[name]) for side in (requests, limits) if name in side]
                    if name not in limits or max(found) > milli(most):
                        raise RefusedError(f"maximum {name} usage per Container is {most}")

    # --- Priority ---------------------------------------------------------------------------------------------------

    def _priority(self, spec: Value) -> None:
        name = spec.get("priorityClassName")
        if name:
            if name not in self.priorities:
                self._must_list("PriorityClass")
                raise RefusedError(f"no PriorityClass with name {name} was found")
            found = self.priorities[name]
        else:
            defaults = [v for v in self.priorities.values() if v.get("globalDefault")]
            found = min(defaults, key=lambda v: v["value"], default={"value": 0})
        spec["priority"] = found["value"]
        spec.setdefault("preemptionPolicy", found.get("preemptionPolicy", "PreemptLowerPriority"))

    def _must_list(self, kind: str) -> None:
        """A list of some kinds that has none of this one does not say that there is none, whatever manifests bring."""
        if self.listed is not None and kind not in self.listed:
            raise NotCoveredError(f"nothing lists any {kind}")

    # --- RuntimeClass -----------------------------------------------------------------------------------------------

    def _sandbox(self, spec: Value, name: str) -> None:
        """prepareObjects, setOverhead and setScheduling."""
        if name not in self.runtime_classes:
            self._must_list("RuntimeClass")
            raise RefusedError(f'RuntimeClass "{name}" not found')
        found = self.runtime_classes[name]
        asked, own = found.get("scheduling") or {}, spec.get("nodeSelector") or {}
        if any(own.get(key, value) != value for key, value in (asked.get("nodeSelector") or {}).items()):
            raise RefusedError("conflict: runtimeClass.scheduling.nodeSelector")
        spec["nodeSelector"] = {**own, **asked.get("nodeSelector", {})}
        spec["tolerations"] = [*spec.get("tolerations", ()), *asked.get("tolerations", ())]
        spec["overhead"] = (found.get("overhead") or {}).get("podFixed", {})

    # --- PodSecurity ------------------------------------------------------------------------------------------------

    def _check_security(self, spec: Value, namespace: str) -> None:
        level = self.enforced.get(namespace, "")
        ports = [p for c in spec["containers"] for p in c.get("ports", ()) if p.get("hostPort")]
        if level in ("baseline", "restricted") and (ports or spec.get("hostNetwork")):
            raise RefusedError(f'violates PodSecurity "{level}:latest": hostPort')
        if level == "restricted":  # no generated pod says runAsNonRoot
            raise RefusedError('violates PodSecurity "restricted:latest": runAsNonRoot != true')


def merge_label_keys(spec: Value, labels: Mapping[str, str]) -> None:
    """matchLabelKeys become requirements of the selector beside them (applyMatchLabelKeysAndMismatchLabelKeys)."""
    affinity = spec.get("affinity") or {}
    for side in ("podAffinity", "podAntiAffinity"):
        for term in (affinity.get(side) or {}).get("requiredDuringSchedulingIgnoredDuringExecution", ()):
            _merge(term, "matchLabelKeys", "In", labels)
            _merge(term, "mismatchLabelKeys", "NotIn", labels)
    for constraint in spec.get("topologySpreadConstraints", ()):
        _merge(constraint, "matchLabelKeys", "In", labels)


def _merge(holder: Value, field_name: str, operator: str, labels: Mapping[str, str]) -> None:
    selector = holder.get("labelSelector")
    if selector is None:
        return
    own = [{"key": k, "operator": operator, "values": [labels[k]]} for k in holder.get(field_name, ()) if k in labels]
    if own:
        selector["matchExpressions"] = [*selector.get("matchExpressions", ()), *own]
