"""``--changed``: read the whole set, and report only findings that are new, or in changed lines or documents."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from msgspec import Struct, field
from msgspec.structs import replace

from kubesched_lint.engine.base.identity import Itself
from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.engine.base.text import many, plural
from kubesched_lint.files import is_within
from kubesched_lint.findings import Finding, Report, Severity
from kubesched_lint.linter.options import ChangedError
from kubesched_lint.linter.reading.manifest_set import ManifestSet, ref_of
from kubesched_lint.linter.results.causes import number_of
from kubesched_lint.programs import NoWorkTreeError, ProgramError, WorkTree
from kubesched_lint.project.commits import HEAD, CommitError, how_to_complete, tree_of, where_left
from kubesched_lint.project.finding_changes import finding_changes
from kubesched_lint.sources.manifests.document import sources_of

_WHOLE = (1, 1 << 60)
_SUBMODULE = "160000"
"""Its mode."""

Lines = tuple[tuple[int, int], ...]
"""Ranges of lines, from 1, both ends included."""


class Changes(Struct, frozen=True, dict=True):
    """``lines``: real path → changed lines. ``roots``: real paths of the compared work trees."""

    base: str
    lines: Mapping[str, Lines]
    roots: tuple[str, ...]
    commits: tuple[tuple[str, str], ...] = ()
    """Each root with the commit that it is compared with."""
    lost: frozenset[str] = frozenset()
    """Real paths that were files or submodules, and are deleted, or another submodule."""
    moved: Mapping[str, str] = field(default_factory=dict)
    """Real path of a renamed file → the one that it had."""
    untracked: frozenset[str] = frozenset()
    """Real paths of new files that git does not track yet."""

    @cached_property
    def paths(self) -> frozenset[str]:
        """The real paths of everything that changed, old and new ones."""
        return frozenset((*self.lines, *self.lost, *self.moved, *self.moved.values()))

    def touches(self, path: str, first: int, last: int) -> bool:
        """Whether any line of a range changed; always True for a path outside the work trees (standard input)."""
        real = os.path.realpath(path)
        if not self.holds(real):
            return True
        return any(start <= last and first <= end for start, end in self.lines.get(real, ()))

    def holds(self, real: str) -> bool:
        """Whether a real path is in a compared work tree."""
        return any(is_within(real, root) for root in self.roots)

    def concerns(self, real: str) -> bool:
        """Whether a file or a folder, or something in it, changed."""
        return any(is_within(changed, real) for changed in self.paths)

    def former(self, real: str) -> Sequence[str]:
        """Return the real paths that a file or folder had, if it was renamed."""
        if real in self.moved:
            return (self.moved[real],)
        former_paths = set()
        for new, old in self.moved.items():
            rest = new.removeprefix(real) if is_within(new, real) else ""
            if rest and old.endswith(rest):
                former_paths.add(old.removesuffix(rest))
        return sorted(former_paths)


def only_changed(
    changes: Changes,
    report: Report,
    manifests: ManifestSet,
    namespace: str,
    before: Report | None = None,
    rolled: Collection[ObjectRef] = (),
) -> Report:
    """Return the report with the findings that are new against ``before``, and those that the change touches.

    It touches findings in changed lines, and all of an object whose document has one, or which is ``rolled`` out.
    A rollout that never ended before either, and that the change does not start, is a warning.
    ``namespace`` is the namespace of objects that have none. Without ``before``, nothing is new.
    """
    documents = _spans(manifests, namespace)
    changed = {
        ref
        for ref, places in documents.items()
        if any(changes.touches(path, first, last) for path, first, last in places)
    }
    new = set() if before is None else _new(before, report)
    touched = {
        Itself(f) for f in report.findings if f.object in changed or f.object in rolled or _is_touched(f, changes)
    }
    kept = tuple(f for f in report.findings if Itself(f) in touched or Itself(f) in new)
    afar = number_of(f for f in kept if Itself(f) in new - touched)
    if before is not None:
        kept = tuple(_latent(f) if _is_latent(f, rolled) and Itself(f) not in new else f for f in kept)
    open_ = [[f for f in findings if f.suppressed is None] for findings in (report.findings, kept)]
    hidden = number_of(open_[0]) - number_of(open_[1])
    since = "the last commit" if changes.base == HEAD else changes.base
    others = f"{hidden or 'no'} {plural(hidden, 'finding')} elsewhere"
    note = f"only what changed since {since} is reported; {others}{' not shown' if hidden else ''}"
    afar_note = f"{many(afar, 'finding')} {plural(afar, 'is', 'are')} new, on lines that did not change"
    notes = (*report.summary.notes, note, *([afar_note] if afar else []))
    return replace(report, findings=kept, summary=replace(report.summary, notes=notes))


def _is_latent(finding: Finding, rolled: Collection[ObjectRef]) -> bool:
    """Whether an error is about a rollout of an object that is not rolled out."""
    is_error = finding.severity is Severity.ERROR and finding.evidence.event == "rollout"
    return is_error and finding.object not in rolled


def _latent(finding: Finding) -> Finding:
    evidence = finding.evidence
    evidence = replace(evidence, assumes=(*evidence.assumes, "this change does not start the rollout"))
    return replace(finding, severity=Severity.WARNING, evidence=evidence)


def _new(before: Report, after: Report) -> set[Itself[Finding | None]]:
    """Return each open finding that is new or more severe."""
    return {Itself(change.after) for change in finding_changes(before, after).changes if change.is_more_severe}


def _spans(manifests: ManifestSet, namespace: str) -> dict[ObjectRef, list[tuple[str, int, int]]]:
    """The places of each object's documents: (path, first line, last line)."""
    places_of_objects: dict[ObjectRef, list[tuple[str, int, int]]] = {}
    for document in manifests.documents:
        span = document.span(()) if document.prefix else None
        lines = document.text.count("\n") + (not document.text.endswith("\n"))
        first = span.line if span else document.line
        last = span.end_line if span else document.line + max(lines - 1, 0)
        places = places_of_objects.setdefault(ref_of(document, namespace), [])
        places.append((document.path, first, last))
        for source in sources_of(document):
            span = source.span(())
            places.append((source.path, span.line, span.end_line))
    return places_of_objects


