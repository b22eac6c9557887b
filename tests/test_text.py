"""Phrases that many messages share."""

from __future__ import annotations

from difflib import get_close_matches
from random import Random

import pytest

from kubesched_lint.engine.base import text as texts
from kubesched_lint.engine.base.text import (
    and_more,
    brief,
    closest,
    did_you_mean,
    first_few,
    joined,
    many,
    misspelt,
    plural,
)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (plural(1, "is", "are"), "is"),
        (plural(0, "node"), "nodes"),
        (plural(2, "", "s"), "s"),
        (many(1, "file"), "1 file"),
        (many(2000, "entry", "entries"), "2,000 entries"),
        (joined(()), ""),
        (joined(("a",)), "a"),
        (joined(("a", "b")), "a and b"),
        (joined(("a", "b", "c")), "a, b and c"),
        (and_more(0), ""),
        (and_more(-1, "pool"), ""),
        (and_more(1, "pool"), " and 1 more pool"),
        (and_more(1200), " and 1,200 more"),
        (first_few(("a", "b"), most=2), "a, b"),
        (first_few(("a", "b", "c", "d"), "; ", 2), "a; b and 2 more"),
        (first_few(("a", "b", "c", "d"), "; "), "a; b; c; d"),
        (first_few(("a", "b", "c", "d")), "a, b, c and d"),
        (first_few(("a", "b", "a-long-name"), most=2), "a, b and a-long-name"),
        (first_few(("a", "b", "a-longer-name"), most=2), "a, b and 1 more"),
        (first_few(("a-name-as-long", "b", "a-longer-name"), most=2), "a-name-as-long, b and a-longer-name"),
        (closest("nod", ("pod", "node")), "node"),
        (closest("nod", ("pod", "node"), 0.9), ""),
        (did_you_mean("nod", iter(("pod", "node"))), "; did you mean `node`?"),
        (did_you_mean("x", ("pod", "node")), ""),
        (misspelt("system-node-critcal", ("system-cluster-critical", "system-node-critical")), "system-node-critical"),
        (misspelt("high-priorety", ("high-priority",)), "high-priority"),
        (misspelt("high-prioirty", ("high-priority",)), "high-priority"),
        (misspelt("team-a-high", ("team-b-high",)), ""),
        (misspelt("aws-efs", ("aws-ebs", "aws-efs-1")), ""),
        (misspelt("gp3", ("gp2", "gp3-encrypted")), ""),
        (misspelt("premium", ("premium2", "standard")), ""),
    ],
)
def test_phrases(said: str, words: str) -> None:
    assert said == words


def test_a_long_list_keeps_its_start_and_its_end() -> None:
    names = ", ".join(f"node-{number}" for number in range(300))
    cut = brief(f"0 of 300 nodes ({names}) fit, 3 are full")
    assert (
        cut == "0 of 300 nodes (node-0, node-1, node-2, node-3, node-4, node-5, … 293 more …, node-299) fit, 3 are full"
    )
    assert brief(" + ".join(["1 in zone-x"] * 100)).count("zone-x") == 7


def test_a_short_text_is_not_cut() -> None:
    for text in (", ".join("abcdefghijklmnopqrst"), "a" * 5000, ""):
        assert brief(text) == text


NAMES = ("worker", "eu-west-1a", "app.kubernetes.io/name", "disk-ssd", "gpu", "frontend-v2", "", "x" * 90)


def _misspelt(draw: Random, name: str) -> str:
    letters = list(name)
    for _ in range(draw.randrange(4)):
        at = draw.randrange(len(letters) + 1)
        letters[at : at + draw.randrange(3)] = draw.sample("abcxyz-1239AB./é", draw.randrange(3))
    return "".join(letters)


@pytest.mark.parametrize("seed", range(40))
def test_suggestions_skip_no_name_that_a_comparison_with_all_would_find(seed: int) -> None:
    draw = Random(seed)
    for _ in range(50):
        known = tuple(_misspelt(draw, draw.choice(NAMES)) for _ in range(draw.randrange(12)))
        wrong, likeness = _misspelt(draw, draw.choice(NAMES)), draw.choice([0.6, 0.75, 0.8, 0.9])
        expected = next(iter(get_close_matches(wrong, known, n=1, cutoff=likeness)), "")
        assert texts.closest(wrong, known, likeness) == expected
        all_near = [name for name in known if texts.is_slip(wrong, name) or texts._is_changed_word(wrong, name)]
        assert texts.misspelt(wrong, known) == min(all_near, default="")


def test_of_very_many_names_those_next_in_the_alphabet_are_compared() -> None:
    nodes = [f"ip-10-0-{number // 250}-{number % 250}.internal" for number in range(1000)]
    assert closest("ip-10-0-3-77.intrenal", nodes) == "ip-10-0-3-77.internal"
    assert closest("pi-10-0-3-77.internal", nodes) == "ip-10-0-3-77.internal"
    assert closest("mzone", [*nodes, *(f"node{n}" for n in range(20)), "zone"]) == "zone"
