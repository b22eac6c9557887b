"""The words of verdicts, which all reports share, and the text of a cell for people.

*ok*: every order of events ends well. *likely ok*: every simulated course does. *fails*: every order ends badly,
proven. *fails here*: it ends badly with these files and nodes. *may fail*: one order ends badly, and another does not,
or nothing excludes that.
*unknown*: the reason stands beside it. *refused*: the API server refuses the object.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from kubesched_lint.engine.events.answers.cells import (
    BAD,
    BY_SCORES,
    DEPENDS,
    FINE,
    LIKELY,
    NONE,
    REFUSED,
    UNKNOWN,
    UNREACHABLE,
    Cell,
)

OK, LIKELY_OK = "ok", "likely ok"
FAILS, FAILS_HERE, MAY_FAIL = "fails", "fails here", "may fail"
NOT_CONCERNED = "not concerned"
WORST_FIRST = (REFUSED, FAILS, FAILS_HERE, MAY_FAIL, UNKNOWN, LIKELY_OK, OK, NOT_CONCERNED)
MEANINGS: Mapping[str, str] = {
    REFUSED: "the API server refuses the object: it is not applied, and makes no pods",
    FAILS: "every order of events ends badly, with any scheduler",
    FAILS_HERE: "ends badly with these files and nodes; what is assumed may help, such as more nodes",
    MAY_FAIL: "one order of events ends badly, another may not",
    UNKNOWN: "a fact or a proof is missing",
    LIKELY_OK: "every simulated order ends well, also those aimed at a bad end; no proof",
    OK: "every order of events ends well",
}
AVOIDED = "only in orders that the default scores avoid"
"""What is said of a cell that may fail, but in no simulated order of the default scheduler."""
BAD_HERE = "bad-here"
"""The shade of a cell that ends badly with these manifests and nodes, but is not proven or is no error of ``lint``."""
NOT_CONCERNED_MARK = "·"
UNREACHABLE_MARK = "u"
"""Stands behind the mark of a loss that ends worse if the lost nodes are only unreachable."""
MEANING_OF_UNREACHABLE = (
    "worse while the lost nodes are only unreachable: for good on bare metal, "
    "for minutes where a cloud deletes their Nodes"
)
_WORDS = {
    FINE: OK,
    LIKELY: LIKELY_OK,
    DEPENDS: MAY_FAIL,
    BY_SCORES: MAY_FAIL,
    BAD: MAY_FAIL,
    UNKNOWN: UNKNOWN,
    REFUSED: REFUSED,
    NONE: NOT_CONCERNED,
}
_NOT_SHOWN = re.compile(r"( −[\d,]+| \(PDB .*\)|\d+/\d+ by scores)?( \*)?( \?)?$")
"""What the end of a cell's text says and its mark leaves out, or says in another way."""
_MANY_OK = re.compile(r"^\d+/\d+ ok~?$")
_COUNTED = re.compile(r"(≤?)(\d+)/(\d+)")
_RANGE = re.compile(r"(\d+)–(\d+)/(\d+)")


def event_title(event: str) -> str:
    """Return the event in words: ``HPA max``, ``zone loss``; a hypothesis as it was written: ``lose node/worker-1``."""
    return event if " " in event else event.replace("hpa", "HPA").replace("-", " ")


def word(cell: Cell) -> str:
    """Return the one word of a cell's verdict, which every report uses."""
    if cell.ends_badly:
        return FAILS if cell.proven else FAILS_HERE
    return _WORDS[cell.verdict]


def verdict_words(cell: Cell) -> str:
    """Return the word, and in which orders a cell may fail if the default scores avoid these."""
    return f"{word(cell)}, {AVOIDED}" if cell.verdict == BY_SCORES else word(cell)


