"""Fields that several parts of a sketch have: their names are checked, and taints have a short notation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.model.decode.fields import DecodeError, Value, text, words, wrong
from kubesched_lint.engine.model.nodes.node import Taint

_TAINT_FIELDS = frozenset(["key", "value", "effect"])
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


class UnknownFieldError(DecodeError):
    """An unknown field: the error is at its key, not at its value."""


def known(value: Value, fields: frozenset[str], path: Path) -> None:
    """Check the field names. Raises UnknownFieldError for a field that is not in ``fields``."""
    for key in value:
        if key not in fields:
            raise UnknownFieldError((*path, key), f"{words((*path, key))}: unknown field")


def taints_of(entry: Value, path: Path, effects: Sequence[str] = _EFFECTS) -> Iterator[Taint]:
    """Yield the taints of an entry, each ``key=value:Effect`` or a mapping. Raises DecodeError."""
    written = entry.get("taints")
    if written is None:
        return
    taints_path = (*path, "taints")
    if not isinstance(written, list):
        raise wrong(taints_path, "a list of taints, key=value:Effect or {key, value, effect}", written)
    for i, item in enumerate(written):
        at = (*taints_path, i)
        if isinstance(item, str):
            taint = _taint(item, at)
        elif isinstance(item, dict):
            known(item, _TAINT_FIELDS, at)
            taint = Taint(text(item, "key", at), text(item, "value", at), text(item, "effect", at))
        else:
            raise wrong(at, "a taint, key=value:Effect or {key, value, effect}", item)
        if not taint.key or taint.effect not in effects:
            shown = str(taint) if isinstance(item, dict) else item
            raise DecodeError(
                at, f"{words(at)}: {shown!r} is no taint: expected key=value:Effect with one of {', '.join(effects)}"
            )
        yield taint


def _taint(written: str, at: Path) -> Taint:
    left, _, effect = written.rpartition(":")
    key, _, value = left.partition("=")
    return Taint(key, value, effect)
