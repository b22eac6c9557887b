"""Machine types by name: what a node of a common type offers to pods, by the providers' published rules.

``data/machines.json`` holds sizes and sources. The kernel and the hypervisor keep part of the sold memory: 7.5 % as
Karpenter assumes on AWS and Azure (vmMemoryOverheadPercent), after 64 Mi on Graviton; on Google Cloud as
cluster-autoscaler estimates it (gce_reserved.go). The kubelet reserves part of the rest, and 100 Mi stay free as the
eviction threshold. Autoscalers calculate with this; a real node may differ: ``Shape.most`` is the upper bound.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from kubesched_lint.engine.base.data import shipped
from kubesched_lint.engine.model.nodes.node import Shape

INSTANCE_TYPE = "node.kubernetes.io/instance-type"
ARCH = "kubernetes.io/arch"
CLOUDS = ("aws", "gcp", "azure")
_MI = 1 << 20
_EVICTION = 100
_OVERHEAD = 0.075
_GRAVITON = 64
# (up to this many cores, millicores reserved per core): EKS and GKE; then AKS, whose table for 1, 2, 4 … 64 cores fits.
_CPU_RESERVED = ((1, 60.0), (2, 10.0), (4, 5.0), (1 << 20, 2.5))
_AKS_CPU_RESERVED = ((1, 60.0), (2, 40.0), (4, 20.0), (1 << 20, 10.0))
# GKE reserves a quarter of the first 4 GiB, a fifth of the next 4 …
_GKE_MEMORY = ((4, 0.25), (4, 0.2), (8, 0.1), (112, 0.06))
_GKE_REST = 0.02
# Pods per node: GKE Standard allows this many, AKS 250, EKS with prefix delegation any number.
_PODS_OF_A_NODE = 256


def shapes_of(cloud: str) -> Mapping[str, Shape]:
    """Return all known shapes of a cloud, by machine type."""
    return _shapes(cloud)


def shape_named(name: str) -> Shape | None:
    """Return a machine type of any cloud; None if the data file does not have it."""
    return next((shape for cloud in CLOUDS if (shape := _shapes(cloud).get(name)) is not None), None)


def cloud_of(names: Sequence[str]) -> str:
    """Return the cloud of these machine types; empty if all are unknown."""
    return next((cloud for cloud in CLOUDS if any(name in _shapes(cloud) for name in names)), "")


@cache
def machine_data() -> Mapping[str, Any]:
    """Return ``data/machines.json``."""
    machines: Mapping[str, Any] = json.loads(shipped(__file__, "data/machines.json"))
    return machines


@cache
def _shapes(cloud: str) -> Mapping[str, Shape]:
    return {shape.name: shape for shape in _made(cloud)}


def _made(cloud: str) -> Iterator[Shape]:
    for family, entry in (machine_data()[cloud] if cloud in CLOUDS else {}).items():
        for size, (cores, gib, pods, *gpus) in entry["sizes"].items():
            sold = int(gib * 1024)
            seen = _seen_by_linux(cloud, sold, entry["arch"])
            extra = {entry["gpu"]: gpus[0]} if gpus else {}
            cpu = cores * 1000 - _reserved_cpu(cloud, cores)
            left = max(0, int(seen - _reserved_memory(cloud, sold, pods)) - _EVICTION)
            yield Shape(
                _name(cloud, family, size),
                allocatable={"cpu": cpu, "memory": left * _MI, "pods": pods, **extra},
                capacity={"cpu": cores * 1000, "memory": int(seen) * _MI, **extra},
                labels=dict(_labels(cloud, family, size, cores, sold, entry["arch"])),
                most={"cpu": cpu, "memory": sold * _MI, "pods": max(pods, _PODS_OF_A_NODE), **extra},
            )


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
    """Return the reserved CPU in millicores, rounded down."""
    reserved, before = 0.0, 0
    for most, millis in _AKS_CPU_RESERVED if cloud == "azure" else _CPU_RESERVED:
        reserved += millis * max(0, min(cores, most) - before)
        before = most
    return int(reserved)


def _seen_by_linux(cloud: str, sold: int, arch: str) -> float:
    """Return the memory of a node's capacity, in Mi, from the sold memory in Mi."""
    if cloud == "gcp":
        return sold - _kept_on_gce(sold, arch)
    # CMA: https://github.com/aws/karpenter-provider-aws, memory() in pkg/providers/instancetype/types.go
    sold -= _GRAVITON if (cloud, arch) == ("aws", "arm64") else 0
    return sold * (1 - _OVERHEAD)


def _kept_on_gce(sold: int, arch: str) -> float:
    """Return CalculateKernelReserved of cluster-autoscaler's gce_reserved.go, for Container-Optimized OS, in Mi."""
    kept = sold // 64 + 16 + (64 if sold > 3 * 1024 else 0) + (8 if sold <= 8 * 1024 else 0)
    return (kept + min(0.00175 * sold, 248)) * (0.9971 if arch == "arm64" else 1)


def _reserved_memory(cloud: str, sold: int, pods: int) -> float:
    """Return what the kubelet reserves for itself and the system, in Mi."""
    if cloud == "aws":
        return 255 + 11 * pods
    return _reserved_by_gke(sold) if cloud == "gcp" else min(20 * pods + 50, sold * 0.25)


def _reserved_by_gke(memory: int) -> float:
    reserved, left = 0.0, memory / 1024
    for size, share in _GKE_MEMORY:
        reserved += min(left, size) * share
        left -= min(left, size)
    return (reserved + left * _GKE_REST) * 1024
