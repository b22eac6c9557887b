"""A run says at once that the cluster is missing, and afterwards what lies unused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kubesched_lint.commands.lint.remarks import BASELINE
from kubesched_lint.commands.lint.run import LintRun, Request, checked
from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.engine.cluster.nodes.elastic import ClusterOptions
from kubesched_lint.linter.options import Options
from kubesched_lint.project.baseline import entries_of, text_of
from kubesched_lint.report.findings import as_json, as_text
from kubesched_lint.report.findings.context import RenderContext
from kubesched_lint.rulebook.library import Rulebook

BOOK = Rulebook.shipped()
REF = ObjectRef("Deployment", "shop", "web")
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop}
spec:
  priority: PRIORITY
  containers: [{name: web, image: x, ports: [{containerPort: 99999}]}]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pod.yaml").write_text(POD.replace("  priority: PRIORITY\n", ""))
    return tmp_path


def run(**asked: object) -> LintRun:
    return checked(Request(("pod.yaml",), **asked), Options(), BOOK)  # type: ignore[arg-type]


def text(done: LintRun) -> str:
    return "".join(as_text.render(done.report, RenderContext(lambda _: ())))


def test_a_cluster_that_does_not_exist_ends_the_run_before_it_reads(folder: Path) -> None:
    (folder / "pod.yaml").unlink()
    (folder / "pod.yaml").mkdir()  # no error of it, because nobody reads it
    done = run(cluster="missing.json")
    assert [(error.path, error.message) for error in done.report.errors] == [("missing.json", "there is no such file")]
    assert done.report.summary.files == 0
    assert "error: there is no such file\n --> missing.json\n" in text(done)
    assert done.cluster is None


@pytest.mark.parametrize("cluster", [None, "cluster.yaml"])
def test_a_scheduler_configuration_that_does_not_exist_is_an_error(folder: Path, cluster: str | None) -> None:
    (folder / "cluster.yaml").write_text(
        "apiVersion: kubesched-lint/v1\nkind: ClusterSketch\nnodes: [{name: worker, count: 1}]\n"
    )
    done = run(cluster=cluster, cluster_options=ClusterOptions(scheduler_config="missing.yaml"))
    assert [(error.path, error.message) for error in done.report.errors] == [("missing.yaml", "there is no such file")]


def test_a_cluster_that_exists_and_cannot_be_read_is_one_error_among_others(folder: Path) -> None:
    (folder / "empty.json").write_text("")
    done = run(cluster="empty.json")
    assert [error.message for error in done.report.errors] == ["the file is empty"]
    assert done.report.summary.files == 1


def test_an_unused_baseline_is_named_with_the_number_of_its_findings(folder: Path) -> None:
    assert BASELINE not in text(run())
    (folder / BASELINE).write_text(text_of(entries_of(run().report)))
    assert f"{BASELINE} lists 1 finding of this run, but the run does not use it" in text(run())
    used = text(run(baseline=BASELINE))
    assert "does not use it" not in used
    assert "(1 known)" in used


@pytest.mark.parametrize("content", ["not JSON", '{"kubesched-lint-baseline": 1, "findings": []}'])
def test_a_file_that_would_hide_nothing_is_not_named(folder: Path, content: str) -> None:
    (folder / BASELINE).write_text(content)
    assert BASELINE not in text(run())


def test_a_note_says_how_many_findings_fixes_may_close_at_most(folder: Path) -> None:
    nodes = "nodes: [{name: w, count: 2, labels: {disktype: ssd}}]\n"
    (folder / "cluster.yaml").write_text(f"apiVersion: kubesched-lint/v1\nkind: ClusterSketch\n{nodes}")
    pod = POD.replace("priority: PRIORITY", "nodeSelector: {disktype: SSD}").replace("99999", "9999")
    (folder / "pod.yaml").write_text(pod)
    assert "1 error in 1 file; --diff proposes fixes\n" in text(run(cluster="cluster.yaml"))


def test_fixes_are_promised_only_if_a_rule_proposes_an_edit(folder: Path) -> None:
    """The only node has none of the labels, so nothing resembles what is meant."""
    (folder / "cluster.yaml").write_text("apiVersion: kubesched-lint/v1\nkind: ClusterSketch\nnodes: [{name: w}]\n")
    (folder / "pod.yaml").write_text(POD.replace("priority: PRIORITY", "nodeSelector: {team: search}"))
    done = run(cluster="cluster.yaml")
    assert BOOK.rules["nodeselector-matches-nothing"].fix
    assert "nodeselector-matches-nothing" in {finding.rule for finding in done.report.findings}
    assert "--diff" not in text(done)


def test_a_wrong_type_is_named_like_what_else_the_api_server_refuses(folder: Path) -> None:
    assert "error[api-would-reject]: the API server would refuse Pod shop/web" in text(run())
    (folder / "pod.yaml").write_text(POD.replace("PRIORITY", "high"))
    done = run()
    assert "error[api-would-reject]: spec.priority: expected an integer, found the string 'high'" in text(done)
    (error,) = json.loads("".join(as_json.render(done.report, RenderContext(lambda _: ()))))["errors"]
    assert error["rule"] == "api-would-reject"


def test_a_file_that_is_no_yaml_has_no_rule(folder: Path) -> None:
    (folder / "pod.yaml").write_text("kind: [\n")
    assert "error: " in text(run())
    assert "rule" not in json.loads("".join(as_json.render(run().report, RenderContext(lambda _: ()))))["errors"][0]
