"""Small clusters as ``kubectl get -o json`` prints them: nodes, pods of strangers, classes and policies."""

from __future__ import annotations

from typing import Any

from tests.worlds.draw import Dice

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
APPS = ("a", "b", "c")
Value = dict[str, Any]


def item(kind: str, name: str, namespace: str = "", version: str = "v1", **rest: Any) -> Value:
    meta: Value = {"name": name}
    if namespace:
        meta["namespace"] = namespace
    meta.update(rest.pop("meta", {}))
    return {"apiVersion": version, "kind": kind, "metadata": meta, **rest}


# --- nodes ----------------------------------------------------------------------------------------------------------


def nodes(dice: Dice, has: frozenset[str]) -> list[Value]:
    zones = [f"z{i + 1}" for i in range(dice.integer(1, 3))]
    return [_node(dice, has, i, zones) for i in range(dice.integer(1, 5))]


def _node(dice: Dice, has: frozenset[str], number: int, zones: list[str]) -> Value:
    name = f"n{number}"
    labels = {HOST: name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
    if not ("keyless" in has and dice.chance(0.35)):
        labels[ZONE] = zones[number % len(zones)] if dice.chance(0.7) else dice.pick(zones)
    if dice.chance(0.3):
        labels["disk"] = dice.pick(["ssd", "hdd"])
    spec: Value = {}
    taints = []
    if "taints" in has and dice.chance(0.4):
        effect = dice.pick(["NoSchedule", "NoSchedule", "NoExecute", "PreferNoSchedule"])
        taints.append({"key": "dedicated", "value": dice.pick(["x", "w"]), "effect": effect})
    if "cordon" in has and dice.chance(0.3):
        spec["unschedulable"] = True
        taints.append({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"})
    if taints:
        spec["taints"] = taints
    room = {
        "cpu": dice.pick(["4", "2", "1", "3", "500m"] if "tight" in has else ["4", "8"]),
        "memory": "8Gi",
        "ephemeral-storage": "50Gi",
        "pods": dice.pick(["110", "2", "1", "3"] if "pod-limit" in has else ["110"]),
    }
    ready = [{"type": "Ready", "status": "True"}]
    return item("Node", name, meta={"labels": labels}, spec=spec, status={"allocatable": room, "conditions": ready})


# --- pods of strangers ----------------------------------------------------------------------------------------------


def guests(dice: Dice, has: frozenset[str], names: list[str], namespaces: list[str]) -> list[Value]:
    return [_guest(dice, has, i, dice.pick(names), dice.pick(namespaces)) for i in range(dice.integer(1, 4))]


def _guest(dice: Dice, has: frozenset[str], number: int, node: str, namespace: str) -> Value:
    name = f"guest-{number}"
    container: Value = {"name": "c", "image": "pause:1"}
    if dice.chance(0.7):
        container["resources"] = {"requests": {"cpu": dice.pick(["500m", "1", "2", "250m"])}}
    if "ports" in has and dice.chance(0.5):
        container["ports"] = [{"containerPort": 80, "hostPort": 80, "protocol": "TCP"}]
    spec: Value = {"nodeName": node, "containers": [container], "tolerations": [{"operator": "Exists"}]}
    spec["schedulerName"] = "default-scheduler"
    spec["priority"] = 0
    if "priority" in has and dice.chance(0.6):
        spec["priorityClassName"], spec["priority"] = dice.pick([("low", -10), ("high", 1000), ("polite", 500)])
    spec["preemptionPolicy"] = "Never" if spec.get("priorityClassName") == "polite" else "PreemptLowerPriority"
    if "guest-anti" in has and dice.chance(0.5):
        term = {"labelSelector": {"matchLabels": {"app": dice.pick(APPS)}}, "topologyKey": dice.pick([HOST, ZONE])}
        if dice.chance(0.2):
            term["namespaceSelector"] = {}
        spec["affinity"] = {"podAntiAffinity": {REQUIRED: [term]}}
    app = dice.pick(["other", "other", *APPS]) if dice.chance(0.6) else "other"
    meta: Value = {"labels": {"app": app}, "creationTimestamp": "2026-01-01T00:00:00Z", "uid": f"uid-{name}"}
    if dice.chance(0.8):
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "stranger-5d4f8c7b9", "uid": "uid-stranger"}
        meta["ownerReferences"] = [{**owner, "controller": True}]
    if "terminating" in has and dice.chance(0.4):
        meta["deletionTimestamp"] = "2026-01-02T00:00:00Z"
        meta["deletionGracePeriodSeconds"] = 30
    status = {
        "phase": "Running",
        "startTime": f"2026-01-01T00:00:0{number}Z",
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    return item("Pod", name, namespace, meta=meta, spec=spec, status=status)


# --- classes and policies -------------------------------------------------------------------------------------------


def priority_classes(dice: Dice) -> list[Value]:
    """``absent`` is asked for by pods and never made."""
    version = "scheduling.k8s.io/v1"
    found = [
        item("PriorityClass", "high", version=version, value=1000),
        item("PriorityClass", "low", version=version, value=-10),
        item("PriorityClass", "polite", version=version, value=500, preemptionPolicy="Never"),
    ]
    if dice.chance(0.15):
        found.append(item("PriorityClass", "usual", version=version, value=dice.pick([5, 2000]), globalDefault=True))
    return found


def quota(dice: Dice, namespace: str) -> Value:
    hard = dice.pick(
        [
            {"pods": "2"},
            {"pods": "3"},
            {"pods": "5"},
            {"requests.cpu": "2"},
            {"cpu": "1"},
            {"limits.cpu": "2"},
            {"count/pods": "2"},
            {"pods": "4", "requests.cpu": "1500m"},
        ]
    )
    return item("ResourceQuota", "quota", namespace, spec={"hard": hard})


def limit_range(dice: Dice, namespace: str) -> Value:
    """min ≤ defaultRequest ≤ default ≤ max, as the API server asks; each of them may be missing."""
    amounts = [dice.pick(column) for column in (["100m", "600m"], ["600m", "750m"], ["1", "800m"], ["2", "1"])]
    limit: Value = {"type": "Container"}
    for field, amount in zip(("min", "defaultRequest", "default", "max"), amounts, strict=True):
        if dice.chance(0.5):
            limit[field] = {"cpu": amount}
    if len(limit) == 1:
        limit["default"] = {"cpu": "1"}
    return item("LimitRange", "limits", namespace, spec={"limits": [limit]})


def budget(dice: Dice, namespace: str, app: str) -> Value:
    bound = dice.pick([{"minAvailable": 1}, {"maxUnavailable": 0}, {"maxUnavailable": 1}, {"minAvailable": "50%"}])
    selector = {"matchLabels": {"app": app}}
    return item("PodDisruptionBudget", f"{app}-pdb", namespace, "policy/v1", spec={**bound, "selector": selector})


def pool(dice: Dice) -> Value:
    """A Karpenter NodePool of one machine type."""
    terms = [
        {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]},
        {"key": ZONE, "operator": "In", "values": dice.some(["z1", "z2", "z3"], dice.integer(1, 3))},
        {"key": "karpenter.k8s.aws/instance-cpu", "operator": "In", "values": ["4"]},
    ]
    spec: Value = {"template": {"spec": {"requirements": terms}}}
    if dice.chance(0.4):
        spec["limits"] = {"cpu": dice.pick(["4", "8"])}
    return item("NodePool", "pool", version="karpenter.sh/v1", spec=spec)


# --- storage --------------------------------------------------------------------------------------------------------

CLASSES = {
    "late": {"provisioner": "disk.example.com", "volumeBindingMode": "WaitForFirstConsumer"},
    "local": {"provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "WaitForFirstConsumer"},
    "now-local": {"provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "Immediate"},
    "late-z1": {
        "provisioner": "disk.example.com",
        "volumeBindingMode": "WaitForFirstConsumer",
        "allowedTopologies": [{"matchLabelExpressions": [{"key": ZONE, "values": ["z1"]}]}],
    },
}


def storage_classes(dice: Dice) -> list[Value]:
    """All of them; ``gone`` is asked for by claims and never made."""
    found = [item("StorageClass", name, version="storage.k8s.io/v1", **spec) for name, spec in CLASSES.items()]
    if dice.chance(0.3):
        chosen = dice.pick(found)
        chosen["metadata"]["annotations"] = {"storageclass.kubernetes.io/is-default-class": "true"}
    return found


def volume(dice: Dice, number: int, names: list[str]) -> Value:
    """A volume that stands there, free or reserved, anywhere or in one zone or on one node."""
    modes = dice.pick([["ReadWriteOnce"], ["ReadWriteOncePod"], ["ReadWriteMany", "ReadWriteOnce"]])
    spec: Value = {
        "capacity": {"storage": dice.pick(["1Gi", "5Gi", "10Gi"])},
        "accessModes": modes,
        "volumeMode": "Filesystem",
        "persistentVolumeReclaimPolicy": "Retain",
        "csi": {"driver": "disk.example.com", "volumeHandle": f"v{number}"},
        "storageClassName": dice.pick(["local", "now-local", "late", ""]),
    }
    where = dice.pick(["", "zone", "node"])
    if where:
        key, value = (ZONE, dice.pick(["z1", "z2"])) if where == "zone" else (HOST, dice.pick(names))
        terms = [{"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]}]
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
    return item("PersistentVolume", f"pv-{number}", spec=spec, status={"phase": "Available"})


def claim(dice: Dice, name: str, namespace: str) -> Value:
    spec: Value = {
        "accessModes": [dice.pick(["ReadWriteOnce", "ReadWriteOnce", "ReadWriteMany", "ReadWriteOncePod"])],
        "resources": {"requests": {"storage": dice.pick(["1Gi", "5Gi"])}},
    }
    wanted = dice.pick(["late", "local", "now-local", "late-z1", "gone", "", None])
    if wanted is not None:
        spec["storageClassName"] = wanted
    return item("PersistentVolumeClaim", name, namespace, spec=spec)


def bind(claim: Value, volume: Value) -> None:
    """Both as the volume controller leaves them when they are bound."""
    name, namespace = claim["metadata"]["name"], claim["metadata"]["namespace"]
    claim["metadata"]["uid"] = f"uid-{name}"
    claim["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    claim["spec"]["volumeName"] = volume["metadata"]["name"]
    claim["spec"]["storageClassName"] = volume["spec"]["storageClassName"]
    claim["spec"]["accessModes"] = volume["spec"]["accessModes"][:1]
    claim["status"] = {"phase": "Bound"}
    volume["spec"]["claimRef"] = {"kind": "PersistentVolumeClaim", "name": name, "namespace": namespace}
    volume["spec"]["claimRef"]["uid"] = f"uid-{name}"
    volume["status"] = {"phase": "Bound"}
