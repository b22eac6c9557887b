"""The paths of a card against the schema of a CustomResourceDefinition; otherwise a misspelt path is just absent."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from kubesched_lint.commands.workloads.schema import SchemaError, definitions
from kubesched_lint.custom.card import Written, expressions
from kubesched_lint.custom.expression import parsed
from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.base.text import did_you_mean
from kubesched_lint.engine.model.decode.fields import words
from kubesched_lint.rulebook.cards.card import Card
from kubesched_lint.rulebook.cards.frontmatter import CardError

_ITEM = 0
"""The step to the items of a list."""
_Schema = Mapping[str, Any]


def misspelt(cards: Sequence[Card], path: str, data: bytes) -> Iterator[CardError]:
    """Yield each path of the cards that the schemas of a file do not have. Raises SchemaError."""
    compared = False
    for definition in definitions(path, data):
        spec = _map(definition.get("spec"))
        name = (spec.get("group"), _map(spec.get("names")).get("kind"))
        for card in cards:
            front = cast("dict[str, Any]", card.front.value)
            if (front["group"], front["kind"]) == name:
                compared = True
                yield from _unlike(card, front, _schemas(spec, front["versions"]), path)
    if not compared:
        raise SchemaError(f"{path}: no CustomResourceDefinition of a kind of these cards")


def _schemas(spec: _Schema, versions: Sequence[str]) -> tuple[_Schema, ...]:
    """Return the schemas of the versions that the card reads."""
    listed = spec.get("versions")
    read = (v for v in (listed if isinstance(listed, list) else ()) if _map(v).get("name") in versions)
    schemas = (_map(_map(version.get("schema")).get("openAPIV3Schema")) for version in read)
    return tuple(schema for schema in schemas if schema)


def _unlike(card: Card, front: Mapping[str, Any], schemas: Sequence[_Schema], path: str) -> Iterator[CardError]:
    """Yield each path that no version of the schema has, once at each line."""
    if not schemas:
        yield CardError(card.path, card.front.line(("versions",)), f"versions: {path} has a schema of none of them")
    said: set[tuple[int, Path]] = set()
    for written in expressions(front):
        line = card.front.line(written.at)
        for name, wanted in _paths(written):
            wrong = [_missing(wanted, schema) for schema in schemas]
            missing = next(iter(wrong), None)
            if missing is None or None in wrong or (line, missing[0]) in said:
                continue
            at, known = missing
            said.add((line, at))
            text = f"{written.at[-1]}: `{name}`: the schema in {path} has no {words(at)}"
            yield CardError(card.path, line, f"{text}{did_you_mean(str(at[-1]), known)}")


def _missing(wanted: Path, schema: _Schema) -> tuple[Path, Sequence[str]] | None:
    """Return the part of a path that a schema excludes, with the fields that stand there; None if it may exist."""
    for number, step in enumerate(wanted):
        below = _map(schema.get("items") if isinstance(step, int) else _map(schema.get("properties")).get(step))
        if not below:
            known = tuple(_map(schema.get("properties")))
            is_open = schema.get("x-kubernetes-preserve-unknown-fields") or schema.get("additionalProperties")
            has_embedded = schema.get("x-kubernetes-embedded-resource")
            if isinstance(step, int) or not known or step in known or is_open or has_embedded:
                return None
            return wanted[: number + 1], known
        schema = below
    return None


def _paths(written: Written) -> Iterator[tuple[str, Path]]:
    """Yield the paths into ``spec`` that an expression reads, as it writes them and from the root."""
    lists = [_chain(parsed(text), {}) for text in written.items]
    # What holds for several lists is not looked up: each list may have it or not.
    names = {"item": (*lists[0], _ITEM)} if len(lists) == 1 and lists[0] else {}
    tree = parsed(written.text)
    for loop in ast.walk(tree):
        match loop:
            case ast.comprehension(target=ast.Name(id=name), iter=listed) if path := _chain(listed, names):
                names[name] = (*path, _ITEM)
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="has"), args=[listed, ast.Constant(value=str(key)), *_]):
                above = _chain(listed, names)
                path = (*above, _ITEM, key) if above else ()
            case _:
                path = _chain(node, names)
        if path:
            yield ast.unparse(node), path


def _chain(node: ast.AST, names: Mapping[str, Path]) -> Path:
    """Return the path from the root that a node writes; empty if it is none, or begins elsewhere."""
    match node:
        case ast.Name(id=name):
            return names.get(name, (name,) if name == "spec" else ())
        case ast.Attribute(value=inner, attr=step) | ast.Subscript(value=inner, slice=ast.Constant(value=step)):
            above = _chain(inner, names)
            return (*above, step if isinstance(step, str) else _ITEM) if above else ()
    return ()


def _map(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
