"""Render many kustomizations with few runs of the tool, and none for those that have not changed.

Starting kubectl takes longer than rendering a usual folder. So one run renders a batch: an outer kustomization lists
the folders, marks each object with its folder, and gives names a suffix of the folder, which is taken off again. So the
folders of a batch may define the same objects, and cannot affect each other (``batches``). If a batch fails, its parts
are rendered again, so each message is about one folder.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b
from itertools import accumulate, takewhile
from typing import Protocol

from kubesched_lint.sources.manifests.inputs import Progress
from kubesched_lint.sources.manifests.kustomize.copy import KustomizeTree
from kubesched_lint.sources.manifests.kustomize.rendering import (
    MARK,
    SUFFIX,
    Rendered,
    RenderError,
    copy_in,
    render_copies,
    render_copy,
)
from kubesched_lint.sources.manifests.kustomize.tools import Tool
from kubesched_lint.version import __version__

_BATCH = 40_000
"""Most bytes of a batch's files: Kustomize compares the objects of a run with each other."""
_ALONE = frozenset(
    {
        # What Kustomize completes at the outermost kustomization only, for the objects of all folders:
        *("vars", "configurations", "crds", "openapi", "sortOptions"),
        # Plugins may do any of this.
        *("generators", "transformers"),
        # What a chart becomes is in none of the files that are looked at here.
        "helmCharts",
    }
)
_KEEP_THEIR_NAMES = (b"CustomResourceDefinition", b"APIService")
"""Kinds whose names get no suffix, like Namespace, whose name is what the field ``namespace`` says."""
_SUFFIXED = SUFFIX.partition("{")[0]
_OURS = (MARK.encode(), _SUFFIXED.encode())
_VARIABLE = r"(?:[a-z][a-z0-9.:-]*)?\$\{[\w.:=${}-]*[\w}]"
"""A name with a variable of Flux, which Kustomize takes for text."""
_PLAIN = re.compile(
    rf"\s*(?:- )*(?:[\w./-]+: )?(?P<name>[a-z][a-z0-9.:-]*[a-z0-9]|{_VARIABLE})(?:-[a-z0-9]{{10}})?", re.ASCII
)
_READ_OTHERWISE = frozenset({"yes", "no", "on", "off", "true", "false", "null"})
"""Names that Kustomize writes in quotes."""
_TWICE = "already registered id"

Outcome = Rendered | RenderError


class Store(Protocol):
    """Renderings of earlier runs by the digest of all that they depend on."""

    def renderings(self, keys: Sequence[str]) -> Mapping[str, Rendered]: ...

    def keep_renderings(self, renderings: Mapping[str, Rendered]) -> None: ...


def render_trees(
    trees: Sequence[KustomizeTree], tool: Tool, store: Store | None = None, progress: Progress | None = None
) -> dict[str, Outcome]:
    """Return what each tree becomes, or why the tool cannot render it, by the trees' keys."""
    keys = {tree.key: _key(tree, tool) for tree in trees} if store else {}
    kept = store.renderings(tuple(keys.values())) if store else {}
    outcomes: dict[str, Outcome] = {name: kept[key] for name, key in keys.items() if key in kept}
    missing = [tree for tree in trees if tree.key not in outcomes]
    alike = ([tree for tree in missing if bool(tree.root) is is_free] for is_free in (False, True))
    for part in _in_parallel([batch for trees in alike for batch in batches(trees)], tool):
        outcomes.update(part)
        if progress is not None and len(trees) > 1:
            progress(f"{tool.name}: kustomizations rendered", len(outcomes), len(trees))
    if store and missing:
        new = ((keys[tree.key], outcomes[tree.key]) for tree in missing)
        store.keep_renderings({key: outcome for key, outcome in new if isinstance(outcome, Rendered)})
    return outcomes


def batches(trees: Iterable[KustomizeTree]) -> Iterator[list[KustomizeTree]]:
    """Yield groups of trees that one run can render: no object is in two of them, as far as the folders tell."""
    groups: dict[int, list[KustomizeTree]] = {}
    seen: dict[str, int] = {}
    for tree in trees:
        if tree.fields & _ALONE or _has(tree, _OURS):
            yield [tree]
            continue
        claims = tuple(_claims(tree))
        turn = max((seen.get(claim, 0) for claim in claims), default=0)
        seen.update(dict.fromkeys(claims, turn + 1))
        groups.setdefault(turn, []).append(tree)
    for group in groups.values():
        while group:
            sizes = accumulate(sum(map(len, tree.short_files.values())) for tree in group)
            count = max(sum(1 for _ in takewhile(lambda size: size <= _BATCH, sizes)), 1)
            yield group[:count]
            del group[:count]


