"""Regenerates what is generated from the cards: the index that the linter loads, the table in rules/README.md, and what
the schema of the configuration says of rules.

``python -m kubesched_lint.rulebook.build`` writes them, ``--check`` only says whether they are fresh. Nobody merges or
edits them by hand: after a conflict, run it again.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import MISSING, fields
from importlib import import_module
from pathlib import Path as File
from typing import cast

from kubesched_lint.findings import Severity
from kubesched_lint.rulebook.card import Card, to_rule
from kubesched_lint.rulebook.families import FAMILIES
from kubesched_lint.rulebook.library import cards_folder, checks_folder
from kubesched_lint.rulebook.rule import Rule, module_name
from kubesched_lint.rulebook.settings_schema import Params, schema_text, with_rules
from kubesched_lint.rulebook.shelf import card_files, usable_cards

_INDEX_HEAD = '''\
"""All shipped rules. Generated from the cards by ``python -m kubesched_lint.rulebook.build``; never edit or merge."""
# ruff: noqa
# fmt: off

from kubesched_lint.findings import Severity
from kubesched_lint.rulebook.rule import Rule

RULES = (
'''
_BEGIN, _END = "<!-- generated: rules -->", "<!-- /generated -->"


def index_text(rules: Sequence[Rule]) -> str:
    """The module ``rulebook/index.py``: one constructor call a rule, which loads five times as fast as JSON."""
    return _INDEX_HEAD + "".join(map(_constructor, rules)) + ")\n"


def _constructor(rule: Rule) -> str:
    lines = ["    Rule(\n"]
    for field in fields(rule):
        value = getattr(rule, field.name)
        default = field.default_factory() if field.default_factory is not MISSING else field.default
        if value != default:
            text = f"Severity.{value.name}" if isinstance(value, Severity) else repr(value)
            lines.append(f"        {field.name}={text},\n")
    return "".join(lines) + "    ),\n"


def readme_text(rules: Sequence[Rule], current: str) -> str:
    """``rules/README.md`` with its generated part made anew. Raises ValueError when the marks are gone."""
    head, begin, rest = current.partition(_BEGIN)
    _, end, tail = rest.partition(_END)
    if not begin or not end:
        raise ValueError(f"rules/README.md has lost its marks {_BEGIN} and {_END}")
    return f"{head}{_BEGIN}\n\n{''.join(_tables(rules))}{_END}{tail}"


def _tables(rules: Sequence[Rule]) -> Iterator[str]:
    yield f"{len(rules)} rules.\n\n"
    for family, title in FAMILIES.items():
        members = [rule for rule in rules if rule.family == family]
        if members:
            yield f"### {title} (`{family}`)\n\n| rule | severity | needs | fix | |\n|---|---|---|---|---|\n"
            yield from map(_row, members)
            yield "\n"


def _row(rule: Rule) -> str:
    profile = "" if rule.default == "on" else f" ({rule.default})"
    needs = ", ".join(rule.needs) + (f" (also {', '.join(rule.uses)})" if rule.uses else "")
    return (
        f"| [{rule.slug}]({rule.slug}.md) | {rule.severity.word}{profile} | {needs} | {rule.fix} | {rule.summary} |\n"
    )


def main(arguments: Sequence[str] = ()) -> int:
    """Exit code 0 when all is well, 1 when a card has faults or (with --check) something is stale."""
    folder = cards_folder()
    cards, wrong = usable_cards(folder)
    rules = [to_rule(card) for card in cards]
    index, readme = File(__file__).with_name("index.py"), folder / "README.md"
    schema = File(__file__).parent.parent / "schemas" / "config.schema.json"
    wanted = {
        index: index_text(rules),
        readme: readme_text(rules, readme.read_text(encoding="utf-8")),
        schema: _schema_text(schema.read_text(encoding="utf-8"), cards, rules),
    }
    stale = [f for f, text in wanted.items() if not f.exists() or f.read_text(encoding="utf-8") != text]
    for error in wrong:
        print(error, file=sys.stderr)
    for module in _orphans({file.stem for file in card_files(folder)}):
        print(f"{module}: no card for this check", file=sys.stderr)
    unlike = [f"{rule.slug}: {words}" for rule in rules if (words := _unlike_its_fix(rule))]
    for words in unlike:
        print(words, file=sys.stderr)
    if "--check" in arguments:
        for file in stale:
            print(f"{file}: stale; run python -m kubesched_lint.rulebook.build", file=sys.stderr)
        return 1 if wrong or stale or unlike else 0
    for file in stale:
        file.write_text(wanted[file], encoding="utf-8")
    print(f"{len(rules)} rules indexed, {len(stale)} files written" + (f", {len(wrong)} faults" if wrong else ""))
    return 1 if wrong or unlike else 0


def _schema_text(current: str, cards: Sequence[Card], rules: Sequence[Rule]) -> str:
    params = (cast("Params", card.front.value.get("params", {})) for card in cards)
    return schema_text(with_rules(json.loads(current), zip(rules, params, strict=True)))


def _unlike_its_fix(rule: Rule) -> str:
    """How the card and the module of a rule contradict each other about a fix; empty where they agree."""
    there = hasattr(import_module(f"kubesched_lint.checks.{module_name(rule.slug)}"), "fix")
    if there and not rule.fix:
        return "there is a `fix` beside the check, and the card has no `fix`"
    return "the card has a `fix`, and there is none beside the check" if rule.fix and not there else ""


def _orphans(slugs: set[str]) -> Iterator[File]:
    modules = {module_name(slug) for slug in slugs}
    for file in sorted(checks_folder().glob("*.py")):
        if file.stem not in modules and not file.stem.startswith("_"):
            yield file


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