def _is_touched(finding: Finding, changes: Changes) -> bool:
    locations = (finding.location, *(related.location for related in finding.related))
    places = (place for location in locations for place in (location, location.near) if place is not None)
    return any(changes.touches(p.path, p.span.line, max(p.span.line, p.span.end_line)) for p in places)


# --- git ------------------------------------------------------------------------------------------------------------


def changes_since(base: str, paths: Sequence[str]) -> Changes:
    """Return the changes since the current branch left ``base``. Raises ChangedError."""
    try:
        trees = {tree.top: tree for tree in (tree_of(path) for path in paths if path != "-")}
        lines: dict[str, Lines] = {}
        lost: set[str] = set()
        moved: dict[str, str] = {}
        untracked: set[str] = set()
        commits = tuple((top, where_left(tree, base)) for top, tree in trees.items())
        for top, start in commits:
            lines.update(_differences(trees[top], start))
            _sort_out(trees[top], start, lost, moved)
            untracked.update(_untracked(trees[top]))
        lines.update((path, (_WHOLE,)) for path in untracked)
    except NoWorkTreeError as error:
        raise ChangedError(f"--changed: {error}, so changes are unknown") from None
    except (CommitError, ProgramError) as error:
        raise ChangedError(f"--changed: {error}") from None
    return Changes(base, lines, tuple(trees), commits, frozenset(lost), moved, frozenset(untracked))


def _differences(tree: WorkTree, start: str) -> Iterator[tuple[str, Lines]]:
    diff = _diff(
        *(tree, start, "--unified=0", "--no-color", "--no-ext-diff", "--no-textconv", "--text"),
        *("--ignore-submodules", "--diff-filter=d", "--src-prefix=a/", "--dst-prefix=b/"),
    )
    for path, lines in changed_lines(diff.split("\n")):
        yield _real(tree, path), lines


def _sort_out(tree: WorkTree, start: str, lost: set[str], moved: dict[str, str]) -> None:
    """Add what has no lines: deleted and renamed files, and submodules that are others, come or gone."""
    parts = iter(_diff(tree, start, "--raw", "-z", "--no-abbrev", "--ignore-submodules=dirty").split("\0"))
    for facts in parts:
        if not facts:
            continue
        was, becomes, *_, status = facts.removeprefix(":").split(" ")
        path = next(parts)
        if status.startswith("R"):
            moved[_real(tree, next(parts))] = _real(tree, path)
        elif status == "D" or _SUBMODULE in (was, becomes):
            lost.add(_real(tree, path))


def _diff(tree: WorkTree, start: str, *options: str) -> str:
    done = tree.git("diff", "--find-renames", *options, start, "--")
    if done.code:
        raise ChangedError(f"--changed: git diff failed in {tree.top}: {done.error.strip()}{how_to_complete(tree)}")
    return done.out.decode("utf-8", "surrogateescape")


def _real(tree: WorkTree, path: str) -> str:
    return os.path.realpath(os.path.join(tree.top, path))


def _untracked(tree: WorkTree) -> Iterator[str]:
    out = tree.git("ls-files", "--others", "--exclude-standard", "-z").out
    for name in out.decode("utf-8", "surrogateescape").split("\0"):
        if name.endswith("/"):  # a repository of its own, which is no submodule: git looks no further
            yield from _files_below(_real(tree, name))
        elif name:
            yield _real(tree, name)


def _files_below(folder: str) -> Iterator[str]:
    for path, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name != ".git"]
        yield from (os.path.realpath(os.path.join(path, name)) for name in files)


def changed_lines(diff: Iterable[str]) -> Iterator[tuple[str, Lines]]:
    """(path, changed lines) of each file in a unified diff without context.

    Where lines were only deleted, the lines before and after count as changed.
    """
    path, left = "", 0
    ranges: list[tuple[int, int]] = []
    for line in diff:
        if left:
            left -= not line.startswith("\\")
        elif line.startswith("+++ "):
            if path:
                yield path, tuple(ranges)
            path, ranges = _unquoted(line[4:]).removeprefix("b/"), []
        elif line.startswith("@@ "):
            old, new = line.split(" ")[1:3]
            first, count = _range(new)
            left = _range(old)[1] + count
            ranges.append((first, first + count - 1) if count else (first, first + 1))
    if path:
        yield path, tuple(ranges)


def _range(text: str) -> tuple[int, int]:
    first, comma, count = text[1:].partition(",")
    return int(first), int(count) if comma else 1


def _unquoted(name: str) -> str:
    """The real name; git writes special names as C strings, and appends a tab to names with spaces."""
    if not name.startswith('"'):
        return name.removesuffix("\t")
    raw = name.strip("\t")[1:-1].encode("utf-8", "surrogateescape")
    return raw.decode("unicode_escape").encode("latin-1").decode("utf-8", "surrogateescape")
