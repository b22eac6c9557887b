"""The fences of a card are read with their marks, and every difference between report and marks is told at its line."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from kubesched_lint.engine.base.places import Location, ObjectRef, Span
from kubesched_lint.findings import Evidence, Finding, InputError, Related, Report, Severity, Skip, Suppression
from kubesched_lint.rulebook.cards.card import Card, parse_card, to_rule
from kubesched_lint.rulebook.cards.frontmatter import CardError
from kubesched_lint.rulebook.examples import (
    Example,
    ExampleOptions,
    ExpectedFinding,
    coverage_faults,
    examples,
    failures,
    rules_for,
)
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.rulebook.rule import Rule
from kubesched_lint.rulebook.wording import fill

CardText = Callable[..., str]
FIRST = 31  # the line of the card on which the first manifest begins; its marks stand on 33 and 34


def card(text: str) -> Card:
    return parse_card(text, "some-rule.md", "some-rule")


def test_fences_become_examples_with_their_lines_and_marks(card_text: CardText) -> None:
    first, second = examples(card(card_text()))
    assert first.manifest == "kind: A\nspec:\n  replicas: 3\n  key: x\n"
    assert first.marks == (
        ExpectedFinding("related", 3, "wanted", "some-rule"),
        ExpectedFinding("finding", 4, "cannot", "some-rule"),
        ExpectedFinding("also", 4, "of all", "other-rule"),
    )
    assert (first.line, first.cluster, first.cluster_line) == (FIRST, "nodes: []\n", 27)
    assert (second.manifest, second.marks, second.cluster) == ("kind: B\n", (), "nodes: []\n")
    assert str(first) == f"some-rule:{FIRST}"


def test_a_manifest_before_any_cluster_runs_without(card_text: CardText) -> None:
    first, second = examples(
        card(card_text({"```yaml cluster": "```yaml", "```yaml\nkind: B": "```yaml no-cluster\nB"}))
    )[1:]
    assert first.cluster is second.cluster is None


def test_words_after_the_fence_set_how_it_is_linted(card_text: CardText) -> None:
    changes = {
        "```yaml cluster": "```yaml cluster elastic",
        "```yaml\nkind: A": "```yaml apply-order=helm kubernetes-version=1.34 namespace=shop strict param.reserve=2\nA",
        "```yaml\nkind: B": "```yaml fixed skipped\nkind: B",
    }
    first, second = examples(card(card_text(changes)))
    assert first.setting == ExampleOptions("helm", "1.34", "shop", True, "strict", {"reserve": 2})
    assert second.setting == ExampleOptions(elastic=False, skipped=True)


@pytest.mark.parametrize(
    ("changes", "line", "complaint"),
    [
        ({"```yaml cluster": "```yaml cluster oldest"}, 26, "unknown word `oldest`"),
        ({"```yaml\nkind: A": "```yaml param.room=1\nkind: A"}, 30, "the card has no parameter `room`"),
        ({"nodes: []": "nodes: []  # finding: x"}, 27, "marks belong into manifests"),
        ({"# also: other-rule": "# also: some-rule"}, 34, "names another rule"),
        ({"```\n\n## What it cannot see": "\n## What it cannot see"}, 39, "never closed"),
        ({"```yaml\nkind: B": "```yaml fragment\nkind: [B"}, 41, "not YAML"),
    ],
)
def test_a_fence_that_cannot_be_understood_is_an_error_at_its_line(
    card_text: CardText, changes: dict[str, str], line: int, complaint: str
) -> None:
    with pytest.raises(CardError) as caught:
        examples(card(card_text(changes)))
    assert complaint in caught.value.message
    assert caught.value.line == line


def test_fragments_and_other_languages_are_only_shown(card_text: CardText) -> None:
    text = card_text({"```yaml\nkind: B\n```": "```yaml fragment\nkind: B\n```\n\n```console\n$ x  # finding: y\n```"})
    assert len(examples(card(text))) == 1


def test_a_card_shows_both_a_finding_and_silence(card_text: CardText) -> None:
    def complaints(changes: dict[str, str]) -> list[str]:
        one = card(card_text(changes))
        return [fault.message for fault in coverage_faults(one, examples(one))]

    assert complaints({}) == []
    assert complaints({"# finding: cannot": ""}) == ["no example has a # finding"]
    assert complaints({"kind: B": "kind: B  # finding:"}) == ["no example is silent although the rule runs"]
    assert complaints({"```yaml\nkind: B": "```yaml skipped\nkind: B"}) == [
        "no example is silent although the rule runs"
    ]


# -- what a report must show ------------------------------------------------------------------------------------------


def finding(
    rule: str,
    line: int,
    message: str = "",
    *,
    path: str = "manifest.yaml",
    evidence: str = "proof",
    severity: Severity = Severity.ERROR,
    related: tuple[tuple[int, str], ...] = (),
    suppressed: bool = False,
) -> Finding:
    return Finding(
        rule,
        severity,
        message,
        "do this",
        Evidence(evidence),
        ObjectRef("Deployment", "shop", "web"),
        Location(path, Span(line, 1, line, 5)),
        tuple(Related(Location(path, Span(n, 1, n, 5)), label) for n, label in related),
        suppressed=Suppression("we know") if suppressed else None,
    )


AS_MARKED = (
    finding("some-rule", 4, "it cannot be", related=((3, "wanted here"),)),
    finding("other-rule", 4, "one of all"),
)


@pytest.fixture
def complaints(card_text: CardText) -> Callable[..., list[str]]:
    def run(*findings: Finding, changes: dict[str, str] | None = None, **report: object) -> list[str]:
        one = card(card_text(changes or {}))

        def lint(example: Example, rules: Sequence[Rule], book: Rulebook) -> Report:
            return Report(findings, **report)  # type: ignore[arg-type]

        book = Rulebook({"some-rule": to_rule(one)})
        return [f"{error.line}: {error.message}" for error in failures(examples(one)[0], book, lint)]

    return run


def test_a_report_that_is_as_marked_passes(complaints: Callable[..., list[str]]) -> None:
    assert complaints(*AS_MARKED) == []


def test_a_finding_that_is_missing_or_elsewhere_is_told(complaints: Callable[..., list[str]]) -> None:
    other, (moved,) = AS_MARKED[1], [finding("some-rule", 2, "it cannot be", related=((3, "wanted"),))]
    assert complaints(other) == [
        "34: no finding of some-rule here whose message holds `cannot`; it found nothing else either",
        "33: no related place here with `wanted` in its label; there are: none",
    ]
    assert complaints(other, moved) == [
        "34: no finding of some-rule here whose message holds `cannot`\n    found at line 32: it cannot be",
        "32: a finding without a mark: it cannot be",
    ]


def test_a_mark_may_say_how_severe_the_finding_is(complaints: Callable[..., list[str]]) -> None:
    as_warning = {"# finding: cannot": "# finding (warning): cannot"}
    as_error = {"# finding: cannot": "# finding (error): cannot"}
    assert complaints(*AS_MARKED, changes=as_error) == []
    assert complaints(*AS_MARKED, changes=as_warning) == [
        "34: no warning of some-rule here whose message holds `cannot`\n    found at line 34 (error): it cannot be",
        "34: a finding without a mark: it cannot be",
    ]


def test_a_message_must_hold_the_text_of_the_mark(complaints: Callable[..., list[str]]) -> None:
    wrong = finding("some-rule", 4, "it can", related=((3, "wanted"),))
    assert [c[:40] for c in complaints(wrong, AS_MARKED[1])] == [
        "34: no finding of some-rule here whose m",
        "34: a finding without a mark: it can",
    ]


def test_another_rule_must_be_marked(complaints: Callable[..., list[str]]) -> None:
    surprise = finding("third-rule", 1, "hello")
    (failure,) = complaints(*AS_MARKED, surprise)
    assert failure.startswith("31: third-rule speaks here as well: hello")
    (failure,) = complaints(AS_MARKED[0])
    assert failure.startswith("34: no finding of other-rule here whose message holds `of all`")


def test_a_finding_in_the_cluster_is_a_surprise_at_its_line_there(complaints: Callable[..., list[str]]) -> None:
    assert complaints(*AS_MARKED, finding("some-rule", 1, "node", path="cluster.yaml")) == [
        "27: a finding without a mark: node"
    ]


def test_what_is_suppressed_is_silent(complaints: Callable[..., list[str]]) -> None:
    assert complaints(*AS_MARKED, finding("some-rule", 2, "no", suppressed=True)) == []


def test_several_findings_on_a_line_each_need_a_mark(complaints: Callable[..., list[str]]) -> None:
    twice = {"# finding: cannot": "# finding: # finding: cannot"}
    again = finding("some-rule", 4, "something")
    assert complaints(*AS_MARKED, again, changes=twice) == []
    assert complaints(again, *AS_MARKED, changes=twice) == []
    assert complaints(*AS_MARKED, again) == ["34: a finding without a mark: something"]
    assert len(complaints(*AS_MARKED, changes=twice)) == 1


def test_a_finding_must_keep_what_the_card_promises(complaints: Callable[..., list[str]]) -> None:
    weak = finding("some-rule", 4, "it cannot be", related=((3, "wanted"),), evidence="witness")
    assert complaints(weak, AS_MARKED[1]) == ["34: the evidence is a witness, the card promises proof"]
    milder = {"severity: error": "severity: warning"}
    assert complaints(*AS_MARKED, changes=milder) == ["34: it is error, the card allows at most warning"]


def test_an_example_that_was_not_linted_proves_nothing(complaints: Callable[..., list[str]]) -> None:
    broken = InputError("manifest.yaml", "found a tab", 2, 1)
    assert complaints(*AS_MARKED, errors=(broken,)) == ["32: not linted: found a tab"]
    skip = Skip("some-rule", "needs a cluster")
    assert complaints(*AS_MARKED, skipped=(skip,)) == ["31: the rule was skipped: needs a cluster"]
    meant = {"```yaml\nkind: A": "```yaml skipped\nkind: A"}
    assert complaints(*AS_MARKED, skipped=(skip,), changes=meant) == []
    assert complaints(*AS_MARKED, changes=meant) == ["31: the rule ran, but the fence says skipped"]


def test_a_finding_that_cannot_be_worded_is_a_failure(card_text: CardText) -> None:
    one = card(card_text())

    def lint(example: Example, rules: Sequence[Rule], book: Rulebook) -> Report:
        fill("{reserve}", {"replicas": 3})
        raise AssertionError("the line above raises")

    (failure,) = failures(examples(one)[0], Rulebook({"some-rule": to_rule(one)}), lint)
    assert failure.message == "a finding cannot be worded: the check gives no value for {reserve}; it gives replicas"


def test_an_example_runs_under_its_own_rule_and_all_of_the_profile(card_text: CardText) -> None:
    own = card(card_text({"evidence: proof": "evidence: proof\ndefault: off"}))
    rule = to_rule(own)
    others = {
        slug: Rule(slug, "s", "spread", Severity.NOTE, ("pattern",), ("text",), {"": ""}, {"": ""}, default=default)
        for slug, default in {"usual": "on", "picky": "strict", "silent": "off"}.items()
    }
    book = Rulebook({rule.slug: rule, **others})
    assert [r.slug for r in rules_for(examples(own)[0], book)] == ["some-rule", "usual"]
    strict = card(card_text({"```yaml\nkind: A": "```yaml strict\nkind: A"}))
    assert [r.slug for r in rules_for(examples(strict)[0], book)] == ["picky", "some-rule", "usual"]
