"""Every value of a JSON text is found where it stands."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kubesched_lint.engine.base.places import Path
from kubesched_lint.sources.objects.read_json import place_of

TEXT = """{
  "kind": "List",
  "items": [
    {"name": "a\\u00fc \\"{[", "x": 1},
    {"name": "b", "deep": {"list": [true, null, {"at": -1.5e3}]}}
  ]
}
"""


def test_values_and_keys() -> None:
    assert place_of(TEXT, ()) == (1, 1)
    assert place_of(TEXT, ("kind",)) == (2, 11)
    assert place_of(TEXT, ("kind",), key=True) == (2, 3)
    assert place_of(TEXT, ("items", 0, "x")) == (4, 35)
    assert place_of(TEXT, ("items", 1, "deep", "list", 2, "at")) == (5, 56)


def test_what_is_absent_is_placed_at_its_nearest_parent() -> None:
    assert place_of(TEXT, ("items", 1, "none", "deeper")) == place_of(TEXT, ("items", 1))
    assert place_of(TEXT, ("items", 7)) == place_of(TEXT, ("items",))
    assert place_of(TEXT, ("kind", "x")) == place_of(TEXT, ("kind",))


def test_the_second_document_of_a_text() -> None:
    assert place_of('{"a": 1}\n{"a": 2}', ("a",), 9) == (2, 7)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)


def _paths(value: Any, path: Path = ()) -> list[tuple[Path, Any]]:
    pairs = (
        list(value.items()) if isinstance(value, dict) else list(enumerate(value)) if isinstance(value, list) else []
    )
    return [(path, value), *(found for step, item in pairs for found in _paths(item, (*path, step)))]


@given(_JSON, st.sampled_from([None, 1, 4]))
def test_what_stands_there_is_the_value(value: Any, indent: int | None) -> None:
    text = json.dumps(value, indent=indent)
    lines = text.split("\n")
    for path, wanted in _paths(value):
        line, column = place_of(text, path)
        rest = "\n".join([lines[line - 1][column - 1 :], *lines[line:]])
        assert json.JSONDecoder().raw_decode(rest)[0] == wanted
