"""A cluster that is asked itself, without a file between."""

from __future__ import annotations

from kubesched_lint.cluster.capture.connection import CaptureError, connect
from kubesched_lint.cluster.capture.snapshot import capture
from kubesched_lint.cluster.cluster import Cluster, ClusterError


def live_cluster(name: str, context: str | None, *, elastic: bool | None = None) -> Cluster:
    """``context`` None: the current one of the kubeconfig. ``name`` is what reports call it. Raises ClusterError."""
    try:
        return capture(connect(context), now()).cluster(name, elastic=elastic)
    except CaptureError as error:
        raise ClusterError(name, 0, 0, str(error)) from None


def now() -> str:
    """RFC 3339."""
    from datetime import UTC, datetime

    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
