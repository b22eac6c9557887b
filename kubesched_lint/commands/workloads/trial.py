"""The examples of a workload card: a custom resource gives the findings and cells of the plain workloads beside it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path as File

from msgspec import Struct, field

from kubesched_lint.commands.simulate.run import simulate
from kubesched_lint.commands.simulate.simulation_report import SimulationReport
from kubesched_lint.commands.workloads.paths import misspelt
from kubesched_lint.custom.card import usable
from kubesched_lint.custom.kinds import Kinds
from kubesched_lint.engine.cluster.cluster import Cluster, ClusterError
from kubesched_lint.engine.events.answers.cells import BAD, FINE, UNKNOWN, Cell
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.verdicts.matrix import EVENTS
from kubesched_lint.findings import Finding
from kubesched_lint.linter.lint import lint
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import ManifestSet, manifest_set
from kubesched_lint.rulebook.cards.card import Card, Fence
from kubesched_lint.rulebook.cards.frontmatter import CardError
from kubesched_lint.rulebook.examples import CLUSTER, MANIFEST, MARK
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.sources.clusters.read import cluster_from
from kubesched_lint.sources.manifests.loader import documents


class Example(Struct, frozen=True):
    """``resource`` and ``plain`` are fences.

    ``own`` maps an event to the verdict of the custom resource, where some plain workload has another.
    """

    card: str
    resource: Fence
    plain: Fence
    cluster: Fence
    own: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.card.rpartition('/')[2]}:{self.resource.line}"


class _Side(Struct, frozen=True):
    """What the linter says about one side of an example."""

    manifests: ManifestSet
    findings: tuple[Finding, ...]
    simulation: SimulationReport
    problems: tuple[str, ...] = field(default=())


class Trial(Struct, frozen=True):
    """The examples of a folder of cards: how many there are, and what is wrong with cards and examples."""

    cards: int
    examples: int
    problems: tuple[CardError, ...]


def trial_of(folder: File, definitions: Mapping[str, bytes]) -> Trial:
    """Run all examples of a folder; its cards are the only ones.

    ``definitions`` are files of CustomResourceDefinitions, whose schemas must have the paths of the cards. Raises
    SchemaError.
    """
    cards, wrong = usable(folder)
    kinds, problems, tested = Kinds(tuple(kind for _, kind in cards)), list(wrong), 0
    for path, data in definitions.items():
        problems += misspelt([card for card, _ in cards], path, data)
    for card, _ in cards:
        try:
            card_examples = examples(card)
        except CardError as error:
            problems.append(error)
            continue
        tested += len(card_examples)
        problems += (failure for example in card_examples for failure in failures(example, kinds))
    return Trial(len(cards), tested, tuple(problems))


def examples(card: Card) -> tuple[Example, ...]:
    """Return the examples of a card. Raises CardError if a fence has no counterpart, or if there is no example."""
    card_examples: list[Example] = []
    cluster: Fence | None = None
    resource: Fence | None = None
    for fence in card.fences:
        if fence.info[:1] != ("yaml",) or "fragment" in fence.info:
            continue
        if not fence.closed:
            raise CardError(card.path, fence.line - 1, "this fence is never closed")
        if "cluster" in fence.info:
            cluster = fence
        elif "plain" not in fence.info:
            if resource is not None:
                raise CardError(card.path, resource.line, "no ```yaml plain follows this custom resource")
            resource = fence
        elif resource is None or cluster is None:
            raise CardError(card.path, fence.line, "```yaml cluster and a custom resource come before plain workloads")
        else:
            card_examples.append(Example(card.path, resource, fence, cluster, dict(_own(card, fence))))
            resource = None
    if resource is not None or not card_examples:
        line = card.body_line if resource is None else resource.line
        raise CardError(card.path, line, "no example: a custom resource, then ```yaml plain with what it stands for")
    return tuple(card_examples)


def _own(card: Card, fence: Fence) -> Iterator[tuple[str, str]]:
    for word in fence.info[1:]:
        event, equals, verdict = word.partition("=")
        if equals and event in EVENTS and verdict in (FINE, BAD, UNKNOWN):
            yield event, verdict
        elif word != "plain":
            words = f"unknown word `{word}`: plain, or EVENT={FINE}, EVENT={BAD}, EVENT={UNKNOWN}"
            raise CardError(card.path, fence.line - 1, words)


def failures(example: Example, kinds: Kinds) -> Iterator[CardError]:
    """Run both sides of an example. Yield each difference, at its line of the card."""
    try:
        cluster = cluster_from([(CLUSTER, example.cluster.text.encode())], CLUSTER)
    except ClusterError as error:
        yield CardError(example.card, example.cluster.line, f"the cluster cannot be read: {error.message}")
        return
    custom, plain = (_side(fence, cluster, kinds) for fence in (example.resource, example.plain))
    for fence, side in ((example.resource, custom), (example.plain, plain)):
        for problem in side.problems:
            yield CardError(example.card, fence.line, problem)
    if custom.problems or plain.problems:
        return
    names = {str(w): f"{w.kind} {w.namespace}/{w.name}" for w in custom.manifests.inventory.workloads if w.custom}
    if not names:
        words = "no workload is read: no resource has the card's kind, or `when` and `each` leave none"
        yield CardError(example.card, example.resource.line, words)
        return
    yield from _unlike_findings(example, custom.findings, plain.findings, names)
    yield from _unlike_marks(example, custom.findings)
    yield from _unlike_cells(example, custom.simulation, plain.simulation)


def _side(fence: Fence, cluster: Cluster, kinds: Kinds) -> _Side:
    options = Options(kinds=kinds)
    text = MARK.sub("", fence.text).encode()
    manifests = manifest_set(documents(MANIFEST, text, kinds.is_read), options.namespace, kinds=kinds)
    report, _ = lint(manifests, cluster, options, Rulebook.shipped().select())
    problems = (
        *(error.message for error in report.errors),
        *(
            f"{unread.kind} is not read: {unread.why or 'no card has this kind and version'}"
            for unread in manifests.unread
        ),
    )
    return _Side(manifests, report.findings, simulate(manifests, cluster, options), problems)


def _unlike_findings(
    example: Example, custom: Iterable[Finding], plain: Iterable[Finding], names: Mapping[str, str]
) -> Iterator[CardError]:
    # Rules about documents ask what the API server knows, which has no schema of the custom resource.
    about_texts = {rule.slug for rule in Rulebook.shipped() if rule.each == "document"}
    about_cells = {rule.slug for rule in Rulebook.shipped() if rule.about == "verdict"}

    def of_own(finding: Finding) -> str:
        """Return the verdict that the card says of the resource's own cell, if the finding is about this cell."""
        return example.own.get(finding.evidence.event, "") if finding.rule in about_cells else ""

    left = [(_said(finding, {}), of_own(finding)) for finding in plain if finding.rule not in about_texts]
    for finding in custom:
        said, own = _said(finding, names), of_own(finding)
        if (said, own) in left:
            left.remove((said, own))
        elif own != BAD:
            line = example.resource.line + finding.location.span.line - 1
            yield CardError(example.card, line, f"the plain workload has no such finding: {' '.join(said)}")
    for said, own in left:
        if own not in (FINE, UNKNOWN):
            words = f"the custom resource has no such finding: {' '.join(said)}"
            yield CardError(example.card, example.plain.line, words)


