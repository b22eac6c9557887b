"""Capture a live cluster as a snapshot of what scheduling reads. No other folder connects to a cluster.

Read ``snapshot``, then ``lists`` and ``connection``.
"""

from __future__ import annotations

from kubesched_lint.sources.capture.connection import CaptureError, Connection
from kubesched_lint.sources.capture.kubeconfig import connect
from kubesched_lint.sources.capture.snapshot import Snapshot, capture

__all__ = ["CaptureError", "Connection", "Snapshot", "capture", "connect"]
