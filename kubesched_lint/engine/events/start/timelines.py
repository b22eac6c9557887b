"""The start of a timeline: the deployment."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence

from kubesched_lint.engine.base import work
from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.engine.events.search.events import ForeignWorkload, Timeline
from kubesched_lint.engine.events.start.quotas import as_granted
from kubesched_lint.engine.events.start.simulated_set import SimulatedMember, SimulatedSet
from kubesched_lint.engine.model.pod import Pod
from kubesched_lint.engine.model.workloads.workload import Workload


def _marks(simulated: SimulatedSet) -> Mapping[str, Hashable]:
    """Return by name of a node what a hypothesis does to it: nodes that look alike must not be swapped then."""
    if simulated.supposed is None:
        return {}
    change, upgraded = simulated.supposed.change, simulated.supposed.upgraded
    groups = [change.lost, change.unreachable, *(names for names, _ in (*change.tainted, *change.unlabelled))]
    return {
        node.name: (*(node.name in names for names in groups), node.name if node.name in upgraded else "")
        for node in simulated.nodes
    }


def bare_timeline(simulated: SimulatedSet, *foreseen: Workload) -> Timeline:
    """Return a timeline of the nodes as they are, before anything is deployed."""
    return Timeline(
        simulated.nodes,
        simulated.objects,
        foreseen=foreseen,
        runs=1,
        kubernetes_version=simulated.kubernetes_version,
        admission=simulated.admission,
        index=simulated.index,
    )


def timeline_of(
    simulated: SimulatedSet,
    members: Sequence[int],
    *,
    expected: bool,
    most_states: int,
    runs: int = 0,
    seed: int = 0,
    unready: bool = False,
    preempting: bool = False,
    changed: Collection[int] = (),
    guests: Sequence[ForeignWorkload] = (),
    precedence: Mapping[int, int] | None = None,
    against: Pod | None = None,
    marks: Mapping[str, Hashable] | None = None,
    by_readiness: bool = False,
    by_likeness: bool = False,
    deployed: bool = True,
    granted: Mapping[int, int] | None = None,
) -> Timeline:
    """Return a timeline with the members deployed; with ``unready``, pods of ``never_ready`` workloads stay unready.

    If not ``deployed``, the timeline only knows the members: nobody makes pods of them yet.

    ``changed``: the workloads with unknown changes whose manifests are assumed to change running pods. ``guests`` may
    be deleted; all other pods stay where they are. ``granted``: see ``as_granted``, and ``Timeline`` for the other
    options.
    """
    work.spend(work.CALL * len(members))  # before anything is made: what is beyond the limit must cost nothing
    chosen = [as_granted(simulated.member(i), granted) for i in members]
    moving = {bound for guest in guests for bound in guest.pods}
    staying = tuple(bound for bound in simulated.objects.pods if bound not in moving)
    timeline = Timeline(
        simulated.nodes,
        simulated.objects.with_pods(staying) if moving else simulated.objects,
        foreseen=chosen,
        marks=_marks(simulated) if marks is None else marks,
        expected=expected,
        most_states=most_states,
        runs=runs,
        seed=seed,
        kubernetes_version=simulated.kubernetes_version,
        never_ready=[simulated.workloads[i].ref for i in simulated.never_ready],
        preempting=preempting,
        precedence={simulated.workloads[i].ref: value for i, value in (precedence or {}).items()},
        against=against,
        admission=simulated.admission,
        index=simulated.index,
        by_readiness=by_readiness,
        by_likeness=by_likeness,
    )
    for guest in guests:
        timeline.host(guest)
    for i in members:
        if simulated.running.get(i):
            changes = simulated.changes.get(i, True)
            changes = i in changed if changes is None else changes
            timeline.adopt(simulated.workloads[i], simulated.running[i], changed=changes, size=simulated.sizes.get(i))
    if unready:
        timeline.from_now_unready()
    if deployed:
        timeline.deploy(chosen, together=simulated.together)
        return timeline
    for workload in chosen:
        if workload.key not in timeline.numbers:
            timeline.enter(workload)
    return timeline


def anew(
    start: Timeline, chosen: Sequence[Workload], seed: int, runs: int, precedence: Mapping[ObjectRef, int]
) -> Timeline:
    """Deploy workloads in a timeline that knows them already, from the start that others share."""
    work.spend(work.CALL * len(chosen))  # see ``timeline_of``
    timeline = start.start_anew(seed, runs, precedence)
    timeline.deploy(chosen, together=True)
    return timeline


def seeded_timelines(member: SimulatedMember, seeds: Iterable[int], *, expected: bool) -> Iterator[Timeline]:
    """Yield for each seed a timeline with one workload deployed in one random course.

    The timelines share one model, which decides each situation once. They bind a pod to the first of equal nodes, so
    that more of them meet the same situation. Only the names of nodes depend on that.
    """
    start = timeline_of(
        member.set, [member.number], expected=expected, most_states=0, runs=1, by_likeness=True, deployed=False
    )
    workload = as_granted(member)
    for seed in seeds:
        timeline = start.fork()
        timeline.seed = seed
        timeline.deploy([workload], together=member.set.together)
        yield timeline
