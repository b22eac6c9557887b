"""Bounds for machine types that the table does not list: no more than the largest machine of their cloud.

``largest`` in ``data/machines.json`` holds the facts, for all of a cloud and for each group of its types: Karpenter's
instance category on AWS, the machine family on Google Cloud, the SKU family on Azure. Devices are unbounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from kubesched_lint.engine.cluster.nodes.shapes import INSTANCE_TYPE, machine_data
from kubesched_lint.engine.model.labels import Requirement, go_int
from kubesched_lint.engine.model.nodes.node import Shape
from kubesched_lint.engine.model.pod import Resources

OTHER = "other machine types"
_GIB, _MIB = 1 << 30, 1 << 20
_PODS_OF_A_NODE = 1_000
_ANY = 1 << 40
_PREFIXES = ("karpenter.k8s.aws/instance-", "eks.amazonaws.com/instance-", "karpenter.azure.com/sku-")
_GROUP_KEYS = (
    "karpenter.k8s.aws/instance-category",
    "eks.amazonaws.com/instance-category",
    "cloud.google.com/machine-family",
    "karpenter.k8s.gcp/instance-family",
    "karpenter.azure.com/sku-family",
)
_FAMILY_KEYS = ("karpenter.k8s.aws/instance-family", "eks.amazonaws.com/instance-family")
_AWS_TYPE = re.compile(r"[a-z][a-z0-9-]*\.[a-z0-9-]+")


def other_types(cloud: str, requirements: Sequence[Requirement]) -> Shape:
    """Return all types that the table does not list and that meet the requirements, as one shape."""
    groups = (*_listed(requirements, _GROUP_KEYS), *map(_aws_group, _listed(requirements, _FAMILY_KEYS)))
    return Shape(OTHER, most=_bound(cloud, groups, requirements))


def unlisted_type(name: str, cloud: str = "") -> Shape:
    """Return a machine type that the table does not list."""
    provider = cloud or _cloud_by_form(name)
    return Shape(name, labels={INSTANCE_TYPE: name}, most=_bound(provider, (_group(provider, name),), ()))


def with_devices(shape: Shape, names: Iterable[str]) -> Shape:
    """Return the shape; if its size is unknown, with any amount of these extended resources."""
    if shape.allocatable is not None or shape.most is None:
        return shape
    return replace(shape, most={**dict.fromkeys(names, _ANY), **shape.most})


def _bound(cloud: str, groups: Sequence[str], requirements: Sequence[Requirement]) -> Resources | None:
    """Return the most that a type of one of these groups offers; None for a cloud without facts."""
    table: Mapping[str, Sequence[int]] = machine_data()["largest"].get(cloud, {})
    if not table:
        return None
    known = bool(groups) and all(group in table for group in groups)
    rows = [table[group] for group in groups] if known else list(table.values())
    cores, gib = max(row[0] for row in rows), max(row[1] for row in rows)
    cores = min(cores, _most_of(requirements, "cpu", cores))
    memory = min(gib * _GIB, _most_of(requirements, "memory", gib * 1024) * _MIB)
    return {"cpu": cores * 1000, "memory": memory, "pods": _PODS_OF_A_NODE}


def _most_of(requirements: Iterable[Requirement], amount: str, otherwise: int) -> int:
    """Return the largest number of cores or MiB that the requirements allow."""
    keys = tuple(prefix + amount for prefix in _PREFIXES)
    most = otherwise
    for r in requirements:
        numbers = [number for value in r.values if (number := go_int(value)) is not None]
        if r.key in keys and numbers and r.operator in ("In", "Lt"):
            most = min(most, max(numbers) - (r.operator == "Lt"))
    return max(0, most)


def _listed(requirements: Iterable[Requirement], keys: Sequence[str]) -> Iterator[str]:
    """Yield the values of the first key that the requirements restrict to a list."""
    yield from next((r.values for r in requirements if r.key in keys and r.operator == "In"), ())


def _group(cloud: str, name: str) -> str:
    if cloud == "aws":
        return _aws_group(name)
    if cloud == "azure":
        return re.match(r"[A-Z]*", name.removeprefix("Standard_")).group()  # type: ignore[union-attr]
    return name.partition("-")[0]


def _aws_group(name: str) -> str:
    """Return Karpenter's instance category: the letters in front, as ``u`` of ``u7in-16tb.224xlarge``."""
    return re.match(r"[a-z]*", name).group()  # type: ignore[union-attr]


def _cloud_by_form(name: str) -> str:
    if name.startswith("Standard_"):
        return "azure"
    return "aws" if _AWS_TYPE.fullmatch(name) else ""
