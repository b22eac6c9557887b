"""Parse the source texts of a rendering, to find the positions of their values."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from msgspec import Struct

from kubesched_lint.engine.base.places import Path, Span
from kubesched_lint.sources.manifests.yaml.fast_reader import NotPlainError, read_plain
from kubesched_lint.sources.manifests.yaml.full_reader import BuildError, build
from kubesched_lint.sources.manifests.yaml.places import span_of
from kubesched_lint.sources.manifests.yaml.split import parts


class Fragment(Struct, frozen=True, eq=False):
    """One document of a source file, or a patch written inside a kustomization, indented by ``indent`` columns."""

    path: str
    text: str
    line: int
    value: Any
    is_plain: bool = False
    indent: int = 0

    def span(self, path: Path, *, key: bool = False) -> Span:
        """Like ``Document.span``."""
        span = span_of(self.text, self.line, path, key=key, plain=self.is_plain)
        return Span(span.line, span.column + self.indent, span.end_line, span.end_column + self.indent)

    @property
    def kind(self) -> str:
        kind = self.value.get("kind") if isinstance(self.value, dict) else None
        return kind if isinstance(kind, str) else ""

    @property
    def name(self) -> str:
        meta = self.value.get("metadata") if isinstance(self.value, dict) else None
        name = meta.get("name") if isinstance(meta, dict) else None
        return name if isinstance(name, str) else ""


@lru_cache(maxsize=256)
def fragments(path: str, text: str) -> tuple[Fragment, ...]:
    """Return the readable documents of a file."""
    readable = (fragment(path, part.text, part.line) for part in parts(text))
    return tuple(document for document in readable if document is not None)


def fragment(path: str, text: str, line: int, indent: int = 0) -> Fragment | None:
    try:
        return Fragment(path, text, line, read_plain(text), True, indent)
    except NotPlainError:
        try:
            return Fragment(path, text, line, build(text), False, indent)
        except BuildError:
            return None


def inline(outer: Fragment, path: Path) -> Fragment | None:
    """Return the YAML in a block scalar (``|``) of ``outer``; None for other styles, whose lines have no fixed
    position.
    """
    span = outer.span(path)
    lines = outer.text.split("\n")
    header = lines[span.line - outer.line][span.column - 1 :]
    if not header.startswith("|"):
        return None
    body = lines[span.line - outer.line + 1 : span.end_line - outer.line + 1]
    indent = next((len(line) - len(line.lstrip(" ")) for line in body if line.strip()), 0)
    return fragment(outer.path, "\n".join(line[indent:] for line in body), span.line + 1, indent)


def value_at(value: Any, path: Path) -> Any:
    for step in path:
        value = value[step]
    return value


def existing(value: Any, path: Path) -> Path:
    """Return the longest prefix of the path that exists."""
    for depth, step in enumerate(path):
        inside = isinstance(value, dict) and step in value
        if not inside and not (isinstance(value, list) and isinstance(step, int) and 0 <= step < len(value)):
            return path[:depth]
        value = value[step]
    return path


def counterpart(path: Path, rendered: Any, source: Any) -> Path:
    """Return the path in a source of the value at ``path`` of the rendered object; the longest prefix that the source
    has.

    Items of lists are matched by name; items without a name by equality.
    """
    steps: list[str | int] = []
    for step in path:
        if isinstance(rendered, dict) and isinstance(source, dict):
            if step not in source:
                break
            at: str | int | None = step
        elif isinstance(rendered, list) and isinstance(source, list) and isinstance(step, int):
            at = _item(rendered[step], source)
        else:
            break
        if at is None:
            break
        steps.append(at)
        rendered, source = rendered[step], source[at]
    return tuple(steps)


def _item(item: Any, items: list[Any]) -> int | None:
    if isinstance(item, dict) and "name" in item:
        named = (i for i, entry in enumerate(items) if isinstance(entry, dict) and entry.get("name") == item["name"])
        return next(named, None)
    same = [i for i, entry in enumerate(items) if entry == item] or [
        i for i, entry in enumerate(items) if within(entry, item)
    ]
    return same[0] if same else None


def within(source: Any, rendered: Any) -> bool:
    """Return whether the rendered value contains everything in the source; it may contain more."""
    if isinstance(source, dict):
        return isinstance(rendered, dict) and all(k in rendered and within(v, rendered[k]) for k, v in source.items())
    if isinstance(source, list):
        return isinstance(rendered, list) and all(any(within(v, w) for w in rendered) for v in source)
    return bool(source == rendered) and isinstance(source, bool) == isinstance(rendered, bool)


def operations(patch: Fragment) -> Iterator[tuple[Path, Path, Any]]:
    """Yield (position, path, value) of each operation of a JSON patch that sets a value."""
    if not isinstance(patch.value, list):
        return
    for number, entry in enumerate(patch.value):
        if isinstance(entry, dict) and entry.get("op") in ("add", "replace") and isinstance(entry.get("path"), str):
            steps = (step.replace("~1", "/").replace("~0", "~") for step in entry["path"].split("/")[1:])
            where = tuple(int(step) if step.isdecimal() and len(step) < 10 else step for step in steps)
            yield (number, "value"), where, entry.get("value")
