"""The rules in the schema of the configuration: their names, severities and parameters."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from kubesched_lint.rulebook.rule import Rule

Params = Mapping[str, Mapping[str, Any]]
"""Parameter → type, default, description and bounds, as in a card."""


def with_rules(schema: Mapping[str, Any], rules: Iterable[tuple[Rule, Params]]) -> dict[str, Any]:
    """The schema with everything about rules replaced; the other keys stay unchanged."""
    rules_by_slug = sorted(rules, key=lambda pair: pair[0].slug)
    severities = {rule.slug: {"enum": _severities(rule)} for rule, _ in rules_by_slug}
    names = [*sorted({rule.family for rule, _ in rules_by_slug}), *severities]
    filled: dict[str, Any] = json.loads(json.dumps(schema))
    filled["properties"]["rules"]["properties"] = {rule.slug: _rule(rule, params) for rule, params in rules_by_slug}
    filled["properties"]["overrides"]["items"]["properties"]["severities"]["properties"] = severities
    filled["$defs"] = {"name": {"anyOf": [{"enum": names}, {"type": "string"}]}}
    return filled


def schema_text(schema: Mapping[str, Any]) -> str:
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _rule(rule: Rule, params: Params) -> dict[str, Any]:
    return {
        "description": rule.summary,
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "severity": {"description": f"{rule.severity.word} unless set.", "enum": _severities(rule)},
            **{name: _param(param) for name, param in params.items()},
        },
    }


def _severities(rule: Rule) -> list[str]:
    return ["note", "warning", *(["error"] if "proof" in rule.evidence and not rule.preview else [])]


def _param(param: Mapping[str, Any]) -> dict[str, Any]:
    shape = {key: param[key] for key in ("description", "default", "minimum", "maximum", "enum") if key in param}
    if param["type"] == "strings":
        return {**shape, "type": "array", "items": {"type": "string"}}
    return {**shape, "type": param["type"]}
