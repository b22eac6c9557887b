"""The fenced YAML of a card is its test: the linter must find in it exactly what its marks say, at their lines.

This layer does not import the linter: the caller passes a ``Lint``. A ``Trial`` tests a folder of cards.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path as File
from typing import Protocol

import yaml
from msgspec import Struct, field
from msgspec.structs import replace

from kubesched_lint.engine.base.places import Location
from kubesched_lint.findings import Finding, Report
from kubesched_lint.rulebook.cards.card import Card, Fence
from kubesched_lint.rulebook.cards.frontmatter import CardError, scalar
from kubesched_lint.rulebook.library import Rulebook, cards_folder
from kubesched_lint.rulebook.loading import usable
from kubesched_lint.rulebook.rule import Rule
from kubesched_lint.rulebook.wording import WordingError

MANIFEST, CLUSTER = "manifest.yaml", "cluster.yaml"
"""The paths of an example's texts in a report; ``Example.line_of`` maps their lines to the card."""

MARK = re.compile(
    r"(?:^|[ \t]+)#[ \t]*(finding|related|also)(?: \((error|warning|note)\))?:"
    r"(.*?)(?=[ \t]+#[ \t]*(?:finding|related|also)(?: \(\w+\))?:|[ \t]*$)",
    re.MULTILINE,
)


class ExampleOptions(Struct, frozen=True):
    """How an example is linted. ``elastic`` None: the nodes decide."""

    apply_order: str = "kubectl"
    kubernetes_version: str = ""
    namespace: str = "default"
    elastic: bool | None = None
    profile: str = "ci"
    params: Mapping[str, object] = field(default_factory=dict)
    """Parameters of the card's own rule."""
    skipped: bool = False
    """Whether the rule must be skipped here."""
    flux: bool = False
    """Whether a Kustomization of Flux of its own applies each document."""


class ExpectedFinding(Struct, frozen=True):
    """``kind`` is finding, related or also; ``line`` counts in the manifest. ``rule`` must report it.

    ``severity`` is the required severity, or empty for any.
    """

    kind: str
    line: int
    text: str
    rule: str
    severity: str = ""
    path: str = MANIFEST
    """``CLUSTER`` if a rule over nodes finds something in the cluster."""


class Example(Struct, frozen=True):
    """``line`` and ``cluster_line`` are the first lines of the texts in the card ``path``; marks are cut out."""

    slug: str
    path: str
    line: int
    manifest: str
    marks: tuple[ExpectedFinding, ...] = ()
    cluster: str | None = None
    cluster_line: int = 0
    before: str | None = None
    """The manifests before the change; None if nobody compares."""
    setting: ExampleOptions = field(default_factory=ExampleOptions)

    def __str__(self) -> str:
        return f"{self.slug}:{self.line}"

    def has(self, kind: str) -> bool:
        return any(mark.kind == kind for mark in self.marks)

    def line_of(self, path: str, line: int) -> int:
        """Return the line of the card for a line of the manifest or the cluster."""
        return (self.cluster_line if path == CLUSTER else self.line) + max(line, 1) - 1


class Lint(Protocol):
    """The whole linter on the texts of an example: reads them as ``MANIFEST`` and ``CLUSTER``, applies waivers."""

    def __call__(self, example: Example, rules: Sequence[Rule], book: Rulebook) -> Report: ...


def examples(card: Card) -> tuple[Example, ...]:
    """All runnable examples of a card in order. Raises CardError for an invalid fence."""
    card_examples: list[Example] = []
    cluster: Fence | None = None
    before: Fence | None = None
    cluster_marks: tuple[ExpectedFinding, ...] = ()
    setting = ExampleOptions()
    for fence in card.fences:
        if not fence.closed:
            raise CardError(card.path, fence.line - 1, "this fence is never closed")
        if fence.info[:1] != ("yaml",):
            continue
        words = fence.info[1:]
        if words[:1] == ("cluster",):
            cluster_marks = tuple(_marks(card, fence, CLUSTER))
            if cluster_marks and card.front.value.get("each") != "node":
                raise CardError(card.path, fence.line, "marks belong into manifests, not into the cluster")
            cluster, setting = fence, _setting(card, fence, words[1:], ExampleOptions())
        elif words[:1] == ("fragment",):
            _must_be_yaml(card, fence)
        elif words == ("before",):
            before = fence
        else:
            given = None if "no-cluster" in words else cluster
            card_examples.append(
                Example(
                    card.slug,
                    card.path,
                    fence.line,
                    manifest=MARK.sub("", fence.text),
                    marks=(*_marks(card, fence), *(cluster_marks if given else ())),
                    cluster=MARK.sub("", given.text) if given else None,
                    cluster_line=given.line if given else 0,
                    before=before.text if before else None,
                    setting=_setting(card, fence, [w for w in words if w != "no-cluster"], setting),
                )
            )
            before = None
    return tuple(card_examples)


