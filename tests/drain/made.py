"""Small clusters for ``drain``: drawn from a seed, as a plain model and as the snapshot of the same."""

from __future__ import annotations

from random import Random
from typing import Any

from kubesched_lint.engine.cluster.cluster import Cluster
from tests.drain.reference import App, Node, Reference
from tests.events.simulated import snapshot

Value = dict[str, Any]
KINDS = (
    "Node",
    "Pod",
    "Namespace",
    "Deployment",
    "DaemonSet",
    "ReplicaSet",
    "PersistentVolumeClaim",
    "PersistentVolume",
    "StorageClass",
    "CSINode",
    "PriorityClass",
    "RuntimeClass",
    "LimitRange",
    "ResourceQuota",
    "Service",
    "HorizontalPodAutoscaler",
    "PodDisruptionBudget",
)
_HASH = "5d4f9"


def drawn(seed: int, *, most_nodes: int = 5) -> Reference:
    """A cluster of two to five nodes with one to three workloads, whose pods stand where they fit."""
    random = Random(f"drain {seed}")
    zones = random.choice(["a", "ab", "ab", "abc"])
    nodes = [
        Node(
            f"n{number}",
            zones[number % len(zones)],
            random.choice([2, 3, 4]),
            tainted=random.random() < 0.1,
            label=random.choice(["", "", "ssd"]),
        )
        for number in range(random.randint(2, most_nodes))
    ]
    found = Reference(nodes, [])
    if random.random() < 0.3:
        found.apps.append(App("agent", random.choice([0, 1]), (1,) * len(nodes), "DaemonSet"))
    for name in ["web", "db", "log"][: random.randint(1, 3)]:
        found.apps.append(_placed(_app(name, len(nodes), random), random.randint(1, 3), found, random))
    found.remove = random.random() < 0.25
    return found


def _app(name: str, nodes: int, random: Random) -> App:
    budgets = [None, None, None, ("maxUnavailable", 1), ("minAvailable", 1), ("minAvailable", 2), ("maxUnavailable", 0)]
    return App(
        name,
        random.choice([1, 1, 2]),
        (0,) * nodes,
        kind=random.choice(["Deployment"] * 9 + ["Pod"]),
        apart=random.choice(["", "", "", "host", "zone"]),
        spread=random.choice([0, 0, 0, 1, 2]),
        label=random.choice(["", "", "", "", "ssd"]),
        tolerates=random.random() < 0.2,
        budget=random.choice(budgets),
    )


def _placed(app: App, replicas: int, beside: Reference, random: Random) -> App:
    """The workload with its pods on nodes where they fit, one after another; fewer if they do not fit."""
    from msgspec.structs import replace

    on = list(app.on)
    for _ in range(1 if app.kind == "Pod" else replicas):
        tried = Reference(beside.nodes, [*beside.apps, replace(app, on=tuple(on))])
        number = len(tried.apps) - 1
        fitting = [n for n in range(len(on)) if tried._fits(number, n, tried.start(), frozenset())]
        if fitting:
            on[random.choice(fitting)] += 1
    return replace(app, on=tuple(on))


# --- as a snapshot ----------------------------------------------------------------------------------------------------


def cluster_of(made: Reference) -> Cluster:
    return snapshot(*_nodes(made), *(o for app in made.apps for o in _objects(app, made)), kinds=KINDS)


def _nodes(made: Reference) -> list[Value]:
    return [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": node.name,
                "labels": {
                    "kubernetes.io/hostname": node.name,
                    "topology.kubernetes.io/zone": node.zone,
                    **({"disk": node.label} if node.label else {}),
                },
            },
            "spec": {"taints": [{"key": "own", "value": "x", "effect": "NoSchedule"}] if node.tainted else []},
            "status": {
                "allocatable": {"cpu": str(node.cpu), "memory": "64Gi", "pods": "110"},
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        }
        for node in made.nodes
    ]


def _objects(app: App, made: Reference) -> list[Value]:
    template = {"metadata": {"labels": {"app": app.name}}, "spec": _spec(app)}
    selector = {"matchLabels": {"app": app.name}}
    pods = [node.name for node, count in zip(made.nodes, app.on, strict=True) for _ in range(count)]
    found: list[Value] = []
    owner: tuple[str, str] | None = None
    if app.kind == "Deployment":
        found.append(_named("apps/v1", "Deployment", app.name, {"replicas": len(pods), "selector": selector}, template))
        hashed = {**template, "metadata": {"labels": {"app": app.name, "pod-template-hash": _HASH}}}
        owner = "ReplicaSet", f"{app.name}-{_HASH}"
        body = _named("apps/v1", "ReplicaSet", owner[1], {"replicas": len(pods), "selector": selector}, hashed)
        body["metadata"] |= {
            "ownerReferences": [_owner("Deployment", app.name)],
            "annotations": {"deployment.kubernetes.io/revision": "1"},
            "labels": {"app": app.name, "pod-template-hash": _HASH},
        }
        found.append(body)
    if app.kind == "DaemonSet":
        found.append(_named("apps/v1", "DaemonSet", app.name, {"selector": selector}, template))
        owner = "DaemonSet", app.name
    found += [_pod(app, f"{app.name}-{n}", node, owner) for n, node in enumerate(pods)]
    if app.budget is not None:
        budget = {app.budget[0]: app.budget[1], "selector": selector}
        found.append(_named("policy/v1", "PodDisruptionBudget", f"{app.name}-budget", budget))
    return found


def _named(api: str, kind: str, name: str, spec: Value, template: Value | None = None) -> Value:
    body = {**spec, **({"template": template} if template is not None else {})}
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name, "namespace": "default"}, "spec": body}


def _owner(kind: str, name: str) -> Value:
    return {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": f"uid-{name}", "controller": True}


def _pod(app: App, name: str, node: str, owner: tuple[str, str] | None) -> Value:
    labels = {"app": app.name, **({"pod-template-hash": _HASH} if app.kind == "Deployment" else {})}
    metadata: Value = {"name": name, "namespace": "default", "labels": labels}
    if owner is not None:
        metadata["ownerReferences"] = [_owner(*owner)]
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    spec = {**_spec(app), "nodeName": node}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status}


def _spec(app: App) -> Value:
    spec: Value = {"containers": [{"name": "c", "image": "c:1", "resources": {"requests": {"cpu": str(app.cpu)}}}]}
    selector = {"matchLabels": {"app": app.name}}
    if app.apart:
        key = "topology.kubernetes.io/zone" if app.apart == "zone" else "kubernetes.io/hostname"
        term = {"labelSelector": selector, "topologyKey": key}
        spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    if app.spread:
        spec["topologySpreadConstraints"] = [
            {
                "maxSkew": app.spread,
                "topologyKey": "topology.kubernetes.io/zone",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": selector,
            }
        ]
    if app.label:
        spec["nodeSelector"] = {"disk": app.label}
    if app.tolerates or app.kind == "DaemonSet":
        spec["tolerations"] = [{"operator": "Exists", "key": "own"}]
    return spec
