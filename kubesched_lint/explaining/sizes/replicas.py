"""The lines that say how many pods a workload wants."""

from __future__ import annotations

from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.base.text import many
from kubesched_lint.engine.model.policy import Autoscaler
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.findings import Place


def line_of_replicas(workload: Workload) -> Path:
    """Return the line that sets how many pods there are; the name of a DaemonSet, which has no such line."""
    return workload.replicas_path if workload.kind != "DaemonSet" else ("metadata", "name")


def replicas_wanted_here(it: Member) -> Place:
    """Return the line that sets the replicas, with its label, which says why another number is wanted."""
    if it.replicas == it.workload.replicas:
        return Place(it.workload.replicas_path, f"{many(it.replicas, 'replica')} wanted here")
    instead = f", not {it.workload.replicas:,}" if it.workload.replicas_written else ""
    return Place(it.workload.replicas_path, f"{many(it.replicas, 'replica')} wanted{instead}{_what_sets_them(it)}")


def _what_sets_them(it: Member) -> str:
    """Return the bound of the autoscaler that sets the number of replicas, else the running pods."""
    scaler = it.autoscaler
    if scaler is not None:
        for bound, count in zip(scaler.bounds, (scaler.max_replicas, scaler.min_replicas), strict=True):
            if it.replicas == count:
                return f": {bound} of {scaler.kind} {scaler.name} is {count:,}"
    return ", as many as run"


def run_fewer(workload: Workload, most: int, condition: str) -> str:
    """Return ``run at most 2 replicas, `` with what their rollout needs, for a help.

    Empty if not even one may run, and for kinds whose pods no number of replicas decides. ``condition`` is that of
    ``rollout_condition``.
    """
    if most < 1 or workload.kind in _WITHOUT_REPLICAS:
        return ""
    return f"run at most {many(most, 'replica')}{condition}, "


_WITHOUT_REPLICAS = ("Pod", "DaemonSet", "Job", "CronJob")


def scaling_values(scaler: Autoscaler, supply: int) -> dict[str, object]:
    """Return what a message says of an autoscaler that may ask for more than ``supply`` pods."""
    most = scaler.max_replicas
    return {
        "bound": scaler.bounds[0],
        "maximum": most,
        "pending": most - supply,
        "supply": supply,
        "scaler": f"{scaler.kind} {scaler.name}",
    }


def places_that_scale(scaler: Autoscaler, supply: int) -> tuple[Place, ...]:
    """Return the lines that ask for more than ``supply`` pods: the maximum, and the windows of cron triggers."""
    if scaler.source is None:
        return ()
    is_written = scaler.path != ("spec",)
    most = Place(
        scaler.path, "the maximum" if is_written else f"the maximum of {scaler.max_replicas} by default", scaler.source
    )
    windows = (window for window in scaler.windows if supply < window.replicas)
    wanted = (
        Place(w.path, f"{many(w.replicas, 'replica')} wanted from {w.start!r} to {w.end!r}", scaler.source)
        for w in windows
    )
    return (most, *wanted)
