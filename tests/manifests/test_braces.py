"""Documents in braces mean what the full reader says, and their values stand where it says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from kubesched_lint.sources.manifests.yaml.braces import NotJsonError, place_of, value_of
from kubesched_lint.sources.manifests.yaml.full_reader import BuildError, ComposedValue, tree
from kubesched_lint.sources.manifests.yaml.places import _find

_TEXTS = [
    "a",
    "x: y",
    "#c",
    "- d",
    "'q'",
    "{",
    "]",
    "",
    "<<",
    "null",
    "~",
    "1.5",
    "&a",
    "*a",
    "!t",
    "%",
    "@",
    "|",
    "a,b",
]
_ODD = ["k" * 1100, "é", "\t", "\n", "\\", "\x7f", "...", "---"]
_NUMBERS = [None, True, 0, -5, 12345678901234567, 1234567890123456789012, 1.5, 1e30]
_SEPARATORS = [None, (",", ":"), (" , ", " : "), (",\n", ": "), (", ", ":\n")]
_HEADS, _TAILS = ["", " ", "\n  ", "---\n", "--- ", "---"], ["", "\n", "# c", " # c\n"]


def _value(random: Random, depth: int = 0) -> Any:
    kind = random.random()
    if depth > 4 or kind < 0.45:
        return random.choice([*_NUMBERS, *_TEXTS, *_ODD])
    some = range(random.randrange(4))
    if kind < 0.75:
        return {random.choice([*"abcdefgh", *_TEXTS, *_ODD]): _value(random, depth + 1) for _ in some}
    return [_value(random, depth + 1) for _ in some]


def _text(random: Random) -> str:
    written = {random.choice("abc"): _value(random) for _ in range(random.randrange(4))}
    indent, separators = random.choice([None, 0, 4]), random.choice(_SEPARATORS)
    text = json.dumps(written, indent=indent, separators=separators, ensure_ascii=random.random() < 0.5)
    if random.random() < 0.2:
        at = random.randrange(len(text))
        text = text[:at] + random.choice('",:{}[] x1\n#') + text[at + random.randrange(2) :]
    return random.choice(_HEADS) + text + random.choice(_TAILS)


def _full(text: str) -> ComposedValue | None:
    try:
        return tree(text, places=True)
    except BuildError:
        return None


def _paths(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    yield from (path, (*path, "absent"), (*path, 7))
    for step, inside in (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    ):
        yield from _paths(inside, (*path, step))


@pytest.mark.parametrize("seed", range(20))
def test_braces_agree_with_the_full_reader(seed: int) -> None:
    random = Random(seed)
    read = 0
    for _ in range(100):
        text = _text(random)
        full = _full(text)
        try:
            found = value_of(text)
        except NotJsonError:
            pass
        else:
            assert full is not None, text
            assert not full.rest, text
            assert (json.dumps(found[0]), found[1]) == (json.dumps(full.value), full.start), text
            read += 1
        for path in _paths(full.value) if full is not None and full.root is not None else ():
            for key in (False, True):
                try:
                    place = place_of(text, path, key=key)
                except NotJsonError:
                    continue
                assert full is not None
                assert full.root is not None
                assert place == _find(full.root, path, text, key), (text, path)
    assert read > 10
