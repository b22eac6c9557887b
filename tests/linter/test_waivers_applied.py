"""A waiver silences its rule at its place and nowhere else; what it no longer silences is told."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from kubesched_lint.engine.base.places import Location, ObjectRef, Path, Span
from kubesched_lint.explaining.waivers.waiver import Waiver, WaiverUse
from kubesched_lint.findings import Finding, Related, Severity, pattern
from kubesched_lint.linter.waivers.waivers import annotation_waivers, apply_waivers, find_waivers, owners, uses

WEB, CACHE = ObjectRef("Deployment", "shop", "web"), ObjectRef("Deployment", "shop", "cache")
KNOWN = {"one": "one", "two": "two", "was-one": "one"}


class Text:
    """A source whose only known places are the whole object and its annotations."""

    def __init__(self, path: str, whole: Span, places: Mapping[Path, Span] = {}) -> None:
        self.path, self.whole, self.places = path, whole, places

    def span(self, path: Path, *, key: bool = False) -> Span:
        return self.places.get(path, self.whole)


def finding(line: int, end: int = 0, *, rule: str = "one", path: str = "a.yaml", subject: ObjectRef = WEB) -> Finding:
    span = Span(line, 3, end or line, 9)
    return Finding(rule, Severity.ERROR, "m", "h", pattern(), subject, Location(path, span))


def nobody(_: Location) -> ObjectRef | None:
    return None


def silenced(text: str, *findings: Finding) -> list[bool]:
    applied, _ = apply_waivers(findings, find_waivers(text, "a.yaml"), KNOWN, nobody)
    return [f.suppressed is not None for f in applied]


def test_a_comment_on_the_line_or_above_it_silences_its_rule_there_only() -> None:
    text = "a: 1\nb: 2 # kubesched: ignore[one] why\nc: 3\n"
    assert silenced(text, finding(2)) == [True]
    assert silenced(text, finding(3)) == [True]
    assert silenced(text, finding(1)) == [False]
    assert silenced(text, finding(4)) == [False]
    assert silenced(text, finding(2, rule="two")) == [False]
    assert silenced(text, finding(2, path="b.yaml")) == [False]


def test_a_comment_behind_content_is_not_spent_on_the_line_below_when_its_own_needs_it() -> None:
    text = "- a # kubesched: ignore[one] why\n- b\n"
    assert silenced(text, finding(1), finding(2)) == [True, False]


def test_a_comment_on_any_line_of_the_span_counts() -> None:
    text = "a:\n  b: 1\n  c: 2 # kubesched: ignore[one] why\n  d: 3\n"
    assert silenced(text, finding(1, 4)) == [True]


def test_the_line_on_which_a_span_ends_before_its_first_column_is_not_of_it() -> None:
    span = Span(1, 1, 3, 1)
    one = Finding("one", Severity.ERROR, "m", "h", pattern(), WEB, Location("a.yaml", span))
    assert silenced("a:\n  b: 1\n# kubesched: ignore[one] why\nd: 3\n", one) == [False]


def test_a_block_of_comments_silences_the_line_below_it() -> None:
    text = "x: 1\n# kubesched: ignore[one] why\n# more\na: 1\n"
    assert silenced(text, finding(4), finding(1), finding(5)) == [True, False, False]


def test_a_former_slug_still_silences() -> None:
    assert silenced("a: 1 # kubesched: ignore[was-one] why", finding(1)) == [True]


def test_the_reason_and_the_place_of_the_waiver_are_kept() -> None:
    waivers = find_waivers("a: 1 # kubesched: ignore[one] why", "a.yaml")
    (applied,), used = apply_waivers([finding(1)], waivers, KNOWN, nobody)
    assert applied.suppressed is not None
    assert applied.suppressed.reason == "why"
    assert applied.suppressed.location == Location("a.yaml", Span(1, 26, 1, 29))
    assert used == frozenset(waivers)


def annotated(line: int, subject: ObjectRef, name: str = "one") -> tuple[Waiver, ...]:
    key = f"ignore.kubesched-lint.io/{name}"
    source = Text(
        "a.yaml", Span(line, 1, line + 9, 1), {("metadata", "annotations", key): Span(line + 3, 5, line + 3, 9)}
    )
    return tuple(annotation_waivers(subject, {key: "why", "other": "x"}, source))


def test_an_annotation_silences_its_rule_in_its_whole_object() -> None:
    waivers = annotated(11, WEB)
    applied, _ = apply_waivers([finding(11), finding(19), finding(20), finding(5)], waivers, KNOWN, nobody)
    assert [f.suppressed is not None for f in applied] == [True, True, True, False]
    assert waivers[0].at == Span(14, 5, 14, 9)


@pytest.mark.parametrize("value", [None, 7, True, ""])
def test_an_annotation_without_words_has_no_reason(value: object) -> None:
    source = Text("a.yaml", Span(1, 1, 9, 1))
    (waiver,) = annotation_waivers(WEB, {"ignore.kubesched-lint.io/one": value}, source)
    assert waiver.reason == ""


def test_for_symmetry_the_waiver_of_the_pod_that_stays_pending_counts_as_well() -> None:
    """The term of shop/cache (lines 1-10) keeps shop/web (lines 11-20) Pending."""
    owner = owners([(CACHE, Text("a.yaml", Span(1, 1, 10, 1))), (WEB, Text("a.yaml", Span(11, 1, 20, 1)))])
    symmetric = Finding(
        "one", Severity.ERROR, "m", "h", pattern(), WEB, Location("a.yaml", Span(5, 1, 5, 9)),
        related=(Related(Location("a.yaml", Span(15, 1, 15, 9)), "its labels"),),
    )  # fmt: skip
    for waivers in (
        annotated(11, WEB),
        annotated(1, CACHE),
        find_waivers("\n" * 4 + "x: 1 # kubesched: ignore[one] why", "a.yaml"),
        find_waivers("\n" * 14 + "x: 1 # kubesched: ignore[one] why", "a.yaml"),
    ):
        (applied,), used = apply_waivers([symmetric], waivers, KNOWN, owner)
        assert applied.suppressed is not None
        assert used == frozenset(waivers)
    elsewhere = find_waivers("\n" * 17 + "x: 1 # kubesched: ignore[one] why", "a.yaml")
    assert apply_waivers([symmetric], elsewhere, KNOWN, owner)[0] == (symmetric,)


def test_a_related_place_of_the_same_object_is_no_place_for_a_waiver() -> None:
    owner = owners([(WEB, Text("a.yaml", Span(1, 1, 20, 1)))])
    one = Finding(
        "one", Severity.ERROR, "m", "h", pattern(), WEB, Location("a.yaml", Span(5, 1, 5, 9)),
        related=(Related(Location("a.yaml", Span(15, 1, 15, 9)), "6 replicas"),),
    )  # fmt: skip
    waivers = find_waivers("\n" * 14 + "x: 1 # kubesched: ignore[one] why", "a.yaml")
    assert apply_waivers([one], waivers, KNOWN, owner)[0] == (one,)


def test_an_annotation_on_another_object_of_the_same_name_does_not_count() -> None:
    """The same Deployment in two overlays: each answers for itself."""
    owner = owners([(WEB, Text("a.yaml", Span(1, 1, 20, 1))), (WEB, Text("b.yaml", Span(1, 1, 20, 1)))])
    other = finding(5, path="b.yaml")
    assert apply_waivers([other], annotated(1, WEB), KNOWN, owner)[0] == (other,)


def use_of(text: str, *findings: Finding, ran: tuple[str, ...] = ("one", "two")) -> list[WaiverUse]:
    waivers = find_waivers(text, "a.yaml")
    applied, used = apply_waivers(findings, waivers, KNOWN, nobody)
    return [use for _, use in uses(waivers, used, applied, KNOWN, ran, ("affinity",))]


def test_a_waiver_that_silences_nothing_is_unused_and_the_nearest_finding_is_named() -> None:
    text = "\n\n\n\na: 1 # kubesched: ignore[one] why"
    assert use_of(text) == [WaiverUse(False)]
    near, far = finding(9), finding(30)
    assert use_of(text, far, near) == [WaiverUse(False, nearest=near.location)]
    assert use_of(text, finding(5)) == [WaiverUse(True)]


def test_each_slug_of_a_comment_is_judged_by_itself() -> None:
    assert [u.is_used for u in use_of("a: 1 # kubesched: ignore[one, two] why", finding(1))] == [True, False]


def test_a_waiver_of_a_rule_that_did_not_run_is_left_alone() -> None:
    assert use_of("a: 1 # kubesched: ignore[one] why", ran=("two",)) == [WaiverUse(False, is_idle=True)]


@pytest.mark.parametrize(
    ("name", "guess"),
    [("was-on", "did you mean `was-one`?"), ("affinity", "`affinity` is a family"), ("zzz", " ")],
)
def test_an_unknown_slug_is_unused_whatever_ran_and_a_guess_is_made(name: str, guess: str) -> None:
    (use,) = use_of(f"a: 1 # kubesched: ignore[{name}] why", ran=())
    assert guess in use.unknown
    assert not use.is_used
