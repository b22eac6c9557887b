"""A toleration for an exact taint that no node has."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.nearest import hint, nearest_taint
from kubesched_lint.analysis.well_known import meant_taint
from kubesched_lint.findings import Hazard, pattern
from kubesched_lint.model.workload import Workload

_OF_THE_SYSTEM = ("node.kubernetes.io/", "node-role.kubernetes.io/", "node.cloudprovider.kubernetes.io/")


def check(workload: Workload, facts: Facts) -> Iterator[Hazard]:
    for toleration in workload.pod.tolerations:
        meant = meant_taint(toleration.key)
        if meant and not any(t.key == toleration.key for t in facts.index.taints):
            yield Hazard(
                at=(*toleration.path, "key"),
                evidence=pattern(f"0 nodes have a taint {toleration.key}; it reads like {meant}"),
                values={"key": toleration.key, "meant": meant},
                variant="misspelt",
            )
            continue
        if not toleration.key or toleration.operator != "Equal" or toleration.key.startswith(_OF_THE_SYSTEM):
            continue
        if any(
            t.key == toleration.key and t.value == toleration.value and toleration.effect in ("", t.effect)
            for t in facts.index.taints
        ):
            continue
        near = nearest_taint(toleration, facts.index.taints)
        if not near:
            continue  # a toleration for nodes of another cluster harms nobody; one that is nearly right was meant
        wanted = f"{toleration.key}={toleration.value}:{toleration.effect or '*'}"
        yield Hazard(
            at=toleration.path,
            evidence=pattern(f"0 nodes have {wanted}; {near}"),
            values={"wanted": wanted, "nearest": hint(near)},
        )
