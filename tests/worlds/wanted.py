"""What a set asks for, for the exhaustive reference: workloads, their revisions, and the pods that are made."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from kubesched_lint.engine.model.decode.nodes import decode_node
from kubesched_lint.engine.model.decode.storage import decode_claim, decode_storage_class, decode_volume
from tests.worlds.admission import Admission, NotCoveredError, RefusedError
from tests.worlds.controllers import NEWEST
from tests.worlds.filters import Filters, Kind, fits_node_affinity, untolerated
from tests.worlds.generator import World
from tests.worlds.inventory import Held, Inventory
from tests.worlds.schedulers import Schedulers
from tests.worlds.storage import Storage

Value = dict[str, Any]
WORKLOADS = ("Deployment", "DaemonSet", "StatefulSet", "ReplicaSet", "Job", "Pod")
_DAEMON_TOLERATIONS = [
    {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": effect}
    for key, effect in (
        ("not-ready", "NoExecute"),
        ("unreachable", "NoExecute"),
        ("disk-pressure", "NoSchedule"),
        ("memory-pressure", "NoSchedule"),
        ("pid-pressure", "NoSchedule"),
        ("unschedulable", "NoSchedule"),
    )
]
_HASHES = {
    "Deployment": "pod-template-hash",
    "StatefulSet": "controller-revision-hash",
    "DaemonSet": "controller-revision-hash",
}


class Wanted:
    """Raises NotCoveredError for a world that the reference does not know."""

    def __init__(self, world: World, *, settled: bool = True) -> None:
        self._applied = _once(world.manifests)
        everything = _over(world.cluster, self._applied)
        if any(v["kind"] == "NodePool" for v in everything):
            raise NotCoveredError("pools")
        listed = None if world.snapshot else frozenset(v["kind"] for v in world.cluster)
        self._admission = Admission.of(everything, listed=listed)
        self.schedulers = Schedulers(world.scheduler, [v for v in everything if v["kind"] == "Service"])
        self._quotas = [v for v in everything if v["kind"] == "ResourceQuota"]
        self._workloads = [v for v in self._applied if v["kind"] in WORKLOADS]
        self._live = {identity(v): v for v in world.cluster if v["kind"] in WORKLOADS}
        self._sets = [v for v in world.cluster if v["kind"] == "ReplicaSet"]
        self._pods = [v for v in world.cluster if v["kind"] == "Pod"]
        self._live_pods = set(map(identity, self._pods))
        self._scalers = [v for v in everything if v["kind"] == "HorizontalPodAutoscaler"]
        nodes = [decode_node(v) for v in world.cluster if v["kind"] == "Node"]
        nodes = [_settled(node) for node in nodes] if settled else nodes
        self._positions = {node.name: i for i, node in enumerate(nodes)}
        namespaces = {
            v["metadata"]["name"]: v["metadata"].get("labels") or {} for v in everything if v["kind"] == "Namespace"
        }
        self._storage = Storage(
            {_key(v): decode_claim(v, "default") for v in everything if v["kind"] == "PersistentVolumeClaim"},
            {v["metadata"]["name"]: decode_volume(v) for v in everything if v["kind"] == "PersistentVolume"},
            {v["metadata"]["name"]: decode_storage_class(v) for v in everything if v["kind"] == "StorageClass"},
        )
        self._fixed = tuple(self._storage.claims)
        budgets = any(v["kind"] == "PodDisruptionBudget" for v in everything)
        claimed = [v for v in world.cluster if v["kind"] == "ResourceClaim"]  # kubectl apply keeps their allocation
        self.filters = Filters(
            nodes, namespaces, self._storage, Inventory([*everything, *claimed]), has_budgets=budgets
        )
        self._reasons: list[frozenset[str]] = []
        """The plugins that turned away the pods at WAITS - 1, WAITS - 2 and so on."""
        self._kinds: dict[tuple[int, int, int | str], Kind | None] = {}
        self._holding: dict[tuple[int, Held], Kind] = {}
        """Kinds of bound pods by the number of the kind that waited and the devices it got."""
        self._templates: dict[tuple[int, int], tuple[Value, str]] = {}
        self._sizes: dict[tuple[int, int], int] = {}
        self._refused: dict[tuple[int, int], str] = {}
        for number, value in enumerate(self._workloads):
            self._check(value)
            self._revisions(number, value)

    # --- what the manifests ask for ---------------------------------------------------------------------------------

    def _check(self, value: Value) -> None:
        spec = _template(value)["spec"]
        namespace = value["metadata"]["namespace"]
        quota = any(q["metadata"]["namespace"] == namespace for q in self._quotas)
        if quota and value["kind"] == "Pod":
            raise NotCoveredError("a bare pod asks a quota only once")
        if quota and any(p["metadata"].get("deletionTimestamp") for p in self._pods):
            raise NotCoveredError("a quota and pods that go")
        mounts = spec.get("volumes") or value["spec"].get("volumeClaimTemplates")
        if spec.get("nodeName") and (spec.get("schedulingGates") or mounts):
            raise NotCoveredError("nodeName with gates or volumes")
        if spec.get("nodeName") and spec["nodeName"] not in self._positions:
            raise NotCoveredError("nodeName of no node")
        if value["kind"] == "DaemonSet" and any(self._adopts(value, pod) for pod in self._pods):
            raise NotCoveredError("a DaemonSet that finds pods")

    def _adopts(self, value: Value, pod: Value) -> bool:
        meta = pod["metadata"]
        if meta["namespace"] != value["metadata"]["namespace"] or meta.get("ownerReferences"):
            return False
        wanted = value["spec"]["selector"]["matchLabels"]
        return not meta.get("deletionTimestamp") and wanted.items() <= (meta.get("labels") or {}).items()

    def _replicas(self, value: Value) -> int:
        spec = value["spec"]
        if value["kind"] == "Pod":
            return 1
        if value["kind"] == "Job":
            return int(min(spec.get("parallelism", 1), spec.get("completions", 99)))
        count = int(spec.get("replicas", 1))
        for scaler in self._scalers:
            target = scaler["spec"]["scaleTargetRef"]
            same = scaler["metadata"]["namespace"] == value["metadata"]["namespace"]
            mine = same and (target["kind"], target["name"]) == (value["kind"], value["metadata"]["name"])
            if mine and count and not scaler["spec"]["minReplicas"] <= count <= scaler["spec"]["maxReplicas"]:
                raise NotCoveredError("an autoscaler that acts at once")
        return count

    def _revisions(self, number: int, value: Value) -> None:
        """The templates of the workload's revisions, NEWEST first, and the sizes of a Deployment's ReplicaSets."""
        kind, template = value["kind"], _template(value)
        self._templates[number, NEWEST] = template, f"fresh-{number}"
        live = self._live.get(identity(value))
        if kind == "Deployment":
            self._replica_sets(number, value, live)
        elif kind == "ReplicaSet":
            self._sizes[number, NEWEST] = self._replicas(value)
            if live is not None and _template(live) != template:
                raise NotCoveredError("pods of a ReplicaSet whose template changed stay")
        elif kind == "StatefulSet" and live is not None and _template(live) != template:
            self._templates[number, 1] = _template(live), live["status"]["currentRevision"]
        elif kind == "StatefulSet" and live is not None:
            self._templates[number, NEWEST] = template, live["status"]["currentRevision"]

    def _replica_sets(self, number: int, value: Value, live: Value | None) -> None:
        name, namespace = value["metadata"]["name"], value["metadata"]["namespace"]
        mine = [s for s in self._sets if _is_owned(s, "Deployment", name) and s["metadata"]["namespace"] == namespace]
        mine.sort(key=lambda s: -int(s["metadata"]["annotations"]["deployment.kubernetes.io/revision"]))
        same = next((s for s in mine if _plain(s["spec"]["template"]) == _template(value)), None)
        if same is not None:
            self._templates[number, NEWEST] = (
                _template(value),
                same["spec"]["template"]["metadata"]["labels"]["pod-template-hash"],
            )
        active = [s for s in mine if s["spec"]["replicas"]]
        self._sizes[number, NEWEST] = same["spec"]["replicas"] if same is not None else 0
        for older, revision in enumerate((s for s in mine if s is not same), 1):
            self._templates[number, older] = (
                _plain(revision["spec"]["template"]),
                revision["spec"]["template"]["metadata"]["labels"]["pod-template-hash"],
            )
            self._sizes[number, older] = revision["spec"]["replicas"]
        scaled = live is not None and live["spec"]["replicas"] != self._replicas(value)
        if scaled and active and active != [same]:
            raise NotCoveredError("another size in the midst of a rollout")

    # --- kinds of pods ----------------------------------------------------------------------------------------------

    def _kind(self, number: int, revision: int, slot: int | str = "") -> Kind | None:
        """None where the API server refuses the pod."""
        key = (number, revision, slot)
        if key not in self._kinds:
            try:
                self._kinds[key] = self._made(number, revision, slot)
            except RefusedError:
                self._kinds[key] = None
        return self._kinds[key]

    def _made(self, number: int, revision: int, slot: int | str) -> Kind:
        value = self._workloads[number]
        kind, name = value["kind"], value["metadata"]["name"]
        template, template_hash = self._templates[number, revision]
        labels = {_HASHES[kind]: template_hash} if kind in _HASHES else {}
        if kind == "StatefulSet":
            labels["statefulset.kubernetes.io/pod-name"] = f"{name}-{slot}"
            labels["apps.kubernetes.io/pod-index"] = str(slot)
        if kind == "DaemonSet":
            spec = template["spec"]
            affinity = {k: v for k, v in (spec.get("affinity") or {}).items() if k != "nodeAffinity"}
            tolerations = [*spec.get("tolerations", ()), *_DAEMON_TOLERATIONS]
            template = {**template, "spec": {**spec, "affinity": affinity, "tolerations": tolerations}}
        namespace = value["metadata"]["namespace"]
        pod = self._admission.stored(template, namespace, labels)
        pod, profile = self.schedulers.applied(pod, value, namespace), self.schedulers.profile_of(pod)
        claims = self._claims(number, template, slot)
        wants = self.filters.devices.wants(template["spec"], namespace)
        found = Kind(len(self.filters.kinds), pod, number, revision, slot, claims, profile=profile, wants=wants)
        self.filters.kinds.append(found)
        return found

    def _claims(self, number: int, template: Value, slot: int | str) -> tuple[tuple[str, str], ...]:
        """Of a pod; those that are made for it come into being."""
        value = self._workloads[number]
        name, namespace = value["metadata"]["name"], value["metadata"]["namespace"]
        own = {t["metadata"]["name"]: t for t in value["spec"].get("volumeClaimTemplates", ())}
        found = []
        for volume in template["spec"].get("volumes", ()):
            if volume["name"] in own:
                continue
            if "persistentVolumeClaim" in volume:
                found.append((namespace, volume["persistentVolumeClaim"]["claimName"]))
            elif "ephemeral" in volume:
                key = (namespace, f"~{name}-{slot}-{volume['name']}")
                made = {
                    "metadata": {"name": key[1], "namespace": namespace},
                    **volume["ephemeral"]["volumeClaimTemplate"],
                }
                self._storage.claims[key] = decode_claim(made, namespace)
                found.append(key)
        for title, made in own.items():
            key = (namespace, f"{title}-{name}-{slot}")
            if key not in self._storage.claims:
                stored = {**made, "metadata": {"name": key[1], "namespace": namespace}}
                self._storage.claims[key] = decode_claim(stored, namespace)
            found.append(key)
        return tuple(found)

    def _has_slots(self, number: int) -> bool:
        volumes = _template(self._workloads[number])["spec"].get("volumes", ())
        return any("ephemeral" in v for v in volumes)

    def _targets(self, number: int) -> list[str]:
        """The nodes for which a DaemonSet makes pods (nodeShouldRunDaemonPod): what its template selects and tolerates.

        The controller reads the template, without what the RuntimeClass adds.
        """
        template, _ = self._templates[number, NEWEST]
        spec = {**template["spec"], "tolerations": [*template["spec"].get("tolerations", ()), *_DAEMON_TOLERATIONS]}
        spec.pop("runtimeClassName", None)
        try:
            pod = self._admission.stored(
                {**template, "spec": spec}, self._workloads[number]["metadata"]["namespace"], {}
            )
        except RefusedError:
            raise NotCoveredError("a DaemonSet whose pods are refused") from None
        return [n.name for n in self.filters.nodes if fits_node_affinity(pod, n) and not untolerated(pod, n)]


def _once(manifests: list[Value]) -> list[Value]:
    """Each object once; NotCoveredError where the definitions of one differ."""
    found: dict[tuple[str, str, str], Value] = {}
    for value in manifests:
        if found.setdefault(identity(value), value) != value:
            raise NotCoveredError("one object, two definitions")
    return list(found.values())


def _over(cluster: list[Value], manifests: list[Value]) -> list[Value]:
    named = set(map(identity, manifests))
    return [*(v for v in cluster if identity(v) not in named), *manifests]


def identity(value: Value) -> tuple[str, str, str]:
    return value["kind"], value["metadata"].get("namespace", ""), value["metadata"]["name"]


def _key(value: Value) -> tuple[str, str]:
    return value["metadata"].get("namespace", "default"), value["metadata"]["name"]


def _template(value: Value) -> Value:
    if value["kind"] == "Pod":
        return {"metadata": {"labels": value["metadata"].get("labels") or {}}, "spec": value["spec"]}
    found: Value = value["spec"]["template"]
    return found


def _plain(template: Value) -> Value:
    labels = {k: v for k, v in template["metadata"]["labels"].items() if k != "pod-template-hash"}
    return {**template, "metadata": {**template["metadata"], "labels": labels}}


def _is_owned(value: Value, kind: str, name: str) -> bool:
    return any((o["kind"], o["name"]) == (kind, name) for o in value["metadata"].get("ownerReferences", ()))


def _settled(node: Any) -> Any:
    taints = tuple(t for t in node.taints if t.key != "node.kubernetes.io/unschedulable")
    return replace(node, taints=taints, unschedulable=False)
