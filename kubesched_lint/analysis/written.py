"""What a manifest says in so many words, and what only a default fills in."""

from __future__ import annotations

from kubesched_lint.findings import Path
from kubesched_lint.model.workload import Workload


def is_written(workload: Workload, path: Path) -> bool:
    """Whether the text has a value at ``path``: a source answers for an absent one with the span of its parent."""
    source = workload.source
    return source is not None and source.span(path) != source.span(path[:-1])
