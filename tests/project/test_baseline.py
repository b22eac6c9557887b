"""What a baseline knows again, what it does not, and what is wrong with files that are none."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from kubesched_lint.engine.base.places import Location, ObjectRef, Span
from kubesched_lint.findings import Finding, Report, Severity, Suppression, pattern
from kubesched_lint.linter.options import BaselineError
from kubesched_lint.project.baseline import (
    VERSION,
    changes,
    changes_of_findings,
    entries_in,
    entries_of,
    entry_of,
    held_against,
    number_of_entries,
    text_of,
    updated,
    without,
)
from kubesched_lint.rulebook.library import Rulebook

BOOK = Rulebook.shipped()
WEB = ObjectRef("Deployment", "shop", "web")


def finding(rule: str = "spread-rollout-skew", line: int = 1, index: int = 0, **other: object) -> Finding:
    place = Location("web.yaml", Span(line, 1, line, 2))
    at = ("spec", "template", "spec", "topologySpreadConstraints", index)
    made = Finding(rule, Severity.WARNING, "m", "h", pattern(), WEB, place, at=at)
    return replace(made, **other)  # type: ignore[arg-type]


def open_rules(report: Report) -> list[tuple[str, int]]:
    return [(f.rule, f.location.span.line) for f in report.findings if f.suppressed is None]


def test_a_finding_is_known_again_wherever_it_has_moved() -> None:
    entries = entries_of(Report((finding(line=3),)))
    elsewhere = Location("renamed.yaml", Span(90, 7, 91, 1))
    moved = Report((finding(location=elsewhere, index=2, message="other numbers"),))
    held = held_against(moved, entries, source="known.json")
    assert held.report.findings[0].suppressed == Suppression("known in known.json", known=True)
    assert not open_rules(held.report)


@pytest.mark.parametrize(
    "other",
    [
        {"rule": "spread-single-domain"},
        {"object": ObjectRef("Deployment", "shop", "api")},
        {"at": ("spec", "template", "spec", "affinity")},
        {"severity": Severity.ERROR},
    ],
    ids=["another rule", "another object", "another place in it", "it has become worse"],
)
def test_what_differs_in_substance_is_not_known(other: dict[str, object]) -> None:
    held = held_against(Report((replace(finding(), **other),)), entries_of(Report((finding(),))))  # type: ignore[arg-type]
    assert len(open_rules(held.report)) == 1


def test_what_has_become_milder_is_still_known() -> None:
    entries = entries_of(Report((finding(severity=Severity.ERROR),)))
    assert not open_rules(held_against(Report((finding(),)), entries).report)


def test_two_of_a_kind_are_known_and_the_third_is_new() -> None:
    entries = entries_of(Report((finding(line=1, index=0), finding(line=2, index=1))))
    assert number_of_entries(entries) == 2
    held = held_against(Report(tuple(finding(line=n, index=n) for n in (1, 2, 3))), entries)
    assert len(open_rules(held.report)) == 1


# --- one rule at one place is one finding -----------------------------------------------------------------------------

OTHER = ObjectRef("Deployment", "shop", "api")


def in_environments(*objects: ObjectRef) -> tuple[Finding, ...]:
    """One line that prod and staging render, for each of the objects."""
    return tuple(finding(object=one, rendered=name) for name in ("prod", "staging") for one in objects)


def test_a_finding_of_several_objects_and_environments_is_one_entry_of_the_file() -> None:
    report = Report(in_environments(WEB, OTHER))
    entries = entries_of(report)
    assert (len(entries), number_of_entries(entries)) == (2, 1)
    (line,) = json.loads(text_of(entries))["findings"]
    assert (line["name"], [other["name"] for other in line["also"]]) == ("api", ["web"])
    read = entries_in(text_of(entries).encode(), "known.json", BOOK)
    assert (set(read), number_of_entries(read)) == (set(entries), 1)
    held = held_against(report, read, ran={"spread-rollout-skew"}, objects=lambda: {WEB, OTHER})
    assert not open_rules(held.report)
    assert not held.gone
    assert text_of(read) == text_of(entries)


def test_a_further_object_at_the_place_is_new() -> None:
    held = held_against(Report(in_environments(WEB, OTHER)), entries_of(Report(in_environments(WEB))))
    assert {f.object for f in held.report.findings if f.suppressed is None} == {OTHER}


def test_an_old_baseline_with_an_entry_for_each_environment_is_read() -> None:
    old = [replace(entry_of(one), finding=None) for one in in_environments(WEB, OTHER)]
    held = held_against(
        Report(in_environments(WEB, OTHER)), old, ran={"spread-rollout-skew"}, objects=lambda: {WEB, OTHER}
    )
    assert not open_rules(held.report)
    assert not held.gone
    now = entries_of(Report(in_environments(WEB, OTHER)))
    told = [(change.sign, change.why, others) for change, others in changes_of_findings(old, now)]
    assert told == [("-", "another entry covers it", 0), ("-", "another entry covers it", 0)]


def test_what_is_gone_of_an_entry_leaves_the_rest() -> None:
    entries = entries_of(Report(in_environments(WEB, OTHER)))
    held = held_against(
        Report(in_environments(WEB)), entries, ran={"spread-rollout-skew"}, objects=lambda: {WEB, OTHER}
    )
    assert [entry.object for entry in held.gone] == [OTHER]
    left = without(entries, held.gone)
    assert text_of(left) == text_of(entries_of(Report(in_environments(WEB))))


def test_of_two_of_a_kind_the_worse_takes_the_worse_entry() -> None:
    both = (finding(line=1, severity=Severity.NOTE), finding(line=2, severity=Severity.ERROR))
    for report in (Report(both), Report(both[::-1])):
        assert not open_rules(held_against(report, entries_of(Report(both))).report)


def test_an_entry_is_gone_only_when_somebody_looked() -> None:
    entries = entries_of(Report((finding(),)))
    ran = {"spread-rollout-skew"}
    assert held_against(Report(), entries, ran=ran, objects=lambda: {WEB}).gone == entries
    assert not held_against(Report(), entries, ran=(), objects=lambda: {WEB}).gone
    assert not held_against(Report(), entries, ran=ran, objects=set).gone
    assert not held_against(Report((finding(),)), entries, ran=ran, objects=lambda: {WEB}).gone


def test_what_was_read_is_not_asked_for_while_all_is_known() -> None:
    def never() -> set[ObjectRef]:
        raise AssertionError("asked")

    entries = entries_of(Report((finding(),)))
    held_against(Report((finding(),)), entries, ran={"spread-rollout-skew"}, objects=never)


def test_a_waived_finding_is_neither_written_nor_does_it_keep_its_entry() -> None:
    waived = finding(suppressed=Suppression("we know"))
    assert not entries_of(Report((waived,)))
    held = held_against(Report((waived,)), [entry_of(waived)], ran={waived.rule}, objects=lambda: {WEB})
    assert held.report.findings[0].suppressed == waived.suppressed
    assert len(held.gone) == 1


def test_the_file_has_a_sorted_line_for_each_and_reads_back() -> None:
    report = Report((finding(line=9), finding("spread-single-domain"), finding(object=ObjectRef("Job", "a", "b"))))
    entries = entries_of(report)
    text = text_of(entries)
    assert text == text_of(entries_of(Report(report.findings[::-1])))
    assert text.count("\n") == len(entries) + 2
    assert text.index('"Job"') < text.index('"Deployment"'), "sorted by namespace first"
    assert entries_in(text.encode(), "b.json", BOOK) == entries
    assert entries_in(text_of([]).encode(), "b.json", BOOK) == ()
    assert without(entries, entries[:1]) == entries[1:]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"\xff", "b.json: not a baseline: not UTF-8"),
        (b"{", "b.json:1:2: not JSON"),
        (b'{"a": [\n<<<<<<< ours\n', "b.json:2:1: not JSON; it has a merge conflict"),
        (b"[" * 100_000, "b.json: nested too deeply"),
        (b"[]", "b.json: not a baseline; `kubesched-lint baseline write` makes one"),
        (b'{"version": 1, "findings": []}', "b.json: not a baseline"),
        (b'{"kubesched-lint-baseline": 2}', "b.json: a baseline of version 2: a newer kubesched-lint wrote it"),
        (
            b'{"kubesched-lint-baseline": "x"}',
            "b.json: a baseline of version 'x': this kubesched-lint does not know it",
        ),
        (b'{"kubesched-lint-baseline": 1, "findings": 3}', "b.json: not a baseline: it has no list `findings`"),
        (b'{"kubesched-lint-baseline": 1, "findings": [3]}', "b.json: finding 1 is not an object"),
        (b'{"kubesched-lint-baseline": 1, "findings": [{"rule": 1}]}', "b.json: finding 1 needs `rule`, a string"),
    ],
)
def test_a_file_that_is_no_baseline_is_one_message(data: bytes, why: str) -> None:
    with pytest.raises(BaselineError) as caught:
        entries_in(data, "b.json", BOOK)
    assert str(caught.value).startswith(why)


def test_a_severity_nobody_knows_and_a_rule_that_is_gone() -> None:
    entry = json.loads(text_of(entries_of(Report((finding(),)))))["findings"][0]

    def with_(**other: str) -> bytes:
        return json.dumps({"kubesched-lint-baseline": VERSION, "findings": [entry | other]}).encode()

    with pytest.raises(BaselineError, match="finding 1 has the severity 'fatal'"):
        entries_in(with_(severity="fatal"), "b.json", BOOK)
    assert entries_in(with_(rule="a-rule-of-one-s-own"), "b.json", BOOK)[0].rule == "a-rule-of-one-s-own"


def changes_between(before: Report, after: Report) -> list[tuple[str, str, str]]:
    found = changes(entries_of(before), entries_of(after))
    return [(change.sign, change.entry.rule, change.why) for change in found]


def test_changes_say_why_an_entry_is_new() -> None:
    api = ObjectRef("Deployment", "shop", "api")
    before = Report((finding(), finding("drain-stuck", object=api)))
    after = Report(
        (*before.findings, finding(line=2, index=1), finding("drain-stuck"), finding("pvc-missing", object=api))
    )
    assert changes_between(before, after) == [
        ("+", "pvc-missing", "the rule had no entry"),
        ("+", "drain-stuck", ""),
        ("+", "spread-rollout-skew", ""),
    ]
    assert changes_between(Report(()), before)[0] == ("+", "drain-stuck", "the object had no entry")
    assert changes_between(before, Report(before.findings[1:])) == [("-", "spread-rollout-skew", "no longer found")]
    assert changes_between(before, before) == []


def test_another_severity_is_one_change() -> None:
    mild, bad = finding(), finding(severity=Severity.ERROR)
    assert changes_between(Report((mild,)), Report((bad,))) == [("~", mild.rule, "more severe")]
    assert changes_between(Report((bad,)), Report((mild,))) == [("~", mild.rule, "less severe")]
    further = finding(line=2, index=1)
    assert changes_between(Report((bad, further)), Report((mild, further))) == [("~", mild.rule, "less severe")]
    assert changes_between(Report((bad,)), Report((mild, further))) == [
        ("+", mild.rule, ""),
        ("~", mild.rule, "less severe"),
    ]


def test_an_update_keeps_what_the_run_cannot_judge() -> None:
    unseen = entry_of(finding("pvc-missing"))
    old = (entry_of(finding(severity=Severity.ERROR)), unseen)
    held = held_against(Report((finding(), finding("drain-stuck"))), old, ran={"spread-rollout-skew", "drain-stuck"})
    assert updated(old, entries_of(held.report), held.gone) == (
        entry_of(finding("drain-stuck")),
        unseen,
        entry_of(finding()),
    )
    mended = held_against(Report(()), old, ran={"spread-rollout-skew"}, objects=lambda: [WEB])
    assert updated(old, entries_of(mended.report), mended.gone) == (unseen,)
