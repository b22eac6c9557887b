"""The first lines of a plan: what the change does at worst, and what starts, comes and goes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from kubesched_lint.commands.plan.changes import MAY_ROLL_OUT, ROLLS_OUT
from kubesched_lint.commands.plan.plan_result import Plan, StuckRollout, WorkloadPlan
from kubesched_lint.engine.answers.cells import Cell
from kubesched_lint.engine.answers.order import WORSE
from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.engine.base.text import SHOWN, first_few, many, not_read, plural
from kubesched_lint.findings import Severity
from kubesched_lint.linter.environments import unless_all, with_environments
from kubesched_lint.project.finding_changes import FindingChange
from kubesched_lint.report.words import shadowed, short_names

_STARTS = frozenset((ROLLS_OUT, MAY_ROLL_OUT))
"""The actions that start a rollout."""


def names_of(plan: Plan) -> Mapping[ObjectRef, str]:
    """Return the name of each workload of the plan: ``shop/web``, with the kind where two share it."""
    return short_names([*(one.object for one in plan.workloads), *plan.untouched, *plan.open])


def result(plan: Plan) -> str:
    """Return what the change does at worst, in one sentence: the first that applies."""
    sentences = next(filter(None, _worse(plan)), ())
    if sentences:
        return f"after this change {'; '.join(sentences[: SHOWN - 1])}"
    changed = [one for one in plan.workloads if one.change is not None]
    if plan.is_empty:
        return "no change is known" if plan.unknown or plan.errors or plan.errors_before else "no change"
    open_ = _objects(plan, [one for one in changed if one.is_open])
    unread = [not_read(Counter(f"changed {one.kind}" for one in plan.unread))] if plan.unread else []
    lost = _objects(plan, [one for one in plan.workloads if not one.is_told and any(c.is_lost for c in one.cells)])
    if open_ or lost:
        kind, names = ("changed workload", open_) if open_ else ("workload", lost)
        are = plural(len(names), "is", "are")
        now = "unknown" if open_ else "unknown now"
        unread.insert(0, f"{many(len(names), kind)} {are} {now} ({first_few(names)})")
    unread += [f"{first_few(paths)} could not be read{when}" for paths, when in _unreadable(plan) if paths]
    if unread:
        return f"nothing is known to get worse; {'; '.join(unread)}"
    return "this change makes nothing worse" if plan.workloads else "no workload changes"


def _unreadable(plan: Plan) -> Iterator[tuple[Sequence[str], str]]:
    """Yield (paths, when) of what one side alone could not read: nobody knows what it makes there."""
    told_of = [{(error.path, error.message) for error in errors} for errors in (plan.errors, plan.errors_before)]
    for own, other, when in ((plan.errors, 1, ""), (plan.errors_before, 0, " before the change")):
        errors = [error for error in own if (error.path, error.message) not in told_of[other]]
        yield list(dict.fromkeys(error.path for error in errors)), when


def _worse(plan: Plan) -> Iterator[Sequence[str]]:
    """Yield what gets worse, by degree: for certain, as findings say, on these nodes, perhaps.

    Pods that wait come before rollouts that only the next template would start. A workload is named once.
    """
    starting = {one.object for one in plan.stuck}
    certain = [w for w in plan.workloads if w.waiting(proven=True) is not None and w.object not in starting]
    told = {one.object for one in certain}
    rollouts = list(_rollouts(plan, [one for one in plan.never_end if one.object not in told], "can never end"))
    waiting = list(_waiting(plan, certain, proven=True))
    refused = _objects(plan, [one for one in plan.workloads if one.is_refused])
    yield [
        *([f"the API server refuses {many(len(refused), 'workload')}: {first_few(refused)}"] if refused else ()),
        *((*rollouts, *waiting) if starting else (*waiting, *rollouts)),
    ]
    yield list(_new_findings(plan, Severity.ERROR))
    here = [one for one in plan.workloads if one.waiting(proven=False) is not None]
    told = {one.object for one in here}
    hanging = [one for one in plan.workloads if one.hangs(proven=False) and one.object not in told]
    yield [*_waiting(plan, here, proven=False), *_rollouts(plan, hanging, "cannot end on these nodes")]
    if names := _objects(plan, [one for one in plan.workloads if one.direction == WORSE]):
        yield [f"{many(len(names), 'workload')} {plural(len(names), 'gets', 'get')} worse: {first_few(names)}"]
    yield list(_new_findings(plan, Severity.WARNING))


def _rollouts(plan: Plan, things: Sequence[WorkloadPlan | StuckRollout], verb: str) -> Iterator[str]:
    """Yield the rollouts of a verdict; "later" ones where the change starts none of them."""
    starting = {one.object for one in plan.workloads if one.change is not None and _STARTS & set(one.change.actions)}
    starting |= {one.object for one in plan.stuck}
    if names := _objects(plan, things):
        starts = any(one.object in starting for one in things)
        later = plural(len(names), "a later rollout", f"later rollouts of {len(names):,} workloads")
        yield f"{many(len(names), 'rollout') if starts else later} {verb}: {first_few(names)}"


def _waiting(plan: Plan, workloads: Sequence[WorkloadPlan], *, proven: bool) -> Iterator[str]:
    changes = [(one, change) for one in workloads if (change := one.waiting(proven=proven)) is not None]
    if changes:
        ends = [(_left(change.before), _left(change.after)) for _, change in changes]
        count = max(sum(after - before for before, after in ends), 1)
        is_exact = all(cell.bound.is_single for _, c in changes for cell in (c.before, c.after) if cell is not None)
        more = " more" if any(before for before, _ in ends) else ""
        pods = f"{count:,}{more} {plural(count, 'pod stays', 'pods stay')} Pending"
        names = _objects(plan, [one for one, _ in changes])
        yield f"{'' if is_exact else 'at least '}{pods}{'' if proven else ' on these nodes'}: {first_few(names)}"


def _left(cell: Cell | None) -> int:
    """Return the number of pods that surely find no node; of a bad end, it is at least one."""
    return max(cell.wanted - cell.bound.most, 1) if cell is not None and cell.ends_badly else 0


def _new_findings(plan: Plan, severity: Severity) -> Iterator[str]:
    severe = [c for c in plan.findings.changes if c.is_more_severe and c.finding.severity is severity]
    if severe:
        rules = list(dict.fromkeys(change.finding.rule for change in severe))
        are = plural(len(severe), "is", "are")
        yield f"{many(len(severe), severity.word)} {are} new: {first_few(rules)}"


def started(plan: Plan) -> str:
    """Return the line about the rollouts that start, and the findings that come and go; empty without any.

    Another template starts a rollout; a change of the strategy or of replicas alone does not.
    """
    parts = []
    for action, *verbs in ((ROLLS_OUT, "starts", "start"), (MAY_ROLL_OUT, "may start", "may start")):
        of_action = [w for w in plan.workloads if w.change is not None and action in w.change.actions]
        if names := _objects(plan, of_action):
            parts.append(f"{many(len(names), 'rollout')} {plural(len(names), *verbs)}: {first_few(names)}")
    came = _counts([change for change in plan.findings.changes if change.is_more_severe], "new")
    went = _counts(plan.findings.gone, "gone")
    findings = ", ".join(filter(None, (went, came)))
    return "; ".join((*parts, findings) if findings else parts)


def below(plan: Plan) -> Iterator[str]:
    """Yield the lines below the first: what starts, comes and goes; why a bad end does not fail the run."""
    yield from filter(None, (started(plan), _not_blocked(plan)))
    if plan.shadow is not None:
        yield shadowed(plan.shadow)


def _not_blocked(plan: Plan) -> str:
    """Return why the run passes although something cannot end well on these nodes; empty where it fails."""
    if plan.is_blocked or not is_severe(plan):
        return ""
    if plan.is_worse:
        return "does not block: --fail-on names none of this"
    harder = "; --fail-on warning blocks it" if plan.worst_finding is Severity.WARNING else ""
    return f"does not block: how it ended before is unknown{harder}"


def _counts(changes: Sequence[FindingChange], word: str) -> str:
    """Return ``2 errors, 1 warning gone``."""
    counts = {s: sum(change.finding.severity is s for change in changes) for s in reversed(Severity)}
    parts = [many(count, severity.word) for severity, count in counts.items() if count]
    return f"{', '.join(parts)} {word}" if parts else ""


def _objects(plan: Plan, things: Sequence[WorkloadPlan | StuckRollout]) -> list[str]:
    """Return the names of objects, each once, with the environments that something holds in."""
    where: dict[ObjectRef, dict[str, None]] = {}
    for one in things:
        where.setdefault(one.object, {}).update(dict.fromkeys(one.environments or plan.environments))
    names = names_of(plan)
    return [
        with_environments(names.get(ref, ref.title), unless_all(list(each), plan.environments))
        for ref, each in where.items()
    ]


def is_severe(plan: Plan) -> bool:
    """Whether something fails now, for certain or on these nodes, or is refused; or an error is new."""
    ends = (
        one.waiting(proven=proven) or one.hangs(proven=proven) for one in plan.workloads for proven in (True, False)
    )
    return plan.is_worse or any(ends)


def is_calm(plan: Plan) -> bool:
    """Whether nothing gets worse, as far as anybody knows, and it is known of all that changes."""
    is_known = not any(one.is_open or any(c.is_lost for c in one.cells) for one in plan.workloads)
    is_read = not plan.errors and not plan.unread and not any(paths for paths, _ in _unreadable(plan))
    return is_known and is_read and not any(_worse(plan))