def shade(cell: Cell, *, is_error: bool = True) -> str:
    """Return the verdict that gives the cell its colour. ``is_error``: whether lint reports an error of the workload.

    ``BAD`` has the colour of errors, so a cell beside a warning does not have it.
    """
    if cell.verdict == BAD and not cell.ends_badly:
        return DEPENDS
    return BAD_HERE if cell.verdict == BAD and not (cell.proven and is_error) else cell.verdict


def needs_a_word(cell: Cell) -> bool:
    """Return whether the cell needs an explanation."""
    return not cell.is_harmless


def mark(cell: Cell) -> str:
    """Return the text of the cell for people: ``ok``, ``ok~``, ``3/6!``, ``≤2/4``, ``2–3/3``, ``ok/stuck``, ``?``.

    ``!`` stands behind what fails, proven.
    """
    text = _NOT_SHOWN.sub("", cell.text, count=1)
    if text.endswith(UNREACHABLE):
        end = replace(cell, text=text.removesuffix(UNREACHABLE), deleted=cell.unreachable)
        return f"{mark(end)} {UNREACHABLE_MARK}"
    match cell.verdict:
        case "none":
            return NOT_CONCERNED_MARK if text in ("–", "no HPA") else text
        case "unknown":
            return "?"
        case "fine" | "likely":
            if _MANY_OK.match(text):
                text = "ok"
            return f"{text}~" if cell.verdict == LIKELY and not text.endswith("~") else text
        case "bad" if cell.ends_badly:
            return _at_most(cell, text) + "!" * cell.proven
        case "depends" | "by-scores" | "bad":
            return _either(cell, text)
    return text


def _at_most(cell: Cell, text: str) -> str:
    """Return ``≤2/4`` for a range of pods: at least one is missing, also where the bound is that of two ends."""
    if text.startswith(("may get ", "may block")):
        return "stuck" if text.startswith("may get ") else "blocked"  # a run that always ends so, without a proof
    if cell.bound.is_single or cell.ready is not None or not text.startswith(f"{cell.bound.least}–"):
        return text
    most = min(cell.bound.most, cell.wanted - 1)
    return f"{'≤' if most else ''}{most}/{text.partition('/')[2]}"


def _either(cell: Cell, text: str) -> str:
    """Return the range of pods, or both ends of a rollout or a drain: ``ok/stuck``, ``ok/blocked``."""
    if text.startswith("may get "):
        return f"ok/{text.removeprefix('may get ')}"
    if text.startswith("may block"):
        return "ok/blocked"
    if text:
        return text
    if cell.stuck:
        return "ok/blocked" if cell.event == "drain" else "ok/stuck"
    return f"{cell.bound}/{cell.wanted}"


def signs(cells: Iterable[Cell]) -> str:
    """Return what the marks of the cells mean that no heading explains: ``0/2: 0 of 2 pods run, ~ likely, · n/a``."""
    parts = list(dict.fromkeys(part for cell in cells for part in mark(cell).removesuffix("!").split()))
    counted = next(
        filter(None, map(_COUNTED.fullmatch, sorted(parts, key=lambda part: ("≤" in part, len(part))))), None
    )
    most, count, wanted = counted.groups() if counted else ("", "", "")
    between = next(filter(None, map(_RANGE.fullmatch, sorted(parts, key=len))), None)
    low, high, of = between.groups() if between else ("", "", "")
    ends = {end for part in parts for end in part.partition(",")[0].split("/")}
    meanings = {
        f"{most}{count}/{wanted}: {'at most ' * bool(most)}{count} of {wanted} pods run": counted and not between,
        f"{low}–{high}/{of}: {low} to {high} run": between,
        "stuck: never ends": "stuck" in ends,
        "blocked: by a budget": "blocked" in ends,
        "~ likely": any(part.endswith("~") for part in parts),
        f"{UNREACHABLE_MARK} worse if unreachable": UNREACHABLE_MARK in parts,
        f"{NOT_CONCERNED_MARK} n/a": NOT_CONCERNED_MARK in parts,
    }
    return ", ".join(meaning for meaning, occurs in meanings.items() if occurs)
