"""Why cells fail, may fail or are unknown, each reason once, with the workloads that it concerns."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping, Sequence

from msgspec import Struct

from kubesched_lint.commands.simulate.simulation_report import SimulationReport
from kubesched_lint.engine.base import work
from kubesched_lint.engine.base.text import SHOWN, first_few
from kubesched_lint.engine.cluster.cluster import NO_MORE_NODES
from kubesched_lint.engine.events.answers.cells import BY_SCORES, REFUSED, UNKNOWN, Cell
from kubesched_lint.engine.events.answers.counted_cells import what_is_open
from kubesched_lint.engine.events.answers.event_bounds import NO_NODE, NO_POD_NEAR
from kubesched_lint.engine.model.policy import DisruptionBudget
from kubesched_lint.report.wording.premises import without_more_nodes
from kubesched_lint.report.wording.verdict_words import (
    AVOIDED,
    FAILS,
    FAILS_HERE,
    MAY_FAIL,
    MEANINGS,
    event_title,
    needs_a_word,
    word,
)
from kubesched_lint.report.wording.words import without_preemption

MOST_REASONS: Mapping[str, int] = {REFUSED: 10, FAILS: 10, FAILS_HERE: 6, MAY_FAIL: 5, UNKNOWN: 4}
"""So many reasons of a word are listed; ``-v`` lists all."""
UNLESS = ", unless an autoscaler adds a node"
"""What is said of a cell of which ``wants_nodes`` is true."""
IF_AVOIDED = f" ({AVOIDED})"
"""Stands behind the cause of a cell that may fail by other scores."""
_NUMBER = re.compile(r"\d+")
_OF_NODES = re.compile(r"0/\d+")
_VARIES = re.compile(r"[^\s,;:()]*\d[^\s,;:()]*")
"""A word with a digit: reasons that differ in such words only are one."""
_BEYOND = "to follow it takes more steps than the limit, which --states raises"
_A_PROOF = re.compile(r"^a proof[:;] ")
"""What every such cell lacks; what follows says why."""
_OF_A_QUOTA = re.compile(r" \(allows [^()]*\)$")
"""What a quota allows to each of those that share it: ``-v`` has it."""
_TWICE = re.compile(r"(needs an? (\S+) of its own, and \d+) \2s? can hold one")
"""How a bound by domains names these twice."""
_OF_A_NODE = re.compile(r"(?<=takes host port )(\d+) of a node,")
_BOUND = re.compile(r"[^; ][^;]* pods? run: .*")
"""What counting leaves open, in a reason."""
_OF_SEVERAL = (
    (re.compile(r"\bthat it (may|can) use\b"), r"that they \1 use"),
    (re.compile(r"\bof its (?=\d)"), "of their "),
    (re.compile(r"\bits volumes may hold it\b"), "their volumes may hold them"),
    (re.compile(r"\bno node is left for it\b"), "no node is left for them"),
)
"""What a cause says of the workload → of several."""
_SEARCHED = re.compile(r"^an exact search over [^;]*(; )?")
_QUOTED = re.compile(r"0/\d+ nodes are available: ")
"""How a message of the scheduler begins: its words are not ours to change, so the first of several is an example."""
_CORDONED = re.compile(r"\b\d+ node\(s\) were unschedulable(, |$)")
"""What a drain does, and no reason."""


class Reason(Struct):
    """One reason of a word, and the cells that it explains: workload → cells."""

    word: str
    cause: str
    cells: dict[int, list[Cell]]

    @property
    def size(self) -> int:
        return sum(map(len, self.cells.values()))


def reasons(simulation: SimulationReport) -> list[Reason]:
    """Return the reasons of all cells that need one, by word, the commonest first.

    What fails, or fails here from the start, has one per workload, unless many share it; so has what differs in numbers
    for a few workloads. A cell whose workload has told its cause under a worse word has no reason of its own.
    """
    cells = [(row.number, cell, cause_of(cell)) for row in simulation.rows for cell in row.cells if needs_a_word(cell)]
    told: set[tuple[int, str]] = set()
    word_reasons: list[Reason] = []
    for sought in MOST_REASONS:
        of_word = [(number, cell, cause) for number, cell, cause in cells if word(cell) == sought]
        new = [
            cell_of_row
            for cell_of_row in of_word
            if sought == UNKNOWN or (cell_of_row[0], _alike(cell_of_row[2])) not in told
        ]
        word_reasons += sorted(_by_cause(sought, new), key=lambda reason: -reason.size)
        told.update((number, _alike(cause)) for number, _, cause in of_word)
    return word_reasons


def _by_cause(sought: str, cells: Sequence[tuple[int, Cell, str]]) -> Iterable[Reason]:
    sharing: dict[str, dict[int, str]] = {}
    """What is alike in two causes → workload → its cause in the first event."""
    for number, _, cause in cells:
        sharing.setdefault(_alike(cause), {}).setdefault(number, cause)
    from_start = {number for number, cell, _ in cells if cell.cause}  # a rule tells of the deploy or the rollout
    reasons_by_key: dict[Hashable, Reason] = {}
    for number, cell, cause in cells:
        alike = _alike(cause)
        first = sharing[alike] if sought != UNKNOWN else {number: cause}
        few = len(sharing[alike]) <= SHOWN
        if few and (sought in (FAILS, REFUSED) or (sought == FAILS_HERE and number in from_start)):
            key: Hashable = number
        elif few and len(set(first.values())) > 1:
            key = number, alike  # "2 to 9 nodes" is the number of neither
        else:
            key = alike
        reason = reasons_by_key.setdefault(key, Reason(sought, cause, {}))
        reason.cells.setdefault(number, []).append(cell)
        if key == alike and not _QUOTED.match(cause):
            reason.cause = _merged(reason.cause, first[number])
    return reasons_by_key.values()


def _alike(cause: str) -> str:
    return _VARIES.sub("#", cause)


def cause_of(cell: Cell) -> str:
    """Return why a cell is not ok, in one clause without the method that found it."""
    if cell.verdict == UNKNOWN and cell.missing:
        return "; ".join(dict.fromkeys(map(_lacking, cell.missing)))
    if cell.verdict == BY_SCORES:
        return f"{_plain(cell)}{IF_AVOIDED}"
    return _plain(cell)


def whole_reason(cell: Cell) -> str:
    """Return why a cell ends so, as it was found; of a drain that may never end, with the budget that refuses it."""
    if not isinstance(cell.blamed, DisruptionBudget) or not what_is_open(cell.why):
        return cell.why
    if cell.bound.least < cell.wanted:  # a pod that was evicted waits
        return f"{cell.why}, and then {_refusal(cell.blamed)}"
    return _BOUND.sub(_refusal(cell.blamed), cell.why)


def _refusal(budget: DisruptionBudget) -> str:
    return f"PDB {budget.name} allows no further eviction"


def wants_nodes(cell: Cell) -> bool:
    """Whether a node that comes may help what fails here."""
    is_open = word(cell) == FAILS_HERE and not cell.why.startswith(NO_POD_NEAR)
    return is_open and any(premise.startswith(NO_MORE_NODES) for premise in cell.assumes)


def _lacking(missing: str) -> str:
    if missing.endswith(work.WHY):
        return _BEYOND
    return _in_short(_OF_A_QUOTA.sub("", _A_PROOF.sub("", missing)))


def _in_short(cause: str) -> str:
    short = _OF_A_NODE.sub(r"\1,", cause.replace("ResourceQuota ", "quota "))
    return _TWICE.sub(r"\1 can hold one", short)


def _plain(cell: Cell) -> str:
    if cell.cause:
        return _in_short(cell.cause)
    if isinstance(cell.blamed, DisruptionBudget):
        return _refusal(cell.blamed)
    cause = what_is_open(cell.why) or _SEARCHED.sub("", cell.why)
    if cell.message and cause in (NO_NODE, ""):
        return _CORDONED.sub("", without_preemption(cell.message)).rstrip(", ")
    return _in_short(without_more_nodes(cause)) or MEANINGS[word(cell)]


def _merged(cause: str, other: str) -> str:
    """Return the cause with the words in which two differ: ``zone a or b``, ``2 to 5 nodes``."""
    if cause == other:
        return cause
    rest = iter(_VARIES.findall(other))
    return _VARIES.sub(lambda match: _range(match.group(), next(rest, "")), cause)


def _range(alternatives: str, other: str) -> str:
    if other in alternatives.split("|"):
        return alternatives
    return f"{alternatives}|{other}" if other else alternatives


def said(reason: Reason) -> str:
    """Return the cause in words: the alternatives of what varies become a range of numbers, or the first names."""
    cause = _VARIES.sub(lambda match: _alternatives(match.group().split("|")), reason.cause)
    for of_each, of_several in _OF_SEVERAL if len(reason.cells) > 1 else ():
        cause = of_each.sub(of_several, cause)
    return cause


def _alternatives(values: Sequence[str]) -> str:
    if len(values) == 1:
        return values[0]
    if all(_NUMBER.fullmatch(value) for value in values):
        numbers = sorted(map(int, values))
        return f"{numbers[0]} to {numbers[-1]}"
    if len(values) >= SHOWN and all(_OF_NODES.fullmatch(value) for value in values):
        least, *_, most = sorted(values, key=lambda value: int(value[2:]))
        return f"{least} to {most}"
    return first_few(sorted(values), " or ", SHOWN - 1) if len(values) < SHOWN else f"{values[0]} or another"


def events_of(cells: Iterable[Cell], all_events: Sequence[str]) -> str:
    """Return the first three events of the cells, and how many there are more."""
    events = {cell.event for cell in cells}
    titles = [event_title(event) for event in all_events if event in events]
    return first_few(titles)
