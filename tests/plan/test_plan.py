"""``plan``: what a change does to each object, which cells and findings change, and the exit code."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, product
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from kubesched_lint import load_cluster
from kubesched_lint.commands.plan import judging
from kubesched_lint.commands.plan.changes import ObjectChange
from kubesched_lint.commands.plan.plan_result import Plan
from kubesched_lint.commands.plan.run import plan
from kubesched_lint.commands.plan.running import as_it_runs
from kubesched_lint.commands.plan.version import Version
from kubesched_lint.custom.kinds import SHIPPED
from kubesched_lint.engine.cluster.nodes.elastic import ClusterOptions
from kubesched_lint.engine.cluster.pods.template import changed_fields, difference
from kubesched_lint.engine.events.answers.cells import BAD, BY_SCORES, DEPENDS, FINE, LIKELY, UNKNOWN, Cell, Range
from kubesched_lint.engine.events.answers.order import BETTER, OTHER, WORSE, differs, direction
from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.engine.model.nodes.node import ZONE
from kubesched_lint.engine.runs.courses import Wanted
from kubesched_lint.engine.runs.judging import VIOLATES
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.linter.linted import Linted
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import ManifestSet, manifest_set
from kubesched_lint.report.html.plan import as_html
from kubesched_lint.report.plan.as_markdown import as_markdown
from kubesched_lint.report.plan.as_text import as_text
from kubesched_lint.sources.clusters.read import read_stated
from kubesched_lint.sources.manifests.loader import documents
from tests.events.simulated import asking, sketch, workload
from tests.plan.changed_worlds import broken, planned, read, rulebook

ROOT = Path(__file__).parents[2]
ZONES = ROOT / "fixtures/clusters/three-zones.yaml"
WEB: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {
                "containers": [
                    {"name": "web", "image": "web:1", "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}}
                ]
            },
        },
    },
}


def web(kind: str = "Deployment", **spec: Any) -> dict[str, Any]:
    value = copy.deepcopy(WEB)
    value["kind"] = kind
    value["spec"].update(spec)
    return value


def with_image(value: dict[str, Any], image: str) -> dict[str, Any]:
    value = copy.deepcopy(value)
    value["spec"]["template"]["spec"]["containers"][0]["image"] = image
    return value


def plan_of(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> Plan:
    return planned(read(before), read(after), read_stated(str(ZONES), ClusterOptions()))


def plan_of_files(before: Mapping[str, str], after: Mapping[str, str]) -> Plan:
    """By path of a file."""
    sides = (
        manifest_set(chain.from_iterable(documents(p, text.encode(), is_read) for p, text in files.items()), "default")
        for files in (before, after)
    )
    return planned(*sides, read_stated(str(ZONES), ClusterOptions()))


def change_of(before: dict[str, Any], after: dict[str, Any]) -> ObjectChange:
    (one,) = plan_of([before], [after]).workloads
    assert one.change is not None
    return one.change


# --- what happens to an object ----------------------------------------------------------------------------------------


def test_a_new_image_is_rolled_out_and_a_new_number_scales() -> None:
    change = change_of(web(), with_image(web(replicas=3), "web:2"))
    assert change.actions == ("rolled out", "scaled")
    assert change.replicas == (2, 3)
    shown = {field.text: (field.before, field.after) for field in change.fields}
    assert shown == {"spec.replicas": ("2", "3"), "spec.template.spec.containers[web].image": ("", "")}


def test_a_default_that_somebody_writes_changes_nothing() -> None:
    after = web()
    after["spec"]["template"]["spec"]["containers"][0]["imagePullPolicy"] = "IfNotPresent"
    after["spec"]["template"]["spec"]["dnsPolicy"] = "ClusterFirst"
    after["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "0.1"
    assert plan_of([web()], [after]).is_empty


def test_a_pull_policy_that_differs_from_the_default_of_its_tag_is_rolled_out() -> None:
    after = web()
    after["spec"]["template"]["spec"]["containers"][0]["imagePullPolicy"] = "Always"
    assert change_of(web(), after).actions == ("rolled out",)


@pytest.mark.parametrize(
    ("before", "after", "action", "remark"),
    [
        (web(), web(selector={"matchLabels": {"app": "web", "tier": "x"}}), "replaced", "refuses to change"),
        (web("StatefulSet"), web("StatefulSet", serviceName="x"), "replaced", "spec.serviceName"),
        (web(paused=True), with_image(web(paused=True), "web:2"), "updated", "paused"),
        (
            web("StatefulSet", updateStrategy={"type": "OnDelete"}),
            with_image(web("StatefulSet", updateStrategy={"type": "OnDelete"}), "web:2"),
            "updated",
            "OnDelete",
        ),
        (web("ReplicaSet"), with_image(web("ReplicaSet"), "web:2"), "updated", "only new pods"),
        (web(), web(minReadySeconds=5), "updated", ""),
    ],
)
def test_not_every_change_is_rolled_out(
    before: dict[str, Any], after: dict[str, Any], action: str, remark: str
) -> None:
    change = change_of(before, after)
    assert change.actions == (action,)
    assert remark in change.remark


def test_the_controller_of_a_custom_resource_decides_what_the_api_server_does_not_know() -> None:
    text = (
        "apiVersion: postgresql.cnpg.io/v1\nkind: Cluster\nmetadata: {name: pg, namespace: shop}\n"
        "spec: {instances: 1, storage: {size: 1Gi, storageClass: fast}}\n"
    )
    cluster = read_stated(str(ZONES), ClusterOptions())

    def sets(*texts: str) -> Iterator[ManifestSet]:
        return (manifest_set(documents("m.yaml", text.encode(), SHIPPED.is_read), "default") for text in texts)

    larger = planned(*sets(text, text.replace("1Gi", "2Gi")), cluster)
    (one,) = larger.workloads
    assert one.change is not None
    assert (one.change.actions, larger.objects) == (("updated",), ())
    assert one.change.remark == "its controller decides what becomes of spec.storage.size"
    unread = planned(*sets(text, text.replace("instances: 1", "instances: x")), cluster)
    assert any("after: Cluster (m.yaml:1) is not read:" in note for note in unread.notes)


def test_no_report_shows_the_value_of_a_variable() -> None:
    before, after = web(), web()
    for value, secret in ((before, "5"), (after, "6")):
        value["spec"]["template"]["spec"]["containers"][0]["env"] = [{"name": "PIN", "value": secret}]
    (field,) = change_of(before, after).fields
    assert (field.text, field.before, field.after) == ("spec.template.spec.containers[web].env[PIN].value", "", "")


def test_a_change_beside_the_workload_is_listed() -> None:
    budget: dict[str, Any] = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "keep", "namespace": "shop"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}},
    }
    strict = {**budget, "spec": {**budget["spec"], "minAvailable": 2}}
    found = plan_of([web(), budget], [web(), strict])
    (change,) = found.objects
    assert (change.actions, change.fields[0].after) == (("updated",), "2")
    (one,) = found.workloads
    assert one.change is None
    assert [(cell.event, cell.direction) for cell in one.cells] == [("drain", WORSE)]
    assert [(b.budget, b.is_new) for b in found.budgets] == [("keep", True)]


def test_a_budget_that_blocked_a_drain_which_no_search_follows_is_told() -> None:
    """Of the side before the change no trace is told; counting says that the budget allowed no eviction."""
    blocking: dict[str, Any] = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "keep", "namespace": "shop"},
        "spec": {"maxUnavailable": 0, "selector": {"matchLabels": {"app": "web"}}},
    }
    lenient = {**blocking, "spec": {**blocking["spec"], "maxUnavailable": 1}}
    many = web(replicas=100)
    found = planned(read([many, blocking]), read([many, lenient]), sketch(4))
    assert [(b.budget, b.is_new) for b in found.budgets] == [("keep", False)]
    (drained,) = found.workloads[0].cells
    assert drained.before is not None
    assert (drained.before.why, drained.before.message) == ("PDB keep allows no eviction", VIOLATES)
    assert drained.before.worst is None


def test_a_change_of_one_workload_concerns_all_whose_pods_its_budget_counts() -> None:
    """A pod of the other one that cannot run is the one that may be missing."""
    budget: dict[str, Any] = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "keep", "namespace": "shop"},
        "spec": {"maxUnavailable": 1, "selector": {}},
    }
    small, large = web(), web()
    for one in (small, large):
        one["metadata"]["name"] = "api"
        one["spec"]["selector"]["matchLabels"]["app"] = "api"
        one["spec"]["template"]["metadata"]["labels"]["app"] = "api"
    large["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "64"}}
    found = plan_of([web(), small, budget], [web(), large, budget])
    (one,) = (w for w in found.workloads if w.object.name == "web")
    assert [(cell.event, cell.direction) for cell in one.cells] == [("drain", WORSE)]


def test_what_one_side_cannot_read_is_neither_created_nor_removed() -> None:
    whole, unread = {"a/web.yaml": json.dumps(web())}, {"a/web.yaml": "kind: ["}
    for before, after, when in ((whole, unread, "after"), (unread, whole, "before")):
        (one,) = plan_of_files(before, after).workloads
        assert one.change is not None
        said = one.change.actions, one.change.remark
        assert said == (("unread on one side",), f"a/web.yaml cannot be read {when} the change")
    wrong = json.dumps(web(selector={"matchLabels": {"app": 1}}))
    found = plan_of_files(whole, {"a/web.yaml": wrong})
    assert ([o.change.actions for o in found.workloads if o.change], found.objects) == ([("unread on one side",)], ())
    assert plan_of_files(unread, unread).is_empty
    assert "no change is known" in as_text(plan_of_files(unread, unread))


def test_what_is_not_established_is_not_called_unaffected() -> None:
    """Which devices the nodes have is in no file."""
    value = web()
    value["spec"]["template"]["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimTemplateName": "gpu"}]
    found = plan_of([value, _template_of_claims(1)], [value, _template_of_claims(2)])
    assert (found.same, found.unknown) == (0, 1)
    assert "1 workload is unknown before and after" in as_text(found)


def _template_of_claims(count: int) -> dict[str, Any]:
    device = {"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com", "count": count}}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "gpu", "namespace": "shop"},
        "spec": {"spec": {"devices": {"requests": [device]}}},
    }


@pytest.mark.parametrize(
    ("key", "stored", "values"),
    [
        ("terminationGracePeriodSeconds", 30, (None, 30, 10)),
        ("dnsPolicy", "ClusterFirst", (None, "ClusterFirst", "Default")),
        ("stdin", None, (None, False, True)),
        ("requests", None, (None, {"cpu": "1"}, {"cpu": "1000m"}, {"cpu": "2"})),
        ("command", None, (None, [], ["a"], ["b"], ["a", "b"])),
    ],
)
def test_plan_and_simulate_agree_on_what_a_new_template_is(key: str, stored: object, values: Sequence[object]) -> None:
    """``difference`` compares with what the API server stores, ``changed_fields`` with what was written before."""
    for before, after in product(values, values):
        live = stored if before in (None, "", False, []) else before
        written = {"spec": {} if after is None else {key: after}}
        is_new = difference(written, {"spec": {} if live is None else {key: live}}) is not False
        assert is_new is any(True for _ in changed_fields({"spec": {key: before}}, written)), (before, after)


# --- worse and better -------------------------------------------------------------------------------------------------


def cell(verdict: str, least: int = 0, most: int = 0, wanted: int = 4) -> Cell:
    return Cell("deploy", verdict, wanted, Range(least, most, "search"))


@pytest.mark.parametrize(
    ("before", "after", "way"),
    [
        (cell(FINE, 4, 4), cell(DEPENDS, 2, 4), WORSE),
        (cell(BAD, 0, 0), cell(DEPENDS, 2, 4), BETTER),
        (None, cell(BAD, 0, 0), WORSE),
        (cell(BAD, 0, 0), None, BETTER),
        (cell(FINE, 4, 4), cell(UNKNOWN, 0, 4), OTHER),
        (cell(UNKNOWN, 0, 4), cell(BAD, 0, 0), OTHER),
        (cell(BAD, 1, 2), cell(BAD, 0, 0), WORSE),
        (cell(BAD, 1, 2), cell(BAD, 0, 1), OTHER),
        (cell(FINE, 4, 4), cell(FINE, 9, 9, 9), OTHER),
        (cell(BAD, 3, 3), cell(BAD, 3, 3, 9), WORSE),
        (cell(DEPENDS, 0, 4), cell(BAD, 0, 4), OTHER),  # only seen to end badly: nothing excludes another end
        (cell(BAD, 0, 3), cell(BAD, 0, 4), BETTER),
    ],
)
def test_worse_is_what_is_established(before: Cell | None, after: Cell | None, way: str) -> None:
    opposite = {WORSE: BETTER, BETTER: WORSE, OTHER: OTHER}
    assert direction(before, after) == way
    assert direction(after, before) == opposite[way]


def test_what_no_trace_shows_any_more_is_no_better_for_that() -> None:
    """Another order may still end badly; a bad end that a trace shows now is told."""
    may_fail = cell(DEPENDS, 2, 4)
    for verdict in (LIKELY, BY_SCORES):
        assert direction(may_fail, cell(verdict, 2, 4)) == OTHER
    for luck in (cell(BY_SCORES, 2, 4), cell(LIKELY, 2, 4)), (cell(LIKELY, 2, 4), cell(BY_SCORES, 2, 4)):
        assert direction(*luck) == OTHER
        assert not differs(*luck)
    assert direction(cell(FINE, 4, 4), cell(BY_SCORES, 2, 4)) == WORSE
    assert direction(may_fail, cell(FINE, 4, 4)) == BETTER
    assert direction(cell(BAD, 0, 3), cell(LIKELY, 2, 4)) == BETTER, "a bound excluded a good end"
    assert direction(cell(LIKELY, 2, 4), may_fail) == WORSE


def test_of_what_ends_well_afterwards_only_a_proven_bad_end_before_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody reads how likely it was that a workload ended well which the change does not touch: no trace tells it."""
    asked, original = [], judging.simulate

    def noted(*args: Any, **more: Any) -> Any:
        effort = args[4]
        asked.append(sorted(ref.name for ref in more["only"] if effort.wanted(ref, "deploy") == Wanted.ALL))
        return original(*args, **more)

    monkeypatch.setattr(judging, "simulate", noted)
    agents = workload("DaemonSet", "agent", None, asking("1"))
    crowd = [workload("Deployment", "crowd", replicas, asking("1")) for replicas in (2, 3)]
    lost = workload("Deployment", "lost", 1, {**asking("100m"), "nodeSelector": {ZONE: "nowhere"}})
    mended = workload("Deployment", "lost", 1, {**asking("100m"), "nodeSelector": {ZONE: "a"}})
    cluster = sketch(10, "abc", "4")
    told = planned(read([agents, crowd[0]]), read([agents, crowd[1]]), cluster)
    assert asked == [["agent", "crowd"], ["crowd"]], "the side after the change first"
    assert [str(each.object) for each in told.workloads] == ["Deployment default/crowd"]
    told = planned(read([agents, crowd[0], lost]), read([agents, crowd[0], mended]), cluster)
    assert [(str(each.object), each.direction) for each in told.workloads] == [("Deployment default/lost", BETTER)]


