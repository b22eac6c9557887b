"""Configure rules: their parameters, which their cards declare, and their severity."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from typing import Any, cast

from kubesched_lint.engine.base.text import did_you_mean
from kubesched_lint.engine.model.decode.fields import shortened
from kubesched_lint.findings import Severity
from kubesched_lint.rulebook.library import Rulebook, UnknownRuleError
from kubesched_lint.rulebook.rule import Rule

SEVERITY = "severity"
TOO_LARGE = 1 << 63
"""Bound of an integer; TOML has 64 bits."""
_WORDS = ("note", "warning", "error")
_TYPES: Mapping[str, tuple[str, tuple[type, ...]]] = {
    "integer": ("a whole number", (int,)),
    "number": ("a number", (int, float)),
    "string": ("a string", (str,)),
    "boolean": ("true or false", (bool,)),
    "strings": ("a list of strings", (list, tuple)),
}


class SettingError(ValueError):
    """A setting is invalid. With ``at_key``, the problem is its name, not its value."""

    def __init__(self, message: str, *, at_key: bool = False) -> None:
        super().__init__(message)
        self.at_key = at_key


def rule_named(slug: str, rulebook: Rulebook) -> Rule:
    """Return the rule. Raises SettingError for the name of a family or an unknown name."""
    if slug in rulebook.families and slug not in rulebook.rules:
        raise SettingError(f"`{slug}` is a family; set each of its rules by name", at_key=True)
    try:
        return rulebook.get(slug)
    except UnknownRuleError as error:
        raise SettingError(str(error), at_key=True) from None


def severity_of(value: object, rule: Rule) -> Severity:
    """Return the severity for a word. Raises SettingError, also for ``error`` when the rule never proves anything."""
    if value == "off":
        raise SettingError(f"expected one of {', '.join(_WORDS)}; to switch the rule off, add it to `ignore`")
    if not isinstance(value, str) or value not in _WORDS:
        hint = did_you_mean(value, _WORDS) if isinstance(value, str) else ""
        raise SettingError(f"expected one of {', '.join(_WORDS)}, found {shown(value)}{hint}")
    severity = Severity[value.upper()]
    if severity is Severity.ERROR and rule.preview:
        raise SettingError(f"{rule.slug} is in preview, so it is at most a warning; to fail on warnings, use `fail-on`")
    if severity is Severity.ERROR and not {"proof", "policy"} & set(rule.evidence):
        raise SettingError(
            f"{rule.slug} gives no proof (only {' or '.join(rule.evidence)}), and an error needs one; "
            'use `warning`, and `fail-on = "warning"` to fail on it'
        )
    return severity


def param_of(name: str, value: object, rule: Rule, rulebook: Rulebook) -> object:
    """Return the value of a parameter for the check; a list becomes a tuple. Raises SettingError."""
    if name not in rule.params:
        raise SettingError(_unknown_param(name, rule), at_key=True)
    param = card_params(rule, rulebook)[name]
    words, types = _TYPES[param["type"]]
    is_text = all(isinstance(item, str) for item in value) if isinstance(value, list | tuple) else True
    if not isinstance(value, types) or isinstance(value, bool) != (param["type"] == "boolean") or not is_text:
        raise SettingError(f"expected {words}, found {shown(value)}")
    if isinstance(value, int) and not -TOO_LARGE <= value < TOO_LARGE:
        raise SettingError(f"expected {words} of at most 64 bits, found {shown(value)}")
    if "enum" in param and value not in param["enum"]:
        hint = did_you_mean(str(value), map(str, param["enum"]))
        raise SettingError(f"expected one of {', '.join(map(str, param['enum']))}, found {shown(value)}{hint}")
    # Not as floats: an integer of TOML may be too large for one.
    for bound, word, is_wrong in (("minimum", "at least", operator.lt), ("maximum", "at most", operator.gt)):
        if bound in param and is_wrong(cast("float", value), param[bound]):
            raise SettingError(f"expected {word} {param[bound]}, found {shown(value)}")
    return tuple(value) if isinstance(value, list) else value


def param_in_words(name: str, text: str, rule: Rule, rulebook: Rulebook) -> object:
    """Return the value of a parameter from text of the command line; commas separate list items."""
    if name not in rule.params:
        raise SettingError(_unknown_param(name, rule), at_key=True)
    value: object = text
    match card_params(rule, rulebook)[name]["type"]:
        case "integer" | "number":
            for number in (int, float):
                try:
                    value = number(text)
                    break
                except ValueError:
                    continue
        case "boolean":
            value = {"true": True, "false": False}.get(text.lower(), text)
        case "strings":
            value = [item for item in text.split(",") if item]
    return param_of(name, value, rule, rulebook)


def from_flags(texts: Iterable[str], rulebook: Rulebook) -> tuple[dict[str, dict[str, object]], dict[str, Severity]]:
    """Return (parameters, severities) by slug from ``--set RULE.PARAM=VALUE``. Raises SettingError."""
    params: dict[str, dict[str, object]] = {}
    severities: dict[str, Severity] = {}
    for text in texts:
        left, equals, value = text.partition("=")
        slug, dot, name = left.partition(".")
        try:
            if not (equals and dot and slug and name):
                raise SettingError("expected RULE.PARAM=VALUE, as in deploy-leaves-pending.most_pods=500")
            rule = rule_named(slug, rulebook)
            if name == SEVERITY:
                severities[rule.slug] = severity_of(value, rule)
            else:
                params.setdefault(rule.slug, {})[name] = param_in_words(name, value, rule, rulebook)
        except SettingError as error:
            raise SettingError(f"{text}: {error}") from None
    return params, severities


def card_params(rule: Rule, rulebook: Rulebook) -> Mapping[str, Mapping[str, Any]]:
    """Return type, default, description and bounds of each parameter, by name. Raises CardError or OSError."""
    return cast("Mapping[str, Mapping[str, Any]]", rulebook.card(rule.slug).front.value.get("params", {}))


def shown(value: object) -> str:
    """The value as TOML text of at most 60 characters."""
    match value:
        case bool():
            return str(value).lower()
        case str():
            text = '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
        case list() | tuple():
            text = f"[{', '.join(map(shown, value))}]"
        case dict():
            return "a table"
        case int():
            text = shortened(value)
        case _:
            text = str(getattr(value, "name", value))  # a declared node group
    return text if len(text) <= 60 else f"{text[:59]}…"


def _unknown_param(name: str, rule: Rule) -> str:
    known = (*rule.params, SEVERITY)
    there = f"it has {', '.join(f'`{k}`' for k in known)}" if rule.params else "it has none, only `severity`"
    return f"{rule.slug} has no parameter `{name}`{did_you_mean(name, known) or f'; {there}'}"
