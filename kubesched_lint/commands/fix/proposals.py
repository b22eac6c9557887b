"""What the fixes of rules propose for findings, and each proposal as an edit of a file."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.remedy import Remedy, is_fixed
from kubesched_lint.commands.fix.workspace import Workspace
from kubesched_lint.findings import Edit, Finding, Fix, Location, ObjectRef, Path, Source, Span
from kubesched_lint.linter.judged import Judged
from kubesched_lint.manifests.changes import Put, Remove, Rename
from kubesched_lint.manifests.document import Document
from kubesched_lint.manifests.split import text_of
from kubesched_lint.record import record, replace
from kubesched_lint.world.world import World

_PACE = (("spec", "strategy"), ("spec", "updateStrategy"))


Told = tuple[str, ObjectRef]
"""Rule and object of a finding: what survives moved lines."""
Placed = tuple[str, Location, str]
"""Rule, place and message of a finding in the files as they were read."""


def told(finding: Finding) -> Told:
    return finding.rule, finding.object


def placed(finding: Finding) -> Placed:
    return finding.rule, finding.location, finding.message


@record
class Proposal:
    """A remedy for a finding, and the object that it changes: document ``number`` of the file ``path``."""

    judged: Judged
    remedy: Remedy
    path: str
    number: int

    @property
    def key(self) -> tuple[Told, Path, str]:
        return key_of(self.judged, self.remedy)

    @property
    def shifts(self) -> bool:
        """Whether paths of other remedies may mean something else when this one is through."""
        return any(isinstance(change, Remove) for change in self.remedy.changes)

    def made(self, workspace: Workspace) -> Workspace:
        """The workspace with the change. Raises ChangeError."""
        return workspace.changed(self.path, self.number, self.remedy.changes)

    def size(self, workspace: Workspace) -> int:
        """How many bytes are read to make it."""
        sheet = workspace.sheets[self.path]
        return 0 if sheet is None else len(sheet.data) * len(self.remedy.changes)


def rank(remedy: Remedy) -> tuple[bool, bool]:
    paces = all(change.at[:2] in _PACE for change in remedy.changes)
    return paces, not all(isinstance(change, Put | Rename) for change in remedy.changes)


def key_of(judged: Judged, remedy: Remedy) -> tuple[Told, Path, str]:
    return told(judged.finding), judged.hazard.at, remedy.title


def remedies(judged: Judged, world: World) -> Iterator[Remedy]:
    """What the fix of its rule proposes for a finding, the best first; what the API server may refuse is not safe."""
    for remedy in _proposed(judged, world):
        source = remedy.source or source_of(judged)
        kind = source.kind if isinstance(source, Document) else ""
        if not remedy.is_new and any(is_fixed(kind, change) for change in remedy.changes):
            words = f"{remedy.title} (the API server refuses it for a {kind} that exists: delete that one first)"
            yield replace(remedy, title=words, safe=False)
        else:
            yield remedy


def _proposed(judged: Judged, world: World) -> Iterator[Remedy]:
    subjects = (judged.hazard.source, world) if judged.workload is None else (world.member(judged.workload),)
    for remedy in judged.rule.mend()(judged.hazard, *subjects):
        yield remedy if remedy.title else replace(remedy, title=judged.finding.help)


def source_of(judged: Judged) -> Source | None:
    return judged.hazard.source or (judged.workload.source if judged.workload else None)


def fix_of(proposal: Proposal, before: Workspace, after: Workspace) -> Fix | None:
    """As a report has it: None in a file that was changed before, whose lines are no longer those of the report."""
    sheet, made = before.sheets[proposal.path], after.sheets[proposal.path]
    if sheet is None or made is None or sheet.data != sheet.first:
        return None
    old, new = text_of(sheet.path, sheet.data), text_of(sheet.path, made.data)
    assert isinstance(old, str)
    assert isinstance(new, str)
    head = _alike(old, new)
    tail = _alike(old[head:][::-1], new[head:][::-1])
    span = Span(*_place(old, head), *_place(old, len(old) - tail))
    return Fix(proposal.remedy.title, proposal.remedy.safe, (Edit(sheet.path, span, new[head : len(new) - tail]),))


def _alike(one: str, other: str) -> int:
    """How many characters the beginnings of two texts share."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(one), len(other)))


def _place(text: str, at: int) -> tuple[int, int]:
    return 1 + text.count("\n", 0, at), at - text.rfind("\n", 0, at)
