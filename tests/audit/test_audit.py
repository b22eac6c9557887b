"""What an audit says of a small cluster that has aged, and whether its shortcuts agree with plain counting."""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import cache
from html import unescape
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from msgspec.structs import replace

from kubesched_lint.commands.audit import losses as losses_module
from kubesched_lint.commands.audit import proving
from kubesched_lint.commands.audit.budgets import blocking
from kubesched_lint.commands.audit.findings import (
    DRAINS,
    DRIFT,
    GATED,
    LOSS,
    PENDING,
    PROOF,
    RETURN,
    RULES,
    SKEW,
    Audit,
    AuditFinding,
)
from kubesched_lint.commands.audit.losses import Losses
from kubesched_lint.commands.audit.proving import Waits, surely_waiting
from kubesched_lint.commands.audit.returning import not_returning
from kubesched_lint.commands.audit.run import audit
from kubesched_lint.commands.audit.running_cluster import RunningCluster
from kubesched_lint.commands.audit.spread import moved
from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.engine.cluster.cluster import Cluster, ClusterError
from kubesched_lint.engine.cluster.nodeset import positions
from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.model.labels import Requirement, Selector
from kubesched_lint.engine.model.pod import Pod, PodClaim
from kubesched_lint.engine.scenario.others.running import all_running_pods
from kubesched_lint.engine.scenario.settings.user_settings import Premises
from kubesched_lint.engine.scheduler.binding import bind
from kubesched_lint.engine.scheduler.framework import diagnose
from kubesched_lint.findings import Severity
from kubesched_lint.library import load_cluster
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.running_set import running_set
from kubesched_lint.report.audit.as_json import as_json
from kubesched_lint.report.audit.as_text import as_text
from kubesched_lint.report.audit.pages import as_html, as_markdown
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.sources.clusters.read import read_cluster
from tests.audit.recorded import compared
from tests.drain.made import cluster_of as made_cluster
from tests.drain.made import drawn
from tests.drain.recorded import cluster_of, standing
from tests.drain.run import planned as planned_drain
from tests.events.simulated import workload
from tests.hostile.shapes import SHAPES
from tests.hostile.shapes.running import running
from tests.program import called

ROOT = Path(__file__).parents[2]
AGED = ROOT / "fixtures" / "audit" / "aged.yaml"
SCHEMA = json.loads((ROOT / "kubesched_lint" / "schemas" / "audit.schema.json").read_bytes())


@cache
def aged() -> Audit:
    return audit(read_cluster(str(AGED)), Options(), Rulebook.shipped(), "the aged cluster")


def only(section: str, name: str) -> AuditFinding:
    (found,) = (one for one in aged().of(section) if one.object.name == name)
    return found


@pytest.mark.parametrize(
    ("section", "name", "severity", "rule", "words"),
    [
        (PENDING, "cache", "error", "anti-affinity-exceeds-domains", "1 pod of Deployment shop/cache waits for a node"),
        (RETURN, "db", "warning", "", "1 of 2 pods of StatefulSet data/db, if one of them were deleted,"),
        (DRAINS, "web", "warning", "drain-stuck", "allows no eviction today (minAvailable 4): 4 pods stay"),
        (DRAINS, "debug", "note", "", "1 pod has no controller: batch/debug"),
        (
            LOSS,
            "report",
            "warning",
            "",
            "1 pod of Deployment data/report finds no other node after the loss of node a2",
        ),
        (DRIFT, "sweep", "note", "", "on b2 against a taint that they do not tolerate (dedicated=batch:NoSchedule)"),
        (SKEW, "web", "warning", "", "skew 2 > maxSkew 1 (a: 3, b: 1)"),
        (GATED, "later", "note", "scheduling-gate-stuck", "is held by the scheduling gate acme.example.com/quota"),
    ],
)
def test_each_section_has_what_is_wrong(section: str, name: str, severity: str, rule: str, words: str) -> None:
    found = only(section, name)
    assert (found.severity.word, found.rule) == (severity, rule)
    assert words in found.message


def test_one_finding_has_what_follows_from_its_cause() -> None:
    """The lost pods of ``db`` wait for the reason for which its second pod could not come back: the label is gone."""
    assert [one for one in aged().findings if one.object.name == "db"] == [only(RETURN, "db")]
    also = [text for label, text in only(RETURN, "db").details if label == "also"]
    assert any("runs on b1 against its required node affinity or nodeSelector" in text for text in also)


def test_kube_scheduler_says_what_the_model_says() -> None:
    assert (aged().tally.agree, aged().tally.compared) == (1, 1)
    assert ("model", "agrees") in only(PENDING, "cache").details


