"""The library, by its public names alone."""

from __future__ import annotations

import doctest
import gc
import json
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from html import unescape
from pathlib import Path
from typing import Any

import pytest
import yaml

import kubesched_lint
from kubesched_lint import (
    Cluster,
    ClusterError,
    Evidence,
    Finding,
    InputError,
    Location,
    ObjectRef,
    Report,
    Severity,
    Simulation,
    Span,
    UnknownRuleError,
    as_html,
    as_json,
    as_text,
    check,
    fit,
    lint,
    load_cluster,
    load_rules,
    plan,
    simulate,
    why,
)
from kubesched_lint.commands.workloads.new import card_of_name, write
from tests.program import called

ROOT = Path(__file__).parents[2]
SKETCH = """\
apiVersion: kubesched-lint/v1
kind: ClusterSketch
nodes:
- {name: worker, count: 2, zones: [a, b, c]}
"""
MANIFEST = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 4
  selector: {matchLabels: {app: web}}
  strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}
  template:
    metadata: {labels: {app: web}}
    spec:
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - topologyKey: topology.kubernetes.io/zone
            labelSelector: {matchLabels: {app: web}}
      containers:
      - {name: web, image: "registry.example.com/shop/web:1.0"}
"""
RULE = "anti-affinity-exceeds-domains"
RUNNING = ROOT / "fixtures/clusters/kubectl-get.json.gz"


@pytest.fixture
def cluster() -> Cluster:
    return load_cluster(text=SKETCH)


def test_the_page_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    done = doctest.testfile(
        str(ROOT / "docs" / "library.md"), module_relative=False, optionflags=doctest.ELLIPSIS | doctest.FAIL_FAST
    )
    assert (done.failed, done.attempted > 10) == (0, True)


def test_the_docstrings_run() -> None:
    done = doctest.testmod(kubesched_lint)
    assert (done.failed, done.attempted > 0) == (0, True)


def test_a_finding_tells_what_where_and_why(cluster: Cluster) -> None:
    report = lint(text={"shop/web.yaml": MANIFEST}, cluster=cluster)
    assert isinstance(report, Report)
    (finding,) = report.findings
    assert isinstance(finding, Finding)
    assert (finding.rule, finding.severity) == (RULE, Severity.ERROR)
    assert finding.object == ObjectRef("Deployment", "shop", "web")
    assert finding.location == Location("shop/web.yaml", Span(14, 13, 15, 53))
    assert isinstance(finding.evidence, Evidence)
    assert (finding.evidence.kind, finding.evidence.demand, finding.evidence.supply) == ("proof", 4, 3)
    assert report.summary.workloads == 1


def test_files_texts_and_objects_are_one_set(cluster: Cluster, tmp_path: Path) -> None:
    """A budget given as an object guards a workload given as text: no rule says that it is missing."""
    file = tmp_path / "web.yaml"
    file.write_text(MANIFEST)
    (tmp_path / "sketch.yaml").write_text(SKETCH)
    by_path = lint(file, cluster=tmp_path / "sketch.yaml")
    by_text = lint(text=MANIFEST, cluster=cluster)
    assert [f.message for f in by_path.findings] == [f.message for f in by_text.findings] != []
    assert by_path.findings[0].location.path == str(file)
    both = lint(str(file), text=MANIFEST.replace("web", "api"), objects=[{"apiVersion": "v1", "kind": "Namespace"}])
    assert (both.summary.workloads, both.summary.documents) == (2, 3)


def test_options_are_those_of_the_command_line(cluster: Cluster) -> None:
    def rules(**options: object) -> list[str]:
        return [f.rule for f in lint(text=MANIFEST, cluster=cluster, **options).findings]  # type: ignore[arg-type]

    assert rules() == [RULE]
    assert rules(ignore=["anti-affinity"]) == ["pods-stay-pending"]  # the fourth pod finds no zone all the same
    assert rules(select=["spread"]) == []
    assert rules(partial=True) == [RULE]
    assert rules(params={RULE: {"reserve": 1}}) == [RULE]
    assert lint(text=MANIFEST, cluster=cluster, severities={RULE: "note"}).findings[0].severity is Severity.NOTE
    assert lint(text=MANIFEST, cluster=cluster, severities={RULE: Severity.NOTE}).findings[0].severity is Severity.NOTE


def test_what_needs_a_cluster_is_skipped_without_one() -> None:
    report = lint(text=MANIFEST)
    assert [finding.rule for finding in report.findings] == ["needs-many-zones"]
    assert RULE in {skip.rule for skip in report.skipped}


def test_rules_of_ones_own_join_in() -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a"},
        "spec": {"containers": [{"name": "a", "image": "b"}]},
    }
    report = lint(objects=[pod], rules=[ROOT / "examples" / "rules"])
    (finding,) = [f for f in report.findings if f.rule == "no-bare-pods"]
    assert (finding.severity, finding.evidence.kind) == (Severity.ERROR, "policy")
    assert lint(objects=[pod], rules=["/nowhere"]).errors == (
        InputError("/nowhere", "there is no such folder: no rule was read"),
    )


def test_cards_of_ones_own_are_read(cluster: Cluster, tmp_path: Path) -> None:
    write(tmp_path, *card_of_name("Widget.example.com"))
    widget = MANIFEST.replace("apps/v1", "example.com/v1").replace("Deployment", "Widget")
    name = "Widget shop/web"
    assert not lint(text=widget, cluster=cluster).findings
    report = lint(text=widget, cluster=cluster, workloads=[tmp_path])
    assert [(f.rule, str(f.object)) for f in report.findings] == [(RULE, name)]
    simulation = simulate(text=widget, cluster=cluster, events=["deploy"], workloads=[tmp_path])
    assert [outcome.wanted for outcome in simulation.of(name)] == [4]
    assert not simulate(text=widget, cluster=cluster, events=["deploy"]).outcomes
    assert [(e.path, e.message) for e in lint(text=MANIFEST, workloads=["/nowhere"]).errors] == [
        ("/nowhere", "there is no such folder: no workload card was read")
    ]


def test_what_cannot_be_read_is_told_and_the_rest_is_checked(cluster: Cluster) -> None:
    report = lint("/no/such/file.yaml", text={"broken.yaml": "kind: [", "web.yaml": MANIFEST}, cluster=cluster)
    assert {error.path for error in report.errors} == {"/no/such/file.yaml", "broken.yaml"}
    assert [f.rule for f in report.findings] == [RULE]


def test_what_the_caller_gets_wrong_is_raised(cluster: Cluster) -> None:
    with pytest.raises(ClusterError, match="no/such/cluster"):
        lint(text=MANIFEST, cluster="/no/such/cluster.yaml")
    with pytest.raises(UnknownRuleError, match="did you mean `anti-affinity`"):
        lint(text=MANIFEST, select=["anti-afinity"])
    mistakes: list[tuple[dict[str, object], str]] = [
        ({"profile": "loose"}, "profile: 'loose' is not one of ci, strict, editor"),
        ({"apply_order": "random"}, "apply_order: 'random' is not one of"),
        ({"kubernetes_version": "newest"}, "kubernetes_version: 'newest' is no Kubernetes version"),
        ({"severities": {RULE: "fatal"}}, "expected one of note, warning, error"),
        ({"severities": {"no-spread-or-anti-affinity": "error"}}, "gives no proof"),
        ({"params": {RULE: {"reserve": "two"}}}, "expected a whole number"),
        ({"params": {RULE: {"unknown": 1}}}, "has no parameter `unknown`"),
        ({"elastic": True}, "elastic belongs to load_cluster"),
        ({"objects": [{"kind": object()}]}, "object 1 cannot be written as YAML or JSON"),
    ]
    for wrong, message in mistakes:
        with pytest.raises(ValueError, match=message):
            lint(text=MANIFEST, cluster=cluster, **wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="takes a path"):
        load_cluster()
    with pytest.raises(ValueError, match="takes a path"):
        load_cluster("a.yaml", text=SKETCH)


def test_a_simulation_tells_each_event(cluster: Cluster) -> None:
    simulation = simulate(text=MANIFEST, cluster=cluster, events=["deploy", "zone-loss"])
    assert isinstance(simulation, Simulation)
    deploy, loss = simulation.of("Deployment shop/web")
    assert (deploy.event, deploy.verdict, deploy.wanted, deploy.bound, deploy.proven) == (
        "deploy",
        "bad",
        4,
        (3, 3),
        True,
    )
    assert deploy.location is not None
    assert deploy.location.span.line == 14
    assert (loss.event, loss.bound) == ("zone-loss", (2, 2))
    assert simulation.of("Deployment shop/other") == ()
    with pytest.raises(ValueError, match="unknown event"):
        simulate(text=MANIFEST, cluster=cluster, events=["doomsday"])


def test_what_is_returned_is_frozen(cluster: Cluster) -> None:
    report = lint(text=MANIFEST, cluster=cluster)
    for thing in (report, report.findings[0], report.findings[0].location, cluster):
        with pytest.raises(AttributeError):
            thing.path = "elsewhere"  # type: ignore[union-attr]


def test_it_prints_nothing_and_leaves_the_collector_alone(cluster: Cluster, capfd: pytest.CaptureFixture[str]) -> None:
    assert gc.isenabled()
    gc.unfreeze()  # what a command of another test froze may die meanwhile
    lint("/no/such/file.yaml", text=MANIFEST, cluster=cluster)
    simulate(text=MANIFEST, cluster=cluster, events=["deploy"])
    assert (gc.isenabled(), gc.get_freeze_count()) == (True, 0)
    gc.freeze()  # as tests/conftest.py had it
    assert capfd.readouterr() == ("", "")


def test_threads_may_share_a_cluster_and_get_what_one_alone_gets(cluster: Cluster) -> None:
    texts = [MANIFEST.replace("web", f"web{n}").replace("replicas: 4", f"replicas: {2 + n % 5}") for n in range(24)]
    rules = load_rules(ROOT / "examples" / "rules")

    def run(text: str) -> Report:
        return lint(text=text, cluster=cluster, rules=rules)

    alone = [run(text) for text in texts]
    with ThreadPoolExecutor(6) as pool:
        together = list(pool.map(run, texts))
    assert together == alone
    assert len({len(report.findings) for report in alone}) > 1


def test_every_public_name_is_there_and_importing_the_package_imports_little() -> None:
    for name in kubesched_lint.__all__:
        assert getattr(kubesched_lint, name) is not None
        assert name in dir(kubesched_lint)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = kubesched_lint.nothing
    script = "import sys; import kubesched_lint; print([m for m in sys.modules if m.startswith('kubesched_lint.')])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout == "[]\n"


def test_it_says_that_it_is_typed() -> None:
    assert (Path(kubesched_lint.__file__).parent / "py.typed").is_file()


# --- alike: lint, simulate, plan, why, check and fit ------------------------------------------------------------------


def results(cluster: Cluster) -> dict[str, Any]:
    """A result of each function about one workload on one cluster, by the command of its name."""
    running = load_cluster(RUNNING)
    manifest = {"apps.yaml": MANIFEST}
    return {
        "lint": lint(text=manifest, cluster=cluster),
        "simulate": simulate(text=manifest, cluster=cluster),
        "plan": plan(text=manifest, before={"apps.yaml": MANIFEST.replace("4", "3")}, cluster=cluster),
        "why": why("web", text=manifest, cluster=cluster, replica=4),
        "check": check(text=manifest, cluster=running),
        "fit": fit(cluster=cluster, requests={"cpu": "1"}),
    }


def test_every_result_is_the_json_and_the_text_of_its_command(cluster: Cluster, tmp_path: Path) -> None:
    (tmp_path / "apps.yaml").write_text(MANIFEST)
    (tmp_path / "before").mkdir()
    (tmp_path / "before" / "apps.yaml").write_text(MANIFEST.replace("4", "3"))
    (tmp_path / "cluster.yaml").write_text(SKETCH)
    paths = {"plan": ("before/apps.yaml", "apps.yaml"), "why": ("web", "apps.yaml", "--replica", "4"), "fit": ()}
    given = {"fit": ("--cpu", "1")}
    for name, result in results(cluster).items():
        file = str(RUNNING) if name == "check" else "cluster.yaml"
        command = (name, *paths.get(name, ("apps.yaml",)), *given.get(name, ()), "-c", file)
        told = called(*command, "--format", "json", cwd=tmp_path).stdout
        ours = json.loads(as_json(result))
        assert _without_paths(json.loads(told)) == _without_paths(ours), name
        text = called(*command, cwd=tmp_path).stdout
        assert as_text(result).splitlines()[:1] == text.splitlines()[:1], name


def _without_paths(value: dict[str, Any]) -> dict[str, Any]:
    """The report without what tells of files and their owners, which the library does not have."""
    for finding in value.get("findings", []):
        if isinstance(finding, dict):  # those of a plan are lists by what became of them
            finding.pop("owner", None)
    return {key: one for key, one in value.items() if key not in ("summary", "cluster", "before", "after")}


def test_every_result_shows_in_a_notebook_as_its_text(cluster: Cluster) -> None:
    """The page has the words of the report and no others, and no markup of theirs."""
    for name, result in results(cluster).items():
        page = result._repr_html_()
        assert page == as_html(result), name
        assert re.fullmatch(r"<pre [^<>]*>([^<>]|<span style=\"[a-z0-9#:;.-]*\">[^<>]+</span>)*</pre>", page), name
        assert unescape(re.sub("<[^<>]*>", "", page)) == as_text(result, width=100), name


def test_names_from_manifests_are_no_markup_in_a_notebook(cluster: Cluster) -> None:
    hostile = "{apiVersion: v1, kind: Pod, metadata: {name: <script>alert(1)</script>}, spec: {containers: []}}"
    assert "<script" not in (lint(text={"<img src=x>.yaml": hostile}, cluster=cluster)._repr_html_() or "")


def test_a_plan_compares_texts_folders_objects_and_what_runs(cluster: Cluster, tmp_path: Path) -> None:
    old, new = MANIFEST.replace("replicas: 4", "replicas: 3"), MANIFEST
    for name, text in (("old", old), ("new", new)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "apps.yaml").write_text(text)
    plans = [
        plan(text={"apps.yaml": new}, before={"apps.yaml": old}, cluster=cluster),
        plan(tmp_path / "new", before=tmp_path / "old", cluster=cluster),
        plan(objects=[yaml.safe_load(new)], before=[yaml.safe_load(old)], cluster=cluster),
    ]
    for found in plans:
        assert (found.is_worse, [str(one.object) for one in found.workloads]) == (True, ["Deployment shop/web"])
    same = plan(text={"apps.yaml": old}, before={"apps.yaml": old}, cluster=cluster)
    assert (same.is_worse, same.is_empty) == (False, True)
    against = plan(text={"apps.yaml": new}, cluster=load_cluster(RUNNING))
    assert [one.change.actions for one in against.workloads if one.change] == [("rolled out", "scaled")]
    with pytest.raises(ValueError, match="nothing was compared"):
        plan(text="", before={}, cluster=cluster)


def test_why_names_the_nodes_and_the_mistakes(cluster: Cluster) -> None:
    first, fourth = (why("web", text=MANIFEST, cluster=cluster, replica=number) for number in (1, 4))
    assert len(first.answers[0].explanation.fitting) == 6
    assert fourth.answers[0].explanation.message.startswith("0/6 nodes are available")
    mistakes: list[tuple[str, dict[str, object], str]] = [
        ("wbe", {}, "no object matches|did you mean"),
        ("web", {"replica": 0}, "replica: 0 is less than 1"),
        ("web", {"apply_order": "random"}, "is not one of"),
    ]
    for name, options, message in mistakes:
        with pytest.raises(ValueError, match=message):
            why(name, text=MANIFEST, cluster=cluster, **options)  # type: ignore[arg-type]
