"""One cause, one finding: at the line of the mistake, with help; it lists what other rules found of the same cause."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kubesched_lint.findings import Finding, Report, Severity
from kubesched_lint.linter.lint_text import lint_example
from kubesched_lint.project.baseline import entries_of, held_against
from kubesched_lint.report.causes import errors_first
from kubesched_lint.report.findings import as_text
from kubesched_lint.report.findings.context import RenderContext
from kubesched_lint.rulebook.examples import Example, ExampleOptions
from kubesched_lint.rulebook.library import Rulebook

PLANTED = Path(__file__).parents[2] / "fixtures" / "planted"
CLUSTER = (PLANTED / "cluster.yaml").read_text()
MISTAKES = sorted(file for file in PLANTED.glob("*.yaml") if file.name != "cluster.yaml")


def lint(manifest: str, cluster: str = CLUSTER) -> Report:
    book = Rulebook.shipped()
    example = Example("none", "none.md", 1, manifest, cluster=cluster, setting=ExampleOptions(profile="ci"))
    return lint_example(example, book.select("ci"), book)


def only(report: Report) -> Finding:
    assert len(report.findings) == 1, [finding.rule for finding in report.findings]
    return report.findings[0]


@pytest.mark.parametrize("file", MISTAKES, ids=lambda file: file.stem)
def test_a_planted_mistake_is_one_finding_at_its_line(file: Path) -> None:
    manifest = file.read_text()
    ((number, mark),) = [
        (number, found)
        for number, line in enumerate(manifest.splitlines(), 1)
        if (found := re.search(r"# mistake: (\w+) (\S+)", line))
    ]
    finding = only(lint(manifest))
    assert (finding.severity.word, finding.rule) == mark.groups()
    assert finding.location.span.line == number
    assert finding.help


def test_there_are_enough_planted_mistakes() -> None:
    assert len(MISTAKES) >= 29


def test_what_other_rules_find_of_the_cause_stands_beside_it() -> None:
    finding = only(lint((PLANTED / "topology-key-typo.yaml").read_text()))
    assert {"topology-key-typo-deprecated", "spread-rollout-skew"} <= {part.rule for part in finding.also}
    assert "also: deploy-leaves-pending" in text_of(lint((PLANTED / "cpu-too-big.yaml").read_text()), verbose=True)
    assert all(part.location.span.line in (12, 13) for part in finding.also if part.rule.startswith("topology"))


def test_two_mistakes_are_two_findings() -> None:
    """The toleration of one workload does not explain the wrong key of another place."""
    manifest = (PLANTED / "topology-key-typo-anti.yaml").read_text()
    spread = """\
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: failure-domain.beta.kubernetes.io/zone
        whenUnsatisfiable: ScheduleAnyway
        labelSelector: {matchLabels: {app: web}}
