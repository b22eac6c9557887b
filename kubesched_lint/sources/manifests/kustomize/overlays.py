"""Find which kustomizations are applied, and render each of them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from itertools import compress
from tempfile import TemporaryDirectory

from msgspec.structs import replace

from kubesched_lint.files import content, root_of
from kubesched_lint.findings import InputError
from kubesched_lint.sources.manifests.chart_folders.chart_folder import obstacle_in
from kubesched_lint.sources.manifests.document import RENDERED, Skipped, Written
from kubesched_lint.sources.manifests.flux import NO_FLUX, FluxRepository
from kubesched_lint.sources.manifests.inputs import LARGEST, Applied, InputFile, Progress
from kubesched_lint.sources.manifests.kustomize.copy import KustomizeTree
from kubesched_lint.sources.manifests.kustomize.kustomizing import Store, render_trees
from kubesched_lint.sources.manifests.kustomize.rendering import Rendered, RenderError, render
from kubesched_lint.sources.manifests.kustomize.tools import Tool, kustomizer
from kubesched_lint.sources.manifests.kustomize.tree import AS_IT_STANDS, Inflate, shown, tree_of
from kubesched_lint.sources.manifests.rendered.charts import chart_rendering
from kubesched_lint.sources.manifests.rendered.provenance import KustomizeRendering
from kubesched_lint.sources.manifests.yaml.split import text_of

_NEEDS_PLUGIN = ("must specify --enable-helm", "external plugins disabled", "unable to find plugin", "enable-exec")


def applied_in(
    folders: Iterable[str],
    named: str,
    progress: Progress | None = None,
    store: Store | None = None,
    flux: FluxRepository = NO_FLUX,
    inflate: Inflate | None = None,
) -> Applied:
    """Render the kustomizations in these folders; return an empty Applied if no tool is installed."""
    tool = kustomizer()
    if tool is None:
        return Applied()
    trees_or_none = (tree_of(folder or ".", flux, inflate=inflate) for folder in folders)
    trees = outermost((tree for tree in trees_or_none if tree is not None), named)
    done = render_trees([tree for tree in trees if tree.obstacle is None], tool, store, progress)
    instead: dict[str, tuple[InputFile | Skipped | InputError, ...]] = {}
    consumed: set[str] = set()
    rendered: set[str] = set()
    told: list[InputError | Skipped] = []
    for tree in trees:
        outcome: InputFile | Skipped | InputError | None = tree.obstacle or outcome_of(
            tree, tool, done[tree.key], named
        )
        is_read = isinstance(outcome, Skipped)
        if isinstance(outcome, InputFile):
            outcome = replace(outcome, filling=flux.filling(tree.real) if b"${" in outcome.data else None)
        elif isinstance(outcome, InputError):
            outcome = _unbuilt(outcome, tree, is_named=_is_same(tree.folder, named))
            if outcome in told:  # overlays share a base that cannot be built
                outcome = None
            else:
                told.append(outcome)
        instead[next(iter(tree.kustomizations))] = () if outcome is None else (outcome,)
        if not is_read:
            consumed |= {*tree.kustomizations, *tree.files}
            rendered |= tree.folders
    return Applied(instead, frozenset(consumed), frozenset(rendered))


_RESTRICTOR = "is not in or below"
_NOT_CHECKED = "its files are not checked, because it may change them"


def _unbuilt(error: InputError, tree: KustomizeTree, *, is_named: bool) -> InputError | Skipped:
    """Return why a tree is not built. Only a note, if a program may still complete what the user did not name."""
    words = f"{error.message}: {_NOT_CHECKED}" if tree.files else error.message
    if is_named or tree.is_lacking or tree.obstacle is None:
        return replace(error, message=words)
    what = "kustomization" if tree.files else ""
    return Skipped(error.path, error.line, f"not rendered because {words}", unrendered=what)


def outermost(trees: Iterable[KustomizeTree], named: str) -> tuple[KustomizeTree, ...]:
    """Return the trees that no other tree builds on, and the one in the folder that the user named.

    Of those that build on each other in a circle, it returns one: the tool says what is wrong with them.
    """
    trees = tuple(trees)
    used = {folder for tree in trees for folder in tree.folders - {tree.real}}
    is_kept = [_is_same(tree.folder, named) or os.path.realpath(tree.folder) not in used for tree in trees]
    reached = {folder for tree in compress(trees, is_kept) for folder in (tree.real, *tree.folders)}
    for place, tree in enumerate(trees):
        if tree.real not in reached:
            is_kept[place] = True
            reached |= tree.folders
    return tuple(compress(trees, is_kept))


def _is_same(folder: str, other: str) -> bool:
    return os.path.realpath(folder) == os.path.realpath(other)


def outcome_of(
    tree: KustomizeTree, tool: Tool, done: Rendered | RenderError, named: str = ""
) -> InputFile | Skipped | InputError:
    """Return the applied objects as one file, or why they are unknown.

    ``named``: the folder that the user named; empty if settings of Flux or Argo CD decide about the objects, too.
    """
    if isinstance(done, RenderError):
        if tree.outside is not None and _RESTRICTOR in str(done):
            return tree.outside
        where = shown(next(iter(tree.kustomizations)), tree.folder)
        if any(sign in str(done) for sign in _NEEDS_PLUGIN):
            return Skipped(where, 1, f"not rendered because it needs a plugin ({done}): {AS_IT_STANDS}")
        return InputError(where, str(done))
    text, starts = _without_origins(tree, done)
    path = f"{os.path.normpath(tree.folder)}{RENDERED}"
    how = f"{tool.name} {os.path.normpath(tree.folder)}"
    mendable = os.path.realpath(named) if named and not tree.root else tree.root if tree.applied_by else ""
    rendering = KustomizeRendering(text, how, *_sources(tree), starts, mendable, tree.again)
    return InputFile(path, text.encode("utf-8", "surrogateescape"), rendering=rendering)


def _sources(tree: KustomizeTree) -> tuple[tuple[Written, ...], tuple[Written, ...]]:
    both = []
    for pairs in (tree.kustomizations.items(), sorted(tree.files.items())):
        texts = ((shown(path, tree.folder), text_of(path, data)) for path, data in pairs)
        both.append(tuple(Written(path, text) for path, text in texts if isinstance(text, str)))
    return both[0], both[1]


_ORIGIN = "    config.kubernetes.io/origin: |"


def _without_origins(tree: KustomizeTree, done: Rendered) -> tuple[str, dict[int, str]]:
    """Return the text without origin annotations, and first line of each document → path of its source file."""
    kept: list[str] = []
    starts: dict[int, str] = {}
    first = 1
    lines = done.text.split("\n")
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if line == "---":
            first = len(kept) + 1
        if line != _ORIGIN or not done.has_origins:
            kept.append(line)
            continue
        while at < len(lines) and lines[at].startswith("      "):
            key, _, path = lines[at].strip().partition(": ")
            if key in ("path", "configuredIn"):
                starts[first] = shown(done.real(path), tree.folder)
            at += 1
        if kept[-1] == "  annotations:" and not lines[at].startswith("    "):
            kept.pop()
    return "\n".join(kept), starts


def charted(folder: str, tool: Tool) -> InputFile | Skipped | InputError:
    """Return the output of ``helm template`` for a chart with its own values."""
    obstacle = obstacle_in(folder)
    if obstacle is not None:
        return obstacle
    where = os.path.join(folder, "Chart.yaml")
    try:
        with TemporaryDirectory(prefix="kubesched-lint-") as home:
            text = render(tool, folder, home=home)
    except RenderError as error:
        return InputError(where, str(error))

    def find(name: str) -> Written | None:
        # Helm begins names with the chart's name, whatever its folder is called.
        return written(os.path.normpath(os.path.join(folder, name.partition("/")[2])), folder)

    rendering = chart_rendering(text, f"{tool.name} {os.path.normpath(folder)}", find)
    path = f"{os.path.normpath(folder)}{RENDERED}"
    return InputFile(path, text.encode("utf-8", "surrogateescape"), rendering=rendering)


def piped(file: InputFile) -> InputFile:
    """Return standard input with its source templates if Helm has written it."""
    text = text_of(file.path, file.data)
    if not isinstance(text, str):
        return file
    rendering = chart_rendering(text, "helm template", _template)
    return file if rendering is None else replace(file, rendering=rendering)


def _template(name: str) -> Written | None:
    """Return a template by the chart's name: the chart may be in this folder, or this folder may be the chart."""
    inside = name.partition("/")[2]
    for path in (name, *((inside,) if os.path.isfile("Chart.yaml") else ()), os.path.join("charts", name)):
        template = written(path, os.curdir)
        if template is not None:
            return template
    return None


def written(path: str, folder: str) -> Written | None:
    """Return a file named in a tool's output if it lies in the repository of ``folder``; else None."""
    try:
        data = content(path, LARGEST, root=root_of(folder) or os.path.realpath(folder))
    except (OSError, ValueError):
        return None
    text = text_of(path, data[:LARGEST])
    return Written(path, text) if isinstance(text, str) else None
