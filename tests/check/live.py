"""A small live cluster behind the stand-in API server: three zones with a node each, and what runs there."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

from jsonschema import Draft202012Validator

from tests.capture.stand_in import TOKEN, ApiServer
from tests.program import called

Value = dict[str, Any]
_SCHEMAS = Path(__file__).parents[2] / "kubesched_lint" / "schemas"
SCHEMA = Draft202012Validator(json.loads((_SCHEMAS / "check.schema.json").read_text()))
ZONES = "abc"
_PATHS = {
    "Node": "/api/v1/nodes",
    "Pod": "/api/v1/pods",
    "Namespace": "/api/v1/namespaces",
    "PersistentVolume": "/api/v1/persistentvolumes",
    "PersistentVolumeClaim": "/api/v1/persistentvolumeclaims",
    "Service": "/api/v1/services",
    "StorageClass": "/apis/storage.k8s.io/v1/storageclasses",
    "CSINode": "/apis/storage.k8s.io/v1/csinodes",
    "PriorityClass": "/apis/scheduling.k8s.io/v1/priorityclasses",
    "Deployment": "/apis/apps/v1/deployments",
    "ReplicaSet": "/apis/apps/v1/replicasets",
    "StatefulSet": "/apis/apps/v1/statefulsets",
    "DaemonSet": "/apis/apps/v1/daemonsets",
    "PodDisruptionBudget": "/apis/policy/v1/poddisruptionbudgets",
    "HorizontalPodAutoscaler": "/apis/autoscaling/v2/horizontalpodautoscalers",
}


def node(zone: str, cpu: str = "4", group: str = "") -> Value:
    labels = {"kubernetes.io/hostname": f"node-{zone}", "topology.kubernetes.io/zone": zone}
    labels |= {"eks.amazonaws.com/nodegroup": group} if group else {}
    status = {"allocatable": {"cpu": cpu, "memory": "16Gi", "pods": "110"}}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": f"node-{zone}", "labels": labels},
        "status": status,
    }


def container(name: str, cpu: str, image: str = "registry.example.com/app:1") -> Value:
    return {"name": name, "image": image, "resources": {"requests": {"cpu": cpu, "memory": "64Mi"}}}


def deployment(
    name: str, replicas: int | None = 2, *, cpu: str = "1", image: str = "registry.example.com/app:1", **spec: Any
) -> Value:
    """A Deployment as its manifest says; ``replicas`` None: the manifest leaves the number open."""
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container("app", cpu, image)], **spec}}
    sized = {} if replicas is None else {"replicas": replicas}
    body = {**sized, "selector": {"matchLabels": {"app": name}}, "template": template}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": body,
    }


def autoscaler(name: str, most: int, least: int = 1) -> Value:
    spec = {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
        "minReplicas": least,
        "maxReplicas": most,
    }
    meta = {"name": name, "namespace": "shop"}
    return {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": meta, "spec": spec}


def budget(name: str, **bound: int) -> Value:
    spec = {"selector": {"matchLabels": {"app": name}}, **bound}
    meta = {"name": name, "namespace": "shop"}
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": meta, "spec": spec}


def stored(written: Value, replicas: int | None = None, *, scaled_by: str = "") -> Value:
    """The Deployment as the API server stores it, with defaults; ``scaled_by`` has set its replicas."""
    kept = copy.deepcopy(written)
    kept["metadata"]["uid"] = f"d-{written['metadata']['name']}"
    managers = [{"manager": "kubectl-client-side-apply", "operation": "Update"}]
    managers += [{"manager": scaled_by, "operation": "Update", "subresource": "scale"}] if scaled_by else []
    kept["metadata"]["managedFields"] = managers
    kept["spec"]["replicas"] = written["spec"].get("replicas", 1) if replicas is None else replicas
    spec = kept["spec"]["template"]["spec"]
    spec |= {"restartPolicy": "Always", "dnsPolicy": "ClusterFirst", "schedulerName": "default-scheduler"}
    spec |= {"terminationGracePeriodSeconds": 30, "securityContext": {}}
    for one in spec["containers"]:
        one |= {"imagePullPolicy": "IfNotPresent", "terminationMessagePolicy": "File"}
        one |= {"terminationMessagePath": "/dev/termination-log"}
    return kept


def running(of: Value, *, beside: tuple[Value, ...] = (), **changed: Any) -> list[Value]:
    """The Deployment, its ReplicaSet and its ready pods on the nodes in turn.

    Webhooks have added the containers ``beside`` to the pods, and have ``changed`` fields of their spec.
    """
    meta = of["metadata"]
    labels = {**of["spec"]["template"]["metadata"]["labels"], "pod-template-hash": "5f7d"}
    owner = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "name": meta["name"],
        "uid": meta["uid"],
        "controller": True,
    }
    named = {"name": f"{meta['name']}-5f7d", "namespace": meta["namespace"], "uid": f"r-{meta['name']}"}
    revision = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            **named,
            "labels": labels,
            "ownerReferences": [owner],
            "annotations": {"deployment.kubernetes.io/revision": "1"},
        },
        "spec": {
            "replicas": of["spec"]["replicas"],
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": of["spec"]["template"]["spec"]},
        },
    }
    made_by = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        **{k: named[k] for k in ("name", "uid")},
        "controller": True,
    }
    spec = {**of["spec"]["template"]["spec"], **changed}
    spec["containers"] = [*spec["containers"], *beside]
    pods = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": f"{named['name']}-{number}",
                "namespace": meta["namespace"],
                "labels": labels,
                "ownerReferences": [made_by],
            },
            "spec": {**spec, "nodeName": f"node-{ZONES[number % 3]}"},
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
        }
        for number in range(of["spec"]["replicas"])
    ]
    return [of, revision, *pods]


class Live:
    """Runs ``check`` in a folder with manifests against the cluster of ``objects``."""

    def __init__(self, folder: Path, server: ApiServer) -> None:
        self.folder = folder
        self.server = server

    def holds(self, *objects: Value) -> None:
        """Set what the cluster holds, besides its nodes if none is given."""
        everything = [*objects, *([] if any(o["kind"] == "Node" for o in objects) else map(node, ZONES))]
        for kind, path in _PATHS.items():
            items = [o for o in everything if o["kind"] == kind]
            self.server.extra[path] = 200, {"metadata": {}, "items": items}
            group, _, plural = path.rpartition("/")
            for space in {o["metadata"].get("namespace") for o in items} - {None}:
                here = [o for o in items if o["metadata"]["namespace"] == space]
                self.server.extra[f"{group}/namespaces/{space}/{plural}"] = 200, {"metadata": {}, "items": here}
        namespace = {"metadata": {"name": "shop"}}
        self.server.extra[_PATHS["Namespace"]] = 200, {"metadata": {}, "items": [namespace]}

    def apply(self, *written: Value) -> None:
        """Write the manifests."""
        (self.folder / "apps.yaml").write_text("\n---\n".join(map(json.dumps, written)))

    def lacks_room_for_a_surge(self) -> None:
        """Each node holds one pod of 3 CPU; a fourth finds no room, and none of the three may go first."""
        old, new = (deployment("web", 3, cpu="3", image=f"registry.example.com/app:{tag}") for tag in "12")
        for written in (old, new):
            written["spec"]["strategy"] = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
        self.holds(*running(stored(old)))
        self.apply(new)

    def check(self, *more: str, configuration: str = "") -> CompletedProcess[str]:
        (self.folder / "kubesched.toml").write_text(configuration)
        return called("check", "apps.yaml", "-c", "live", *more, cwd=self.folder)

    def value(self, *more: str, configuration: str = "") -> Value:
        done = self.check("-f", "json", *more, configuration=configuration)
        found: Value = json.loads(done.stdout)
        SCHEMA.validate(found)
        assert found["exitCode"] == done.returncode
        return found


def kubeconfig(folder: Path, url: str) -> Path:
    file = folder / "kubeconfig"
    parts = {
        "clusters": [{"name": "c", "cluster": {"server": url}}],
        "users": [{"name": "u", "user": {"token": TOKEN}}],
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "here",
    }
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", **parts}))
    return file


@contextmanager
def serving() -> Iterator[ApiServer]:
    server = ApiServer()
    try:
        yield server
    finally:
        server.close()
