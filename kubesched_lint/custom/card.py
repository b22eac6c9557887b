"""A workload card as data: which plain workloads a custom resource stands for, and what its operator adds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path as File
from typing import Any, cast

from msgspec import Struct, field

from kubesched_lint.custom.expression import ExpressionError, parsed
from kubesched_lint.custom.fields import path_of
from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.base.text import did_you_mean
from kubesched_lint.files import place_of
from kubesched_lint.rulebook.cards.card import Card, Heading, read_card, schema_faults
from kubesched_lint.rulebook.cards.frontmatter import CardError

HEADINGS = ("What it makes", "How it rolls out", "Example", "What it does not know")
EVENTS = ("deploy", "rollout", "hpa-max", "scale-down", "node-loss", "zone-loss", "drain")
_SCOPE = ("metadata", "spec")
# Kind of the plain workload and of the pods' owner → the label that the controller of this kind sets.
_REVISION = {
    ("Deployment", "Deployment"): "pod-template-hash",
    ("Deployment", "ReplicaSet"): "pod-template-hash",
    ("StatefulSet", "StatefulSet"): "controller-revision-hash",
    ("DaemonSet", "DaemonSet"): "controller-revision-hash",
}
_FACTS = ("when", "each", "part", "name", "replica_pods", "owner_name", "claims")
_OF_CLAIMS = ("claim", "ordinal")


class Part(Struct, frozen=True):
    """One plain workload that a custom resource stands for, or one for each item of a list in it.

    All values are expressions, except ``kind``, ``owner``, ``selects``, ``rollout`` and labels in lists.
    """

    kind: str
    when: str = ""
    each: str = ""
    part: str = ""
    name: str = "metadata.name"
    fields: tuple[tuple[Path, str], ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    selects: tuple[str, ...] = ()
    """The labels by which running pods are known, if the resource has no selector."""
    excludes: Mapping[str, str] = field(default_factory=dict)
    """Labels that its running pods do not have with these values, because another part's pods do."""
    owner: str = ""
    owner_name: str = ""
    claims: str = ""
    """The name of the claim of template ``claim`` for pod ``ordinal``."""
    revision_label: str = ""
    varying_labels: tuple[str, ...] = ()
    replica_pods: str = ""
    rollout: str = "rolling"
    unknown: tuple[tuple[str, str, str], ...] = ()
    """(event, condition or empty, why its outcome is unknown)."""


class BudgetPart(Struct, frozen=True):
    """A PodDisruptionBudget that the operator makes. All values are expressions."""

    name: str
    when: str = ""
    fields: tuple[tuple[Path, str], ...] = ()


class Reference(Struct, frozen=True):
    """Other objects of the set: the one that the resource names, or a list of those that have labels.

    Expressions read them under the reference's name.
    """

    kind: str
    name: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)


class CustomKind(Struct, frozen=True):
    """A kind of custom resource, as its card describes it."""

    slug: str
    group: str
    versions: tuple[str, ...]
    kind: str
    refs: Mapping[str, Reference]
    parts: tuple[Part, ...]
    budgets: tuple[BudgetPart, ...] = ()
    path: str = ""
    """The card's file; empty for a shipped one."""


def cards_folder() -> File:
    """Return the folder of the shipped cards: inside the package in a wheel, beside it in a checkout."""
    package = File(__file__).parent.parent
    shipped = package / "workloads"
    return shipped if shipped.is_dir() else package.parent / "workloads"


def card_files(folder: File) -> tuple[File, ...]:
    return tuple(sorted(file for file in folder.glob("*.md") if file.stem not in ("README", "CARDS")))


def usable(folder: File) -> tuple[tuple[tuple[Card, CustomKind], ...], tuple[CardError, ...]]:
    """Return the valid cards of a folder with their kinds, and the faults of the others."""
    cards: list[tuple[Card, CustomKind]] = []
    wrong: list[CardError] = []
    for file in card_files(folder):
        try:
            if folder != cards_folder():
                place_of(str(file))  # no link that leaves the repository
            card = read_card(file)
        except CardError as error:
            wrong.append(error)
        except OSError as error:
            wrong.append(CardError(str(file), 1, f"cannot be read: {error.strerror}"))
        else:
            card_faults = tuple(faults(card))
            wrong.extend(card_faults)
            if not card_faults:
                cards.append((card, kind_of(card.slug, card.front.value, card.path)))
    return tuple(cards), tuple(wrong)