def coverage_faults(card: Card, card_examples: Sequence[Example]) -> Iterator[CardError]:
    """Yield a fault if no example has a finding, or none is silent: then the rule is not tested."""
    if not any(example.has("finding") for example in card_examples):
        yield CardError(card.path, card.body_line, "no example has a # finding")
    if not any(not example.has("finding") and not example.setting.skipped for example in card_examples):
        yield CardError(card.path, card.body_line, "no example is silent although the rule runs")


def rules_for(example: Example, book: Rulebook) -> tuple[Rule, ...]:
    """The card's own rule and all shipped ones of the profile, but no other policies of the same folder.

    A rule in preview yields to the rules about verdicts: its card shows what it says without them.
    """
    left_out = "verdict" if book.get(example.slug).preview else ""
    profile = book.select(example.setting.profile)
    chosen = {rule.slug: rule for rule in profile if rule.code is None and rule.about != left_out}
    chosen[example.slug] = book.get(example.slug)
    return tuple(chosen[slug] for slug in sorted(chosen))


def failures(example: Example, book: Rulebook, lint: Lint) -> Iterator[CardError]:
    """Run an example. Yield each difference between the report and the marks, at its line of the card."""
    try:
        report = lint(example, rules_for(example, book), book)
    except WordingError as wording:
        yield CardError(example.path, example.line, f"a finding cannot be worded: {wording}")
        return
    for error in report.errors:
        yield CardError(example.path, example.line_of(error.path, error.line), f"not linted: {error.message}")
    skipped = next((s.reason for s in report.skipped if s.rule == example.slug), None)
    if skipped is not None and not example.setting.skipped:
        yield CardError(example.path, example.line, f"the rule was skipped: {skipped}")
    elif skipped is None and example.setting.skipped:
        yield CardError(example.path, example.line, "the rule ran, but the fence says skipped")
    spoken = [f for f in report.findings if f.suppressed is None]
    yield from _differences(example, spoken)
    own = [f for f in spoken if f.rule == example.slug]
    yield from _missing_related(example, own)
    rule = book.get(example.slug)
    for finding in own:
        for complaint in _unlike_card(finding, rule):
            yield _at(example, finding.location, complaint)


def _differences(example: Example, findings: Iterable[Finding]) -> Iterator[CardError]:
    # The longest text first, so that an empty one does not take the finding that another mark describes.
    unmet = sorted((m for m in example.marks if m.kind != "related"), key=lambda m: -len(m.text))
    surprises: list[Finding] = []
    for finding in findings:
        matched = next((m for m in unmet if _meets(finding, m)), None)
        if matched is None:
            surprises.append(finding)
        else:
            unmet.remove(matched)
    for mark in sorted(unmet, key=lambda m: m.line):
        elsewhere = [f for f in surprises if f.rule == mark.rule]
        others = "".join(
            f"\n    found at line {_card_line(example, f.location)}{_severity_of(f, mark)}: {f.message}"
            for f in elsewhere
        )
        wanted = f"whose message holds `{mark.text}`" if mark.text else ""
        yield CardError(
            example.path,
            example.line_of(mark.path, mark.line),
            f"no {mark.severity or 'finding'} of {mark.rule} here {wanted}".rstrip()
            + (others or "; it found nothing else either"),
        )
    for finding in surprises:
        if finding.rule == example.slug:
            yield _at(example, finding.location, f"a finding without a mark: {finding.message}")
        else:
            hint = f"correct the example, or mark it # also: {finding.rule}"
            yield _at(example, finding.location, f"{finding.rule} speaks here as well: {finding.message}\n    {hint}")


def _severity_of(finding: Finding, mark: ExpectedFinding) -> str:
    return f" ({finding.severity.word})" if mark.severity else ""


def _meets(finding: Finding, mark: ExpectedFinding) -> bool:
    place = finding.location
    return (
        finding.rule == mark.rule
        and place.path == mark.path
        and place.span.line == mark.line
        and mark.text in finding.message
        and mark.severity in ("", finding.severity.word)
    )


def _missing_related(example: Example, own: Iterable[Finding]) -> Iterator[CardError]:
    places = [r for finding in own for r in finding.related if r.location.path == MANIFEST]
    for mark in example.marks:
        if mark.kind == "related" and not any(
            r.location.span.line == mark.line and mark.text in r.label for r in places
        ):
            labels = ", ".join(f"line {_card_line(example, r.location)} `{r.label}`" for r in places) or "none"
            yield CardError(
                example.path,
                example.line_of(MANIFEST, mark.line),
                f"no related place here with `{mark.text}` in its label; there are: {labels}",
            )


