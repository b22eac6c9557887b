"""Machine types by name: what a node of a common type offers to pods, by the rules that the providers publish.

Reserved for kubelet and system: cpu 6 % of the first core, 1 % of the second, 0.5 % of the next two, 0.25 % of the rest
(EKS, GKE), in steps on AKS; memory 255 Mi + 11 Mi a pod (EKS), in shares of the size (GKE), the lesser of 20 Mi a pod
+ 50 Mi and a quarter (AKS); 100 Mi below which pods are evicted. On AWS 7.5 % of the memory never reaches the system:
Karpenter's vmMemoryOverheadPercent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from kubesched_lint.model.nodepool import Shape

INSTANCE_TYPE = "node.kubernetes.io/instance-type"
ARCH = "kubernetes.io/arch"
CLOUDS = ("aws", "gcp", "azure")
_MI = 1 << 20
_EVICTION = 100
_AWS_OVERHEAD = 0.075
# Cores up to which AKS reserves so many millicores.
_AKS_CPU = ((1, 60), (2, 100), (4, 140), (8, 180), (16, 260), (32, 420), (64, 740))
# GKE: of the first 4 GiB a quarter, of the next 4 a fifth …
_GKE_MEMORY = ((4, 0.25), (4, 0.2), (8, 0.1), (112, 0.06))
_GKE_REST = 0.02


def shapes_of(cloud: str) -> Mapping[str, Shape]:
    """All shapes of a cloud that are known, by machine type."""
    return _shapes(cloud)


def shape_named(name: str) -> Shape | None:
    """A machine type of any cloud; None for one that is not in the data file."""
    return next((found for cloud in CLOUDS if (found := _shapes(cloud).get(name)) is not None), None)


def cloud_of(names: Sequence[str]) -> str:
    """The cloud that some of these machine types belong to; empty when none is known."""
    return next((cloud for cloud in CLOUDS if any(name in _shapes(cloud) for name in names)), "")


@cache
def _data() -> Mapping[str, Any]:
    import json
    from importlib.resources import files

    found: Mapping[str, Any] = json.loads(
        files("kubesched_lint").joinpath("cluster/data/machines.json").read_text("utf-8")
    )
    return found


@cache
def _shapes(cloud: str) -> Mapping[str, Shape]:
    return {shape.name: shape for shape in _made(cloud)}


def _made(cloud: str) -> Iterator[Shape]:
    for family, entry in _data().get(cloud, {}).items():
        for size, (cores, gib, pods, *gpus) in entry["sizes"].items():
            memory = int(gib * 1024)
            extra = {entry["gpu"]: gpus[0]} if gpus else {}
            allocatable = {
                "cpu": cores * 1000 - _reserved_cpu(cloud, cores),
                "memory": _memory_left(cloud, memory, pods) * _MI,
                "pods": pods,
                **extra,
            }
            capacity = {"cpu": cores * 1000, "memory": memory * _MI, **extra}
            name = _name(cloud, family, size)
            yield Shape(name, allocatable, capacity, dict(_labels(cloud, family, size, cores, memory, entry["arch"])))


def _name(cloud: str, family: str, size: str) -> str:
    return {"aws": f"{family}.{size}", "gcp": f"{family}-{size}"}.get(cloud) or family.replace("{}", size)


def _labels(cloud: str, family: str, size: str, cores: int, memory: int, arch: str) -> Iterator[tuple[str, str]]:
    yield INSTANCE_TYPE, _name(cloud, family, size)
    yield ARCH, arch
    if cloud == "aws":
        prefix = "karpenter.k8s.aws/instance-"
        category = family.rstrip("abcdefghijklmnopqrstuvwxyz")[:-1]
        yield prefix + "family", family
        yield prefix + "category", category
        yield prefix + "generation", next(c for c in family if c.isdigit())
        yield prefix + "size", size
        yield prefix + "cpu", str(cores)
        yield prefix + "memory", str(memory)
    elif cloud == "gcp":
        yield "cloud.google.com/machine-family", family.partition("-")[0]
    else:
        yield "karpenter.azure.com/sku-family", family.removeprefix("Standard_")[0]
        yield "karpenter.azure.com/sku-cpu", str(cores)


def _reserved_cpu(cloud: str, cores: int) -> int:
    """Millicores, rounded down."""
    if cloud == "azure":
        return next((millis for most, millis in _AKS_CPU if cores <= most), _AKS_CPU[-1][1])
    first, second, next_two = min(cores, 1), max(0, min(cores - 1, 1)), max(0, min(cores - 2, 2))
    rest = max(0, cores - 4)
    return int(60 * first + 10 * second + 5 * next_two + 2.5 * rest)


def _memory_left(cloud: str, memory: int, pods: int) -> int:
    """Of ``memory``, in Mi."""
    if cloud == "aws":
        left = memory * (1 - _AWS_OVERHEAD) - (255 + 11 * pods)
    elif cloud == "gcp":
        left = memory - _reserved_by_gke(memory)
    else:
        left = memory - min(20 * pods + 50, memory * 0.25)
    return max(0, int(left) - _EVICTION)


def _reserved_by_gke(memory: int) -> float:
    reserved, left = 0.0, memory / 1024
    for size, share in _GKE_MEMORY:
        reserved += min(left, size) * share
        left -= min(left, size)
    return (reserved + left * _GKE_REST) * 1024
