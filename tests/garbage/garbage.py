"""Structured garbage: real objects with values replaced, dropped and added, real texts that were disturbed."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from hypothesis import HealthCheck, settings

from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.sources.manifests.document import Document
from kubesched_lint.sources.manifests.loader import documents
from kubesched_lint.sources.manifests.yaml.split import text_of
from tests import drawn as st
from tests import share

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "fixtures"
ZONES = FIXTURES / "clusters" / "three-zones.yaml"
_MORE = int(os.environ.get("GARBAGE", "1"))
"""``GARBAGE=50 pytest -m '' tests/garbage`` draws fifty times as many examples, and others each time."""


def drawn(examples: int) -> Callable[[Any], Any]:
    """The same examples in every run, so that nobody's build breaks by chance."""
    return settings(
        max_examples=share.examples(examples) * _MORE,
        derandomize=_MORE == 1,
        database=None,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
    )


# -- values ------------------------------------------------------------------------------------------------------------

ODD = st.sampled_from(
    [
        None, True, False, 0, -1, 1, 2, 10**12, 2**31 - 1, 2**31, 2**63, -(2**63), 10**60, 0.5, -0.0, 1e308, "", " ",
        "a",
        "1", "a\nb", "é", "\ud800", "\0", "\x85", "\u2028", "{{ x }}", "{{", "<x>", "$(A)", "10Gi", "-1", "1e99999",
        "0.1n",
        "101%", "50%", "-5%", "x" * 300, "a/b/c", "2024-01-01", "2024-13-45T00:00:00Z", "In", "Exists", "DoNotSchedule",
        "kubernetes.io/hostname", "topology.kubernetes.io/zone", "RollingUpdate", "OnDelete", "\ufeff", "<<", "*", "&a",
        [], {}, [None], [[]], [{}], [1], ["a"], ["a", "a"], {"a": None}, {"": ""}, {"a": {}}, {"key": "a"}, {"a": [{}]},
        [{"key": "a", "operator": "Exists"}], {"matchLabels": {}}, {"matchExpressions": [{}]}, {"type": "Recreate"},
    ]
).map(deepcopy)  # fmt: skip


@st.composite
def mutated(draw: st.DrawFn, value: Any, most: int = 3, odd: st.Drawn[Any] = ODD) -> Any:
    """The value with up to ``most`` places replaced, taken out, doubled, or given to another."""
    value = deepcopy(value)
    for _ in range(draw(st.integers(1, most))):
        here = value
        for _ in range(draw(st.integers(0, 9))):
            inner = [v for v in _values(here) if isinstance(v, (dict, list)) and v]
            if not inner:
                break
            here = draw(st.sampled_from(inner))
        if isinstance(here, dict) and here:
            _change_mapping(draw, here, odd)
        elif isinstance(here, list) and here:
            _change_list(draw, here, odd)
    return value


def _values(value: Any) -> list[Any]:
    return list(value.values()) if isinstance(value, dict) else value


def _change_mapping(draw: st.DrawFn, here: dict[str, Any], odd: st.Drawn[Any]) -> None:
    key = draw(st.sampled_from(list(here)))
    match draw(st.integers(0, 5)):
        case 0:
            del here[key]
        case 1:
            here[draw(st.sampled_from([*map(str, here), "x", "", "$patch", "<<", "é", "a\nb", "items", "kind"]))] = (
                draw(odd)
            )
        case 2:
            here[key] = deepcopy(here[draw(st.sampled_from(list(here)))])
        case _:
            here[key] = draw(odd)


def _change_list(draw: st.DrawFn, here: list[Any], odd: st.Drawn[Any]) -> None:
    at = draw(st.integers(0, len(here) - 1))
    match draw(st.integers(0, 3)):
        case 0:
            del here[at]
        case 1:
            here.insert(at, deepcopy(here[at]))
        case 2:
            here[:] = here * 3
        case _:
            here[at] = draw(odd)