def test_the_json_is_as_its_schema_says() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    value = json.loads(as_json(aged()))
    Draft202012Validator(SCHEMA).validate(value)
    assert value["verdict"] == "1 error, 8 warnings, 3 notes"


@pytest.mark.parametrize("render", [as_text, as_markdown, as_html])
def test_every_format_has_every_finding(render: Any) -> None:
    text = unescape(render(aged())).replace("\\", "").replace("<!-- -->", "")
    for one in aged().findings:
        assert one.message.partition(" (")[0] in text


def test_colours_change_no_word() -> None:
    painted = as_text(aged(), color=True, room=80)
    assert "␛" not in painted
    assert re.sub(r"\x1b\[[0-9;]*m", "", painted) == as_text(aged(), room=80)
    assert max(map(len, as_text(aged(), room=80).splitlines())) <= 80


@pytest.mark.parametrize(("fail_on", "code"), [("error", 1), ("never", 0)])
def test_the_exit_code_is_as_asked(fail_on: str, code: int) -> None:
    done = called("audit", "-c", str(AGED), "--fail-on", fail_on, "--format", "json", "--no-config", cwd=ROOT)
    assert done.returncode == code, done.stderr
    assert json.loads(done.stdout)["model"]["agree"] == 1


def test_why_says_too_whether_the_model_agrees_with_kube_scheduler() -> None:
    done = called("why", "cache", "-c", str(AGED), "--no-config", cwd=ROOT)
    assert "1 of 1 message of kube-scheduler about pending pods agrees with this model on this cluster" in " ".join(
        done.stdout.split()
    )


def test_nodes_without_pods_are_no_cluster_that_runs() -> None:
    with pytest.raises(ClusterError, match="holds no Pods"):
        audit(read_cluster(str(ROOT / "fixtures/clusters/three-zones.yaml")), Options(), Rulebook.shipped())


def test_a_passing_cordon_is_no_drift() -> None:
    cluster = read_cluster(str(AGED))
    nodes = tuple(replace(n, unschedulable=n.name == "a2") for n in cluster.inventory.nodes)
    cordoned = replace(cluster, inventory=replace(cluster.inventory, nodes=nodes))
    found = audit(cordoned, Options(), Rulebook.shipped())
    assert [one.message for one in found.of(DRIFT)] == [one.message for one in aged().of(DRIFT)]
    assert [one.message for one in found.of(RETURN)] == [one.message for one in aged().of(RETURN)]


@pytest.mark.parametrize(("sizes", "skew", "moves"), [([3, 1], 1, 1), ([2, 5, 3, 8, 5, 7], 1, 5), ([2, 2, 3], 1, 0)])
def test_descheduler_moves_this_many(sizes: list[int], skew: int, moves: int) -> None:
    assert moved(sizes, skew) == moves


@pytest.mark.parametrize(
    ("least", "policy", "stay"),
    [(3, "IfHealthyBudget", 3), (4, "IfHealthyBudget", 4), (4, "AlwaysAllow", 3), (2, "IfHealthyBudget", 0)],
)
def test_a_budget_of_unready_pods_says_so(least: int, policy: str, stay: int) -> None:
    """One of four is not ready: it may go if the budget is satisfied, or if its policy says so (eviction.go)."""
    cluster = read_cluster(str(AGED))
    pods = tuple(replace(b, ready=b.name != "web-7d9f-0") for b in cluster.inventory.pods)
    budgets = tuple(
        replace(b, min_available=least, unhealthy_pod_eviction_policy=policy) for b in cluster.inventory.budgets
    )
    now = now_of(replace(cluster, inventory=replace(cluster.inventory, pods=pods, budgets=budgets)))
    first = next(blocking(now))
    said = f"(minAvailable {least}, and 1 of its 4 pods is not ready): {stay} pods stay"
    assert (said in first.message) is bool(stay)
    assert first.severity is (Severity.WARNING if stay else Severity.NOTE)


def test_audit_and_drain_agree_on_what_keeps_nodes_from_being_drained() -> None:
    """Each node alone: what is certain to stop its drain blocks drains in the audit, and the other way round."""
    for seed in range(25):
        made = drawn(seed)
        said = {one.object.name for one in blocking(now_of(made_cluster(made)))}
        plans = [planned_drain(made, (number,)) for number in range(len(made.nodes))]
        found = {o.of.name for plan in plans for o in plan.obstacles if o.kind in ("budget", "bare-pod")}
        budgets = {name for name in found if name.endswith("-budget")}
        assert {name for name in said if name.endswith("-budget")} == budgets, seed
        assert bool(said - budgets) is bool(found - budgets), seed


