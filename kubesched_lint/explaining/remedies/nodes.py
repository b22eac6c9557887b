"""Remedies for pods that find no node: its labels, its taints, its name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.base.text import is_slip, joined
from kubesched_lint.engine.cluster.nodeset import NodeSet
from kubesched_lint.engine.model.nodes.node import ARCH, HOSTNAME, OS, Node, Taint, stable_key
from kubesched_lint.engine.model.pod import Toleration
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.scenario.others.room import taint_sets_in_the_way
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.near_misses.nearest import NEW_ROLES, nearest_key, nearest_name
from kubesched_lint.explaining.remedies.remedy import Remedy, written_at
from kubesched_lint.sources.manifests.changes import Append, Change, Put, Remove, Rename


def spell_as_nodes_do(workload: Workload, at: Path, nodes: Sequence[Node]) -> Iterator[Remedy]:
    """Correct the value, or else the key, of the nodeSelector entry or expression at ``at``.

    Safe if only case or punctuation is wrong, or if Kubernetes renamed the label: as written, no pod runs.
    """
    condition = written_at(workload.source, at)
    if isinstance(condition, str) and at[-2:-1] == ("nodeSelector",):
        key, value = str(at[-1]), condition
        value_path: Path = at
    elif isinstance(condition, dict) and condition.get("operator") == "In" and len(condition.get("values") or ()) == 1:
        key, value = str(condition.get("key")), str(condition["values"][0])
        value_path = (*at, "values", 0)
    else:
        return
    if stable_key(key) in (ARCH, OS):
        return  # another architecture is another program
    values = {node.labels[key] for node in nodes if key in node.labels}
    if values:
        nearest = nearest_name(value, values)
        if nearest:
            yield Remedy(
                f"write {key}: {nearest}, as nodes have it", is_slip(value, nearest), (Put(value_path, nearest),)
            )
        return
    nearest = nearest_key(key, nodes)
    if nearest and any(node.labels.get(nearest) == value for node in nodes):
        renamed: Change = Rename(at, nearest) if value_path == at else Put((*at, "key"), nearest)
        safe = is_slip(key, nearest) or NEW_ROLES.get(key) == nearest
        changes = (renamed, *_tolerations_renamed(workload, key, nearest))
        yield Remedy(f"write {nearest}: {value}, as nodes have it", safe, changes)


def _tolerations_renamed(workload: Workload, old: str, new: str) -> Iterator[Change]:
    """Add a toleration of the renamed taint beside each of the old one, which older nodes may still have."""
    tolerations = workload.pod.tolerations
    if NEW_ROLES.get(old) == new and not any(toleration.key == new for toleration in tolerations):
        for toleration in tolerations:
            written = written_at(workload.source, toleration.path) if toleration.key == old else None
            if isinstance(written, dict):
                yield Append((*workload.pod.path, "tolerations"), {**written, "key": new})


def select_by_label(it: Member, *, never_runs: bool) -> Iterator[Remedy]:
    """Replace nodeName by a nodeSelector. Safe if no pod runs as written and the node is known to carry the label."""
    pod = it.workload.pod
    node = it.scenario.index.positions.get(pod.node_name) if it.scenario.cluster is not None else None
    label = None if node is None else it.scenario.index.nodes[node].labels.get(HOSTNAME)
    if it.scenario.cluster is not None and label is None:
        return
    yield Remedy(
        f"select the node by its label {HOSTNAME}",
        safe=never_runs and label is not None,
        changes=(
            Put((*pod.path, "nodeSelector", HOSTNAME), label or pod.node_name, after=("nodeName",)),
            Remove((*pod.path, "nodeName")),
        ),
    )


def tolerate_as_written(workload: Workload, toleration: Toleration, taint: Taint) -> Iterator[Remedy]:
    """Correct a toleration so that it matches a taint of the nodes."""
    if not taint.value:
        return
    wanted = {"key": taint.key, "value": taint.value, **({"effect": taint.effect} if toleration.effect else {})}
    changes = tuple(
        Put((*toleration.path, field), value)
        for field, value in wanted.items()
        if written_at(workload.source, (*toleration.path, field)) != value
    )
    yield Remedy(f"tolerate {taint}, as nodes have it", safe=False, changes=changes)


def tolerate(it: Member, nodes: NodeSet) -> Iterator[Remedy]:
    """Tolerate the taints of ``nodes``, all of a node at once. Never safe: somebody set them to keep pods away."""
    for taints in taint_sets_in_the_way(it, nodes):
        changes = tuple(_toleration(it.workload, taint) for taint in taints)
        yield Remedy(f"tolerate {joined([str(taint) for taint in taints])}", safe=False, changes=changes)


def _toleration(workload: Workload, taint: Taint) -> Change:
    wanted = {"key": taint.key, "operator": "Equal" if taint.value else "Exists"}
    if taint.value:
        wanted["value"] = taint.value
    at = (*workload.pod.path, "tolerations")
    return Append(at, {**wanted, "effect": taint.effect}, after=("nodeSelector", "affinity"))
