"""Volumes, budgets, quotas and autoscalers."""

from __future__ import annotations

from collections.abc import Callable

from tests.hostile.shapes.parts import Files, Json, isin, nodes, obj, sketch, stream, workload

_WITHOUT_DRIVER = obj(
    "StorageClass",
    "s",
    "storage.k8s.io/v1",
    provisioner="kubernetes.io/no-provisioner",
    volumeBindingMode="WaitForFirstConsumer",
)


def _claiming(i: int, volume: Json, **claim: object) -> list[Json]:
    """A volume, a claim and the workload that uses it."""
    sizes, asks = {"storage": "1Gi"}, {"accessModes": ["ReadWriteOnce"], "storageClassName": "s"}
    return [
        obj("PersistentVolume", f"v{i}", spec={**asks, "capacity": sizes, **volume}),
        obj("PersistentVolumeClaim", f"c{i}", spec={**asks, "resources": {"requests": sizes}, **claim}),
        workload(f"w{i}", {"volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": f"c{i}"}}]}),
    ]


def _local(key: str, value: str) -> Json:
    """A volume on the nodes with a label."""
    where = {"required": {"nodeSelectorTerms": [{"matchExpressions": [isin(key, [value])]}]}}
    return {"local": {"path": "/x"}, "nodeAffinity": where}


def claims(n: int) -> Files:
    """Claims, volumes and workloads, each claim bound to a volume in one zone."""

    def made(i: int) -> list[Json]:
        volume = _local("topology.kubernetes.io/zone", f"z{i % 3}")
        volume["claimRef"] = {"namespace": "default", "name": f"c{i}"}
        return _claiming(i, volume, volumeName=f"v{i}")

    return Files(stream([_WITHOUT_DRIVER, *(one for i in range(n) for one in made(i))]), nodes(30))


def loose_volumes(n: int) -> Files:
    """Volumes that any of the claims may take."""
    found = (one for i in range(n) for one in _claiming(i, {"hostPath": {"path": "/x"}}))
    return Files(stream([_WITHOUT_DRIVER, *found]), nodes(30))


def local_volumes(n: int) -> Files:
    """Volumes that any of the claims may take, each on a node of its own."""
    key, allocatable = "kubernetes.io/hostname", {"cpu": "8", "memory": "8Gi"}
    where = [{"name": f"n{i}", "labels": {key: f"n{i}"}, "allocatable": allocatable} for i in range(n)]
    found = (one for i in range(n) for one in _claiming(i, _local(key, f"n{i}")))
    return Files(stream([_WITHOUT_DRIVER, *found]), sketch(where))


_DRIVER = "d.example.com"


def own_classes(n: int) -> Files:
    """Claims, each of a class of its own, which a driver provisions."""

    def made(i: int) -> list[Json]:
        modes = {"provisioner": _DRIVER, "volumeBindingMode": "WaitForFirstConsumer"}
        _, claim, found = _claiming(i, {}, storageClassName=f"s{i}")
        return [obj("StorageClass", f"s{i}", "storage.k8s.io/v1", **modes), claim, found]

    return Files(stream(one for i in range(n) for one in made(i)), nodes(30))


def _provisioned(n: int, each: Callable[[int], Json]) -> Files:
    """Claims that a driver provisions, and an object beside each of as many nodes."""
    modes = {"provisioner": _DRIVER, "volumeBindingMode": "WaitForFirstConsumer"}
    found = [obj("StorageClass", "s", "storage.k8s.io/v1", **modes)]
    for i in range(n):
        found += _claiming(i, {})[1:]
    status = {"allocatable": {"cpu": "8", "memory": "8Gi", "pods": "110"}}
    there = [obj("Node", f"n{i}", status=status) for i in range(n)]
    for i, node in enumerate(there):
        node["metadata"] = {"name": f"n{i}", "labels": {"kubernetes.io/hostname": f"n{i}"}}
    return Files(stream(found), stream([*there, *map(each, range(n))]))


