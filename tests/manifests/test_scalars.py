"""What kubectl makes of plain scalars; each row was asked of kubectl v1.32 (annotate --local -o json)."""

from __future__ import annotations

import pytest

from kubesched_lint.sources.manifests.yaml.full_reader import BuildError, build


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("y", True), ("n", False), ("Y", True), ("yes", True), ("No", False), ("on", True), ("OFF", False),
        ("TRUE", True),
        ("~", None), ("null", None), ("NULL", None), ("", None),
        ("010", 8), ("0o10", 8), ("08", 8), ("09", 9), ("007", 7), ("-010", -8), ("0x1F", 31), ("0b11", 3),
        ("1e3", 1000), ("1_000", 1000), ("0.1", 0.1), (".5", 0.5), ("5.", 5), ("1e-2", 0.01), ("+5", 5), ("0o7_1", 57),
        ("1:30", "1:30"), ("2001-01-01", "2001-01-01"), ("1e", "1e"), ("0x", "0x"), (".", "."), ("-", None),
        ("1e400", "1e400"), ("100000000000000000000", 1e20), ("_1", "_1"), ("=", "="),
        ('"5"', "5"), ("'y'", "y"), ("!!str 123", "123"), ('!!int "3"', 3), ('!!bool "yes"', True), ("!foo 5", "5"),
        ("!!binary aGVsbG8=", "hello"),
    ],
)  # fmt: skip
def test_a_plain_scalar_means_what_kubectl_makes_of_it(text: str, value: object) -> None:
    if text == "-":
        value = [None]  # a lone dash is a list of one null
    assert build(f"v: {text}\n" if text != "-" else "v:\n-\n") == {"v": value}


@pytest.mark.parametrize(
    ("text", "key"),
    [("y: 1", "true"), ("1: 1", "1"), ("1.5: 1", "1.5"), ("010: 1", "8"), ("1e3: 1", "1000"), ('"<<": 1', "<<")],
)
def test_keys_become_the_text_that_json_has(text: str, key: str) -> None:
    assert build(text) == {key: 1}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: 1\n<<: {a: 2}", {"a": 2}),
        ("<<: {a: 2}\na: 1", {"a": 1}),
        ("<<: [{a: 1}, {a: 2, b: 3}]", {"a": 1, "b": 3}),
        ("b: &x {c: 1}\nd: *x\ne: {<<: *x, f: 2}", {"b": {"c": 1}, "d": {"c": 1}, "e": {"c": 1, "f": 2}}),
    ],
)
def test_merge_keys_apply_where_they_stand(text: str, value: object) -> None:
    assert build(text) == value


@pytest.mark.parametrize(
    ("text", "words", "line", "column"),
    [
        ("a: 1\na: 2", "written twice, here and in line 1", 2, 1),
        ("~: 1", "null is no key", 1, 1),
        ("a: *nowhere", "alias", 1, 4),
        ("a: [1, 2\n", "not YAML: a '[' that is never closed", 1, 4),
        ("a: 'x", "not YAML: a quote that is never closed", 1, 4),
        ("a:\n\t- b", "a tab where YAML wants spaces", 2, 1),
        ("a: b: c", "': ' cannot stand here", 1, 5),
        ("a: \x00", "U+0000", 1, 4),
        ("{a: 1}: b", "cannot be a key", 1, 1),
        ("<<: 3", "<< needs a mapping", 1, 1),
    ],
)
def test_what_is_wrong_is_one_message_at_its_place(text: str, words: str, line: int, column: int) -> None:
    with pytest.raises(BuildError) as raised:
        build(text)
    assert words in raised.value.message
    assert (raised.value.line, raised.value.column) == (line, column)


def test_deep_nesting_ends_in_a_message() -> None:
    for opening in ("[", "{a: ", "- "):
        with pytest.raises(BuildError, match="nested deeper"):
            build(opening * 50_000)


def test_brackets_in_texts_are_no_nesting() -> None:
    for opening, column in (("[", 203), ("{a: ", 800)):
        with pytest.raises(BuildError, match="nested deeper") as raised:
            build('a:\n- "[["\n' + "- '[{'\n" * 300 + f"b: {opening * 5_000}")
        assert (raised.value.line, raised.value.column) == (303, column)


def test_alias_bombs_are_counted_as_they_expand() -> None:
    bomb = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"{chr(98 + i)}: &{chr(98 + i)} [{', '.join([f'*{chr(97 + i)}'] * 10)}]\n" for i in range(8)
    )
    with pytest.raises(BuildError, match="expand to more than"):
        build(bomb)
