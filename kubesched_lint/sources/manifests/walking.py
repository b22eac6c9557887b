"""Walk a folder: which files it holds, and what is not read of it."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import islice

from msgspec import Struct

from kubesched_lint.engine.base.limits import LONGEST_REASON
from kubesched_lint.files import UnreadableError, content, is_within, leaving, root_of
from kubesched_lint.findings import InputError
from kubesched_lint.limits import LARGEST_SETTINGS
from kubesched_lint.sources.manifests.document import CHART, Skipped
from kubesched_lint.sources.manifests.inputs import KUSTOMIZATIONS, LARGEST, SUFFIXES
from kubesched_lint.sources.manifests.limits import MOST_DEPTH, MOST_LOOKED_AT
from kubesched_lint.sources.manifests.recognizing.classify import has_actions, is_template_source
from kubesched_lint.sources.manifests.recognizing.meant import LeftOut, is_assert, is_case, reason_of

_OF_CHARTS = ("Chart.yaml", "values.yaml")
SUBMODULE = "submodule"
_MODULES = ".gitmodules"


class Found(Struct, frozen=True):
    """A file to read. ``real`` is its path without links; ``left_out`` is set if nobody applies it with the others."""

    path: str
    real: str
    beside: bool = False
    left_out: LeftOut | None = None


def why_unreadable(error: OSError | ValueError) -> str:
    match error:
        case FileNotFoundError():
            return "no such file or folder"
        case PermissionError():
            return "permission denied"
        case UnreadableError():
            return error.strerror or ""
        case OSError():
            return (error.strerror or str(error)).lower()
    return str(error)


class Walk(Struct, frozen=True):
    """A walk below the folder that the user named. Links must not leave ``root``."""

    named: str
    root: str
    is_excluded: Callable[[str], bool] | None = None
    by_name: bool = True
    """Whether folders of tests are left out."""

    def below(self, folder: str, real: str, left_out: LeftOut | None = None) -> Iterator[Found | InputError | Skipped]:
        """Yield what a folder holds; only its files if it is left out. ``real`` is its path without links."""
        if real.count(os.sep) > self.root.count(os.sep) + MOST_DEPTH:
            yield InputError(folder[:LONGEST_REASON], f"not read: it lies more than {MOST_DEPTH} folders deep")
            return
        try:
            with os.scandir(folder) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError as error:
            if left_out is None:
                yield InputError(folder, why_unreadable(error))
            return
        if not entries and left_out is None and _is_submodule(real):
            words = "a submodule that is not checked out (git submodule update --init)"
            yield Skipped(folder, 0, words, unrendered=SUBMODULE)
        names = {entry.name for entry in entries}
        if left_out is None and "Chart.yaml" in names and "templates" not in names:
            yield Skipped(folder, 0, _unrendered_chart(folder), unrendered=CHART)
        if self._is_case(folder, names):
            left_out = left_out or LeftOut(folder, real, "a test of kuttl or Chainsaw")
        beside = not names.isdisjoint(KUSTOMIZATIONS)
        is_real = folder == real  # usual for an absolute path; then both are one string, which takes half the memory
        for entry in entries:
            if self.is_excluded is None or not self.is_excluded(entry.path):
                at = entry.path if is_real else f"{real}{os.sep}{entry.name}"
                for item in self._entry(entry, at, names, beside, left_out):
                    if left_out is None or isinstance(item, Found):
                        yield item

    def _is_case(self, folder: str, names: Iterable[str]) -> bool:
        return self.by_name and folder != self.named and is_case(names)

    def _entry(
        self, entry: os.DirEntry[str], real: str, names: Collection[str], beside: bool, left_out: LeftOut | None
    ) -> Iterator[Found | InputError | Skipped]:
        """Yield one entry of a folder with these ``names``, or what is in it if it is a folder.

        ``beside``: a kustomization is among the names.
        """
        path, name = entry.path, entry.name
        is_chart = "Chart.yaml" in names
        if self.by_name and left_out is None and is_assert(name):
            left_out = LeftOut(os.path.dirname(path), os.path.dirname(real), "asserts of tests", is_each=True)
        if entry.is_symlink():
            yield from _linked(path, os.path.dirname(real), self.root, beside, left_out)
        elif entry.is_dir(follow_symlinks=False):
            yield from self._folder(path, real, is_chart, left_out)
        elif name.endswith(SUFFIXES) and not (is_chart and name in _OF_CHARTS):
            yield Found(path, real, beside, left_out)

    def _folder(
        self, path: str, real: str, in_chart: bool, left_out: LeftOut | None
    ) -> Iterator[Found | InputError | Skipped]:
        above, name = os.path.split(real)
        if in_chart and name == "templates":
            yield Skipped(path, 0, _unrendered_chart(os.path.dirname(path)), unrendered=CHART)
        elif name.startswith("."):
            if name != ".git" and holds_manifests(_manifests_in(path, 2)):
                yield Skipped(path, 0, "a folder whose name begins with a dot: it holds manifests; name it to read it")
        elif in_chart and name == "charts":
            return
        elif left_out is None and self.by_name and name == "templates" and _holds_templates(path):
            reason = "templates are not manifests before they are rendered: lint what they become"
            yield Skipped(path, 0, reason, unrendered="template folder")
            yield from (item for item in self.below(path, real) if not _is_template(item))
        else:
            reason = reason_of(name, above) if left_out is None and self.by_name else ""
            yield from self.below(path, real, LeftOut(path, real, reason) if reason else left_out)


def holds_manifests(paths: Iterable[str]) -> bool:
    """Return whether one of the first files is a Kubernetes object."""
    return any(b"apiVersion:" in start and b"kind:" in start for start in _starts(paths))


def _holds_templates(folder: str) -> bool:
    """Return whether one of the first files in a folder is a template of Helm, Go or Jinja."""
    return any(map(is_template_source, _starts(_manifests_in(folder, 0))))


def _is_template(item: Found | InputError | Skipped) -> bool:
    """Return whether a file in a folder of templates has anything to fill in."""
    if not isinstance(item, Found):
        return False
    try:
        return has_actions(content(item.real, LARGEST))
    except OSError:
        return False  # whoever reads it reports the error


def _is_submodule(real: str) -> bool:
    """Return whether the repository around an empty folder has a submodule there."""
    root = root_of(os.path.dirname(real))
    try:
        modules = content(os.path.join(root, _MODULES), LARGEST_SETTINGS, root=root).decode("utf-8", "replace")
    except OSError:
        return False
    fields = (line.partition("=") for line in modules.split("\n"))
    paths = (value.strip().strip("\"'") for key, _, value in fields if key.strip() == "path")
    return any(os.path.join(root, path) == real for path in paths)


def _starts(paths: Iterable[str]) -> Iterator[bytes]:
    """Yield the first bytes of the first readable files."""
    for path in islice(paths, MOST_LOOKED_AT):
        try:
            yield content(path, 4096)
        except OSError:
            continue


def _manifests_in(folder: str, depth: int) -> Iterator[str]:
    try:
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if entry.is_file(follow_symlinks=False) and entry.name.endswith(SUFFIXES):
            yield entry.path
        elif depth and entry.is_dir(follow_symlinks=False):
            yield from _manifests_in(entry.path, depth - 1)


def _unrendered_chart(folder: str) -> str:
    from shutil import which  # most folders hold no chart

    hint = f"helm template {folder} | kubesched-lint lint -"
    why = "" if which("helm") else " (helm is not on PATH)"
    return f"Helm chart templates are not manifests before they are rendered{why}: {hint}"


def _linked(
    path: str, folder: str, root: str, beside: bool, left_out: LeftOut | None
) -> Iterator[Found | InputError | Skipped]:
    """Yield the file behind a link. ``folder`` is the real path of the folder that holds the link."""
    real = os.path.realpath(path)
    is_manifest = path.endswith(SUFFIXES)
    try:
        is_folder = stat.S_ISDIR(os.stat(real).st_mode)
    except OSError as error:
        is_folder = False
        is_manifest = is_manifest or not isinstance(error, FileNotFoundError)
    if not is_folder:
        if is_manifest:
            yield Found(path, real, beside, left_out) if is_within(real, root) else InputError(path, leaving(root))
    elif f"{folder}{os.sep}".startswith(f"{real.rstrip(os.sep)}{os.sep}"):
        yield InputError(path, "a link to a folder that it lies in: following it would never end")
    else:
        yield Skipped(path, 0, "a link to a folder: like kubectl, only followed when it is named")
