"""From a card with ``require`` to its rule, or to the faults of its expressions, each at its line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

from msgspec.structs import replace

from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.base.text import did_you_mean
from kubesched_lint.engine.model.labels import go_int
from kubesched_lint.rulebook.cards.card import Card, to_rule
from kubesched_lint.rulebook.cards.frontmatter import CardError
from kubesched_lint.rulebook.cel.each import EACH
from kubesched_lint.rulebook.cel.expressions import STANDARD, ExpressionRule, Texts, UnusableError, shown_fields
from kubesched_lint.rulebook.cel.language import MissingCelError
from kubesched_lint.rulebook.rule import Rule
from kubesched_lint.rulebook.wording import placeholders

_FEATURES: Mapping[str, tuple[str, ...]] = {
    "affinity_term": ("required_affinity", "preferred_affinity"),
    "anti_affinity_term": ("required_anti_affinity", "preferred_anti_affinity"),
    "spread_constraint": ("spread",),
    "toleration": ("tolerations",),
    "host_port": ("host_ports",),
    "volume": ("volumes",),
}
"""``each`` → the features (see ``looks_at``) of workloads with such things; the check skips others."""


def expression_rule(card: Card) -> tuple[Rule | None, tuple[CardError, ...]]:
    """The rule of a card without other faults (or None), and the faults of its expressions."""
    wrong = tuple(_faults(card))
    if wrong:
        return None, wrong
    texts = _texts(card)
    code = ExpressionRule(texts)
    try:
        needs = set(code.compile().needs())
    except UnusableError as fault:
        return None, (_at(card, fault),)
    except MissingCelError as error:
        return None, (CardError(card.path, card.front.line(("require",)), str(error)),)
    rule = to_rule(card, code, code.mender if "fix" in card.front.value else None)
    wrong = tuple(_unmet(card, rule, needs))
    if wrong:
        return None, wrong
    features = rule.features or _FEATURES.get(texts.each, ())
    each = "set" if EACH[texts.each].by_set else "workload"
    return replace(rule, each=each, features=features), ()


def _texts(card: Card) -> Texts:
    front = cast("dict[str, Any]", card.front.value)
    params = {name: str(param["type"]) for name, param in front.get("params", {}).items()}
    values = {name: _text(text) for name, text in front.get("values", {}).items()}
    at = front.get("at", ())
    return Texts(
        each=front.get("each", "workload"),
        require=_text(front["require"]),
        where=_text(front.get("where", "")),
        values={**_implied(card, {*values, *params}), **values},
        at=tuple(_step(step) for step in at.split(".")) if isinstance(at, str) else tuple(at),
        params=params,
        is_policy=front["evidence"] == "policy",
        put=_text(front.get("put", "")),
        remove="remove" in front,
        safe=front.get("fix") == "safe",
        lines={path: card.front.line(path) for path in _expressions(front)},
    )


def _expressions(front: Mapping[str, Any]) -> Iterator[Path]:
    yield from ((key,) for key in ("where", "require", "put") if key in front)
    yield from (("values", name) for name in front.get("values", {}))


def _text(written: object) -> str:
    """The expression as text: YAML reads ``require: false`` as a bool."""
    return str(written).lower() if isinstance(written, bool) else str(written)


def _step(text: str) -> str | int:
    number = go_int(text) if text.isdigit() else None
    return text if number is None else number


def _implied(card: Card, explicit: set[str]) -> Mapping[str, str]:
    """Placeholder → expression, for placeholders that are facts of the thing and not under ``values``."""
    fields = shown_fields(str(card.front.value.get("each", "workload")))
    return {name: fields[name] for name in _asked(card) if name in fields and name not in explicit}


def _asked(card: Card) -> Iterator[str]:
    for key in ("message", "help"):
        yield from placeholders(str(card.front.value[key]))


def _faults(card: Card) -> Iterator[CardError]:
    front = cast("dict[str, Any]", card.front.value)
    each = front.get("each", "workload")
    if each not in EACH:
        what = f"each: `{each}` has no expressions; they are about {', '.join(EACH)}"
        yield CardError(card.path, card.front.line(("each",)), what)
        return
    known = {*STANDARD, *front.get("params", {}), *front.get("values", {}), *shown_fields(each)}
    for key in ("message", "help"):
        for name in placeholders(str(front[key])):
            if name not in known:
                hint = (
                    did_you_mean(name, known) or f"; give it under values, or write one of {', '.join(sorted(known))}"
                )
                yield CardError(card.path, card.front.line((key,)), f"{key}: nothing gives {{{name}}}{hint}")


def _unmet(card: Card, rule: Rule, needs: set[tuple[str, str]]) -> Iterator[CardError]:
    """Yield a fault for each fact that expressions read although the card does not list it under ``needs``."""
    for need in sorted({need for need, _ in needs} - set(rule.needs)):
        scenario = ", ".join(sorted(fact for wanted, fact in needs if wanted == need))
        wanted = ", ".join((*(n for n in rule.needs if n != "text"), need))
        message = f"needs: {scenario} needs `{need}`: write needs: [{wanted}]"
        yield CardError(card.path, card.front.line(("needs",)), message)


def _at(card: Card, fault: UnusableError) -> CardError:
    """The fault at its line; in a block (``require: |``) the expression's lines follow its key."""
    error = fault.error
    line = card.front.line(fault.path)
    if error.line and "\n" in str(_value_at(card, fault.path)):
        line += error.line
    where = ".".join(map(str, fault.path))
    column = f", character {error.column}" if error.column else ""
    text = _one_line(str(_value_at(card, fault.path)), error.line)
    return CardError(card.path, line, f"{where}: {error.message}{f' in `{text}`{column}' if text else ''}")


def _value_at(card: Card, path: Path) -> object:
    value: Any = card.front.value
    for step in path:
        value = value.get(step, "") if isinstance(value, Mapping) else ""
    return value


def _one_line(text: str, line: int) -> str:
    lines = text.split("\n")
    return lines[line - 1].strip() if 0 < line <= len(lines) else ""
