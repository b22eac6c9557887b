"""Configurations, baselines and cards of any content are followed or refused, each with its place."""

# ruff: noqa: PT017 - what is read and what is refused are both right

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from kubesched_lint.linter.options import BaselineError
from kubesched_lint.project.baseline import entries_in
from kubesched_lint.project.config.file import NAME, SHARED, read_config
from kubesched_lint.project.config.keys import KEYS, ConfigError
from kubesched_lint.rulebook.cards.card import faults, parse_card, to_rule
from kubesched_lint.rulebook.cards.frontmatter import CardError
from kubesched_lint.rulebook.cel.cards import expression_rule
from kubesched_lint.rulebook.library import Rulebook
from tests import drawn as st
from tests.drawn import given
from tests.garbage.garbage import FIXTURES, ODD, ROOT, disturbed, drawn, is_inside, mutated, written

BOOK = Rulebook.shipped()
CONFIG = (FIXTURES / "config" / "tricky.toml").read_bytes()
TOML = st.sampled_from(
    ['""', '"a"', '"\\u0000"', '"~x/y"', "1", "-1", "1" * 400, "1" * 5000, "0x" + "f" * 5000, "1.5", "nan", "inf",
     "true", "[]",
     "[[]]", '["a"]', '["\\u0000"]', '["cost"]', '["sarif=../x"]', '["json=a\\u0000"]', "{}", "{a = 1}",
     "2024-01-01", "[1, 2]",
     '"""\na.b = "x\n"""', "'" + "a/" * 3000 + "'", '["' + "a/" * 3000 + '"]', '["**/**"]', '["[", "]"]', '"live"',
     "[" * 99 + "]" * 99]
)  # fmt: skip
NAMES = st.sampled_from(
    [key.name for key in KEYS] + ["rules", "overrides", "x", '"a b"', "rules.deploy-leaves-pending.most_pods",
     "rules.deploy-leaves-pending.severity", "rules.anti-affinity-exceeds-domains.reserve", "a." * 40 + "a"]
)  # fmt: skip
TABLES = st.sampled_from(
    ["", "[rules.deploy-leaves-pending]", "[[overrides]]", "[overrides]", "[rules]", "[rules.x]",
     "[tool.kubesched-lint]",
     '[tool."kubesched-lint".rules]', "[overrides.severities]", "# [", "x = '''", "[a]\n[a]", "[[a]]\n[a]"]
)  # fmt: skip
LINES = st.one_of(TABLES, st.builds("{} = {}".format, NAMES, TOML))
CARDS = [(ROOT / "rules" / name).read_text("utf-8") for name in ("pvc-missing.md", "deploy-leaves-pending.md")]
OWN = [file.read_text("utf-8") for file in sorted((ROOT / "examples" / "rules").glob("*.md"))]
ENTRY = {"rule": "pvc-missing", "severity": "error", "kind": "Pod", "namespace": "a", "name": "b", "at": "spec.*.x"}


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("config"))


def configured(data: bytes, name: str = NAME) -> None:
    Path(name).write_bytes(data)
    try:
        config = read_config(name, BOOK)
    except ConfigError as error:
        assert error.problems
        for problem in error.problems:
            assert problem.path == name
            placed = is_inside(problem.line, problem.column, data.removeprefix(b"\xef\xbb\xbf"))
            assert placed or (problem.line, problem.column) == (0, 0), problem
            assert "\n" not in problem.message
    else:
        assert repr(config)


@drawn(300)
@given(st.lists(LINES, max_size=5).map("\n".join), st.sampled_from([NAME, SHARED]))
def test_a_configuration_of_any_keys_and_values(text: str, name: str) -> None:
    configured(text.encode(), name)


@drawn(150)
@given(disturbed(CONFIG))
def test_a_configuration_whose_text_was_disturbed(data: bytes) -> None:
    configured(data)


def test_the_configuration_that_is_disturbed_is_one() -> None:
    assert tomllib.loads(CONFIG.decode())


@drawn(150)
@given(st.data())
def test_a_baseline_with_anything_in_it(data: st.DataObject) -> None:
    value: Any = {"kubesched-lint-baseline": 1, "findings": [ENTRY, ENTRY]}
    value = data.draw(mutated(value, odd=ODD))
    refused_or_read(json.dumps(value).encode())


@drawn(150)
@given(disturbed(json.dumps({"kubesched-lint-baseline": 1, "findings": [ENTRY]}, indent=1).encode()))
def test_a_baseline_whose_text_was_disturbed(data: bytes) -> None:
    refused_or_read(data)


def refused_or_read(data: bytes) -> None:
    try:
        entries = entries_in(data, "b.json", BOOK)
    except BaselineError as error:
        assert str(error).startswith("b.json")
        assert "\n" not in str(error)
    else:
        assert all(entry.rule and entry.key for entry in entries)


def carded(text: str) -> None:
    """As folders of rules are read: what is wrong is told with its line, what is right becomes a rule."""
    lines = text.replace("\r\n", "\n").count("\n") + 1
    try:
        card = parse_card(text, "c.md", "a-rule")
    except CardError as error:
        assert 1 <= error.line <= lines, error
        return
    wrong = list(faults(card))
    assert all(1 <= fault.line <= lines for fault in wrong), wrong
    if not wrong and "require" in card.front.value:
        rule, unmet = expression_rule(card)
        assert (rule is None) is bool(unmet)
        assert all(1 <= fault.line <= lines for fault in unmet), unmet
    elif not wrong:
        assert to_rule(card).slug == "a-rule"


def _parts(text: str) -> tuple[str, str]:
    _, front, body = text.split("---\n", 2)
    return front, body


@drawn(200)
@given(st.data(), st.sampled_from([*CARDS, *OWN]), st.sampled_from(["block", "flow", "lines"]))
def test_a_card_whose_front_matter_says_anything(data: st.DataObject, text: str, style: str) -> None:
    import yaml

    front, body = _parts(text)
    value = data.draw(mutated(yaml.safe_load(front), most=2))
    carded(f"---\n{written(style, value)}\n---\n{body}")


@drawn(150)
@given(st.sampled_from([*CARDS, *OWN]).flatmap(lambda text: disturbed(text.encode())))
def test_a_card_whose_text_was_disturbed(data: bytes) -> None:
    carded(data.decode("utf-8", "replace"))


CEL = st.lists(
    st.sampled_from(
        ["workload.", "replicas", "labels", "node.", "size()", "==", ">=", "1", '"a"', "[", "]", "(", ")", "&&", "!",
         "?", ":", "x", "{",
         "}", ".all(x, ", ".exists(", "has(", "null", "-", "9" * 30, "1e999", "'\\ud800'", "é", "\n", "in", ".", ",",
         "matches('(')",
         "matches('(a+)+$')", "true", "false", "duration('1s')", "[1][9]", "1/0", "b'\\xff'", "/* */", "// ",
         "r'\\'", "\0"]
    ),
    max_size=9,
).map(" ".join)  # fmt: skip


@drawn(200)
@given(st.sampled_from(OWN), CEL, st.sampled_from(["require", "where", "at"]))
def test_an_expression_of_anything_compiles_or_is_refused_at_its_line(text: str, expression: str, key: str) -> None:
    pytest.importorskip("cel_expr_python")
    import yaml

    front, body = _parts(text)
    value = {**yaml.safe_load(front), key: expression}
    carded(f"---\n{written('block', value)}\n---\n{body}")
