"""Quantities: accepted, refused and printed as apimachinery does (pkg/api/resource/quantity_test.go, v1.36)."""

from __future__ import annotations

import re
from itertools import product

import pytest

from kubesched_lint.engine.apiserver.values import quantities
from kubesched_lint.engine.apiserver.values.quantities import (
    NotAQuantityError,
    in_resource_list,
    literal,
    parse,
    quantity,
)
from kubesched_lint.engine.model.quantity import digits_and_letters

CANONICAL = [
    ("0", "0"),
    ("0.5", "500m"),
    ("1.5Gi", "1536Mi"),
    ("64Mi", "64Mi"),
    ("1024Mi", "1Gi"),
    ("5000Mi", "5000Mi"),
    ("1000", "1k"),
    ("1e3", "1e3"),
    ("12e6", "12e6"),
    ("0.1e3", "100"),
    ("-1", "-1"),
    ("-0.5", "-500m"),
    ("1500m", "1500m"),
    ("0.5Ki", "512"),
    ("512", "512"),
    ("2Ki", "2Ki"),
    ("1048576Ki", "1Gi"),
    ("0.0000000001", "1n"),
]


@pytest.mark.parametrize(("text", "shown"), CANONICAL)
def test_a_quantity_prints_in_its_canonical_form(text, shown):
    assert str(parse(text)) == shown


@pytest.mark.parametrize("text", ["1X", "abc", "", "  ", "1 Gi", "true", "1.2.3", "64gi", "0x10"])
def test_text_of_the_wrong_form_is_refused_with_the_regular_expression(text):
    with pytest.raises(NotAQuantityError, match="quantities must match the regular expression"):
        parse(text)


@pytest.mark.parametrize("text", ["64mi", "--1", "1kk", "1e", "1-2", "1K", "100M1"])
def test_an_unknown_suffix_is_refused_as_such(text):
    with pytest.raises(NotAQuantityError, match="unable to parse quantity's suffix"):
        parse(text)


def test_numbers_are_read_as_kubectl_writes_them_into_json():
    assert quantity(1).nanos == 10**9
    assert str(quantity(0.5)) == "500m"
    assert literal(3.0) == "3"
    assert literal(0.00001) == "0.00001"
    assert literal(1e-7) == "1e-7"
    assert literal(1e16) == "10000000000000000"
    assert literal(1e22) == "1e+22"


def test_values_compare_exactly_and_round_away_from_zero():
    assert parse("1Gi").nanos > parse("1G").nanos
    assert parse("0.3").nanos == parse("300m").nanos
    assert parse("1100m").value == 2
    assert parse("-1100m").value == -2


def test_resource_lists_are_rounded_up_to_thousandths_by_defaulting():
    assert str(in_resource_list("1u")) == "1m"
    assert str(in_resource_list("-1u")) == "-1m"
    assert in_resource_list("250m") == parse("250m")


def test_whole_means_whole_after_rounding_to_thousandths():
    assert parse("2").is_whole
    assert not parse("500m").is_whole
    assert not parse("1u").is_whole


def test_a_hostile_exponent_costs_nothing():
    assert parse("1e999999999").nanos > 0


def test_plain_quantities_are_read_as_the_pattern_reads_them() -> None:
    """All texts of up to four characters, digits of other scripts among them."""
    for length in range(5):
        for characters in product("10mKiEe.+²", repeat=length):
            text = "".join(characters)
            digits, letters = digits_and_letters(text)
            if digits:
                found = re.fullmatch(quantities._FORM, text)
                assert found is not None, text
                assert found.groups("") == ("", digits, "", letters), text
