"""Messages follow the rules of style of rules/CARDS.md: every example of every card is rendered and read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

import pytest

from kubesched_lint.findings import Finding
from kubesched_lint.rulebook.rule import Rule
from tests.rulebook.shipped_cards import TRIAL, report_of

_LONGEST = 160
_BANNED = re.compile(
    r"\b(not established|not proven|forever|would be an error|elastic|others?|domains?|places|usable|resolves? to|hard|"
    r"inert|reachable from 0)\b|new nodes of pool|\(s\)"
)
_QUOTED = re.compile(r"""(?x)
    : [ ] \S+ : [ ] (?:Unsupported|Invalid|Forbidden|Required|Duplicate|Too) .* $  # an error of the API server
    | : [ ] violates [ ] PodSecurity .* $
    | [ ] \( \D* \d* [^()]* node\(s\) .* \)                                        # reasons of kube-scheduler
    | [ ] \( [^()]* (?:\[[^]]*\])? [^()]* being [ ] updated \)
    | \S*failure-domain\S*""")
_DISAGREES = re.compile(
    r"(?<![\w./=-])1 (?!(?:is|has|lets|does|stays|needs|waits|fits|runs|requests|takes|selects|refuses)\b)[a-z]+s\b"
    r"|\b(?:each of the|all|none of the) 1\b"
    r"|\b(?:[2-9]|\d\d+) (?:pod|node|zone|replica|workload|device) (?!selector|affinity)"
)
_OBJECT = r"[A-Z]\w+ [\w.-]+/[\w.-]+"


def findings() -> Iterator[Finding]:
    for example in TRIAL.examples:
        yield from report_of(example).findings


@lru_cache
def messages() -> dict[str, str]:
    """Return message → its rule, once each, without what is quoted from Kubernetes."""
    return {_QUOTED.sub("", finding.message): finding.rule for finding in findings()}


def test_messages_are_short() -> None:
    assert not [f"{len(text)} {rule}: {text}" for text, rule in messages().items() if len(text) > _LONGEST]


def test_messages_use_no_word_of_ours() -> None:
    assert not [f"{rule}: {text}" for text, rule in messages().items() if _BANNED.search(text)]


def test_numbers_agree_with_their_nouns() -> None:
    helps = {finding.help: finding.rule for finding in findings()}
    assert not [f"{rule}: {text}" for text, rule in [*messages().items(), *helps.items()] if _DISAGREES.search(text)]


@pytest.mark.parametrize(
    "wrong", ["1 nodes match", "each of the 1 node has", "all 1 node", "3 pod wait", "of 2 zone that", "1 replicas"]
)
def test_a_number_that_disagrees_is_seen(wrong: str) -> None:
    assert _DISAGREES.search(wrong)


def test_a_list_shows_three_names_at_most() -> None:
    """A longer one ends with a number: ``a, b, c and 4 more``."""
    long = re.compile(rf"(?:(?:{_OBJECT}|[\w./-]+), ){{3,}}(?:{_OBJECT}|[\w./-]+) and (?!\d)")
    assert not [f"{rule}: {text}" for text, rule in messages().items() if long.search(text)]


def test_pods_that_may_run_do_not_stay_pending() -> None:
    """``stay Pending`` is for what is certain, or certain unless something outside the files helps."""
    unsure = [f for f in findings() if f.evidence.kind == "witness" and re.search(r"\bstays? Pending\b", f.message)]
    assert not [f"{f.rule}: {f.message}" for f in unsure if "may stay Pending" not in f.message]


def test_no_value_of_a_label_is_invented() -> None:
    """The Deployment controller alone knows the hash of a template: ``pod-template-hash=web-new`` is nowhere."""
    invented = re.compile(r"pod-template-hash(?:=|: )['\"]?[\w-]")
    texts = {(f.rule, text) for f in findings() for text in (f.message, f.help, f.evidence.text, *f.evidence.trace)}
    assert [f"{rule}: {text}" for rule, text in sorted(texts) if invented.search(text)] == []
    assert invented.search("no pod matches app=web, pod-template-hash=web-new")


@pytest.mark.parametrize("rule", list(TRIAL.book), ids=lambda rule: rule.slug)
def test_help_is_an_imperative_without_our_words(rule: Rule) -> None:
    banned = re.compile(r"\b(forever|elastic|further domains|usable nodes?)\b")
    assert not [text for text in rule.helps.values() if banned.search(text)]
