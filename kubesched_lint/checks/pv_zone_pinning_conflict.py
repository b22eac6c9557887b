"""The volume is where the pod may not run."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.base.errors import UncheckedError
from kubesched_lint.engine.model.nodes.node import ZONE
from kubesched_lint.engine.scenario.nodes.unknown_nodes import unknown_host
from kubesched_lint.engine.scenario.premises.premises import node_premises, none_of_nodes
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.engine.scenario.storage.claims import bound_volume, nodes_of_volume
from kubesched_lint.explaining.volumes.volume_conflicts import excluding_label, excluding_line
from kubesched_lint.findings import Hazard, Place, proof


def check(it: Member) -> Iterator[Hazard]:
    usable = it.usable
    if not usable or it.workload.kind == "DaemonSet":
        return
    for volume in it.workload.pod.volumes:
        if volume.kind != "persistentVolumeClaim":
            continue
        bound = bound_volume(it.scenario, it.workload.namespace, volume.claim)
        if bound is None:
            continue
        where = nodes_of_volume(it, volume)
        if where & usable:
            continue
        terms = bound.node_terms or ()
        host = unknown_host((r for t in terms for r in t.expressions), it.scenario)
        if host:
            raise UncheckedError(f"volume {bound.name} is on {host}, and the sketch makes up the names of its nodes")
        label = excluding_label(it, bound)
        is_lost = not label and bool(terms) and not it.scenario.index.matching({}, terms)
        labels = tuple(dict.fromkeys(f"{r.key}={v}" for t in terms for r in t.expressions for v in r.values))
        theirs = tuple(z for z, nodes in it.scenario.index.domains(ZONE).items() if nodes & usable)
        line = excluding_line(it, volume)
        pins = tuple(v for t in terms for r in t.expressions for v in r.values)
        yield Hazard(
            at=(*volume.path, "claimName"),
            evidence=proof(
                f"{none_of_nodes(it.scenario, usable)} open to the pod reaches volume {bound.name}",
                demand=1,
                supply=0,
                assumes=node_premises(it),
            ),
            values={
                "claim": volume.claim,
                "volume": bound.name,
                "label": label,
                "labels": labels or "what its node affinity names",
                "pins": pins or bound.labels.get(ZONE, "elsewhere"),
                "theirs": theirs or it.scenario.names(usable),
                "replicas": it.replicas,
                "pending": it.replicas,
            },
            related=() if line is None else (Place(line, "which excludes it"),),
            cause=" ".join(labels) if is_lost else "",
            variant="lost" if is_lost else "label" if label else "default",
        )
