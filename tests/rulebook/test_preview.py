"""A new rule runs, is at most a warning, and every list says that it is in preview."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from kubesched_lint import Hazard, ObjectRef, Report, Severity, policy, proof
from kubesched_lint.linter.results.rule_results import finding_of, severity_of
from kubesched_lint.project.config.rule_settings import SettingError
from kubesched_lint.project.config.rule_settings import severity_of as severity_set
from kubesched_lint.report.findings import as_json, as_sarif, as_text
from kubesched_lint.report.findings.context import CardView, RenderContext
from kubesched_lint.rulebook.build import index_text, readme_text
from kubesched_lint.rulebook.cards.card import as_markdown, faults, parse_card, to_rule
from kubesched_lint.rulebook.rule import Rule
from kubesched_lint.rulebook.settings_schema import with_rules
from kubesched_lint.sources.manifests.document import Document
from kubesched_lint.sources.manifests.loader import documents

ROOT = Path(__file__).parents[2]
SINCE = {"since: 0.1.0": "preview: true\nsince: 0.1.0"}


@pytest.fixture
def rule(card_text: Callable[..., str]) -> Rule:
    card = parse_card(card_text(SINCE), "some-rule.md", "some-rule")
    assert list(faults(card)) == []
    return to_rule(card)


def test_it_is_at_most_a_warning_whatever_its_card_says(rule: Rule, card_text: Callable[..., str]) -> None:
    assert rule.severity is Severity.WARNING
    note = card_text({**SINCE, "severity: error": "severity: note"})
    assert to_rule(parse_card(note, "some-rule.md", "some-rule")).severity is Severity.NOTE


@pytest.mark.parametrize("evidence", [proof("6 > 3"), policy()], ids=lambda evidence: str(evidence.kind))
@pytest.mark.parametrize("said", [None, Severity.ERROR, Severity.NOTE])
def test_no_evidence_and_no_check_makes_it_an_error(rule: Rule, evidence: object, said: Severity | None) -> None:
    hazard = Hazard(("spec",), evidence, severity=said)  # type: ignore[arg-type]
    assert severity_of(rule, hazard, None) <= Severity.WARNING
    assert severity_of(rule, hazard, Severity.ERROR) <= Severity.WARNING
    stable = replace(rule, preview=False, severity=Severity.ERROR)
    assert severity_of(stable, hazard, None) is (said or Severity.ERROR)


def test_a_configuration_cannot_make_it_an_error(rule: Rule) -> None:
    with pytest.raises(SettingError, match="in preview, so it is at most a warning"):
        severity_set("error", rule)
    assert severity_set("note", rule) is Severity.NOTE
    assert severity_set("error", replace(rule, preview=False)) is Severity.ERROR


def test_lists_and_explanations_say_so(rule: Rule, card_text: Callable[..., str]) -> None:
    card = parse_card(card_text(SINCE), "some-rule.md", "some-rule")
    assert "- **Preview:** new; at most a warning for now, error in a later version" in as_markdown(rule, card)
    assert "| warning (preview) |" in readme_text([rule], "<!-- generated: rules --><!-- /generated -->")
    assert "preview=True" in index_text([rule])
    assert rule.marks == ("preview",)
    assert replace(rule, default="strict").marks == ("strict", "preview")
    assert replace(rule, default="off", preview=False).marks == ("off",)


def test_an_editor_does_not_offer_error_for_it(rule: Rule) -> None:
    schema = json.loads((ROOT / "kubesched_lint/schemas/config.schema.json").read_text())

    def offered(one: Rule) -> list[str]:
        made = with_rules(schema, [(one, {})])["properties"]["rules"]["properties"]["some-rule"]
        found: list[str] = made["properties"]["severity"]["enum"]
        return found

    assert offered(rule) == ["note", "warning"]
    assert offered(replace(rule, preview=False)) == ["note", "warning", "error"]


def test_the_schema_of_cards_knows_no_other_word(card_text: Callable[..., str]) -> None:
    wrong = card_text({"since: 0.1.0": "preview: false\nsince: 0.1.0"})
    assert [fault.message for fault in faults(parse_card(wrong, "some-rule.md", "some-rule"))]


def test_reports_mark_its_findings(rule: Rule) -> None:
    """The mark travels from the rule to the finding, and from there to each format."""
    document = next(iter(documents("a.yaml", b"{apiVersion: v1, kind: Pod, metadata: {name: a}}", lambda *_: True)))
    assert isinstance(document, Document)
    hazard = Hazard(("kind",), proof("6 > 3"), {"replicas": 6, "domains": 3}, source=document)
    shown = {}
    for tested in (rule, replace(rule, preview=False)):
        finding = finding_of(tested, hazard, Severity.WARNING, default=ObjectRef("Pod", "default", "a"))
        view = CardView(rule.slug, rule.summary, rule.severity, preview=tested.preview)
        context = RenderContext(cards=lambda _, view=view: view)
        report = Report((finding,))
        shown[tested.preview] = {
            name: "".join(render(report, context))
            for name, render in (("json", as_json.render), ("sarif", as_sarif.render), ("text", as_text.render))
        }
    assert json.loads(shown[True]["json"])["findings"][0]["preview"] is True
    assert "preview" not in json.loads(shown[False]["json"])["findings"][0]
    marked, stable = (json.loads(shown[p]["sarif"])["runs"][0]["tool"]["driver"]["rules"][0] for p in (True, False))
    assert marked["properties"]["preview"] is True
    assert "preview" in marked["properties"]["tags"]
    assert "preview" not in stable["properties"]
    assert "preview" not in stable["properties"]["tags"]
    assert "= preview: the rule is new" in shown[True]["text"]
    assert "preview" not in shown[False]["text"]