def kind_of(slug: str, front: Mapping[str, Any], path: str = "") -> CustomKind:
    """Return the kind of a card without faults. Fields, labels and unknowns of the card hold for all its workloads."""
    refs = {name: _reference(ref) for name, ref in front.get("refs", {}).items()}
    parts = tuple(_part(front, front_part) for front_part in front["workloads"])
    budgets = tuple(map(_budget, front.get("budgets", ())))
    return CustomKind(slug, front["group"], tuple(front["versions"]), front["kind"], refs, parts, budgets, path)


def _reference(front_part: Mapping[str, Any]) -> Reference:
    labels = {key: _expression(value) for key, value in front_part.get("labels", {}).items()}
    return Reference(_expression(front_part["kind"]), _expression(front_part.get("name", "")), labels)


def _budget(front_part: Mapping[str, Any]) -> BudgetPart:
    written = {key: _expression(front_part[key]) for key in ("name", "when") if key in front_part}
    return BudgetPart(fields=_fields(front_part["fields"]), **written)


def _fields(fields: Mapping[str, Any]) -> tuple[tuple[Path, str], ...]:
    return tuple((path_of(name) or (), _expression(value)) for name, value in fields.items())


def _part(front: Mapping[str, Any], front_part: Mapping[str, Any]) -> Part:
    unknown = {**front.get("unknown", {}), **front_part.get("unknown", {})}
    written = {key: str(front_part[key]) for key in _FACTS if key in front_part}
    owner = front_part.get("owner", front.get("owner", ""))
    return Part(
        front_part["as"],
        fields=_fields({**front.get("fields", {}), **front_part.get("fields", {})}),
        labels={
            name: _expression(value)
            for name, value in {**front.get("labels", {}), **front_part.get("labels", {})}.items()
        },
        selects=tuple(front_part.get("selects", front.get("selects", ()))),
        excludes={name: _expression(value) for name, value in front_part.get("excludes", {}).items()},
        owner=owner,
        revision_label=front_part.get(
            "revision_label", front.get("revision_label", _REVISION.get((front_part["as"], owner), ""))
        ),
        varying_labels=tuple(front_part.get("varying_labels", front.get("varying_labels", ()))),
        rollout=front_part.get("rollout", "rolling"),
        unknown=tuple(unknown_cell for event, why in unknown.items() for unknown_cell in _unknown(event, why)),
        **written,
    )


