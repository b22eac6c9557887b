"""Running pods that no scheduling rule distinguishes form one class, kept as counts per node.

150,000 pods become some thousand classes. Classes are indexed by their labels as nodes are: a set of classes is one
int, and a selector is a few set operations.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Iterator, Sequence

from kubesched_lint.engine.cluster.nodeset import EMPTY, NodeSet
from kubesched_lint.engine.cluster.pods.known_pods import KnownPods, class_key
from kubesched_lint.engine.cluster.selecting.labelled import PodIndex
from kubesched_lint.engine.cluster.selecting.postings import HeldTerms, Posted, post, posted_for
from kubesched_lint.engine.cluster.topology import NodeCounter, sum_of
from kubesched_lint.engine.model.pod import Pod, PodAffinityTerm, Resources, WeightedPodAffinityTerm
from kubesched_lint.engine.model.resources import nonzero_requests

ClassSet = int
"""A set of pod classes: bit i is the class numbered i."""


class PodClass:
    """Pods that are equal in namespace, labels, terms, requests, ports, claims, priority and whether they terminate."""

    __slots__ = ("followers", "nonzero", "number", "pod", "requests", "tally", "terminating")

    def __init__(self, number: int, pod: Pod, terminating: bool) -> None:
        self.number = number
        self.pod = pod
        """One pod that represents all."""
        self.terminating = terminating
        self.requests: Resources = (
            pod.requests if all(pod.requests.values()) else {name: n for name, n in pod.requests.items() if n}
        )
        self.nonzero: tuple[int, int] = nonzero_requests(pod)
        """Millicores and bytes that scoring counts: requests with the scheduler's defaults for missing ones."""
        self.tally = NodeCounter()
        """The number of these pods on each node."""
        self.followers: list[NodeCounter] = []
        """Counters of several classes that count these pods too."""

    @property
    def nodes(self) -> NodeSet:
        return self.tally.nodes

    def come(self, nodes: NodeSet) -> None:
        """Count one more pod on each of ``nodes``."""
        self.tally.add(nodes)
        for counter in self.followers:
            counter.add(nodes)

    def come_each(self, at: Sequence[int]) -> None:
        """Count one more pod for each of these positions, of which several may be the same node."""
        self.tally.add_each(at)
        for counter in self.followers:
            counter.add_each(at)

    def leave(self, nodes: NodeSet) -> None:
        """Count one pod less on each of ``nodes``."""
        self.tally.subtract(nodes)
        for counter in self.followers:
            counter.subtract(nodes)


class AffinityScoreTerm:
    """A scoring affinity term of running pods: a positive weight attracts new pods, a negative one repels them."""

    __slots__ = ("is_required", "namespace", "number", "tally", "term", "weight")

    def __init__(self, number: int, namespace: str, term: PodAffinityTerm, weight: int, is_required: bool) -> None:
        self.number = number
        self.namespace = namespace
        """That of the pods, to which the term refers; of any of them if the term names or selects namespaces."""
        self.term = term
        self.weight = weight
        self.is_required = is_required
        """The running pods require it: the scheduler's configuration says how much that weighs."""
        self.tally = NodeCounter()
        """The number of pods with the term on each node."""

    def join(self, pod_class: PodClass) -> None:
        """Count the pods of a class from now on."""
        self.tally.planes[:] = sum_of((self.tally, pod_class.tally)).planes
        pod_class.followers.append(self.tally)


