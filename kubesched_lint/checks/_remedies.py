"""Remedies that several rules share: each says what to change in an object, never how that is written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.cluster.nodeset import NodeSet
from kubesched_lint.findings import Path, Source
from kubesched_lint.manifests.changes import Append, Change, Put, Remove, Rename
from kubesched_lint.manifests.classify import value_at
from kubesched_lint.model.node import ARCH, HOSTNAME, OS, Node, Taint, stable_key
from kubesched_lint.model.pod import PodAffinityTerm, Toleration
from kubesched_lint.model.workload import Workload
from kubesched_lint.text import is_slip, joined
from kubesched_lint.world.pod_labels import revision_label
from kubesched_lint.world.world import Member

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_HARD, _SOFT = "DoNotSchedule", "ScheduleAnyway"
_BEHIND = ("affinity", "nodeSelector", "tolerations")
_BEFORE_TEMPLATE = ("replicas", "selector", "revisionHistoryLimit", "minReadySeconds")


def written_at(source: Source | None, at: Path) -> Any:
    """Return the value at a path of a document; None where nothing is written."""
    return value_at(getattr(source, "value", None), at)


def spell_as_nodes_do(workload: Workload, at: Path, nodes: Sequence[Node]) -> Iterator[Remedy]:
    """Correct the value, or else the key, of the nodeSelector entry or expression at ``at``.

    Safe if only case or punctuation is wrong: as written, no pod runs.
    """
    from kubesched_lint.analysis.nearest import nearest_key, nearest_name

    condition = written_at(workload.source, at)
    if isinstance(condition, str) and at[-2:-1] == ("nodeSelector",):
        key, value = str(at[-1]), condition
        here: Path = at
    elif isinstance(condition, dict) and condition.get("operator") == "In" and len(condition.get("values") or ()) == 1:
        key, value = str(condition.get("key")), str(condition["values"][0])
        here = (*at, "values", 0)
    else:
        return
    if stable_key(key) in (ARCH, OS):
        return  # another architecture is another program
    values = {node.labels[key] for node in nodes if key in node.labels}
    if values:
        nearest = nearest_name(value, values)
        if nearest:
            yield Remedy(f"write {key}: {nearest}, as nodes have it", is_slip(value, nearest), (Put(here, nearest),))
        return
    nearest = nearest_key(key, nodes)
    if nearest and any(node.labels.get(nearest) == value for node in nodes):
        renamed: Change = Rename(at, nearest) if here == at else Put((*at, "key"), nearest)
        yield Remedy(f"write {nearest}: {value}, as nodes have it", is_slip(key, nearest), (renamed,))


def select_by_label(it: Member, *, never_runs: bool) -> Iterator[Remedy]:
    """Replace nodeName by a nodeSelector. Safe if no pod runs as written and the node is known to carry the label."""
    pod = it.workload.pod
    node = it.world.index.positions.get(pod.node_name) if it.world.cluster is not None else None
    label = None if node is None else it.world.index.nodes[node].labels.get(HOSTNAME)
    if it.world.cluster is not None and label is None:
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
    from kubesched_lint.world.room import taint_sets_in_the_way  # which only a set beside nodes needs

    for taints in taint_sets_in_the_way(it, nodes):
        changes = tuple(_toleration(it.workload, taint) for taint in taints)
        yield Remedy(f"tolerate {joined([str(taint) for taint in taints])}", safe=False, changes=changes)


def _toleration(workload: Workload, taint: Taint) -> Change:
    wanted = {"key": taint.key, "operator": "Equal" if taint.value else "Exists"}
    if taint.value:
        wanted["value"] = taint.value
    at = (*workload.pod.path, "tolerations")
    return Append(at, {**wanted, "effect": taint.effect}, after=("nodeSelector", "affinity"))


def make_preferred(workload: Workload, *terms: Path) -> Iterator[Remedy]:
    """Turn the required terms at these paths (of one list) into preferences of weight 100."""
    pairs = [(at, written_at(workload.source, at)) for at in terms]
    if not pairs or not all(isinstance(term, dict) and at[-2] == _REQUIRED for at, term in pairs):
        return
    what = terms[0][-3]
    added = (
        Append((*at[:-2], _PREFERRED), {"weight": 100, "podAffinityTerm": term}, after=(_REQUIRED,))
        for at, term in pairs
    )
    gone = (Remove(at) for at in sorted(terms, key=lambda at: -int(at[-1])))
    yield Remedy(f"make the {what} preferred (weight 100)", safe=False, changes=(*added, *gone))


def _constraint(workload: Workload, key: str, when: str, selector: Any) -> dict[str, Any]:
    """Return a constraint over ``key``; for a Deployment it counts each revision separately."""
    found = {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": when, "labelSelector": selector}
    if workload.kind == "Deployment" and (label := revision_label(workload)):
        found["matchLabelKeys"] = [label]
    return found


def count_revisions_apart(workload: Workload, at: Path) -> tuple[Change, ...]:
    """Return changes that keep a rollout even after the constraint at ``at`` counts the pods of a Deployment."""
    has_keys = any(c.path == at and c.match_label_keys for c in workload.pod.spread)
    label = revision_label(workload)
    if workload.kind != "Deployment" or has_keys or not label:
        return ()
    return (Append((*at, "matchLabelKeys"), label, after=("labelSelector",)),)


def own_selector(workload: Workload) -> dict[str, Any] | None:
    """Return the workload's own selector as it is written; None without one."""
    found = written_at(workload.source, ("spec", "selector"))
    return found if isinstance(found, dict) and found and workload.kind != "Job" else None


