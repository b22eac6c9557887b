"""The API server would refuse this object: the field to blame and the server's own message."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kubesched_lint.checks._copied import Mistakes
from kubesched_lint.engine.base.errors import UncheckedError
from kubesched_lint.engine.base.releases import RECORDED, minor_of
from kubesched_lint.engine.base.text import is_slip
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.explaining.objects.refused import (
    CHOICE,
    GONE,
    INVALID,
    UNDECODED,
    UNKNOWN_FIELD,
    Refusal,
    judged,
    refusals_of,
)
from kubesched_lint.explaining.remedies.remedy import Remedy, written_at
from kubesched_lint.findings import Hazard, Severity, proof
from kubesched_lint.sources.manifests.changes import Put, Rename
from kubesched_lint.sources.manifests.document import Document

_NUMBER = re.compile(r"cannot unmarshal string into .* of type u?int(?:32|64)?$")
_TEXT = re.compile(r"cannot unmarshal (?:number|bool) into .* of type string")


def check(document: Document, scenario: Scenario) -> Iterator[Hazard]:
    judgement, mistakes = judged(document, scenario), Mistakes(document, refusals_of(scenario, document))
    for refusal in judgement.told:
        yield _hazard(refusal, mistakes.of(refusal.cause), scenario.premises.kubernetes_version)
    if judgement.left:
        raise UncheckedError(
            f"{document.path}:{document.line}: not checked is what the kustomization beside it may change "
            f"({judgement.left}); lint the overlay"
        )
    if judgement.open_word:
        raise UncheckedError(
            f"{document.path}:{document.line}: {judgement.open_word} is a placeholder, fill it in first"
        )


def fix(hazard: Hazard, document: Document, scenario: Scenario) -> Iterator[Remedy]:
    """Correct a misspelt field, or a value of the wrong type or spelling. Safe: as written, the object is refused."""
    words, value = str(hazard.values["words"]), written_at(document, hazard.at)
    if hazard.variant == "misspelt":
        corrected = str(hazard.values["meant"])
        yield Remedy(f"write {corrected}", safe=True, changes=(Rename(hazard.at, corrected),), is_new=True)
    elif hazard.variant == "unreadable" and _TEXT.search(words) and isinstance(value, (int, float)):
        text = _as_written(document, hazard)
        yield Remedy(f'write "{text}", which is text', safe=True, changes=(Put(hazard.at, text),), is_new=True)
    elif hazard.variant == "unreadable" and _NUMBER.search(words) and isinstance(value, str) and value.isdecimal():
        yield Remedy(f"write {value} without quotes", safe=True, changes=(Put(hazard.at, int(value)),), is_new=True)
    elif choice := CHOICE.search(words):
        wrong, listed = choice.groups()
        meant = [name for name in listed.strip('"').split('", "') if is_slip(wrong, name)]
        if len(meant) == 1 and value == wrong:
            yield Remedy(f"write {meant[0]}", safe=True, changes=(Put(hazard.at, meant[0]),), is_new=True)


def _hazard(refusal: Refusal, mistake: str, version: str) -> Hazard:
    cause, code = refusal.cause, refusal.answer.code
    unknown = cause.message.startswith(UNKNOWN_FIELD)
    variant = "gone" if code == GONE else "unreadable" if code == UNDECODED else "default"
    if unknown and code != GONE:
        variant = "misspelt" if cause.suggestion else "unknown"
    severity = Severity.NOTE if refusal.is_completed_elsewhere else None
    return Hazard(
        at=cause.path,
        evidence=proof(f"{code}: {refusal.text}", assumes=tuple(_assumed(refusal, version))),
        severity=Severity.WARNING if refusal.gate or refusal.open_gate or refusal.is_dropped else severity,
        values={"field": cause.field, "words": refusal.text, "meant": cause.suggestion},
        cause=mistake,
        variant=variant,
        key=unknown,
    )


def _assumed(refusal: Refusal, version: str) -> Iterator[str]:
    if refusal.open_gate:
        yield f"the feature gate {refusal.open_gate} is on; else the field is dropped"
    if refusal.gate:
        yield f"the feature gate {refusal.gate} is off, as it is by default"
    if refusal.answer.code == INVALID and minor_of(version) != RECORDED:
        yield f"Kubernetes {version} validates it like {RECORDED}, whose answers were recorded"


def _as_written(document: Document, hazard: Hazard) -> str:
    """The value as text: ``on`` and ``0x10`` mean these texts, not true and 16."""
    span = document.span(hazard.at)
    return document.line_text(span.line)[span.column - 1 : span.end_column - 1]
