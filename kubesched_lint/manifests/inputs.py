"""What is read: files with their bytes, and what is told of kustomizations in their place."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import field
from functools import cache
from typing import TYPE_CHECKING

from kubesched_lint.findings import InputError
from kubesched_lint.manifests.document import Skipped
from kubesched_lint.record import record

if TYPE_CHECKING:
    from kubesched_lint.manifests.charts import ChartRendering
    from kubesched_lint.manifests.provenance import KustomizeRendering

SUFFIXES = (".yaml", ".yml", ".json")
LARGEST = 16 * 1024 * 1024
"""Bytes of one file. A Kubernetes object cannot be larger than 1.5 MiB (etcd)."""
KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")
STDIN = "<stdin>"
Progress = Callable[[str, int, int], None]
"""Called with what is being done, how many are done, and of how many."""


@cache
def standard_input() -> bytes:
    """What stands on standard input: it can be read once, and is asked for again to show its lines."""
    return sys.stdin.buffer.read(LARGEST + 1)


@record
class InputFile:
    """``patch_of`` is the kustomization that lists it as a patch; ``in_kustomization`` that one lies beside it."""

    path: str
    data: bytes
    patch_of: str = ""
    in_kustomization: bool = False
    unrendered: bool = False
    """A kustomization builds on it: labels, selectors and names may be added before it is applied."""
    rendering: KustomizeRendering | ChartRendering | None = None
    """``data`` is no file's: a tool has made it, and this knows from what."""


@record
class Applied:
    """What is told of kustomizations, by the real path of their files, and the files that need not be read for it.

    ``folders`` holds those whose kustomization was rendered, by their real paths.
    """

    instead: dict[str, tuple[InputFile | Skipped | InputError, ...]] = field(default_factory=dict)
    consumed: frozenset[str] = frozenset()
    folders: frozenset[str] = frozenset()


def amount_to(found: Iterable[object], size: int) -> bool:
    """Whether the files among what was found hold so many bytes together."""
    held = 0
    for item in found:
        if isinstance(item, InputFile):
            held += len(item.data)
            if held >= size:
                return True
    return False
