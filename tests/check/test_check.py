"""What ``check`` says of an apply on a live cluster: what starts, how it ends, what blocks, and what scales outside."""

from __future__ import annotations

import copy
import json
import re
from typing import Any

import pytest

from tests.check.live import Live, Value, autoscaler, budget, deployment, node, running, stored
from tests.program import called

FIXED = ("--node-groups", "complete")
PER_ZONE = {
    "affinity": {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "topology.kubernetes.io/zone", "labelSelector": {"matchLabels": {"app": "web"}}}
            ]
        }
    }
}


def first_line(done: Any) -> str:
    return done.stdout.splitlines()[0] if done.stdout else done.stderr


def test_what_runs_as_written_starts_nothing(live: Live) -> None:
    """Though the API server has filled in defaults."""
    web = deployment("web")
    live.holds(*running(stored(web)))
    live.apply(web)
    done = live.check(*FIXED)
    assert (done.returncode, first_line(done)) == (0, "passes: this apply starts nothing")
    assert "1 workload runs as written" in done.stdout


def test_a_new_image_alone_is_a_rollout(live: Live) -> None:
    """A snapshot does not hold what scheduling does not read; the live template does."""
    live.holds(*running(stored(deployment("web"))))
    new = deployment("web")
    new["spec"]["template"]["spec"]["containers"][0]["args"] = ["--verbose", "hunter2"]
    live.apply(new)
    done = live.check(*FIXED)
    assert (done.returncode, first_line(done)) == (0, "passes: 1 workload is rolled out"), done.stdout
    assert "this apply and rollout: ok" in done.stdout
    assert "hunter2" not in done.stdout + done.stderr


def test_a_rollout_without_room_for_its_surge_is_blocked(live: Live) -> None:
    live.lacks_room_for_a_surge()
    done = live.check(*FIXED)
    assert done.returncode == 1, done.stdout
    assert first_line(done) == "blocked: 1 workload must not be applied (shop/web)"
    assert "blocks: this apply: fails (stuck)" in done.stdout


def test_what_is_new_and_fits_nowhere_is_blocked_and_names_the_line(live: Live) -> None:
    live.holds()
    live.apply(deployment("web", 4, **PER_ZONE))
    done = live.check(*FIXED)
    assert (done.returncode, first_line(done)) == (1, "blocked: 1 workload must not be applied (shop/web)")
    assert "blocks: this apply: fails (3/4)" in done.stdout
    assert "(apps.yaml:1)" in done.stdout
    assert "help (anti-affinity-exceeds-domains): " in done.stdout


def test_an_old_fault_that_this_apply_does_not_touch_does_not_block(live: Live) -> None:
    """``lint`` has an error about web, which runs so for months; this apply rolls out something else."""
    web, api = deployment("web", 4, **PER_ZONE), deployment("api")
    live.holds(*running(stored(web)), *running(stored(api)))
    live.apply(web, deployment("api", image="registry.example.com/app:2"))
    found = live.value(*FIXED)
    assert (found["verdict"], found["unchanged"]) == ("passes", 1)
    assert [one["object"]["name"] for one in found["workloads"]] == ["api"]


def test_scaling_beyond_the_nodes_is_blocked_and_a_pool_may_help(live: Live) -> None:
    live.holds(*running(stored(deployment("web", 2, cpu="3"))))
    live.apply(deployment("web", 5, cpu="3"))
    assert live.value(*FIXED)["verdict"] == "blocked"
    group = '{name = "more", machine = "m6i.xlarge", zones = ["a"]}'
    found = live.value(*FIXED, configuration=f"declared-groups = [{group}]\n")
    assert found["verdict"] == "passes", found
    assert found["nodes"], found


def test_a_maximum_that_does_not_fit_comes_later_and_blocks_where_it_must_be_survived(live: Live) -> None:
    web = deployment("web", None)
    live.holds(*running(stored(web, 2)), autoscaler("web", 4))
    live.apply(web, autoscaler("web", 50))
    done = live.check(*FIXED)
    assert done.returncode == 0
    assert "HPA max, later: fails" in done.stdout, done.stdout
    assert live.value(*FIXED, configuration='survive = ["hpa-max"]\n')["verdict"] == "blocked"


