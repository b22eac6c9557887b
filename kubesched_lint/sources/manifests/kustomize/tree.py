"""Collect the files of a kustomization: each is read once, and each name is checked before a tool runs.

The tool gets a copy: the kustomizations as parsed here and the files as read here. So the tool never reads, fetches or
runs what this module did not understand.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from types import MappingProxyType
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.engine.base.placeholders import placeholder
from kubesched_lint.engine.base.places import Location, Path
from kubesched_lint.files import content, is_within, root_of
from kubesched_lint.findings import InputError
from kubesched_lint.limits import LARGEST_WHOLE
from kubesched_lint.sources.manifests.document import Skipped
from kubesched_lint.sources.manifests.flux import NO_FLUX, FluxRepository
from kubesched_lint.sources.manifests.inputs import KUSTOMIZATIONS, LARGEST
from kubesched_lint.sources.manifests.kustomize.copy import KustomizeTree
from kubesched_lint.sources.manifests.kustomize.fields import CHARTS, KUSTOMIZATION, PLUGIN_FOLDER, PLUGINS, Shape
from kubesched_lint.sources.manifests.limits import MOST_DEPTH, MOST_FILES, MOST_FOLDERS
from kubesched_lint.sources.manifests.recognizing.kustomization import (
    documents_of,
    is_address,
    is_empty,
    is_kustomization,
    is_like_address,
    text_to_read,
    value_of,
)
from kubesched_lint.sources.manifests.rendered.charts import Made
from kubesched_lint.sources.manifests.yaml.places import span_of

_CHART = "kubesched-lint-chart-"
"""Begins the names of the files that the copy has in place of charts."""
_NONE = "holds no kustomization"
_EMPTY = "that is empty, which kubectl refuses"
AS_IT_STANDS = "the files are read without rendering"
_FETCHED = (
    f"would have to be fetched from the network, which is never done: {AS_IT_STANDS}; to lint what is applied, render "
    "it yourself and pipe the result (kubectl kustomize FOLDER | kubesched-lint lint -)"
)
_RESTRICTED = "kubectl kustomize reads such files only with --load-restrictor LoadRestrictionsNone"
# Characters that go-yaml reads as a line end, or that YAML forbids.
_NOT_AS_IT_IS = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]")


Inflate = Callable[[Mapping[str, Any], Callable[[str], bytes | str]], Made]
"""Returns what an entry of ``helmCharts`` becomes; reads files by their names in it."""
NONE_GIVEN: Mapping[str, bytes] = MappingProxyType({})


class _Kustomization(Struct, frozen=True):
    path: str
    data: bytes
    value: dict[str, Any]
    made_for: Location | None = None
    """Flux makes it, because a Kustomization names its folder there, and ``data`` is of that file; else None."""


class Applier(Struct, frozen=True):
    """A Kustomization of Flux, or an Application of Argo CD: ``change`` adds its settings to the kustomization in its
    folder, whose real path it gets, too.

    ``named_at`` is the place that names the folder. ``is_flux``: a folder without a kustomization gets one, an empty
    one is no error, charts are not inflated, and links are not there.
    """

    name: str
    change: Callable[[dict[str, Any], str], dict[str, Any]]
    named_at: Location
    is_flux: bool = True


def tree_of(
    folder: str,
    flux: FluxRepository = NO_FLUX,
    given: Mapping[str, bytes] = NONE_GIVEN,
    inflate: Inflate | None = None,
) -> KustomizeTree | None:
    """Return the tree of the kustomization in ``folder``; None if there is none, or only a component.

    If Flux builds it, it may list any file of that repository, and none outside. ``given``: real path of a file → the
    bytes to take for those on the disk. ``inflate`` renders charts; without, a tree with charts is not built.
    """
    walk = _Walk(folder, flux.root if flux.builds(os.path.realpath(folder)) else "", given, inflate)
    kustomization = walk.kustomization(walk.tree.real)
    if isinstance(kustomization, str):
        return _broken(walk.tree, kustomization)
    if kustomization.value.get("kind") == "Component":
        return None
    if not walk.tree.root:
        walk.tree.again = partial(tree_of, folder, NO_FLUX, inflate=inflate)
    walk.add_components(flux.components(walk.tree.real))
    walk.run()
    return walk.tree


def tree_applied(
    folder: str, root: str, by: Applier, inflate: Inflate | None = None, given: Mapping[str, bytes] = NONE_GIVEN
) -> KustomizeTree:
    """Return the tree of a folder in the repository ``root`` as Flux builds it for a Kustomization.

    Without a kustomization in it, Flux makes one that lists the manifests in and below the folder. ``given`` as in
    ``tree_of``.
    """
    walk = _Walk(folder, root, given, inflate)
    walk.tree.applied_by, walk.is_flux = by.name, by.is_flux
    walk.tree.again = partial(tree_applied, folder, root, by, inflate)
    walk.begin(by)
    walk.run()
    return walk.tree


_HEAD = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"}
_NO_MANIFESTS = frozenset({".git", ".github", ".circleci", ".gitlab-ci.yml", ".sops.yaml", ".flux.yaml"})
"""Names that Flux's source-controller leaves out."""