def _unknown(event: str, why: str | Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    when, text = ("", why) if isinstance(why, str) else (_expression(why["when"]), why["why"])
    for each_event in EVENTS if event == "any" else (event,):
        yield each_event, when, _line(text)


def _expression(value: object) -> str:
    """Return the expression as text; a plain number or truth value is one as well."""
    return str(value).lower() if isinstance(value, bool) else _line(value)


def _line(text: object) -> str:
    return " ".join(str(text).split())


# --- Faults of a card, each at its line -------------------------------------------------------------------------------


def faults(card: Card) -> Iterator[CardError]:
    """Yield all faults of a card except in its examples; none if a kind can be made of it."""
    wrong = list(schema_faults(card, _schema_file()))
    yield from wrong
    if not wrong:
        yield from _faults_of_values(card)
        if not card.slug.endswith(f".{card.front.value['group']}"):
            words = f"the file must be named <plural>.{card.front.value['group']}.md"
            yield CardError(card.path, card.front.line(("group",)), words)
    yield from _faults_of_headings(card)


@cache
def _schema_file() -> File:
    return cards_folder() / "card.schema.json"


class Written(Struct, frozen=True):
    """An expression of a card: ``at`` is its place, ``items`` are the lists of which ``item`` may be a member."""

    at: Path
    text: str
    names: tuple[str, ...]
    items: tuple[str, ...] = ()


def expressions(front: Mapping[str, Any]) -> Iterator[Written]:
    """Yield all expressions of a card, those for all workloads first."""
    names = (*_SCOPE, *front.get("refs", {}))
    for name, ref in front.get("refs", {}).items():
        yield from (
            Written(("refs", name, key), _expression(ref[key]), _SCOPE) for key in ("kind", "name") if key in ref
        )
        yield from _of_maps(ref, ("refs", name), _SCOPE, ())
    lists = tuple(_expression(part["each"]) for part in front["workloads"] if "each" in part)
    everywhere = len(lists) == len(front["workloads"])
    yield from _of_maps(front, (), (*names, "item") if everywhere else names, lists)
    for number, part in enumerate(front["workloads"]):
        at: Path = ("workloads", number)
        items = (_expression(part["each"]),) if "each" in part else ()
        of_part = (*names, "item") if items else names
        for key in _FACTS:
            if key in part:
                own = names if key == "each" else (*of_part, *_OF_CLAIMS) if key == "claims" else of_part
                yield Written((*at, key), _expression(part[key]), own, items)
        yield from _of_maps(part, at, of_part, items)
    for number, budget in enumerate(front.get("budgets", ())):
        at = ("budgets", number)
        yield from (Written((*at, key), _expression(budget[key]), names) for key in ("name", "when") if key in budget)
        yield from _of_maps(budget, at, names, ())


def _of_maps(held: Mapping[str, Any], at: Path, names: tuple[str, ...], items: tuple[str, ...]) -> Iterator[Written]:
    for key in ("fields", "labels", "excludes"):
        for name, value in held.get(key, {}).items():
            yield Written((*at, key, name), _expression(value), names, items)
    for event, why in held.get("unknown", {}).items():
        if not isinstance(why, str):
            yield Written((*at, "unknown", event, "when"), _expression(why["when"]), names, items)


def _faults_of_values(card: Card) -> Iterator[CardError]:
    front = cast("dict[str, Any]", card.front.value)
    for written in expressions(front):
        try:
            parsed(written.text, written.names)
        except ExpressionError as error:
            what = written.at[-1]
            yield CardError(card.path, card.front.line(written.at), f"{what}: {error}")
    yield from _faults_of_fields(card, (), front)
    for number, part in enumerate(front["workloads"]):
        at: Path = ("workloads", number)
        yield from _faults_of_fields(card, at, part)
        labels = {**front.get("labels", {}), **part.get("labels", {})}
        for label in part.get("selects", front.get("selects", ())):
            if label not in labels:
                words = f"selects: no entry of `labels` gives the pods the label {label}"
                yield CardError(card.path, card.front.line((*at, "selects")), words)
        if len(front["workloads"]) > 1 and "part" not in part and "when" not in part:
            yield CardError(card.path, card.front.line(at), "one of several workloads needs `part`, or `when`")
    for number, budget in enumerate(front.get("budgets", ())):
        yield from _faults_of_fields(card, ("budgets", number), budget)


def _faults_of_fields(card: Card, at: Path, held: Mapping[str, Any]) -> Iterator[CardError]:
    for name in held.get("fields", {}):
        path = path_of(name)
        if path is None or path[0] not in ("metadata", "spec"):
            words = f"`{name}` is no field of a plain workload: it begins with spec or metadata"
            yield CardError(card.path, card.front.line((*at, "fields", name)), words)


def _faults_of_headings(card: Card) -> Iterator[CardError]:
    first = next(iter(card.headings), None)
    if first is None or (first.level, first.title) != (1, card.slug):
        yield CardError(card.path, first.line if first else card.body_line, f"the first heading must be # {card.slug}")
        return
    missing = [title for title in HEADINGS if title not in card.section_texts]
    for heading in card.headings[1:]:
        yield from _fault_of_heading(card, heading, missing)
    for title in missing:
        yield CardError(card.path, first.line, f"there is no section ## {title}")


def _fault_of_heading(card: Card, heading: Heading, missing: Sequence[str]) -> Iterator[CardError]:
    if heading.level == 2 and heading.title not in HEADINGS:
        hint = did_you_mean(heading.title, missing)
        yield CardError(card.path, heading.line, f"there is no section `{heading.title}`{hint}")
    elif heading.level == 2 and not card.section_texts[heading.title]:
        yield CardError(card.path, heading.line, f"nothing is written under {heading.title}")
