"""A toleration for an exact taint that no node has."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.engine.scheduler.tolerance import tolerates_any
from kubesched_lint.explaining.near_misses.meant_taints import meant_taint
from kubesched_lint.explaining.near_misses.nearest import hint, nodes_with
from kubesched_lint.explaining.near_misses.well_known import corrected_taint
from kubesched_lint.explaining.remedies.nodes import tolerate_as_written
from kubesched_lint.explaining.remedies.remedy import Remedy
from kubesched_lint.findings import Hazard, pattern
from kubesched_lint.sources.manifests.changes import Put

_OF_THE_SYSTEM = ("node.kubernetes.io/", "node-role.kubernetes.io/", "node.cloudprovider.kubernetes.io/")


def check(it: Member) -> Iterator[Hazard]:
    tolerated = {toleration.key for toleration in it.workload.pod.tolerations}
    for toleration in it.workload.pod.tolerations:
        corrected = corrected_taint(toleration.key)
        if corrected in tolerated:
            continue  # both spellings: nothing is missing, and distributions that name the taint differently are served
        if corrected and not any(t.key == toleration.key for t in it.scenario.index.taints):
            yield Hazard(
                at=(*toleration.path, "key"),
                evidence=pattern(f"0 nodes have a taint {toleration.key}; it reads like {corrected}"),
                values={"key": toleration.key, "meant": corrected},
                cause=toleration.key,
                variant="misspelt",
            )
            continue
        meant = None if toleration.key.startswith(_OF_THE_SYSTEM) else meant_taint(toleration, it.scenario)
        if meant is None or tolerates_any(it.workload.pod.tolerations, meant):
            continue  # a toleration for nodes of another cluster does no harm; only an almost correct one is a mistake
        near = nodes_with(meant, it.scenario.index.taints, it.scenario.today)
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
    taint = meant_taint(toleration, it.scenario)
    if taint is not None:
        yield from tolerate_as_written(it.workload, toleration, taint)
