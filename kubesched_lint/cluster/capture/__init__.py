"""A live cluster becomes a snapshot: what scheduling reads of it. Nowhere else is a cluster talked to."""

from __future__ import annotations

from kubesched_lint.cluster.capture.connection import CaptureError, Connection
from kubesched_lint.cluster.capture.kubeconfig import connect
from kubesched_lint.cluster.capture.snapshot import Snapshot, capture

__all__ = ["CaptureError", "Connection", "Snapshot", "capture", "connect"]
