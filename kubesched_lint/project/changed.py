"""``--changed``: read the whole set, and report only findings in changed lines or documents."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence

from kubesched_lint.findings import Finding, ObjectRef, Report
from kubesched_lint.linter.options import ChangedError
from kubesched_lint.linter.reading import ManifestSet, ref_of
from kubesched_lint.manifests.document import sources_of
from kubesched_lint.programs import NoWorkTreeError, ProgramError, WorkTree
from kubesched_lint.project.commits import HEAD, CommitError, where_left
from kubesched_lint.record import Record, replace
from kubesched_lint.text import plural

_WHOLE = (1, 1 << 60)

Lines = tuple[tuple[int, int], ...]
"""Ranges of lines, from 1, both ends included."""


class Changes(Record):
    """``lines``: real path → changed lines. ``roots``: real paths of the compared work trees."""

    base: str
    lines: Mapping[str, Lines]
    roots: tuple[str, ...]

    def touches(self, path: str, first: int, last: int) -> bool:
        """Whether any line of a range changed; always True for a path outside the work trees (standard input)."""
        real = os.path.realpath(path)
        if not any(real.startswith(f"{root.rstrip(os.sep)}{os.sep}") for root in self.roots):
            return True
        return any(start <= last and first <= end for start, end in self.lines.get(real, ()))


def only_changed(changes: Changes, report: Report, manifests: ManifestSet, namespace: str) -> Report:
    """Return the report without findings whose places and whose objects' documents are unchanged.

    ``namespace`` is the namespace of objects that have none.
    """
    documents = _spans(manifests, namespace)
    changed = {
        ref
        for ref, places in documents.items()
        if any(changes.touches(path, first, last) for path, first, last in places)
    }
    kept = tuple(f for f in report.findings if f.object in changed or _is_touched(f, changes))
    hidden = sum(f.suppressed is None for f in report.findings) - sum(f.suppressed is None for f in kept)
    since = "the last commit" if changes.base == HEAD else changes.base
    others = f"{hidden or 'no'} {plural(hidden, 'finding')} elsewhere"
    note = f"only what changed since {since} is reported; {others}{' not shown' if hidden else ''}"
    notes = (*report.summary.notes, note)
    return replace(report, findings=kept, summary=replace(report.summary, notes=notes))


def _spans(manifests: ManifestSet, namespace: str) -> dict[ObjectRef, list[tuple[str, int, int]]]:
    """The places of each object's documents: (path, first line, last line)."""
    found: dict[ObjectRef, list[tuple[str, int, int]]] = {}
    for document in manifests.documents:
        span = document.span(()) if document.prefix else None
        lines = document.text.count("\n") + (not document.text.endswith("\n"))
        first = span.line if span else document.line
        last = span.end_line if span else document.line + max(lines - 1, 0)
        places = found.setdefault(ref_of(document, namespace), [])
        places.append((document.path, first, last))
        for source in sources_of(document):
            span = source.span(())
            places.append((source.path, span.line, span.end_line))
    return found


def _is_touched(finding: Finding, changes: Changes) -> bool:
    locations = (finding.location, *(related.location for related in finding.related))
    places = (place for location in locations for place in (location, location.near) if place is not None)
    return any(changes.touches(p.path, p.span.line, max(p.span.line, p.span.end_line)) for p in places)


# --- git ------------------------------------------------------------------------------------------------------------


def changes_since(base: str, paths: Sequence[str]) -> Changes:
    """Return the changes since the current branch left ``base``. Raises ChangedError."""
    try:
        trees = {tree.top: tree for tree in (WorkTree(path) for path in paths if path != "-")}
        lines: dict[str, Lines] = {}
        for tree in trees.values():
            start = where_left(tree, base)
            lines.update(_differences(tree, start))
            lines.update((path, (_WHOLE,)) for path in _untracked(tree))
    except NoWorkTreeError as error:
        raise ChangedError(f"--changed: {error}, so changes are unknown") from None
    except (CommitError, ProgramError) as error:
        raise ChangedError(f"--changed: {error}") from None
    return Changes(base, lines, tuple(trees))


def _differences(tree: WorkTree, start: str) -> Iterator[tuple[str, Lines]]:
    found = tree.git(
        *("diff", "--unified=0", "--no-color", "--no-ext-diff", "--no-textconv", "--text", "--find-renames"),
        *("--ignore-submodules", "--diff-filter=d", "--src-prefix=a/", "--dst-prefix=b/", start, "--"),
    )
    if found.code:
        raise ChangedError(f"--changed: git diff failed in {tree.top}: {found.error.strip()}")
    for path, lines in changed_lines(found.out.decode("utf-8", "surrogateescape").split("\n")):
        yield os.path.realpath(os.path.join(tree.top, path)), lines


def _untracked(tree: WorkTree) -> Iterator[str]:
    out = tree.git("ls-files", "--others", "--exclude-standard", "-z").out
    for name in out.decode("utf-8", "surrogateescape").split("\0"):
        if name:
            yield os.path.realpath(os.path.join(tree.top, name))


def changed_lines(diff: Iterable[str]) -> Iterator[tuple[str, Lines]]:
    """(path, changed lines) of each file in a unified diff without context.

    Where lines were only deleted, the lines before and after count as changed.
    """
    path, left = "", 0
    found: list[tuple[int, int]] = []
    for line in diff:
        if left:
            left -= not line.startswith("\\")
        elif line.startswith("+++ "):
            if path:
                yield path, tuple(found)
            path, found = _unquoted(line[4:]).removeprefix("b/"), []
        elif line.startswith("@@ "):
            old, new = line.split(" ")[1:3]
            first, count = _range(new)
            left = _range(old)[1] + count
            found.append((first, first + count - 1) if count else (first, first + 1))
    if path:
        yield path, tuple(found)


def _range(text: str) -> tuple[int, int]:
    first, comma, count = text[1:].partition(",")
    return int(first), int(count) if comma else 1


def _unquoted(name: str) -> str:
    """The real name; git writes special names as C strings, and appends a tab to names with spaces."""
    if not name.startswith('"'):
        return name.removesuffix("\t")
    raw = name.strip("\t")[1:-1].encode("utf-8", "surrogateescape")
    return raw.decode("unicode_escape").encode("latin-1").decode("utf-8", "surrogateescape")
