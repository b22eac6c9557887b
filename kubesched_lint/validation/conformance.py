"""Our verdicts against recorded answers of a real API server."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from typing import Any

from kubesched_lint.record import record
from kubesched_lint.validation.admission import Classes
from kubesched_lint.validation.validate import Verdict, validate

_NAMED = re.compile(r'unknown field "([^"]+)"|Go struct field [^. ]+\.(\S+) of type')
_NO_CLASSES = Classes()
"""The recorded clusters have the two built-in PriorityClasses and no RuntimeClass."""


@record
class Disagreement:
    case: str
    what: str
    """``verdict``, ``fields`` or ``message``."""
    recorded: str
    ours: str


@record
class Agreement:
    """Counts over all cases; ``fields`` and ``messages`` are over the refusals of each code, as (agreeing, all)."""

    cases: int
    verdicts: int
    fields: Mapping[int, tuple[int, int]]
    messages: Mapping[int, tuple[int, int]]
    disagreements: tuple[Disagreement, ...] = field(default=())

    @property
    def refusals(self) -> tuple[int, int]:
        """Refusals whose set of field paths agrees, and all."""
        return sum(good for good, _ in self.fields.values()), sum(total for _, total in self.fields.values())


def predict(record: Mapping[str, Any]) -> dict[str, Any]:
    """``{"case", "accepted", "causes": [{"field", "message"}]}`` for a record with ``id`` and ``manifest``.

    A refusal that names no field (a quantity that does not parse, an admission plugin) has no causes.
    """
    verdict = _verdict(record)
    causes = [{"field": cause.field, "message": cause.message} for cause in verdict.causes if cause.field]
    return {"case": record["id"], "accepted": verdict.accepted, "causes": causes}


def _verdict(record: Mapping[str, Any]) -> Verdict:
    version = ".".join(str(record.get("kubernetes", "v1.36")).lstrip("v").split(".")[:2])
    return validate(record["manifest"], version=version, classes=_NO_CLASSES)


def recorded_fields(record: Mapping[str, Any]) -> frozenset[str]:
    """The field paths of a recorded refusal; of a decoding error, those that its message names."""
    causes = record.get("causes", ())
    if causes:
        return frozenset(cause["field"] for cause in causes)
    found: Iterator[tuple[str, str]] = iter(_NAMED.findall(record.get("message", "")))
    return frozenset(unknown or wrong_type for unknown, wrong_type in found)


def verify_admission(lines: Iterable[str]) -> Agreement:
    """Lines of admission records as in ``fixtures/conformance/admission.jsonl.gz``."""
    cases = verdicts = 0
    fields: Counter[tuple[int, bool]] = Counter()
    messages: Counter[tuple[int, bool]] = Counter()
    found: list[Disagreement] = []
    for line in lines:
        record = json.loads(line)
        verdict = _verdict(record)
        cases += 1
        if verdict.accepted != record["accepted"]:
            found.append(Disagreement(record["id"], "verdict", record.get("message", "accepted"), verdict.message))
            continue
        verdicts += 1
        if verdict.accepted:
            continue
        theirs, ours = recorded_fields(record), frozenset(cause.field for cause in verdict.causes if cause.field)
        fields[record["code"], theirs == ours] += 1
        same = _unordered(record["message"]) == _unordered(verdict.message)
        messages[record["code"], same] += 1
        if theirs != ours:
            found.append(Disagreement(record["id"], "fields", ", ".join(sorted(theirs)), ", ".join(sorted(ours))))
        elif not same:
            found.append(Disagreement(record["id"], "message", record["message"], verdict.message))
    return Agreement(cases, verdicts, _tallies(fields), _tallies(messages), tuple(found))


def _tallies(counted: Counter[tuple[int, bool]]) -> dict[int, tuple[int, int]]:
    codes = sorted({code for code, _ in counted})
    return {code: (counted[code, True], counted[code, True] + counted[code, False]) for code in codes}


def _unordered(message: str) -> tuple[str, ...]:
    """A message up to the order of its parts: upstream walks Go maps, whose order is random."""
    return tuple(sorted(re.split(r"[,\[\]] ?", message)))