def test_an_autoscaler_alone_is_judged_with_what_runs(live: Live) -> None:
    """The Deployment is in other files."""
    live.holds(*running(stored(deployment("web"))))
    live.apply(autoscaler("web", 50))
    found = live.value(*FIXED, configuration='survive = ["hpa-max"]\n')
    assert found["verdict"] == "blocked", found
    assert [one["object"]["name"] for one in found["workloads"]] == ["web"]


def test_a_budget_that_stops_every_drain_is_told(live: Live) -> None:
    web = deployment("web", 3)
    live.holds(*running(stored(web)))
    live.apply(web, budget("web", maxUnavailable=0))
    done = live.check(*FIXED)
    assert done.returncode == 0
    assert "drain, later: fails" in done.stdout, done.stdout


def test_what_an_autoscaler_and_kubectl_have_scaled_is_known(live: Live) -> None:
    web, api = deployment("web", 2), deployment("api", 1)
    live.holds(*running(stored(web, 4)), autoscaler("web", 6), *running(stored(api, 3, scaled_by="kubectl")))
    live.apply(web, api)
    found = live.value(*FIXED)
    scaled = {one["object"]["name"]: (one["running"], one["written"], one["by"]) for one in found["scaledOutside"]}
    assert scaled == {"web": (4, 2, "HorizontalPodAutoscaler shop/web"), "api": (3, 1, "kubectl")}
    events = {one["object"]["name"]: [event["event"] for event in one["events"]] for one in found["workloads"]}
    assert "scale-to-4" in events["web"]
    text = live.check(*FIXED).stdout
    assert "api has 3 replicas by kubectl, and this apply sets 1" in text
    assert "4 pods, as its autoscaler has now" in text


def test_what_fails_on_these_nodes_only_blocks_if_asked(live: Live) -> None:
    """Nobody says that there is no further node group, and an autoscaler makes nodes."""
    live.holds(*(node(zone, group="general") for zone in "abc"))
    live.apply(deployment("web", 1, cpu="5"))
    done = live.check()
    assert (done.returncode, "fails here" in done.stdout) == (0, True), done.stdout
    assert live.check("--fail-on", "warning").returncode == 1
    assert live.check("--fail-on", "never", *FIXED).returncode == 0


def test_a_waived_error_does_not_block_and_is_told(live: Live) -> None:
    live.holds()
    web = deployment("web", 4, **PER_ZONE)
    rules = "anti-affinity-exceeds-domains", "resource-insufficient-free"
    web["metadata"]["annotations"] = {f"ignore.kubesched-lint.io/{rule}": "three suffice" for rule in rules}
    live.apply(web)
    done = live.check(*FIXED)
    assert done.returncode == 0, done.stdout
    assert "waived: three suffice" in done.stdout


@pytest.mark.parametrize("form", ["text", "json", "markdown"])
def test_each_format_has_the_answer(live: Live, form: str) -> None:
    live.holds()
    live.apply(deployment("web", 4, **PER_ZONE))
    done = live.check("-f", form, *FIXED)
    assert done.returncode == 1
    assert "1 workload must not be applied" in done.stdout
    if form == "markdown":
        assert done.stdout.startswith("<!-- kubesched-lint check -->\n### ⛔ blocked: ")


