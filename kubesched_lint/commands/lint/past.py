"""The run over the files before a change: whether it is needed, and what it says."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import chdir
from typing import TypeVar

from msgspec.structs import replace

from kubesched_lint.commands.lint.remarks import with_notes
from kubesched_lint.commands.lint.request import Before, Past, Request
from kubesched_lint.engine.base.text import many
from kubesched_lint.engine.scenario.former import rolled_out
from kubesched_lint.files import is_within
from kubesched_lint.findings import InputError, Report
from kubesched_lint.linter.options import BaselineError, Options
from kubesched_lint.linter.reading.manifest_set import ManifestSet
from kubesched_lint.project.changed import Changes, only_changed
from kubesched_lint.project.commits import as_relative
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.sources.manifests.inputs import SUFFIXES, InputFile
from kubesched_lint.sources.manifests.walking import SUBMODULE

T = TypeVar("T")


def past_run(
    before: Before, request: Request, files: Sequence[object], run: Callable[[Request, Options, Rulebook], T]
) -> T | None:
    """Return what ``run`` says in the copy; None if no change can matter. ``files`` are those that are read today."""
    past = before.past
    if past is None or not _matters(before.changes, past, request, files):
        return None
    _put_ignored(before.changes, past, files)
    with chdir(past.folder):
        there = tuple(path for path in past.request.paths if os.path.lexists(path))
        asked = replace(past.request, paths=there)
        try:
            return run(asked, past.options, past.rulebook)
        except BaselineError:  # it was damaged then: nothing was known
            return run(replace(asked, baseline=None), past.options, past.rulebook)


def reported(
    report: Report, then: Report | None, manifests: ManifestSet, namespace: str, before: Before, changes: Changes
) -> Report:
    """Return the report with what is new against ``then`` or touched by the change; None if no change can matter."""
    if then is None or before.past is None:
        return only_changed(changes, report, manifests, namespace)
    rolled = rolled_out(manifests.inventory.workloads, manifests.before.workloads if manifests.before else ())
    report = only_changed(changes, report, manifests, namespace, then, rolled)
    notes = [*before.past.notes]
    if then.errors:
        since = many(len(then.errors), "file or input", "files or inputs")
        notes.append(f"{since} of {changes.base} could not be read: what is found there counts as new")
    report = replace(report, errors=(*report.errors, *_unread_submodules(manifests, changes)))
    return with_notes(report, *notes)


def _unread_submodules(manifests: ManifestSet, changes: Changes) -> Iterator[InputError]:
    """Yield an error for each submodule that the change brings or moves and that is not here: nobody judged it."""
    for skipped in manifests.skipped:
        if skipped.unrendered == SUBMODULE and os.path.realpath(skipped.path) in changes.lost:
            yield InputError(skipped.path, f"the change brings {skipped.reason}")


def _matters(changes: Changes, past: Past, request: Request, files: Iterable[object]) -> bool:
    """Whether a change may decide about findings: of manifests, of what judges them, or if anything is rendered."""
    if any(isinstance(file, InputFile) and file.rendering is not None for file in files):
        return True
    paths = [os.path.realpath(path) for path in request.paths if path != "-"]
    paths += [old for path in paths for old in changes.former(path)]

    def is_manifest(changed: str) -> bool:
        return changed in paths or (_may_be_read(changed, changes) and any(is_within(changed, path) for path in paths))

    return any(is_manifest(path) for path in changes.paths) or any(map(changes.concerns, past.reads))


def _may_be_read(path: str, changes: Changes) -> bool:
    """Whether it is a manifest or a link by its name, or a submodule."""
    name = os.path.basename(path)
    return name.endswith(SUFFIXES) or "." not in name or path in changes.lost


def _put_ignored(changes: Changes, past: Past, files: Iterable[object]) -> None:
    """Copy the files that git ignores: nobody knows others than those of today."""
    top = past.folder.removesuffix(os.path.realpath(os.curdir))  # of the copy
    for file in files:
        if isinstance(file, InputFile) and file.rendering is None and _is_ignored(file.path, changes):
            place = os.path.join(past.folder, as_relative(file.path))
            if not os.path.lexists(place) and is_within(os.path.realpath(place), top):
                os.makedirs(os.path.dirname(place), exist_ok=True)
                shutil.copyfile(file.path, place)


def _is_ignored(path: str, changes: Changes) -> bool:
    """Whether a file that is not in the commit has come without git, and not with a submodule."""
    real = os.path.realpath(path)
    is_there = os.path.lexists(path) and changes.holds(real)
    return is_there and real not in changes.paths and not any(is_within(real, submodule) for submodule in changes.lost)