def test_a_pod_that_a_finalizer_keeps_blocks_drains() -> None:
    cluster = read_cluster(str(AGED))
    pods = tuple(
        replace(b, kept_by_finalizers=b.name == "web-7d9f-0", terminating=True) for b in cluster.inventory.pods
    )
    first = next(blocking(now_of(replace(cluster, inventory=replace(cluster.inventory, budgets=(), pods=pods)))))
    assert (str(first.object), first.pods) == ("Deployment shop/web", 1)
    assert "1 pod of Deployment shop/web terminates, and a finalizer keeps it" in first.message


def test_what_the_model_does_not_know_is_not_called_right() -> None:
    cluster = read_cluster(str(AGED))
    changes = {"web": {"scheduler_name": "mine"}, "report": {"resource_claims": (PodClaim("gpu", template="gpu"),)}}
    pods = tuple(
        replace(b, pod=replace(b.pod, **changes.get(str(b.pod.labels.get("app")), {}))) for b in cluster.inventory.pods
    )
    workloads = tuple(replace(w, pod=replace(w.pod, **changes.get(w.name, {}))) for w in cluster.inventory.workloads)
    found = audit(
        replace(cluster, inventory=replace(cluster.inventory, pods=pods, workloads=workloads)),
        Options(),
        Rulebook.shipped(),
    )
    assert not [one for section in (RETURN, LOSS) for one in found.of(section) if one.object.name in changes]
    said = " ".join(found.unfollowed)
    assert "whether pods of Deployment shop/web would find another node: the scheduler mine places them" in said
    assert "whether pods of Deployment data/report would find another node: devices that they claim" in said


# --- shortcuts against plain counting ---------------------------------------------------------------------------------


def now_of(cluster: Cluster) -> RunningCluster:
    return RunningCluster(cluster, running_set(cluster), Premises())