"""
    report = lint(manifest.replace("      containers:", f"{spread}      containers:", 1))
    assert {finding.rule for finding in report.findings} >= {
        "topology-key-missing-on-nodes",
        "topology-key-typo-deprecated",
    }


def test_a_waiver_of_what_another_finding_explains_is_not_stale() -> None:
    manifest = (PLANTED / "topology-key-typo.yaml").read_text()
    waived = re.sub(r"# mistake:.*", "# kubesched: ignore[topology-key-typo-deprecated] the nodes get it", manifest)
    assert only(lint(waived)).rule == "topology-key-missing-on-nodes"


def many(copies: int, port: int = 8080, replicas: int = 4) -> str:
    manifest = (PLANTED / "hostport.yaml").read_text().replace("replicas: 12", f"replicas: {replicas}")
    manifest = re.sub(r"  # mistake:.*", "", manifest).replace("8080", str(port))
    return "---\n".join(manifest.replace("name: web,", f"name: web{copy},") for copy in range(copies))


def test_forty_copies_of_a_host_port_are_one_finding() -> None:
    finding = only(lint(many(40)))
    assert finding.rule == "hostport-cross-workload"
    assert finding.message.startswith("40 workloads take host port 8080")
    assert "so 154 pods stay Pending" in finding.message
    assert finding.evidence.demand == 160
    assert finding.evidence.supply == 6


def test_forty_copies_that_fit_in_pairs_are_one_finding() -> None:
    finding = only(lint(many(40, replicas=1)))
    assert finding.rule == "set-does-not-fit"
    assert "34 pods" in finding.message


def test_errors_come_first_whatever_their_place() -> None:
    ored, typo = ((PLANTED / f"{name}.yaml").read_text() for name in ("affinity-terms-ored", "cpu-too-big"))
    report = lint(f"{ored}---\n{typo.replace('name: web,', 'name: big,')}")
    assert [finding.severity.word for finding in errors_first(report.findings)] == ["error", "warning"]


def text_of(report: Report, *, verbose: bool = False) -> str:
    return "".join(as_text.render(report, RenderContext(verbose=verbose)))


def test_a_premise_of_many_findings_is_printed_once_below() -> None:
    names = ("cpu-too-big", "node-selector-typo", "no-toleration", "anti-too-many")
    files = [(PLANTED / f"{name}.yaml").read_text().replace("name: web,", f"name: {name},") for name in names]
    text = text_of(lint("---\n".join(files)), verbose=True)
    assert text.count("the nodes stay as in the snapshot") == 1
    assert "assumes  the nodes stay as in the snapshot (4 of 4 findings)" in text


def test_a_premise_of_all_that_is_judged_stands_below_and_only_if_all_is_asked_for() -> None:
    report = lint((PLANTED / "cpu-too-big.yaml").read_text())
    assert "the nodes stay as in the snapshot" not in text_of(report)
    assert text_of(report, verbose=True).count("the nodes stay as in the snapshot") == 1


def test_a_long_proof_names_three_zones() -> None:
    zones = ", ".join(f"zone-{number}" for number in range(200))
    cluster = CLUSTER.replace("zones: [eu-west-1a, eu-west-1b, eu-west-1c]", f"zones: [{zones}]")
    manifest = (PLANTED / "anti-too-many.yaml").read_text().replace("replicas: 4", "replicas: 201")
    report = lint(manifest, cluster)
    assert "201 pods > 200 zones (zone-0, zone-1, zone-2 and 197 more)" in only(report).evidence.text
    assert max(map(len, text_of(report).splitlines())) < 200


TOO_MANY = (PLANTED / "anti-too-many.yaml").read_text()
TOO_LARGE = TOO_MANY.replace("replicas: 4", "replicas: 40").replace("cpu: 500m", "cpu: 2")


def open_findings(report: Report) -> list[str]:
    return [finding.rule for finding in report.findings if not finding.suppressed]


def test_who_waives_one_error_has_not_waived_another_behind_it() -> None:
    first = only(lint(TOO_LARGE))
    assert [part.rule for part in first.also if part.severity.word == "error"] == ["resource-insufficient-free"]
    report = lint(re.sub(r"# mistake:.*", f"# kubesched: ignore[{first.rule}] more zones come on Monday", TOO_LARGE))
    assert open_findings(report) == ["resource-insufficient-free"]
    assert all(finding.fingerprint for finding in report.findings)


def test_a_baseline_does_not_cover_an_error_that_came_later() -> None:
    known = entries_of(lint(TOO_MANY))
    assert open_findings(held_against(lint(TOO_MANY), known).report) == []
    assert open_findings(held_against(lint(TOO_LARGE), known).report) == ["resource-insufficient-free"]
    every = entries_of(lint(TOO_LARGE))
    again = held_against(lint(TOO_LARGE), every)
    assert open_findings(again.report) == []
    assert entries_of(again.report) == every
    assert not again.gone


def test_an_error_stays_beside_a_crowd_that_counts_only_some_of_its_workloads() -> None:
    """Whoever changes the port would else meet the missing cpu only in the next run."""
    port = "ports: [{containerPort: 80, hostPort: 8080}]"
    cluster = """\
apiVersion: kubesched-lint/v1
kind: ClusterSketch
nodes:
- {name: worker, count: 6, zones: [eu-west-1a], allocatable: {cpu: "8", memory: 16Gi}}
"""
    manifests = [
        f"""\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}, namespace: shop}}
spec:
  replicas: {replicas}
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata: {{labels: {{app: {name}}}}}
    spec:
      containers:
      - name: app
        image: "registry.example.com/shop/app:1.0"
        resources: {{requests: {{cpu: {cpu}, memory: 64Mi}}}}
        {ports}
"""
        for name, replicas, cpu, ports in (("db", 10, "4", ""), ("api", 4, "3", port), ("web", 4, "100m", port))
    ]
    found = lint("---\n".join(manifests), cluster).findings
    errors = {(finding.rule, finding.object.name) for finding in found if finding.severity is Severity.ERROR}
    assert errors == {("hostport-cross-workload", "web"), ("set-does-not-fit", "api")}