def _unlike_card(finding: Finding, rule: Rule) -> Iterator[str]:
    if finding.evidence.kind not in rule.evidence:
        yield f"the evidence is a {finding.evidence.kind}, the card promises {' or '.join(rule.evidence)}"
    if finding.severity > rule.severity:
        yield f"it is {finding.severity.word}, the card allows at most {rule.severity.word}"
    if not finding.help:
        yield "the help is empty"


def _card_line(example: Example, place: Location) -> int:
    return example.line_of(place.path, place.span.line)


def _at(example: Example, place: Location, message: str) -> CardError:
    return CardError(example.path, _card_line(example, place), message)


def _marks(card: Card, fence: Fence, path: str = MANIFEST) -> Iterator[ExpectedFinding]:
    for number, line in enumerate(fence.text.split("\n"), 1):
        for kind, severity, text in MARK.findall(line):
            if kind != "also":
                yield ExpectedFinding(kind, number, text.strip(), card.slug, severity, path)
                continue
            slug, _, rest = text.strip().partition(" ")
            if not slug or slug == card.slug:
                raise CardError(card.path, fence.line + number - 1, "# also: names another rule, then perhaps a text")
            yield ExpectedFinding(kind, number, rest.strip(), slug, severity, path)


def _setting(card: Card, fence: Fence, words: Iterable[str], base: ExampleOptions) -> ExampleOptions:
    setting = base
    for word in words:
        match word.split("=", 1):
            case ["elastic"] | ["fixed"]:
                setting = replace(setting, elastic=word == "elastic")
            case ["strict"]:
                setting = replace(setting, profile="strict")
            case ["skipped"]:
                setting = replace(setting, skipped=True)
            case ["flux"]:
                setting = replace(setting, flux=True)
            case ["apply-order", order]:
                setting = replace(setting, apply_order=order)
            case ["kubernetes-version", version]:
                setting = replace(setting, kubernetes_version=version)
            case ["namespace", name]:
                setting = replace(setting, namespace=name)
            case [name, value] if name.startswith("param."):
                setting = replace(setting, params={**setting.params, _param(card, fence, name): scalar(value)})
            case _:
                message = f"unknown word `{word}` after ```yaml; rules/CARDS.md lists them"
                raise CardError(card.path, fence.line - 1, message)
    return setting


def _param(card: Card, fence: Fence, name: str) -> str:
    param = name.removeprefix("param.")
    params = card.front.value.get("params")
    if not isinstance(params, Mapping) or param not in params:
        raise CardError(card.path, fence.line - 1, f"the card has no parameter `{param}`")
    return param


def _must_be_yaml(card: Card, fence: Fence) -> None:
    try:
        for _ in yaml.parse(fence.text, Loader=yaml.SafeLoader):
            pass
    except yaml.MarkedYAMLError as error:
        line = fence.line + (error.problem_mark.line if error.problem_mark else 0)
        raise CardError(card.path, line, f"not YAML: {error.problem}") from None


# --- A test of a folder of cards: which are valid, and which examples differ from their marks -------------------------


class Trial(Struct, frozen=True, dict=True):
    """``book`` has the rules for every example: those of ``cards``, and the shipped ones."""

    book: Rulebook
    cards: tuple[Card, ...]
    faults: tuple[CardError, ...] = ()

    @classmethod
    def of(cls, folder: File) -> Trial:
        """Read the cards themselves, not the index, so that a card can be tested before it is indexed."""
        rules_of_cards, wrong = usable(folder)
        rules = {card.slug: rule for card, rule in rules_of_cards}
        if folder.resolve() != cards_folder().resolve():
            rules = {**Rulebook.shipped().rules, **rules}
        faults = list(wrong)
        sound: list[Card] = []
        for card, _ in rules_of_cards:
            try:
                missing = tuple(coverage_faults(card, examples(card)))
            except CardError as error:
                missing = (error,)
            faults.extend(missing)
            if not missing:
                sound.append(card)
        return cls(Rulebook(rules), tuple(sound), tuple(faults))

    def narrowed(self, names: Iterable[str]) -> Trial:
        """The trial with only the cards of these rules and families; all if none is given. Raises UnknownRuleError."""
        names = tuple(names)
        if not names:
            return self
        broken = {File(fault.path).stem for fault in self.faults}
        chosen = {name for name in names if name in broken}
        chosen |= {rule.slug for name in names if name not in broken for rule in self.book.resolve(name)}
        return replace(
            self,
            cards=tuple(card for card in self.cards if card.slug in chosen),
            faults=tuple(fault for fault in self.faults if File(fault.path).stem in chosen),
        )

    @cached_property
    def examples(self) -> tuple[Example, ...]:
        return tuple(example for card in self.cards for example in examples(card))

    def failures(self, lint: Lint) -> Iterator[CardError]:
        """Yield every difference between the examples' reports and their marks, at its line."""
        for example in self.examples:
            yield from failures(example, self.book, lint)
