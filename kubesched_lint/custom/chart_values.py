"""The values of a release: from ConfigMaps of the set and from the object itself, with the place of each."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from kubesched_lint.custom.others import Others
from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.base.plain import value_at
from kubesched_lint.sources.charts.parameters import values_set
from kubesched_lint.sources.manifests.document import Document, Move
from kubesched_lint.sources.manifests.recognizing.kustomization import merged, value_in

_INLINE: Path = ("spec", "values")
_OF_RELEASE = re.compile(r"\{\{-?\s*\.Release\.(?P<field>Name|Namespace)\s*-?\}\}")
_TEMPLATE = "{{"


class Values(Struct):
    """Merged values. ``unknown`` says what else may change them; ``open`` what a template in them leaves open."""

    document: Document
    release: str
    namespace: str
    value: dict[str, Any]
    sources: tuple[tuple[int, Mapping[str, Any]], ...] = ()
    """Those of ``valuesFrom`` that are known, by their places in it."""
    unknown: tuple[str, ...] = ()
    open: list[str] = field(default_factory=list)

    def move(self, plain: Path, at: Path) -> Move | None:
        """Return where a field of a plain object comes from: the value at a path; None for a default of the chart."""
        if _has(value_at(self.document.value, _INLINE), at):
            return Move(plain, self.document, (*_INLINE, *at))
        source = next((number for number, given in reversed(self.sources) if _has(given, at)), None)
        return None if source is None else Move(plain, self.document, ("spec", "valuesFrom", source), is_exact=False)

    def plain_at(self, at: Path) -> Any:
        """Return the value at a path with the name and the namespace of the release, and its other templates."""
        return _filled(value_at(self.value, at), {"Name": self.release, "Namespace": self.namespace})

    def filled(self, value: Any, at: Path) -> Any:
        """Return a value with the name and the namespace of the release; None if it has any other template."""
        filled = _filled(value, {"Name": self.release, "Namespace": self.namespace})
        if _is_open(filled):
            self.open.append(".".join(map(str, at)))
            return None
        return filled


def values_of(document: Document, release: str, namespace: str, others: Others) -> Values:
    """Return the values of a HelmRelease, later sources over earlier ones."""
    spec = document.value.get("spec")
    listed = spec.get("valuesFrom") if isinstance(spec, dict) else None
    whole: dict[str, Any] = {}
    sources, unknown = [], []
    for number, source in enumerate(listed if isinstance(listed, list) else ()):
        given = _given(source, document.namespace or namespace, others)
        if given is None:
            named = source if isinstance(source, dict) else {}
            unknown.append(f"{named.get('kind')} {named.get('name')}")
        else:
            sources.append((number, given))
            whole = merged(whole, given)
    own = value_at(document.value, _INLINE)
    whole = merged(whole, own) if isinstance(own, dict) else whole
    return Values(document, release, namespace, whole, tuple(sources), tuple(dict.fromkeys(unknown)))


def _given(source: Any, namespace: str, others: Others) -> Mapping[str, Any] | None:
    """Return the values of one source; None if they are unknown."""
    if not isinstance(source, dict) or source.get("kind") != "ConfigMap":
        return None
    named = others.named("ConfigMap", namespace, str(source.get("name")))
    text = value_at(named.value, ("data", str(source.get("valuesKey") or "values.yaml"))) if named else None
    if not isinstance(text, str):
        return None
    if source.get("targetPath"):
        is_quoted = any(text.startswith(sign) and text.endswith(sign) for sign in ("'", '"'))
        plain = text.strip("'\"") if is_quoted else text
        literal = source.get("literal") is True
        return values_set(str(source["targetPath"]), text if literal else plain, is_text=is_quoted, is_literal=literal)
    value = value_in(text)
    return value if isinstance(value, dict) else None


def _has(value: Any, at: Path) -> bool:
    for step in at:
        is_there = step in value if isinstance(value, dict) else False
        is_there = is_there or (isinstance(value, list) and isinstance(step, int) and step < len(value))
        if not is_there:
            return False
        value = value[step]
    return True


def _filled(value: Any, release: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {_filled(key, release): _filled(child, release) for key, child in value.items()}
    if isinstance(value, list):
        return [_filled(child, release) for child in value]
    return _OF_RELEASE.sub(lambda match: release[match["field"]], value) if isinstance(value, str) else value


def _is_open(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_is_open, value)) or any(map(_is_open, value.values()))
    if isinstance(value, list):
        return any(map(_is_open, value))
    return isinstance(value, str) and _TEMPLATE in value
