"""What a tree of kustomizations reads, which of them are applied, and what each one renders to."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kubesched_lint.files import content, root_of
from kubesched_lint.findings import InputError
from kubesched_lint.manifests.document import RENDERED, Skipped
from kubesched_lint.manifests.files import KUSTOMIZATIONS, LARGEST, Applied, InputFile, Progress
from kubesched_lint.manifests.kustomization import Kustomization, is_address, kustomization
from kubesched_lint.manifests.origins import KustomizeRendering, Written
from kubesched_lint.manifests.rendering import RenderError, Tool, kustomizer, render, render_with_origins
from kubesched_lint.record import replace

_MOST_FOLDERS = 2000
_AS_IT_STANDS = "the files are read as they stand"
_NEEDS_PLUGIN = ("must specify --enable-helm", "external plugins disabled", "unable to find plugin", "enable-exec")


@dataclass(slots=True)
class Tree:
    """What the kustomization in ``folder`` builds on: real paths, its own first."""

    folder: str
    kustomizations: dict[str, bytes] = field(default_factory=dict)
    """Real path of each kustomization file → its text."""
    folders: dict[str, Kustomization] = field(default_factory=dict)
    files: set[str] = field(default_factory=set)
    obstacle: Skipped | InputError | None = None

    @property
    def root(self) -> Kustomization:
        return next(iter(self.folders.values()))


def tree_of(folder: str) -> Tree | None:
    """Follows what the kustomization in ``folder`` lists; None where there is none, or only a component."""
    tree = Tree(folder)
    waiting = [os.path.realpath(folder)]
    while waiting and len(tree.folders) < _MOST_FOLDERS:
        real = waiting.pop(0)
        if real in tree.folders:
            continue
        found = _kustomization(real)
        if found is None:
            if not tree.folders:
                return None
            continue  # kubectl says what is wrong
        path, data, known = found
        if known.is_component and not tree.folders:
            return None
        tree.folders[real] = known
        tree.kustomizations[path] = data
        waiting += _followed(tree, real, path, data, known)
    return tree


def _kustomization(folder: str) -> tuple[str, bytes, Kustomization] | None:
    for name in KUSTOMIZATIONS:
        path = os.path.join(folder, name)
        try:
            data = content(path, LARGEST)[:LARGEST]
        except OSError:
            continue
        known = kustomization(data)
        return None if known is None else (path, data, known)
    return None


def _followed(tree: Tree, real: str, path: str, data: bytes, known: Kustomization) -> Iterator[str]:
    """The folders it lists; what keeps it from being rendered is noted on the tree."""
    shown = _shown(path, tree.folder)
    if known.has_charts:
        _stop(tree, Skipped(shown, _line(data, "helm"), f"not rendered, for it inflates a Helm chart: {_AS_IT_STANDS}"))
    for entry in (*known.listed, *known.read):
        where = os.path.normpath(os.path.join(real, entry))
        if os.path.isdir(where):
            yield os.path.realpath(where)
        elif os.path.isfile(where):
            tree.files.add(os.path.realpath(where))
        elif is_address(entry):
            words = f"not rendered, for {entry} would have to be fetched from the network: {_AS_IT_STANDS}"
            _stop(tree, Skipped(shown, _line(data, entry), words))
        elif entry in known.listed:
            words = f"it lists {entry}, and there is no such file or folder"
            _stop(tree, InputError(shown, words, _line(data, entry), 1))


def _stop(tree: Tree, obstacle: Skipped | InputError) -> None:
    tree.obstacle = tree.obstacle or obstacle


def _line(data: bytes, entry: str) -> int:
    lines = data.decode("utf-8", "replace").splitlines()
    return next((number for number, line in enumerate(lines, 1) if entry in line), 1)


def _shown(real: str, folder: str) -> str:
    """A real path as seen from the folder as it was named."""
    path = os.path.normpath(os.path.join(folder, os.path.relpath(real, os.path.realpath(folder))))
    return path if os.path.realpath(path) == real else os.path.relpath(real)


def applied_in(folders: Iterable[str], named: str, progress: Progress | None = None) -> Applied:
    """Renders what the kustomizations in these folders are applied as; nothing without a tool for it."""
    tool = kustomizer()
    if tool is None:
        return Applied()
    found = (tree_of(folder or ".") for folder in folders)
    trees = outermost((tree for tree in found if tree is not None), named)
    instead: dict[str, tuple[InputFile | Skipped | InputError, ...]] = {}
    consumed: set[str] = set()
    done: set[str] = set()
    for tree, outcome in zip(trees, _all_rendered(trees, tool, progress), strict=True):
        if outcome is tree.obstacle and isinstance(outcome, InputError) and not _is_same(tree.folder, named):
            # Nobody asked for this one: trees hold templates of overlays, too, which are complete elsewhere.
            outcome = Skipped(outcome.path, outcome.line, f"not rendered, for {outcome.message}: {_AS_IT_STANDS}")
        instead[next(iter(tree.kustomizations))] = (outcome,)
        if isinstance(outcome, InputFile):
            consumed |= {*tree.kustomizations, *tree.files}
            done |= set(tree.folders)
    return Applied(instead, frozenset(consumed), frozenset(done))


def _all_rendered(
    trees: Sequence[Tree], tool: Tool, progress: Progress | None
) -> Iterator[InputFile | Skipped | InputError]:
    """In their order; the tools run side by side."""
    if len(trees) < 2:
        yield from (rendered(tree, tool) for tree in trees)
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(min(len(trees), os.cpu_count() or 1)) as pool:
        for number, outcome in enumerate(pool.map(lambda tree: rendered(tree, tool), trees), 1):
            if progress is not None:
                progress(f"{tool.name}: kustomizations rendered", number, len(trees))
            yield outcome


def outermost(trees: Iterable[Tree], named: str) -> tuple[Tree, ...]:
    """Those which no other one builds on, and the one in the folder that was named."""
    trees = tuple(trees)
    used = {folder for tree in trees for folder in list(tree.folders)[1:]}
    return tuple(t for t in trees if _is_same(t.folder, named) or os.path.realpath(t.folder) not in used)


def _is_same(folder: str, other: str) -> bool:
    return os.path.realpath(folder) == os.path.realpath(other)


def rendered(tree: Tree, tool: Tool) -> InputFile | Skipped | InputError:
    """What is applied, as one file; or why nobody can tell. Runs the tool."""
    if tree.obstacle is not None:
        return tree.obstacle
    where = _shown(next(iter(tree.kustomizations)), tree.folder)
    try:
        try:
            text, starts = _with_origins(tree, tool)
        except RenderError:  # an old kubectl may know no annotations; its own words are about the folder itself
            text, starts = render(tool, tree.folder), {}
    except RenderError as error:
        words = str(error).replace(f"{os.path.realpath(tree.folder)}/", "").replace(os.path.realpath(tree.folder), ".")
        if any(sign in words for sign in _NEEDS_PLUGIN):
            return Skipped(where, 1, f"not rendered, for it needs a plugin ({words}): {_AS_IT_STANDS}")
        return InputError(where, words)
    path = f"{os.path.normpath(tree.folder)}{RENDERED}"
    how = f"{tool.name} {os.path.normpath(tree.folder)}"
    rendering = KustomizeRendering(text, how, *_sources(tree), starts)
    return InputFile(path, text.encode("utf-8", "surrogateescape"), rendering=rendering)


def _sources(tree: Tree) -> tuple[tuple[Written, ...], tuple[Written, ...]]:
    from kubesched_lint.manifests.parting import text_of

    outer = [(path, data) for path, data in tree.kustomizations.items()]
    others = [(path, _bytes(path)) for path in sorted(tree.files)]
    both = []
    for pairs in (outer, others):
        texts = ((_shown(path, tree.folder), text_of(path, data)) for path, data in pairs)
        both.append(tuple(Written(path, text) for path, text in texts if isinstance(text, str)))
    return both[0], both[1]


def _bytes(path: str) -> bytes:
    try:
        return content(path, LARGEST)[:LARGEST]
    except OSError:
        return b""


_ORIGIN = "    config.kubernetes.io/origin: |"


def _with_origins(tree: Tree, tool: Tool) -> tuple[str, dict[int, str]]:
    """The text as it is applied, and the first line of each document with the path of the file it came from."""
    value: Mapping[str, object] = tree.root.value
    text, around = render_with_origins(tool, tree.folder, value)
    kept: list[str] = []
    starts: dict[int, str] = {}
    first = 1
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if line == "---":
            first = len(kept) + 1
        if line != _ORIGIN:
            kept.append(line)
            continue
        while at < len(lines) and lines[at].startswith("      "):
            key, _, path = lines[at].strip().partition(": ")
            if key in ("path", "configuredIn"):
                starts[first] = _shown(os.path.realpath(os.path.join(around, path)), tree.folder)
            at += 1
        if kept[-1] == "  annotations:" and not lines[at].startswith("    "):
            kept.pop()
    return "\n".join(kept), starts


def charted(folder: str, tool: Tool) -> InputFile | Skipped | InputError:
    """What ``helm template`` makes of a chart with the values that it has."""
    from kubesched_lint.manifests.charts import chart_rendering

    where = os.path.join(folder, "Chart.yaml")
    try:
        text = render(tool, folder)
    except RenderError as error:
        return InputError(where, str(error))

    def find(name: str) -> Written | None:
        # Helm calls the chart by its name, whatever its folder is called.
        return written(os.path.normpath(os.path.join(folder, name.partition("/")[2])), folder)

    rendering = chart_rendering(text, f"{tool.name} {os.path.normpath(folder)}", find)
    path = f"{os.path.normpath(folder)}{RENDERED}"
    return InputFile(path, text.encode("utf-8", "surrogateescape"), rendering=rendering)


def piped(file: InputFile) -> InputFile:
    """Standard input, with the templates that it came from when Helm has written it."""
    from kubesched_lint.manifests.charts import chart_rendering
    from kubesched_lint.manifests.parting import text_of

    text = text_of(file.path, file.data)
    if not isinstance(text, str):
        return file
    rendering = chart_rendering(text, "helm template", _template)
    return file if rendering is None else replace(file, rendering=rendering)


def _template(name: str) -> Written | None:
    """A template by the chart's name: the chart may be here, or this folder may be the chart."""
    inside = name.partition("/")[2]
    for path in (name, *((inside,) if os.path.isfile("Chart.yaml") else ()), os.path.join("charts", name)):
        found = written(path, os.curdir)
        if found is not None:
            return found
    return None


def written(path: str, folder: str) -> Written | None:
    """A file that the output of a tool names, if it lies in the repository of ``folder``."""
    from kubesched_lint.manifests.parting import text_of

    try:
        data = content(path, LARGEST, root=root_of(folder) or os.path.realpath(folder))
    except (OSError, ValueError):
        return None
    text = text_of(path, data[:LARGEST])
    return Written(path, text) if isinstance(text, str) else None