def volume_limits(n: int) -> Files:
    """Nodes that take a limited number of volumes each."""

    def limit(i: int) -> Json:
        driver = {"name": _DRIVER, "nodeID": f"n{i}", "topologyKeys": [], "allocatable": {"count": 25}}
        return obj("CSINode", f"n{i}", "storage.k8s.io/v1", spec={"drivers": [driver]})

    return _provisioned(n, limit)


def capacities(n: int) -> Files:
    """Nodes with free capacity of their own."""

    def free(i: int) -> Json:
        where = {"matchLabels": {"kubernetes.io/hostname": f"n{i}"}}
        more = {"storageClassName": "s", "capacity": f"{10 + i % 7}Gi", "nodeTopology": where}
        return obj("CSIStorageCapacity", f"n{i}", "storage.k8s.io/v1", **more)

    return _provisioned(n, free)


def pins(n: int) -> Files:
    """One pod with many bound volumes in different zones: each that no node reaches is an error of its own."""

    def made(i: int) -> list[Json]:
        ref = {"namespace": "default", "name": f"c{i}"}
        where = [{"matchExpressions": [isin("topology.kubernetes.io/zone", [f"z{i % 5}"])]}]
        volume = {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "s",
            "csi": {"driver": "d", "volumeHandle": f"h{i}"},
            "claimRef": ref,
            "nodeAffinity": {"required": {"nodeSelectorTerms": where}},
        }
        claim = {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "s",
            "resources": {"requests": {"storage": "1Gi"}},
            "volumeName": f"v{i}",
        }
        return [obj("PersistentVolume", f"v{i}", spec=volume), obj("PersistentVolumeClaim", f"c{i}", spec=claim)]

    mounted = [{"name": f"d{i}", "persistentVolumeClaim": {"claimName": f"c{i}"}} for i in range(n)]
    return Files(stream([*(one for i in range(n) for one in made(i)), workload("w0", {"volumes": mounted})]), nodes(30))


def mounts(n: int) -> Files:
    """One pod with many volumes."""
    found = [{"name": f"d{i}", "persistentVolumeClaim": {"claimName": f"c{i}"}} for i in range(n)]
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    objects = [obj("PersistentVolumeClaim", f"c{i}", spec=claim) for i in range(n)]
    return Files(stream([*objects, workload("w0", {"volumes": found})]), nodes(30))


def templates_of_claims(n: int) -> Files:
    """A StatefulSet with many claim templates."""
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    found = [{"metadata": {"name": f"d{i}"}, "spec": claim} for i in range(n)]
    return Files(
        stream([workload("w0", kind="StatefulSet", replicas=3, serviceName="w0", volumeClaimTemplates=found)]),
        nodes(30),
    )


