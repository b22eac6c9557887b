"""Manifests and clusters with devices, written short."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import yaml

from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.linter.reading.manifest_set import ManifestSet, manifest_set
from kubesched_lint.sources.manifests.loader import documents
from tests.devices.inventories import DRIVER
from tests.events.simulated import Value, asking, other, snapshot, workload
from tests.events.test_storage_verdicts import EVERYTHING

API = "resource.k8s.io/v1"
KINDS = (*EVERYTHING, "DeviceTaintRule", "ResourceSlice", "ResourceClaim", "ResourceClaimTemplate")
GPU_CLASS = other(
    "DeviceClass", "gpu", API, spec={"selectors": [{"cel": {"expression": f'device.driver == "{DRIVER}"'}}]}
)


def node(name: str, cpu: str = "4") -> Value:
    labels = {"kubernetes.io/hostname": name}
    status = {"allocatable": {"cpu": cpu, "memory": "16Gi", "pods": "110"}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}, "status": status}


def devices_on(name: str, count: int, **more: Any) -> Value:
    """A slice with this many devices of a node."""
    pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
    devices = [{"name": f"gpu-{i}", **more} for i in range(count)]
    spec = {"driver": DRIVER, "pool": pool, "nodeName": name, "devices": devices}
    return other("ResourceSlice", f"{name}-gpus", API, spec=spec)


def wanting(count: int = 1, **more: Any) -> Value:
    return {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu", "count": count, **more}}]}


def template(name: str = "gpu", count: int = 1, **more: Any) -> Value:
    return other("ResourceClaimTemplate", name, API, spec={"spec": {"devices": wanting(count, **more)}})


def claim(name: str = "gpu", count: int = 1) -> Value:
    return other("ResourceClaim", name, API, spec={"devices": wanting(count)})


def using(replicas: int, name: str = "train", cpu: str = "100m", kind: str = "Deployment", **claims: str) -> Value:
    """A workload whose pods have one claim of the template ``gpu``, or what ``claims`` says."""
    reference = {"name": "gpu", **(claims or {"resourceClaimTemplateName": "gpu"})}
    return workload(kind, name, replicas, asking(cpu, resourceClaims=[reference]))


def asking_for(*requests: Value, **more: Any) -> Value:
    """The template ``gpu`` with these requests."""
    made = template()
    made["spec"]["spec"]["devices"] = {"requests": list(requests), **more}
    return made


def alternative(model: str, count: int = 1) -> Value:
    expression = f'device.attributes["{DRIVER}"].model == "{model}"'
    return {
        "name": model,
        "deviceClassName": "gpu",
        "count": count,
        **({"selectors": [{"cel": {"expression": expression}}]} if model != "any" else {}),
    }


def with_models(*models: str) -> tuple[Value, ...]:
    """The devices of each node, one letter each: the model."""
    found = [devices_on(f"n{i}", len(each)) for i, each in enumerate(models)]
    for each, letters in zip(found, models, strict=True):
        for device, letter in zip(each["spec"]["devices"], letters, strict=True):
            device["attributes"] = {"model": {"string": letter}}
    return tuple(found)


def exactly(**more: Any) -> Value:
    return {"name": "gpu", "exactly": {"deviceClassName": "gpu", **more}}


def cluster_of(*objects: Value, kinds: Sequence[str] = KINDS) -> Cluster:
    stored = [{**o, "metadata": {"namespace": "default", **o["metadata"]}} for o in objects]
    return snapshot(*stored, kinds=kinds)


def manifests_of(*objects: Value) -> ManifestSet:
    text = "---\n".join(yaml.safe_dump(o) for o in objects)
    return manifest_set(documents("set.yaml", text.encode(), is_read), "default")


def scenario_of(cluster: Cluster, *objects: Value) -> Scenario:
    return Scenario(manifests_of(*objects).inventory, cluster)
