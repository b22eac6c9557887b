"""The fast reader and the complete one give the same values at the same places, or the fast one declines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path as File
from typing import Any

import pytest
from hypothesis import settings

from kubesched_lint.engine.base.places import Path
from kubesched_lint.sources.manifests.yaml.fast_reader import IS_TRUSTED, NotPlainError, read_plain
from kubesched_lint.sources.manifests.yaml.full_reader import BuildError, build
from kubesched_lint.sources.manifests.yaml.places import span_of
from tests.drawn import given
from tests.manifests.yaml_texts import documents, odd_texts
from tests.share import examples

EXAMPLES = File(__file__).parents[2]


def identical(one: Any, other: Any) -> bool:
    """Same types, same order of keys."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return list(one) == list(other) and all(identical(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(identical, one, other))
    return bool(one == other)


def paths(value: Any, path: Path = ()) -> Iterator[Path]:
    yield path
    if isinstance(value, dict):
        for key, child in value.items():
            yield from paths(child, (*path, key))
    elif isinstance(value, list):
        for i, child in enumerate(value):
            yield from paths(child, (*path, i))


def check(text: str) -> bool:
    """Whether the fast reader took the text; then both must agree in everything."""
    try:
        fast = read_plain(text)
    except NotPlainError:
        return False
    assert identical(fast, build(text) or {})
    for path in paths(fast) if fast else ():
        for key in (False, True):
            assert span_of(text, 1, path, key=key, plain=True) == span_of(text, 1, path, key=key), path
    return True


@settings(max_examples=examples(1000), deadline=None)
@given(documents())
def test_documents_of_every_style(made: tuple[str, dict[str, Any]]) -> None:
    assert check(made[0]) == check(f"---\n{made[0]}")


@settings(max_examples=examples(2000), deadline=None)
@given(odd_texts())
def test_heaps_of_odd_lines(text: str) -> None:
    try:
        build(text)
    except BuildError:
        with pytest.raises(NotPlainError):
            read_plain(text)
    else:
        check(text)


@pytest.mark.skipif(not IS_TRUSTED, reason="this interpreter's re is mistaken: the fast reader declines everything")
def test_every_manifest_of_this_repository_is_read_alike_and_nearly_all_fast() -> None:
    texts = [
        f.read_text(encoding="utf-8")
        for f in sorted((EXAMPLES / "fixtures").rglob("*.yaml"))
        if "hostile" not in f.parts
    ]
    parts = [part for text in texts for part in text.split("\n---\n") if len(part) < 20_000]
    fast = sum(check(part + "\n") for part in parts)
    assert len(parts) > 10
    assert fast > 0.8 * len(parts)


@pytest.mark.skipif(not IS_TRUSTED, reason="this interpreter's re is mistaken: the fast reader declines everything")
@pytest.mark.parametrize(
    "text",
    [
        "a: 1",
        "---\na: 1\n",
        "--- # first\na:\n- b\n-   c: 1\n    d: 2\n\n# end\n",
        "a:\n  - |\n    x\n     y\n\n    z\n  - 'it''s'  # c\n  - \"#\"\nc: {d: [1, x], e: {f: g}}\n",
        "---  # marked\na: |\n  x\nb:\n- |-\n  y\n\n  z\n- c: 1\n  d: |\n    w\n  e: 2\n",
        "b: |-\n  #!/bin/sh\n\n  # no comment\n# comment\n",
        "spec:\n  matchExpressions:\n  - key: a\n    values: [b, 'c', \"d\"]\n  - key: e\nother:\n",
        '"quoted/key": 1\n\'single\': 2\non: 3\n010: 4\n1.50: 5\n',
        "args:\n- --listen=0.0.0.0:80\n- -v\n- http://x:80/y?a=b&c=d\n- $(VAR) | grep 'x' > /dev/null\n",
        "name: Zoë # ünï\n",
    ],
)  # fmt: skip
def test_everyday_texts_are_read_fast(text: str) -> None:
    assert check(text)


@pytest.mark.parametrize(
    "text",
    [
        "a: 1\na: 2\n", "a: b\n  c\n", "a: &x 1\nb: *x\n", "a: >\n  b\n", "a: |+\n  b\n", "a: |\n  b",
        "a: 1\n b: 2\n", "<<: {a: 1}\n", "~: 1\n", "a: !!str 1\n", "- a\n", "a:\tb\n", 'a: "x\\n"\n', "{a: 1}\n",
        "a\n", "a: [b,\n  c]\n", "a: .inf\n", "a: x\x00\n", "a: x\xa0\n", "a:\n- b\n- c: 1\n   d: 2\n",
        "a: |\n    b\n  c\n", "...\n", "--- x\n", "a:\n  - b\n - c\n", "a: [.nan]\n", "# x: \x00\na: 1\n", "? a\n: b\n",
    ],
)  # fmt: skip
def test_all_else_is_left_to_the_complete_reader(text: str) -> None:
    with pytest.raises(NotPlainError):
        read_plain(text)
