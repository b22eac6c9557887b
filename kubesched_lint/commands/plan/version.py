"""One side of a plan, and what it could not read: nobody knows whether that is new, gone or the same."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.commands.plan.changes import CREATED, REMOVED, UNREAD, ObjectChange
from kubesched_lint.findings import InputError
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import ManifestSet
from kubesched_lint.sources.manifests.document import Unread


class Version(Struct, frozen=True):
    """One side of a plan: manifests, the options that they were read with, and the words for the side."""

    name: str
    manifests: ManifestSet
    options: Options
    submodules: tuple[str, ...] = ()
    """Folders whose files this side lacks, because they are in another repository."""
    root: str = os.curdir
    """The file or folder that takes the place of the other side's."""
    folder: str = os.curdir
    """The folder that its relative paths start from."""
    errors: tuple[InputError, ...] = ()
    """What else cannot be read."""

    @property
    def is_whole(self) -> bool:
        """Whether all files were read, so that what is absent is not there; charts count as parts of another set."""
        return not self.errors and not any(True for _ in self._unread)

    @property
    def _unread(self) -> Iterator[tuple[str, str, str]]:
        """Yield (file or folder, kind, why) of what is not read: all kinds if empty."""
        yield from ((path, "", "its submodule is not read") for path in self.submodules)
        yield from ((error.path, "", f"{error.path} cannot be read") for error in self.manifests.errors)
        yield from ((unread.path, unread.kind, "it cannot be read") for unread in self.manifests.unread if unread.why)

    def why_unread(self, at: str, kind: str) -> str:
        """Return why an object at a place below the root is not read here; empty if it would be."""
        unrendered = (
            (skipped.path, "", f"{skipped.path} is not read")
            for skipped in self.manifests.skipped
            if skipped.unrendered
        )
        unread_places = ((os.path.relpath(path, self.root), of, why) for path, of, why in (*self._unread, *unrendered))
        return next((why for path, of, why in unread_places if of in ("", kind) and _is_below(at, path)), "")


def check_not_empty(*versions: Version) -> None:
    """Raise ValueError if no version has an object: a path is wrong then, and no change would be no answer."""
    if all(version.manifests.is_empty for version in versions):
        raise ValueError("no Kubernetes object found: nothing was compared")


def as_far_as_read(change: ObjectChange, before: Version, after: Version) -> ObjectChange:
    """Return the change; what one side only seems to lack, because it was not read there, is UNREAD."""
    if change.location is None or change.actions not in ((CREATED,), (REMOVED,)):
        return change
    own, other, when = (after, before, "before") if change.actions == (CREATED,) else (before, after, "after")
    why = other.why_unread(os.path.relpath(change.location.path, own.root), change.object.kind)
    return replace(change, actions=(UNREAD,), remark=f"{why} {when} the change") if why else change


def changed_unread(before: ManifestSet, after: ManifestSet) -> Iterator[Unread]:
    """Yield what makes objects and is not read, such as a HelmRelease, if it is another one or gone afterwards."""
    old, new = ({unread.seen: unread for unread in side.delivering} for side in (before, after))
    come = [unread for seen, unread in new.items() if seen not in old]
    yield from come
    left = Counter(unread.kind for unread in come)
    for seen, unread in old.items():
        if seen not in new and not left[unread.kind]:
            yield unread
        elif seen not in new:
            left[unread.kind] -= 1  # it is what came


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder + os.sep)
