"""A card: the front matter that defines a rule, the prose that explains it, and the faults of both.

``as_markdown`` gives a whole rule as one text.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path as File
from typing import TYPE_CHECKING, Any, cast

import jsonschema
from jsonschema.exceptions import best_match
from msgspec import Struct

from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.base.text import did_you_mean
from kubesched_lint.files import content_at
from kubesched_lint.findings import Severity
from kubesched_lint.limits import LARGEST_SETTINGS
from kubesched_lint.rulebook.cards.fits import UnknownKeywordError, fits
from kubesched_lint.rulebook.cards.frontmatter import CardError, FrontMatter, front_matter
from kubesched_lint.rulebook.rule import Check, Mend, Rule, Templates, cards_folder
from kubesched_lint.rulebook.wording import WordingError, placeholders

if TYPE_CHECKING:
    from jsonschema.protocols import Validator


HEADINGS = ("What it finds", "Why it hurts", "Example", "Use instead", "What it cannot see")


# The Python types of a parameter's default, by its declared type. A bool is not an integer here.
_PYTHON_TYPES: Mapping[str, tuple[type, ...]] = {
    "integer": (int,),
    "number": (int, float),
    "string": (str,),
    "boolean": (bool,),
    "strings": (list,),
}


class Card(Struct, frozen=True):
    """``body`` is the text below the front matter; it starts at line ``body_line`` of the file ``path``."""

    slug: str
    path: str
    front: FrontMatter
    body: str
    body_line: int

    @property
    def headings(self) -> tuple[Heading, ...]:
        return tuple(block for block in blocks(self.body, self.body_line) if isinstance(block, Heading))

    @property
    def fences(self) -> tuple[Fence, ...]:
        return tuple(block for block in blocks(self.body, self.body_line) if isinstance(block, Fence))

    @property
    def section_texts(self) -> Mapping[str, str]:
        """Title → the Markdown under it."""
        lines = self.body.split("\n")
        marks = [h for h in self.headings if h.level == 2]
        ends = [h.line - self.body_line for h in marks[1:]] + [len(lines)]
        return {
            heading.title: "\n".join(lines[heading.line - self.body_line + 1 : end]).strip()
            for heading, end in zip(marks, ends, strict=True)
        }


def read_card(file: File) -> Card:
    """The card in a file. Raises CardError without readable front matter, OSError if the file cannot be read."""
    data = content_at(os.path.realpath(file), LARGEST_SETTINGS)  # cards of a package may be links to shared files
    if len(data) > LARGEST_SETTINGS:
        raise CardError(str(file), 1, "larger than 1 MiB: that is no card")
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise CardError(str(file), 1, "not UTF-8 text") from None
    return parse_card(text, str(file), file.stem)


def parse_card(text: str, path: str, slug: str) -> Card:
    """Parse a card. Raises CardError at the line to blame."""
    lines = text.replace("\r\n", "\n").split("\n")
    if lines[0].rstrip() != "---":
        raise CardError(path, 1, "a card starts with its front matter, between two lines ---")
    end = next((n for n, line in enumerate(lines[1:], 1) if line.rstrip() == "---"), None)
    if end is None:
        raise CardError(path, 1, "the front matter is not closed by a line ---")
    front = front_matter("\n".join(lines[1:end]), path, first_line=2)
    return Card(slug, path, front, "\n".join(lines[end + 1 :]), end + 2)


def faults(card: Card) -> Iterator[CardError]:
    """Yield all faults of a card except in its examples; none if a rule can be made of it."""
    wrong = list(schema_faults(card, rule_schema()))
    yield from wrong
    if not wrong:
        yield from _template_faults(card)
        yield from _param_faults(card)
    yield from _heading_faults(card)


def to_rule(card: Card, code: Callable[[], Check] | None = None, mender: Callable[[], Mend] | None = None) -> Rule:
    """The rule of a card without faults; ``code`` and ``mender`` give check and fix of a rule that is not shipped."""
    front = cast("dict[str, Any]", card.front.value)
    evidence = front["evidence"]
    preview = front.get("preview", False)
    severity = Severity[front["severity"].upper()]
    return Rule(
        slug=card.slug,
        summary=front["summary"],
        family=front["family"],
        severity=min(severity, Severity.WARNING) if preview else severity,
        evidence=(evidence,) if isinstance(evidence, str) else tuple(evidence),
        needs=tuple(front["needs"]),
        uses=tuple(front.get("uses", ())),
        about=front.get("about", "text"),
        each=front.get("each", "workload"),
        kinds=tuple(front.get("kinds", ())),
        features=tuple(front.get("looks_at", ())),
        beside=tuple(front.get("beside", ())),
        default=front.get("default", "on"),
        messages=_templates(front["message"]),
        helps=_templates(front["help"]),
        params={name: _default(param) for name, param in front.get("params", {}).items()},
        yields_to=tuple(front.get("yields_to", ())),
        yields_here_to=tuple(front.get("yields_here_to", ())),
        fix=front.get("fix", ""),
        refuses=front.get("refuses", False),
        absence="namespace" if front.get("absence") is True else front.get("absence", ""),
        every_definition=front.get("every_definition", False),
        audit=front.get("audit", ""),
        once_per_run=front.get("once_per_run", False),
        preview=preview,
        formerly=tuple(front.get("formerly", ())),
        since=front["since"],
        code=code,
        card=card.path if code else "",
        mender=mender,
    )


@cache
def rule_schema() -> File:
    """The file with the schema of a rule's front matter."""
    return cards_folder() / "card.schema.json"


