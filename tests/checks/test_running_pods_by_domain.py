"""A constraint counts the running pods of each domain on the nodes that count, and no others."""

from __future__ import annotations

from collections import Counter
from random import Random

from kubesched_lint import load_cluster
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.labels import Requirement, Selector
from kubesched_lint.engine.model.pod import BoundPod, Pod
from kubesched_lint.engine.scenario.others.running import RunningPods, matching_by_domain
from kubesched_lint.engine.scenario.scenario import Scenario

_SKETCH = """
apiVersion: kubesched-lint/v1
kind: ClusterSketch
nodes:
- {name: a, count: 4, zones: [a], allocatable: {cpu: "2"}}
- {name: b, count: 3, zones: [b], allocatable: {cpu: "2"}}
- {name: nowhere, count: 2, allocatable: {cpu: "2"}}
"""
_WEB = Selector((Requirement("app", "In", ("web",)),))


def test_pods_of_each_domain_are_counted() -> None:
    random = Random(1)
    scenario = Scenario(Inventory(), load_cluster(text=_SKETCH))
    kinds = [Pod(space, {"app": app}) for space in ("shop", "bank") for app in ("web", "db")]
    pods = tuple(
        BoundPod(f"p{n}", random.choice(scenario.index.names), random.choice(kinds), terminating=random.random() < 0.2)
        for n in range(80)
    )
    for key in ("topology.kubernetes.io/zone", "kubernetes.io/hostname"):
        among = random.getrandbits(len(scenario.nodes))
        wanted: Counter[str] = Counter()
        for bound in pods:
            position = scenario.index.position(bound.node)
            if bound.pod is kinds[0] and not bound.terminating and among >> position & 1:
                wanted.update(value for k, value in scenario.nodes[position].labels.items() if k == key)
        assert len(wanted) > 1
        assert matching_by_domain(RunningPods(scenario, pods), "shop", _WEB, key, among) == wanted
