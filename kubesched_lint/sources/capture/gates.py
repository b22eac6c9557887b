"""The feature gates of an API server, from its metrics and from the APIs that it serves; no other metric is kept."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping

from kubesched_lint.engine.model.feature_gates import GROUPS, READ, lacking
from kubesched_lint.sources.capture.answers import AnswerError
from kubesched_lint.sources.capture.connection import CaptureError, Connection

PATH = "/metrics"
_ENABLED = re.compile(rb'^kubernetes_feature_enabled\{name="([A-Za-z0-9]{1,80})",stage="[A-Z]{0,20}"\} ([01])$', re.M)
_WITHOUT_GROUPS = {"v1"}
"""The versions of scheduling.k8s.io that the API server serves also without ``GROUPS``."""


def feature_gates(connection: Connection, served: Mapping[str, tuple[str, ...]] | None) -> tuple[dict[str, bool], str]:
    """Return the gates of the API server that decide something here, and why the others are unknown, or ''.

    Mirrors component-base/metrics/prometheus/feature/metrics.go (``kubernetes_feature_enabled``).
    """
    shown = {GROUPS: True} if {*(served or {}).get("scheduling.k8s.io", ())} - _WITHOUT_GROUPS else {}
    try:
        answer = connection.get(PATH, deadline=time.monotonic() + connection.read_seconds)
    except (AnswerError, CaptureError):
        return shown, f"{PATH}: no answer that can be used"
    if answer.status != 200:
        return shown, f"{PATH}: {'forbidden ' if answer.status == 403 else ''}({answer.status})"
    told = {name.decode(): value == b"1" for name, value in _ENABLED.findall(answer.body)}
    if not told:
        return shown, f"{PATH} names no feature gates"
    gates = {**shown, **{name: on for name, on in sorted(told.items()) if name in READ}}
    return (shown, f"{PATH} contradicts itself") if lacking(gates) else (gates, "")
