"""Phrases that many messages share."""

from __future__ import annotations

import pytest

from kubesched_lint.text import and_more, closest, did_you_mean, first_few, joined, many, plural


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
        (first_few(("a", "b"), 2), "a, b"),
        (first_few(("a", "b", "c", "d"), 2, "; "), "a; b and 2 more"),
        (closest("nod", ("pod", "node")), "node"),
        (closest("nod", ("pod", "node"), 0.9), ""),
        (did_you_mean("nod", iter(("pod", "node"))), "; did you mean `node`?"),
        (did_you_mean("x", ("pod", "node")), ""),
    ],
)
def test_phrases(said: str, words: str) -> None:
    assert said == words
