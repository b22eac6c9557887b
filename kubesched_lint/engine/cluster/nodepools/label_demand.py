"""The labels that pods ask for: keys that distinguish nodes, and values worth making."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct, field

from kubesched_lint.engine.model.labels import Labels, Requirement, go_int
from kubesched_lint.engine.model.nodes.node import ZONE, stable_key
from kubesched_lint.engine.model.pod import Pod, profile_of

_COMMON = ("cpu", "memory", "pods", "ephemeral-storage")
ANOTHER_ZONE = "another zone"
"""The zone of a node that some pool makes where pods exclude zones, and no pool says which there are."""
_OF_THE_SYSTEM = ("kubernetes.io", "k8s.io", "cloud.google.com", "gke.io")


class LabelDemand(Struct, frozen=True):
    """``asked``: every key that a pod mentions, topology keys included → the values asked for."""

    asked: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    separations: tuple[Labels, ...] = ()
    """Labels that a pod both selects and tolerates as taints: GKE Autopilot makes nodes with them."""
    devices: tuple[str, ...] = ()
    """Resources besides CPU, memory and pods that a pod requests."""

    def mentions(self, key: str) -> bool:
        return key in self.asked

    def values(self, key: str) -> tuple[str, ...]:
        return self.asked.get(key, ())


def demand_of(pods: Iterable[Pod], topologies: Iterable[tuple[str, tuple[str, ...]]] = ()) -> LabelDemand:
    """Return the label demand of pods; ``topologies`` are further keys with values, such as the zones of volumes."""
    asked: dict[str, dict[str, None]] = {}
    apart: dict[tuple[tuple[str, str], ...], Labels] = {}
    devices: dict[str, None] = {}
    for key, values in topologies:
        asked.setdefault(stable_key(key), {}).update(dict.fromkeys(values))
    for pod in pods:
        for requirement in _requirements(pod):
            asked.setdefault(stable_key(requirement.key), {}).update(dict.fromkeys(_values(requirement)))
        for key in topology_keys(pod):
            asked.setdefault(stable_key(key), {})
        separation = dict(_separation(pod))
        if separation:
            apart[tuple(sorted(separation.items()))] = separation
        devices |= dict.fromkeys(name for name in pod.requests if name not in _COMMON)
    return LabelDemand({key: tuple(values) for key, values in asked.items()}, tuple(apart.values()), tuple(devices))


def _requirements(pod: Pod) -> Iterator[Requirement]:
    yield from (Requirement(key, "In", (value,)) for key, value in pod.node_selector.items())
    required = (*(pod.required_node_terms or ()), *(profile_of(pod).added_node_terms or ()))
    for term in (*required, *(p.term for p in pod.preferred_node_terms)):
        yield from term.expressions


def _values(requirement: Requirement) -> Iterator[str]:
    """Yield values that meet the requirement: for Gt and Lt the integer next to the bound."""
    if requirement.operator == "In":
        yield from requirement.values
    if requirement.operator == "NotIn" and stable_key(requirement.key) == ZONE:
        yield ANOTHER_ZONE
    bound = go_int(requirement.values[0]) if requirement.operator in ("Gt", "Lt") and requirement.values else None
    if bound is not None:
        yield str(bound + (1 if requirement.operator == "Gt" else -1))


def topology_keys(pod: Pod) -> Iterator[str]:
    """Yield the topology keys of required affinity terms and spread constraints."""
    yield from (t.topology_key for t in (*pod.required_affinity, *pod.required_anti_affinity))
    yield from (c.topology_key for c in pod.spread)


def _separation(pod: Pod) -> Iterator[tuple[str, str]]:
    chosen = [*pod.node_selector.items()]
    for term in pod.required_node_terms or ():
        chosen += [(r.key, r.values[0]) for r in term.expressions if r.operator == "In" and len(r.values) == 1]
    for key, value in chosen:
        domain = key.rpartition("/")[0]
        if domain.endswith(_OF_THE_SYSTEM):
            continue
        for toleration in pod.tolerations:
            matches = toleration.operator == "Exists" or toleration.value == value
            if toleration.key == key and matches and toleration.effect in ("", "NoSchedule"):
                yield key, value