def disruption(n: int) -> Files:
    """Budgets that each choose all workloads."""
    spec = {"minAvailable": 1, "selector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]}}
    budgets = [obj("PodDisruptionBudget", f"b{i}", "policy/v1", spec=spec) for i in range(n)]
    return Files(stream([*budgets, *(workload(f"w{i}", replicas=2) for i in range(n))]), nodes(30))


def negative_budgets(n: int) -> Files:
    """Budgets that each choose all workloads but two."""

    def one(i: int) -> Json:
        others = isin("app", [f"w{i}", f"w{(i + 1) % n}"], "NotIn")
        spec = {"minAvailable": 1, "selector": {"matchExpressions": [others]}}
        return obj("PodDisruptionBudget", f"b{i}", "policy/v1", spec=spec)

    return Files(stream([*map(one, range(n)), *(workload(f"w{i}", replicas=2) for i in range(n))]), nodes(30))


def sharing_budgets(n: int) -> Files:
    """A budget for each workload; all choose first by a label that all workloads share."""

    def one(i: int) -> Json:
        spec = {"minAvailable": 1, "selector": {"matchLabels": {"tier": "x", "app": f"w{i}"}}}
        return obj("PodDisruptionBudget", f"b{i}", "policy/v1", spec=spec)

    found = (workload(f"w{i}", replicas=2, labels={"tier": "x"}) for i in range(n))
    return Files(stream([*map(one, range(n)), *found]), nodes(30))


def misspelt_budgets(n: int) -> Files:
    """Budgets and the workloads that they may be meant for: each name resembles many others."""

    def one(i: int) -> Json:
        spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": f"v{i}"}}}
        return obj("PodDisruptionBudget", f"b{i}", "policy/v1", spec=spec)

    return Files(stream([*map(one, range(n)), *(workload(f"w{i}", replicas=2) for i in range(n))]), nodes(30))


def quotas(n: int) -> Files:
    """Quotas of one namespace, and workloads in it."""
    found = [obj("ResourceQuota", f"q{i}", spec={"hard": {"pods": "100", f"x{i}.io/y": "1"}}) for i in range(n)]
    return Files(stream([*found, *(workload(f"w{i}", replicas=2) for i in range(n))]), nodes(30))


def scoped_quotas(n: int) -> Files:
    """Quotas of one namespace, each for a priority class of its own, and a workload of each class."""
    name = "PriorityClass"

    def made(i: int) -> list[Json]:
        scope = {"matchExpressions": [{"scopeName": name, "operator": "In", "values": [f"p{i}"]}]}
        return [
            obj("ResourceQuota", f"q{i}", spec={"hard": {"pods": "100"}, "scopeSelector": scope}),
            obj(name, f"p{i}", "scheduling.k8s.io/v1", value=i),
            workload(f"w{i}", {"priorityClassName": f"p{i}"}, replicas=2),
        ]

    return Files(stream(one for i in range(n) for one in made(i)), nodes(30))


def ranges(n: int) -> Files:
    """LimitRanges of one namespace, and workloads in it."""
    limit = {"type": "Container", "default": {"cpu": "1"}, "defaultRequest": {"cpu": "100m"}, "max": {"cpu": "2"}}
    found = [obj("LimitRange", f"q{i}", spec={"limits": [limit]}) for i in range(n)]
    return Files(stream([*found, *(workload(f"w{i}") for i in range(n))]), nodes(30))


def scalers(n: int) -> Files:
    """Autoscalers up to as many replicas as there can be."""
    far = 2**31 - 1

    def one(i: int) -> Json:
        target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": f"w{i}"}
        return obj(
            "HorizontalPodAutoscaler", f"w{i}", "autoscaling/v2", spec={"maxReplicas": far, "scaleTargetRef": target}
        )

    return Files(stream([*map(one, range(n)), *(workload(f"w{i}") for i in range(n))]), nodes(30))


def resizers(n: int) -> Files:
    """A VerticalPodAutoscaler for each workload."""

    def one(i: int) -> Json:
        target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": f"w{i}"}
        spec = {"targetRef": target, "updatePolicy": {"updateMode": "Recreate"}}
        return obj("VerticalPodAutoscaler", f"w{i}", "autoscaling.k8s.io/v1", spec=spec)

    return Files(stream([*map(one, range(n)), *(workload(f"w{i}", replicas=2) for i in range(n))]), nodes(30))


def default_classes(n: int) -> Files:
    """PriorityClasses that are each the default of pods that name none."""
    api = "scheduling.k8s.io/v1"
    found = [obj("PriorityClass", f"p{i}", api, value=i, globalDefault=True) for i in range(n)]
    return Files(stream([*found, *(workload(f"w{i}") for i in range(n))]), nodes(30))


def labelled_volumes(n: int) -> Files:
    """Volumes that claims choose by labels, each its own."""

    def made(i: int) -> list[Json]:
        chosen = {"matchLabels": {"disk": f"d{7919 * i % n}"}}
        volume, claim, found = _claiming(i, {"hostPath": {"path": "/x"}}, selector=chosen)
        volume["metadata"] = {"name": f"v{i}", "labels": {"disk": f"d{i}"}}
        return [volume, claim, found]

    return Files(stream([_WITHOUT_DRIVER, *(one for i in range(n) for one in made(i))]), nodes(30))
