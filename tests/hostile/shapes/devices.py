"""Pods with claims for devices."""

from __future__ import annotations

from collections.abc import Iterator

from tests.hostile.shapes.parts import Files, Json, obj, sketch, stream, workload

_DRIVER = "gpu.example.com"
_API = "resource.k8s.io/v1"


def _nodes(n: int) -> str:
    """Nodes with four devices each, as many as there are claims."""
    offered = {"driver": _DRIVER, "count": 4, "attributes": {"model": "a"}}
    entry = {"name": "n", "zones": ["a"], "count": -(-n // 4), "devices": [offered]}
    chosen = {"selectors": [{"cel": {"expression": f"device.driver == '{_DRIVER}'"}}]}
    allocatable = {"cpu": "64", "memory": "64Gi", "pods": "110"}
    return sketch([{**entry, "allocatable": allocatable}], objects=[obj("DeviceClass", "gpu", _API, spec=chosen)])


def _devices(selector: str = "") -> Json:
    asked: Json = {"deviceClassName": "gpu"}
    if selector:
        asked["selectors"] = [{"cel": {"expression": selector}}]
    return {"devices": {"requests": [{"name": "r", "exactly": asked}]}}


def own_devices(n: int) -> Files:
    """Deployments of one pod, each with a claim of its own template."""

    def made(i: int) -> Iterator[Json]:
        yield obj("ResourceClaimTemplate", f"t{i}", _API, spec={"spec": _devices()})
        yield workload(f"w{i}", {"resourceClaims": [{"name": "d", "resourceClaimTemplateName": f"t{i}"}]})

    return Files(stream(one for i in range(n) for one in made(i)), _nodes(n))


def of_bare_pods(n: int) -> Files:
    """Pods without a controller, each with a claim of its own."""

    def made(i: int) -> Iterator[Json]:
        yield obj("ResourceClaim", f"t{i}", _API, spec=_devices())
        claims = [{"name": "d", "resourceClaimName": f"t{i}"}]
        yield obj("Pod", f"w{i}", spec={"containers": [{"name": "c", "image": "i:1"}], "resourceClaims": claims})

    return Files(stream(one for i in range(n) for one in made(i)), _nodes(n))


def by_long_selectors(n: int) -> Files:
    """Deployments whose claims select devices by many conditions, each in other words."""

    def made(i: int) -> Iterator[Json]:
        terms = (f"device.attributes['{_DRIVER}'].model != 'x{j}-{i}'" for j in range(20))
        yield obj("ResourceClaimTemplate", f"t{i}", _API, spec={"spec": _devices(" && ".join(terms))})
        yield workload(f"w{i}", {"resourceClaims": [{"name": "d", "resourceClaimTemplateName": f"t{i}"}]})

    return Files(stream(one for i in range(n) for one in made(i)), _nodes(n))