def _listed_by_flux(real: str, below: str = "", depth: int = 0) -> Iterator[str]:
    """Yield what a kustomization lists that Flux makes for a folder without one."""
    if depth > MOST_DEPTH:
        return
    with os.scandir(os.path.join(real, below)) as listing:
        entries = sorted(listing, key=lambda entry: entry.name)
    for entry in entries:
        name = os.path.join(below, entry.name)
        if entry.name in _NO_MANIFESTS or entry.is_symlink():
            continue
        if entry.is_dir():
            yield from [name] if _kustomizations(entry.path) else _listed_by_flux(real, name, depth + 1)
        elif entry.name.endswith((".yaml", ".yml")):
            yield name


def _broken(tree: KustomizeTree, why: str) -> KustomizeTree | None:
    """Return a tree with an error if the kustomization is empty, or not the only one in its folder; else None."""
    paths = _kustomizations(tree.real)
    if len(paths) < 2 and _EMPTY not in why:
        return None
    tree.kustomizations, tree.is_lacking = {paths[0]: b""}, _EMPTY in why
    tree.obstacle = InputError(shown(paths[0], tree.folder), f"its folder {why}", 1, 1)
    return tree


def _kustomizations(folder: str) -> list[str]:
    return [path for name in KUSTOMIZATIONS if os.path.lexists(path := os.path.join(folder, name))]


def _repository_of(folder: str) -> str:
    """Return the root of the git repository, which no file may leave; empty outside a repository, where any base may be
    read.
    """
    try:
        root = root_of(folder)
    except OSError:
        return ""
    return root if root and os.path.lexists(os.path.join(root, ".git")) else ""


