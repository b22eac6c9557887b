"""Compare our answers to manifests with recorded answers of a real API server."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from kubesched_lint.commands.verify.agreement import Agreement, Answer
from kubesched_lint.engine.apiserver.class_plugins import Classes
from kubesched_lint.engine.apiserver.validate import validate

_NAMED = re.compile(r'unknown field "([^"]+)"|Go struct field [^. ]+\.(\S+) of type')
_NO_CLASSES = Classes()
"""The recorded clusters have the two built-in PriorityClasses and no RuntimeClass."""


def verify_admission(
    case: Mapping[str, Any], account: Agreement, version: str | None = None
) -> Iterator[dict[str, object]]:
    """Yield the API server's predicted answer to one manifest; decoding (400) and validation refuse differently."""
    predicted = predict({**case, "kubernetes": version} if version else case)
    yield predicted
    if "accepted" not in case:
        return
    name = str(case["id"])
    account.note(Answer("accepted", case["accepted"] == predicted["accepted"], case["accepted"]), name, "")
    if not case["accepted"] and not predicted["accepted"]:
        theirs, ours = recorded_fields(case), frozenset(cause["field"] for cause in predicted["causes"])
        question = f"fields of a {case['code']}"
        account.note(Answer(question, theirs == ours, sorted(theirs), sorted(ours), case["message"]), name, "")
        recorded, ours = case["message"], predicted["message"]
        same = _unordered(recorded) == _unordered(ours)
        account.note(Answer(f"message of a {case['code']}", same, recorded, ours), name, "")


def predict(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``{"case", "accepted", "causes": [{"field", "message"}], "message"}`` for a record with ``id`` and
    ``manifest``.

    A refusal without a field (a quantity that does not parse, an admission plugin) has no causes.
    """
    version = ".".join(str(record.get("kubernetes", "v1.36")).lstrip("v").split(".")[:2])
    verdict = validate(record["manifest"], version=version, classes=_NO_CLASSES)
    causes = [{"field": cause.field, "message": cause.message} for cause in verdict.causes if cause.field]
    return {"case": record["id"], "accepted": verdict.accepted, "causes": causes, "message": verdict.message}


def recorded_fields(record: Mapping[str, Any]) -> frozenset[str]:
    """Return the field paths of a recorded refusal; for a decoding error, those in its message."""
    causes = record.get("causes", ())
    if causes:
        return frozenset(cause["field"] for cause in causes)
    fields: Iterator[tuple[str, str]] = iter(_NAMED.findall(record.get("message", "")))
    return frozenset(unknown or wrong_type for unknown, wrong_type in fields)


def _unordered(message: str) -> tuple[str, ...]:
    """Return the parts of a message in alphabetical order, because upstream walks Go maps in random order."""
    return tuple(sorted(re.split(r"[,\[\]] ?", message)))
