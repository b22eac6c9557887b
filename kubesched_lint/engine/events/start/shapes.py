"""Workloads that are equal but for their names: what a trace shows of one holds for the other as well."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from kubesched_lint.engine.admission.schedulers import default_selector, owner_selector
from kubesched_lint.engine.base.identity import Itself
from kubesched_lint.engine.events.start.simulated_set import (
    SimulatedMember,
    SimulatedSet,
    once_per_member,
    once_per_set,
)
from kubesched_lint.engine.model.labels import Selector
from kubesched_lint.engine.model.pod import Pod, PodAffinityTerm
from kubesched_lint.engine.model.storage import PersistentVolume
from kubesched_lint.engine.scheduler.plugins.inter_pod_affinity import named_namespaces


@once_per_member
def shape(member: SimulatedMember) -> Hashable | None:
    """Return everything that traces of a workload depend on, except names; None if they may depend on more.

    It leaves out the other workloads of the set: the caller knows that no trace has them, or that all have the same.
    """
    pod = member.pod

    def selects_itself(asked: PodAffinityTerm | Selector) -> bool:
        return asked.matches(pod.labels) if isinstance(asked, Selector) else member.set.selects(asked, pod, pod)

    return None if pod.volumes else _form(member, selects_itself)


@once_per_member
def shape_in_set(member: SimulatedMember) -> Hashable | None:
    """Return the same for traces of the whole set: workloads of one shape may exchange their names in each of them.

    Selectors of the set select either both or none of them, or they have one that selects only its own pods each.
    """
    simulated = member.set
    volumes = _volumes(member)
    if volumes is None or simulated.running or simulated.supposed is not None or not simulated.together:
        return None
    selectors, default = _selectors(simulated), _default(member)
    form = _form(member, lambda asked: selectors.name(asked, member.number))
    if form is None:
        return None
    spread = None if default is None else selectors.name(default, member.number)
    return *form, member.pod.namespace, volumes, spread, selectors.selecting[member.number]


def _form(
    member: SimulatedMember, name: Callable[[PodAffinityTerm | Selector], Hashable]
) -> tuple[Hashable, ...] | None:
    """Return what a workload asks for, except names; None if it may ask for more.

    Selectors have names: ``name`` says instead what one selects.
    """
    workload, pod = member.workload, member.pod
    if workload.claim_templates or pod.resource_claims or member.running:
        return None
    if workload.custom is not None or member.quotas or member.budgets or _may_meet(member.set, pod):
        return None
    bare = replace(
        pod,
        namespace="",
        labels={},
        volumes=(),
        required_affinity=(),
        required_anti_affinity=(),
        preferred_affinity=(),
        preferred_anti_affinity=(),
        spread=(),
        as_written=None,
    )
    return (
        repr(bare),
        tuple(
            tuple((weight, term.topology_key, term.path, name(term)) for weight, term in terms) for terms in _terms(pod)
        ),
        tuple((repr(replace(c, selector=None)), c.selector is not None and name(c.selector)) for c in pod.spread),
        (workload.kind, workload.replicas, repr(workload.strategy), workload.pod_management, workload.first_ordinal),
        (workload.min_ready_seconds, workload.suspended, member.never_ready),
        (repr(member.scaler) if member.number in member.set.scalers else "", member.scaled),
        member.usable,
    )


def _terms(pod: Pod) -> Sequence[Sequence[tuple[int, PodAffinityTerm]]]:
    """Return (weight, term) for each kind of pod affinity; required terms have weight 0."""
    required = [[(0, term) for term in terms] for terms in (pod.required_affinity, pod.required_anti_affinity)]
    preferred = (pod.preferred_affinity, pod.preferred_anti_affinity)
    return *required, *([(each.weight, each.term) for each in terms] for terms in preferred)


class _Outside(NamedTuple):
    """The pods outside the set."""

    namespaces: frozenset[str]
    """Those that have such pods, or that terms of such pods name."""
    is_everywhere: bool
    """Whether such a term selects namespaces by label."""


@once_per_set
def _outside(simulated: SimulatedSet) -> _Outside:
    kinds = [group.pod for group in simulated.others]
    held = [(pod.namespace, term) for pod in kinds for terms in _terms(pod) for _, term in terms]
    named = (name for own, term in held for name in named_namespaces(term, own))
    by_label = any(term.namespace_selector is not None for _, term in held)
    return _Outside(frozenset((*(pod.namespace for pod in kinds), *named)), by_label)


def _may_meet(simulated: SimulatedSet, pod: Pod) -> bool:
    """Whether a selector may tie a pod to pods outside the set: selectors of spread and of scores stay in a namespace.

    Their labels are names, so that workloads of one shape may differ in it.
    """
    outside = _outside(simulated)
    if outside.is_everywhere or pod.namespace in outside.namespaces:
        return True
    own = [term for terms in _terms(pod) for _, term in terms]
    return bool(outside.namespaces) and any(term.namespaces or term.namespace_selector is not None for term in own)


# --- in a set -------------------------------------------------------------------------------------------------------

_OWN = "its own pods"


def _volumes(member: SimulatedMember) -> tuple[Hashable, ...] | None:
    """Return the volumes of a pod, without the names of what no other uses; None if a claim's volume is not its own."""
    simulated = member.set
    pod, volumes = member.pod, list[Hashable]()
    for volume in pod.volumes:
        key = pod.namespace, volume.claim
        claim = simulated.cluster.storage.claims.get(key) if volume.claim else None
        if claim is None or _users(simulated)[key] > 1:
            volumes.append(repr(volume))
            continue
        kept = _kept(simulated).get(key)
        if claim.volume_name != ("" if kept is None else kept.name):
            return None
        form = repr(replace(claim, name="", volume_name="", uid="", path=(), source=None))
        bare = kept and replace(kept, name="", claim_ref=None, path=(), source=None)
        volumes.append((volume.kind, volume.read_only, form, repr(bare)))
    return tuple(volumes)


