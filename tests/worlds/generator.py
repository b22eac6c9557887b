"""One generator of worlds: a small cluster and a manifest set, as plain Kubernetes values.

A world has a few features, so that causes can be told apart. The same code is driven by a seed (thousands of worlds)
and by hypothesis (``worlds()``, which shrinks). A running pod stands where its node has room and free ports; labels,
taints and affinity may have changed since it came.
"""

from __future__ import annotations

import json
from typing import Any, ClassVar

from hypothesis import strategies as st
from msgspec.structs import replace

from kubesched_lint.engine.base.partly_compared import PartlyCompared
from tests.worlds import clusters
from tests.worlds.admission import merge_label_keys
from tests.worlds.clusters import APPS, Value, item
from tests.worlds.draw import Dice, Draw, Seeded, Shrinking
from tests.worlds.workloads import running, workload

FEATURES = (
    *("keyless", "taints", "cordon", "tight", "tight", "pod-limit"),
    *("guests", "guests", "guest-anti", "terminating", "priority", "priority"),
    *("spread", "spread", "policies", "min-domains", "label-keys", "anti", "anti", "affinity", "affinity"),
    *("ports", "selector", "quota", "limit-range", "pod-security", "budget", "scaler", "pools", "twice"),
    *("runs", "runs", "node-name", "gates", "zero", "claims", "claims", "ephemeral", "absent-class", "two-namespaces"),
    *("daemonset", "statefulset", "job", "replicaset", "pod"),
)
_ALONG = {
    "policies": ("spread",),
    "min-domains": ("spread",),
    "guest-anti": ("guests",),
    "terminating": ("guests",),
    "pod-limit": ("guests",),
}
"""Features that are of no use without another."""
SNAPSHOT_KINDS = (
    *("Node", "Pod", "ReplicaSet", "Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob"),
    *("HorizontalPodAutoscaler", "PodDisruptionBudget", "Namespace", "Service", "LimitRange", "ResourceQuota"),
    *("PersistentVolumeClaim", "PersistentVolume", "StorageClass", "CSINode", "VolumeAttachment"),
    *("CSIStorageCapacity", "PriorityClass", "RuntimeClass", "DeviceClass", "PodGroup", "NodePool"),
    *("DeviceTaintRule", "ResourceSlice", "ResourceClaim", "ResourceClaimTemplate"),
)


class World(PartlyCompared, frozen=True):
    """``manifests`` are applied in their order to the cluster that ``cluster`` tells whole."""

    uncompared: ClassVar[tuple[str, ...]] = ("features",)

    manifests: list[Value]
    cluster: list[Value]
    snapshot: bool = True
    """Written as ``kubesched-lint snapshot`` does, which says that all kinds are told; else as kubectl does."""
    features: tuple[str, ...] = ()
    scheduler: Value | None = None
    """The configuration of kube-scheduler, which a snapshot holds."""

    def objects(self, kind: str) -> list[Value]:
        return [v for v in (*self.cluster, *self.manifests) if v["kind"] == kind]

    def cluster_value(self) -> dict[str, Any]:
        if not self.snapshot:
            return {"apiVersion": "v1", "kind": "List", "items": self.cluster}
        meta = {
            "capturedAt": "2026-01-03T00:00:00Z",
            "kubernetesVersion": "v1.36.2",
            "kinds": list(SNAPSHOT_KINDS),
            "gaps": [],
            **({"schedulerConfiguration": self.scheduler} if self.scheduler else {}),
        }
        kept = [v for v in self.cluster if v["kind"] in SNAPSHOT_KINDS]
        return {
            "apiVersion": "kubesched-lint/v1",
            "kind": "ClusterSnapshot",
            "metadata": meta,
            "items": kept,
        }

    def cluster_json(self) -> bytes:
        return json.dumps(self.cluster_value()).encode()

    def manifests_json(self) -> bytes:
        return "\n---\n".join(map(json.dumps, self.manifests)).encode()

    def without(self, where: str, number: int) -> World:
        kept = list(getattr(self, where))
        del kept[number]
        return replace(self, **{where: kept})


def make(source: Draw) -> World:
    dice = Dice(source)
    chosen = set(dice.some(FEATURES, dice.pick([2, 3, 4, 4, 5, 6, 7, 1])))
    for feature in tuple(chosen):
        chosen.update(_ALONG.get(feature, ()))
    has = frozenset(chosen)
    made = clusters.nodes(dice, has)
    names = [n["metadata"]["name"] for n in made]
    namespaces = ["default", "other"] if "two-namespaces" in has else ["default"]
    cluster = [*made, *(_namespace(dice, has, n) for n in namespaces)]
    sets = _set(dice, has, namespaces)
    manifests: list[Value] = []
    if "priority" in has:
        (cluster if dice.chance(0.6) else manifests).extend(clusters.priority_classes(dice))
    if "guests" in has:
        cluster += clusters.guests(dice, has, names, namespaces)
    if "quota" in has:
        (cluster if dice.chance(0.6) else manifests).append(clusters.quota(dice, dice.pick(namespaces)))
    if "limit-range" in has:
        (cluster if dice.chance(0.6) else manifests).append(clusters.limit_range(dice, dice.pick(namespaces)))
    if "pools" in has:
        cluster.append(clusters.pool(dice))
    if "claims" in has or "ephemeral" in has:
        _storage(dice, cluster, manifests, names, sets)
    if "runs" in has:
        for value in sets:
            if dice.chance(0.7):
                cluster += running(dice, has, value, names)
    cluster = _as_stored(_with_room(cluster), manifests)
    manifests += sets
    for value in sets:
        manifests += _beside(dice, has, value)
    if "twice" in has:
        manifests.append(_again(dice, dice.pick(sets)))
    return World(manifests, cluster, dice.chance(0.7), tuple(sorted(has)))


