"""The class that a claim without one gets when it is created.

Mirrors ``plugin/pkg/admission/storage/storageclass/setdefault`` and GetDefaultClass of ``pkg/volume/util`` (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterable

from kubesched_lint.model.storage import StorageClass

_NOW = "~"
"""After every time: a class that is about to be applied is the newest."""


def default_class(classes: Iterable[StorageClass]) -> StorageClass | None:
    """The default class that was made last, of several that are as new the first by name; None without one."""
    defaults = sorted((c for c in classes if c.is_default), key=lambda c: c.name)
    return max(defaults, key=lambda c: c.created or _NOW, default=None)
