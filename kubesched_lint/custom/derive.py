"""From a custom resource and its card to the plain workloads that it stands for; every value keeps its line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from kubesched_lint.custom.card import BudgetPart, CustomKind, Part, Reference
from kubesched_lint.custom.expression import ExpressionError, Found, Place, Scope, evaluate, is_true
from kubesched_lint.custom.fields import with_value
from kubesched_lint.custom.limits import MOST_PARTS
from kubesched_lint.custom.others import Others
from kubesched_lint.engine.base.places import ObjectRef, Path
from kubesched_lint.engine.base.plain import value_at
from kubesched_lint.engine.model.decode.fields import DecodeError, words
from kubesched_lint.engine.model.decode.policy import decode_budget
from kubesched_lint.engine.model.decode.workloads import decode_workload
from kubesched_lint.engine.model.labels import Requirement, Selector
from kubesched_lint.engine.model.policy import DisruptionBudget
from kubesched_lint.engine.model.workloads.workload import IN_OWN_ORDER, Custom, Strategy, Workload
from kubesched_lint.sources.manifests.document import Document, Move, Text

_API = {
    "Deployment": "apps/v1",
    "StatefulSet": "apps/v1",
    "DaemonSet": "apps/v1",
    "ReplicaSet": "apps/v1",
    "Job": "batch/v1",
}
_TEMPLATE: Path = ("spec", "template")


class UnreadableError(Exception):
    """A custom resource that its card cannot read; the text says why."""


class PlainObjects(NamedTuple):
    """The plain objects that a custom resource stands for."""

    workloads: tuple[Workload, ...]
    budgets: tuple[DisruptionBudget, ...]


def made_of(document: Document, kind: CustomKind, namespace: str, order: int, others: Others) -> PlainObjects:
    """Return the plain objects that a custom resource stands for; ``namespace`` is the default.

    ``order`` is its place in the reading order, and ``others`` has objects that it names. Raises UnreadableError.
    """
    try:
        scope = _scope(document, kind, namespace, others)
        budgets = (b for b in kind.budgets if not b.when or is_true(b.when, scope))
        return PlainObjects(
            tuple(_workloads(document, kind, scope, namespace, order)),
            tuple(_budget(document, budget, scope, namespace) for budget in budgets),
        )
    except ExpressionError as error:
        raise UnreadableError(str(error)) from None
    except DecodeError as error:
        raise UnreadableError(error.message) from None
    except ValueError as error:
        raise UnreadableError(f"its template has the wrong type: {error}") from None


def _scope(document: Document, kind: CustomKind, namespace: str, others: Others) -> Scope:
    value = document.value
    names = {key: Found(_mapping(value.get(key)), Place(document, (key,)), True) for key in ("metadata", "spec")}
    meta = names["metadata"].value
    if "name" not in meta and "generateName" in meta:  # the API server adds a random suffix
        names["metadata"] = Found({**meta, "name": meta["generateName"]}, Place(document, ("metadata",)), True)
    home = meta.get("namespace") or namespace
    for name, ref in kind.refs.items():
        names[name] = _referred(ref, names, str(home), others)
    return names


def _referred(ref: Reference, names: Scope, home: str, others: Others) -> Found:
    """Return the object that the resource names, or the list of those that have the labels."""
    kind = evaluate(ref.kind, names).value
    if ref.labels:
        labels = {key: str(evaluate(text, names).value) for key, text in ref.labels.items()}
        objects = list(others.labelled(str(kind), home, labels))
        places = tuple(((number,), Place(other, ()), True) for number, other in enumerate(objects))
        return Found([other.value for other in objects], parts=places)
    name = evaluate(ref.name, names).value
    other = others.named(str(kind), home, str(name)) if kind and name else None
    return Found(None) if other is None else Found(other.value, Place(other, ()), True)


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _workloads(document: Document, kind: CustomKind, scope: Scope, namespace: str, order: int) -> Iterator[Workload]:
    for part in kind.parts:
        for number, inner in enumerate(_items(part, scope)):
            if number >= MOST_PARTS:
                raise UnreadableError(f"more than {MOST_PARTS} workloads")
            if not part.when or is_true(part.when, inner):
                yield _workload(document, kind, part, inner, namespace, order)


def _items(part: Part, scope: Scope) -> Iterator[Scope]:
    if not part.each:
        yield scope
        return
    evaluated = evaluate(part.each, scope)
    if evaluated.value is None:
        return
    if not isinstance(evaluated.value, list):
        raise UnreadableError(f"{part.each} is not a list")
    for number, item in enumerate(evaluated.value):
        place = None if evaluated.place is None else Place(evaluated.place.document, (*evaluated.place.at, number))
        yield {**scope, "item": Found(item, place, True)}


def _budget(document: Document, budget: BudgetPart, scope: Scope, namespace: str) -> DisruptionBudget:
    moves: list[Move] = []
    plain: Any = {
        "kind": "PodDisruptionBudget",
        "metadata": {**scope["metadata"].value, "name": _text(budget.name, scope)},
    }
    for path, expression in budget.fields:
        plain = _with_field(plain, path, _evaluated(path, expression, scope), moves)
    return decode_budget(plain, namespace, _moved(document, plain, moves))


def _moved(document: Document, plain: Any, moves: Sequence[Move]) -> Document:
    """Return the document as if the plain object were written there; ``moves`` lead to what is written."""
    return replace(document, written=Text(document.text, plain), moves=tuple(moves))


def _workload(document: Document, kind: CustomKind, part: Part, scope: Scope, namespace: str, order: int) -> Workload:
    suffix = _text(part.part, scope) if part.part else ""
    labels = {key: _label(expression, scope) for key, expression in part.labels.items()}
    moves: list[Move] = []
    plain = _plain(part, labels, scope, moves)
    if not value_at(plain, (*_TEMPLATE, "spec", "containers")):
        raise UnreadableError(f"no containers of {suffix or 'its pods'} are known")
    made = decode_workload(plain, namespace, _moved(document, plain, moves), order)
    title = str(scope["metadata"].value.get("name") or "")
    ref = ObjectRef(kind.kind, made.namespace, f"{title}:{suffix}" if suffix else title)
    custom = Custom(
        ref,
        _count(part.replica_pods, scope) if part.replica_pods else 0,
        part.owner,
        _text(part.owner_name, scope) if part.owner_name else "",
        part.revision_label,
        part.varying_labels,
        ({"rollout": IN_OWN_ORDER} if part.rollout == "one-by-one" else {})
        | {event: why for event, when, why in part.unknown if not when or is_true(when, scope)},
        _selected(part, labels, scope) or made.selector,
        _claims(part, made, scope),
    )
    return replace(made, custom=custom, strategy=_strategy(made.strategy, part))


def _plain(part: Part, labels: Mapping[str, str], scope: Scope, moves: list[Move]) -> Any:
    """Return the plain workload; ``moves`` gets the place of each field."""
    meta = {**scope["metadata"].value, "name": _text(part.name, scope)}
    plain: Any = {"apiVersion": _API[part.kind], "kind": part.kind, "metadata": meta}
    for path, expression in part.fields:
        plain = _with_field(plain, path, _evaluated(path, expression, scope), moves)
    plain = _with_labels(plain, {key: value for key, value in labels.items() if value})
    if part.selects and part.kind != "Job":
        plain = with_value(plain, ("spec", "selector"), {"matchLabels": {key: labels[key] for key in part.selects}})
    return plain


def _claims(part: Part, made: Workload, scope: Scope) -> dict[str, tuple[str, ...]]:
    """Return the names that the operator gives to the claims of each template, by pod."""
    numbers = range(min(made.replicas, MOST_PARTS) if part.claims else 0)
    return {
        template.name: tuple(
            _text(part.claims, {**scope, "claim": Found(template.name), "ordinal": Found(n)}) for n in numbers
        )
        for template in made.claim_templates
        if part.claims
    }


def _evaluated(path: Path, expression: str, scope: Scope) -> Found:
    try:
        return evaluate(expression, scope)
    except ExpressionError as error:
        raise UnreadableError(f"{words(path)}: {error}") from None


def _with_field(plain: Any, path: Path, evaluated: Found, moves: list[Move]) -> Any:
    """Return the workload with a field of the card; ``moves`` gets its place, also if the resource does not set it."""
    if evaluated.place is not None:
        moves.append(Move(path, evaluated.place.document, evaluated.place.at, evaluated.is_exact))
    moves += (Move((*path, *inner), place.document, place.at, is_exact) for inner, place, is_exact in evaluated.parts)
    if evaluated.value is None:
        return plain
    try:
        return with_value(plain, path, evaluated.value)
    except ValueError as error:
        raise UnreadableError(f"{words(path)}: {error}") from None


def _with_labels(plain: Any, labels: Mapping[str, str]) -> Any:
    """Return the workload with the labels that the operator gives its pods; they replace those of the template."""
    if not labels:
        return plain
    at = (*_TEMPLATE, "metadata", "labels")
    written = value_at(plain, at)
    try:
        return with_value(plain, at, {**(written if isinstance(written, dict) else {}), **labels})
    except ValueError as error:
        raise UnreadableError(f"{words(at)}: {error}") from None


def _selected(part: Part, labels: Mapping[str, str], scope: Scope) -> Selector | None:
    """Return the selector by the labels that the card names; None if it names none."""
    wanted = tuple(Requirement(key, "In", (labels[key],)) for key in part.selects if labels.get(key))
    if not wanted or len(wanted) < len(part.selects):
        return None
    others = tuple(Requirement(key, "NotIn", (_label(value, scope),)) for key, value in part.excludes.items())
    return Selector((*wanted, *others))


def _text(expression: str, scope: Scope) -> str:
    value = evaluate(expression, scope).value
    if not isinstance(value, str | int) or isinstance(value, bool):
        raise UnreadableError(f"{expression} is not a text")
    return str(value)


def _label(expression: str, scope: Scope) -> str:
    value = evaluate(expression, scope).value
    return str(value).lower() if isinstance(value, bool) else "" if value is None else str(value)


def _count(expression: str, scope: Scope) -> int:
    value = evaluate(expression, scope).value
    if not isinstance(value, int) or isinstance(value, bool):
        raise UnreadableError(f"{expression} is not a whole number")
    return value


def _strategy(strategy: Strategy, part: Part) -> Strategy:
    match part.rollout:
        case "blue-green":
            return replace(strategy, is_whole=True)
        case "weights":
            return replace(strategy, by_weight=True)
        case "one-by-one":
            return replace(strategy, in_own_order=True)
    return strategy
