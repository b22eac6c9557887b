"""What is the same mistake in each object into which somebody copied it: then one finding tells of all."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from kubesched_lint.engine.apiserver.refusals import Refusals
from kubesched_lint.engine.apiserver.values.causes import Cause, field_of
from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.base.plain import value_at
from kubesched_lint.engine.base.text import SHOWN
from kubesched_lint.explaining.objects.refused import REQUIRED, UNKNOWN_FIELD
from kubesched_lint.sources.manifests.document import Document


class Mistakes:
    """The mistakes behind the refusals of one object."""

    def __init__(self, document: Document, refusals: Refusals) -> None:
        self._document = document
        self._refusals = refusals

    def of(self, cause: Cause) -> str:
        """Return what copies of a mistake have in common: the same words about the same field of the same kind."""
        home, kind = self._home(cause), self._document.kind
        if home is None:
            return f"{kind} {_names(cause.path)}: {cause.message}"
        return f"{kind} {_names(home)[-1:]}: {self._fields[home]}"

    @cached_property
    def _fields(self) -> Mapping[Path, str]:
        """The unknown and the missing fields by the mapping that holds or lacks them: they are one mistake of it."""
        fields: dict[Path, list[str]] = {}
        for cause, _ in self._refusals:
            if (home := self._home(cause)) is not None:
                fields.setdefault(home, []).append(field_of(cause.path[len(home) :]))
        return {home: f"{len(named)}: {sorted(named)[:SHOWN]}" for home, named in fields.items()}

    def _home(self, cause: Cause) -> Path | None:
        """Return the mapping with the unknown field, or the innermost one there is on the way to a missing field."""
        path = cause.path[:-1]
        if cause.message.startswith(UNKNOWN_FIELD):
            return None if cause.suggestion else path
        if not cause.message.startswith(REQUIRED):
            return None
        while path and not value_at(self._document.value, path):
            path = path[:-1]
        return path


def _names(path: Path) -> list[str]:
    return [step for step in path if isinstance(step, str)]
