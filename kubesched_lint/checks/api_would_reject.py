"""The API server would refuse this object: the field to blame and the server's own message."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.checks._remedies import written_at
from kubesched_lint.findings import Hazard, Path, Severity, UncheckedError, proof
from kubesched_lint.manifests.changes import Put, Rename
from kubesched_lint.manifests.classify import mappings_at, rendered_text, unfilled, value_at, word_to_replace
from kubesched_lint.manifests.document import Document
from kubesched_lint.releases import RECORDED, minor_of
from kubesched_lint.text import is_slip
from kubesched_lint.validation.causes import Cause, field_of
from kubesched_lint.validation.refusals import Refusals, refusals
from kubesched_lint.validation.validate import ApiServerAnswer
from kubesched_lint.world.world import World

_CHOICE = re.compile(r'Unsupported value: "([^"]*)": supported values: (".*")')
_NUMBER = re.compile(r"cannot unmarshal string into .* of type u?int(?:32|64)?$")
_TEXT = re.compile(r"cannot unmarshal (?:number|bool) into .* of type string")

_REQUIRED = "Required value"
_UNKNOWN_FIELD = "unknown field "
_MISMATCH = "`selector` does not match template `labels`"
_NAMED_ANEW: tuple[Path, ...] = (("metadata", "name"), ("metadata", "namespace"))
_FEW = 8
_POD_SPECS: tuple[Path, ...] = (
    ("spec",),
    ("spec", "template", "spec"),
    ("spec", "jobTemplate", "spec", "template", "spec"),
)
_GONE = 404
_UNDECODED = 400
_INVALID = 422


def refusals_of(world: World, document: Document) -> Refusals:
    """Why the API server of this version would refuse a document."""
    if world.refused is not None:
        return world.refused.get(id(document), ())
    return tuple(refusals(document.value, world.premises.kubernetes_version))


def check(document: Document, world: World) -> Iterator[Hazard]:
    if document.is_stored:
        return  # a server has stored it, so it was accepted
    seen: set[Path] = set()
    left = open_word = ""
    found = refusals_of(world, document)
    mistakes, version = _mistakes(document, found), world.premises.kubernetes_version
    for cause, verdict in found:
        if document.unrendered and _is_rendered_away(document, cause, verdict.code):
            left = left or ("" if verdict.code == _UNDECODED else f"{cause.field}: {_in_short(cause)}")
            continue
        # One finding per place: further causes there repeat the first.
        if cause.path in seen or (cause.message.endswith(_MISMATCH) and ("spec", "selector") in seen):
            continue
        gate, is_on = _gate_of_field(document, cause, world)
        if _follows(document, cause) or (gate and is_on is False):
            continue
        word = unfilled(value_at(document.value, cause.path)) or _word_to_replace(document, cause)
        if word:
            open_word = open_word or word
            continue
        seen.add(cause.path)
        left_open = gate if is_on is None and verdict.code == _INVALID else ""
        yield _hazard(document, cause, verdict, _mistake(document, cause, mistakes), version, left_open)
    if left:
        raise UncheckedError(
            f"{document.path}:{document.line}: not checked is what the kustomization beside it may change ({left}); "
            "lint the overlay"
        )
    if open_word:
        raise UncheckedError(f"{document.path}:{document.line}: {open_word} is a placeholder, fill it in first")


def fix(hazard: Hazard, document: Document, world: World) -> Iterator[Remedy]:
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
    elif choice := _CHOICE.search(words):
        wrong, listed = choice.groups()
        found = [name for name in listed.strip('"').split('", "') if is_slip(wrong, name)]
        if len(found) == 1 and value == wrong:
            yield Remedy(f"write {found[0]}", safe=True, changes=(Put(hazard.at, found[0]),), is_new=True)


def _follows(document: Document, cause: Cause) -> bool:
    """Whether it misses a volume that is there: a volume that is refused itself does not count as one."""
    if cause.path[-1:] != ("name",) or cause.path[-3:-2] != ("volumeMounts",) or len(cause.path) < 5:
        return False
    volumes = value_at(document.value, (*cause.path[:-5], "volumes"))
    name = value_at(document.value, cause.path)
    return isinstance(volumes, list) and any(isinstance(v, dict) and v.get("name") == name for v in volumes)


def _word_to_replace(document: Document, cause: Cause) -> str | None:
    """The word in capitals that a person replaces, in the value or in an unknown key (``MY_IMAGE|-image``)."""
    if cause.message.startswith(_UNKNOWN_FIELD):
        key = str(cause.path[-1])
        return None if key.isidentifier() else word_to_replace(key, (), document.path)
    paths: tuple[Path, ...] = (cause.path,)
    if cause.path in _NAMED_ANEW and str(value_at(document.value, cause.path)).isupper():
        paths = _NAMED_ANEW  # the namespace ``APPNS`` of an object called ``APPNAME``
    if _CHOICE.search(cause.message):
        return None
    return next(filter(None, (word_to_replace(document.value, path, document.path) for path in paths)), None)


def _in_short(cause: Cause) -> str:
    return _MISMATCH if cause.message.endswith(_MISMATCH) else cause.message.partition(":")[0]


def _is_rendered_away(document: Document, cause: Cause, code: int) -> bool:
    """Whether a kustomization may correct it: labels, selectors, images, volumes, names, and quotes of values."""
    if code != _UNDECODED:
        if cause.path in _NAMED_ANEW:
            return True  # namePrefix and nameSuffix; ``namespace`` names a Namespace itself
        return cause.message.startswith((_REQUIRED, "Not found")) or cause.message.endswith(_MISMATCH)
    span = document.span(cause.path)
    written = document.line_text(span.line)[span.column - 1 : span.end_column - 1]
    return rendered_text(cause.path, value_at(document.value, cause.path), written) is not None


def _gate_of_field(document: Document, cause: Cause, world: World) -> tuple[str, bool | None]:
    """The feature gate without which the API server drops the field, and whether it is on; None: nobody stated it."""
    from kubesched_lint.validation.pod_groups import gate_of
    from kubesched_lint.world.gangs import gates_of

    gate = gate_of(document.value, cause.path)
    return gate, gates_of(world).get(gate)


def _gate(document: Document, cause: Cause) -> str:
    """The feature gate, off by default, that would make it acceptable; empty if no setting helps."""
    spec = document.value.get("spec")
    if (
        document.kind != "HorizontalPodAutoscaler"
        or cause.path != ("spec", "minReplicas")
        or not isinstance(spec, dict)
    ):
        return ""
    metrics = [metric.get("type") for metric in mappings_at(spec, ("metrics",))]
    beyond = {"Object", "External"} & {kind for kind in metrics if isinstance(kind, str)}
    return "HPAScaleToZero" if spec.get("minReplicas") == 0 and beyond else ""


def _is_completed_elsewhere(document: Document, cause: Cause) -> bool:
    """Whether the object is only a part, and what is missing comes from an operator or from the object that exists.

    Such a part is a workload none of whose containers has an image, or a Service with neither ports nor a selector.
    """
    if not cause.message.startswith((_REQUIRED, "Not found")):
        return False
    if document.kind == "Service":
        spec = document.value.get("spec") or {}
        return isinstance(spec, dict) and spec.keys().isdisjoint(("ports", "selector"))
    containers = next(filter(None, (value_at(document.value, (*pod, "containers")) for pod in _POD_SPECS)), None)
    return isinstance(containers, list) and not any(isinstance(c, dict) and c.get("image") for c in containers)


def _hazard(
    document: Document, cause: Cause, verdict: ApiServerAnswer, mistake: str, version: str, open_gate: str
) -> Hazard:
    gate = _gate(document, cause)
    unknown = cause.message.startswith(_UNKNOWN_FIELD)
    variant, text = "default", str(cause)
    if verdict.code == _GONE:
        variant, text = "gone", cause.message
    elif unknown:
        variant, text = "misspelt" if cause.suggestion else "unknown", cause.message
    elif verdict.code == _UNDECODED:
        # The error of a quantity names no field.
        variant, text = "unreadable", cause.message if cause.field else f"{field_of(cause.path)}: {cause.message}"
    return Hazard(
        at=cause.path,
        evidence=proof(f"{verdict.code}: {text}", assumes=tuple(_assumed(gate, open_gate, verdict.code, version))),
        severity=Severity.WARNING
        if gate or open_gate
        else Severity.NOTE
        if _is_completed_elsewhere(document, cause)
        else None,
        values={"field": cause.field, "words": text, "meant": cause.suggestion},
        cause=mistake,
        variant=variant,
        key=unknown,
    )


def _assumed(gate: str, open_gate: str, code: int, version: str) -> Iterator[str]:
    if open_gate:
        yield f"the feature gate {open_gate} is on; else the field is dropped"
    if gate:
        yield f"the feature gate {gate} is off, as it is by default"
    if code == _INVALID and minor_of(version) != RECORDED:
        yield f"Kubernetes {version} validates it like {RECORDED}, whose answers were recorded"


def _mistakes(document: Document, found: Refusals) -> Mapping[Path, str]:
    """The unknown and the missing fields by the mapping that holds or lacks them: they are one mistake of it."""
    fields: dict[Path, list[str]] = {}
    for cause, _ in found:
        if (home := _home(document, cause)) is not None:
            fields.setdefault(home, []).append(field_of(cause.path[len(home) :]))
    return {home: f"{len(named)}: {sorted(named)[:_FEW]}" for home, named in fields.items()}


def _home(document: Document, cause: Cause) -> Path | None:
    """The mapping that has the unknown field, or the innermost one there is on the way to a missing field."""
    path = cause.path[:-1]
    if cause.message.startswith(_UNKNOWN_FIELD):
        return None if cause.suggestion else path
    if not cause.message.startswith(_REQUIRED):
        return None
    while path and not value_at(document.value, path):
        path = path[:-1]
    return path


def _mistake(document: Document, cause: Cause, mistakes: Mapping[Path, str]) -> str:
    """What is the same mistake wherever somebody copied it: the same words about the same field of the same kind."""
    home = _home(document, cause)
    if home is None:
        named = [step for step in cause.path if isinstance(step, str)]
        return f"{document.kind} {named}: {cause.message}"
    return f"{document.kind} {[step for step in home if isinstance(step, str)][-1:]}: {mistakes[home]}"


def _as_written(document: Document, hazard: Hazard) -> str:
    """The value as text: ``on`` and ``0x10`` mean these texts, not true and 16."""
    span = document.span(hazard.at)
    return document.line_text(span.line)[span.column - 1 : span.end_column - 1]