def _added(workload: Workload, key: str, when: str, selector: Any) -> Append:
    at = (*workload.pod.path, "topologySpreadConstraints")
    return Append(at, _constraint(workload, key, when, selector), after=_BEHIND)


def spread_instead(workload: Workload, at: Path, *, hard: bool) -> Iterator[Remedy]:
    """Replace the anti-affinity term at ``at``, required or weighted, by a spread constraint."""
    pod = workload.pod
    terms = {term.path: term for term in pod.required_anti_affinity}
    terms |= {weighted.path: weighted.term for weighted in pod.preferred_anti_affinity}
    term = terms.get(at)
    if term is None or _looks_elsewhere(term, workload):
        return
    selector = written_at(workload.source, (*term.path, "labelSelector"))
    if not isinstance(selector, dict):
        return
    when = _HARD if hard else _SOFT
    changes: tuple[Change, ...] = (Remove(at),)
    if not any(c.topology_key == term.topology_key and c.when_unsatisfiable == when for c in pod.spread):
        changes = (_added(workload, term.topology_key, when, selector), *changes)
    yield Remedy(
        f"spread over {term.topology_key} with maxSkew 1 ({when}) in the place of the anti-affinity",
        safe=False,
        changes=changes,
    )


def _looks_elsewhere(term: PodAffinityTerm, workload: Workload) -> bool:
    """Whether the term selects other namespaces, which a spread constraint cannot count."""
    return term.namespace_selector is not None or any(name != workload.namespace for name in term.namespaces)


def schedule_anyway(workload: Workload, at: Path) -> Remedy:
    """Make the hard constraint at ``at`` soft, without minDomains, which only hard ones may have."""
    changes: tuple[Change, ...] = (Put((*at, "whenUnsatisfiable"), _SOFT),)
    if written_at(workload.source, (*at, "minDomains")) is not None:
        changes = (*changes, Remove((*at, "minDomains")))
    return Remedy("use whenUnsatisfiable: ScheduleAnyway", False, changes)


def spread_over(it: Member, *keys: str) -> Iterator[Remedy]:
    """Add soft constraints over the keys to a workload that has none."""
    selector = own_selector(it.workload)
    if selector is not None:
        yield Remedy(
            f"spread over {' and '.join(keys)} (ScheduleAnyway)",
            safe=False,
            changes=tuple(_added(it.workload, key, _SOFT, selector) for key in keys),
        )


def count_by_revision(workload: Workload, term: Path) -> Iterator[Remedy]:
    """Let the spread constraint or (anti-)affinity term at ``term`` count each revision separately.

    Nothing for a custom resource whose card names no label of a revision.
    """
    if label := revision_label(workload):
        title = f"add matchLabelKeys: [{label}], so that each revision counts by itself"
        yield Remedy(title, safe=True, changes=(Append((*term, "matchLabelKeys"), label, after=("labelSelector",)),))


def roll_without_surge(it: Member) -> Remedy:
    """Delete an old pod before its successor comes. Safe if some replica stays and the manifest does not need all."""
    at = (*it.workload.strategy.path, "rollingUpdate")
    scaler = it.autoscaler
    least = it.workload.replicas if scaler is None else scaler.min_replicas
    none_may_go = written_at(it.workload.source, (*at, "maxUnavailable")) in (0, "0", "0%")
    return Remedy(
        "set maxSurge: 0 and maxUnavailable: 1, so that an old pod makes room first",
        safe=it.workload.kind == "Deployment" and least > 1 and not none_may_go,
        changes=(
            Put((*at, "maxSurge"), 0, after=_BEFORE_TEMPLATE),
            Put((*at, "maxUnavailable"), 1, after=_BEFORE_TEMPLATE),
        ),
        source=it.workload.source,
    )


def use_recreate(workload: Workload) -> Remedy:
    """Delete all old pods before new ones come, and drop ``rollingUpdate``. Never safe: none runs then."""
    at = workload.strategy.path
    has_bounds = written_at(workload.source, (*at, "rollingUpdate")) is not None
    change = Put((*at, "type"), "Recreate", after=_BEFORE_TEMPLATE)
    return Remedy(
        "use strategy type Recreate, so that the old pod lets go of the claim first",
        safe=False,
        changes=(change, Remove((*at, "rollingUpdate"))) if has_bounds else (change,),
    )