@cache
def manifests() -> tuple[dict[str, Any], ...]:
    """Objects of the seeds and of the shop, and one of each kind that an API server has judged."""
    found: list[dict[str, Any]] = []
    for file in sorted((*(FIXTURES / "seeds").rglob("*.yaml"), *(FIXTURES / "shop").glob("*.yaml"))):
        entries = documents(str(file), file.read_bytes(), is_read)
        found += [entry.value for entry in entries if isinstance(entry, Document)]
    met = {value["kind"] for value in found}
    return (*found, *(item for item in snapshot() if item["kind"] not in met))


@cache
def snapshot() -> tuple[dict[str, Any], ...]:
    """One object of each kind of what kubectl printed of a real cluster."""
    recorded = json.loads(gzip.decompress((FIXTURES / "clusters" / "kubectl-get.json.gz").read_bytes()))
    return tuple({item["kind"]: item for item in reversed(recorded["items"])}.values())


def written(style: str, value: Any) -> str:
    """A value as JSON, as JSON over many lines, as block YAML, or as YAML in brackets."""
    if style == "json":
        return json.dumps(value)
    if style == "lines":
        return json.dumps(value, indent=1) + "\n"
    return str(yaml.safe_dump(value, default_flow_style=style == "flow", allow_unicode=True, sort_keys=False))


STYLES = st.sampled_from(["json", "lines", "block", "flow"])

# -- texts -------------------------------------------------------------------------------------------------------------

_BYTES = st.sampled_from(
    [
        b"\0", b"\xff", b"\xef\xbb\xbf", b"\xc3", b"\xed\xa0\x80", b"\xc2\x85", b"\xe2\x80\xa8", b"\r", b"\r\n",
        b"\t", b"\n",
        b"---\n", b"\n---\n", b"...\n", b"\n...\nx: [", b"%YAML 1.1\n---\n", b"%TAG ! !\n", b"&a ", b"*a",
        b"<<: *a\n", b"{", b"}",
        b"[", b"]", b"'", b'"', b"#", b": ", b"- ", b"? ", b"| \n", b">+\n", b"!!binary \xc3\xa9",
        b"!!python/object:os.system x",
        b"!include /etc/passwd", b"{{ .x }}", b"{% if %}", b"9" * 5000, b"1e999", b".inf", b"2001-01-01", b"0x1F",
        b"1_0",
        b"[" * 300, b"{a: " * 300, b"# kubesched: ignore[x] y", b"\\u0000", b"\\ud800", b"NaN", b"\xff\xfe",
        b"\x1f\x8b",
    ]
)  # fmt: skip


@st.composite
def disturbed(draw: st.DrawFn, data: bytes) -> bytes:
    """The text with pieces put in, cut out, doubled and swapped, or its line ends and encoding changed."""
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(data)))
        match draw(st.integers(0, 8)):
            case 0 | 1 | 2:
                data = data[:at] + draw(_BYTES) + data[at:]
            case 3:
                data = data[:at] + data[at + draw(st.integers(1, 9)) :]
            case 4:
                data = data[:at]
            case 5:
                lines = data.split(b"\n")
                number = draw(st.integers(0, len(lines) - 1))
                lines.insert(draw(st.integers(0, len(lines))), lines[number])
                data = b"\n".join(lines)
            case 6:
                lines = data.split(b"\n")
                number = draw(st.integers(0, len(lines) - 1))
                lines[number] = b" " * draw(st.integers(0, 3)) + lines[number][draw(st.integers(0, 2)) :]
                data = b"\n".join(lines)
            case 7:
                data = data.replace(b"\n", draw(st.sampled_from([b"\r\n", b"\r", b"\n\n"])))
            case _:
                data = draw(st.binary(max_size=4)) + data
    return data


def is_inside(line: int, column: int, data: bytes) -> bool:
    """Whether line and column, from 1, are a place of the text, or just behind the end of one of its lines."""
    text = text_of("x", data)
    if not isinstance(text, str):
        return (line, column) == (1, 1)
    raw = data.decode("utf-8", "replace")  # json counts only newlines as the ends of lines
    return any(
        0 < line <= len(lines) and 0 < column <= len(lines[line - 1]) + 1
        for lines in (text.split("\n"), raw.split("\n"))
    )
