"""Compare recorded lifecycles of a real control plane with predicted outcome sets.

Only ``compare`` reads the recording's ``runs``, after the prediction was made.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from kubesched_lint.engine.base.releases import judged_by
from kubesched_lint.engine.bounds.bounds import frame
from kubesched_lint.engine.events.answers.cells import EventOutcome, outcome, outcomes
from kubesched_lint.engine.events.limits import MOST_STATES
from kubesched_lint.engine.events.search.events import Phase, Timeline
from kubesched_lint.engine.events.search.node_events import cordon, drain, lose
from kubesched_lint.engine.events.search.trace import replays, trace
from kubesched_lint.engine.model.decode.nodes import decode_node
from kubesched_lint.engine.model.decode.objects import decode_object, gather
from kubesched_lint.engine.model.decode.workloads import decode_workload
from kubesched_lint.engine.model.workloads.workload import KINDS

Case = Mapping[str, Any]

FIELDS = {
    "Deployment": ("bound", "pending", "new", "old", "rollout"),
    "StatefulSet": ("bound", "pending", "created", "updated"),
    "DaemonSet": ("bound", "pending"),
}


def timeline_of(case: Case, **options: Any) -> Iterator[tuple[int, str, Timeline, Phase]]:
    """Yield the simulated phases of a recorded case: (step index, name, timeline so far, phase)."""
    nodes = [decode_node(n) for n in case["nodes"]]
    workloads, others = [], []
    for i, value in enumerate(case["objects"]):
        if value["kind"] in KINDS:
            workloads.append(decode_workload(value, "default", None, i))
        else:
            others.append(decode_object(value, "default", None, i))
    applied = {i: decode_workload(s["apply"], "default") for i, s in enumerate(case["steps"]) if "apply" in s}
    timeline = Timeline(
        nodes,
        gather(others),
        foreseen=[*workloads, *applied.values()],
        marks=_marks(case["steps"]),
        **options,
    )
    yield 0, "initial", timeline, timeline.deploy(workloads, together=case["mode"] == "together")
    for i, step in enumerate(case["steps"]):
        yield i + 1, step["name"], timeline, _play(step, timeline, applied.get(i))


def _marks(steps: Iterable[Mapping[str, Any]]) -> dict[str, tuple[int, ...]]:
    """Return node name → indices of the steps that name the node."""
    marks: dict[str, tuple[int, ...]] = {}
    for i, step in enumerate(steps):
        for name in (
            *([step["cordon"]] if "cordon" in step else []),
            *([step["drain"]] if "drain" in step else []),
            *step.get("lose", ()),
        ):
            marks[name] = (*marks.get(name, ()), i)
    return marks


def _play(step: Mapping[str, Any], timeline: Timeline, applied: Any) -> Phase:
    if applied is not None:
        return timeline.rollout(applied)
    if "scale" in step:
        s = step["scale"]
        return timeline.scale(s["kind"], s["namespace"], s["name"], s["replicas"])
    if "cordon" in step:
        return cordon(timeline, step["cordon"])
    if "drain" in step:
        return drain(timeline, step["drain"])
    return lose(timeline, step["lose"])


# --- predictions ----------------------------------------------------------------------------------------------------


def predictions(case: Case, most_states: int = MOST_STATES) -> Iterator[dict[str, Any]]:
    """Yield one object per phase, in the format of the ``--predictions`` file; ``runs`` is not read."""
    for i, _, timeline, phase in timeline_of(case, most_states=most_states):
        yield {"case": case["id"], "phase": i, "workloads": _predicted(timeline, phase)}


def _predicted(timeline: Timeline, phase: Phase) -> dict[str, dict[str, Any]]:
    possible_ends = possible(timeline, phase)
    by = "search" if phase.sound else "bound"
    predicted: dict[str, dict[str, Any]] = {}
    for name, ends in possible_ends.items():
        predicted[name] = {
            field: sorted({_rollout(e) for e in ends})
            if field == "rollout"
            else {"min": min(_value(e, field) for e in ends), "max": max(_value(e, field) for e in ends), "by": by}
            for field in FIELDS[name.partition("/")[0]]
        }
    return predicted


def possible(timeline: Timeline, phase: Phase) -> dict[str, set[EventOutcome]]:
    """Return ``Kind/name`` → every possible outcome of the phase; if the search was cut short, a frame around them."""
    ends = outcomes(phase.transitions, phase.exploration.finals)
    if phase.sound:
        return {f"{kind}/{name}": {e[number] for e in ends} for (kind, _, name), number in timeline.numbers.items()}
    return {
        f"{kind}/{name}": frame(phase.transitions, timeline.desired_states[number])
        for (kind, _, name), number in timeline.numbers.items()
    }


def _value(end: EventOutcome, field: str) -> int:
    match field:
        case "updated":
            return end.new
        case "created":
            return end.created
        case "bound":
            return end.bound
        case "pending":
            return end.pending
        case "new":
            return end.new
    return end.old


def _rollout(end: EventOutcome) -> str:
    return "complete" if end.complete else "stuck"


# --- agreement ------------------------------------------------------------------------------------------------------


class Compared(Struct, frozen=True):
    """One workload after one phase: the predicted outcomes, and the outcomes of the recorded runs."""

    phase: int
    name: str
    workload: str
    predicted: tuple[tuple[object, ...], ...]
    """Predicted outcomes, each as the numbers of ``FIELDS``; with ``is_frame`` only their extremes."""
    is_frame: bool
    seen: tuple[tuple[object, ...], ...]
    """Recorded outcomes, one per quiescent run."""
    witnessed: bool
    """Whether the scheduler replays traces to both ends of a range; only computed if the runs agree."""

    @property
    def misses(self) -> list[tuple[object, ...]]:
        return [s for s in self.seen if s not in self.predicted and not (self.is_frame and _within(s, self.predicted))]

    @property
    def agree(self) -> bool:
        return len(set(self.seen)) == 1

    @property
    def is_single(self) -> bool:
        return len(self.predicted) == 1


def compare(
    case: Case, most_states: int = MOST_STATES, kubernetes_version: str | None = None
) -> Iterator[tuple[dict[str, Any], list[Compared]]]:
    """Yield per phase the prediction, made without reading ``runs``, and its comparison with the runs."""
    options = {"kubernetes_version": judged_by(kubernetes_version, "")} if kubernetes_version else {}
    for i, name, timeline, phase in timeline_of(case, most_states=most_states, **options):
        possible_ends = possible(timeline, phase)
        prediction = {"case": case["id"], "phase": i, "workloads": _predicted(timeline, phase)}
        runs = [run[i]["workloads"] for run in case.get("runs", ()) if i < len(run) and run[i]["quiescent"]]
        compared = []
        for workload, ends in possible_ends.items():
            seen = tuple(_recorded(run[workload]) for run in runs if workload in run)
            predicted = tuple(sorted({tuple(_shown(e, workload)) for e in ends}))
            wide = len(predicted) > 1 and len(set(seen)) == 1
            witnessed = wide and phase.sound and _ends_replay(timeline, phase, workload)
            compared.append(Compared(i, name, workload, predicted, not phase.sound, seen, witnessed))
        yield prediction, compared


def _recorded(workload: Mapping[str, Any]) -> tuple[object, ...]:
    bound, pending = sum(workload["bound"].values()), sum(workload["pending"].values())
    if "rollout" in workload:
        return bound, pending, workload["new_pods"], workload["old_pods"], workload["rollout"]
    if "created" in workload:
        return bound, pending, workload["created"], workload["updated"]
    return bound, pending


def _shown(end: EventOutcome, workload: str) -> Iterator[object]:
    for field_name in FIELDS[workload.partition("/")[0]]:
        yield _rollout(end) if field_name == "rollout" else _value(end, field_name)


def _within(observed: tuple[object, ...], predicted: Iterable[tuple[object, ...]]) -> bool:
    predicted = list(predicted)
    for position, value in enumerate(observed):
        values = [t[position] for t in predicted]
        if isinstance(value, int):
            numbers = [v for v in values if isinstance(v, int)]
            if not min(numbers) <= value <= max(numbers):
                return False
        elif value not in values:
            return False
    return True


def _ends_replay(timeline: Timeline, phase: Phase, workload: str) -> bool:
    """Whether the least and the most bound pods each have a trace that the scheduler replays."""
    kind, _, name = workload.partition("/")
    number = next(n for (k, _, other), n in timeline.numbers.items() if (k, other) == (kind, name))
    desired = next(w for w in phase.transitions.desired_states if w.workload == number)
    transitions = phase.transitions
    ranked = sorted(phase.exploration.finals, key=lambda s: outcome(transitions, desired, transitions.counts(s)))
    return all(all(map(replays, trace(timeline.phases, end))) for end in (ranked[0], ranked[-1]))
