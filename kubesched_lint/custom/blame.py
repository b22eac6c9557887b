"""Which value of a release became a field that its chart has rendered, where that is clear.

Templates are not followed. A field comes from a value if exactly one among those of the release and the defaults of
its chart has the field's name and holds the same; of several, none is to blame, and the release as a whole is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from kubesched_lint.custom.chart_values import Values
from kubesched_lint.custom.limits import MOST_BLAMED
from kubesched_lint.engine.base.places import Location, Path
from kubesched_lint.engine.base.plain import value_at
from kubesched_lint.findings import InputError
from kubesched_lint.sources.manifests.document import Document, Move, Skipped, Text, Unread
from kubesched_lint.sources.manifests.recognizing.kustomization import value_in
from kubesched_lint.sources.manifests.yaml.fragments import Fragment

_NOT_BLAMED = frozenset({"name", "kind", "apiVersion", "namespace", "image", "key", "value", "type", "metadata"})
"""Fields that say too little by their names, or that no rule blames."""


class Defaults(Struct, frozen=True, eq=False):
    """The rendering of a file of default values, which is in an archive: the release is the nearest place in a file."""

    release: Document
    text: str
    how: str

    @property
    def files(self) -> tuple[()]:
        return ()

    def location(self, document: Document, path: Path, *, key: bool = False) -> Location:
        return Location(document.path, document.span(path, key=key), self.release.location(("spec", "chart")))

    def origins(self, document: Document) -> Iterator[Fragment]:
        return iter(())

    def setting(self, document: Document, paths: Sequence[Path]) -> None:
        return None  # nobody writes into a chart

    def placed(self, entry: Document | Unread | Skipped | InputError) -> Document | Unread | Skipped | InputError:
        return entry


class _Held(Struct, frozen=True):
    """A value: in the file of a chart's defaults, or of the release if there is none."""

    at: Path
    value: Any
    default: Document | None = None


class Blame(Struct):
    """The values that a release has, by the last key of their paths."""

    values: Values
    known: dict[str, list[_Held]] = field(default_factory=dict)

    def moves(self, plain: Mapping[str, Any]) -> tuple[Move, ...]:
        """Return where the fields of a rendered object come from."""
        moves: list[Move] = []
        waiting: list[tuple[Path, Any]] = [((), plain)]
        while waiting and len(moves) < MOST_BLAMED:
            path, value = waiting.pop()
            held = self._source_of(path, value)
            if held is not None:
                moves += self._moves(path, held.at, value, held.default)
            elif isinstance(value, dict):
                waiting += (((*path, str(key)), child) for key, child in value.items())
            elif isinstance(value, list):
                waiting += (((*path, number), child) for number, child in enumerate(value))
        return tuple(moves)

    def _source_of(self, path: Path, value: Any) -> _Held | None:
        name = path[-1] if path else ""
        if not isinstance(name, str) or name in _NOT_BLAMED or value in (None, "", {}, [], True, False):
            return None
        alike = [held for held in self.known.get(name, ()) if held.value == value]
        return alike[0] if len(alike) == 1 else None

    def _moves(self, plain: Path, at: Path, value: Any, default: Document | None) -> Iterator[Move]:
        """Yield the field and all inside it: what is nearest to a finding has its line."""
        if default is None:
            move = self.values.move(plain, at)
            if move is None:
                return
            yield Move(move.plain, move.document, move.at, is_exact=False)
        else:
            yield Move(plain, default, at, is_exact=False)
        children: Iterator[tuple[str | int, Any]] = iter(())
        if isinstance(value, dict):
            children = ((str(key), child) for key, child in value.items())
        elif isinstance(value, list):
            children = iter(enumerate(value))
        for step, child in children:
            yield from self._moves((*plain, step), (*at, step), child, default)


def blame_of(values: Values, release: Document, defaults: Sequence[tuple[tuple[str, ...], str, str]]) -> Blame:
    """Return what may be to blame; ``defaults`` are (path of the subchart, file in the archive, text)."""
    blame = Blame(values)
    _index(blame.known, (), values.value, None, ())
    for at, file, text in defaults:
        value = value_in(text)
        if isinstance(value, dict):
            rendering = Defaults(release, text, "")
            document = Document(f"{file} (of the chart)", 0, "", "", Text(text, value), 1, rendering=rendering)
            _index(blame.known, (), value, document, value_at(values.value, at))
    return blame


def _index(known: dict[str, list[_Held]], at: Path, value: Any, default: Document | None, given: Any) -> None:
    """Add all that is inside a value; defaults only where the release gives nothing else."""
    if isinstance(value, dict):
        for key, child in value.items():
            own = given.get(key) if isinstance(given, dict) else None
            if default is None or own is None or (isinstance(own, dict) and isinstance(child, dict)):
                if default is None or own is None:
                    known.setdefault(str(key), []).append(_Held((*at, str(key)), child, default))
                _index(known, (*at, str(key)), child, default, own)
    elif isinstance(value, list):
        for number, child in enumerate(value):
            _index(known, (*at, number), child, default, None)