class _Walk:
    """Walk the folders in the order in which they are found."""

    def __init__(
        self, folder: str, root: str, given: Mapping[str, bytes] = NONE_GIVEN, inflate: Inflate | None = None
    ) -> None:
        self._given = given
        self.inflate = inflate
        self.is_flux = False
        self.tree = KustomizeTree(folder, root=root)
        self.waiting: list[tuple[str, Shape]] = [(self.tree.real, KUSTOMIZATION)]
        self._visited: set[tuple[str, Shape]] = set()
        self._listed: dict[str, list[str]] = {}
        """Folder → those that its kustomization lists, as often as it does."""
        self._found: dict[str, _Kustomization | str] = {}
        self._held = 0
        self._root = root or _repository_of(folder)

    def run(self) -> None:
        for real, shape in self.waiting:  # the list grows during the loop
            if (real, shape) in self._visited:
                continue
            self._visited.add((real, shape))
            known = self.kustomization(real)
            if not isinstance(known, _Kustomization):
                continue
            folder_walk = _Here(self, known, real)
            if len(self._visited) > MOST_FOLDERS:
                folder_walk.refuse(f"builds on more than {MOST_FOLDERS} folders", ())
                break
            value = shape(known.value, (), folder_walk)
            if not self.tree.folders:
                self.tree.value = value
            self.tree.folders.add(real)
            self.tree.fields.update(value or ())
            if charts := (value or {}).pop("helmCharts", None):
                value["resources"] = [*(value.get("resources") or ()), *charts]
            shown_path = os.path.realpath(known.made_for.path) if known.made_for else known.path
            self.tree.kustomizations[shown_path] = known.data
            self.tree.instead[known.path] = as_json(value)
        if self.tree.obstacle is None and self._is_built_too_often():
            words = f"builds on more than {MOST_FOLDERS:,} folders, each counted as often as it is listed"
            known = self.kustomization(self.tree.real)
            if isinstance(known, _Kustomization):
                _Here(self, known, self.tree.real).refuse(words, ())

    def lists(self, folder: str, other: str, shape: Shape) -> None:
        """Note that the kustomization of a folder lists another folder."""
        self._listed.setdefault(folder, []).append(other)
        self.waiting.append((other, shape))

    def _is_built_too_often(self) -> bool:
        """Whether Kustomize, which builds a folder anew wherever it is listed, would build too many; no circles."""
        left, count = [(self.tree.real, frozenset[str]())], 0
        while left and count <= MOST_FOLDERS:
            folder, above = left.pop()
            if folder not in above:
                count += 1
                left += [(other, above | {folder}) for other in self._listed.get(folder, ())]
        return count > MOST_FOLDERS

    def begin(self, by: Applier) -> None:
        """Put the settings of Flux into the walk's own kustomization, or into the one that Flux makes."""
        real = self.tree.real
        known = self.kustomization(real)
        if isinstance(known, str) and _EMPTY in known and by.is_flux:
            path = _kustomizations(real)[0]
            data = self.content(path)
            known = _Kustomization(path, data if isinstance(data, bytes) else b"", dict(_HEAD))
        if isinstance(known, str) and (known != _NONE or not by.is_flux):
            path = next(iter(_kustomizations(real)), os.path.join(real, KUSTOMIZATIONS[0]))
            self.tree.kustomizations = {path: b""}
            self.tree.obstacle = InputError(shown(path, self.tree.folder), f"its folder {known}", 1, 1)
            return
        if isinstance(known, str):
            data = self.content(os.path.realpath(by.named_at.path))
            listed = list(islice(_listed_by_flux(real), MOST_FILES + 1))
            path = os.path.join(real, KUSTOMIZATIONS[0])
            value = {**_HEAD, "resources": listed}
            known = _Kustomization(path, data if isinstance(data, bytes) else b"", value, by.named_at)
            if len(listed) > MOST_FILES:
                _Here(self, known, real).refuse(f"more than {MOST_FILES:,} files", ())
        value = by.change(known.value, real)
        if by.is_flux and not value.get("resources"):  # without anything else, kubectl would call it empty
            value = {
                **{key: field for key, field in value.items() if field != []},
                "buildMetadata": ["originAnnotations"],
            }
        self._found[real] = replace(known, value=value)

    def add_components(self, folders: Iterable[str]) -> None:
        """List further components in the walk's own kustomization, behind those that it lists: as Flux does."""
        real = self.tree.real
        known, further = self._found[real], [os.path.relpath(folder, real) for folder in folders]
        if isinstance(known, _Kustomization) and further:
            listed = known.value.get("components") or []
            both = [*listed, *further] if isinstance(listed, list) else listed
            self._found[real] = replace(known, value={**known.value, "components": both})

    def kustomization(self, real: str) -> _Kustomization | str:
        """Return the kustomization of a folder, or why there is none, as the end of a sentence about the folder."""
        if real not in self._found:
            self._found[real] = self._read_kustomization(real)
        return self._found[real]

    def _read_kustomization(self, real: str) -> _Kustomization | str:
        paths = _kustomizations(real)
        if not paths:
            return _NONE
        if len(paths) > 1:
            return f"holds more than one kustomization: {', '.join(map(os.path.basename, paths))}"
        data = self.content(paths[0])
        if isinstance(data, str):
            return f"has a {os.path.basename(paths[0])} that {data}"
        value = value_of(data)
        if value == {} or (value is None and is_empty(data)):
            return f"has a {os.path.basename(paths[0])} {_EMPTY}"
        if not is_kustomization(value):
            return f"has a {os.path.basename(paths[0])} that Kustomize cannot read"
        return _Kustomization(paths[0], data, value)

    def is_inside(self, real: str) -> bool:
        return not self._root or is_within(real, self._root)

    def content(self, path: str) -> bytes | str:
        """Return the bytes of a regular file in the repository; or why it is not read, as the end of a sentence that
        names it.
        """
        real = os.path.realpath(path)
        if not self.is_inside(real):
            return "is outside the repository, and is not read"
        try:
            data = self._given[real] if real in self._given else content(path, LARGEST, root=self._root)
        except OSError as error:
            return f"is not read: {(error.strerror or str(error)).lower()}"
        self._held += len(data)
        if len(data) > LARGEST:
            return f"is larger than {LARGEST // 1024**2} MiB"
        if self._held > LARGEST_WHOLE:
            return f"is not read: the files before it already hold {LARGEST_WHOLE // 1024**2} MiB"
        return data


