"""What may be a name or a label, with the words of apimachinery (pkg/util/validation/validation_test.go, v1.36)."""

from __future__ import annotations

import re
from itertools import product

import pytest

from kubesched_lint.engine.apiserver.values import names


@pytest.mark.parametrize("name", ["a", "web-1", "1-a", "a" * 63])
def test_dns_labels(name):
    assert names.dns_label(name) == ()


@pytest.mark.parametrize("name", ["", "A", "-a", "a-", "a_b", "a" * 64, "é"])
def test_what_is_no_dns_label(name):
    assert names.dns_label(name) != ()


def test_a_dotted_label_is_told_about_its_dots_only():
    assert names.dns_label("web.v1") == ("must not contain dots",)


@pytest.mark.parametrize(("text", "bytes_"), [("web", 3), ("é", 2), ("\ud800", 3)])
def test_sizes_count_bytes_also_of_what_is_no_text(text, bytes_):
    """Go's decoder puts U+FFFD, three bytes, in the place of half a surrogate pair."""
    assert names.size(text) == bytes_


@pytest.mark.parametrize("key", ["a", "A.b_c", "example.com/a", "a" * 63, "1"])
def test_label_keys(key):
    assert names.label_key(key) == ()


@pytest.mark.parametrize(
    ("key", "complaint"),
    [
        ("", "name part must be non-empty"),
        ("/a", "prefix part must be non-empty"),
        ("a/", "name part must be non-empty"),
        ("Bad Prefix/a", "prefix part a lowercase RFC 1123 subdomain"),
        ("a" * 64, "name part must be no more than 63 bytes"),
        ("a/b/c", "a valid label key must consist of"),
        ("bad key!", "name part must consist of"),
    ],
)
def test_what_is_no_label_key(key, complaint):
    assert any(text.startswith(complaint) for text in names.label_key(key))


def test_label_values_may_be_empty_but_not_long_or_odd():
    assert names.label_value("") == ()
    assert names.label_value("a" * 64) == ("must be no more than 63 bytes",)
    assert names.label_value("-") != ()


def test_bytes_are_counted_not_characters():
    assert names.label_value("é" * 32)[0] == "must be no more than 63 bytes"


@pytest.mark.parametrize("name", ["http", "a-1", "8080a"])
def test_port_names(name):
    assert names.port_name(name) == ()


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("8080", "must contain at least one letter (a-z)"),
        ("a--b", "must not contain consecutive hyphens"),
        ("-a", "must not begin or end with a hyphen"),
        ("Http", "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"),
        ("a" * 16, "must be no more than 15 characters"),
    ],
)
def test_what_is_no_port_name(name, complaint):
    assert complaint in names.port_name(name)


def test_a_generated_name_may_end_with_a_dash():
    assert names.prefix_of(names.dns_subdomain)("web-") == ()
    assert names.dns_subdomain("web-") != ()


def test_percentages():
    assert names.percent("25%") == ()
    assert names.percent("25") != ()
    assert names.percent("-5%") != ()
    assert names.percent("²%") != ()


def test_environment_names_are_any_printable_ascii_but_equals():
    assert names.environment_name("my.odd name") == ()
    assert names.environment_name("A=B") != ()
    assert names.environment_name("É") != ()


def test_config_keys_may_not_climb():
    assert names.config_key("a.yaml") == ()
    assert names.config_key("..") == ("must not be '..'",)
    assert names.config_key("..a") == ("must not start with '..'",)


def test_path_segments():
    assert names.path_segment("a:b") == ()
    assert names.path_segment("..") == ("may not be '..'",)
    assert names.path_segment("a/b%") == ("may not contain '/'", "may not contain '%'")


def test_names_that_no_pattern_reads_are_those_of_the_pattern() -> None:
    """All texts of up to five characters from one of each sort."""
    for length in range(6):
        for characters in product("a0A-._é", repeat=length):
            text = "".join(characters)
            assert names._is_subdomain(text) is bool(re.fullmatch(names._SUBDOMAIN, text)), text
            assert names._is_key(text) is bool(re.fullmatch(names._KEY, text)), text
