"""Every snippet means what the real kubectl said it means; see record_kubectl.py for how it was asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kubesched_lint.sources.manifests.yaml.fast_reader import IS_TRUSTED, NotPlainError, read_plain
from kubesched_lint.sources.manifests.yaml.full_reader import BuildError, build

ANSWERS: dict[str, dict[str, Any]] = json.loads((Path(__file__).parent / "kubectl_answers.json").read_text())["answers"]
HEAD = "apiVersion: example.com/v1\nkind: Example\nmetadata: {name: a}\n"

# libyaml takes what go-yaml does not; nothing is read wrongly for it.
MORE_LENIENT = frozenset(
    [
        'v: "a\n  b\\\n  c\\x41\\u00e9\\/"\n',  # "\/", which is JSON's
        "v: [a?b]\n",
        "v: {a?: b}\n",
        "%YAML 1.1\n---\nv: 1\n",  # our head is before the directive, so this is two documents
    ]
)

# kubectl keeps the last of them without a word.
WRITTEN_TWICE = frozenset(
    [
        'v: {a: 1, "a": 2}\n',
        'v: {1: a, "1": b}\n',
        "v: {1: a, 1.0: b}\n",
        "v: {true: a, yes: b}\n",
        'v: {true: a, "true": b}\n',
        "v: {a: 1, a: 2}\n",
        "v: {a: 1, <<: {a: 2}, a: 3}\n",
    ]
)


def same(ours: Any, theirs: Any) -> bool:
    """JSON equality: 1 and 1.0 are one number, and no boolean is a number."""
    if isinstance(ours, bool) or isinstance(theirs, bool) or ours is None:
        return ours is theirs
    if isinstance(ours, (int, float)):
        return isinstance(theirs, (int, float)) and float(ours) == float(theirs)
    if isinstance(ours, dict):
        return isinstance(theirs, dict) and ours.keys() == theirs.keys() and all(same(ours[k], theirs[k]) for k in ours)
    if isinstance(ours, list):
        return isinstance(theirs, list) and len(ours) == len(theirs) and all(map(same, ours, theirs))
    return bool(ours == theirs)


def without_head(value: dict[str, Any]) -> dict[str, Any]:
    return {key: found for key, found in value.items() if key not in ("apiVersion", "kind", "metadata")}


def test_there_are_answers_of_every_sort() -> None:
    assert len(ANSWERS) > 500
    assert sum("error" in answer for answer in ANSWERS.values()) > 50


@pytest.mark.parametrize("snippet", [s for s, answer in ANSWERS.items() if "value" in answer])
def test_what_kubectl_reads_we_read_alike(snippet: str) -> None:
    if snippet in WRITTEN_TWICE:
        with pytest.raises(BuildError, match=r"written twice.*kubectl keeps the last"):
            build(HEAD + snippet)
    else:
        assert same(without_head(build(HEAD + snippet)), ANSWERS[snippet]["value"])


@pytest.mark.parametrize("snippet", [s for s, answer in ANSWERS.items() if "error" in answer])
def test_what_kubectl_refuses_we_refuse(snippet: str) -> None:
    if snippet in MORE_LENIENT:
        build(HEAD + snippet)
    else:
        with pytest.raises(BuildError):
            build(HEAD + snippet)


@pytest.mark.skipif(not IS_TRUSTED, reason="this interpreter's re is mistaken: the fast reader declines everything")
def test_the_fast_reader_takes_many_of_them_and_reads_none_otherwise() -> None:
    taken = 0
    for snippet, answer in ANSWERS.items():
        try:
            ours = read_plain(HEAD + snippet)
        except NotPlainError:
            continue
        taken += 1
        assert same(without_head(ours), answer.get("value")), snippet
    assert taken > 200


def test_numbers_beyond_64_bits_are_doubles_as_in_json() -> None:
    assert build("9223372036854775807") == 9223372036854775807
    assert isinstance(build("9223372036854775807"), int)
    assert isinstance(build("9223372036854775808"), float)
    assert isinstance(build("1e3"), int)
    assert isinstance(build("1e300"), float)
    assert build("1" * 5000) == "1" * 5000  # beyond a double, so a string; and beyond what int() takes
