"""Under a scheduler's configuration, what is said of a world is not contradicted either: profiles, default constraints
with owners' and Services' selectors, addedAffinity, disabled filters, filters without their PreFilter.

``python -m tests.worlds.run --configured`` tries more worlds.
"""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.share import some
from tests.worlds.agreement import Reading, contradictions
from tests.worlds.clusters import HOST, REQUIRED, Value, item
from tests.worlds.generator import World
from tests.worlds.reference import outcomes
from tests.worlds.schedulers import OTHER, configured

FOUND = (86, 94, 324, 1170, 31000, 771109, 1120021)
"""Worlds that showed a wrong answer; 31000 where all events are asked."""


@pytest.mark.parametrize("seeds", [some(range(30), 2), FOUND])
def test_what_is_said_of_a_configured_world_is_not_contradicted(seeds: list[int] | tuple[int, ...]) -> None:
    found = {seed: contradictions(configured(seed), thorough=seed % 10 == 0) for seed in seeds}
    assert {seed: [str(one) for one in wrong] for seed, wrong in found.items() if wrong} == {}


def test_the_configuration_decides_in_many_worlds_and_rules_say_so() -> None:
    decided = blamed = 0
    for seed in range(24):
        world = configured(seed)
        with_it, without = outcomes(world), outcomes(replace(world, scheduler=None))
        decided += with_it is not None and without is not None and with_it.rows != without.rows
        blamed += any(claim.finding.cause == "cluster.json" for claim in Reading(world).proven_errors())
    assert decided > 3
    assert blamed > 3


# --- two profiles and one pair of workloads --------------------------------------------------------------------------


def deployment(name: str, scheduler: str, avoided: str = "", replicas: int = 1) -> Value:
    container = {"name": "c", "image": "pause:1", "resources": {"requests": {"cpu": "1"}}}
    spec: Value = {"containers": [container], "schedulerName": scheduler}
    if avoided:
        term = {"labelSelector": {"matchLabels": {"app": avoided}}, "topologyKey": HOST}
        spec["affinity"] = {"podAntiAffinity": {REQUIRED: [term]}}
    template = {"metadata": {"labels": {"app": name}}, "spec": spec}
    selector = {"matchLabels": {"app": name}}
    return item(
        "Deployment",
        name,
        "default",
        "apps/v1",
        spec={"replicas": replicas, "selector": selector, "template": template},
    )


def pair(a: str, b: str) -> World:
    """``a`` keeps away from ``b`` on the only node; one of two profiles does not run InterPodAffinity."""
    off = {"filter": {"disabled": [{"name": "InterPodAffinity"}]}}
    profiles = [
        {"schedulerName": "default-scheduler", "plugins": {}, "pluginConfig": []},
        {"schedulerName": OTHER, "plugins": off, "pluginConfig": []},
    ]
    room = {"cpu": "8", "memory": "8Gi", "pods": "9"}
    node = item("Node", "n0", meta={"labels": {HOST: "n0"}}, status={"allocatable": room})
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": profiles,
    }
    return World([deployment("a", a, "b"), deployment("b", b)], [node], scheduler=configuration)


@pytest.mark.parametrize(
    ("a", "b", "lacking"),
    [
        ("default-scheduler", "default-scheduler", {"a", "b"}),
        ("default-scheduler", OTHER, {"a"}),
        (OTHER, "default-scheduler", {"b"}),
        (OTHER, OTHER, set()),
    ],
)
def test_anti_affinity_binds_whoever_comes_second_under_a_profile_that_runs_it(
    a: str, b: str, lacking: set[str]
) -> None:
    world = pair(a, b)
    truth = outcomes(world)
    assert truth is not None
    assert {name.rpartition("/")[2] for name in truth.names if truth.of[name].may_lack} == lacking
    assert contradictions(world, thorough=True) == []
