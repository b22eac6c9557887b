"""Run kubectl, kustomize or helm to render manifests: without network or plugins, and with a time limit."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from tempfile import TemporaryDirectory

from msgspec import Struct

from kubesched_lint.engine.base.limits import LONGEST_REASON
from kubesched_lint.programs import TIMEOUT, ProgramError, SlowProgramError, run_offline
from kubesched_lint.sources.manifests.kustomize.copy import KustomizeTree
from kubesched_lint.sources.manifests.kustomize.tools import Tool
from kubesched_lint.sources.manifests.kustomize.tree import as_json

MARK = "kubesched-lint/tree"
"""The annotation that says which tree of a batch an object is from."""
SUFFIX = "!kubesched-lint-{}!"
"""Ends the names of a tree's objects in a batch. ``!`` sorts before all that names may have, and needs no quotes."""


class RenderError(Exception):
    """The tool cannot render a folder; the text is the tool's message for the user."""


class SlowRenderError(RenderError):
    """The tool took longer than it may."""


def render(tool: Tool, folder: str, *, timeout: float = TIMEOUT, home: str = "") -> str:
    """Return the tool's output for a folder; ``home`` as for ``run_offline``. Raises RenderError."""
    try:
        done = run_offline((*tool.command, folder), name=tool.name, timeout=timeout, home=home)
    except SlowProgramError as error:
        raise SlowRenderError(str(error)) from None
    except ProgramError as error:
        raise RenderError(str(error)) from None
    if done.code:
        raise RenderError(f"{tool.name}: {message_of(done.error) or f'ended with {done.code} and no message'}")
    return done.out.decode("utf-8", "surrogateescape")


class Rendered(Struct, frozen=True):
    """A tool's output for a copy. With ``has_origins`` each object names its file, relative to ``around``."""

    text: str
    has_origins: bool
    around: str
    copy: str

    def real(self, path: str) -> str:
        """Return the real path of the original of a copied file."""
        return os.path.join(os.sep, os.path.relpath(os.path.join(self.around, path), self.copy))


def render_copy(tool: Tool, tree: KustomizeTree, *, whole: bool = False) -> Rendered:
    """Return the tool's output for a tree; the tool gets a copy of the files that were read and checked, nothing else.

    Each object is annotated with its source file. For this, a kustomization in a folder of its own builds on the given
    one and repeats what only the outermost kustomization can set. Raises RenderError.
    """
    with TemporaryDirectory(prefix="kubesched-lint-") as name:
        top = os.path.realpath(name)
        copy, around = os.path.join(top, "copy"), os.path.join(top, "around")
        folder = tree.copy_to(copy, whole=whole)
        try:
            if "openapi" not in tree.value:  # its path would have to be inside our folder
                try:
                    _ask_for_origins(around, os.path.relpath(folder, around), tree.value.get("sortOptions"))
                    return Rendered(render(tool, around), True, around, copy)
                # an old kubectl may not support the annotations; its message about the folder itself is clearer
                except RenderError:
                    pass
            return Rendered(render(tool, folder), False, around, copy)
        except RenderError as error:
            raise RenderError(_of_the_original(str(error), folder, copy)) from None


def copy_in(copy: str, number: int) -> str:
    """Return where the copy of a batch has the files of one tree: Flux may build a folder in several ways."""
    return os.path.join(copy, str(number))


def render_copies(tool: Tool, trees: Sequence[KustomizeTree]) -> Rendered:
    """Return the tool's output for several trees in one run; ``MARK`` on each object is the number of its tree.

    Names of objects, and references to them, end with ``SUFFIX``, so that trees may define the same objects. Objects
    are annotated with their source files, as by ``render_copy``. Raises RenderError if one of the trees fails.
    """
    with TemporaryDirectory(prefix="kubesched-lint-") as name:
        top = os.path.realpath(name)
        copy, around = os.path.join(top, "copy"), os.path.join(top, "around")
        for number, tree in enumerate(trees):
            folder = tree.copy_to(copy_in(copy, number))
            outer = os.path.join(around, str(number))
            mark = {
                "apiVersion": "builtin",
                "kind": "AnnotationsTransformer",
                "metadata": {"name": "mark"},
                "annotations": {MARK: str(number)},
                "fieldSpecs": [{"path": "metadata/annotations", "create": True}],
            }
            resources = [os.path.relpath(folder, outer)]
            of_tree = {"nameSuffix": SUFFIX.format(number), "transformers": [f"---\n{as_json(mark)}"]}
            _write_kustomization(outer, {"resources": resources, **of_tree})
        resources = [str(number) for number in range(len(trees))]
        _write_kustomization(around, {"resources": resources, "buildMetadata": ["originAnnotations"]})
        return Rendered(render(tool, around), True, around, copy)


def _ask_for_origins(around: str, folder: str, sorting: object) -> None:
    outer: dict[str, object] = {"resources": [folder], "buildMetadata": ["originAnnotations"]}
    if sorting is not None:
        outer["sortOptions"] = sorting
    _write_kustomization(around, outer)


def _write_kustomization(folder: str, value: dict[str, object]) -> None:
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "kustomization.yaml"), "w", encoding="utf-8") as file:
        file.write(as_json(value))


def _of_the_original(words: str, folder: str, copy: str) -> str:
    return words.replace(f"{folder}/", "").replace(folder, ".").replace(copy, "")


def message_of(error: str) -> str:
    """Return the failure without preceding warnings; kubectl logs it with a time and a source position."""
    lines = [line.strip() for line in error.splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith(("# Warning", "WARNING", "walk.go", "Use --debug"))]
    text = " ".join(lines)
    logged = re.search(r'\berr=(?:"(?P<line>.*)"|<\s*(?P<lines>.*?)\s*>)$', text)
    if logged:
        text = logged["lines"] or (logged["line"] or "").replace('\\"', '"')
    text = text.removeprefix("error: ").removeprefix("Error: ")
    return text if len(text) <= LONGEST_REASON else f"{text[:LONGEST_REASON]} …"
