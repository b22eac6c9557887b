"""Map a line of rendered output back to the source line, if it can be identified."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from kubesched_lint.engine.base.places import Location, Path, Span
from kubesched_lint.files import is_within
from kubesched_lint.findings import InputError
from kubesched_lint.sources.manifests.document import Document, Skipped, Unread, Written
from kubesched_lint.sources.manifests.yaml.fragments import (
    Fragment,
    counterpart,
    existing,
    fragments,
    inline,
    operations,
    value_at,
    within,
)

_TOP = Span(1, 1, 1, 1)


class KustomizeRendering(Struct, frozen=True, eq=False):
    """The text that Kustomize rendered.

    ``kustomizations`` are in the order in which they refer to one another, the rendered folder's first. ``starts`` maps
    the first line of each document in ``text`` to the path of its source file.
    """

    text: str
    how: str
    kustomizations: tuple[Written, ...]
    others: tuple[Written, ...]
    starts: dict[int, str] = field(default_factory=dict)
    mendable: str = ""
    """The folder, without links, that the user named, or the repository of an applied set: a fix may change files in
    it, and no others. Empty if nobody could tell what becomes of the change.
    """
    again: Callable[[Mapping[str, bytes]], Any] | None = None
    """As ``again`` of the tree that was rendered."""

    def placed(self, entry: Document | Unread | Skipped | InputError) -> Document | Unread | Skipped | InputError:
        return replace(entry, rendering=self) if isinstance(entry, Document) else entry

    @property
    def files(self) -> tuple[Written, ...]:
        return (*self.kustomizations, *self.others)

    def origins(self, document: Document) -> Iterator[Fragment]:
        origin = self._origin(document)
        if origin is not None:
            yield origin
        yield from self._patches(document, origin)

    def location(self, document: Document, path: Path, *, key: bool = False) -> Location:
        origin = self._origin(document)
        written = self._written(document, path, origin)
        if written is not None:
            fragment, where = written
            return Location(fragment.path, fragment.span(where, key=key and where[-1:] == path[-1:]))
        return Location(document.path, document.span(path, key=key), self._near(document, path, origin))

    def setting(self, document: Document, paths: Sequence[Path]) -> tuple[Fragment, tuple[Path, ...]] | None:
        if not self.mendable:
            return None
        origin = self._origin(document)
        places_or_none = [self._written(document, path, origin) for path in paths]
        places = [place for place in places_or_none if place is not None]
        homes = {(fragment.path, fragment.line, fragment.indent) for fragment, _ in places}
        if len(places) != len(places_or_none) or len(homes) != 1:
            return None
        source = places[0][0]
        if source.indent or not is_within(os.path.realpath(source.path), self.mendable):
            return None
        lengths = [len(existing(document.value, path)) for path in paths]
        ends = (path[length:] for path, length in zip(paths, lengths, strict=True))
        return source, tuple((*where, *end) for (_, where), end in zip(places, ends, strict=True))

    def _near(self, document: Document, path: Path, origin: Fragment | None) -> Location:
        if origin is None:
            source = self._source(document)
            return Location((source or self.kustomizations[0]).path, _TOP)
        where = counterpart(existing(document.value, path), document.value, origin.value)
        return Location(origin.path, origin.span(where))

    def _written(self, document: Document, path: Path, origin: Fragment | None) -> tuple[Fragment, Path] | None:
        existing_path = existing(document.value, path)
        if origin is not None and existing_path in (
            (),
            ("metadata",),
            ("metadata", "name"),
            ("kind",),
            ("apiVersion",),
        ):
            return origin, existing(origin.value, existing_path)
        patches = list(self._patches(document, origin))
        objects = [
            fragment for fragment in (*patches, origin) if fragment is not None and isinstance(fragment.value, dict)
        ]
        places = [(fragment, counterpart(existing_path, document.value, fragment.value)) for fragment in objects]
        places = [(fragment, where) for fragment, where in places if len(where) == len(existing_path)]
        if len(existing_path) < len(path):  # no source sets the value: use the nearest parent that a source sets
            return places[-1] if places else None
        value = value_at(document.value, existing_path)
        whole = (place for place in places if _same(value_at(place[0].value, place[1]), value))
        part = (place for place in reversed(places) if isinstance(value, (dict, list)) and _is_part(place, value))
        return (
            next(whole, None)
            or next(self._operations(patches, existing_path, value), None)
            or next(self._replicas(existing_path, value, origin), None)
            or next(part, None)
        )

    def _origin(self, document: Document) -> Fragment | None:
        """Return the source document: of the same kind, with a name that the rendered name contains."""
        source = self._source(document)
        if source is None:
            return None
        alike = [
            origin
            for origin in fragments(source.path, source.text)
            if origin.kind == document.kind and origin.name in document.name
        ]
        return max(alike, key=lambda origin: len(origin.name), default=None)

    def _source(self, document: Document) -> Written | None:
        path = self.starts.get(document.line)
        return next((file for file in self.files if file.path == path), None)

    def _patches(self, document: Document, origin: Fragment | None) -> Iterator[Fragment]:
        """Yield the patches of the object, the last applied first."""
        names = {document.name, origin.name if origin else ""}
        for kustomization in self.kustomizations:
            for outer in fragments(kustomization.path, kustomization.text)[:1]:
                for patch, target in self._listed(outer):
                    if _targets(patch, target, document.kind, names):
                        yield patch

    def _listed(self, outer: Fragment) -> Iterator[tuple[Fragment, Any]]:
        """Yield the patches of a kustomization, the last first, each with its target."""
        for field_name in ("patches", "patchesJson6902", "patchesStrategicMerge"):
            entries = outer.value.get(field_name) if isinstance(outer.value, dict) else None
            for number, entry in reversed(list(enumerate(entries if isinstance(entries, list) else ()))):
                is_mapping = isinstance(entry, dict)
                path = entry.get("path") if is_mapping else entry
                where: Path = (field_name, number, "patch") if is_mapping else (field_name, number)
                target = entry.get("target") if is_mapping else None
                if isinstance(path, str) and "\n" not in path:
                    yield from ((patch, target) for patch in reversed(self._beside(outer.path, path)))
                elif existing(outer.value, where) == where:
                    patch = inline(outer, where)
                    if patch is not None:
                        yield patch, target

    def _beside(self, kustomization: str, path: str) -> tuple[Fragment, ...]:
        shown = os.path.normpath(os.path.join(os.path.dirname(kustomization), path))
        return next((fragments(file.path, file.text) for file in self.others if file.path == shown), ())

    def _operations(self, patches: Sequence[Fragment], value_path: Path, value: Any) -> Iterator[tuple[Fragment, Path]]:
        for patch in patches:
            for where, sets, given in operations(patch):
                rest = value_path[len(sets) :]
                if (
                    value_path[: len(sets)] == sets
                    and existing(given, rest) == rest
                    and _same(value_at(given, rest), value)
                ):
                    yield patch, (*where, *rest)

    def _replicas(self, value_path: Path, value: Any, origin: Fragment | None) -> Iterator[tuple[Fragment, Path]]:
        for kustomization in self.kustomizations if value_path == ("spec", "replicas") and origin is not None else ():
            for outer in fragments(kustomization.path, kustomization.text)[:1]:
                entries = outer.value.get("replicas") if isinstance(outer.value, dict) else None
                for number, entry in enumerate(entries if isinstance(entries, list) else ()):
                    named = isinstance(entry, dict) and origin is not None and entry.get("name") == origin.name
                    if named and _same(entry.get("count"), value):
                        yield outer, ("replicas", number, "count")


def _same(written: Any, rendered: Any) -> bool:
    """Return whether both are equal; ``1`` and ``true`` are equal in Python but not in YAML."""
    return within(written, rendered) and within(rendered, written)


def _is_part(place: tuple[Fragment, Path], value: Any) -> bool:
    written = value_at(place[0].value, place[1])
    return bool(written) and within(written, value)


def _targets(patch: Fragment, target: Any, kind: str, names: set[str]) -> bool:
    if not isinstance(target, dict):
        return patch.kind == kind and patch.name in names
    if target.get("kind") not in (None, "", kind):
        return False
    wanted = target.get("name")
    try:
        return not isinstance(wanted, str) or any(re.fullmatch(wanted, name) for name in names)
    except re.error:
        return False
