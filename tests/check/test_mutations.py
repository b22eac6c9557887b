"""What webhooks add to pods is learnt from those that run, and counted by every command."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from kubesched_lint.library import fit, lint, load_cluster, simulate
from tests.check.live import Live, Value, container, deployment, node, running, stored
from tests.program import called

FIXED = ("--node-groups", "complete")
PROXY = container("istio-proxy", "250m", "istio/proxyv2:1")


def cluster(*objects: Value, cpu: str = "4") -> Any:
    """The same as a file that kubectl prints; its nodes are all that there are."""
    return load_cluster(objects=[*(node(zone, cpu) for zone in "abc"), *objects], node_groups="complete")


def notes_of(report: Any) -> str:
    return "\n".join(report.summary.notes)


def test_a_sidecar_makes_a_rollout_too_large_and_every_command_knows(live: Live, tmp_path: Path) -> None:
    """Each node has 4 CPU. 3.8 fit as written; with the sidecar, no pod finds a node any more."""
    old = stored(deployment("web", 3, cpu="3"))
    live.holds(*running(old, beside=(PROXY,)))
    new = deployment("web", 3, cpu="3800m")
    live.apply(new)
    done = live.check(*FIXED)
    assert done.returncode == 1, done.stdout
    assert "each pod of shop/web is 250m cpu and 64Mi memory larger than its manifest: istio-proxy" in done.stdout
    assert "4050m" in done.stdout

    known = cluster(*running(old, beside=(PROXY,)))
    report = lint(objects=[new], cluster=known)
    assert [f.severity.word for f in report.findings if f.rule == "resource-exceeds-any-node"] == ["error"]
    assert "250m cpu and 64Mi memory larger than its manifest: istio-proxy" in notes_of(report)
    (deploy,) = simulate(objects=[new], cluster=known, events=["deploy"]).outcomes
    assert (deploy.verdict, deploy.proven) == ("bad", True)
    as_written = lint(objects=[new], cluster=cluster(*running(old)))
    assert "resource-exceeds-any-node" not in {finding.rule for finding in as_written.findings}


def test_lint_with_a_file_tells_it_beside_a_finding(tmp_path: Path) -> None:
    listed = [*map(node, "abc"), *running(stored(deployment("web", 3, cpu="3")), beside=(PROXY,))]
    (tmp_path / "cluster.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": listed}))
    (tmp_path / "web.yaml").write_text(json.dumps(deployment("web", 3, cpu="3800m")))
    done = called("lint", "web.yaml", "-c", "cluster.json", *FIXED, cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert "each pod of shop/web is 250m cpu and 64Mi memory larger than its manifest: istio-proxy" in done.stdout
    why = called("why", "web", "web.yaml", "-c", "cluster.json", *FIXED, cwd=tmp_path)
    assert "4050m" in why.stdout, why.stdout + why.stderr


def test_pods_like_those_that_run_have_their_sidecar(tmp_path: Path) -> None:
    web = stored(deployment("web", 3, cpu="1"))
    known = cluster(*running(web, beside=(container("istio-proxy", "500m"),)))
    assert fit(objects=[deployment("web", 3)], cluster=known, like="web").counts.most == 3


def test_other_requests_are_learnt_and_a_manifest_that_changes_them_wins() -> None:
    """A VPA or a policy engine has set 3 CPU where the template says 1."""
    web = stored(deployment("web", 2))
    known = cluster(*running(web, containers=[container("app", "3")]))
    same = lint(objects=[deployment("web", 2, image="registry.example.com/app:1")], cluster=known)
    assert "each pod of shop/web is 2 cpu larger than its manifest: other requests of app" in notes_of(same)
    changed = lint(objects=[deployment("web", 2, cpu="2")], cluster=known)
    assert "larger than its manifest" not in notes_of(changed)
    assert "something changes requests of app in the pods of shop/web, which is not counted" in notes_of(changed)


def test_a_selector_and_tolerations_of_a_policy_engine_count() -> None:
    """A policy puts the pods on a pool that has two nodes: a third pod per node has no place there."""
    pool = [node(zone) for zone in "ab"]
    for one in pool:
        one["metadata"]["labels"]["pool"] = "shop"
        one["spec"] = {"taints": [{"key": "pool", "value": "shop", "effect": "NoSchedule"}]}
    added = {
        "nodeSelector": {"pool": "shop"},
        "tolerations": [{"key": "pool", "operator": "Exists", "effect": "NoSchedule"}],
    }
    web = stored(deployment("web", 2, cpu="3"))
    objects = [*pool, node("c"), *running(web, **added)]
    known = load_cluster(objects=objects, node_groups="complete")
    (deploy,) = simulate(objects=[deployment("web", 3, cpu="3")], cluster=known, events=["deploy"]).outcomes
    assert (deploy.text, deploy.proven) == ("2/3 −1", True)


def test_what_a_limit_range_fills_in_is_no_mutation() -> None:
    limits = {"type": "Container", "defaultRequest": {"cpu": "500m"}, "default": {"cpu": "1"}}
    ranges = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "l", "namespace": "shop"}}
    web = stored(deployment("web", 2))
    plain = web["spec"]["template"]["spec"]["containers"][0]
    plain["resources"] = {}
    filled = {**plain, "resources": {"requests": {"cpu": "500m"}, "limits": {"cpu": "1"}}}
    known = cluster(*running(web, containers=[filled]), {**ranges, "spec": {"limits": [limits]}})
    assert "larger than its manifest" not in notes_of(lint(objects=[deployment("web", 2)], cluster=known))


def test_old_pods_teach_nothing_about_a_new_template() -> None:
    """The image in the template is not that of the pods: they are of an older revision, or of nobody."""
    web = stored(deployment("web", 2, image="registry.example.com/app:9"))
    known = cluster(*running(web, containers=[container("app", "1"), PROXY]))
    assert "larger than its manifest" not in notes_of(lint(objects=[deployment("web", 2)], cluster=known))


def test_a_new_workload_of_a_namespace_gets_what_all_others_have_but_no_error_rests_on_it() -> None:
    pods = [*running(stored(deployment("a")), beside=(PROXY,)), *running(stored(deployment("b")), beside=(PROXY,))]
    known = cluster(*pods)
    new = deployment("web", 1, cpu="3800m")
    report = lint(objects=[new], cluster=known)
    assert "istio-proxy, as the pods of shop/a, shop/b" in notes_of(report)
    found = [f for f in report.findings if f.rule == "resource-exceeds-any-node"]
    assert [f.severity.word for f in found] == ["warning"], report.findings
    assert any("as those of shop/a, shop/b have" in premise for premise in found[0].evidence.assumes)
    too_large = lint(objects=[deployment("web", 1, cpu="5")], cluster=known)
    assert [f.severity.word for f in too_large.findings if f.rule == "resource-exceeds-any-node"] == ["error"]


@pytest.mark.parametrize("label", ["sidecar.istio.io/inject", "linkerd.io/inject"])
def test_pods_that_opt_out_are_left_alone(label: str) -> None:
    pods = [*running(stored(deployment("a")), beside=(PROXY,)), *running(stored(deployment("b")), beside=(PROXY,))]
    new = deployment("web", 1, cpu="3800m")
    new["spec"]["template"]["metadata"]["labels"][label] = "disabled"
    assert "istio-proxy" not in notes_of(lint(objects=[new], cluster=cluster(*pods)))


def test_a_sidecar_without_requests_is_refused_by_a_quota_that_asks_for_them() -> None:
    hard = {"hard": {"requests.cpu": "20"}}
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "shop"}}
    bare = {"name": "agent", "image": "agent:1"}
    known = cluster(*running(stored(deployment("web")), beside=(bare,)), {**quota, "spec": hard, "status": hard})
    (deploy,) = simulate(objects=[deployment("web", 4)], cluster=known, events=["deploy"]).outcomes
    assert "agent" in deploy.message or deploy.verdict == "unknown", json.dumps(deploy.message)


def learnt(*objects: Value) -> tuple[str, ...]:
    """What the pods of the first workload of a cluster teach."""
    known = cluster(*objects)
    found = known.mutations.of(known.inventory.workloads[0])
    return () if found is None else found.names


def is_error(new: Value, known: Any) -> bool:
    """Whether ``lint`` and ``simulate`` are sure that the deploy ends badly."""
    (deploy,) = simulate(objects=[new], cluster=known, events=["deploy"]).outcomes
    is_proven = deploy.verdict == "bad" and deploy.proven
    errors = [finding for finding in lint(objects=[new], cluster=known).findings if finding.severity.word == "error"]
    assert bool(errors) == is_proven, (deploy.text, errors)
    return is_proven


# --- pods that another template has made teach nothing ----------------------------------------------------------------


def test_pods_of_a_paused_deployment_teach_nothing() -> None:
    """Somebody pauses it and lowers its request: its pods and their ReplicaSet have the old one."""
    live, *others = running(stored(deployment("web", cpu="3")))
    live = copy.deepcopy(live)
    live["spec"] |= {"paused": True, "template": stored(deployment("web", cpu="100m"))["spec"]["template"]}
    assert learnt(live, *others) == ()
    assert learnt(*running(stored(deployment("web", cpu="100m")), containers=[container("app", "3")])) != ()


def test_pods_of_an_unknown_revision_teach_nothing() -> None:
    """A file without ReplicaSets."""
    live, _, *pods = running(stored(deployment("web")), beside=(PROXY,))
    assert learnt(live, *pods) == ()


def stateful(written: Value, **strategy: Any) -> list[Value]:
    """A StatefulSet whose two pods of one revision request 3 CPU, whatever its template says."""
    made = stored(written)
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": "d-web", "controller": True}
    pods = [one for one in running(made, containers=[container("app", "3")]) if one["kind"] == "Pod"]
    for number, pod in enumerate(pods):
        labels = {"app": "web", "controller-revision-hash": "1", "apps.kubernetes.io/pod-index": str(number)}
        pod["metadata"] |= {"name": f"web-{number}", "labels": labels, "ownerReferences": [owner]}
    spec = {**made["spec"], "serviceName": "web", "updateStrategy": {"type": "RollingUpdate", **strategy}}
    return [{**made, "kind": "StatefulSet", "spec": spec}, *pods]


@pytest.mark.parametrize("strategy", [{"type": "OnDelete"}, {"rollingUpdate": {"partition": 1}}])
def test_pods_that_no_rollout_replaces_teach_nothing(strategy: Value) -> None:
    web = deployment("web", cpu="100m")
    assert learnt(*stateful(web, **strategy)) == ()
    assert learnt(*stateful(web)) == ("other requests of app",)


@pytest.mark.parametrize("fault", ["not ready", "two revisions"])
def test_pods_amid_a_rollout_teach_nothing(fault: str) -> None:
    """A rollout that waits for a broken pod may have replaced none."""
    web = deployment("web", cpu="100m")
    live, first, second = stateful(web)
    if fault == "not ready":
        second["status"]["conditions"] = [{"type": "Ready", "status": "False"}]
    else:
        second["metadata"]["labels"]["controller-revision-hash"] = "2"
    assert learnt(live, first, second) == ()


def test_a_limit_range_that_was_another_one_is_no_mutation() -> None:
    """The pods were made when it filled in 3 CPU; now it fills in 100m."""
    entry = {"type": "Container", "defaultRequest": {"cpu": "100m"}}
    ranges = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "l", "namespace": "shop"}}
    web = deployment("web")
    web["spec"]["template"]["spec"]["containers"][0]["resources"] = {}
    pods = running(stored(web), containers=[container("app", "3")])
    assert learnt(*pods, {**ranges, "spec": {"limits": [entry]}}) == ("other requests of app",), "of memory"
    entry["defaultRequest"]["memory"] = "1Gi"
    assert learnt(*pods, {**ranges, "spec": {"limits": [entry]}}) == ()


# --- what is left of it for a manifest --------------------------------------------------------------------------------


def test_a_note_tells_nothing_that_the_manifest_says_itself() -> None:
    web = stored(deployment("web"))
    own = deployment("web")
    own["spec"]["template"]["spec"]["containers"].append(PROXY)
    resized = cluster(*running(web, containers=[container("app", "3")]))
    for new, known in ((own, cluster(*running(web, beside=(PROXY,)))), (deployment("web", cpu="2"), resized)):
        assert "its manifest" not in notes_of(lint(objects=[new], cluster=known))


@pytest.mark.parametrize("is_first", [True, False])
def test_an_added_sidecar_runs_beside_the_init_containers_after_it(*, is_first: bool) -> None:
    """The nodes have 4 CPU: 3.9 for an init container and 250m for a sidecar that starts before it are too much."""
    large = container("large", "3900m")
    side = {**container("side", "250m"), "restartPolicy": "Always"}
    order = [side, large] if is_first else [large, side]
    known = cluster(*running(stored(deployment("web", 2, initContainers=[large])), initContainers=order))
    new = deployment("web", 2, initContainers=[large], image="registry.example.com/app:2")
    assert is_error(new, known) is is_first


# --- what is not certain ----------------------------------------------------------------------------------------------


def test_no_error_rests_on_other_requests() -> None:
    """Somebody has resized the pods in place, or VPA has: the next pods may be as the template says."""
    known = cluster(*running(stored(deployment("web", 1)), containers=[container("app", "3")]))
    assert not is_error(deployment("web", 9), known)
    report = lint(objects=[deployment("web", 9)], cluster=known)
    found = [f for f in report.findings if f.rule.startswith("resource-")]
    assert any("other requests of app, as those that run have" in p for f in found for p in f.evidence.assumes), found
    report = lint(objects=[deployment("web", 99)], cluster=known)
    assert "error" in {finding.severity.word for finding in report.findings}, "as written they are too many, too"


def test_no_error_rests_on_a_sidecar_that_some_of_the_newest_pods_lack() -> None:
    """A webhook that fails lets pods pass as they are."""
    live, revision, *pods = running(stored(deployment("web", 3, cpu="3")), beside=(PROXY,))
    lucky = copy.deepcopy(pods[0])
    lucky["spec"]["containers"].pop()
    new = deployment("web", 2, cpu="3800m")
    findings = lint(objects=[new], cluster=cluster(live, revision, lucky, *pods[1:])).findings
    assert [f.severity.word for f in findings if f.rule == "resource-exceeds-any-node"] == ["warning"]


def test_the_pods_of_a_stateful_set_show_one_mutation() -> None:
    """Although their labels differ."""
    known = cluster(*stateful(deployment("web")))
    found = known.mutations.of(known.inventory.workloads[0])
    assert (found.pods, found.is_expected) == (2, False)


@pytest.mark.parametrize("place", ["labels", "annotations"])
def test_a_manifest_that_opts_out_gets_nothing(place: str) -> None:
    new = deployment("web", 2, cpu="3800m")
    new["spec"]["template"]["metadata"].setdefault(place, {})["sidecar.istio.io/inject"] = "false"
    known = cluster(*running(stored(deployment("web", 2, cpu="3")), beside=(PROXY,)))
    assert "istio-proxy" not in notes_of(lint(objects=[new], cluster=known))
    assert not is_error(new, known)


def test_no_error_rests_on_what_a_webhook_does_with_another_annotation() -> None:
    new = deployment("web", 2, cpu="3800m")
    new["spec"]["template"]["metadata"]["annotations"] = {"sidecar.istio.io/proxyCPU": "10m"}
    same = copy.deepcopy(new)
    same["spec"]["template"]["spec"]["containers"] = [container("app", "3")]
    assert not is_error(new, cluster(*running(stored(deployment("web", 2, cpu="3")), beside=(PROXY,))))
    assert is_error(new, cluster(*running(stored(same), beside=(PROXY,))))


@pytest.mark.parametrize("label", ["istio-injection", "other"])
def test_no_error_rests_on_what_a_webhook_does_in_a_changed_namespace(label: str) -> None:
    """Webhooks choose namespaces by their labels; of what the cluster does not show, nobody knows that it stays."""
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": {label: "enabled"}}}
    changed = {**space, "metadata": {"name": "shop"}}
    pods, new = running(stored(deployment("web", 2, cpu="3")), beside=(PROXY,)), deployment("web", 2, cpu="3800m")
    errors = [
        any(one.rule == "resource-exceeds-any-node" and one.severity.word == "error" for one in report.findings)
        for report in (
            lint(objects=[space, new], cluster=cluster(*pods, space)),
            lint(objects=[changed, new], cluster=cluster(*pods, space)),
            lint(objects=[space, new], cluster=cluster(*pods)),
        )
    ]
    assert errors == [True, False, False]


@pytest.mark.parametrize("notes", [{5: True, "inject": ["false"]}, "false", [], None])
def test_annotations_of_any_type_are_no_crash(notes: object) -> None:
    new = deployment("web", 2, cpu="3800m")
    new["spec"]["template"]["metadata"]["annotations"] = notes
    known = cluster(*running(stored(deployment("web", 2, cpu="3")), beside=(PROXY,)))
    lint(objects=[new], cluster=known)
