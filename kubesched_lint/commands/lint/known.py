"""The findings of a run that its baseline knows, and the entries that no longer occur."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.commands.lint.remarks import with_notes
from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.findings import Report
from kubesched_lint.linter.results.rule_results import numbered
from kubesched_lint.project.baseline import KnownFinding, gone_note, held_against


class Compared(Struct, frozen=True):
    """A report with its known findings marked, and what it says of the other entries of the baseline."""

    report: Report
    gone: tuple[KnownFinding, ...] = ()
    """Entries that the run could check and did not find."""
    absent: tuple[KnownFinding, ...] = ()
    """Entries of objects that the run did not read. Only if other targets share the file."""


def compared(
    report: Report,
    entries: Sequence[KnownFinding],
    source: str,
    ran: Collection[str],
    objects: Callable[[], Collection[ObjectRef]],
    *,
    is_shared: bool,
) -> Compared:
    """Return the report held against the entries of ``source``; with input errors, none counts as gone or absent.

    ``ran`` are the rules that ran; ``objects`` reads the manifests, so it is called only for unmatched entries. If
    targets share the file (``is_shared``), only all of them together can say what is gone.
    """
    held = held_against(report, entries, source=source, ran=() if report.errors else ran, objects=objects)
    marked = replace(held.report, findings=tuple(numbered(held.report.findings)))
    if not is_shared:
        return Compared(with_notes(marked, *gone_note(held.gone, source)), held.gone)
    there = objects() if held.unmatched and not report.errors else ()
    absent = () if report.errors else (entry for entry in held.unmatched if entry.object not in there)
    return Compared(marked, held.gone, tuple(absent))


def gone_from_all(
    outcomes: Sequence[tuple[Collection[KnownFinding], Collection[KnownFinding]]],
) -> tuple[KnownFinding, ...]:
    """Return the entries that are gone in one target, and gone or absent in every other: of their (gone, absent)."""
    gone = [Counter(gone_entries) for gone_entries, _ in outcomes]
    missing = [Counter((*gone_entries, *absent)) for gone_entries, absent in outcomes]
    most = {entry: max(counts[entry] for counts in gone) for counts in gone for entry in counts}
    left = Counter({entry: min(number, *(counts[entry] for counts in missing)) for entry, number in most.items()})
    return tuple(left.elements())
