"""The data of rules and reports: severities, evidence, hazards, places and findings.

Reports and everything between them and the engine share it. It decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum

from msgspec import Struct, field

from kubesched_lint.engine.base.places import Location, ObjectRef, Path, Source, Span
from kubesched_lint.engine.base.text import first_few, many, not_read
from kubesched_lint.engine.scenario.settings.not_read import Release
from kubesched_lint.notebook import Shown


class Severity(IntEnum):
    """Ordered, so that ``finding.severity >= fail_on`` works."""

    NOTE = 1
    WARNING = 2
    ERROR = 3

    @property
    def word(self) -> str:
        return self.name.lower()


class Evidence(Struct, frozen=True):
    """The reason to believe a hazard.

    ``proof`` holds for every order in which the scheduler may act; ``witness`` is one concrete order that ends badly;
    ``pattern`` is text alone. ``policy`` is a requirement of a user's own rule, not of the scheduler; no shipped rule
    uses it. Only a proof or a policy may support an error.
    """

    kind: str
    text: str = ""
    """One line with the numbers: ``demand 6 > supply 3 zones (eu-west-1a, eu-west-1b, eu-west-1c)``."""
    demand: int | None = None
    supply: int | None = None
    assumes: tuple[str, ...] = ()
    """The assumptions of the evidence, as sentences."""
    trace: tuple[str, ...] = ()
    """For a witness: the events in order."""
    event: str = "deploy"
    """The event that ends badly: a column of the ``simulate`` matrix, such as ``deploy`` or ``rollout``."""


def proof(
    text: str,
    *,
    demand: int | None = None,
    supply: int | None = None,
    assumes: tuple[str, ...] = (),
    event: str = "deploy",
) -> Evidence:
    """Return evidence that holds for every order in which the scheduler may act."""
    return Evidence("proof", text, demand, supply, assumes, event=event)


def witness(text: str, *, trace: tuple[str, ...] = (), assumes: tuple[str, ...] = ()) -> Evidence:
    """Return evidence of one order of events that ends badly."""
    return Evidence("witness", text, assumes=assumes, trace=trace)


def pattern(text: str = "", *, assumes: tuple[str, ...] = ()) -> Evidence:
    """Return evidence from text alone."""
    return Evidence("pattern", text, assumes=assumes)


def policy(text: str = "") -> Evidence:
    """Return evidence for a rule of the user's own, which no scheduler enforces."""
    return Evidence("policy", text)


class Place(Struct, frozen=True):
    """A place that a check points to: a path inside an object. ``source`` None is the object under check."""

    at: Path
    label: str = ""
    source: Source | None = None
    owner: ObjectRef | None = None


class Edit(Struct, frozen=True):
    """Replace the text of ``span`` in ``path`` by ``text``; an empty span inserts."""

    path: str
    span: Span
    text: str


class Fix(Struct, frozen=True):
    """A change that makes a finding go away; ``safe`` if it takes no node from a pod that has one."""

    title: str
    safe: bool
    edits: tuple[Edit, ...] = ()


class Hazard(Struct, frozen=True):
    """The result of a check: facts and a place; the rule's card has the words and the severity.

    ``values`` fill the card's message and help templates. ``severity`` may only lower the card's severity or, with a
    proof, raise it to what the card allows. ``at`` points into ``source`` (the object under check if None). ``victim``
    is the object that suffers, if it is not the object under check.
    """

    at: Path
    evidence: Evidence
    values: Mapping[str, object] = field(default_factory=dict)
    related: tuple[Place, ...] = ()
    severity: Severity | None = None
    source: Source | None = None
    victim: ObjectRef | None = None
    variant: str = ""
    """Selects ``message.<variant>`` and ``help.<variant>`` of a card with texts for several cases."""
    key: bool = False
    """Point at the key of ``at`` rather than at its value."""
    fixes: tuple[Fix, ...] = ()
    together: tuple[ObjectRef, ...] = ()
    """The objects whose pods the proof counts together; empty: only the object under check."""
    after_binding: str = ""
    """How events begin of pods that get a node and fail there, which no cell of the matrix counts; empty: none do."""
    cause: str = ""
    """What one edit mends, if it is more than the line: a thing that the cluster lacks, or a removed version in a file.

    All findings of the rule with this text have one cause.
    """


class Related(Struct, frozen=True):
    """Another place that a finding is about, and what it has to do with it."""

    location: Location
    label: str


class Suppression(Struct, frozen=True):
    """Why a finding does not count: a user waived it, or, if ``known``, a baseline lists it."""

    reason: str
    location: Location | None = None
    known: bool = False
    until: str = ""
    """The last day on which it holds; empty: it has no end."""
    owner: str = ""
    """Who answers for it, ``@team``."""


class Finding(Struct, frozen=True):
    """A hazard with severity, message and location: everything that a report may show."""

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
    """The finding's path inside its object; baselines identify it by that, whatever its line."""
    if_fixed: Severity | None = None
    """Its severity if no autoscaler made nodes; None if that makes no difference."""
    if_complete: Severity | None = None
    """Its severity if there were no node groups besides those that are known; None if that makes no difference."""
    preview: bool = False
    """Whether its rule is in preview: new, and at most a warning for now."""
    once_per_run: bool = False
    """Whether a reader sees one finding of its rule, with the places of the others."""
    also: tuple[Finding, ...] = ()
    """What else was found of the same cause, by other rules or at other places; no report counts these."""
    cause: str = ""
    """What one edit mends, if it is more than the line; see ``Hazard.cause``."""
    told_by: str = ""
    """The rule in preview with a finding of the same object that names the cause better; readers see them as one."""
    targets: tuple[str, ...] = ()
    """The targets that have it, in a run over several targets."""
    owner: str = ""
    """Who is to mend it: by CODEOWNERS, or ``namespace shop``; empty where nobody asked."""
    rendered: str = ""
    """The kustomization that renders its object, if the run renders several and ``location`` does not tell which."""

    @property
    def because(self) -> str:
        """What its message says after the colon: why it is so, without what happens; empty if it says only that."""
        return self.message.partition(": ")[2]


