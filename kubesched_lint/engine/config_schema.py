"""The JSON Schema of the configuration, for editors; made from the one declaration of keys and from the rules' cards.

``python -m kubesched_lint.engine.config_schema`` writes ``schemas/config.schema.json``; when only rules have changed,
``python -m kubesched_lint.rulebook.build`` does so as well.
"""

from __future__ import annotations

from typing import Any

from kubesched_lint.engine.config import KEYS, OVERRIDE_KEYS, SCHEMA_KEY, TABLES, Key
from kubesched_lint.engine.rule_settings import card_params
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.rulebook.settings_schema import schema_text, with_rules

ID = "https://json-schema.org/draft/2020-12/schema"
_STRINGS = {"type": "array", "items": {"type": "string", "minLength": 1}}
_NAMES = {"type": "array", "items": {"$ref": "#/$defs/name"}}


def schema(rulebook: Rulebook) -> dict[str, Any]:
    """For ``kubesched.toml``, and for the table ``tool.kubesched-lint`` of a pyproject.toml. Raises CardError."""
    return with_rules(_of_keys(), ((rule, card_params(rule, rulebook) if rule.params else {}) for rule in rulebook))


def _of_keys() -> dict[str, Any]:
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
                "properties": {},
                "additionalProperties": {"type": "object", "description": "A rule of your own."},
            },
            "overrides": {"description": TABLES["overrides"], "type": "array", "items": _override()},
        },
    }


def _override() -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": ["paths"],
        "properties": {
            "paths": {**_STRINGS, "minItems": 1, "description": OVERRIDE_KEYS["paths"]},
            "ignore": {**_NAMES, "description": OVERRIDE_KEYS["ignore"]},
            "severities": {
                "description": OVERRIDE_KEYS["severities"],
                "type": "object",
                "properties": {},
                "additionalProperties": {"enum": ["note", "warning", "error"]},
            },
        },
    }


def _key(key: Key) -> dict[str, Any]:
    shape: dict[str, Any] = {"description": key.about}
    if key.kind == "boolean":
        shape["type"] = "boolean"
    elif key.kind == "rules":
        shape |= _NAMES
    elif key.is_list:
        shape |= _STRINGS
    elif key.choices:
        shape["enum"] = list(key.choices)
    else:
        shape |= {"type": "string", "minLength": 1}
    if key.default is not None:
        shape["default"] = list(key.default) if isinstance(key.default, tuple) else key.default
    return shape


def text(rulebook: Rulebook) -> str:
    return schema_text(schema(rulebook))


if __name__ == "__main__":
    from pathlib import Path

    target = Path(__file__).parent.parent / "schemas" / "config.schema.json"
    target.write_text(text(Rulebook.shipped()), encoding="utf-8")