def generated(seed: int) -> Cluster:
    """A few nodes in two zones, and workloads that spread, keep apart or stay together."""
    draw = Random(seed)
    names = [f"n{i}" for i in range(draw.randint(2, 6))]
    items: list[dict[str, Any]] = [_node(name, draw) for name in names]
    for app in ("red", "green", "blue")[: draw.randint(1, 3)]:
        spec = _spec(app, draw)
        pods = [_pod(app, number, draw.choice(names), spec) for number in range(draw.randint(1, 5))]
        meta = {"name": app, "namespace": "shop"}
        template = {"metadata": {"labels": {"app": app}}, "spec": spec}
        wanted = {"replicas": len(pods), "selector": {"matchLabels": {"app": app}}, "template": template}
        items += [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": meta, "spec": wanted}, *pods]
    head = {"apiVersion": "kubesched-lint/v1", "kind": "ClusterSnapshot", "metadata": {"kinds": ["Node", "Pod"]}}
    return load_cluster(objects=[{**head, "items": items}])


def _node(name: str, draw: Random) -> dict[str, Any]:
    labels = {
        "kubernetes.io/hostname": name,
        "topology.kubernetes.io/zone": draw.choice("ab"),
        "disk": draw.choice("xy"),
    }
    taints = [{"key": "own", "value": "", "effect": "NoSchedule"}] if draw.random() < 0.2 else []
    amounts = {"cpu": str(draw.randint(2, 4)), "memory": "8Gi", "pods": "110"}
    meta = {"name": name, "labels": labels}
    spec = {"taints": taints}
    return {"apiVersion": "v1", "kind": "Node", "metadata": meta, "spec": spec, "status": {"allocatable": amounts}}


def _spec(app: str, draw: Random) -> dict[str, Any]:
    chosen = {"matchLabels": {"app": draw.choice(["red", app, app])}}
    key = draw.choice(["kubernetes.io/hostname", "topology.kubernetes.io/zone"])
    term = {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": key, "labelSelector": chosen}]}
    spread = {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": chosen}
    more: dict[str, Any] = draw.choice(
        [
            {},
            {"nodeSelector": {"disk": "x"}},
            {"topologySpreadConstraints": [spread]},
            {"affinity": {"podAntiAffinity": term}},
            {"affinity": {"podAffinity": term}},
        ]
    )
    requests = {"cpu": draw.choice(["500m", "1", "2"])}
    return {"containers": [{"name": "c", "image": "i", "resources": {"requests": requests}}], **more}


def _pod(app: str, number: int, node: str, spec: dict[str, Any]) -> dict[str, Any]:
    owner = {"kind": "ReplicaSet", "name": app, "uid": app, "controller": True}
    meta = {"name": f"{app}-{number}", "namespace": "shop", "labels": {"app": app}, "ownerReferences": [owner]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {**spec, "nodeName": node}}


@pytest.mark.parametrize("seed", range(60))
def test_a_pod_returns_if_a_new_state_without_it_has_a_node(seed: int) -> None:
    cluster = generated(seed)
    now = now_of(cluster)
    plain: dict[str, int] = {}
    for gone in cluster.inventory.pods:
        rest = tuple(bound for bound in cluster.inventory.pods if bound is not gone)
        without = now.lasting.on(replace(cluster, inventory=replace(cluster.inventory, pods=rest)))
        lost = not diagnose(gone.pod, all_running_pods(without).state).feasible
        plain[gone.owner.name if gone.owner else ""] = plain.get(gone.owner.name if gone.owner else "", 0) + lost
    found = {one.object.name: one.pods for one in not_returning(now)}
    assert found == {name: count for name, count in plain.items() if count}


@pytest.mark.parametrize("seed", range(60))
def test_whoever_has_room_by_counting_finds_it_in_a_run(seed: int) -> None:
    """Nothing that counting clears is left over by a run with scores."""
    now = now_of(generated(seed))
    counted = Losses(now)
    for _, nodes in counted.places():
        gone = counted.gone(nodes)
        if counted.has_room(gone, nodes):
            assert list(counted.simulated(nodes, gone)) == []


@pytest.mark.parametrize("name", ["full-next", "full-zones"])
def test_losses_are_proven_only_while_all_of_an_object_are(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each proof places all pods anew; the finding tells nothing of those beside one that fails."""
    asked: dict[ObjectRef, list[bool]] = {}

    def surely(now: RunningCluster, lost: frozenset[str], gone: Any, numbers: Any) -> dict[int, Waits]:
        answers = surely_waiting(now, lost, gone, numbers)
        for number in numbers:
            group, pods = gone[number]
            asked.setdefault(group.ref, []).append(answers[number].pods == pods)
        return answers

    monkeypatch.setattr(losses_module, "surely_waiting", surely)
    now = now_of(load_cluster(text={"c.yaml": running(SHAPES[name].make(30))}))
    told = [*Losses(now)._of("node", Losses(now)._of_nodes())]
    assert {found.object for found in told} == set(asked)
    for found in told:
        assert all(asked[found.object][:-1])
        assert (found.evidence == PROOF) == asked[found.object][-1]


def test_too_few_domains_may_close_the_emptiest_one() -> None:
    spread = {"maxSkew": 1, "minDomains": 3, "topologyKey": "topology.kubernetes.io/zone"}
    spread |= {"whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"app": "red"}}}
    spec = {"containers": [{"name": "c", "image": "i"}], "topologySpreadConstraints": [spread]}
    items = [_node(name, Random(3)) for name in "abc"]
    for node in items:
        node["spec"], node["metadata"]["labels"]["topology.kubernetes.io/zone"] = {}, node["metadata"]["name"]
    items += [_pod("red", number, name, spec) for number, name in enumerate("abc")]
    head = {"apiVersion": "kubesched-lint/v1", "kind": "ClusterSnapshot", "metadata": {"kinds": ["Node", "Pod"]}}
    losses = Losses(now_of(load_cluster(objects=[{**head, "items": items}])))
    nodes = dict(losses.places())["a"]
    gone = losses.gone(nodes)
    assert not losses.has_room(gone, nodes)
    assert [left.pods for left in losses.simulated(nodes, gone)] == [1]


def test_a_lost_pod_that_waits_for_another_is_tried_again() -> None:
    """The first pod must be near the second, which comes back after it."""
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "second"}}}
    near = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    plain: dict[str, Any] = {"containers": [{"name": "c", "image": "i"}]}
    items = [_node(name, Random(3)) for name in "ab"]
    for node in items:
        node["spec"] = {}
    items += [_pod("first", 0, "a", {**plain, "affinity": near}), _pod("second", 0, "a", plain)]
    head = {"apiVersion": "kubesched-lint/v1", "kind": "ClusterSnapshot", "metadata": {"kinds": ["Node", "Pod"]}}
    losses = Losses(now_of(load_cluster(objects=[{**head, "items": items}])))
    nodes = dict(losses.places())["a"]
    assert list(losses.simulated(nodes, losses.gone(nodes))) == []


@pytest.mark.parametrize("first", range(0, 40, 10))
def test_what_is_proven_of_a_loss_waits_in_every_drawn_order(first: int) -> None:
    """Lost pods come in any order, each on any node that fits."""
    proven = 0
    for seed in range(first, first + 10):
        now = now_of(generated(seed))
        losses = Losses(now)
        for name, nodes in losses.places():
            gone = losses.gone(nodes)
            lost = frozenset(now.lasting.names(nodes))
            sure = surely_waiting(now, lost, gone, range(len(gone)))
            state = all_running_pods(now.without(lost)).state
            for draw in range(4):
                waiting = _one_order([(group.pod, count) for group, count in gone], state, Random(f"{name} {draw}"))
                assert all(waits.pods <= waiting[number] for number, waits in sure.items()), (seed, name)
            proven += sum(waits.pods for waits in sure.values())
    assert proven > 10


@pytest.mark.parametrize("first", range(0, 40, 20))
def test_no_search_is_begun_where_a_run_shows_that_it_proves_nothing(
    first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, original = [], proving.timeline_of

    def noted(*args: Any, **more: Any) -> Any:
        begun.append(more["most_states"] > 0)
        return original(*args, **more)

    monkeypatch.setattr(proving, "timeline_of", noted)
    told: list[dict[int, int]] = []
    searches = []
    for runs in (proving.RUNS, 0):
        monkeypatch.setattr(proving, "RUNS", runs)
        for seed in range(first, first + 20):
            now = now_of(generated(seed))
            losses = Losses(now)
            for _, nodes in losses.places():
                gone = losses.gone(nodes)
                sure = surely_waiting(now, frozenset(now.lasting.names(nodes)), gone, range(len(gone)))
                told.append({number: waits.pods for number, waits in sure.items()})
        searches.append(sum(begun))
        begun.clear()
    half = len(told) // 2
    assert told[:half] == told[half:]
    assert 0 < searches[0] < searches[1] / 2


def _one_order(gone: list[tuple[Pod, int]], state: ClusterState, random: Random) -> Counter[int]:
    """How many pods of each kind wait in the end."""
    left = [number for number, (_, count) in enumerate(gone) for _ in range(count)]
    mark, tried = state.mark(), -1
    while tried != len(left):
        tried = len(left)
        random.shuffle(left)
        left = [number for number in left if not _is_bound(gone[number][0], state, random)]
    state.undo(mark)
    return Counter(left)


def _is_bound(pod: Pod, state: ClusterState, random: Random) -> bool:
    fits = list(positions(diagnose(pod, state).feasible))
    if fits:
        bind(pod, random.choice(fits), state)
    return bool(fits)


def test_recorded_losses_end_as_proven() -> None:
    """A part of the recordings; ``python -m tests.audit.recorded FILE`` takes whole files."""
    found = list(islice(compared(ROOT / "fixtures" / "conformance" / "lifecycles-wide-2.jsonl.gz"), 40))
    asked = [one for one in found if not isinstance(one, str)]
    assert not [one for one in asked if one.is_wrong]
    assert [one.said for one in asked] == [one.recorded for one in asked]
    assert sum(one.proven for one in asked) > 5
    assert any(one.is_counted for one in asked)


def test_the_lost_pods_of_a_stateful_set_are_counted_together() -> None:
    """They differ by their claims, and a volume keeps each of them in the lost zone."""
    nodes = [_node(name, Random(1)) for name in ("n0", "n1", "n2")]
    for node, zone in zip(nodes, "aab", strict=True):
        node["metadata"]["labels"] |= {"topology.kubernetes.io/zone": zone}
        node["spec"] = {}
    claim = {
        "metadata": {"name": "d"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    made = workload("StatefulSet", "db", 3, volumeClaimTemplates=[claim])
    stands = {"bound": {"n0": 2, "n1": 1}, "pending": {}}
    cluster = cluster_of([*nodes, *standing(made, stands, {n["metadata"]["name"]: n for n in nodes})])
    (found,) = (one for one in audit(cluster, Options(), Rulebook.shipped()).of(LOSS) if one.evidence != "fact")
    assert (found.evidence, found.pods) == ("proof", 3)
    assert found.message == "3 pods of StatefulSet default/db find no other node after the loss of zone a"


def test_a_budget_without_pods_blocks_no_drain() -> None:
    cluster = read_cluster(str(AGED))
    (budget,) = cluster.inventory.budgets
    label = Requirement("app", "In", ("cach",))
    strayed = replace(budget, name="cache", selector=Selector((label,)), source=None)
    both = replace(cluster.inventory, budgets=(budget, strayed))
    found = audit(replace(cluster, inventory=both), Options(), Rulebook.shipped())
    assert [one.section for one in found.findings if one.rule == "budget-selects-nothing"] == [RULES]
