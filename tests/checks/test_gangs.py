"""The three answers about a gang, against every placement and many courses of a plain scheduler."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from itertools import product
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from kubesched_lint.checks.workload_min_count import check as too_few
from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.engine.model.pod import BoundPod
from kubesched_lint.engine.placing.gangs.answers import CERTAIN, IMPOSSIBLE, MAY_MISS, UNKNOWN, Answer
from kubesched_lint.engine.placing.gangs.fit import answers
from kubesched_lint.engine.scenario.gangs import gangs_of, gates_of
from kubesched_lint.engine.scenario.scenario import Premises, Scenario
from kubesched_lint.engine.scheduler.framework import filter_node
from kubesched_lint.explaining.crowding.half_placed import half_placed
from kubesched_lint.linter.reading.manifest_set import manifest_set
from kubesched_lint.sources.clusters.read import cluster_from
from kubesched_lint.sources.manifests.loader import documents
from tests.events.plain_gangs import seen_counts

Value = dict[str, Any]
GATES = "GenericWorkload=true,GangScheduling=true,TopologyAwareWorkloadScheduling=true"
ZONE = "topology.kubernetes.io/zone"


def node(name: str, cpu: int, zone: str = "a") -> Value:
    labels = {"kubernetes.io/hostname": name, ZONE: zone}
    resources = {"cpu": str(cpu), "memory": "8Gi", "pods": "9"}
    metadata = {"name": name, "labels": labels}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": {"allocatable": resources}}


def group(least: int, key: str = "", api: str = "scheduling.k8s.io/v1alpha2") -> Value:
    spec: Value = {"schedulingPolicy": {"gang": {"minCount": least}}}
    if key:
        spec["schedulingConstraints"] = {"topology": [{"key": key}]}
    spec = spec if "scheduling.k8s.io" in api else {"minMember": least}
    return {"apiVersion": api, "kind": "PodGroup", "metadata": {"name": "g"}, "spec": spec}


def job(
    name: str, pods: int, cpu: float, metadata: Value | None = None, own: Value | None = None, **spec: Any
) -> Value:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": str(cpu)}}}
    template = {
        "metadata": {"labels": {"app": name}, **(metadata or {})},
        "spec": {"restartPolicy": "Never", "containers": [container], **spec},
    }
    body = {"parallelism": pods, "template": template}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, **(own or {})}, "spec": body}


IN_GROUP = {"schedulingGroup": {"podGroupName": "g"}}


def scenario(nodes: list[Value], *objects: Value, gates: str = GATES) -> Scenario:
    listed = json.dumps({"apiVersion": "v1", "kind": "List", "items": nodes}).encode()
    text = "\n---\n".join(map(json.dumps, objects))
    found = manifest_set(documents("set.yaml", text.encode(), is_read), "default")
    cluster = cluster_from([("cluster.json", listed)], "cluster.json", elastic=False)
    return Scenario(found.inventory, replace(cluster, node_groups="complete"), Premises(feature_gates=gates))


def answer(*args: Any, **options: Any) -> Answer:
    (found,) = answers(scenario(*args, **options))
    return found


def test_the_three_answers() -> None:
    nodes = [node("n0", 4), node("n1", 4)]
    small, large = job("small", 2, 2, **IN_GROUP), job("large", 1, 4, **IN_GROUP)
    assert answer(nodes, group(3), small, job("large", 1, 5, **IN_GROUP)).verdict == IMPOSSIBLE
    assert answer(nodes, group(2), small).verdict == CERTAIN
    missed = answer(nodes, group(3), small, large)
    assert missed.verdict == MAY_MISS
    assert sorted(Counter(at for _, at in missed.placement).values()) == [1, 2]
    assert missed.missed is not None
    assert len(missed.missed.on) < 3


def test_who_chooses_first_decides() -> None:
    """The page on gangs recommends a higher priority for the largest pod."""
    lead = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "lead"}, "value": 10}
    small, large = job("small", 2, 2, **IN_GROUP), job("large", 1, 4, **IN_GROUP, priorityClassName="lead")
    assert answer([node("n0", 4), node("n1", 4)], group(3), lead, small, large).verdict == CERTAIN


def test_a_large_gang_of_equal_pods_is_certain() -> None:
    """No order changes how many equal pods fit, so no search is needed."""
    found = answer([node(f"n{i}", 60) for i in range(30)], group(200), job("j", 220, 1, **IN_GROUP))
    assert (found.verdict, len(found.placement)) == (CERTAIN, 220)


def apart(key: str) -> Value:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": "j"}}}
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def test_equal_pods_that_each_take_a_node_are_certain() -> None:
    nodes = [node(f"n{i}", 4, "ab"[i % 2]) for i in range(30)]
    assert answer(nodes, group(30), job("j", 30, 1, **IN_GROUP, **apart("kubernetes.io/hostname"))).verdict == CERTAIN
    # A node of one zone closes the others of it, so here it matters who is where: the answer comes from a search.
    assert answer(nodes[:4], group(2), job("j", 2, 1, **IN_GROUP, **apart(ZONE))).verdict == CERTAIN
    assert answer(nodes[:4], group(3), job("j", 3, 1, **IN_GROUP, **apart(ZONE))).verdict == IMPOSSIBLE


def test_the_scores_of_a_gang_know_its_controllers() -> None:
    """Pods of a ReplicaSet are spread by default, those of a Job are not."""
    pod = job("d", 1, 1, **IN_GROUP)["spec"]["template"]
    pod["spec"]["restartPolicy"] = "Always"
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": "d"}}, "template": pod}
    deployment = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "d"}, "spec": spec}
    nodes = [node("n0", 4, "a"), node("n1", 4, "b")]
    nodes[0]["status"]["allocatable"]["cpu"] = "40"
    large = job("large", 1, 4, **IN_GROUP, nodeSelector={"kubernetes.io/hostname": "n1"})
    assert answer(nodes, group(3), job("d", 2, 1, **IN_GROUP), large).verdict == CERTAIN
    assert answer(nodes, group(3), deployment, large).verdict == MAY_MISS


def test_one_domain_must_take_the_gang() -> None:
    nodes = [node("n0", 4, "a"), node("n1", 4, "b")]
    found = answer(nodes, group(2, ZONE), job("j", 2, 3, **IN_GROUP))
    assert (found.verdict, found.most) == (IMPOSSIBLE, 1)
    assert answer(nodes, group(2, ZONE), job("j", 2, 2, **IN_GROUP)).verdict == CERTAIN
    without = "GenericWorkload=true,GangScheduling=true"
    assert answer(nodes, group(2, ZONE), job("j", 2, 3, **IN_GROUP), gates=without).verdict == CERTAIN


def test_a_group_is_no_gang_without_its_gates() -> None:
    objects = [node("n0", 4)], group(2), job("j", 2, 3, **IN_GROUP)
    assert answers(scenario(*objects, gates="")) == ()
    assert answers(scenario(*objects, gates="GenericWorkload=true")) == ()


def test_preemption_by_the_whole_group_is_unknown() -> None:
    spec = {"nodeName": "n0", "containers": [{"name": "c", "image": "i"}]}
    other = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "o", "namespace": "default"}, "spec": spec}
    urgent = {**group(2), "spec": {**group(2)["spec"], "priorityClassName": "high"}}
    together = f"{GATES},WorkloadAwarePreemption=true"
    nodes, two = [node("n0", 4), other], job("j", 2, 3, **IN_GROUP)
    assert answer(nodes, urgent, two).verdict == IMPOSSIBLE
    assert answer(nodes, urgent, two, gates=together).verdict == UNKNOWN
    assert answer(nodes, group(2), two, gates=together).verdict == IMPOSSIBLE, "nobody is of lower priority"


def test_stored_groups_show_some_gates() -> None:
    """The API server drops topology constraints without their gate; whether gangs are held back, no object shows."""
    stored = {**group(2), "metadata": {"name": "other", "namespace": "default"}}
    assert gates_of(scenario([node("n0", 4), stored], gates="")) == {"GenericWorkload": True}
    stored["spec"] = group(2, ZONE)["spec"]
    shown = {"GenericWorkload": True, "TopologyAwareWorkloadScheduling": True}
    assert gates_of(scenario([node("n0", 4), stored], gates="")) == shown
    assert gates_of(scenario([node("n0", 4), stored], gates="GenericWorkload=false"))["GenericWorkload"] is False


def test_a_gang_without_pods_is_asked_nothing() -> None:
    kueue = {"labels": {"kueue.x-k8s.io/queue-name": "q"}}
    assert answer([node("n0", 4)], job("j", 0, 3, own=kueue), gates="").verdict == UNKNOWN
    assert answer([node("n0", 4)], group(1), job("j", 0, 3, **IN_GROUP)).verdict == UNKNOWN


def test_what_runs_already_is_unknown() -> None:
    spec = {"nodeName": "n0", "containers": [{"name": "c", "image": "i"}], **IN_GROUP}
    running = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "g-0", "namespace": "default"}, "spec": spec}
    assert answer([node("n0", 4), running], group(2), job("j", 2, 3, **IN_GROUP)).verdict == UNKNOWN


@pytest.mark.parametrize(
    ("system", "objects"),
    [
        ("Kueue", [job("j", 2, 3, own={"labels": {"kueue.x-k8s.io/queue-name": "q"}})]),
        (
            "Kueue",
            [
                job(
                    name,
                    1,
                    3,
                    {
                        "labels": {"app": name, "kueue.x-k8s.io/pod-group-name": "g"},
                        "annotations": {"kueue.x-k8s.io/pod-group-total-count": "2"},
                    },
                    schedulingGates=[{"name": "kueue.x-k8s.io/admission"}],
                )
                for name in ("j", "k")
            ],
        ),
        (
            "Volcano",
            [
                group(2, api="scheduling.volcano.sh/v1beta1"),
                job("j", 2, 3, {"annotations": {"scheduling.k8s.io/group-name": "g"}}, schedulerName="volcano"),
            ],
        ),
        (
            "coscheduling",
            [
                group(2, api="scheduling.x-k8s.io/v1alpha1"),
                job("j", 2, 3, {"labels": {"scheduling.x-k8s.io/pod-group": "g"}}),
            ],
        ),
    ],
)
def test_gangs_of_other_systems_are_recognised(system: str, objects: list[Value]) -> None:
    one = scenario([node("n0", 4)], *objects, gates="")
    (found,) = gangs_of(one)
    assert (found.group.system, found.needed, found.is_foreign) == (system, 2, True)
    (told,) = answers(one)
    assert (told.verdict, told.most) == (IMPOSSIBLE, 1)
    assert answer([node("n0", 8)], *objects, gates="").verdict == CERTAIN


# --- against exhaustive search ----------------------------------------------------------------------------------------


def made(random: Random) -> Scenario:
    nodes = [node(f"n{i}", random.choice([2, 3, 4]), random.choice("ab")) for i in range(random.randint(1, 3))]
    jobs = [job(f"j{i}", random.randint(1, 2), random.choice([1, 2, 3]), **IN_GROUP) for i in range(2)]
    total = sum(j["spec"]["parallelism"] for j in jobs)
    least = random.choice([total, total, max(1, total - 1)])
    return scenario(nodes, group(least, random.choice(["", "", ZONE])), *jobs)


def waiting_pods(found: Answer) -> list[BoundPod]:
    return [BoundPod(f"{it.workload.name}-{i}", "", it.pod) for it in found.gang.members for i in range(it.replicas)]


def placeable(found: Answer, where: ClusterState) -> int:
    """The most pods of the gang that some assignment of pods to nodes holds, node by node."""
    pods = waiting_pods(found)
    return max(map(len, _assignments(pods, found.gang.group.topology_key, where)))


def _assignments(pods: list[BoundPod], key: str, where: ClusterState) -> Iterator[dict[str, int]]:
    choices = [None, *range(len(where.index))]
    for chosen in product(choices, repeat=len(pods)):
        used = {at for at in chosen if at is not None}
        if key and len({where.index.nodes[at].labels[key] for at in used}) > 1:
            continue
        mark, held = where.mark(), {}
        for bound, at in zip(pods, chosen, strict=True):
            if at is not None and not filter_node(bound.pod, where, at):
                where.place(bound.pod, at)
                held[bound.name] = at
        where.undo(mark)
        yield held


@pytest.mark.parametrize("seed", range(40))
def test_no_placement_and_no_course_contradicts_an_answer(seed: int) -> None:
    random = Random(seed)
    one = made(random)
    (found,) = answers(one)
    where = ClusterState(one.index)
    best = placeable(found, where)
    pods = waiting_pods(found)
    seen: set[int] = set()
    for _ in range(6):
        random.shuffle(pods)
        seen |= seen_counts(replace(found.gang.group, min_count=found.gang.needed), pods, where, rounds=6)
    if found.verdict == IMPOSSIBLE:
        assert best <= found.most < found.gang.needed
    elif found.verdict == CERTAIN:
        assert min(seen) >= found.gang.needed
    elif found.verdict == MAY_MISS:
        assert best >= found.gang.needed
        assert len(found.placement) >= found.gang.needed
        assert _holds(found, where, {bound.name: bound for bound in pods})
    else:
        assert best < found.gang.needed, "an unknown answer: no placement exists, and no count shows it"


def _holds(found: Answer, where: ClusterState, pods: dict[str, BoundPod]) -> bool:
    mark = where.mark()
    fits = []
    for name, at in found.placement:
        position = where.index.position(at)
        fits.append(not filter_node(pods[name].pod, where, position))
        where.place(pods[name].pod, position)
    where.undo(mark)
    return all(fits)


def test_each_answer_occurs() -> None:
    """Else the comparison above would compare nothing."""
    found = Counter(answers(made(Random(seed)))[0].verdict for seed in range(40))
    assert min(found[verdict] for verdict in (IMPOSSIBLE, CERTAIN, MAY_MISS)) >= 2


# --- the objects ------------------------------------------------------------------------------------------------------


def test_groups_of_two_systems_may_share_a_name() -> None:
    both = scenario([node("n0", 4)], group(2), group(2, api="scheduling.volcano.sh/v1beta1"))
    assert not both.manifests.has_duplicates
    assert sorted(g.system for g in both.objects.pod_groups) == ["Kubernetes", "Volcano"]


@pytest.mark.parametrize(("ref", "count"), [({"apiGroup": "batch"}, 1), ({"apiGroup": "batch.volcano.sh"}, 0), ({}, 1)])
def test_a_template_is_compared_with_its_own_controller(ref: Value, count: int) -> None:
    gang = {"name": "t", "schedulingPolicy": {"gang": {"minCount": 3}}}
    spec = {"controllerRef": {**ref, "kind": "Job", "name": "j"}, "podGroupTemplates": [gang]}
    templates = {
        "apiVersion": "scheduling.k8s.io/v1alpha2",
        "kind": "Workload",
        "metadata": {"name": "w"},
        "spec": spec,
    }
    found = list(too_few(scenario([node("n0", 4)], templates, job("j", 2, 1))))
    assert len(found) == count
    assert list(too_few(scenario([node("n0", 4)], templates, job("j", 3, 1)))) == []
    assert list(too_few(scenario([node("n0", 4)], templates, job("j", 2, 1), gates="GenericWorkload=false"))) == []


# --- groups that nobody starts together -------------------------------------------------------------------------------


def basic(name: str) -> Value:
    spec = {"schedulingPolicy": {"basic": {}}}
    return {"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup", "metadata": {"name": name}, "spec": spec}


def in_group(name: str, pods: int, cpu: float) -> Value:
    return job(f"j{name}", pods, cpu, schedulingGroup={"podGroupName": name})


def blocked(cpu: int, first: int, second: int, **options: Any) -> list[tuple[int, int]]:
    objects = basic("a"), in_group("a", first, 1), basic("b"), in_group("b", second, 1)
    return [found.placed for found in half_placed(scenario([node("n0", cpu)], *objects, **options))]


def test_two_groups_can_each_hold_half_of_the_nodes() -> None:
    assert blocked(4, 3, 3) == [(2, 2)]
    assert blocked(6, 3, 3) == [], "both fit"
    assert blocked(4, 5, 3) == [], "one of them does not even fit alone"
    assert blocked(4, 3, 2) == [], "in turns, the smaller one is placed whole"


def test_gangs_block_each_other_only_without_their_gates() -> None:
    objects = group(3), job("j", 3, 1, **IN_GROUP), basic("b"), in_group("b", 3, 1)
    nodes = [node("n0", 4)]
    assert list(half_placed(scenario(nodes, *objects))) == []
    assert [found.placed for found in half_placed(scenario(nodes, *objects, gates=""))] == [(2, 2)]
