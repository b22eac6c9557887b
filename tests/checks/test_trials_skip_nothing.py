"""Trials do not ask again for pods and nodes that nothing can have helped; to ask all again changes no result."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
import yaml

from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.events.transitions.hints import UnschedulableCache
from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.engine.model.pod import Pod
from kubesched_lint.engine.placing import placing
from kubesched_lint.engine.placing.coming import Coming
from kubesched_lint.engine.placing.trial import Tried, trials_of, tried
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.engine.scheduler.framework import Diagnosis
from kubesched_lint.engine.scheduler.preemption.preemption import Preemption, preempt
from kubesched_lint.linter.reading.manifest_set import manifest_set
from kubesched_lint.sources.manifests.loader import documents
from tests.events.simulated import HOSTNAME, ZONE, Value, apart, asking, other, sketch, workload

SETS = 70
PRIORITIES = {"low": -10, "middle": 0, "high": 10}


def _pod(draw: Random) -> Value:
    """A pod that may wait for room, a port, a domain or company."""
    spec = asking(draw.choice(["300m", "600m", "1", "1500m"]), priorityClassName=draw.choice(list(PRIORITIES)))
    key, app = draw.choice([ZONE, HOSTNAME]), draw.choice("abcdef")
    selects = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key}
    shape = draw.randrange(6)
    if shape == 0:
        spec |= apart(app, key)
    elif shape == 1:
        spec["affinity"] = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [selects]}}
    elif shape == 2:
        spec["topologySpreadConstraints"] = [{**selects, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}]
    elif shape == 3:
        spec["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 80}]
    return spec


def _scenario(objects: list[Value], cluster: Cluster) -> Scenario:
    classes = [other("PriorityClass", name, "scheduling.k8s.io/v1", value=n) for name, n in PRIORITIES.items()]
    text = "---\n".join(map(yaml.safe_dump, [*objects, *classes]))
    return Scenario(manifest_set(documents("set.yaml", text.encode(), is_read), "default").inventory, cluster)


def _drawn(seed: int) -> Scenario:
    draw = Random(seed)
    return _scenario(
        [workload("Deployment", name, draw.randint(1, 3), _pod(draw)) for name in "abcdef"], sketch(2, "ab", "2")
    )


def test_a_node_is_tried_again_after_its_pods_have_changed() -> None:
    """``last`` finds no help on the node until ``high`` has evicted ``large``; then it evicts ``small``."""
    pods = {
        "small": ("low", "300m"),
        "large": ("middle", "1500m"),
        "last": ("middle", "1200m"),
        "high": ("high", "600m"),
    }
    objects = [
        workload("Deployment", name, 1, asking(cpu, priorityClassName=priority))
        for name, (priority, cpu) in pods.items()
    ]
    scenario = _scenario(objects, sketch(1, "a", "2"))
    left = [{w.name for w in scenario.as_created if w in one} for one in trials_of(scenario)]
    assert left == [{"small", "large"}] * 3


def _ends(scenarios: list[Scenario]) -> list[Tried]:
    return [tried(scenario, coming) for scenario in scenarios for coming in _comings(scenario)]


def _comings(scenario: Scenario) -> list[Coming]:
    return [Coming(1), Coming(2, first=(frozenset(scenario.as_created[::2]),)), Coming(3, mixed=True)]


def test_trials_end_as_if_every_pod_were_tried_everywhere_again(monkeypatch: pytest.MonkeyPatch) -> None:
    scenarios = [_drawn(seed) for seed in range(SETS)]
    found = _ends(scenarios)
    helped = spared = waited = 0
    add = UnschedulableCache.add

    def everywhere(*of: Any, hopeless: int) -> Preemption:
        nonlocal helped, spared
        result = preempt(*of)
        helped += result.chosen is not None
        spared += hopeless != 0
        return result

    def never(self: UnschedulableCache, kind: int, pod: Pod, position: int, found: Diagnosis) -> bool:
        nonlocal waited
        waited += add(UnschedulableCache(self._cluster), kind, pod, position, found)
        return False

    monkeypatch.setattr(placing, "preempt", everywhere)
    monkeypatch.setattr(UnschedulableCache, "add", never)
    assert _ends(scenarios) == found
    assert min(helped, spared, waited) > 100
