"""What the fast reader remembers of lines never shows in what it reads."""

from __future__ import annotations

import pytest

from kubesched_lint.sources.manifests.yaml import fast_reader
from kubesched_lint.sources.manifests.yaml.fast_reader import IS_TRUSTED, TAILS, NotPlainError, read_plain

pytestmark = pytest.mark.skipif(not IS_TRUSTED, reason="the complete reader reads all under this interpreter")


def test_it_begins_anew_when_it_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast_reader, "_REMEMBERED", 8)
    for n in range(50):
        assert read_plain(f'a: "{n}"\nb: {n}\nc: x{n}\n') == {"a": str(n), "b": n, "c": f"x{n}"}
        assert len(TAILS) <= 8
    assert read_plain('a: "3"\nb: 3\n') == {"a": "3", "b": 3}


def test_long_values_are_read_and_not_remembered() -> None:
    long = "x" * 500
    assert read_plain(f'a: {long}\nb: "{long}"\n') == {"a": long, "b": long}
    assert not any(long in text for text in TAILS)


@pytest.mark.parametrize("text", ['a: "open\n', "a: [1, 2\n", 'a: "b" c\n'])
def test_what_is_not_plain_is_so_each_time(text: str) -> None:
    for _ in range(2):
        with pytest.raises(NotPlainError):
            read_plain(text)
