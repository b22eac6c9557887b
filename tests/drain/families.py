"""Compare ``drain`` with the drains of recorded families: ``python -m tests.drain.families FILE…``.

A family is applied to a cluster in which pods may run already; then one node is drained as ``kubectl drain --force``
does it. The question is the snapshot from before, with the workloads and the pods as they stood when the drain began.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec.structs import replace

from kubesched_lint.commands.drain.replay import Rules
from kubesched_lint.commands.drain.run import drain
from kubesched_lint.commands.verify.recorded import Deployment, ref_named
from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.pod import BoundPod, Owner
from kubesched_lint.engine.model.policy import ReplicaSet
from kubesched_lint.engine.scenario.scenario import Member, Scenario
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import ManifestSet, manifest_set
from kubesched_lint.sources.clusters.read import cluster_from
from kubesched_lint.sources.manifests.loader import documents
from tests.drain.recorded import HASH, Compared, Question, cases, report
from tests.events.simulated import Value

_HASHED = {"Deployment": "pod-template-hash", "DaemonSet": "controller-revision-hash"}


def compared(path: Path) -> Iterator[Compared | str]:
    """Yield our answer to each recorded drain of a file, or why it is not asked."""
    for case in cases(path):
        if (case.get("event") or {}).get("event") == "drain":
            why = _unclear(case)
            yield why or _compared(case)


def _unclear(case: Value) -> str:
    """Why the recording does not tell how the drain began or ended; empty if it does."""
    node = case["event"]["node"]
    if case["deploy"]["quiet"] or case["event"]["quiet"]:
        return "it had not settled"
    if any("volumeClaimTemplates" in text for text in case["files"].values()):
        return "where the volumes of claims are"
    if any(
        name.startswith("Job ") and node in found.get("on", {}) for name, found in case["deploy"]["workloads"].items()
    ):
        return "a Job was read before its controller made its pods again"
    return ""


def _compared(case: Value) -> Compared:
    deployment, node = Deployment(case), str(case["event"]["node"])
    name, content = deployment.cluster()
    before = cluster_from([(name, content)], name)
    entries = [e for path, text in deployment.files.items() for e in documents(path, text.encode(), is_read)]
    manifests = manifest_set(entries, "default")
    cluster = replace(before, inventory=_as_it_stood(manifests, before, case["deploy"]["workloads"]))
    plan = drain(manifests, cluster, Options(), nodes=node, rules=Rules(force=True))
    return Compared(Question(deployment.name, (), node, _ended_well(case, node)), plan)


def _ended_well(case: Value, node: str) -> bool:
    before, after = case["deploy"]["workloads"], case["event"]["workloads"]
    moving = {name: found for name, found in before.items() if ref_named(name).kind not in ("DaemonSet", "Pod")}
    lost = any(after[name]["bound"] < found["bound"] for name, found in moving.items())
    left = any(found.get("on", {}).get(node) for name, found in after.items() if not name.startswith("DaemonSet "))
    return not left and not lost


def _as_it_stood(manifests: ManifestSet, before: Cluster, recorded: Mapping[str, Value]) -> Inventory:
    """Return the objects of the cluster when the drain began: the pods of before that are left, and the new ones."""
    scenario = Scenario(manifests.inventory, before, manifests.premises(Options()))
    found = {ref_named(name): value for name, value in recorded.items()}
    stood = {(ref.namespace, ref.name) for ref in found if ref.kind == "Pod"}
    members = [scenario.member(w) for w in manifests.inventory.workloads if w.ref in found]
    pods = [bound for bound in before.inventory.pods if (bound.namespace, bound.name) in stood]
    pods += [bound for it in members for bound in _pods(it, found[it.workload.ref]) if bound.name not in _names(pods)]
    objects = manifests.inventory.over(before.inventory)
    revisions = tuple(_revision(it) for it in members if it.workload.kind == "Deployment")
    return replace(objects, pods=tuple(pods), replica_sets=revisions)


def _names(pods: list[BoundPod]) -> set[str]:
    return {bound.name for bound in pods}


def _pods(it: Member, found: Value) -> Iterator[BoundPod]:
    """Yield the pods of a workload on the recorded nodes."""
    workload, owner = it.workload, _owner(it.workload.ref)
    label = _HASHED.get(workload.kind)
    pod = replace(it.pod, labels={**it.pod.labels, label: HASH}) if label else it.pod
    where = [node for node, count in found.get("on", {}).items() for _ in range(count)]
    for number, node in enumerate([*where, *[""] * sum(found.get("pending", {}).values())]):
        name = workload.name if owner is None else f"{owner.name}-{number}"
        yield BoundPod(name, node, pod, owner, ready=bool(node))


def _owner(ref: ObjectRef) -> Owner | None:
    if ref.kind == "Pod":
        return None
    return Owner("ReplicaSet", f"{ref.name}-{HASH}") if ref.kind == "Deployment" else Owner(ref.kind, ref.name)


def _revision(it: Member) -> ReplicaSet:
    workload, name = it.workload, f"{it.workload.name}-{HASH}"
    return ReplicaSet(workload.namespace, name, workload.name, workload.replicas, HASH, 1, "Deployment")


def main(paths: list[str]) -> int:
    return report({path: compared(Path(path)) for path in paths})


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
