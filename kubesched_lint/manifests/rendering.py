"""Runs kubectl, kustomize or helm to learn what is applied: without network, without plugins, and not forever."""

from __future__ import annotations

import os

from kubesched_lint.manifests.kustomize_tree import KustomizeTree, as_json
from kubesched_lint.programs import TIMEOUT, ProgramError, run_offline
from kubesched_lint.record import record

_LONGEST_MESSAGE = 600


class RenderError(Exception):
    """What a tool says of a folder that it cannot render; its text is for the user."""


@record
class Tool:
    """``command`` ends where the folder's name follows; ``name`` is what people call it."""

    name: str
    command: tuple[str, ...]


def kustomizer() -> Tool | None:
    """What renders kustomizations here, if anything does."""
    from shutil import which

    if kubectl := which("kubectl"):
        return Tool("kubectl kustomize", (kubectl, "kustomize"))
    if kustomize := which("kustomize"):
        return Tool("kustomize build", (kustomize, "build"))
    return None


def helm() -> Tool | None:
    """What renders charts here, if anything does."""
    from shutil import which

    found = which("helm")
    return Tool("helm template", (found, "template", "--skip-tests")) if found else None


def render(tool: Tool, folder: str, *, timeout: float = TIMEOUT) -> str:
    """What the tool makes of a folder. Raises RenderError."""
    try:
        done = run_offline((*tool.command, folder), name=tool.name, timeout=timeout)
    except ProgramError as error:
        raise RenderError(str(error)) from None
    if done.code:
        raise RenderError(f"{tool.name}: {_message(done.error) or f'ended with {done.code} and without a word'}")
    return done.out.decode("utf-8", "surrogateescape")


@record
class Rendered:
    """What a tool made of a copy. With ``has_origins`` each object names its file, relative to ``around``."""

    text: str
    has_origins: bool
    around: str
    copy: str

    def real(self, path: str) -> str:
        """The real path of the file whose copy is meant."""
        return os.path.join(os.sep, os.path.relpath(os.path.join(self.around, path), self.copy))


def render_copy(tool: Tool, tree: KustomizeTree) -> Rendered:
    """What the tool makes of a tree: it is given a copy of what was read and understood, and nothing else.

    Each object is annotated with the file that it came from: a kustomization of ours, in a folder of its own, builds on
    the given one and asks for that; what only the outermost can set is repeated. Raises RenderError.
    """
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="kubesched-lint-") as name:
        top = os.path.realpath(name)
        copy, around = os.path.join(top, "copy"), os.path.join(top, "around")
        folder = tree.copy_to(copy)
        try:
            if "openapi" not in tree.value:  # a path of it would have to be inside our folder
                try:
                    _ask_for_origins(around, os.path.relpath(folder, around), tree.value.get("sortOptions"))
                    return Rendered(render(tool, around), True, around, copy)
                except RenderError:  # an old kubectl may know no annotations; its own words are about the folder itself
                    pass
            return Rendered(render(tool, folder), False, around, copy)
        except RenderError as error:
            raise RenderError(_of_the_original(str(error), folder, copy)) from None


def _ask_for_origins(around: str, folder: str, sorting: object) -> None:
    outer: dict[str, object] = {"resources": [folder], "buildMetadata": ["originAnnotations"]}
    if sorting is not None:
        outer["sortOptions"] = sorting
    os.mkdir(around)
    with open(os.path.join(around, "kustomization.yaml"), "w", encoding="utf-8") as file:
        file.write(as_json(outer))


def _of_the_original(words: str, folder: str, copy: str) -> str:
    return words.replace(f"{folder}/", "").replace(folder, ".").replace(copy, "")


def _message(error: str) -> str:
    """The failure without the warnings before it; kubectl logs it with a time and a place in its code."""
    import re

    lines = [line.strip() for line in error.splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith(("# Warning", "WARNING", "walk.go", "Use --debug"))]
    text = " ".join(lines)
    logged = re.search(r'\berr=(?:"(?P<line>.*)"|<\s*(?P<lines>.*?)\s*>)$', text)
    if logged:
        text = logged["lines"] or (logged["line"] or "").replace('\\"', '"')
    text = text.removeprefix("error: ").removeprefix("Error: ")
    return text if len(text) <= _LONGEST_MESSAGE else f"{text[:_LONGEST_MESSAGE]} …"
