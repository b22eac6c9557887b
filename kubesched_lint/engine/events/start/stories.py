"""The start of a story: the deployment."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from kubesched_lint.engine.base import work
from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.engine.events.search.events import ForeignWorkload, Timeline
from kubesched_lint.engine.events.start.quotas import as_granted
from kubesched_lint.engine.events.start.setting import Setting, SimulatedMember
from kubesched_lint.engine.model.pod import Pod
from kubesched_lint.engine.model.workload import Workload


def _marks(setting: Setting) -> Mapping[str, Hashable]:
    """Return by name of a node what a hypothesis does to it: nodes that look alike must not be swapped then."""
    if setting.supposed is None:
        return {}
    change, upgraded = setting.supposed.change, setting.supposed.upgraded
    groups = [change.lost, change.unreachable, *(names for names, _ in (*change.tainted, *change.unlabelled))]
    return {
        node.name: (*(node.name in names for names in groups), node.name if node.name in upgraded else "")
        for node in setting.nodes
    }


def bare_story(setting: Setting, *foreseen: Workload) -> Timeline:
    """Return a story of the nodes as they are, before anything is deployed."""
    return Timeline(
        setting.nodes,
        setting.objects,
        foreseen=foreseen,
        runs=1,
        kubernetes_version=setting.kubernetes_version,
        admission=setting.admission,
        index=setting.index,
    )


def story_of(
    setting: Setting,
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
) -> Timeline:
    """Return a story with the members deployed; with ``unready``, pods of ``never_ready`` workloads stay unready.

    If not ``deployed``, the story only knows the members: nobody makes pods of them yet.

    ``changed``: the workloads with unknown changes whose manifests are assumed to change running pods. ``guests`` may
    be deleted; all other pods stay where they are. See ``Timeline`` for the other options.
    """
    work.spend(work.CALL * len(members))  # before anything is made: what is beyond the limit must cost nothing
    chosen = [as_granted(setting.member(i)) for i in members]
    moving = {bound for guest in guests for bound in guest.pods}
    staying = tuple(bound for bound in setting.objects.pods if bound not in moving)
    story = Timeline(
        setting.nodes,
        replace(setting.objects, pods=staying) if moving else setting.objects,
        foreseen=chosen,
        marks=_marks(setting) if marks is None else marks,
        expected=expected,
        most_states=most_states,
        runs=runs,
        seed=seed,
        kubernetes_version=setting.kubernetes_version,
        never_ready=[setting.workloads[i].ref for i in setting.never_ready],
        preempting=preempting,
        precedence={setting.workloads[i].ref: value for i, value in (precedence or {}).items()},
        against=against,
        admission=setting.admission,
        index=setting.index,
        by_readiness=by_readiness,
        by_likeness=by_likeness,
    )
    for guest in guests:
        story.host(guest)
    for i in members:
        if setting.running.get(i):
            changes = setting.changes.get(i, True)
            changes = i in changed if changes is None else changes
            story.adopt(setting.workloads[i], setting.running[i], changed=changes, size=setting.sizes.get(i))
    if unready:
        story.from_now_unready()
    if deployed:
        story.deploy(chosen, together=setting.together)
        return story
    for workload in chosen:
        if workload.key not in story.numbers:
            story.enter(workload)
    return story


def anew(
    start: Timeline, chosen: Sequence[Workload], seed: int, runs: int, precedence: Mapping[ObjectRef, int]
) -> Timeline:
    """Deploy workloads in a story that knows them already, from the start that others share."""
    work.spend(work.CALL * len(chosen))  # see ``story_of``
    story = start.start_anew(seed, runs, precedence)
    story.deploy(chosen, together=True)
    return story


def seeded_stories(member: SimulatedMember, seeds: Iterable[int], *, expected: bool) -> Iterator[Timeline]:
    """Yield for each seed a story with one workload deployed in one random course.

    The stories share one oracle, which decides each situation once. They bind a pod to the first of equal nodes, so
    that more of them meet the same situation. Only the names of nodes depend on that.
    """
    start = story_of(
        member.set, [member.number], expected=expected, most_states=0, runs=1, by_likeness=True, deployed=False
    )
    workload = as_granted(member)
    for seed in seeds:
        story = start.fork()
        story.seed = seed
        story.deploy([workload], together=member.set.together)
        yield story
