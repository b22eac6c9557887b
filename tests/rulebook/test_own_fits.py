"""Cards that fit are not explained: what is taken for fitting must be so for jsonschema as well."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubesched_lint.rulebook.card import read_card
from kubesched_lint.rulebook.fits import UnknownKeywordError, fits
from tests.rulebook.shipped_cards import TRIAL
from tests.share import examples

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "rules" / "card.schema.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
OWN = [read_card(file) for file in sorted((ROOT / "examples" / "rules").glob("*.md"))]
CARDS = [dict(card.front.value) for card in (*TRIAL.cards, *OWN)]
WORDS = st.one_of(
    st.sampled_from(
        [
            "proof",
            "policy",
            "pattern",
            "error",
            "note",
            "on",
            "off",
            "text",
            "nodes",
            "workload",
            "set",
            "node",
            "pod",
            "a.",
            "",
        ]
    ),
    st.text(max_size=4),
    st.integers(-1, 2),
    st.booleans(),
    st.none(),
    st.just(1.0),
    st.lists(st.sampled_from(["proof", "policy", "text", "text", 1, True]), max_size=3),
    st.dictionaries(
        st.sampled_from(["type", "default", "description", "a b", "least"]), st.text(max_size=9), max_size=3
    ),
)


def test_every_card_of_ours_fits() -> None:
    """So that nobody pays for an explanation that is not needed."""
    assert len(CARDS) > 80
    assert all(fits(card, SCHEMA, SCHEMA) for card in CARDS)


@settings(max_examples=examples(600), deadline=None)
@given(st.data())
def test_what_fits_does_so_for_jsonschema_too(data: st.DataObject) -> None:
    card: dict[str, Any] = copy.deepcopy(data.draw(st.sampled_from(CARDS)))
    for _ in range(data.draw(st.integers(1, 3))):
        key = data.draw(st.sampled_from([*SCHEMA["properties"], "unknown"]))
        if data.draw(st.booleans()):
            card.pop(key, None)
        else:
            card[key] = data.draw(WORDS)
    assert fits(card, SCHEMA, SCHEMA) == VALIDATOR.is_valid(card)


@given(WORDS)
def test_what_is_no_mapping_does_not_fit(value: object) -> None:
    assert fits(value, SCHEMA, SCHEMA) == VALIDATOR.is_valid(value)


def test_a_keyword_that_is_not_understood_is_said_to_be_so() -> None:
    with pytest.raises(UnknownKeywordError):
        fits({}, {"unevaluatedProperties": False}, {})
