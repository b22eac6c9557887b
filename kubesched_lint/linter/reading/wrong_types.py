"""All wrong types of one document: drop each wrong value and decode the rest again, until decoding succeeds.

A template's placeholder is not a wrong type, because its value is not known yet.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from kubesched_lint.engine.apiserver.refusals import affordable, set_aside
from kubesched_lint.engine.apiserver.validate import ApiServerAnswer, validate
from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.base.plain import value_at
from kubesched_lint.engine.base.text import one_line
from kubesched_lint.engine.model.decode.fields import DecodeError
from kubesched_lint.engine.model.decode.objects import decode_object
from kubesched_lint.findings import InputError
from kubesched_lint.sources.manifests.document import Document, Skipped
from kubesched_lint.sources.manifests.recognizing.classify import braces, placeholder_of, rendered_text


class Decoded(Struct, frozen=True):
    """``object`` if a kustomization corrects all wrong types; else ``errors`` or ``skipped``."""

    object: tuple[str, Any] | None = None
    errors: tuple[InputError, ...] = ()
    paths: tuple[Path, ...] = ()
    """Paths of the errors in the document."""
    skipped: Skipped | None = None


def decoded_anyway(document: Document, first: DecodeError, namespace: str, order: int) -> Decoded:
    """Return the result for a document whose decoding failed with ``first``."""
    wrong, decoded = _all_wrong(document, first, namespace, order)
    if not wrong:
        return Decoded(object=decoded)
    places = [(document.span(error.path), error) for error in wrong]
    filled = {error.path: text for span, error in places if (text := _to_fill_in(document, error, span.line))}
    if len(filled) == len(wrong):
        path, text = next(iter(filled.items()))
        reason = f"a template, render it first: {text} is a placeholder, so this object was not checked"
        return Decoded(skipped=Skipped(document.path, document.span(path).line, reason))
    verdict = _verdict(document)
    errors = sorted(
        (
            InputError(
                document.path,
                _in_its_words(verdict, error),
                span.line,
                span.column,
                is_refusal=not verdict.accepted,
            )
            for span, error in places
            if error.path not in filled
        ),
        key=lambda error: (error.line, error.column),
    )
    return Decoded(errors=tuple(dict.fromkeys(errors)), paths=tuple(error.path for error in wrong))


def _all_wrong(
    document: Document, error: DecodeError, namespace: str, order: int
) -> tuple[list[DecodeError], tuple[str, Any] | None]:
    """(wrong types that no kustomization corrects, object decoded without them or None)."""
    value = document.value
    visited: list[Path] = []
    wrong: list[DecodeError] = []
    most = affordable(value)
    while True:
        known = error.path in visited
        text = None if known else _as_rendered(document, value, error.path)
        if text is None and not known:
            wrong.append(error)
        left = set_aside(value, error.path, text, visited.count(error.path)) if len(visited) < most else value
        if left is value:
            return wrong or [error], None
        value = left
        visited.append(error.path)
        try:
            return wrong, decode_object(value, namespace, document, order)
        except DecodeError as following:
            error = following


def _as_rendered(document: Document, value: Any, path: Path) -> str | None:
    """The text that Kustomize writes instead of a wrong type; None if it leaves the value as it is."""
    if not document.unrendered:
        return None
    span = document.span(path)
    written = document.line_text(span.line)[span.column - 1 : span.end_column - 1]
    return rendered_text(path, value_at(value, path), written)


def _to_fill_in(document: Document, error: DecodeError, line: int) -> str | None:
    """The placeholder at a wrong type, or Helm's placeholder on its line."""
    return placeholder_of(document.value, error.path) or braces(document.line_text(line))


def _verdict(document: Document) -> ApiServerAnswer:
    return validate(document.value)


def _in_its_words(verdict: ApiServerAnswer, error: DecodeError) -> str:
    """The error message of a value, with the API server's message if the server fails at the same value."""
    if verdict.code == 400 and verdict.causes and verdict.causes[0].path == error.path:
        words = verdict.causes[0].message
        return (
            error.message if words in error.message else f"{error.message}; the API server would say: {one_line(words)}"
        )
    return error.message