def errors_behind(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the errors at other places that findings explain.

    Who waives one error, or keeps it in a baseline, has not accepted another beside it.
    """
    return tuple(part for finding in findings for part in finding.also if _is_error_elsewhere(part, finding))


def _is_error_elsewhere(part: Finding, finding: Finding) -> bool:
    shared = min(len(part.at), len(finding.at))
    return part.severity is Severity.ERROR and part.at[:shared] != finding.at[:shared]


class InputError(Struct, frozen=True):
    """Something could not be read or understood: one message with its position (0 if there is none)."""

    path: str
    message: str
    line: int = 0
    column: int = 0
    rule: str = ""
    """The rule that finds the same in what can be read; empty if there is none."""
    is_refusal: bool = False
    """Whether the API server would refuse the object; the linter then fills in ``rule``."""

    @property
    def place(self) -> str:
        """``PATH:LINE:COLUMN``; the path alone if no line is known."""
        return f"{self.path}:{self.line}:{max(self.column, 1)}" if self.line else self.path


class Skip(Struct, frozen=True):
    """A rule, or a document, that was not checked, and why."""

    rule: str
    reason: str
    cut: bool = False
    """The rule began, and its input exceeds the work that a run may do."""


class LeftOut(Struct, frozen=True):
    """A folder or file of tests, copied code or a cluster, which nobody applies with the others."""

    path: str
    files: int
    reason: str


class EndingException(Struct, frozen=True, order=True):
    """A waiver or an entry of a baseline that has ended, or ends soon."""

    until: str
    rule: str
    object: str
    path: str
    line: int
    owner: str = ""
    has_ended: bool = False


class TargetSummary(Struct, frozen=True):
    """One target of a run over several: ``verdict`` counts its findings in words."""

    name: str
    cluster: str
    verdict: str


class Summary(Struct, frozen=True):
    """What a run read and how it was set up."""

    files: int = 0
    documents: int = 0
    workloads: int = 0
    unread_kinds: Mapping[str, int] = field(default_factory=dict)
    """Documents of kinds that are counted, not parsed."""
    cluster: str = ""
    """One sentence on the snapshot: source, age, what is missing; empty without a snapshot."""
    rules: int = 0
    """Rules that ran."""
    notes: tuple[str, ...] = ()
    """Further lines for the footer: skipped Helm sources and Kustomize patches, transient taints, assumptions."""
    unreadable_cluster: str = ""
    """The path of a cluster that the user named and that could not be read."""
    undecided: str = ""
    """What the user has to decide, such as whether the node groups are complete: one question per line, or empty."""
    configuration: str = ""
    """The active configuration, what makes the gate weaker, and what may do so; empty if nothing does."""
    environments: tuple[str, ...] = ()
    """The names of the folders that define the same workloads and are judged apart."""
    advice: str = ""
    """What the user may want to add to the command: a baseline that lists some of these findings."""
    proposes_fixes: bool = False
    """Whether the rule of some open finding proposes an edit of a file that no tool rendered."""
    left_out: tuple[LeftOut, ...] = ()
    targets: tuple[TargetSummary, ...] = ()
    exceptions: tuple[EndingException, ...] = ()
    """Exceptions that have ended, and those that end within a month."""
    unjudged: Mapping[str, int] = field(default_factory=dict)
    """What makes pods and was not judged, by kind: ``HelmRelease``, ``Helm chart``."""
    releases: tuple[Release, ...] = ()
    """All objects that install charts, read or not; those that were not read count in ``unjudged``, too."""

    shadow: bool = False
    """Whether the run exits with 0 whatever it finds: the configuration only tries the gate."""
    would_block: tuple[str, ...] = ()
    """In shadow: the fingerprints of the findings that would have failed the run."""

    @property
    def unread_releases(self) -> tuple[Release, ...]:
        return tuple(release for release in self.releases if release.why)

    @property
    def gaps(self) -> str:
        """``2 of 5 releases not read (cilium, loki); 1 Application was not read``; empty if everything was judged."""
        unread = self.unread_releases
        named = first_few([release.name for release in unread])
        parts = [f"{len(unread):,} of {many(len(self.releases), 'release')} not read ({named})"] if unread else []
        kinds = {release.kind for release in unread}
        others = {kind: count for kind, count in self.unjudged.items() if kind not in kinds}
        return "; ".join([*parts, *([not_read(others)] if others else [])])

    @property
    def questions(self) -> tuple[str, ...]:
        """The lines of ``undecided``."""
        return tuple(filter(None, self.undecided.split("\n")))


class Report(Shown, Struct, frozen=True):
    """The result of a run: ``findings``, ``skipped`` rules, and ``errors`` in the input."""

    findings: tuple[Finding, ...] = ()
    skipped: tuple[Skip, ...] = ()
    errors: tuple[InputError, ...] = ()
    summary: Summary = field(default_factory=Summary)
