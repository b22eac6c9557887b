"""Whatever a file holds, it ends in one clear message with its place, and everything else is still read."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from hypothesis import settings

from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.findings import InputError
from kubesched_lint.sources.manifests.document import Document, Unread
from kubesched_lint.sources.manifests.files import find_files
from kubesched_lint.sources.manifests.inputs import LARGEST, InputFile
from kubesched_lint.sources.manifests.loader import Entry, documents, documents_of
from tests import drawn as st
from tests.drawn import given
from tests.manifests.yaml_texts import odd_texts
from tests.share import examples

HOSTILE = Path(__file__).parents[2] / "fixtures" / "hostile"
TABS = "not YAML: a tab where YAML wants spaces"

# File → line, column, and how the message begins.
MESSAGES = {
    "alias-bomb.yaml": (14, 26, "aliases expand to more than 400,000 values"),
    "alias-of-itself.yaml": (9, 10, "the anchor &a contains itself"),
    "alias-unknown.yaml": (9, 6, "the alias *nowhere has no anchor"),
    "between-two-good.yaml": (14, 5, "not YAML: did not find expected ',' or ']'"),
    "control-character.yaml": (9, 12, "not YAML: the character U+0007 is not allowed"),
    "deep-block.yaml": (209, 201, "nested deeper than 200 levels"),
    "deep-flow.yaml": (9, 205, "nested deeper than 200 levels"),
    "duplicate-key.json": (7, 5, "the key 'nodeName' is written twice, here and in line 6"),
    "duplicate-key.yaml": (8, 3, "the key 'replicas' is written twice, here and in line 6"),
    "empty-brackets.json": (2, 1, "not JSON: Expecting property name enclosed in double quotes"),
    "indentation.yaml": (8, 4, "not YAML: expected a key here: check indentation and quotes"),
    "invalid-utf-8.yaml": (8, 13, "not UTF-8: byte 0xe9"),
    "key-is-a-mapping.yaml": (9, 3, "a mapping or list cannot be a key"),
    "key-is-null.yaml": (9, 1, "null is no key: kubectl refuses it"),
    "merge-of-a-number.yaml": (9, 1, "<< needs a mapping or a list of mappings"),
    "nan.yaml": (9, 6, ".nan cannot be written in JSON: kubectl refuses it"),
    "not-closed.yaml": (4, 9, "not YAML: a quote that is never closed"),
    "nul.yaml": (9, 7, "not YAML: the character U+0000 is not allowed"),
    "tab.yaml": (7, 1, TABS),
    "unquoted-colon.yaml": (4, 10, "not YAML: ': ' cannot stand here: check quotes and indentation"),
    "utf-16-odd.yaml": (1, 1, "not UTF-16"),
}


def read(text: str | bytes, path: str = "m.yaml") -> list[Entry]:
    return list(documents(path, text.encode() if isinstance(text, str) else text, is_read))


def everything_under(folder: Path) -> list[Entry]:
    found: list[Entry] = []
    for file in find_files([str(folder)]):
        found += documents_of(file, is_read) if isinstance(file, InputFile) else [file]
    return found


def test_each_hostile_file_is_one_message_at_its_place() -> None:
    errors = [entry for entry in everything_under(HOSTILE) if isinstance(entry, InputError)]
    found = {os.path.basename(e.path): (e.line, e.column, e.message) for e in errors}
    assert len(found) == len(errors)
    assert found.keys() == MESSAGES.keys()
    for name, (line, column, words) in MESSAGES.items():
        assert found[name][:2] == (line, column), (name, found[name])
        assert found[name][2].startswith(words), name
        assert "\n" not in found[name][2]
        assert len(found[name][2]) < 200


def test_what_is_good_among_them_is_still_read() -> None:
    names = [entry.value["metadata"]["name"] for entry in everything_under(HOSTILE) if isinstance(entry, Document)]
    assert names == ["good", "first", "second"]


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "[{a: ", '{"a":', "? ", "a: [", "!!seq ["])
def test_nesting_of_any_kind_ends_in_a_message(opening: str) -> None:
    head = "apiVersion: v1\nkind: Pod\nx:\n "
    for text in (head + opening * 50_000, opening * 50_000):
        (entry,) = read(text)
        assert isinstance(entry, InputError)


def test_nesting_by_aliases_is_counted_too() -> None:
    chain = "apiVersion: v1\nkind: Pod\nx0: &x0 [1]\n"
    chain += "".join(f"x{i}: &x{i} [[[[*x{i - 1}]]]]\n" for i in range(1, 100))
    (entry,) = read(chain)
    assert isinstance(entry, InputError)
    assert entry.message == "nested deeper than 200 levels"


def test_merges_are_counted_as_they_expand() -> None:
    wide = "a: &a {" + ", ".join(f"k{i}: 1" for i in range(1000)) + "}\nx:\n" + "- {<<: *a}\n" * 1000
    (entry,) = read("apiVersion: v1\nkind: Pod\n" + wide)
    assert isinstance(entry, InputError)
    assert "aliases expand" in entry.message


@pytest.mark.parametrize(
    "text",
    [
        "x: " + "1" * 300_000,
        "x: 0" + "7" * 300_000,
        "x: ." + "1_" * 100_000,
        "x: !!int " + "1" * 300_000,
        "x: '" + "''" * 100_000 + "'",
        'x: "' + "\\n" * 100_000 + '"',
        "x: " + "a:" * 100_000 + "b",
        "x: " + "a#" * 100_000,
        "x: [" + "1," * 50_000 + "]",
        "{{" * 100_000,
        "x: " + "{{" * 100_000 + "}",
        "\n" * 300_000,
        "---\n" * 50_000,
        "- {}\n" * 30_000,
        "%TAG ! a\n" * 50_000 + "---\n",
        "x: |\n" + " " * 300_000,
        "x: &" + "a" * 300_000 + " 1",
        "k" * 300_000 + ": 1",
    ],
    ids=lambda text: text[:9] + "…",
)
def test_nothing_takes_more_than_time_in_proportion(text: str) -> None:
    start = time.process_time()
    for entry in read("apiVersion: v1\nkind: Pod\n" + text):
        if isinstance(entry, Document):
            entry.span(("x", 5))
    assert time.process_time() - start < 5


def test_a_file_of_50_megabytes_is_refused_unread(tmp_path: Path) -> None:
    big = tmp_path / "big.yaml"
    with big.open("wb") as file:
        file.truncate(50_000_000)
    start = time.process_time()
    (entry,) = find_files([str(big)])
    assert isinstance(entry, InputError)
    assert "larger than 16 MiB" in entry.message
    assert time.process_time() - start < 1


def test_a_file_as_large_as_allowed_is_read() -> None:
    line = b"  # " + b"x" * 96 + b"\n"
    data = b"apiVersion: v1\nkind: Pod\nmetadata:\n" + line * (LARGEST // len(line) - 1) + b"  name: a\n"
    (entry,) = read(data)
    assert isinstance(entry, Document)
    assert entry.value["metadata"] == {"name": "a"}


def test_each_broken_document_of_a_file_is_told_at_its_own_line() -> None:
    good = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"
    bad = "apiVersion: v1\nkind: Pod\nmetadata: {name: a\n"
    found = read("---\n".join([good, bad, good, bad + "\n\n", b"x: \xff\n".decode("latin-1"), good]))
    assert [type(e) for e in found] == [Document, InputError, Document, InputError, Unread, Document]
    lines = [e.line for e in found if isinstance(e, InputError)]
    assert lines == [7, 15]


def test_bytes_that_are_no_utf8_spoil_only_their_own_document() -> None:
    good = b"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"
    found = read(good + b"---\n" + good + "# ä".encode() + b"\xe4\n---\n" + good)
    assert [type(e) for e in found] == [Document, InputError, Document]
    assert isinstance(found[1], InputError)
    assert (found[1].line, found[1].column) == (8, 4)


@settings(max_examples=examples(300), deadline=None)
@given(st.one_of(st.binary(max_size=60), odd_texts().map(str.encode)), st.sampled_from(["m.yaml", "m.json"]))
def test_nothing_raises_and_every_place_is_in_the_file(data: bytes, path: str) -> None:
    lines = data.count(b"\n") + data.count(b"\r") + data.count(b"\n\x00") + 2
    for entry in documents(path, data, lambda version, kind: True):
        assert 0 <= entry.line <= lines
        if isinstance(entry, Document):
            entry.span(("a", 0), key=True)


def test_a_folder_that_lies_too_deep_is_an_error_and_no_crash(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["d"] * 600)
    deep.mkdir(parents=True)
    (deep / "a.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
    (error,) = find_files([str(tmp_path)])
    assert isinstance(error, InputError)
    assert "folders deep" in error.message
