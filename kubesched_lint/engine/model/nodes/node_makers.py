"""Objects whose controllers add labels or resources to nodes."""

from __future__ import annotations

from kubesched_lint.engine.base.partly_compared import Distinct
from kubesched_lint.engine.base.places import Source


class NodeMaker(Distinct, frozen=True):
    """An object that tells a controller to add something to nodes: a NodeFeatureRule, a device plugin's resource.

    ``labels`` and ``resources`` are names, or prefixes if they end with ``/``.
    """

    system: str
    """Its kind."""
    name: str
    labels: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    source: Source | None = None

    def __str__(self) -> str:
        return f"{self.system} {self.name}"
