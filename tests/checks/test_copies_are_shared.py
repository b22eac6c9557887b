"""``most_copies`` answers for all pods with the same requests, and for all domains, what counting each would."""

from __future__ import annotations

from random import Random

from kubesched_lint import load_cluster
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.labels import Requirement, Selector
from kubesched_lint.engine.model.pod import HostPort, Pod, PodAffinityTerm
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.scenario.others.room import most_copies, most_copies_by_domain
from kubesched_lint.engine.scenario.others.running import lasting_pods, lasting_state
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.engine.scheduler.capacity import total_copies

_SKETCH = """
apiVersion: kubesched-lint/v1
kind: ClusterSketch
nodes:
- {name: small, count: 3, zones: [a], allocatable: {cpu: "2", memory: 8Gi, pods: 20}}
- {name: large, count: 2, zones: [b], allocatable: {cpu: "7", memory: 30Gi, pods: 20}}
"""


def _workload(number: int, random: Random) -> Workload:
    labels = {"app": f"app-{number}"}
    apart = PodAffinityTerm("kubernetes.io/hostname", Selector((Requirement("app", "In", (labels["app"],)),)))
    pod = Pod(
        "shop",
        labels,
        requests={"cpu": random.choice((300, 900)), "memory": random.choice((1 << 30, 3 << 30))},
        host_ports=(HostPort(80),) if random.random() < 0.2 else (),
        required_anti_affinity=(apart,) if random.random() < 0.2 else (),
    )
    return Workload("Deployment", "shop", f"app-{number}", pod)


def test_whatever_was_asked_before() -> None:
    cluster = load_cluster(text=_SKETCH)
    seen = set()
    for seed in range(20):
        random = Random(seed)
        workloads = tuple(_workload(n, random) for n in range(8))
        scenario = Scenario(Inventory(workloads=workloads), cluster)
        for _ in range(60):
            workload, most = random.choice(workloads), random.randint(0, 40)
            counted = total_copies(
                scenario.member(workload).pod, lasting_state(scenario), scenario.member(workload).usable, most
            )
            assert most_copies(scenario.member(workload), most) == counted
            seen.add((counted, most))
    assert len(seen) > 100


def test_of_each_domain_of_a_key() -> None:
    scenario = Scenario(
        Inventory(workloads=tuple(_workload(n, Random(n)) for n in range(30))), load_cluster(text=_SKETCH)
    )
    beside, seen = lasting_pods(scenario), set()
    for workload, random in ((workload, Random(n)) for n, workload in enumerate(scenario.manifests.workloads)):
        it, among = scenario.member(workload), random.getrandbits(len(scenario.nodes))
        for key in ("kubernetes.io/hostname", "topology.kubernetes.io/zone"):
            domains, most = scenario.index.domains(key), random.randint(0, 9)
            found = most_copies_by_domain(it, most, key, domains, among, beside)
            assert found == {d: total_copies(it.pod, beside.state, n & among, most) for d, n in domains.items()}
            seen.update(found.values())
    assert len(seen) > 5
