"""The variables that Flux fills in, as envsubst does, in the YAML of each object of a folder.

Values are filled in one by one, so each keeps its place in the file; what becomes of a value is read as YAML, because
Flux fills in text, where a quoted ``"${REPLICAS}"`` has lost its quotes.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.sources.manifests.document import Document, FilledIn, Text
from kubesched_lint.sources.manifests.limits import LARGEST, MOST_DEFAULTS
from kubesched_lint.sources.manifests.recognizing.classify import CLUSTER_WIDE
from kubesched_lint.sources.manifests.recognizing.kustomization import value_in

_SUBSTITUTE = "kustomize.toolkit.fluxcd.io/substitute"
_ESCAPED = "$${"
_VARIABLE = re.compile(r"\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?P<with_default>:[=-](?P<default>[^{}]*))?\}")
_FROM_A_VALUE = "\0{"
"""Stands for ``${`` in a value, in which nothing is filled in."""
_QUOTED = re.compile(r"""[-?:,\[\]{}#&*!|>'"%@`\s]|.*(?::\s|\s#|[:\s]$)|.*[^\x20-\x7e]""", re.DOTALL)
"""Text that is in quotes, or on lines of its own, in the YAML that Flux fills in: it stays text. (Text beyond ASCII
need not be in quotes, but no number or boolean has it.)"""


class Variables(Struct, frozen=True):
    """What one Kustomization of Flux fills in."""

    values: tuple[tuple[str, str], ...]
    others: str = ""
    """The objects that may define further variables (``substituteFrom``); empty if there are none."""
    is_whole: bool = False
    """Whether nothing else defines variables, so that others become empty."""
    hidden: frozenset[str] = frozenset()
    """Variables that a Secret of the set defines: their values are nobody's business."""


class Filling(Struct, frozen=True):
    """How variables are filled in: once for each Kustomization that applies the folder; None fills in nothing."""

    has_variables: ClassVar[bool] = True
    ways: tuple[Variables | None, ...]

    def filled(self, document: Document) -> Document:
        """Return the document with the values of its variables; those that nobody defines stay as they are."""
        uses = document.text.count("${")
        longest = max((len(value) for way in self.ways if way is not None for _, value in way.values), default=0)
        if not uses or uses * longest > LARGEST or _is_disabled(document.value):
            return document
        assumed: set[str] = set()
        value = self._value(document.value, assumed)
        if value == document.value:
            return document
        meta = value.get("metadata") if isinstance(value.get("metadata"), dict) else {}
        return replace(
            document,
            written=Text(document.text, value),
            filled_in=FilledIn(document, self, tuple(sorted(assumed))),
            name=str(meta.get("name") or ""),
            generate_name=str(meta.get("generateName") or ""),
            namespace=str(meta.get("namespace") or ""),
            annotations=meta.get("annotations"),
        )

    def _value(self, value: Any, assumed: set[str]) -> Any:
        if isinstance(value, dict):
            return {self._text(str(key), assumed): self._value(child, assumed) for key, child in value.items()}
        if isinstance(value, list):
            return [self._value(child, assumed) for child in value]
        if not isinstance(value, str) or "${" not in value:
            return value
        text = self._text(value, assumed)
        if text == value or _QUOTED.match(value):
            return text
        read = value_in(f"value: {text}\n")
        return read["value"] if isinstance(read, dict) and len(read) == 1 and "value" in read else value

    def _text(self, text: str, assumed: set[str]) -> str:
        """Return the text if all ways agree on it."""
        if "${" not in text:
            return text
        assumptions: set[str] = set()
        texts = {text if way is None else _filled(text, way, assumptions) for way in self.ways}
        if len(texts) != 1:
            return text
        assumed |= assumptions
        return texts.pop()


class Homing(Struct, frozen=True):
    """Gives objects without a namespace the one of their Application, as Argo CD does."""

    has_variables: ClassVar[bool] = False
    namespace: str

    def filled(self, document: Document) -> Document:
        """Return the document with its namespace; an object of the cluster as it is."""
        if document.namespace or document.kind in CLUSTER_WIDE or document.prefix:
            return document
        meta = document.value.get("metadata")
        value = {
            **document.value,
            "metadata": {**(meta if isinstance(meta, dict) else {}), "namespace": self.namespace},
        }
        written = Text(document.text, value)
        return replace(document, written=written, filled_in=FilledIn(document, self), namespace=self.namespace)


def _filled(text: str, variables: Variables, assumed: set[str]) -> str:
    values = {name: value.replace("${", _FROM_A_VALUE) for name, value in variables.values}

    def filled(match: re.Match[str]) -> str:
        name = match["name"]
        if name in variables.hidden:
            return match[0]
        known = values.get(name, "")
        if known or (name in values and not match["with_default"]):
            return known
        if not match["with_default"]:
            return "" if variables.is_whole and not variables.others else match[0]
        if variables.others and name not in values:
            assumed.add(f"{variables.others} does not define {name}")
        return match["default"]

    pieces = text.split(_ESCAPED)
    for at, piece in enumerate(pieces):
        for _ in range(MOST_DEFAULTS):
            before, piece = piece, _VARIABLE.sub(filled, piece)
            if piece == before:
                break
        pieces[at] = piece
    return "${".join(pieces).replace(_FROM_A_VALUE, "${")


def _is_disabled(value: Any) -> bool:
    meta = value.get("metadata")
    marks = (meta.get(field) for field in ("annotations", "labels")) if isinstance(meta, dict) else ()
    return any(isinstance(mark, dict) and mark.get(_SUBSTITUTE) == "disabled" for mark in marks)