def _said(finding: Finding, names: Mapping[str, str]) -> tuple[str, str, str]:
    message = finding.message
    for shown in sorted(names, key=len, reverse=True):
        message = message.replace(shown, names[shown])
    return finding.rule, finding.severity.word, message


def _unlike_marks(example: Example, findings: Sequence[Finding]) -> Iterator[CardError]:
    """Yield the marks ``# finding: RULE`` without a finding on their line."""
    for number, line in enumerate(example.resource.text.split("\n"), 1):
        for _, _, text in MARK.findall(line):
            if not any((f.rule, f.location.span.line) == (text.strip(), number) for f in findings):
                yield CardError(example.card, example.resource.line + number - 1, f"no finding of {text.strip()} here")


def _unlike_cells(example: Example, custom: SimulationReport, plain: SimulationReport) -> Iterator[CardError]:
    known = {_name(plain.workloads[row.number]): row for row in plain.rows}
    # A custom resource may name a plain workload, which has its own row.
    for row in sorted(custom.rows, key=lambda row: custom.workloads[row.number].custom is None):
        workload = custom.workloads[row.number]
        other = known.pop(_name(workload), None)
        if other is None and workload.custom is None:
            continue
        if other is None:
            words = f"{workload} stands for {' '.join(_name(workload))}, which is not among the plain workloads"
            yield CardError(example.card, example.plain.line, words)
            continue
        for mine, theirs in zip(row.cells, other.cells, strict=True):
            own = example.own.get(mine.event)
            if own is None and _result(mine) != _result(theirs):
                words = f"{workload}, {mine.event}: {mine.text} ({mine.verdict}), not {theirs.text} ({theirs.verdict})"
                yield CardError(example.card, example.resource.line, words)
            elif own is not None and mine.verdict != own and _result(mine) != _result(theirs):
                words = f"{workload}, {mine.event}: {mine.text} ({mine.verdict}), not {own}"
                yield CardError(example.card, example.resource.line, words)
    for name in known:
        yield CardError(example.card, example.plain.line, f"the custom resource makes no {' '.join(name)}")


def _name(workload: Workload) -> tuple[str, str]:
    return workload.kind, f"{workload.namespace}/{workload.name}"


def _result(cell: Cell) -> tuple[object, ...]:
    return cell.verdict, cell.wanted, str(cell.bound), cell.stuck, cell.proven, cell.why
