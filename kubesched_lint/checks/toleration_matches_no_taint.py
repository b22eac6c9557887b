"""A toleration for an exact taint that no node has."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.nearest import hint, nearest_name, nearest_taint
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.analysis.well_known import corrected_taint
from kubesched_lint.checks._remedies import written_at
from kubesched_lint.findings import Hazard, pattern
from kubesched_lint.manifests.changes import Put
from kubesched_lint.world.world import Member

_OF_THE_SYSTEM = ("node.kubernetes.io/", "node-role.kubernetes.io/", "node.cloudprovider.kubernetes.io/")


def check(it: Member) -> Iterator[Hazard]:
    tolerated = {toleration.key for toleration in it.workload.pod.tolerations}
    for toleration in it.workload.pod.tolerations:
        corrected = corrected_taint(toleration.key)
        if corrected in tolerated:
            continue  # both spellings: nothing is missing, and distributions that name the taint differently are served
        if corrected and not any(t.key == toleration.key for t in it.world.index.taints):
            yield Hazard(
                at=(*toleration.path, "key"),
                evidence=pattern(f"0 nodes have a taint {toleration.key}; it reads like {corrected}"),
                values={"key": toleration.key, "meant": corrected},
                variant="misspelt",
            )
            continue
        if not toleration.key or toleration.operator != "Equal" or toleration.key.startswith(_OF_THE_SYSTEM):
            continue
        if any(
            t.key == toleration.key and t.value == toleration.value and toleration.effect in ("", t.effect)
            for t in it.world.index.taints
        ):
            continue
        near = nearest_taint(toleration, it.world.index.taints, it.world.today)
        if not near:
            continue  # a toleration for nodes of another cluster does no harm; only an almost correct one is a mistake
        wanted = f"{toleration.key}={toleration.value}:{toleration.effect or '*'}"
        yield Hazard(
            at=toleration.path,
            evidence=pattern(f"0 nodes have {wanted}; {near}"),
            values={"wanted": wanted, "nearest": hint(near)},
        )


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Write the taint as nodes have it."""
    if hazard.variant == "misspelt":
        corrected = str(hazard.values["meant"])
        yield Remedy(f"tolerate {corrected}", safe=False, changes=(Put(hazard.at, corrected),))
        return
    toleration = next(t for t in it.workload.pod.tolerations if t.path == hazard.at)
    key = nearest_name(toleration.key, (t.key for t in it.world.index.taints))
    taint = next((t for t in it.world.index.taints if t.key == key), None)
    if taint is None or not taint.value:
        return
    wanted = {"key": taint.key, "value": taint.value, **({"effect": taint.effect} if toleration.effect else {})}
    changes = tuple(
        Put((*hazard.at, field), value)
        for field, value in wanted.items()
        if written_at(it.workload.source, (*hazard.at, field)) != value
    )
    yield Remedy(f"tolerate {taint}, as nodes have it", safe=False, changes=changes)
