"""Advice with numbers, followed to the letter in drawn worlds: what it is about is gone then."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from copy import deepcopy

import pytest
from msgspec.structs import replace

from kubesched_lint.findings import Finding, Severity
from tests.worlds.agreement import Reading
from tests.worlds.clusters import Value
from tests.worlds.generator import World, seeded

QUOTAS = (1200416, 1201037, 1201110, 1201444, 1201661)
OTHERS = (1200060, 1200091, 1200183, 1201497)
"""Worlds in which advice was followed in vain."""
DRAWN = range(1_200_000, 1_200_060)
RAISE = re.compile(r"((?:[\w./-]+ to [^\s,]+(?:, | and )?)+) in quota ([\w.-]+)")
FIRST = re.compile(r"maxSurge: 0 and maxUnavailable: 1|maxUnavailable: 1 and maxSurge: 0")
FEWER = re.compile(r"run at most (\d+) replicas?( \(with maxUnavailable: 1)?")
WITHOUT_REPLICAS = ("Pod", "DaemonSet")
Change = Callable[[Value], None]


def told(world: World) -> Iterator[Finding]:
    reading = Reading(world)
    return (f for f in reading.report.findings if f.severity >= Severity.WARNING and f.evidence.kind == "proof")


def changed(world: World, kind: str, namespace: str, name: str, change: Change) -> World:
    """The world with a change of each object of that name, in the manifests and in the cluster."""
    manifests, cluster = deepcopy(world.manifests), deepcopy(world.cluster)
    for value in (*manifests, *cluster):
        meta = value["metadata"]
        if (value["kind"], meta.get("namespace", "default"), meta["name"]) == (kind, namespace, name):
            change(value)
    return replace(world, manifests=manifests, cluster=cluster)


def with_raised_quotas(world: World, finding: Finding) -> World:
    for amounts, name in RAISE.findall(finding.help):
        wanted = dict(re.findall(r"([\w./-]+) to ([^\s,]+)", amounts))

        def change(quota: Value, wanted: dict[str, str] = wanted) -> None:
            quota["spec"]["hard"].update(wanted)
            if "hard" in quota.get("status", {}):
                quota["status"]["hard"].update(wanted)

        world = changed(world, "ResourceQuota", finding.object.namespace, name, change)
    return world


def going_first(workload: Value) -> None:
    key = "updateStrategy" if workload["kind"] == "DaemonSet" else "strategy"
    workload["spec"][key] = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}


def with_fewer(world: World, finding: Finding, most: re.Match[str]) -> World:
    def change(workload: Value) -> None:
        workload["spec"]["replicas"] = int(most[1])
        if most[2]:
            workload["spec"]["strategy"] = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}}

    return changed(world, finding.object.kind, finding.object.namespace, finding.object.name, change)


def followed(world: World, finding: Finding) -> Iterator[tuple[str, World]]:
    """Yield each piece of advice in a help, with the world in which it is followed."""
    if RAISE.search(finding.help) and "make room" not in finding.help:
        yield "quota", with_raised_quotas(world, finding)
    if FIRST.search(finding.help):
        target = finding.object
        yield "first", changed(world, target.kind, target.namespace, target.name, going_first)
    most = FEWER.search(finding.help)
    if most and not world.objects("HorizontalPodAutoscaler"):
        yield "fewer", with_fewer(world, finding, most)


def in_vain(seed: int, counts: Counter[str]) -> Iterator[str]:
    world = seeded(seed)
    if Reading(world).manifests.inventory.has_duplicates:
        return
    for finding in told(world):
        for advice, after in followed(world, finding):
            counts[advice] += 1
            if advice == "fewer" and (finding.object.kind in WITHOUT_REPLICAS or "run at most 0" in finding.help):
                yield f"{seed} {finding.rule}: {finding.object} has no replicas: {finding.help}"
            left = [f for f in told(after) if (f.rule, f.object) == (finding.rule, finding.object)]
            still = [f for f in left if f.evidence.event == finding.evidence.event and f.severity >= finding.severity]
            if still:
                yield f"{seed} {finding.rule}: {finding.help} left {still[0].message}"


@pytest.mark.parametrize("seeds", [QUOTAS, OTHERS, DRAWN[:30], DRAWN[30:]], ids=["quotas", "others", "a", "b"])
def test_who_follows_the_advice_is_rid_of_the_finding(seeds: range | tuple[int, ...]) -> None:
    counts = Counter[str]()
    assert [wrong for seed in seeds for wrong in in_vain(seed, counts)] == []
    assert sum(counts.values()) > 1