class PodClasses:
    """All classes with their label index; classes are only added, never removed."""

    def __init__(self, known: KnownPods | None = None) -> None:
        """``known``: what other sets of classes know of the same pods."""
        self._known = known
        self.all: list[PodClass] = []
        self._of_priority: dict[int, list[PodClass]] = {}
        self._by_pod: tuple[dict[Pod, PodClass], dict[Pod, PodClass]] = {}, {}
        """For pods that stay, and for those that terminate."""
        self._by_key: dict[Hashable, PodClass] = {}
        self.index = PodIndex()
        """One pod of each class, at the place of its number."""
        self.terminating: ClassSet = 0
        self.preferring: ClassSet = 0
        """Classes with preferred terms or required affinity, which InterPodAffinity scores by."""
        self.with_volumes: ClassSet = 0
        self.repelling: HeldTerms[PodClass] = HeldTerms()
        """The required anti-affinity of running pods against new ones."""
        self._pulls: Posted[AffinityScoreTerm] = {}
        """What a term requires of pods → the terms, in the order of their classes."""
        self._pulls_posted = 0
        self._pull_of: dict[tuple[str, PodAffinityTerm, int, bool], AffinityScoreTerm] = {}

    def __len__(self) -> int:
        return len(self.all)

    def of(self, pod: Pod, terminating: bool = False) -> PodClass:
        """Return the class of a pod; a new one if no class equals it."""
        known = self._by_pod[terminating].get(pod)
        if known is not None:
            return known
        key = class_key(pod, terminating) if self._known is None else self._known.key(pod, terminating)
        pod_class = self._by_key.get(key)
        if pod_class is None:
            pod_class = self._by_key[key] = self._new(pod, terminating)
        self._by_pod[terminating][pod] = pod_class
        return pod_class

    def _new(self, pod: Pod, terminating: bool) -> PodClass:
        made = PodClass(len(self.all), pod, terminating)
        bit = 1 << made.number
        self.all.append(made)
        self._of_priority.setdefault(pod.priority or 0, []).append(made)
        self.index.add(pod.namespace, pod.labels)
        if terminating:
            self.terminating |= bit
        if pod.required_affinity or pod.preferred_affinity or pod.preferred_anti_affinity:
            self.preferring |= bit
        if pod.volumes:
            self.with_volumes |= bit
        if pod.required_anti_affinity:
            self.repelling.add(made, pod)
        return made

    def below(self, priority: int) -> Iterator[PodClass]:
        """Yield the classes of pods with a lower priority."""
        for other, classes in self._of_priority.items():
            if other < priority:
                yield from classes

    # --- selection --------------------------------------------------------------------------------------------------

    def members(self, classes: ClassSet) -> Iterator[PodClass]:
        return map(self.all.__getitem__, self.index.listed(classes))

    # --- pods per node ----------------------------------------------------------------------------------------------

    def nodes_of(self, classes: ClassSet) -> NodeSet:
        """Return the nodes that hold at least one pod of these classes."""
        nodes = EMPTY
        for member in self.members(classes):
            for plane in member.tally.planes:
                nodes |= plane
        return nodes

    def tally_of(self, classes: ClassSet) -> NodeCounter:
        """Return the number of pods of these classes per node."""
        return sum_of(member.tally for member in self.members(classes))

    # --- preferred affinity and anti-affinity of running pods -------------------------------------------------------

    def possible_pulls(self, pod: Pod, since: int) -> Iterator[AffinityScoreTerm]:
        """Return every term that might score a pod, of those numbered ``since`` and higher.

        The caller checks selector and namespace.
        """
        self._post_pulls()
        return posted_for(pod, self._pulls, lambda posted: bisect_left(posted, since, key=lambda pull: pull.number))

    @property
    def pulls(self) -> int:
        """The number of distinct terms that score pods."""
        self._post_pulls()
        return len(self._pull_of)

    def _post_pulls(self) -> None:
        """Index the terms for scoring; deferred until a score is needed."""
        for pod_class in self.members(self.preferring >> self._pulls_posted << self._pulls_posted):
            pod = pod_class.pod
            for term in pod.required_affinity:
                self._pull(pod.namespace, term, 1, True).join(pod_class)
            for weighted, sign in signed(pod.preferred_affinity, pod.preferred_anti_affinity):
                self._pull(pod.namespace, weighted.term, sign * weighted.weight, False).join(pod_class)
        self._pulls_posted = len(self.all)

    def _pull(self, own: str, term: PodAffinityTerm, weight: int, is_required: bool) -> AffinityScoreTerm:
        named = bool(term.namespaces) or term.namespace_selector is not None
        key = ("" if named else own, term, weight, is_required)
        score_term = self._pull_of.get(key)
        if score_term is None:
            score_term = self._pull_of[key] = AffinityScoreTerm(len(self._pull_of), own, term, weight, is_required)
            post(score_term, term, own, self._pulls)
        return score_term


def signed(
    affinity: Sequence[WeightedPodAffinityTerm], anti_affinity: Sequence[WeightedPodAffinityTerm]
) -> Iterator[tuple[WeightedPodAffinityTerm, int]]:
    for weighted in affinity:
        yield weighted, 1
    for weighted in anti_affinity:
        yield weighted, -1
