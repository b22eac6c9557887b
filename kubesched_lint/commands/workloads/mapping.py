"""How a card reads a kind, and what it reads in the resources of a file: plain workloads, field by field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kubesched_lint.custom.card import CustomKind, Part
from kubesched_lint.engine.base.limits import LONGEST_VALUE
from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.base.plain import value_at
from kubesched_lint.engine.base.text import first_few, many
from kubesched_lint.engine.model.decode.fields import words
from kubesched_lint.engine.model.labels import Selector
from kubesched_lint.engine.model.workloads.workload import Custom, Workload
from kubesched_lint.linter.reading.manifest_set import ManifestSet
from kubesched_lint.printing import json_text
from kubesched_lint.sources.manifests.document import Document, Move


def as_markdown(kind: CustomKind) -> str:
    """Return the section that shows each workload of a card with its fields and expressions."""
    return "## How its fields are read\n\n" + "\n".join(line for part in kind.parts for line in _of_part(part))


def _of_part(part: Part) -> Iterator[str]:
    name = f" `{part.part}`" if part.part else ""
    each = f", one for each `item` of `{part.each}`" if part.each else ""
    when = f", if `{part.when}`" if part.when else ""
    yield f"{part.kind}{name}{each}{when}:\n"
    fields = {words(path): expression for path, expression in part.fields}
    labels = {f"label {name}": expression for name, expression in part.labels.items()}
    yield from (f"- `{name}`: `{expression}`" for name, expression in {**fields, **labels}.items())
    yield ""


def resources(manifests: ManifestSet, kind: CustomKind) -> Iterator[str]:
    """Yield the lines about each resource of a kind: its plain workloads, or why the card cannot read it."""
    for workload in manifests.inventory.workloads:
        if workload.custom is not None and isinstance(workload.source, Document):
            document = workload.source
            group = document.api_version.rpartition("/")[0]
            if (group, workload.ref.kind) == (kind.group, kind.kind):
                yield from _of_workload(workload, workload.custom, document)
    for unread in manifests.unread:
        if (unread.kind, unread.api_version.rpartition("/")[0]) == (kind.kind, kind.group):
            yield f"{unread.kind} ({unread.path}:{unread.line}) is not read: {unread.why or unread.api_version}"


def _of_workload(workload: Workload, custom: Custom, document: Document) -> Iterator[str]:
    plain = document.value
    made = f"{workload.kind} {workload.namespace}/{workload.name}"
    yield f"{workload} ({_place(document, ('metadata',))}) is read as {made}"
    rows = [(words(move.plain), _value(value_at(plain, move.plain)), _source(move)) for move in _shown(document, plain)]
    rows += [(words(path), _value(value), "the card") for path, value in _constants(plain, (), document.moves)]
    wide = [max(len(row[column]) for row in rows) for column in (0, 1)]
    yield from (f"  {field:{wide[0]}}  {value:{wide[1]}}  {source}" for field, value, source in sorted(rows))
    yield from (f"  {line}" for line in _facts(custom))
    yield ""


def _shown(document: Document, plain: Any) -> Iterator[Move]:
    """Yield the last move of each field that has a value, if moves of its parts do not tell more."""
    last = {move.plain: move for move in document.moves if value_at(plain, move.plain) is not None}
    for path, move in last.items():
        parts = any(len(other) > len(path) and other[: len(path)] == path for other in last)
        if not parts or value_at(move.document.value, move.at) is not None:
            yield move


def _source(move: Move) -> str:
    place = f"{words(move.at)} ({_place(move.document, move.at)})"
    if not move.is_exact:
        return f"made of {place}"
    return place if value_at(move.document.value, move.at) is not None else f"the card, unless {words(move.at)} is set"


def _place(document: Document, at: Path) -> str:
    return f"{document.path}:{document.span(at).line}"


def _constants(value: Any, at: Path, moves: Sequence[Move]) -> Iterator[tuple[Path, Any]]:
    """Yield the values below a path that come from no field of the resource."""
    if at in (("apiVersion",), ("kind",), ("metadata",)):
        return
    if isinstance(value, dict | list) and value:
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for step, inner in items:
            yield from _constants(inner, (*at, step), moves)
    elif not any(_gives(move, at) for move in moves):
        yield at, value


def _gives(move: Move, at: Path) -> bool:
    """Whether the value at a path of the plain workload is from a field of the resource."""
    below = at[len(move.plain) :]
    if at[: len(move.plain)] != move.plain:
        return False
    return not below or not move.is_exact or value_at(move.document.value, (*move.at, *below)) is not None


def _value(value: Any) -> str:
    text = json_text(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"


def _facts(custom: Custom) -> Iterator[str]:
    if custom.replica_pods:
        yield f"an autoscaler scales it: {many(custom.replica_pods, 'pod')} for each replica"
    if custom.selector is not None:
        by = f" of a {custom.owner}" + (f" {custom.owner_name}" if custom.owner_name else "") if custom.owner else ""
        yield f"its running pods: those{by} with {_selected(custom.selector)}"
    yield from (f"claims of {template}: {first_few(names)}" for template, names in custom.claims.items() if names)
    yield from (f"unknown: {', '.join(events)}: {why}" for why, events in _by_reason(custom.unknown).items())


def _selected(selector: Selector) -> str:
    signs = {"In": "=", "NotIn": "!="}
    return ", ".join(
        f"{r.key}{signs.get(r.operator, f' {r.operator} ')}{'|'.join(r.values)}" for r in selector.requirements
    )


def _by_reason(unknown: Mapping[str, str]) -> dict[str, list[str]]:
    events_by_reason: dict[str, list[str]] = {}
    for event, why in unknown.items():
        events_by_reason.setdefault(why, []).append(event)
    return events_by_reason
