"""Compare ``drain`` with recorded drains of a real control plane: ``python -m tests.drain.recorded FILE…``.

Each recorded drain of one node becomes a question: the pods where the phase before left them, and ``--nodes`` with that
node. The recording ended well if the node is empty, except for DaemonSets, and no workload has fewer pods on nodes.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from kubesched_lint.commands.drain.plan import IMPOSSIBLE, POSSIBLE, PROVEN, DrainPlan
from kubesched_lint.commands.drain.run import drain
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import ManifestSet
from tests.drain.made import KINDS
from tests.events.simulated import snapshot

Value = dict[str, Any]
HASH = "5d4f9"
"""The pod-template-hash of every Deployment."""
_ZONE = "topology.kubernetes.io/zone"


class Question(NamedTuple):
    """A recorded drain: what stood before, the node, and whether it ended well."""

    case: str
    objects: tuple[Value, ...]
    node: str
    ended_well: bool


class Compared(NamedTuple):
    question: Question
    plan: DrainPlan

    @property
    def is_wrong(self) -> bool:
        """Whether a proof says the opposite of what was recorded."""
        said, well = self.plan.verdict, self.question.ended_well
        return self.plan.evidence == PROVEN and ((said == POSSIBLE and not well) or (said == IMPOSSIBLE and well))


class Moment(NamedTuple):
    """A recorded step that settled: the objects before it, and the pods of each workload before and after."""

    step: Value
    objects: tuple[Value, ...]
    nodes: tuple[Value, ...]
    before: Value
    after: Value

    def fewer(self, name: str) -> int:
        """Return how many more pods of a workload had a node before."""
        return sum(self.before[name]["bound"].values()) - sum(self.after[name]["bound"].values())


def questions(case: Value) -> Iterator[Question | str]:
    """Yield each recorded drain of a case, or why it cannot be asked."""
    for found in moments(case, "drain"):
        yield found if isinstance(found, str) else _question(case["id"], found)


def moments(case: Value, verb: str) -> Iterator[Moment | str]:
    """Yield each step of a case that drains or loses nodes, for each run, or why the recording does not tell enough."""
    nodes = {node["metadata"]["name"]: node for node in case["nodes"]}
    workloads = {f"{o['kind']}/{o['metadata']['name']}": o for o in case["objects"] if "template" in o.get("spec", {})}
    others = [o for o in case["objects"] if "template" not in o.get("spec", {})]
    for number, step in enumerate(case["steps"]):
        if verb in step:
            for run in case["runs"]:
                if len(run) > number + 1 and run[number]["quiescent"] and run[number + 1]["quiescent"]:
                    before, after = run[number]["workloads"], run[number + 1]["workloads"]
                    known = nodes.keys() >= ({step[verb]} if verb == "drain" else {*step[verb]})
                    unclear = (_unclear(workloads[name], found) for name, found in before.items())
                    why = next(filter(None, unclear), "") if known else "the node was lost before"
                    there = (o for key, found in before.items() for o in standing(workloads[key], found, nodes))
                    objects = (*nodes.values(), *others, *(() if why else there))
                    yield why or Moment(step, objects, tuple(nodes.values()), before, after)
        if "apply" in step:
            workloads[f"{step['apply']['kind']}/{step['apply']['metadata']['name']}"] = step["apply"]
        if "scale" in step:
            key = f"{step['scale']['kind']}/{step['scale']['name']}"
            was = workloads[key]
            workloads[key] = {**was, "spec": {**was["spec"], "replicas": step["scale"]["replicas"]}}
        for name in (step.get("cordon"), step.get("drain")):
            if name in nodes:
                nodes[name] = _cordoned(nodes[name])
        for name in step.get("lose", ()):
            nodes.pop(name, None)


def _unclear(workload: Value, found: Value) -> str:
    """Why the recording does not tell where which pod stands; empty if it does."""
    if found.get("old_pods") or found.get("updated", 0) != found.get("created", 0):
        return "two revisions run"
    if workload["spec"].get("volumeClaimTemplates") and found["pending"]:
        return "which ordinal waits for its volume"
    return ""


def _question(name: str, moment: Moment) -> Question:
    node = moment.step["drain"]
    moving = [key for key in moment.before if not key.startswith("DaemonSet/")]
    left = any(moment.after[key]["bound"].get(node) for key in moving)
    lost = any(moment.fewer(key) > 0 for key in moving)
    return Question(name, moment.objects, node, not left and not lost)


def _cordoned(node: Value) -> Value:
    taint = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    spec = node.get("spec", {})
    taints = [t for t in spec.get("taints", ()) if t != taint]
    return {**node, "spec": {**spec, "unschedulable": True, "taints": [*taints, taint]}}


def standing(workload: Value, found: Value, nodes: Value) -> Iterator[Value]:
    """Yield a workload with its pods on the recorded nodes."""
    kind, meta, spec = workload["kind"], workload["metadata"], workload["spec"]
    where = [node for node, count in found["bound"].items() for _ in range(count)]
    where += [""] * sum(found["pending"].values())
    labels = dict(spec["template"].get("metadata", {}).get("labels", {}))
    owner, namespace = (kind, meta["name"]), meta.get("namespace", "default")
    yield {**workload, "metadata": {**meta, "namespace": namespace}}
    if kind == "Deployment":
        owner, labels = ("ReplicaSet", f"{meta['name']}-{HASH}"), {**labels, "pod-template-hash": HASH}
        template = {**spec["template"], "metadata": {"labels": labels}}
        yield {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {
                "name": owner[1],
                "namespace": namespace,
                "labels": labels,
                "annotations": {"deployment.kubernetes.io/revision": "1"},
                "ownerReferences": [_owner("Deployment", meta["name"])],
            },
            "spec": {"replicas": len(where), "selector": spec["selector"], "template": template},
        }
    for number, node in enumerate(where):
        pod = {**spec["template"]["spec"]}
        if node:
            pod["nodeName"] = node
        for claim in spec.get("volumeClaimTemplates", ()):
            called = f"{claim['metadata']['name']}-{meta['name']}-{number}"
            volume = {"name": claim["metadata"]["name"], "persistentVolumeClaim": {"claimName": called}}
            pod["volumes"] = [*pod.get("volumes", ()), volume]
            yield from _volume(claim, called, namespace, nodes[node])
        yield {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": f"{meta['name']}-{number}",
                "namespace": namespace,
                "labels": labels,
                "ownerReferences": [_owner(*owner)],
            },
            "spec": pod,
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]} if node else {},
        }


def _volume(claim: Value, name: str, namespace: str, node: Value) -> Iterator[Value]:
    """Yield a claim and its volume in the zone of the node where its pod runs, if that has a zone."""
    own = {k: v for k, v in claim["spec"].items() if k in ("accessModes", "storageClassName", "resources")}
    bound = {"pv.kubernetes.io/bind-completed": "yes"}
    yield {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": namespace, "annotations": bound},
        "spec": {**own, "volumeName": f"pv-{name}"},
        "status": {"phase": "Bound"},
    }
    zone = node["metadata"]["labels"].get(_ZONE)
    term = {"matchExpressions": [{"key": _ZONE, "operator": "In", "values": [zone]}]}
    yield {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": f"pv-{name}"},
        "spec": {
            "capacity": own["resources"]["requests"],
            "accessModes": own["accessModes"],
            "storageClassName": own.get("storageClassName", ""),
            "claimRef": {"namespace": namespace, "name": name},
            "csi": {"driver": "x", "volumeHandle": name},
            **({"nodeAffinity": {"required": {"nodeSelectorTerms": [term]}}} if zone else {}),
        },
        "status": {"phase": "Bound"},
    }


def _owner(kind: str, name: str) -> Value:
    return {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": name, "controller": True}


def compared(path: Path) -> Iterator[Compared | str]:
    """Yield our answer to each recorded drain of a file, or why it is not asked."""
    for case in cases(path):
        for question in questions(case):
            if isinstance(question, str):
                yield question
                continue
            plan = drain(ManifestSet(), cluster_of(question.objects), Options(), nodes=question.node)
            yield Compared(question, plan)


def cluster_of(objects: Iterable[Value]) -> Cluster:
    return snapshot(*objects, kinds=(*KINDS, "StatefulSet"))


def cases(path: Path) -> Iterator[Value]:
    yield from map(json.loads, gzip.decompress(path.read_bytes()).splitlines())


def report(answers: Mapping[str, Iterable[Compared | str]]) -> int:
    """Print the answers of each file, counted by verdict and recorded end; return 1 if a proof is wrong."""
    wrong = 0
    for path, several in answers.items():
        said: Counter[str] = Counter()
        for found in several:
            if isinstance(found, str):
                said[f"not asked: {found}"] += 1
                continue
            ended = "ended well" if found.question.ended_well else "ended badly"
            said[f"{found.plan.verdict} ({found.plan.evidence}), {ended}"] += 1
            if found.is_wrong:
                wrong += 1
                print(f"{found.question.case} {found.question.node}: {found.plan.verdict}, {ended}")
        print(path, *(f"  {count:4} {text}" for text, count in sorted(said.items())), sep="\n")
    print(f"{wrong} proofs are wrong")
    return int(bool(wrong))


def main(paths: list[str]) -> int:
    return report({path: compared(Path(path)) for path in paths})


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
