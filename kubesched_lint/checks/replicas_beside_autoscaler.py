"""A manifest sets the replicas that an autoscaler chooses: each apply undoes what it chose."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.remedies.remedy import written_at
from kubesched_lint.findings import Hazard, Place, pattern

_REPLICAS: Path = ("spec", "replicas")


def check(it: Member) -> Iterator[Hazard]:
    scaler, replicas = it.autoscaler, written_at(it.workload.source, _REPLICAS)
    if scaler is None or not isinstance(replicas, int) or it.workload.custom is not None:
        return
    name = f"{scaler.kind} {scaler.name}"
    yield Hazard(
        at=_REPLICAS,
        evidence=pattern(f"replicas: {replicas} beside {name}"),
        values={"replicas": replicas, "scaler": name},
        related=(
            () if scaler.source is None else (Place(("metadata", "name"), "chooses the replicas", scaler.source),)
        ),
    )
