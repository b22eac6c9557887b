"""Which rules a run has: by profile, by name, and never by accident."""

from __future__ import annotations

import pytest

from kubesched_lint.engine.model.labels import Selector
from kubesched_lint.engine.model.pod import Pod, PodAffinityTerm
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.findings import Severity
from kubesched_lint.rulebook.library import Rulebook, UnknownRuleError
from kubesched_lint.rulebook.rule import FEATURES, Rule
from kubesched_lint.rulebook.wording import WordingError


def rule(slug: str, family: str = "spread", **more: object) -> Rule:
    fields: dict[str, object] = {
        "summary": "s", "severity": Severity.WARNING, "evidence": ("pattern",), "needs": ("text",),
        "messages": {"": "m"}, "helps": {"": "h"},
    }  # fmt: skip
    return Rule(slug=slug, family=family, **{**fields, **more})  # type: ignore[arg-type]


BOOK = Rulebook(
    {
        r.slug: r
        for r in (
            rule("a-text"),
            rule("b-nodes", needs=("nodes",)),
            rule("c-strict", default="strict"),
            rule("d-off", default="off"),
            rule("e-taint", family="taints", formerly=("e-old",)),
        )
    }
)


def slugs(*, profile: str = "ci", select: tuple[str, ...] = (), ignore: tuple[str, ...] = ()) -> list[str]:
    return [r.slug for r in BOOK.select(profile, select, ignore)]


def test_a_profile_has_its_rules() -> None:
    assert slugs() == ["a-text", "b-nodes", "e-taint"]
    assert slugs(profile="strict") == ["a-text", "b-nodes", "c-strict", "e-taint"]
    assert slugs(profile="editor") == ["a-text", "e-taint"]


def test_a_named_rule_runs_whatever_its_default() -> None:
    assert slugs(select=("d-off", "c-strict")) == ["c-strict", "d-off"]


def test_a_named_family_brings_all_but_the_rules_that_are_off() -> None:
    assert slugs(select=("spread",)) == ["a-text", "b-nodes", "c-strict"]


def test_ignore_has_the_last_word() -> None:
    assert slugs(ignore=("spread",)) == ["e-taint"]
    assert slugs(select=("spread", "taints"), ignore=("a-text", "taints")) == ["b-nodes", "c-strict"]


def test_a_former_slug_is_still_understood() -> None:
    assert slugs(select=("e-old",)) == ["e-taint"]
    assert slugs(ignore=("e-old",)) == ["a-text", "b-nodes"]


def test_a_wrong_name_is_an_error_with_a_guess() -> None:
    with pytest.raises(UnknownRuleError, match="no rule or family `b-node`; did you mean `b-nodes`"):
        BOOK.select(select=("b-node",))
    with pytest.raises(UnknownRuleError, match=r"no rule or family `zzz`$"):
        BOOK.select(ignore=("zzz",))
    with pytest.raises(UnknownRuleError, match="no family `taint`; did you mean `taints`"):
        BOOK.family("taint")


def test_a_rule_looks_only_at_workloads_that_carry_what_it_is_about() -> None:
    plain = Workload("Deployment", "shop", "web", Pod("shop", {"app": "web"}))
    term = PodAffinityTerm("kubernetes.io/hostname", Selector())
    picky = Workload("StatefulSet", "shop", "db", Pod("shop", {}, required_anti_affinity=(term,)))
    about = rule("x", features=("spread", "required_anti_affinity"))
    both = (plain, picky)
    assert list(about.among(both)) == [picky]
    assert list(rule("y").among(both)) == [plain, picky]
    assert list(rule("z", kinds=("Deployment",)).among(both)) == [plain]
    assert not rule("z", kinds=("Deployment",), features=("spread",)).among(both)
    assert not rule("x", features=("requests", "node_selector", "spread")).among(both)


def test_no_node_selector_terms_at_all_is_a_feature_since_it_matches_no_node() -> None:
    assert FEATURES["required_node_affinity"](Workload("Pod", "", "p", Pod("", {}, required_node_terms=())))
    assert not FEATURES["required_node_affinity"](Workload("Pod", "", "p", Pod("", {})))


def test_every_feature_can_be_asked_of_every_workload() -> None:
    bare = Workload("Pod", "", "p", Pod("", {}))
    assert {name for name, carries in FEATURES.items() if carries(bare)} == set()


def test_words_of_a_variant() -> None:
    several = rule("v", messages={"default": "d", "hard": "h"}, helps={"": "all"})
    assert (several.message(), several.message("hard"), several.help("hard")) == ("d", "h", "all")
    with pytest.raises(WordingError, match="the card of v has no words for the variant `soft`"):
        several.message("soft")
