"""Whether a snapshot is fresh enough to judge by: ``--max-age``."""

from __future__ import annotations

from datetime import UTC, datetime

from msgspec.structs import replace

from kubesched_lint.clock import now
from kubesched_lint.engine.base.text import seconds_of
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.cluster.nodes.skew import minor_note
from kubesched_lint.findings import InputError, Report


def judged_now(report: Report, cluster: Cluster | None, max_age: str | None, version: str) -> Report:
    """Return the report as ``with_freshness`` does at this moment; unchanged without a limit or a cluster."""
    if not max_age or cluster is None:
        return report
    return with_freshness(report, cluster, max_age, version, now())


def with_freshness(report: Report, cluster: Cluster, max_age: str, version: str, now: datetime) -> Report:
    """Return the report with an error for a snapshot older than ``max_age`` at ``now`` (timezone-aware).

    Kubelets newer than the API server are an error, too. Notes say that the age is unknown, or that
    the snapshot is from another Kubernetes minor than ``version``.
    """
    age = _age(cluster.captured_at, now)
    limit = seconds_of(max_age)
    problems = [cluster.skew] if cluster.skew else []
    if age is not None and limit is not None and age > limit:
        origin = "captured" if cluster.origin == "snapshot" else "its newest entry is from"
        problems.append(f"{origin} {cluster.captured_at}: older than --max-age {max_age}")
    errors = [InputError(cluster.path, f"{problem}; capture the cluster again") for problem in problems]
    notes = [note for note in report.summary.notes if note != cluster.skew]
    if age is None:
        notes.append("--max-age says nothing, because the file of the cluster has no date (capturedAt)")
    notes += minor_note(cluster.version, cluster.inventory.nodes, version)
    return replace(report, errors=(*report.errors, *errors), summary=replace(report.summary, notes=tuple(notes)))


def _age(captured_at: str, now: datetime) -> float | None:
    """Return the age in seconds; None if the time is absent or not RFC 3339."""
    try:
        then = datetime.fromisoformat(captured_at)
    except ValueError:
        return None
    return (now - (then if then.tzinfo else then.replace(tzinfo=UTC))).total_seconds()
