"""What an audit finds: findings in sections, the most important first, and how the model agrees with kube-scheduler."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.explaining.pending import Tally, Waiting
from kubesched_lint.findings import Finding, Severity

PENDING, RETURN, DRAINS, LOSS, DRIFT, SKEW, RULES, GATED = (
    "pending",
    "cannot-return",
    "blocks-drains",
    "loss",
    "drift",
    "skew",
    "rules",
    "gated",
)
SECTIONS = {
    PENDING: "Waits for a node now",
    RETURN: "Could not be scheduled again",
    DRAINS: "Blocks drains",
    LOSS: "Would not survive a lost node or zone",
    DRIFT: "Runs where today's rules would not put it",
    SKEW: "Is uneven today",
    RULES: "What lint says of the running workloads",
    GATED: "Held back by scheduling gates",
}
"""Slug → title, the most important first."""
FACT, PROOF, WITNESS = "fact", "proof", "witness"


class AuditFinding(Struct, frozen=True, eq=False):
    """One thing that is wrong, about one object."""

    section: str
    severity: Severity
    object: ObjectRef
    message: str
    place: str = ""
    """The field to blame, in words: ``spec.template.spec.affinity of Deployment shop/web``."""
    evidence: str = FACT
    """FACT: the snapshot shows it. PROOF: by exact filters, in every order. WITNESS: in one run with exact scores."""
    pods: int = 0
    details: tuple[tuple[str, str], ...] = ()
    """(label, text)."""
    cause: str = ""
    """What several findings of a section have in common; the first stands for all."""
    rule: str = ""
    """The lint rule that names the cause."""
    role: str = ""
    """The key ``audit`` of the rule's card."""
    others: tuple[ObjectRef, ...] = ()
    """Further objects with the same cause."""

    @property
    def objects(self) -> tuple[ObjectRef, ...]:
        return (self.object, *self.others)


class Audit(Struct, frozen=True):
    """The result: ``findings`` in reading order."""

    findings: tuple[AuditFinding, ...] = ()
    waiting: tuple[Waiting, ...] = ()
    """Waiting pods whose messages differ from the model's, or may be older than the snapshot."""
    tally: Tally = Tally()
    cluster: str = ""
    workloads: int = 0
    pods: int = 0
    unfollowed: tuple[str, ...] = ()
    """What the audit did not look at, and why."""
    notes: tuple[str, ...] = ()

    def of(self, section: str) -> Iterator[AuditFinding]:
        return (finding for finding in self.findings if finding.section == section)

    def is_bad(self, fail_on: Severity | None) -> bool:
        """Return whether something of at least this severity was found; never for None."""
        return fail_on is not None and any(finding.severity >= fail_on for finding in self.findings)


def in_order(findings: Iterable[AuditFinding]) -> Iterator[AuditFinding]:
    """Yield findings by section, severity and number of pods."""
    sections = list(SECTIONS)
    yield from sorted(
        findings, key=lambda f: (sections.index(f.section), -f.severity, -f.pods, str(f.object), f.message)
    )


def one_per_cause(findings: Iterable[AuditFinding]) -> Iterator[AuditFinding]:
    """Yield findings in order; of those of a section with one cause, the first, which names the other objects."""
    kept: dict[object, AuditFinding] = {}
    for finding in in_order(findings):
        key = (finding.section, finding.cause) if finding.cause else finding
        first = kept.get(key)
        if first is None:
            kept[key] = finding
        elif finding.object not in first.objects:
            kept[key] = replace(first, others=(*first.others, finding.object), pods=first.pods + finding.pods)
    yield from kept.values()


def place_of(finding: Finding) -> str:
    """Return the place of a finding of lint: words, or the line of a sketch."""
    location = finding.location
    return f"{location.path}:{location.span.line}" if location.span.line else location.path
