"""The remedies that the fixes of rules propose for findings, and each as an edit of a file."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.commands.fix.workspace import Workspace
from kubesched_lint.engine.base.places import Location, ObjectRef, Path, Span
from kubesched_lint.engine.base.text import joined
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.explaining.remedies.remedy import Remedy, is_fixed
from kubesched_lint.findings import Edit, Finding, Fix
from kubesched_lint.linter.results.proposed import proposed, source_of
from kubesched_lint.linter.results.rule_results import RuleResult
from kubesched_lint.sources.manifests.changes import Put, Remove, Rename
from kubesched_lint.sources.manifests.document import Document
from kubesched_lint.sources.manifests.yaml.full_reader import place_of
from kubesched_lint.sources.manifests.yaml.split import text_of

_STRATEGIES = (("spec", "strategy"), ("spec", "updateStrategy"))


Subject = tuple[str, ObjectRef]
"""(rule, object) of a finding, which stays the same when lines move."""
Placed = tuple[str, Location, str]
"""(rule, location, message) of a finding in the files as they were read."""


def subject_of(finding: Finding) -> Subject:
    return finding.rule, finding.object


def placed(finding: Finding) -> Placed:
    return finding.rule, finding.location, finding.message


class Proposal(Struct, frozen=True):
    """A remedy for a finding, and the object that it changes: document ``number`` of the file ``path``."""

    judged: RuleResult
    remedy: Remedy
    path: str
    number: int

    @property
    def key(self) -> tuple[Subject, Path, str]:
        return key_of(self.judged, self.remedy)

    @property
    def edit(self) -> tuple[str, int, str]:
        """What is changed and how; the values of changes are mappings, too, so they are compared as text."""
        return self.path, self.number, repr(self.remedy.changes)

    @property
    def shifts(self) -> bool:
        """Whether this remedy may change the meaning of paths in other remedies."""
        return any(isinstance(change, Remove) for change in self.remedy.changes)

    def made(self, workspace: Workspace) -> Workspace:
        """Return the workspace with the changes. Raises ChangeError."""
        return workspace.changed(self.path, self.number, self.remedy.changes)

    def size(self, workspace: Workspace) -> int:
        """Return the number of bytes that its changes read."""
        open_file = workspace.open_files[self.path]
        return 0 if open_file is None else len(open_file.data) * len(self.remedy.changes)


def rank(remedy: Remedy) -> tuple[bool, bool]:
    """Return a sort key: rollout strategies last, corrected values and keys before additions and removals."""
    is_strategy = all(change.at[:2] in _STRATEGIES for change in remedy.changes)
    return is_strategy, not all(isinstance(change, Put | Rename) for change in remedy.changes)


def key_of(judged: RuleResult, remedy: Remedy) -> tuple[Subject, Path, str]:
    return subject_of(judged.finding), judged.hazard.at, remedy.title


def remedies(judged: RuleResult, scenario: Scenario) -> Iterator[Remedy]:
    """Yield the remedies that the rule's fix proposes, the best first; one that the API server may refuse is unsafe."""
    for remedy in proposed(judged, scenario):
        source = remedy.source or source_of(judged)
        kind = source.kind if isinstance(source, Document) else ""
        if not remedy.is_new and any(is_fixed(kind, change) for change in remedy.changes):
            words = f"{remedy.title} (the API server refuses this for an existing {kind}: delete that one first)"
            yield replace(remedy, title=words, safe=False)
        else:
            yield remedy


def by_hand(remedy: Remedy, document: Document) -> str:
    """Return the change that a person must make in the sources of a rendered document, and where."""
    locations = (document.location(change.at) for change in remedy.changes)
    places = dict.fromkeys(place.near or place for place in locations)
    where = joined([f"{place.path}:{place.span.line}" for place in places])
    is_filled = any(document.is_filled_at(change.at) for change in remedy.changes)
    return f"{'a variable is filled in' if is_filled else 'a tool rendered it'}; in {where}, {remedy.title}"


def fix_of(proposal: Proposal, before: Workspace, after: Workspace) -> Fix | None:
    """Return the fix for the report; None if the file was changed before, because the report's lines have moved."""
    open_file, made = before.open_files[proposal.path], after.open_files[proposal.path]
    if open_file is None or made is None or open_file.data != open_file.first:
        return None
    old, new = text_of(open_file.path, open_file.data), text_of(open_file.path, made.data)
    assert isinstance(old, str)
    assert isinstance(new, str)
    head = _alike(old, new)
    tail = _alike(old[head:][::-1], new[head:][::-1])
    span = Span(*place_of(old, head), *place_of(old, len(old) - tail))
    return Fix(proposal.remedy.title, proposal.remedy.safe, (Edit(open_file.path, span, new[head : len(new) - tail]),))


def _alike(text: str, other: str) -> int:
    """Return the number of characters that the beginnings of two texts share."""
    pairs = enumerate(zip(text, other, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(text), len(other)))
