"""Explain a rejection to users: the taint, the numbers, the pods. The plugins make the decisions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from kubesched_lint.engine.base.identity import ByIdentity
from kubesched_lint.engine.cluster.ledger import PODS
from kubesched_lint.engine.cluster.pods.classes import ClassSet
from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.model.labels import Labels, Requirement, Selector
from kubesched_lint.engine.model.node import Taint, domain_word
from kubesched_lint.engine.model.pod import Pod, PodAffinityTerm, SpreadConstraint, profile_of
from kubesched_lint.engine.model.quantity import show
from kubesched_lint.engine.scheduler.devices.leftovers import lacking_devices
from kubesched_lint.engine.scheduler.plugins import dynamic_resources, volume_binding, volume_zone
from kubesched_lint.engine.scheduler.plugins import inter_pod_affinity as pods
from kubesched_lint.engine.scheduler.plugins import pod_topology_spread as spreading
from kubesched_lint.engine.scheduler.plugins.single_node import (
    ENFORCED,
    NodeAffinity,
    NodeResourcesFit,
    TaintToleration,
)
from kubesched_lint.engine.scheduler.tolerance import first_untolerated
from kubesched_lint.engine.scheduler.topology import counted_domains, is_short_of_domains
from kubesched_lint.engine.scheduler.verdict import Rejection
from kubesched_lint.engine.scheduler.volume_reach import place_of, reachable

# Labels that controllers and binding add; they do not identify the kind of pod.
_ADDED = ("pod-template-hash", "controller-revision-hash", "statefulset.kubernetes.io/", "topology.kubernetes.io/")


class _Spread(NamedTuple):
    """The current numbers of pods that one constraint counts."""

    counts: Mapping[str, int]
    """Pods per counted domain."""
    emptiest: str | None
    """The domain with the fewest pods; None while there are too few domains: then the least is 0."""
    least: int
    itself: int
    """1 if the pod itself is counted."""


class Details:
    """Explain the rejections of one pod, found in the current ``state``.

    Numbers shared by a domain are computed once.
    """

    def __init__(self, pod: Pod, state: ClusterState) -> None:
        self._pod = pod
        self._state = state
        self._hard = [c for c in pod.spread if c.is_hard]
        self._spreads: list[_Spread] = []
        self._standing: dict[tuple[ClassSet, str, str], str] = {}
        self._untolerated: ByIdentity[tuple[Taint, ...], Taint | None] = ByIdentity()
        """By the taints, which nodes of one kind share."""
        self._writers: Mapping[str, Callable[[str, int], str]] = {
            TaintToleration.NAME: self._taint,
            NodeAffinity.NAME: self._labels,
            NodeResourcesFit.NAME: self._resources,
            spreading.NAME: self._skew,
            pods.NAME: self._neighbours,
            dynamic_resources.NAME: self._devices,
            volume_binding.NAME: self._volume,
            volume_zone.NAME: self._zone,
        }

    def of(self, rejection: Rejection, position: int) -> str:
        """Return the details of the rejection of the node at ``position``; empty if there are none."""
        writer = None if rejection.is_error else self._writers.get(rejection.plugin)
        return writer(rejection.reason, position) if writer else ""

    def _taint(self, reason: str, position: int) -> str:
        taints = self._state.index.nodes[position].taints
        if taints not in self._untolerated:
            self._untolerated[taints] = first_untolerated(self._pod.tolerations, taints)
        taint = self._untolerated[taints]
        return f"taint {taint}" if taint else ""

    def _resources(self, reason: str, position: int) -> str:
        state = self._state
        if reason == "Too many pods":
            most = state.index.allocatable(PODS)[position]
            return f"{state.pod_count(position)} of at most {most:.0f} pods are there"
        resource = reason.removeprefix("Insufficient ")
        free = max(int(state.ledger.free(resource)[position]), 0)
        have = int(state.index.allocatable(resource)[position])
        asked = self._pod.requests.get(resource, 0)
        return f"asks for {show(resource, asked)}, {show(resource, free)} of {show(resource, have)} left"

    def _labels(self, reason: str, position: int) -> str:
        """Return what the node lacks; with several alternative terms, none of them is singled out."""
        node = self._state.index.nodes[position]
        added = reason == ENFORCED
        selector = {} if added else self._pod.node_selector
        terms = (profile_of(self._pod).added_node_terms if added else self._pod.required_node_terms) or ()
        missing = [_unlike(Requirement(k, "In", (v,)), node.labels) for k, v in selector.items()]
        if len(terms) == 1:
            missing += [_unlike(r, node.labels) for r in terms[0].expressions]
            missing += [_unlike(r, {"metadata.name": node.name}) for r in terms[0].fields]
        elif not any(missing):
            if added:
                return f"matches none of the {len(terms)} terms of addedAffinity"
            return f"matches none of its {len(terms)} node selector terms" if terms else "its affinity has no terms"
        return "; ".join(dict.fromkeys(filter(None, missing)))

    def _volume(self, reason: str, position: int) -> str:
        """Return which bound volume is elsewhere, and where."""
        index, storage = self._state.index, self._state.storage
        for name in volume_zone.volume_names(self._pod, self._state):
            volume = storage.volumes.get(name)
            if volume is not None and not reachable(volume, index) >> position & 1:
                return f"volume {name} is in {place_of(volume)}"
        return ""

    def _zone(self, reason: str, position: int) -> str:
        """Return the label of the bound volume that names another zone."""
        for name in volume_zone.volume_names(self._pod, self._state):
            for label in volume_zone.excluding_labels(name, position, self._state):
                return f"volume {name} has the label {label}"
        return ""

    def _devices(self, reason: str, position: int) -> str:
        """Return which requests find too few devices."""
        state = self._state
        return "" if state.devices is None else lacking_devices(self._pod, state.devices, state.index, position, reason)

    # --- PodTopologySpread ------------------------------------------------------------------------------------------

    def _skew(self, reason: str, position: int) -> str:
        labels = self._state.index.nodes[position].labels
        if reason == spreading.UNLABELLED:
            return f"the node has no label {next(c.topology_key for c in self._hard if c.topology_key not in labels)}"
        self._spreads = self._spreads or [self._spread(c) for c in self._hard]
        for constraint, spread in zip(self._hard, self._spreads, strict=True):
            here = spread.counts.get(labels[constraint.topology_key], 0)
            if here + spread.itself - spread.least > constraint.max_skew:
                return _skewed(constraint, spread, labels[constraint.topology_key], here)
        return ""

    def _spread(self, constraint: SpreadConstraint) -> _Spread:
        state, pod = self._state, self._pod
        selector = spreading.effective_selector(pod, constraint)
        tally = spreading.spread_tally(selector, pod.namespace, state)
        domains = counted_domains(pod, constraint, state.index)
        counts = {value: tally.total(nodes) for value, nodes in domains.items()}
        few = is_short_of_domains(constraint, len(counts))
        emptiest = None if few else min(counts, key=lambda value: counts[value])
        itself = selector is not None and selector.matches(pod.labels)
        return _Spread(counts, emptiest, 0 if emptiest is None else counts[emptiest], int(itself))

    # --- InterPodAffinity -------------------------------------------------------------------------------------------

    def _neighbours(self, reason: str, position: int) -> str:
        state, pod = self._state, self._pod
        if reason == pods.UNATTRACTED:
            return self._unattracted(position)
        if reason == pods.REPELLED:
            for term in pod.required_anti_affinity:
                where = self._whom(pods.selected_classes(term, pod.namespace, state), term.topology_key, position)
                if where:
                    return f"it keeps away from {where}"
            return ""
        for holders in state.classes.repelling.possible(pod):
            if pods.selects_pod(holders.term, holders.namespace, pod, state):
                held: dict[str, ClassSet] = {}
                for c in holders.items:
                    held[c.pod.namespace] = held.get(c.pod.namespace, 0) | 1 << c.number
                for of_namespace in held.values():
                    where = self._whom(of_namespace, holders.term.topology_key, position)
                    if where:
                        return f"the anti-affinity of {where} selects {_selected(holders.term)}"
        return ""

    def _unattracted(self, position: int) -> str:
        state, pod = self._state, self._pod
        labels = state.index.nodes[position].labels
        for term in pod.required_affinity:
            if term.topology_key not in labels:
                return f"the node has no label {term.topology_key}"
        for term in pod.required_affinity:
            if not self._whom(pods.selected_classes(term, pod.namespace, state), term.topology_key, position):
                return f"no pods with {_selected(term)} are in {term.topology_key}={labels[term.topology_key]}"
        return "no pods that match all its terms are where it is"

    def _whom(self, classes: ClassSet, key: str, position: int) -> str:
        """Return which pods of these classes are in the node's domain:

        ``2 pods like shop/{app=db} in zone=a``; else empty.
        """
        value = self._state.index.nodes[position].labels.get(key)
        if value is None:
            return ""
        found = self._standing.get((classes, key, value))
        if found is None:
            found = self._standing[classes, key, value] = self._listed(classes, key, value)
        return found

    def _listed(self, classes: ClassSet, key: str, value: str) -> str:
        domain = self._state.index.with_label(key, value)
        here = [c for c in self._state.classes.members(classes) if c.nodes & domain]
        if not here:
            return ""
        count = sum(c.tally.total(domain) for c in here)
        one = here[0].pod
        labels = ",".join(f"{k}={v}" for k, v in one.labels.items() if not k.startswith(_ADDED))
        return f"{f'{count} pods' if count > 1 else 'a pod'} like {one.namespace}/{{{labels}}} in {key}={value}"


def _unlike(requirement: Requirement, labels: Labels) -> str:
    if requirement.matches(labels):
        return ""
    have = f"has {requirement.key}={labels[requirement.key]}" if requirement.key in labels else "has no such label"
    return f"asks for {Selector((requirement,))}, the node {have}"


def _skewed(constraint: SpreadConstraint, spread: _Spread, value: str, here: int) -> str:
    key = constraint.topology_key
    with_it = f"{key}={value} would hold {here + 1}" if spread.itself else f"{key}={value} holds {here}"
    if spread.emptiest is None:
        few = f"fewer than {constraint.min_domains} {domain_word(key, 2)}"
        return f"{with_it}, at most {constraint.max_skew} while there are {few}"
    return f"{with_it}, the emptiest {key}={spread.emptiest} holds {spread.least}, maxSkew is {constraint.max_skew}"


def _selected(term: PodAffinityTerm) -> str:
    return str(term.selector) if term.selector is not None else "nothing (its labelSelector is null)"
