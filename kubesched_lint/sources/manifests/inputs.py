"""Input files with their bytes, and the results that replace kustomizations."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct, field

from kubesched_lint.findings import InputError
from kubesched_lint.sources.manifests.document import Delivery, Skipped
from kubesched_lint.sources.manifests.limits import LARGEST as LARGEST

if TYPE_CHECKING:
    from kubesched_lint.sources.manifests.filling import Filling, Homing
    from kubesched_lint.sources.manifests.rendered.charts import ChartRendering
    from kubesched_lint.sources.manifests.rendered.provenance import KustomizeRendering

SUFFIXES = (".yaml", ".yml", ".json")
KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")
STDIN = "<stdin>"
Progress = Callable[[str, int, int], None]
"""Callback: the current activity, how many are done, the total."""


@cache
def standard_input() -> bytes:
    """Return the bytes of standard input.

    Cached, because it can be read only once and a report shows its lines again.
    """
    return sys.stdin.buffer.read(LARGEST + 1)


class InputFile(Struct, frozen=True):
    """A file to read.

    ``patch_of`` is the kustomization that lists it as a patch; ``in_kustomization``: a kustomization lies beside it.
    """

    path: str
    data: bytes
    patch_of: str = ""
    in_kustomization: bool = False
    unrendered: bool = False
    """A kustomization builds on it: labels, selectors and names may be added before it is applied."""
    rendering: KustomizeRendering | ChartRendering | None = None
    """The rendering that produced ``data``; None for the bytes of a file."""
    filling: Filling | Homing | None = None
    """What Flux or Argo CD fill in in its documents; None if nothing."""
    delivered_by: Delivery | None = None
    """Which of their objects applies it."""
    real: str = ""
    """The path without links of the file, from which its documents are read again; empty if they must be kept."""
    is_named: bool = False
    """A person named the file: what cannot be read of it is an error, even if it names no apiVersion and kind."""


Input = InputFile | Skipped | InputError
"""What a search for manifests yields: a file, or why something is none or cannot be read."""


def too_large(path: str) -> InputError:
    """Return the problem of a file with more than LARGEST bytes."""
    return InputError(path, f"larger than {LARGEST >> 20} MiB; an object that Kubernetes accepts is far smaller")


class Applied(Struct, frozen=True):
    """The results that replace kustomizations, by the real path of their files, and the files that need not be read.

    ``folders`` holds the real paths of the folders whose kustomization was rendered.
    """

    instead: dict[str, tuple[InputFile | Skipped | InputError, ...]] = field(default_factory=dict)
    consumed: frozenset[str] = frozenset()
    folders: frozenset[str] = frozenset()


def amount_to(files: Iterable[object], size: int) -> bool:
    """Return whether the files together hold at least ``size`` bytes."""
    held = 0
    for item in files:
        if isinstance(item, InputFile):
            held += len(item.data)
            if held >= size:
                return True
    return False
