"""Waivers in the whole linter: from the text of a manifest to what the report says and how the run ends."""

from __future__ import annotations

import textwrap

from kubesched_lint.findings import Report
from kubesched_lint.linter.lint_text import lint_example
from kubesched_lint.report.findings.footer import exit_code
from kubesched_lint.rulebook.examples import Example, ExampleOptions
from kubesched_lint.rulebook.library import Rulebook

CLUSTER = textwrap.dedent("""
    apiVersion: kubesched-lint/v1
    kind: ClusterSketch
    nodes:
    - {name: worker, count: 1, zones: [a, b], allocatable: {cpu: "4", memory: 16Gi}}
""")
POD = textwrap.dedent("""
    apiVersion: v1
    kind: Pod
    metadata:
      name: gpu
      annotations: {ANNOTATIONS}
    spec:
      nodeSelector: {pool: gpu}  # COMMENT
      containers:
      - {name: main, image: "registry.example.com/main:1.0"}
""")


def lint(manifest: str, cluster: str | None = CLUSTER, profile: str = "ci") -> Report:
    book = Rulebook.shipped()
    example = Example("none", "none.md", 1, manifest, cluster=cluster, setting=ExampleOptions(profile=profile))
    return lint_example(example, book.select(profile), book)


def pod(comment: str = "", annotations: str = "") -> str:
    return POD.replace("ANNOTATIONS", annotations).replace("# COMMENT", f"# {comment}" if comment else "")


def is_waived(report: Report) -> dict[str, bool]:
    return {finding.rule: finding.suppressed is not None for finding in report.findings}


def test_without_a_waiver_the_hazard_fails_the_run() -> None:
    report = lint(pod())
    assert is_waived(report) == {"nodeselector-matches-nothing": False}
    assert exit_code(report) == 1


def test_a_comment_suppresses_the_hazard() -> None:
    report = lint(pod("kubesched: ignore[nodeselector-matches-nothing] the pool comes on Monday"))
    assert is_waived(report) == {"nodeselector-matches-nothing": True}
    assert exit_code(report) == 0


def test_an_annotation_suppresses_the_hazard() -> None:
    report = lint(pod(annotations="ignore.kubesched-lint.io/nodeselector-matches-nothing: the pool comes on Monday"))
    assert is_waived(report) == {"nodeselector-matches-nothing": True}
    assert exit_code(report) == 0


def test_a_waiver_without_a_reason_suppresses_and_is_told() -> None:
    report = lint(pod("kubesched: ignore[nodeselector-matches-nothing]"))
    assert is_waived(report) == {"nodeselector-matches-nothing": True, "waiver-unexplained": False}


def test_a_misspelt_waiver_leaves_the_error_and_is_told() -> None:
    report = lint(pod("kubesched: ignore[node-selector-matches-nothing] the pool comes on Monday"))
    assert is_waived(report) == {"nodeselector-matches-nothing": False, "waiver-unused": False}
    message = next(f.message for f in report.findings if f.rule == "waiver-unused")
    assert "did you mean `nodeselector-matches-nothing`?" in message
    assert exit_code(report) == 1


def test_without_a_cluster_a_waiver_of_a_rule_that_needs_one_is_left_alone() -> None:
    report = lint(pod("kubesched: ignore[nodeselector-matches-nothing] the pool comes on Monday"), cluster=None)
    assert is_waived(report) == {}


def test_a_finding_about_a_waiver_names_the_object_and_can_be_waived_itself() -> None:
    comment = "kubesched: ignore[untolerated-taints] they come and go"
    (finding,) = [f for f in lint(pod(comment)).findings if f.rule == "waiver-unused"]
    assert str(finding.object) == "Pod default/gpu"
    assert finding.location.span.line == 8
    waived = lint(pod(comment, "ignore.kubesched-lint.io/waiver-unused: the taints come and go"))
    assert is_waived(waived)["waiver-unused"] is True


def test_a_waiver_of_a_rule_about_waivers_is_never_called_unused() -> None:
    report = lint(pod("", "ignore.kubesched-lint.io/waiver-unused: the taints come and go"))
    assert is_waived(report) == {"nodeselector-matches-nothing": False}


def test_items_of_a_list_share_a_text_and_its_waivers_are_counted_once() -> None:
    item = textwrap.indent(textwrap.dedent(pod()).strip(), "  ").replace("  apiVersion", "- apiVersion", 1)
    other = item.replace("name: gpu", "name: other")
    text = f"apiVersion: v1\nkind: List\n# kubesched: ignore[untolerated-taints] old\nitems:\n{item}\n{other}\n"
    assert [f.rule for f in lint(text).findings].count("waiver-unused") == 1
