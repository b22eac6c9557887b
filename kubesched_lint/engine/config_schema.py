"""The JSON Schema of the configuration, for editors; made from the one declaration of keys and from the rules' cards.

``python -m kubesched_lint.engine.config_schema`` writes ``schemas/config.schema.json``; a test tells when it is stale.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubesched_lint.engine.config import KEYS, OVERRIDE_KEYS, SCHEMA_KEY, TABLES, Key
from kubesched_lint.engine.rule_settings import SEVERITY, card_params
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.rulebook.rule import Rule

ID = "https://json-schema.org/draft/2020-12/schema"
_STRINGS = {"type": "array", "items": {"type": "string", "minLength": 1}}


def schema(rulebook: Rulebook) -> dict[str, Any]:
    """For ``kubesched.toml``, and for the table ``tool.kubesched-lint`` of a pyproject.toml. Raises CardError."""
    return {
        "$schema": ID,
        "title": "Configuration of kubesched-lint",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            SCHEMA_KEY: {"type": "string", "description": "Address of this schema, for editors."},
            **{key.name: _key(key) for key in KEYS},
            "rules": {
                "description": TABLES["rules"],
                "type": "object",
                "properties": {rule.slug: _rule(rule, rulebook) for rule in rulebook},
                "additionalProperties": {"type": "object", "description": "A rule of your own."},
            },
            "overrides": {
                "description": TABLES["overrides"],
                "type": "array",
                "items": {
                    "type": "object",
                    "additionalProperties": False,
                    "required": ["paths"],
                    "properties": {
                        "paths": {**_STRINGS, "minItems": 1, "description": OVERRIDE_KEYS["paths"]},
                        "ignore": {**_names(), "description": OVERRIDE_KEYS["ignore"]},
                        "severities": {
                            "description": OVERRIDE_KEYS["severities"],
                            "type": "object",
                            "properties": {rule.slug: {"enum": _severities(rule)} for rule in rulebook},
                            "additionalProperties": {"enum": ["note", "warning", "error"]},
                        },
                    },
                },
            },
        },
        "$defs": {"name": {"anyOf": [{"enum": [*rulebook.families, *sorted(rulebook.rules)]}, {"type": "string"}]}},
    }


def _key(key: Key) -> dict[str, Any]:
    shape: dict[str, Any] = {"description": key.about}
    if key.kind == "boolean":
        shape["type"] = "boolean"
    elif key.kind == "rules":
        shape |= _names()
    elif key.is_list:
        shape |= _STRINGS
    elif key.choices:
        shape["enum"] = list(key.choices)
    else:
        shape |= {"type": "string", "minLength": 1}
    if key.default is not None:
        shape["default"] = list(key.default) if isinstance(key.default, tuple) else key.default
    return shape


def _names() -> dict[str, Any]:
    return {"type": "array", "items": {"$ref": "#/$defs/name"}}


def _rule(rule: Rule, rulebook: Rulebook) -> dict[str, Any]:
    params = card_params(rule, rulebook) if rule.params else {}
    return {
        "description": rule.summary,
        "type": "object",
        "additionalProperties": False,
        "properties": {
            SEVERITY: {"description": f"{rule.severity.word} unless set.", "enum": _severities(rule)},
            **{name: _param(param) for name, param in params.items()},
        },
    }


def _severities(rule: Rule) -> list[str]:
    return ["note", "warning", *(["error"] if "proof" in rule.evidence else [])]


def _param(param: Mapping[str, Any]) -> dict[str, Any]:
    shape = {key: param[key] for key in ("description", "default", "minimum", "maximum", "enum") if key in param}
    if param["type"] == "strings":
        return {**shape, "type": "array", "items": {"type": "string"}}
    return {**shape, "type": param["type"]}


def text(rulebook: Rulebook) -> str:
    import json

    return json.dumps(schema(rulebook), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    from pathlib import Path

    target = Path(__file__).parent.parent / "schemas" / "config.schema.json"
    target.write_text(text(Rulebook.shipped()), encoding="utf-8")
