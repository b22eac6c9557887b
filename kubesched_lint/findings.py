"""What a rule says and what a report shows: severities, evidence, hazards, places and findings.

The lowest layer: it knows nothing of Kubernetes, so that everything above may speak of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import IntEnum
from typing import Protocol

from kubesched_lint.record import frozen_record, record

Path = tuple[str | int, ...]
"""Where a value sits inside its object: keys and list indexes from the root, ``("spec", "replicas")``."""


class Severity(IntEnum):
    """Ordered, so that ``finding.severity >= fail_on`` reads as it sounds."""

    NOTE = 1
    WARNING = 2
    ERROR = 3

    @property
    def word(self) -> str:
        return self.name.lower()


@frozen_record
class Evidence:
    """Why we believe a hazard.

    ``proof`` holds for every order in which the scheduler may act; ``witness`` is one concrete order that ends
    badly; ``pattern`` is text alone. ``policy`` says nothing of the scheduler: somebody's own rule asks for it, which
    no shipped rule does. Only a proof or a policy may back an error.
    """

    kind: str
    text: str = ""
    """One line with the numbers: ``demand 6 > supply 3 zones (eu-west-1a, eu-west-1b, eu-west-1c)``."""
    demand: int | None = None
    supply: int | None = None
    assumes: tuple[str, ...] = ()
    """The premises on which it stands, as sentences."""
    trace: tuple[str, ...] = ()
    """For a witness: the events in order."""
    event: str = "deploy"
    """What ends badly: a column of the matrix that ``simulate`` shows, ``deploy`` or ``rollout``."""


def proof(
    text: str,
    *,
    demand: int | None = None,
    supply: int | None = None,
    assumes: tuple[str, ...] = (),
    event: str = "deploy",
) -> Evidence:
    return Evidence("proof", text, demand, supply, assumes, event=event)


def witness(text: str, *, trace: tuple[str, ...] = (), assumes: tuple[str, ...] = ()) -> Evidence:
    return Evidence("witness", text, assumes=assumes, trace=trace)


def pattern(text: str = "", *, assumes: tuple[str, ...] = ()) -> Evidence:
    return Evidence("pattern", text, assumes=assumes)


def policy(text: str = "") -> Evidence:
    return Evidence("policy", text)


@frozen_record
class Span:
    """Lines and columns count from 1, columns in code points; the end is exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int

    def __lt__(self, other: Span) -> bool:
        return (self.line, self.column, self.end_line, self.end_column) < (
            other.line,
            other.column,
            other.end_line,
            other.end_column,
        )


@frozen_record
class Location:
    """``near`` is for a text that was rendered, where no line of a file is known to have become ``span``."""

    path: str
    span: Span
    near: Location | None = None
    """The place in a file that is closest to what was rendered here: reports that annotate files point to it."""


class Source(Protocol):
    """The text an object came from: answers where each of its values stands."""

    @property
    def path(self) -> str: ...

    def span(self, path: Path, *, key: bool = False) -> Span:
        """The span of the value at ``path`` (of its key with ``key``); of the nearest parent that exists, if absent."""
        ...


@frozen_record
class ObjectRef:
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


@record
class Place:
    """A place that a check points to: a path inside an object. ``source`` None is the object under check."""

    at: Path
    label: str = ""
    source: Source | None = None
    owner: ObjectRef | None = None


@frozen_record
class Edit:
    """Replace the text of ``span`` in ``path`` by ``text``; an empty span inserts."""

    path: str
    span: Span
    text: str


@frozen_record
class Fix:
    title: str
    safe: bool
    edits: tuple[Edit, ...] = ()


@record
class Hazard:
    """What a check yields: facts and a place; the card has the words and the severity.

    ``values`` fill the card's message and help templates. ``severity`` may only lower or, with a proof, raise to what
    the card allows. ``at`` points into ``source`` (the object under check when None). ``victim`` is the object that
    suffers when that is not the object under check.
    """

    at: Path
    evidence: Evidence
    values: Mapping[str, object] = field(default_factory=dict)
    related: tuple[Place, ...] = ()
    severity: Severity | None = None
    source: Source | None = None
    victim: ObjectRef | None = None
    variant: str = ""
    """Selects ``message.<variant>`` and ``help.<variant>`` of a card that words several cases."""
    key: bool = False
    """Point at the key of ``at`` rather than at its value."""
    fixes: tuple[Fix, ...] = ()
    together: tuple[ObjectRef, ...] = ()
    """The objects whose pods the proof counts together; empty: those of the object under check alone."""


@frozen_record
class Related:
    location: Location
    label: str


@frozen_record
class Suppression:
    """Why a finding does not count: somebody waived it, or, when ``known``, a baseline holds it."""

    reason: str
    location: Location | None = None
    known: bool = False


@frozen_record
class Finding:
    """A judged and placed hazard: all that any report may show."""

    rule: str
    severity: Severity
    message: str
    help: str
    evidence: Evidence
    object: ObjectRef
    location: Location
    related: tuple[Related, ...] = ()
    fixes: tuple[Fix, ...] = ()
    suppressed: Suppression | None = None
    fingerprint: str = ""
    at: Path = ()
    """Where the finding points inside its object; baselines know it by that, whatever its line."""
    if_fixed: Severity | None = None
    """What it would be if no autoscaler made nodes; None where that makes no difference."""


@frozen_record
class InputError:
    """Something that could not be read or understood: one clear message with its place (0 when there is none)."""

    path: str
    message: str
    line: int = 0
    column: int = 0


def one_line(text: str) -> str:
    """A message, whatever the names hold that it quotes."""
    return text if text.isprintable() else " ".join(text.split())


class UncheckedError(Exception):
    """Raised by a check that cannot judge here; its text is the reason under which the rule counts as skipped."""


@frozen_record
class Skip:
    """A rule, or a document, that was not checked, and why."""

    rule: str
    reason: str
    cut: bool = False
    """The rule began, and what it had to look at goes beyond the work that a run may do."""


@frozen_record
class Summary:
    files: int = 0
    documents: int = 0
    workloads: int = 0
    unread_kinds: Mapping[str, int] = field(default_factory=dict)
    """Documents of kinds that are counted, not parsed."""
    cluster: str = ""
    """One sentence on the snapshot: what, how old, what it lacks; empty without one."""
    rules: int = 0
    """Rules that ran."""
    notes: tuple[str, ...] = ()
    """Further lines for the footer: skipped Helm sources and Kustomize patches, passing taints, premises."""
    unreadable_cluster: str = ""
    """The path of a cluster that was named and could not be read."""
    configuration: str = ""
    """Which configuration was in force, and what makes the gate weaker; empty where nothing does."""


@frozen_record
class Report:
    findings: tuple[Finding, ...] = ()
    skipped: tuple[Skip, ...] = ()
    errors: tuple[InputError, ...] = ()
    summary: Summary = field(default_factory=Summary)