def test_the_first_line_says_where_a_file_cannot_be_read(live: Live) -> None:
    live.holds()
    (live.folder / "apps.yaml").write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: a\nspec: [\n")
    done = live.check(*FIXED)
    assert done.returncode == 2
    assert re.match(r"nothing can be said: apps\.yaml:\d+:\d+: not YAML", first_line(done))


def test_a_file_name_hides_no_cell_of_the_comment(live: Live) -> None:
    live.holds()
    live.apply(deployment("web", 4, **PER_ZONE))
    (live.folder / "apps.yaml").rename(live.folder / "a|b.yaml")
    done = called("check", "a|b.yaml", "-c", "live", "-f", "markdown", *FIXED, cwd=live.folder)
    (row,) = (line for line in done.stdout.splitlines() if line.startswith("| **"))
    assert "blocks: this apply" in re.split(r"(?<!\\)\|", row)[3]


def blocked(live: Live, **annotations: str) -> None:
    live.holds()
    web = deployment("web", 4, **PER_ZONE)
    web["metadata"]["annotations"] = annotations
    live.apply(web)


def test_in_shadow_nothing_blocks_and_a_line_counts_what_would_have(live: Live) -> None:
    blocked(live)
    done = live.check(*FIXED, configuration="shadow = true\n")
    assert done.returncode == 0
    assert first_line(done) == "shadow: this would have been blocked: 1 workload must not be applied (shop/web)"
    assert "shadow: 1 thing would have blocked (shop/web); exit 0" in done.stdout
    assert "makes the gate weaker: shadow = true" in done.stderr
    found = live.value(*FIXED, configuration="shadow = true\n")
    assert found["wouldHaveBlocked"] == [{"kind": "Deployment", "namespace": "shop", "name": "web"}]
    assert (found["verdict"], found["exitCode"]) == ("blocked", 0)


@pytest.mark.parametrize("form", ["text", "json", "markdown"])
def test_broken_glass_lets_it_pass_and_every_report_says_why(live: Live, form: str) -> None:
    blocked(live)
    done = live.check(*FIXED, "--break-glass", "INC-42: the shop is down", "-f", form)
    assert (done.returncode, "INC-42: the shop is down" in done.stdout) == (0, True)
    blocked(live, **{"kubesched-lint.io/break-glass": "INC-43: agreed with ops"})
    done = live.check(*FIXED, "-f", form)
    assert (done.returncode, "INC-43: agreed with ops" in done.stdout) == (0, True), done.stdout


def test_glass_is_broken_for_a_reason(live: Live) -> None:
    blocked(live)
    done = live.check(*FIXED, "--break-glass", " ")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--break-glass takes the reason" in done.stderr


def test_what_a_baseline_knows_does_not_block(live: Live) -> None:
    blocked(live)
    done = called("baseline", "write", "apps.yaml", "-c", "live", *FIXED, cwd=live.folder)
    assert done.returncode == 0, done.stderr
    done = live.check(*FIXED, "--baseline", "kubesched-baseline.json")
    assert (done.returncode, "known in the baseline" in done.stdout) == (0, True), done.stdout


# --- what the API server refuses to change ----------------------------------------------------------------------------


def stateful(storage: str = "1Gi") -> Value:
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": storage}}}
    template = deployment("db")["spec"]["template"]
    spec = {"replicas": 1, "serviceName": "db", "selector": {"matchLabels": {"app": "db"}}, "template": template}
    spec["volumeClaimTemplates"] = [{"metadata": {"name": "data"}, "spec": claim}]
    meta = {"name": "db", "namespace": "shop"}
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": meta, "spec": spec}


def relabelled(**annotations: str) -> Value:
    """The Deployment web with another selector."""
    web = deployment("web")
    web["spec"]["selector"] = {"matchLabels": {"app": "web", "tier": "front"}}
    web["spec"]["template"]["metadata"]["labels"] = {"app": "web", "tier": "front"}
    web["metadata"]["annotations"] = annotations
    return web


def test_a_change_that_the_api_server_refuses_is_blocked(live: Live) -> None:
    live.holds(*running(stored(deployment("web"))))
    live.apply(relabelled())
    done = live.check(*FIXED)
    assert (done.returncode, first_line(done)) == (1, "blocked: 1 workload must not be applied (shop/web)")
    assert "blocks: the API server refuses to change spec.selector" in done.stdout
    assert live.value(*FIXED)["workloads"][0]["blocks"]
    live.holds(stored(stateful("1024Mi")))
    live.apply(stateful())
    assert "refuses to change" not in live.check(*FIXED).stdout  # the same amount
    live.apply(stateful("2Gi"))
    assert "blocks: the API server refuses to change spec.volumeClaimTemplates" in live.check(*FIXED).stdout


def test_what_a_manifest_leaves_open_stays_as_it_was_created(live: Live) -> None:
    """Its creator wrote Parallel, or a webhook did: an apply of files without the field sends none."""
    parallel = stateful()
    parallel["spec"]["podManagementPolicy"] = "Parallel"
    live.holds(stored(parallel))
    live.apply(stateful())
    assert "refuses to change" not in live.check(*FIXED).stdout
    ordered = stateful()
    ordered["spec"]["podManagementPolicy"] = "OrderedReady"
    live.apply(ordered)
    assert "blocks: the API server refuses to change spec.podManagementPolicy" in live.check(*FIXED).stdout


@pytest.mark.parametrize(
    ("note", "value"),
    [
        ("argocd.argoproj.io/sync-options", "Prune=false, Force=true"),
        ("kustomize.toolkit.fluxcd.io/force", "Enabled"),
        ("helm.sh/hook", "pre-upgrade"),
        ("kubesched-lint.io/break-glass", "deleted by hand before"),
    ],
)
def test_what_is_made_anew_by_its_tool_is_not_refused(live: Live, note: str, value: str) -> None:
    live.holds(*running(stored(deployment("web"))))
    live.apply(relabelled(**{note: value}))
    done = live.check(*FIXED)
    assert (done.returncode, "blocks:" in done.stdout) == (0, False), done.stdout


def test_another_template_of_a_job_blocks_only_if_asked(live: Live) -> None:
    """A webhook may have changed it when it was created, and would again."""
    meta = {"name": "migrate", "namespace": "shop"}
    template = {**deployment("migrate")["spec"]["template"]}
    template["spec"] = {**template["spec"], "restartPolicy": "Never"}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": {"template": template}}
    live.holds()
    for path in ("/apis/batch/v1/jobs", "/apis/batch/v1/namespaces/shop/jobs"):
        live.server.extra[path] = 200, {"metadata": {}, "items": [copy.deepcopy(job)]}
    template["spec"]["containers"] = [{**template["spec"]["containers"][0], "image": "registry.example.com/app:2"}]
    live.apply(job)
    done = live.check(*FIXED)
    assert (done.returncode, first_line(done)) == (
        0,
        "passes: 1 workload is replaced; 1 workload may end badly (shop/migrate)",
    )
    assert live.check("--fail-on", "warning", *FIXED).returncode == 1


def test_a_namespace_that_does_not_exist_is_told(live: Live) -> None:
    """No error: Helm and Argo CD can create it."""
    live.holds()
    web = deployment("web")
    web["metadata"]["namespace"] = "new"
    live.apply(web)
    note = "the namespace new does not exist: unless it is created first, the API server refuses Deployment new/web"
    done = live.check(*FIXED)
    assert (done.returncode, f"note: {note}" in done.stdout) == (0, True), done.stdout
    live.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "new"}}, web)
    assert "does not exist" not in live.check(*FIXED).stdout


