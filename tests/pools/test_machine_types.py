"""The table of machine types: every row agrees with its name, its family and the rules that make it allocatable.

The figures below are copied from the sources that ``machines.json`` names, not computed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from importlib.resources import files
from typing import Any

import pytest

from kubesched_lint.engine.cluster.nodes.shapes import CLOUDS, shape_named, shapes_of
from kubesched_lint.findings import Finding

TABLE: dict[str, Any] = json.loads(
    files("kubesched_lint").joinpath("engine/cluster/nodes/data/machines.json").read_text("utf-8")
)
# GiB a core, of what a family is made for.
GIB = {"c": 2, "m": 4, "r": 8, "D": 4, "E": 8, "F": 2, "B": 4}
GIB |= {"standard": 4, "highmem": 8, "highcpu": 1, "n1-standard": 3.75, "n1-highmem": 6.5, "c3-highcpu": 2}
# The largest of some Azure families have less memory than the ratio says.
LESS = {"Standard_E64s_v3": 432, "Standard_E64s_v4": 504, "Standard_D64ps_v5": 208}
# Interfaces and addresses of each: max pods are interfaces × (addresses − 1) + 2.
EKS_PODS = {
    "medium": (2, 4),
    "large": (3, 10),
    "xlarge": (4, 15),
    "2xlarge": (4, 15),
    **dict.fromkeys(["4xlarge", "8xlarge", "9xlarge", "12xlarge"], (8, 30)),
    **dict.fromkeys(["16xlarge", "18xlarge", "24xlarge", "32xlarge", "48xlarge"], (15, 50)),
}


def rows(cloud: str) -> Iterator[tuple[str, str, list[float]]]:
    """Family, size and figures of each row."""
    for family, entry in TABLE[cloud].items():
        yield from ((family, size, figures) for size, figures in entry["sizes"].items())


@pytest.mark.parametrize(
    ("name", "cpu", "mebibytes", "pods"),
    [
        # EKS: 2 cores less 60 + 10 m; 8192 × 0.925 − (255 + 11 × 29) − 100
        ("m6i.large", 1930, 6903, 29),
        # Graviton: 64 Mi less to begin with
        ("m6g.large", 1930, 6844, 29),
        ("c7g.16xlarge", 63770, 112720, 737),
        ("g5.48xlarge", 191450, 723299, 345),
        # GKE: 4 cores less 60 + 10 + 5 + 5 m; 16 GiB less 1/64 + 16 + 64 + 28.7 Mi for the kernel,
        # 1 + 0.8 + 0.8 GiB, and 100 Mi
        ("e2-standard-4", 3920, 13256, 110),
        # AKS: 140 m of 4 cores; a quarter of 16 GiB, which is less than 20 × 250 + 50, off 16384 × 0.925
        ("Standard_D4s_v5", 3860, 10959, 250),
        # AKS: between the sizes of its table a core more is 10 m more
        ("Standard_E20s_v5", 19700, 146402, 250),
    ],
)
def test_what_a_common_machine_offers_follows_the_published_rules(
    name: str, cpu: int, mebibytes: int, pods: int
) -> None:
    shape = shape_named(name)
    assert shape is not None
    assert shape.allocatable is not None
    offered = {name: shape.allocatable[name] for name in ("cpu", "memory", "pods")}
    assert offered == {"cpu": cpu, "memory": mebibytes << 20, "pods": pods}


def test_every_machine_offers_less_than_it_has() -> None:
    for cloud in CLOUDS:
        assert len(shapes_of(cloud)) > 50
        for shape in shapes_of(cloud).values():
            assert shape.allocatable is not None
            assert shape.capacity is not None
            assert 0 < shape.allocatable["cpu"] < shape.capacity["cpu"], shape.name
            assert 0 <= shape.allocatable["memory"] < shape.capacity["memory"], shape.name
            assert shape.labels["kubernetes.io/arch"] in ("amd64", "arm64")
            assert shape.most is not None
            assert shape.allocatable["memory"] < shape.most["memory"], shape.name
            assert shape.allocatable["pods"] <= shape.most["pods"], shape.name


def test_sources_are_named_for_every_cloud() -> None:
    assert set(TABLE) == {"about", "sources", "largest", *CLOUDS}
    for cloud in CLOUDS:
        for sources in (TABLE["sources"], TABLE["largest"]["sources"]):
            assert all(source.startswith("https://") for source in sources[cloud])


def test_a_name_tells_the_cores() -> None:
    for family, size, (cores, *_) in rows("aws"):
        number = re.fullmatch(r"(\d*)xlarge", size)
        if number is not None:
            assert cores == 4 * int(number[1] or 1), f"{family}.{size}"
        elif family[0] != "t":
            assert cores == {"medium": 1, "large": 2}[size], f"{family}.{size}"
    for cloud in ("gcp", "azure"):
        for family, size, (cores, *_) in rows(cloud):
            assert cores == int(size), (family, size)


def test_a_family_has_one_ratio_of_memory_to_cores() -> None:
    for family, size, (cores, gib, *_) in rows("aws"):
        if family[0] in "cmr":
            assert gib == cores * GIB[family[0]], f"{family}.{size}"
    for family, size, (cores, gib, *_) in rows("gcp"):
        assert gib == cores * GIB.get(family, GIB.get(family.partition("-")[2], 0)), f"{family}-{size}"
    for family, size, (cores, gib, *_) in rows("azure"):
        name = family.replace("{}", size)
        assert gib == LESS.get(name, cores * GIB[family.removeprefix("Standard_")[0]]), name


def test_the_pods_of_eks_follow_from_interfaces_and_addresses() -> None:
    for family, size, (_, _, pods, *_) in rows("aws"):
        if family[0] in "cmr":
            interfaces, addresses = EKS_PODS[size]
            assert pods == interfaces * (addresses - 1) + 2, f"{family}.{size}"


def test_no_name_is_there_twice() -> None:
    names = [name for cloud in CLOUDS for name in shapes_of(cloud)]
    assert len(names) == len(set(names)) == sum(1 for cloud in CLOUDS for _ in rows(cloud))


# --- an estimate is no proof ----------------------------------------------------------------------------------------

POOL = "apiVersion: kubesched-lint/v1\nkind: ClusterSketch\npools: [{name: p, zones: [a], shapes: [m6i.large]}]\n"


def web(deployment: Callable[..., str], memory: str) -> str:
    return deployment().replace('requests: {cpu: "1"}', f'requests: {{cpu: "1", memory: {memory}}}')


def test_between_what_is_sold_and_what_is_left_as_a_rule_nothing_is_proven(
    findings_of: Callable[..., dict[str, Finding]], deployment: Callable[..., str]
) -> None:
    assert not findings_of(web(deployment, "6903Mi"), POOL)
    found = findings_of(web(deployment, "6950Mi"), POOL)
    assert {rule: finding.severity.word for rule, finding in found.items()} == {"pods-stay-pending": "warning"}
    assert "Insufficient memory" in found["pods-stay-pending"].message


def test_more_than_is_sold_fits_on_no_machine(
    findings_of: Callable[..., dict[str, Finding]], deployment: Callable[..., str]
) -> None:
    finding = findings_of(web(deployment, "9Gi"), POOL)["resource-exceeds-any-node"]
    assert finding.severity.word == "error"
    assert "it requests memory 9Gi; no node, and none that a pool can add, has more than 8Gi" in finding.message
    assert "at most about 6.74Gi" in finding.help
