"""Compare our predictions with recorded lifecycles: the model's phase by phase, and those of ``lint`` and ``simulate``.

``engine.conformance`` replays a recording with the model alone. This module also converts the recording to recorded
deployments (docs/research/recordings.md), so that ``lint`` and ``simulate`` predict it as they do for a user.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from kubesched_lint.commands.verify.agreement import Agreement, Answer
from kubesched_lint.commands.verify.deployments import judge, predict
from kubesched_lint.commands.verify.recorded import Deployment
from kubesched_lint.engine.conformance import Compared, compare
from kubesched_lint.engine.model.nodes.node import ZONE
from kubesched_lint.engine.model.workloads.workload import KINDS

Recorded = Mapping[str, Any]
_HASH = "recorded"
"""Replaces the hash in the names and labels of objects that controllers create."""


def verify_lifecycle_both(
    case: Recorded, account: Agreement, version: str | None = None
) -> Iterator[dict[str, object]]:
    """Yield the predictions of the model for each phase, then those of ``lint`` and ``simulate``; add the answers."""
    yield from verify_lifecycle(case, account, version)
    yield from verify_lifecycle_sets(case, account, version)


def verify_lifecycle_sets(
    case: Recorded, account: Agreement, version: str | None = None
) -> Iterator[dict[str, object]]:
    """Yield predictions for the first deployment of a recorded lifecycle and the event after it; add the answers."""
    known: dict[str, Any] = {}
    for value in deployments_of(case):
        deployment = Deployment(value)
        inputs = json.dumps([value["files"], value["nodes"], value["before"]])
        if inputs not in known:
            known[inputs] = predict(deployment, version or str(case.get("kubernetes", "")))
            yield known[inputs].as_json(deployment.name)
        judge(deployment, known[inputs], account)


def deployments_of(case: Recorded) -> Iterator[dict[str, Any]]:
    """Yield recorded deployments: the first one of each run, and the second one if a step applies or scales."""
    files = {f"{number}.json": value for number, value in enumerate(case["objects"])}
    step = case["steps"][0] if case["steps"] else None
    event = _event(step, case["nodes"]) if step is not None else ""
    lost = step.get("lose", []) if step is not None else []
    for number, run in enumerate(case.get("runs", ())):
        first, second = run[0], run[1] if step is not None and len(run) > 1 else None
        record = {
            "id": f"{case['id']} run {number}",
            "files": {path: json.dumps(value) for path, value in files.items()},
            "nodes": case["nodes"],
            "before": [],
            "deploy": _phase(first),
        }
        if second is not None and (event or lost):
            record["event"] = {"event": event, "lost": lost, **_phase(second)}
        yield record
        if second is None or step is None or not first["quiescent"]:
            continue
        changed = _changed(case["objects"], step)
        runs = _running(case, first)
        if changed is not None and runs is not None:
            yield {
                "id": f"{case['id']} run {number} then {step['name']}",
                "files": {f"{n}.json": json.dumps(value) for n, value in enumerate(changed)},
                "nodes": case["nodes"],
                "before": runs,
                "deploy": _phase(second),
            }


def _event(step: Recorded, nodes: list[Recorded]) -> str:
    """Return the event (column of the matrix) of a step; empty if it is none."""
    if "drain" in step:
        return "drain"
    lost = set(step.get("lose", ()))
    if len(lost) == 1:
        return "node-loss"
    zones: dict[str, set[str]] = {}
    for node in nodes:
        labels = node["metadata"].get("labels", {})
        if ZONE in labels:
            zones.setdefault(labels[ZONE], set()).add(node["metadata"]["name"])
    return "zone-loss" if lost and lost in zones.values() else ""


def _phase(recorded: Recorded) -> dict[str, Any]:
    workloads = {}
    for name, value in recorded["workloads"].items():
        kind, _, own = name.partition("/")
        workloads[f"{kind} default/{own}"] = {
            "want": value["desired"] if kind == "DaemonSet" else value["replicas"],
            "bound": sum(value["bound"].values()),
            "pending": {f"Unschedulable: {message}": count for message, count in value["pending"].items()},
            "done": value.get("rollout") != "stuck",
            **({"updated": value["updated"]} if "updated" in value else {}),
            **({"old": value["old_pods"]} if value.get("old_pods") else {}),
        }
    return {"quiet": None if recorded["quiescent"] else "still moving", "workloads": workloads}


def _changed(objects: list[Recorded], step: Recorded) -> list[Recorded] | None:
    """Return the objects with the step applied; None for a step that applies nothing, or changes a StatefulSet.

    The record lacks the node of each StatefulSet pod, on which the order of their replacement depends.
    """
    if "apply" in step:
        new = step["apply"]
    elif "scale" in step:
        old = next((o for o in objects if _key(o) == (step["scale"]["kind"], step["scale"]["name"])), None)
        new = old and {**old, "spec": {**old["spec"], "replicas": step["scale"]["replicas"]}}
    else:
        return None
    if new is None or new["kind"] == "StatefulSet":
        return None
    return [new if _key(o) == _key(new) else o for o in objects]


def _key(value: Recorded) -> tuple[str, str]:
    return value["kind"], value["metadata"]["name"]


def _running(case: Recorded, phase: Recorded) -> list[dict[str, Any]] | None:
    """Return the objects of the cluster after a phase; None if the recording lacks some of them."""
    objects: list[dict[str, Any]] = []
    for value in case["objects"]:
        uid = f"{value['kind']}-{value['metadata']['name']}"
        objects.append({**value, "metadata": {**value["metadata"], "uid": uid}})
        if value["kind"] not in KINDS:
            continue
        seen = phase["workloads"].get(f"{value['kind']}/{value['metadata']['name']}")
        if seen is None or value["spec"].get("volumeClaimTemplates"):
            return None
        if value["kind"] == "DaemonSet" and seen["pending"]:
            return None
        objects += _made(value, seen)
    return objects


def _made(workload: Recorded, seen: Recorded) -> Iterator[dict[str, Any]]:
    """Yield the pods of a workload, and the ReplicaSet of a Deployment."""
    kind, name = _key(workload)
    template, spec = workload["spec"]["template"], workload["spec"]
    label = "pod-template-hash" if kind == "Deployment" else "controller-revision-hash"
    labels = {**template["metadata"].get("labels", {}), label: _HASH}
    owner = {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": f"{kind}-{name}", "controller": True}
    if kind == "Deployment":
        deployment, uid = owner, f"ReplicaSet-{name}"
        owner = {**owner, "kind": "ReplicaSet", "name": f"{name}-{_HASH}", "uid": uid}
        yield {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {
                "name": owner["name"],
                "namespace": "default",
                "uid": uid,
                "labels": labels,
                "annotations": {"deployment.kubernetes.io/revision": "1"},
                "ownerReferences": [deployment],
            },
            "spec": {
                "replicas": spec.get("replicas", 1),
                "selector": spec["selector"],
                "template": {**template, "metadata": {**template["metadata"], "labels": labels}},
            },
        }
    stored = _as_stored(template["spec"], labels)
    nodes = [node for node, count in seen["bound"].items() for _ in range(count)]
    for number, node in enumerate([*nodes, *[""] * sum(seen["pending"].values())]):
        metadata = {
            "name": f"{owner['name']}-{number}",
            "namespace": "default",
            "labels": labels,
            "ownerReferences": [owner],
        }
        placed = {"nodeName": node} if node else {}
        status = {"phase": "Running" if node else "Pending"}
        yield {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": metadata,
            "spec": {**stored, **placed},
            "status": status,
        }


def _as_stored(spec: Recorded, labels: Mapping[str, str]) -> Recorded:
    """Return a pod spec as the API server stores it: label keys of affinity terms become part of their selectors.

    Mirrors ``pkg/registry/core/pod/strategy.go``, applyMatchLabelKeysAndMismatchLabelKeys.
    """
    affinity = json.loads(json.dumps(spec.get("affinity", {})))
    for side in ("podAffinity", "podAntiAffinity"):
        rules = affinity.get(side, {})
        weighted = (t["podAffinityTerm"] for t in rules.get("preferredDuringSchedulingIgnoredDuringExecution", ()))
        for term in (*rules.get("requiredDuringSchedulingIgnoredDuringExecution", ()), *weighted):
            for field, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")):
                known = [key for key in term.get(field, ()) if key in labels]
                added = [{"key": key, "operator": operator, "values": [labels[key]]} for key in known]
                if added and "labelSelector" in term:
                    term["labelSelector"].setdefault("matchExpressions", []).extend(added)
    return {**spec, "affinity": affinity} if affinity else spec


# --- the model alone, phase by phase ----------------------------------------------------------------------------------


def verify_lifecycle(
    case: Mapping[str, Any], account: Agreement, version: str | None = None
) -> Iterator[dict[str, object]]:
    """Yield the predicted outcome sets of every phase of a case, and add the answers of the recorded runs."""
    for prediction, compared in compare(case, kubernetes_version=version):
        yield prediction
        for comparison in compared:
            account.pods += len(comparison.seen)
            account.count("searched to the end", holds=not comparison.is_frame)
            account.count("one value", holds=comparison.is_single)
            for answer in _answers(comparison):
                account.note(
                    answer, str(case["id"]), f"{comparison.workload} after {comparison.name} (phase {comparison.phase})"
                )


def _answers(comparison: Compared) -> Iterator[Answer]:
    misses = comparison.misses
    for seen in comparison.seen:
        yield Answer("outcome inside the expected range", seen not in misses, seen, comparison.predicted)
    if comparison.seen and comparison.agree:
        yield Answer(
            "range is one value, or has a replayed trace at both ends",
            comparison.is_single or comparison.witnessed,
            comparison.seen[0],
            comparison.predicted,
            "the search was cut short" if comparison.is_frame else "",
        )