@cache
def _schema(file: File) -> Mapping[str, Any]:
    return cast("dict[str, Any]", json.loads(content_at(os.path.realpath(file), LARGEST_SETTINGS)))


@cache
def _validator(file: File) -> Validator:
    return jsonschema.Draft202012Validator(_schema(file))


def _fits(value: object, file: File) -> bool:
    """Whether the front matter fits the schema, so that no error must be explained."""
    try:
        return fits(value, _schema(file), _schema(file))
    except UnknownKeywordError:
        return False


def schema_faults(card: Card, file: File) -> Iterator[CardError]:
    """Yield how the front matter of a card differs from the schema in a file."""
    if _fits(card.front.value, file):
        return
    for error in sorted(
        _validator(file).iter_errors(cast("Any", card.front.value)), key=lambda e: list(map(str, e.absolute_path))
    ):
        cause = best_match([error]) if error.context else error
        at: Path = tuple(cause.absolute_path)
        name = ".".join(map(str, at)) or "the front matter"
        yield CardError(card.path, card.front.line(at), f"{name}: {_in_words(cause, at, card)}")


def _in_words(error: Any, at: Path, card: Card) -> str:
    if error.validator == "additionalProperties" and not at:
        known = error.schema["properties"]
        extra = sorted(set(card.front.value) - set(known))
        return "; ".join(f"unknown key `{key}`{did_you_mean(key, known)}" for key in extra)
    if error.validator == "anyOf" and at == ("evidence",):
        return "an error needs a proof, or is a policy of one's own"
    if error.validator == "not":
        return "only for rules over each workload"
    return str(error.message)


def _template_faults(card: Card) -> Iterator[CardError]:
    for key in ("message", "help"):
        for variant, template in _templates(card.front.value[key]).items():
            at: Path = (key, variant) if variant else (key,)
            try:
                list(placeholders(template))
            except WordingError as error:
                yield CardError(card.path, card.front.line(at), f"{'.'.join(map(str, at))}: {error}")
    messages, helps = _templates(card.front.value["message"]), _templates(card.front.value["help"])
    if "" not in helps:
        for variant in sorted(set(messages) - set(helps)):
            missing = variant or "default"
            if missing not in helps:
                yield CardError(card.path, card.front.line(("help",)), f"help: no words for the variant `{missing}`")


def _param_faults(card: Card) -> Iterator[CardError]:
    params = cast("dict[str, dict[str, Any]]", card.front.value.get("params", {}))
    for name, param in params.items():
        default, wanted = param["default"], param["type"]
        fits = isinstance(default, _PYTHON_TYPES[wanted]) and (isinstance(default, bool) == (wanted == "boolean"))
        if not fits:
            yield CardError(
                card.path, card.front.line(("params", name)), f"params.{name}: the default {default!r} is no {wanted}"
            )