# --- plan --against-cluster -------------------------------------------------------------------------------------------


def test_plan_against_a_live_cluster_asks_for_whole_templates_too(live: Live) -> None:
    """An argument is not among what a snapshot keeps: without it, plan said that nothing is rolled out."""
    live.holds(*running(stored(deployment("web"))))
    live.apply(deployment("web"))
    command = ("plan", "--against-cluster", "apps.yaml", "-c", "live", "-f", "json", *FIXED)
    assert json.loads(called(*command, cwd=live.folder).stdout)["isEmpty"]
    new = deployment("web")
    new["spec"]["template"]["spec"]["containers"][0]["args"] = ["--verbose"]
    live.apply(new)
    (one,) = json.loads(called(*command, cwd=live.folder).stdout)["workloads"]
    assert one["actions"] == ["rolled out"]


def test_no_row_is_left_out_where_plan_would_leave_some_out(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kubesched_lint.commands.plan.scenes.MOST_CELLS", 1)
    monkeypatch.setattr("kubesched_lint.commands.plan.scenes.most_rows", lambda nodes, most: 1)
    live.holds(*running(stored(deployment("web"))), *running(stored(deployment("api"))))
    live.apply(*(deployment(name, image="registry.example.com/app:2") for name in ("web", "api")))
    found = live.value(*FIXED)
    assert [bool(one["events"]) for one in found["workloads"]] == [True, True]
    assert not any("were compared" in note for note in found["notes"])


def test_a_placement_is_made_only_where_somebody_may_move(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without pools and without anybody to evict it tells nothing."""
    monkeypatch.setattr("kubesched_lint.commands.plan.judging.placement", lambda *_: pytest.fail("placed for nothing"))
    live.holds(*running(stored(deployment("web"))))
    live.apply(deployment("web", image="registry.example.com/app:2"))
    assert live.value(*FIXED)["verdict"] == "passes"