@once_per_set
def _users(simulated: SimulatedSet) -> Mapping[tuple[str, str], int]:
    """Return by namespace and name of a claim the number of volumes of workloads and of other pods that name it."""
    pods = (*simulated.pods, *(bound.pod for bound in simulated.objects.pods))
    return Counter((pod.namespace, volume.claim) for pod in pods for volume in pod.volumes)


@once_per_set
def _kept(simulated: SimulatedSet) -> Mapping[tuple[str, str], PersistentVolume]:
    """Return by namespace and name of a claim the volume that is kept for it."""
    return {volume.claim_ref[:2]: volume for volume in simulated.objects.volumes if volume.claim_ref is not None}


class _Selectors:
    """The selectors of a set by what they select."""

    def __init__(self, simulated: SimulatedSet) -> None:
        self._simulated = simulated
        selecting: list[list[Itself[tuple[int, ...]]]] = [[] for _ in simulated.pods]
        met = set[Itself[tuple[int, ...]]]()
        for number, pod in enumerate(simulated.pods):
            for asked in _asked(simulated.member(number)):
                selected = Itself(simulated.selection.of(asked, pod.namespace))
                if selected.it != (number,) and selected not in met:
                    met.add(selected)
                    for other in selected.it:
                        selecting[other].append(selected)
        nobody = frozenset[Itself[tuple[int, ...]]]()
        self.selecting = tuple(frozenset(own) if own else nobody for own in selecting)
        """Per workload: the selectors that select it, except those that select its own pods only."""

    def name(self, asked: PodAffinityTerm | Selector, number: int) -> Hashable:
        """Return what a selector of a workload selects: equal results of a selection are one object."""
        selected = self._simulated.selection.of(asked, self._simulated.pods[number].namespace)
        return _OWN if selected == (number,) else Itself(selected)


_selectors = once_per_set(_Selectors)


def _asked(member: SimulatedMember) -> Iterator[PodAffinityTerm | Selector]:
    pod = member.pod
    yield from (term for terms in _terms(pod) for _, term in terms)
    yield from filter(None, (*(c.selector for c in pod.spread), _default(member)))


def _default(member: SimulatedMember) -> Selector | None:
    """Return the selector by which the scheduler spreads pods that say nothing."""
    workload, pod = member.workload, member.pod
    selector = default_selector(pod, member.set.objects, owner_selector(workload, pod.labels))
    return None if selector.is_empty else selector
