"""Without a cluster, only the number of zones that the manifests need is known."""

from __future__ import annotations

from typing import Any

import pytest

from kubesched_lint import lint

ZONE = "topology.kubernetes.io/zone"
SELECTOR = {"matchLabels": {"app": "web"}}


def web(replicas: int, **spec: object) -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {**spec, "containers": [{"name": "c", "image": "x"}]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {"replicas": replicas, "selector": SELECTOR, "template": template},
    }


def apart(key: str) -> dict[str, Any]:
    terms = [{"labelSelector": SELECTOR, "topologyKey": key}]
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}


def spread(least: int, skew: int, when: str = "DoNotSchedule") -> dict[str, Any]:
    constraint = {"maxSkew": skew, "minDomains": least, "topologyKey": ZONE, "whenUnsatisfiable": when}
    return {"topologySpreadConstraints": [{**constraint, "labelSelector": SELECTOR}]}


@pytest.mark.parametrize(
    ("workload", "zones"),
    [
        (web(6, **apart(ZONE)), "6 zones"),
        (web(4, **apart("failure-domain.beta.kubernetes.io/zone")), "4 zones"),
        (web(3, **apart(ZONE)), ""),
        (web(6, **apart("kubernetes.io/hostname")), ""),
        (web(6, **spread(5, 1)), "5 zones"),
        (web(4, **spread(5, 1)), "4 zones"),
        (web(6, **spread(5, 2)), ""),
    ],
)
def test_the_zones_that_are_needed_are_named(workload: dict[str, Any], zones: str) -> None:
    found = lint(objects=[workload], select=["needs-many-zones"]).findings
    assert [f.message.partition("needs ")[2][:7] for f in found] == [zones] * bool(zones)
