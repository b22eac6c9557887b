"""All the wrong types of one document: each is set aside and the rest decoded again, until nothing stumbles.

A template's placeholder is no wrong type: what fills it in knows the right one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kubesched_lint.findings import InputError, Path, one_line
from kubesched_lint.manifests.classify import braces, placeholder_of, rendered_text, value_at
from kubesched_lint.manifests.document import Document, Skipped
from kubesched_lint.manifests.drop_value import affordable, set_aside
from kubesched_lint.model.decode.fields import DecodeError
from kubesched_lint.model.decode.objects import decode_object
from kubesched_lint.record import record

if TYPE_CHECKING:
    from kubesched_lint.validation.validate import ApiServerAnswer


@record
class Decoded:
    """``object`` is there when a kustomization writes right what stands here; else ``errors``, or ``skipped``."""

    object: tuple[str, Any] | None = None
    errors: tuple[InputError, ...] = ()
    paths: tuple[Path, ...] = ()
    """Where the errors stand in the document."""
    skipped: Skipped | None = None


def decoded_anyway(document: Document, first: DecodeError, namespace: str, order: int) -> Decoded:
    """What becomes of a document whose decoding stumbled over ``first``."""
    wrong, found = _all_wrong(document, first, namespace, order)
    if not wrong:
        return Decoded(object=found)
    places = [(document.span(error.path), error) for error in wrong]
    filled = {error.path: text for span, error in places if (text := _to_fill_in(document, error, span.line))}
    if len(filled) == len(wrong):
        path, text = next(iter(filled.items()))
        reason = f"a template, render it first: {text} is to be filled in, and nothing of this object was checked"
        return Decoded(skipped=Skipped(document.path, document.span(path).line, reason))
    verdict = _verdict(document)
    told = sorted(
        (
            InputError(document.path, _in_its_words(verdict, error), span.line, span.column)
            for span, error in places
            if error.path not in filled
        ),
        key=lambda error: (error.line, error.column),
    )
    return Decoded(errors=tuple(dict.fromkeys(told)), paths=tuple(error.path for error in wrong))


def _all_wrong(
    document: Document, error: DecodeError, namespace: str, order: int
) -> tuple[list[DecodeError], tuple[str, Any] | None]:
    """Every wrong type but those that a kustomization mends, and what decodes without them."""
    value = document.value
    met: list[Path] = []
    wrong: list[DecodeError] = []
    most = affordable(value)
    while True:
        known = error.path in met
        text = None if known else _as_rendered(document, value, error.path)
        if text is None and not known:
            wrong.append(error)
        left = set_aside(value, error.path, text, met.count(error.path)) if len(met) < most else value
        if left is value:
            return wrong or [error], None
        value = left
        met.append(error.path)
        try:
            return wrong, decode_object(value, namespace, document, order)
        except DecodeError as following:
            error = following


def _as_rendered(document: Document, value: Any, path: Path) -> str | None:
    """The text that Kustomize writes in place of a wrong type; None where it leaves the value as it is."""
    if not document.unrendered:
        return None
    span = document.span(path)
    written = document.line_text(span.line)[span.column - 1 : span.end_column - 1]
    return rendered_text(path, value_at(value, path), written)


def _to_fill_in(document: Document, error: DecodeError, line: int) -> str | None:
    """The placeholder that stands where a wrong type was met, or Helm's on its line."""
    return placeholder_of(document.value, error.path) or braces(document.line_text(line))


def _verdict(document: Document) -> ApiServerAnswer:
    from kubesched_lint.validation.validate import validate  # only few sets ever need it

    return validate(document.value)


def _in_its_words(verdict: ApiServerAnswer, error: DecodeError) -> str:
    """What is wrong with a value, and what the API server would say of it if it is the one that it stumbles over."""
    if verdict.code == 400 and verdict.causes and verdict.causes[0].path == error.path:
        words = verdict.causes[0].message
        return (
            error.message if words in error.message else f"{error.message}; the API server would say: {one_line(words)}"
        )
    return error.message
