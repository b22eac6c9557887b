"""What a user may set of a rule: its parameters, as its card describes them, and its severity."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from typing import Any, cast

from kubesched_lint.findings import Severity
from kubesched_lint.model.decode.fields import shortened
from kubesched_lint.rulebook.library import Rulebook, UnknownRuleError
from kubesched_lint.rulebook.rule import Rule
from kubesched_lint.text import did_you_mean

SEVERITY = "severity"
TOO_LARGE = 1 << 63
"""Of an integer: TOML has those of 64 bits."""
_WORDS = ("note", "warning", "error")
_TYPES: Mapping[str, tuple[str, tuple[type, ...]]] = {
    "integer": ("a whole number", (int,)),
    "number": ("a number", (int, float)),
    "string": ("a string", (str,)),
    "boolean": ("true or false", (bool,)),
    "strings": ("a list of strings", (list, tuple)),
}


class SettingError(ValueError):
    """Why a setting cannot be followed. ``at_key`` tells that its name is to blame rather than its value."""

    def __init__(self, message: str, *, at_key: bool = False) -> None:
        super().__init__(message)
        self.at_key = at_key


def rule_named(slug: str, rulebook: Rulebook) -> Rule:
    """Raises SettingError, which tells a family from a word that nobody knows."""
    if slug in rulebook.families and slug not in rulebook.rules:
        raise SettingError(f"`{slug}` is a family; its settings belong to its rules, each by its name", at_key=True)
    try:
        return rulebook.get(slug)
    except UnknownRuleError as error:
        raise SettingError(str(error), at_key=True) from None


def severity_of(value: object, rule: Rule) -> Severity:
    """The severity that a word means. Raises SettingError, also for an error that the rule could never prove."""
    if value == "off":
        raise SettingError(f"a severity is one of {', '.join(_WORDS)}; to switch the rule off, put it into `ignore`")
    if not isinstance(value, str) or value not in _WORDS:
        hint = did_you_mean(value, _WORDS) if isinstance(value, str) else ""
        raise SettingError(f"expected one of {', '.join(_WORDS)}, found {shown(value)}{hint}")
    severity = Severity[value.upper()]
    if severity is Severity.ERROR and rule.preview:
        raise SettingError(f"{rule.slug} is in preview: at most a warning; to fail on less than errors, use `fail-on`")
    if severity is Severity.ERROR and not {"proof", "policy"} & set(rule.evidence):
        raise SettingError(
            f"{rule.slug} never proves what it says ({' or '.join(rule.evidence)}), and only a proof backs an error; "
            '`warning` is the most, and `fail-on = "warning"` fails on it'
        )
    return severity


def param_of(name: str, value: object, rule: Rule, rulebook: Rulebook) -> object:
    """The value of a parameter as the check takes it. Raises SettingError."""
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
    # Not as floats: TOML knows integers that are too large for one.
    for bound, word, is_wrong in (("minimum", "at least", operator.lt), ("maximum", "at most", operator.gt)):
        if bound in param and is_wrong(cast("float", value), param[bound]):
            raise SettingError(f"expected {word} {param[bound]}, found {shown(value)}")
    return tuple(value) if isinstance(value, list) else value


def param_in_words(name: str, text: str, rule: Rule, rulebook: Rulebook) -> object:
    """The value of a parameter that a command line gives as text; items of a list stand between commas."""
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
    """What ``--set RULE.PARAM=VALUE`` sets: parameters and severities by slug. Raises SettingError."""
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
    """Type, default, description and bounds of each parameter. Raises CardError or OSError."""
    return cast("Mapping[str, Mapping[str, Any]]", rulebook.card(rule.slug).front.value.get("params", {}))


def shown(value: object) -> str:
    """A value as TOML would have it, cut short."""
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
            text = str(value)
    return text if len(text) <= 60 else f"{text[:59]}…"


def _unknown_param(name: str, rule: Rule) -> str:
    known = (*rule.params, SEVERITY)
    there = f"it has {', '.join(f'`{k}`' for k in known)}" if rule.params else "it has none, only `severity`"
    return f"{rule.slug} has no parameter `{name}`{did_you_mean(name, known) or f'; {there}'}"