def test_of_what_only_scores_keep_from_failing_a_proof_before_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three pods cannot fill a node, four may: that the agents were sure of room is news, how likely it was is none."""
    asked, original, scored = [], judging.simulate, []

    def noted(*args: Any, **more: Any) -> Any:
        asked.append({ref.name: args[4].wanted(ref, "deploy") for ref in more["only"]})
        scored.append({ref.name for ref in more["only"] if args[4].tries_scores(ref, "deploy")})
        return original(*args, **more)

    monkeypatch.setattr(judging, "simulate", noted)
    agents = workload("DaemonSet", "agent", None, asking("1"))
    three, four, five = (workload("Deployment", "crowd", replicas, asking("1")) for replicas in (3, 4, 5))
    cluster = sketch(10, "abc", "4")
    told = planned(read([agents, three]), read([agents, four]), cluster)
    assert asked[1] == {"agent": Wanted.COUNTED, "crowd": Wanted.ALL}
    (agent,) = (each for each in told.workloads if each.object.name == "agent")
    (deployed,) = (each for each in agent.cells if each.event == "deploy")
    assert (deployed.direction, deployed.after and deployed.after.verdict) == (WORSE, BY_SCORES)
    assert scored == [{"agent", "crowd"}, set()], "nobody reads other scores of the side before"
    scored.clear()
    told = planned(read([agents, four]), read([agents, five]), cluster)
    assert [str(each.object) for each in told.workloads] == ["Deployment default/crowd"]
    assert scored == [{"crowd"}, set()], "without a proof before, a bad end with other scores is no news"


@pytest.mark.parametrize(
    ("verdict", "is_changed", "wanted"),
    [
        (FINE, False, Wanted.PROVEN_BAD),
        (LIKELY, True, Wanted.ALL),
        (BY_SCORES, False, Wanted.COUNTED),
        (BY_SCORES, True, Wanted.ALL),
        (DEPENDS, False, Wanted.BAD_END),
        (DEPENDS, True, Wanted.BAD_END),
        (BAD, False, Wanted.ALL),
    ],
)
def test_what_is_asked_of_an_end_before_the_change(verdict: str, is_changed: bool, wanted: Wanted) -> None:
    assert judging._compares_with(cell(verdict, 2, 4), is_changed=is_changed) == wanted


@pytest.mark.parametrize("seed", [1, 4, 9])
def test_plans_of_related_changes_agree(seed: int) -> None:
    assert list(broken(seed)) == []


# --- the comment ------------------------------------------------------------------------------------------------------


def test_a_comment_of_a_large_change_stays_within_the_limit_and_counts_the_rest() -> None:
    large = web(replicas=9)
    large["metadata"]["name"] = "@all<b>|`"
    large["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "90"
    found = plan_of([web()], [web(), large])
    comment = as_markdown(replace(found, workloads=found.workloads * 600))
    assert comment.startswith("<!-- kubesched-lint plan -->\n### ⛔ after this change ")
    assert 60_000 < len(comment.encode("utf-16-le")) // 2 <= 65_000
    assert comment.index("| object | change | effect |") < comment.index("that did not fit")
    assert "@all<b>" not in comment


def test_an_empty_plan_is_a_short_comment() -> None:
    comment = as_markdown(plan_of([web()], [web()]))
    assert "no change" in comment
    assert len(comment.splitlines()) < 8


def test_a_terminal_shows_colours_and_lines_that_fit() -> None:
    large = web()
    large["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "90"
    found = plan_of([web()], [large])
    painted, bare = as_text(found, color=True, room=60), as_text(found, room=60)
    assert "\N{SYMBOL FOR ESCAPE}" not in painted
    assert re.sub(r"\x1b\[[\d;]*m", "", painted) == bare
    assert max(map(len, bare.splitlines())) <= 60
    painted, bare = (as_text(found, color=color, room=60, verbose=True) for color in (True, False))
    assert re.sub(r"\x1b\[[\d;]*m", "", painted) == bare
    assert "\n  + error: " in bare
    assert max(map(len, bare.partition("findings:")[2].splitlines())) <= 60


def test_the_page_has_the_plan_and_no_script() -> None:
    large = web()
    large["metadata"]["name"] = "<script>alert(1)</script>"
    large["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "90"
    page = "".join(as_html(plan_of([web()], [with_image(web(), "web:2"), large])))
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "<details>" in page
    assert "rolled out" in page
    assert "default-src 'none'" in page


# --- nodes of pools ---------------------------------------------------------------------------------------------------


def test_nodes_that_a_change_leaves_to_daemonsets_could_be_given_back() -> None:
    """One pod fills a node. The pods of a DaemonSet, of the set or of others, go with their node."""
    labels = {"eks.amazonaws.com/nodegroup": "general", ZONE: "eu-west-1a"}
    status = {"allocatable": {"cpu": "1", "memory": "8Gi", "pods": "110"}}
    nodes = [
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"n{i}", "labels": labels}, "status": status}
        for i in range(4)
    ]
    owned = {"kind": "DaemonSet", "name": "logs", "uid": "d", "controller": True, "apiVersion": "apps/v1"}
    metadata = {"name": "logs-0", "namespace": "infra", "ownerReferences": [owned]}
    spec = {"nodeName": "n0", "containers": [{"name": "logs", "image": "logs:1"}]}
    logs = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": "Running"}}
    agent = web("DaemonSet", selector={"matchLabels": {"app": "agent"}})
    agent["metadata"]["name"] = agent["spec"]["template"]["metadata"]["labels"]["app"] = "agent"
    del agent["spec"]["replicas"]
    sides = []
    for replicas in (4, 1):
        big = web(replicas=replicas)
        big["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "800m"
        sides.append(read([big, agent]))
    found = planned(sides[0], sides[1], load_cluster(objects=[*nodes, logs]))
    assert [str(one) for one in found.idle] == ["3 nodes of pool general in eu-west-1a"]
    assert "autoscalers could give back 3 nodes of pool general in eu-west-1a" in as_text(found)
    assert "autoscalers could no longer give back 3 nodes" in as_text(
        planned(sides[1], sides[0], load_cluster(objects=[*nodes, logs]))
    )


# --- against what runs ----------------------------------------------------------------------------------------------


def live(replicas: int) -> list[dict[str, Any]]:
    """A cluster in which the Deployment of ``web`` runs, as kubectl prints it."""
    stored = web(replicas=replicas)
    stored["metadata"]["uid"] = "d"
    template = stored["spec"]["template"]
    template["spec"].update(restartPolicy="Always", dnsPolicy="ClusterFirst", securityContext={})
    node = {"status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}}}
    nodes = [
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"n{i}", "labels": {}}, **node} for i in range(3)
    ]
    labels = {"app": "web", "pod-template-hash": "abc"}
    owned = {"kind": "Deployment", "name": "web", "uid": "d", "controller": True, "apiVersion": "apps/v1"}
    meta = {"name": "web-abc", "namespace": "shop", "uid": "r", "labels": labels, "ownerReferences": [owned]}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    by = {"kind": "ReplicaSet", "name": "web-abc", "uid": "r", "controller": True, "apiVersion": "apps/v1"}
    pods = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"web-abc-{i}", "namespace": "shop", "labels": labels, "ownerReferences": [by]},
            "spec": {**template["spec"], "nodeName": f"n{i % 3}"},
            "status": {"phase": "Running"},
        }
        for i in range(replicas)
    ]
    return [*nodes, stored, {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": meta, "spec": spec}, *pods]


def against_cluster(manifest: dict[str, Any], *without: str, beside: Sequence[dict[str, Any]] = ()) -> Plan:
    cluster = load_cluster(objects=[*(value for value in live(2) if value["kind"] not in without), *beside])
    after = Version("after", read([manifest]), Options())
    return plan(as_it_runs(after, cluster), after, cluster, rulebook(), ("deploy",), running=True)


def test_what_runs_is_compared_with_what_would_be_applied() -> None:
    assert against_cluster(web(replicas=2)).is_empty
    (one,) = against_cluster(with_image(web(replicas=3), "web:2")).workloads
    assert one.change is not None
    assert (one.change.actions, one.change.replicas) == (("rolled out", "scaled"), (2, 3))
    assert [field.text for field in one.change.fields] == ["spec.template.spec.containers[web].image"]
    other = web()
    other["metadata"]["name"] = "other"
    assert [w.change.actions for w in against_cluster(other).workloads if w.change] == [("created",)]


def test_a_selector_that_runs_cannot_be_changed() -> None:
    value = web(selector={"matchLabels": {"app": "web", "tier": "x"}})
    value["spec"]["template"]["metadata"]["labels"]["tier"] = "x"
    (one,) = against_cluster(value).workloads
    assert one.change is not None
    assert (one.change.actions[0], "spec.selector" in one.change.remark) == ("replaced", True)


def test_a_pod_that_runs_has_no_new_template() -> None:
    spec = {"containers": [{"name": "a", "image": "registry.example.com/a:1"}]}
    bare = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "shop"}, "spec": spec}
    runs = {**bare, "spec": {**spec, "nodeName": "n0"}, "status": {"phase": "Running"}}
    (one,) = against_cluster(bare, beside=[runs]).workloads
    assert one.change is not None
    assert (one.change.actions, one.change.remark) == (("updated",), "the pod keeps its node")


def test_numbers_of_a_budget_that_runs_are_compared() -> None:
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}
    budget: dict[str, Any] = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget"}
    budget |= {"metadata": {"name": "keep", "namespace": "shop"}, "spec": spec}
    cluster = load_cluster(objects=[*live(2), {**budget, "status": {"disruptionsAllowed": 1, "expectedPods": 2}}])
    for least, fields in ((1, []), (2, [("spec.minAvailable", "1", "2")])):
        wanted = {**budget, "spec": {**spec, "minAvailable": least}}
        after = Version("after", read([web(replicas=2), wanted]), Options())
        found = plan(as_it_runs(after, cluster), after, cluster, rulebook(), ("deploy",), running=True)
        assert [(f.text, f.before, f.after) for one in found.objects for f in one.fields] == fields


def test_pods_of_a_workload_that_the_file_does_not_list_are_its_own() -> None:
    """``kubectl get nodes,pods`` lists no Deployment: it is not created, and its template is unknown."""
    (one,) = against_cluster(web(replicas=3), "Deployment", "ReplicaSet").workloads
    assert one.change is not None
    assert (one.change.actions, one.change.replicas) == (("may be rolled out", "scaled"), (2, 3))


def test_both_sides_are_linted_in_the_scenarios_that_were_simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    """What one found out about a scenario, such as the nodes that its pools add, the other must not find out again."""
    scenarios, linted = [], judging.run_rules

    def noted(*given: Any, scenario: Scenario | None, **named: Any) -> Linted:
        scenarios.append(scenario)
        return linted(*given, scenario=scenario, **named)

    monkeypatch.setattr(judging, "run_rules", noted)
    plan_of([web()], [web(replicas=3)])
    assert len(scenarios) == 2
    assert all(scenario is not None and scenario.answers for scenario in scenarios)


def test_each_environment_is_linted_in_the_scenario_that_was_simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of several environments was laid over the cluster and counted for its cells, and again for its findings."""
    simulated: list[Scenario] = []
    linted: list[Scenario] = []
    simulate, run_rules = judging.simulate, judging.run_rules

    def noting_cells(*given: Any, written: Scenario, **named: Any) -> Any:
        simulated.append(written)
        return simulate(*given, written=written, **named)

    def noting_findings(*given: Any, scenario: Scenario, **named: Any) -> Linted:
        linted.append(scenario)
        return run_rules(*given, scenario=scenario, **named)

    monkeypatch.setattr(judging, "simulate", noting_cells)
    monkeypatch.setattr(judging, "run_rules", noting_findings)
    before, after = (
        {
            f"{name}/web.yaml": json.dumps(web(replicas=size))
            for name, size in zip(("prod", "staging"), sizes, strict=True)
        }
        for sizes in ((1, 2), (3, 4))
    )
    plan_of_files(before, after)
    assert len(linted) == 2
    assert len(simulated) == 4
    assert all(any(whole.part(part.manifests) is part for whole in linted) for part in simulated)


def test_what_a_plan_leaves_out_is_said_even_if_nothing_changes() -> None:
    other = with_image(web(replicas=1), "web:2")
    first, second = (json.dumps(value) for value in (web(), other))
    both = {"staging/web.yaml": first, "prod/web.yaml": second}
    found = plan_of_files(both, both)
    assert found.is_empty
    assert any("prod" in note or "staging" in note for note in found.notes), found.notes
    assert found.notes[0] in as_text(found, verbose=True)
    assert "judged staging and prod on" in as_text(found)