def _heading_faults(card: Card) -> Iterator[CardError]:
    if not card.headings:
        yield CardError(card.path, card.body_line, f"no headings; a card has # {card.slug}, then ## {HEADINGS[0]} …")
        return
    first, *rest = card.headings
    if (first.level, first.title) != (1, card.slug):
        yield CardError(card.path, first.line, f"the first heading must be # {card.slug}")
    second = tuple(h.title for h in rest if h.level == 2)
    if second != HEADINGS:
        pairs = zip((h for h in rest if h.level == 2), HEADINGS, strict=False)
        odd = next((heading for heading, wanted in pairs if heading.title != wanted), first)
        yield CardError(card.path, odd.line, f"the headings must be {', '.join(HEADINGS)}, in this order")
        return
    for title, text in card.section_texts.items():
        if not text:
            line = next(h.line for h in rest if h.title == title)
            yield CardError(card.path, line, f"nothing is written under {title}")


def _templates(written: object) -> Templates:
    if isinstance(written, Mapping):
        return {str(variant): _one_line(text) for variant, text in written.items()}
    return {"": _one_line(written)}


def _one_line(text: object) -> str:
    return " ".join(str(text).split())


def _default(param: Mapping[str, Any]) -> object:
    default = param["default"]
    return tuple(default) if isinstance(default, list) else default


# --- The Markdown structure of a card: headings, and fenced blocks with their lines -----------------------------------


class Heading(Struct, frozen=True):
    level: int
    title: str
    line: int


class Fence(Struct, frozen=True):
    """``info``: the words after the opening backticks; ``line``: number of the first line of ``text``."""

    info: tuple[str, ...]
    text: str
    line: int
    closed: bool = True


def blocks(text: str, first_line: int = 1) -> Iterator[Heading | Fence]:
    """Yield headings and fences in order; ``first_line`` is the number of the first line of ``text`` in its file."""
    ticks, info, start = "", "", 0
    content: list[str] = []
    for number, line in enumerate(text.split("\n"), first_line):
        if ticks:
            if line.rstrip() == ticks:
                yield Fence(tuple(info.split()), "".join(content), start)
                ticks = ""
            else:
                content.append(f"{line}\n")
        elif line.startswith("```"):
            info = line.lstrip("`")
            ticks = line[: len(line) - len(info)]
            content, start = [], number + 1
        elif line.startswith("#"):
            title = line.lstrip("#")
            if title.startswith(" "):
                yield Heading(len(line) - len(title), title.strip(), number)
    if ticks:
        yield Fence(tuple(info.split()), "".join(content), start, closed=False)


# --- A whole rule as one Markdown text: the facts of its front matter, then the card's explanation --------------------

_PROFILES = {"on": "", "strict": ", only with --profile strict", "off": ", only when selected by name"}


def as_markdown(rule: Rule, card: Card) -> str:
    """Title, facts, the card's sections and its references."""
    _, _, sections = card.body.partition(f"# {rule.slug}\n")
    parts = [f"# {rule.slug}", f"{rule.summary}.", "\n".join(_facts(rule, card)), sections.strip()]
    references = cast("list[str]", card.front.value.get("references", []))
    if references:
        parts.append("## References\n\n" + "\n".join(f"- <{url}>" for url in references))
    return "\n\n".join(parts) + "\n"


def _facts(rule: Rule, card: Card) -> Iterator[str]:
    yield f"- **Severity:** {rule.severity.word}{_PROFILES[rule.default]}"
    if rule.preview:
        yield f"- **Preview:** new; at most a warning for now, {card.front.value['severity']} in a later version"
    yield f"- **Family:** {rule.family}"
    yield f"- **Evidence:** {', '.join(rule.evidence)}"
    yield f"- **Needs:** {', '.join(rule.needs)}" + (f"; also reads {', '.join(rule.uses)}" if rule.uses else "")
    for key, label in (("each", "Of each"), ("where", "Where"), ("require", "Requires")):
        if "require" in card.front.value and key in card.front.value:
            yield f"- **{label}:** `{' '.join(str(card.front.value[key]).split())}`"
    params = cast("Mapping[str, Mapping[str, Any]]", card.front.value.get("params", {}))
    for name, default in rule.params.items():
        yield f"- **Parameter** `{name}` (default `{default}`): {params[name]['description']}"
    if rule.fix:
        yield (
            "- **Fix:** `--fix` may apply one"
            if rule.fix == "safe"
            else "- **Fix:** `--fix --unsafe-fixes` may apply one"
        )
    if rule.yields_to:
        yield f"- **Yields to:** {', '.join(rule.yields_to)}"
    if rule.yields_here_to:
        yield f"- **Yields, at the same place, to:** {', '.join(rule.yields_here_to)}"
    if rule.formerly:
        yield f"- **Formerly:** {', '.join(rule.formerly)}"
    yield f"- **Since:** {rule.since}"
