"""What a rule of lint finds on an example of its card, the matrix of simulate does not call fine."""

from __future__ import annotations

import pytest

from kubesched_lint.cluster.read import cluster_from
from kubesched_lint.engine.on_text import lint_example
from kubesched_lint.engine.options import Options
from kubesched_lint.engine.reading import manifest_set
from kubesched_lint.engine.simulate import Outlook, simulate
from kubesched_lint.findings import Finding
from kubesched_lint.lifecycle.matrix import EVENTS, Effort
from kubesched_lint.lifecycle.verdicts import FINE, NONE
from kubesched_lint.manifests.loader import documents
from kubesched_lint.model.decode.objects import is_read
from kubesched_lint.report.outlook import as_text
from kubesched_lint.rulebook.examples import Example
from kubesched_lint.rulebook.library import cards_folder
from kubesched_lint.rulebook.trial import Trial

TRIAL = Trial.of(cards_folder())
EVENT = {
    "rollout-surge-deadlock": "rollout",
    "spread-mindomains-rollout": "rollout",
    "hostport-rollout-deadlock": "rollout",
    "scale-to-hpa-max-pending": "hpa-max",
    "node-loss-leaves-pending": "node-loss",
    "drain-stuck": "drain",
    "pdb-blocks-drain-with-anti-affinity": "drain",
    "statefulset-ordered-block": "deploy",
}
SHOWN = [e for e in TRIAL.examples if e.cluster is not None and e.slug in EVENT]
TRIED = [e for e in TRIAL.examples if e.cluster is not None]


def told(example: Example, *events: str) -> Outlook:
    options = Options(namespace=example.setting.namespace, apply_order=example.setting.apply_order)
    assert example.cluster is not None
    cluster = cluster_from([("c.yaml", example.cluster.encode())], "c.yaml", elastic=example.setting.elastic)
    found = manifest_set(documents("m.yaml", example.manifest.encode(), is_read), example.setting.namespace)
    return simulate(found, cluster, options, events or EVENTS, Effort(states=300))


def found(example: Example) -> list[Finding]:
    rules = TRIAL.book.select(select=[example.slug])
    return [f for f in lint_example(example, rules, TRIAL.book).findings if f.rule == example.slug]


@pytest.mark.parametrize("slug", sorted(EVENT))
def test_what_a_rule_finds_the_matrix_does_not_call_fine(slug):
    compared = 0
    for example in (e for e in SHOWN if e.slug == slug):
        findings = found(example)
        outlook = told(example, EVENT[slug]) if findings else None
        for finding in findings:
            for row in outlook.rows if outlook else ():
                if outlook.workloads[row.number].ref == finding.object:
                    compared += 1
                    (cell,) = row.cells
                    assert cell.verdict not in (FINE, NONE), (str(example), finding.message, cell.why)
    # A budget is the object of drain-stuck where it is in the manifests; its cells are looked at in test_simulate.
    assert compared or slug == "drain-stuck"


@pytest.mark.parametrize("part", range(4))
def test_every_example_of_every_card_can_be_simulated_and_told(part):
    """Every shape that a card thought of: nothing may end in a traceback, and bad cells have their evidence."""
    for example in TRIED[part::4]:
        outlook = told(example)
        assert as_text(outlook)
        for row in outlook.rows:
            for cell in row.cells:
                if cell.verdict == "bad":
                    assert cell.why, (str(example), cell)
                    assert cell.assumes, (str(example), cell)
                    assert cell.message or cell.worst, (str(example), cell)
