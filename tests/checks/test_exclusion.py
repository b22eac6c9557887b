"""Workloads that exclude one another need a domain each."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubesched_lint import lint, load_cluster

Manifest = dict[str, object]
HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"


def nodes(zones: int, each: int = 1, key: str = HOST) -> str:
    """A sketch; with a ``key`` of one's own, the last node lacks it."""
    head = "apiVersion: kubesched-lint/v1\nkind: ClusterSketch\nnodes:\n"
    more = ", labels: {rack: a}" if key == "rack" else ""
    size = "allocatable: {cpu: '8', memory: 32Gi}"
    names = ", ".join(f"z{number}" for number in range(zones))
    lacking = f"- {{name: bare, zones: [z0], {size}}}\n" if key == "rack" else ""
    return f"{head}- {{name: w, count: {each}, zones: [{names}], {size}{more}}}\n{lacking}"


def deployment(
    name: str, away_from: dict[str, str] | None, replicas: int = 1, key: str = HOST, **labels: str
) -> Manifest:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": away_from}}
    terms = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}} if away_from else {}
    requests = {"requests": {"cpu": "100m", "memory": "64Mi"}}
    spec = {"affinity": terms, "containers": [{"name": "c", "image": "r.example.com/c:1", "resources": requests}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "s"},
        "spec": {
            "replicas": replicas,
            "strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name, **labels}}, "spec": spec},
        },
    }


def alone(count: int, **more: object) -> list[Manifest]:
    """Workloads with one label by which each keeps away from all."""
    return [deployment(f"w{number}", {"set": "solo"}, set="solo", **more) for number in range(count)]  # type: ignore[arg-type]


def found(manifests: list[Manifest], cluster: str, folder: Path) -> list[tuple[str, int | None, int | None]]:
    (folder / "cluster.yaml").write_text(cluster)
    report = lint(objects=manifests, cluster=str(folder / "cluster.yaml"))
    findings = [one for one in report.findings if one.rule == "set-does-not-fit"]
    return [(one.severity.word, one.evidence.demand, one.evidence.supply) for one in findings]


def test_four_on_three_nodes(tmp_path: Path) -> None:
    assert found(alone(4), nodes(3), tmp_path) == [("error", 4, 3)]


def test_three_that_also_exclude_themselves_need_a_node_for_each_pod(tmp_path: Path) -> None:
    assert found(alone(3), nodes(3), tmp_path) == []
    three = [deployment(f"w{n}", {"set": "solo"}, 2, set="solo") for n in range(3)]
    assert found(three, nodes(5), tmp_path) == [("error", 6, 5)]
    assert found(three, nodes(6), tmp_path) == []


def test_a_workload_whose_pods_may_share_a_domain_needs_one(tmp_path: Path) -> None:
    """Each keeps away from the others by their names, and not from itself."""
    names = ["a", "b", "c"]
    apart = [
        deployment(name, None, 5)
        | {"spec": {**deployment(name, None, 5)["spec"], "template": _away(name, [n for n in names if n != name])}}  # type: ignore[dict-item]
        for name in names
    ]
    assert found(apart, nodes(2), tmp_path) == [("error", 15, 14)]
    assert found(apart, nodes(3), tmp_path) == []


def _away(name: str, others: list[str]) -> Manifest:
    selector = {"matchExpressions": [{"key": "app", "operator": "In", "values": others}]}
    term = {"topologyKey": HOST, "labelSelector": selector}
    requests = {"requests": {"cpu": "100m", "memory": "64Mi"}}
    spec = {
        "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}},
        "containers": [{"name": "c", "image": "r.example.com/c:1", "resources": requests}],
    }
    return {"metadata": {"labels": {"app": name}}, "spec": spec}


def test_zones_count_as_well(tmp_path: Path) -> None:
    four = alone(4, key=ZONE)
    assert found(four, nodes(3, each=2), tmp_path) == [("error", 4, 3)]
    assert found(four, nodes(4, each=2), tmp_path) == []


def test_one_that_keeps_away_from_many_leaves_these_together(tmp_path: Path) -> None:
    star = [deployment("hub", {"ray": "yes"}), *(deployment(f"r{n}", None, ray="yes") for n in range(5))]
    assert found(star, nodes(2), tmp_path) == []


def test_one_way_is_enough(tmp_path: Path) -> None:
    """A pod may not come to one that keeps away from it either."""
    first = deployment("a", {"ray": "yes"})
    second = deployment("b", {"last": "yes"}, ray="yes")
    third = deployment("c", None, ray="yes", last="yes")
    assert found([first, second, third], nodes(2), tmp_path) == [("error", 3, 2)]
    assert found([first, second, third], nodes(3), tmp_path) == []


def test_a_node_without_the_label_takes_any_number(tmp_path: Path) -> None:
    assert found(alone(4, key="rack"), nodes(1, key="rack"), tmp_path) == []


LOOSE = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
- schedulerName: loose
  plugins:
    preFilter: {disabled: [{name: InterPodAffinity}]}
    filter: {disabled: [{name: InterPodAffinity}]}
"""


def test_a_profile_without_the_filter_puts_its_pods_beside_any(tmp_path: Path) -> None:
    """The terms of the others select its pod, but who places it last does not ask them."""
    three = alone(3)
    three[2]["spec"]["template"]["spec"]["schedulerName"] = "loose"  # type: ignore[index]
    (tmp_path / "cluster.yaml").write_text(nodes(2))
    (tmp_path / "scheduler.yaml").write_text(LOOSE)
    cluster = load_cluster(tmp_path / "cluster.yaml", scheduler_config=tmp_path / "scheduler.yaml")
    assert [one.rule for one in lint(objects=three, cluster=cluster).findings if one.rule == "set-does-not-fit"] == []


@pytest.mark.parametrize("hook", ["helm.sh/hook", "argocd.argoproj.io/hook", ""])
def test_the_pod_of_a_hook_is_no_lasting_part(tmp_path: Path, hook: str) -> None:
    """It may have ended before the others begin, or begin after them."""
    pod: Manifest = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "s", "labels": {"set": "solo"}, "annotations": {hook or "note": "test"}},
        "spec": {"containers": [{"name": "c", "image": "r.example.com/c:1"}]},
    }
    assert found([*alone(2), pod], nodes(2), tmp_path) == ([] if hook else [("error", 3, 2)])


def test_smaller_requests_help_only_where_requests_are_to_blame(tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(nodes(3))
    large = [deployment(f"w{number}", None) for number in range(4)]
    ports = [deployment(f"w{number}", None) for number in range(4)]
    for one, other in zip(large, ports, strict=True):
        one["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "5"  # type: ignore[index]
        other["spec"]["template"]["spec"]["containers"][0]["ports"] = [{"containerPort": 1, "hostPort": 81}]  # type: ignore[index]
    helps = [
        one.help
        for set_ in (large, ports, alone(4))
        for one in lint(objects=set_, cluster=tmp_path / "cluster.yaml", ignore=["hostport-cross-workload"]).findings
        if one.rule == "set-does-not-fit"
    ]
    assert ["lower the requests" in text for text in helps] == [True, False, False]
