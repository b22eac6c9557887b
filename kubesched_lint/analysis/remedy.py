"""What would mend a hazard: a change of one object, and whether it may be made without a person's eye."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubesched_lint.record import record

if TYPE_CHECKING:
    from kubesched_lint.findings import Source
    from kubesched_lint.manifests.changes import Change


@record
class Remedy:
    """``title`` is an imperative without a full stop: ``add matchLabelKeys: [pod-template-hash]``.

    ``safe``: it says what the manifest plainly means, and leaves no pod without a node that has one. What changes where
    pods may run, or what is promised of them, is not. ``changes`` are made one after the other, in the object of
    ``source``; None is the object that the finding is about. ``is_new``: the API server refuses the object as it is
    written, so there is none yet whose fields could not be changed any more.
    """

    title: str
    safe: bool
    changes: tuple[Change, ...]
    source: Source | None = None
    is_new: bool = False
