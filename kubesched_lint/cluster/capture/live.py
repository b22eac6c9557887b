"""A cluster that is asked itself, without a file between."""

from __future__ import annotations

from kubesched_lint.cluster.capture.connection import CaptureError
from kubesched_lint.cluster.capture.kubeconfig import connect
from kubesched_lint.cluster.capture.snapshot import capture
from kubesched_lint.cluster.cluster import Cluster, ClusterError


def live_cluster(name: str, context: str | None, *, elastic: bool | None = None) -> Cluster:
    """``context`` None: the current one of the kubeconfig. ``name`` is what reports call it. Raises ClusterError."""
    try:
        found = capture(connect(context), now())
    except CaptureError as error:
        raise ClusterError(name, 0, 0, str(error)) from None
    if found.failures:
        why = "; ".join(found.failures[:3])
        raise ClusterError(name, 0, 0, f"{why}. `kubesched-lint snapshot --allow-gaps` makes a file without that")
    return found.cluster(name, elastic=elastic)


def now() -> str:
    """RFC 3339."""
    from datetime import UTC, datetime

    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