def _claims(tree: KustomizeTree) -> Iterator[str]:
    """Yield what no other tree of a batch may have, because objects keep their names: a namespace, or folders."""
    namespace = tree.value.get("namespace")
    if _has(tree, _KEEP_THEIR_NAMES) or (_has(tree, (b"Namespace",)) and not namespace):
        yield from tree.folders
    elif _has(tree, (b"Namespace",)):
        yield f"namespace {namespace}"


def _has(tree: KustomizeTree, words: Iterable[bytes]) -> bool:
    return any(word in data for data in tree.files.values() for word in words)


def _in_parallel(parts: Sequence[list[KustomizeTree]], tool: Tool) -> Iterator[dict[str, Outcome]]:
    if len(parts) < 2:
        yield from (_rendered(part, tool) for part in parts)
        return
    with ThreadPoolExecutor(min(len(parts), os.cpu_count() or 1)) as pool:
        yield from pool.map(lambda part: _rendered(part, tool), parts)


def _rendered(trees: list[KustomizeTree], tool: Tool) -> dict[str, Outcome]:
    if len(trees) == 1:
        try:
            return {trees[0].key: _alone(trees[0], tool.building(trees[0]))}
        except RenderError as error:
            return {trees[0].key: error}
    try:
        parts = list(_apart(render_copies(tool.building(trees[0]), trees), len(trees)))
    except RenderError as error:
        size = 1 if _TWICE in str(error) else (len(trees) + 1) // 2
        halves = (trees[start : start + size] for start in range(0, len(trees), size))
        return {key: outcome for half in halves for key, outcome in _rendered(half, tool).items()}
    outcomes: dict[str, Outcome] = {}
    for tree, part in zip(trees, parts, strict=True):
        outcomes.update(_rendered([tree], tool) if part is None else {tree.key: part})
    return outcomes


def _alone(tree: KustomizeTree, tool: Tool) -> Rendered:
    """Return the rendering of one tree. Raises RenderError."""
    try:
        return render_copy(tool, tree)
    except RenderError:
        if tree.short_files == tree.files:
            raise
        return render_copy(tool, tree, whole=True)


def _apart(done: Rendered, count: int) -> Iterator[Rendered | None]:
    """Yield the rendering of each tree of a batch, without marks and suffixes; None if it needs a run of its own.

    Raises RenderError if an object has no mark.
    """
    texts: list[list[str]] = [[] for _ in range(count)]
    for document in done.text.removesuffix("\n").split("\n---\n"):
        lines = document.split("\n")
        at = _marked(lines)
        texts[int(lines.pop(at).rpartition(" ")[2].strip('"'))].append("\n".join(lines))
    for number, documents in enumerate(texts):
        text = _named("\n---\n".join(documents), SUFFIX.format(number))
        copy = copy_in(done.copy, number)
        yield None if text is None else Rendered(f"{text}\n" if text else "", done.has_origins, done.around, copy)


def _named(text: str, suffix: str) -> str | None:
    """Return the text with names as they are; None if a run of its own could give another one.

    A name that YAML reads otherwise, such as a number, would be in quotes, and a name of another tree is of no use.
    """
    lines = text.split("\n")
    for at, line in enumerate(lines):
        if _SUFFIXED in line:
            lines[at] = line.replace(suffix, "", 1)
            match = _PLAIN.fullmatch(lines[at])
            if match is None or match["name"] in _READ_OTHERWISE:
                return None
    return "\n".join(lines)


def _marked(lines: Sequence[str]) -> int:
    """Return the line of the mark among the annotations of the object itself."""
    # Keys of the object stand at column 0, so no text in it can look like them.
    start = next((at for at, line in enumerate(lines) if line == "metadata:"), len(lines))
    for at in range(start + 1, len(lines)):
        if not lines[at].startswith(" "):
            break
        if lines[at].startswith(f"    {MARK}: "):
            return at
    raise RenderError("an object of a batch has no mark")


def _key(tree: KustomizeTree, tool: Tool) -> str:
    """Return the digest of the tool, and of all that it may read."""
    digest = blake2b(digest_size=20)
    program = os.stat(tool.command[0])
    about = (__version__, tool.building(tree), program.st_mtime_ns, program.st_size, tree.real, sorted(tree.folders))
    digest.update(repr(about).encode())
    for path, data in sorted(tree.files.items()):
        digest.update(repr((path, len(data))).encode())
        digest.update(data)
    digest.update(repr(sorted(tree.instead.items())).encode())
    return digest.hexdigest()