class _Here:
    """Read what one kustomization names; record on the tree what prevents rendering.

    Errors in a plugin's settings point to ``report_at``, the entry that names them.
    """

    def __init__(self, walk: _Walk, known: _Kustomization, real: str, report_at: Path | None = None) -> None:
        self._walk = walk
        self._known = known
        self._real = real
        self._report_at = report_at

    def file(self, entry: str, where: Path) -> str:
        path = self._local(entry, where)
        if path is None or os.path.isdir(path):
            return entry  # the tool reports that it is a folder
        if not os.path.lexists(path):
            if self._report_at is not None:  # the tool may look for a plugin's file in another folder
                return entry
            self._lack(f"it lists {_short(entry)}, and there is no such file", entry, where)
            return entry
        real = os.path.realpath(path)
        if real not in self._walk.tree.files:
            data = self._walk.content(path)
            if isinstance(data, str):
                self.refuse(f"{_short(entry)} {data}", where)
                return entry
            self._walk.tree.files[real] = data
        if not is_within(real, self._real) and self._walk.tree.outside is None:
            words = f"it lists {_short(entry)}, which is not in or below its folder: {_RESTRICTED}"
            self._walk.tree.outside = InputError(self._shown, words, *self._place(where, False))
        return self._spelling(entry, real)

    def resource(self, entry: str, where: Path) -> str:
        return self._either(entry, where, self.file, KUSTOMIZATION)

    def folder(self, entry: str, where: Path) -> str:
        def file(entry: str, where: Path) -> str:
            self.refuse(f"{_short(entry)} is a file, and components are folders", where)
            return entry

        return self._either(entry, where, file, KUSTOMIZATION)

    def patch(self, entry: str, where: Path) -> str:
        if self._inline(entry, where) is not None:
            return _never_a_path(entry)
        return self.file(entry, where) if self._is_there(entry, where) else entry

    def plugin(self, entry: str, where: Path) -> str:
        documents = self._inline(entry, where)
        if documents is None:
            return self._either(entry, where, self._plugin_file, PLUGIN_FOLDER)
        self._check_plugins(documents, where)
        return _never_a_path(entry)

    def charts(self, value: Any, where: Path) -> list[str]:
        inflate = self._walk.inflate
        if inflate is None or not isinstance(value, list):
            if value and self._walk.is_flux:
                self.refuse(f"{CHARTS}, which Flux does not", where)
            elif value:
                self.skip(CHARTS, where)
            return []
        names: list[str] = []
        for number, entry in enumerate(value):
            at = (*where, number)
            made = inflate(entry if isinstance(entry, dict) else {}, partial(self._read, where=at))
            if made.is_refused:
                self._lack(made.why, "", at)
                break
            if made.why:
                self.skip(f"{CHARTS}, which is not rendered: {made.why}", at)
                break
            names.append(f"{_CHART}{number}.yaml")
            self._walk.tree.instead[os.path.join(self._real, names[-1])] = made.text
        return names

    def _read(self, entry: str, where: Path) -> bytes | str:
        path = self._local(entry, where)
        return "is not read" if path is None else self._walk.content(path)

    def _inline(self, entry: str, where: Path) -> list[dict[str, Any]] | None:
        """Return the objects written in place of a file name; None for a file name."""
        documents = documents_of(entry)
        if documents is None and "\n" in entry.strip():
            self.refuse("neither a path nor objects that can be read", where)
            return []
        return documents

    def _plugin_file(self, entry: str, where: Path) -> str:
        read = self.file(entry, where)
        real = os.path.normpath(os.path.join(self._real, read))
        documents = documents_of(text_to_read(self._walk.tree.files.get(real, b"")))
        if documents is None:
            self.refuse(f"{_short(entry)} does not hold the settings of a plugin", where)
        else:
            self._check_plugins(documents, where)
        return read

    def _check_plugins(self, documents: list[dict[str, Any]], where: Path) -> None:
        """Check the settings of plugins.

        Paths in them are relative to the kustomization; errors point to the entry ``where``.
        """
        inside = _Here(self._walk, self._known, self._real, where)
        for value in documents:
            kind = str(value.get("kind"))
            if value.get("apiVersion") == "builtin" and kind in PLUGINS:
                PLUGINS[kind](value, (), inside)
            else:
                self.skip(f"it needs a plugin, {kind}", where)

    def _either(self, entry: str, where: Path, file: Callable[[str, Path], str], shape: Shape) -> str:
        if not self._is_there(entry, where):
            return entry
        path = os.path.normpath(os.path.join(self._real, entry))
        if not os.path.isdir(path):
            return file(entry, where)
        real = os.path.realpath(path)
        kustomization = self._walk.kustomization(real) if self._walk.is_inside(real) else "is outside the repository"
        if isinstance(kustomization, str):
            words = f"it lists {_short(entry)}, a folder that {kustomization}"
            if kustomization == _NONE or _EMPTY in kustomization:
                self._lack(words, entry, where)
            else:
                self.refuse(words, where)
        else:
            self._walk.lists(self._real, real, shape)
        return self._spelling(entry, real)

    def _is_there(self, entry: str, where: Path) -> bool:
        path = self._local(entry, where)
        if path is None or os.path.lexists(path):
            return path is not None
        if is_like_address(entry):
            self.skip(f"{_short(entry)} {_FETCHED}", where)
        else:
            self._lack(f"it lists {_short(entry)}, and there is no such file or folder", entry, where)
        return False

    def _local(self, entry: str, where: Path) -> str | None:
        """Return the path of the entry; None if Kustomize might fetch it."""
        if is_address(entry):
            self.skip(f"{_short(entry)} {_FETCHED}", where)
            return None
        if self._walk.tree.root and self._climbs_out(entry):
            self._lack(f"{_short(entry)} is outside the repository, and is not read", entry, where)
            return None
        path = os.path.normpath(os.path.join(self._real, entry))
        if self._walk.is_flux and os.path.lexists(path) and os.path.realpath(path) != path:
            self._lack(f"{_short(entry)} is a link, which Flux leaves out of what it fetches", entry, where)
            return None
        return path

    def _climbs_out(self, entry: str) -> bool:
        """Return whether a step of the path is outside the repository: without the load restrictor, the tool would
        follow it from the copy to another place of this machine. Where the path of a plugin's settings begins is not
        known here, so it may not climb at all.
        """
        names = entry.split("/")
        if os.path.isabs(entry) or (self._report_at is not None and os.pardir in names):
            return True
        depth = len(self._real.removeprefix(self._walk.tree.root).split(os.sep)) - 1
        for name in names:
            depth += -1 if name == os.pardir else name not in ("", os.curdir)
            if depth < 0:
                return True
        return False

    def _spelling(self, entry: str, real: str) -> str:
        """Return the entry without links, because the copy has none.

        Plugin settings keep their spelling: the copy holds both.
        """
        path = os.path.normpath(os.path.join(self._real, entry))
        if path == real:
            return entry
        if self._report_at is not None:
            self._walk.tree.files[path] = self._walk.tree.files[real]
            return entry
        return os.path.relpath(real, self._real).replace(os.sep, "/")

    def _lack(self, words: str, entry: str, where: Path) -> None:
        """Refuse an entry that names nothing here, or nothing that may be read; another program may still fill in a
        placeholder.
        """
        tree = self._walk.tree
        tree.is_lacking = tree.is_lacking or (tree.obstacle is None and placeholder(entry) is None)
        self.refuse(words, where)

    def refuse(self, words: str, where: Path, *, key: bool = False) -> None:
        line, column = self._place(where, key)
        self._stop(InputError(self._shown, words, line, column))

    def skip(self, words: str, where: Path) -> None:
        end = "" if AS_IT_STANDS in words else f": {AS_IT_STANDS}"
        line, column = self._place(where)
        self._stop(Skipped(self._shown, line, f"not rendered because {words}{end}", column))

    def _stop(self, obstacle: Skipped | InputError) -> None:
        self._walk.tree.obstacle = self._walk.tree.obstacle or obstacle

    def _place(self, where: Path, key: bool = False) -> tuple[int, int]:
        if self._known.made_for is not None:
            return self._known.made_for.span.line, self._known.made_for.span.column
        if self._report_at is not None:
            where, key = self._report_at, False
        span = span_of(text_to_read(self._known.data), 1, where, key=key)
        return span.line, span.column

    @property
    def _shown(self) -> str:
        if self._known.made_for is not None:
            return self._known.made_for.path
        return shown(self._known.path, self._walk.tree.folder)


def as_json(value: Any) -> str:
    """Return JSON in characters that go-yaml reads unchanged."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return _NOT_AS_IT_IS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _never_a_path(objects: str) -> str:
    """Return the objects with a leading ``---``, so that Kustomize never takes them for an address."""
    return f"---\n{objects}"


def _short(entry: str) -> str:
    line = entry.strip().partition("\n")[0]
    return line if line == entry and len(line) <= 200 else f"{line[:200]} …"


def shown(real: str, folder: str) -> str:
    """Return a real path relative to the folder as the user named it."""
    path = os.path.normpath(os.path.join(folder, os.path.relpath(real, os.path.realpath(folder))))
    return path if os.path.realpath(path) == real else os.path.relpath(real)
