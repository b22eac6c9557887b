"""What a rule of lint proves of an example of a card, the matrix of simulate does not call fine."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest
from hypothesis import settings

from kubesched_lint.commands.simulate.run import simulate
from kubesched_lint.commands.simulate.simulation_report import SimulationReport
from kubesched_lint.engine.answers.cells import FINE, NONE
from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.engine.runs.courses import Effort
from kubesched_lint.engine.verdicts.matrix import EVENTS
from kubesched_lint.findings import Finding
from kubesched_lint.linter.lint import lint
from kubesched_lint.linter.lint_text import lint_example
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading import manifest_set
from kubesched_lint.report.simulation.report import as_text
from kubesched_lint.rulebook.examples import Example
from kubesched_lint.sources.clusters.read import cluster_from
from kubesched_lint.sources.manifests.loader import documents
from tests import drawn as st
from tests.checks import test_errors_are_proofs as made
from tests.drawn import given
from tests.rulebook.shipped_cards import TRIAL
from tests.share import examples, first

TRIED = [e for e in TRIAL.examples if e.cluster is not None]
ABOUT_NODES = {"nodes", "pods", "storage", "pools"}
"""A rule that needs one of these speaks of placement when it proves something."""
ELSEWHERE = {
    "autoscalers-exceed-cluster": "the matrix raises one autoscaler at a time",
    "vpa-exceeds-any-node": "the matrix says that it assumes the written requests",
}
"""Rules that prove something about what no event of the matrix does."""
PLACING = [
    rule
    for rule in TRIAL.book.select(profile="strict")
    if ABOUT_NODES & {*rule.needs, *rule.uses} and rule.slug not in ELSEWHERE
]


def report_of(example: Example, *events: str) -> SimulationReport:
    options = Options(namespace=example.setting.namespace, apply_order=example.setting.apply_order)
    assert example.cluster is not None
    cluster = cluster_from([("c.yaml", example.cluster.encode())], "c.yaml", elastic=example.setting.elastic)
    found = manifest_set(documents("m.yaml", example.manifest.encode(), is_read), example.setting.namespace)
    return simulate(found, cluster, options, events or EVENTS, Effort(states=300))


def contradicted(findings: Iterable[Finding], simulated: Callable[[], SimulationReport]) -> tuple[int, list[str]]:
    """How many proofs of placement were compared, and those of whose workload the matrix calls every event fine."""
    proofs = [f for f in findings if f.evidence.kind == "proof"]
    compared, wrong = 0, []
    rows = {o.workloads[row.number].ref: row.cells for o in [simulated()] for row in o.rows} if proofs else {}
    for finding in proofs:
        cells = rows.get(finding.object, ())
        compared += bool(cells)
        if finding.related:  # it may speak of several workloads together
            cells = [cell for row in rows.values() for cell in row]
        if cells and all(cell.verdict in (FINE, NONE) for cell in cells):
            wrong.append(f"{finding.rule}: {finding.message}; {[f'{c.event}: {c.why}' for c in cells if c.why]}")
    return compared, wrong


@settings(max_examples=examples(60), deadline=None)
@given(made.nodes(), st.lists(st.sampled_from(made.APPS), min_size=1, max_size=2, unique=True), st.data())
def test_what_any_rule_proves_of_a_made_set_the_matrix_does_not_call_fine(cluster, apps, data):
    manifests, seen = made.read([data.draw(made.workload(app)) for app in apps], cluster)
    report, _ = lint(manifests, seen, Options(), PLACING)
    _, wrong = contradicted(report.findings, lambda: simulate(manifests, seen, Options(), EVENTS, Effort(states=300)))
    assert not wrong


PARTS = 8


@pytest.mark.parametrize("part", first(1, range(PARTS)))
def test_every_example_of_every_card_is_simulated_and_no_proof_about_it_is_contradicted(part):
    """Every shape that a card thought of: nothing may end in a traceback, and bad cells have their evidence."""
    total = 0
    for example in TRIED[part::PARTS]:
        result = report_of(example)
        assert as_text(result)
        assert_evidence(example, result)
        findings = lint_example(example, PLACING, TRIAL.book).findings
        compared, wrong = contradicted(findings, lambda result=result: result)
        assert not wrong, (str(example), wrong)
        total += compared
    assert total > 50 / PARTS, "the examples show many proofs"


def assert_evidence(example: Example, result: SimulationReport) -> None:
    for row in result.rows:
        for cell in row.cells:
            if cell.verdict == "bad":
                assert cell.why, (str(example), cell)
                assert cell.assumes, (str(example), cell)
                assert cell.message or cell.worst, (str(example), cell)