def _as_stored(cluster: list[Value], manifests: list[Value]) -> list[Value]:
    """Running pods with the priority and the selectors that the API server gave them."""
    classes = [v for v in (*cluster, *manifests) if v["kind"] == "PriorityClass"]
    given = {v["metadata"]["name"]: v for v in classes}
    usual = next((v for v in classes if v.get("globalDefault")), {"value": 0})
    for value in cluster:
        if value["kind"] == "Pod" and "priority" not in value["spec"]:
            merge_label_keys(value["spec"], value["metadata"]["labels"])
            found = given.get(value["spec"].get("priorityClassName"), usual)
            value["spec"]["priority"] = found["value"]
            value["spec"]["preemptionPolicy"] = found.get("preemptionPolicy", "PreemptLowerPriority")
    return cluster


def _with_room(cluster: list[Value]) -> list[Value]:
    """Without pods for which their node never had room or a free port."""
    room = {n["metadata"]["name"]: n["status"]["allocatable"] for n in cluster if n["kind"] == "Node"}
    cpu = {name: millicores(a["cpu"]) for name, a in room.items()}
    pods = {name: int(a["pods"]) for name, a in room.items()}
    ports: set[tuple[str, int]] = set()
    kept = []
    for value in cluster:
        if value["kind"] == "Pod":
            node, container = value["spec"]["nodeName"], value["spec"]["containers"][0]
            asked = millicores(container.get("resources", {}).get("requests", {}).get("cpu", "0"))
            taken = {(node, p["hostPort"]) for p in container.get("ports", ())}
            if asked > cpu[node] or not pods[node] or taken & ports:
                continue
            cpu[node] -= asked
            pods[node] -= 1
            ports |= taken
        kept.append(value)
    return kept


def millicores(text: str) -> int:
    return int(text[:-1]) if text.endswith("m") else int(text) * 1000


def _namespace(dice: Dice, has: frozenset[str], name: str) -> Value:
    labels = {"kubernetes.io/metadata.name": name}
    if "pod-security" in has and dice.chance(0.7):
        labels["pod-security.kubernetes.io/enforce"] = dice.pick(["baseline", "restricted", "privileged"])
    return item("Namespace", name, meta={"labels": labels})


def _set(dice: Dice, has: frozenset[str], namespaces: list[str]) -> list[Value]:
    count = dice.pick([1, 2, 1, 2, 3])
    found, left = [], 7
    for app in APPS[:count]:
        value = workload(dice, has, app, dice.pick(namespaces))
        wanted = value["spec"].get("replicas", value["spec"].get("parallelism", 1))
        if wanted > left and "replicas" in value["spec"]:
            value["spec"]["replicas"] = wanted = left
        left -= wanted
        found.append(value)
    return found


def _storage(dice: Dice, cluster: list[Value], manifests: list[Value], names: list[str], sets: list[Value]) -> None:
    cluster += clusters.storage_classes(dice)
    volumes = [clusters.volume(dice, i, names) for i in range(dice.integer(0, 3))]
    home = cluster if dice.chance(0.7) else manifests
    home += volumes
    there: set[tuple[str, str]] = set()
    for value in sets:
        namespace = value["metadata"]["namespace"]
        for name in _claims_of(value):
            if (name, namespace) in there:
                continue
            there.add((name, namespace))
            made = clusters.claim(dice, name, namespace)
            free = [v for v in volumes if "claimRef" not in v["spec"]]
            if name == "bound" and free:
                clusters.bind(made, dice.pick(free))
                home.append(made)
            elif dice.chance(0.9):
                (cluster if dice.chance(0.3) else manifests).append(made)


def _claims_of(value: Value) -> list[str]:
    spec = value["spec"] if value["kind"] == "Pod" else value["spec"]["template"]["spec"]
    wanted = [v.get("persistentVolumeClaim") for v in spec.get("volumes", ())]
    return [w["claimName"] for w in wanted if w]


def _beside(dice: Dice, has: frozenset[str], value: Value) -> list[Value]:
    name, namespace, found = value["metadata"]["name"], value["metadata"]["namespace"], []
    if "budget" in has and dice.chance(0.6):
        found.append(clusters.budget(dice, namespace, name))
    if "scaler" in has and value["kind"] in ("Deployment", "StatefulSet") and dice.chance(0.7):
        target = {"apiVersion": "apps/v1", "kind": value["kind"], "name": name}
        least = dice.integer(1, 3)
        spec = {"scaleTargetRef": target, "minReplicas": least, "maxReplicas": least + dice.integer(0, 2)}
        found.append(item("HorizontalPodAutoscaler", name, namespace, "autoscaling/v2", spec=spec))
    return found


def _again(dice: Dice, value: Value) -> Value:
    """The same object a second time, as it is or with another size."""
    copy: Value = json.loads(json.dumps(value))
    if "replicas" in copy["spec"] and dice.chance(0.6):
        copy["spec"]["replicas"] = dice.integer(1, 4)
    return copy


def seeded(seed: int) -> World:
    return make(Seeded(seed))


@st.composite
def worlds(draw: st.DrawFn) -> World:
    return make(Shrinking(draw))
