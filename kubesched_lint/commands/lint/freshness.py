"""Whether a snapshot is fresh enough to judge by: ``--max-age``."""

from __future__ import annotations

from datetime import UTC, datetime

from kubesched_lint.cluster.cluster import Cluster
from kubesched_lint.findings import InputError, Report
from kubesched_lint.record import replace
from kubesched_lint.text import seconds_of


def judged_now(report: Report, cluster: Cluster | None, max_age: str | None, version: str) -> Report:
    """Return the report as ``with_freshness`` does at this moment; unchanged without a limit or a cluster."""
    if not max_age or cluster is None:
        return report
    return with_freshness(report, cluster, max_age, version, datetime.now(UTC))


def with_freshness(report: Report, cluster: Cluster, max_age: str, version: str, now: datetime) -> Report:
    """Return the report with an error for a snapshot older than ``max_age`` at ``now`` (timezone-aware).

    A note says that the age is unknown, or that the snapshot is from another Kubernetes minor than ``version``.
    """
    age = _age(cluster.captured_at, now)
    limit = seconds_of(max_age)
    if age is not None and limit is not None and age > limit:
        found = "captured" if cluster.origin == "snapshot" else "its newest entry is from"
        message = f"{found} {cluster.captured_at}: older than --max-age {max_age}; capture the cluster again"
        report = replace(report, errors=(*report.errors, InputError(cluster.path, message)))
    notes = []
    if age is None:
        notes.append("--max-age says nothing, because the file of the cluster has no date (capturedAt)")
    minor = ".".join(cluster.version.removeprefix("v").split(".")[:2])
    if minor and minor != version:
        notes.append(f"{cluster.path} is from Kubernetes {minor}, the rules judge by {version} (--kubernetes-version)")
    return replace(report, summary=replace(report.summary, notes=(*report.summary.notes, *notes)))


def _age(captured_at: str, now: datetime) -> float | None:
    """Return the age in seconds; None if the time is absent or not RFC 3339."""
    try:
        then = datetime.fromisoformat(captured_at)
    except ValueError:
        return None
    return (now - (then if then.tzinfo else then.replace(tzinfo=UTC))).total_seconds()
