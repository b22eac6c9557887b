"""All that a kustomization builds on, and the copy of it that a tool gets.

The copy lacks what takes a tool long to read and nobody reads afterwards: the schemas of CustomResourceDefinitions are
most of the text of many repositories. Kustomize applies nothing of them to other objects, and says so if a patch misses
a field in them; then the tool gets the whole files.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from msgspec import Struct, field

from kubesched_lint.findings import InputError
from kubesched_lint.sources.manifests.document import Skipped

_KIND = re.compile(rb"^kind:[ ]+CustomResourceDefinition[ \r]*$", re.MULTILINE)
_SPEC = re.compile(rb"^spec:[ \r]*\n(?:(?:[ \t][^\n]*|#[^\n]*|\r?)(?:\n|\Z))*", re.MULTILINE)
_NEXT = re.compile(rb"^(?=---)", re.MULTILINE)


class KustomizeTree(Struct, dict=True):
    """All that the kustomization in ``folder`` builds on, by real path; its own comes first."""

    folder: str
    value: dict[str, Any] = field(default_factory=dict)
    """The kustomization in ``folder``, with checked fields only."""
    kustomizations: dict[str, bytes] = field(default_factory=dict)
    """Real path of each kustomization file → its bytes."""
    folders: set[str] = field(default_factory=set)
    fields: set[str] = field(default_factory=set)
    """The fields that its kustomizations set."""
    files: dict[str, bytes] = field(default_factory=dict)
    instead: dict[str, str] = field(default_factory=dict)
    """Real path of a file → the text that the tool reads instead."""
    obstacle: Skipped | InputError | None = None
    is_lacking: bool = False
    """The obstacle is an entry that names nothing, or nothing that may be read: nobody can build it as it is."""
    outside: InputError | None = None
    """The first file that is not in or below the folder of the kustomization that lists it."""
    root: str = ""
    """If set, Flux builds it: it may list any file below this folder, not only those below its own."""
    again: Callable[[Mapping[str, bytes]], KustomizeTree | None] | None = None
    """Return the tree anew with other bytes of some files, by real path; None if nobody can."""
    applied_by: str = ""
    """The Kustomization of Flux whose settings are a part of it; several may apply one folder."""

    @property
    def real(self) -> str:
        return os.path.realpath(self.folder)

    @property
    def key(self) -> str:
        """What tells it apart from the other trees of a run."""
        return f"{self.real} {self.applied_by}" if self.applied_by else self.real

    @cached_property
    def short_files(self) -> dict[str, bytes]:
        """``files`` without what nobody reads."""
        return {path: without_schemas(data) for path, data in self.files.items()}

    def copy_to(self, folder: str, *, whole: bool = False) -> str:
        """Write what the tool may read below ``folder``; ``whole``: with what nobody reads. Return the copy of the
        tree's own folder.
        """
        for real in self.folders:
            os.makedirs(_below(folder, real), exist_ok=True)
        for real, data in (self.files if whole else self.short_files).items():
            _write(_below(folder, real), data)
        for real, text in self.instead.items():
            _write(_below(folder, real), text.encode())
        return _below(folder, self.real)


def _below(folder: str, real: str) -> str:
    return os.path.join(folder, os.path.splitdrive(real)[1].lstrip(os.sep))


def _write(path: str, data: bytes) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)


def without_schemas(data: bytes) -> bytes:
    """Return the bytes of a file with an empty ``spec`` in each CustomResourceDefinition in block style."""
    if b"CustomResourceDefinition" not in data:
        return data
    return b"".join(
        _SPEC.sub(b"spec: {}\n", text, count=1) if _KIND.search(text) else text for text in _NEXT.split(data)
    )
