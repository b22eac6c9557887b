"""Runs kubectl, kustomize or helm to learn what is applied: without network, without plugins, and not for ever."""

from __future__ import annotations

import os
from collections.abc import Mapping

from kubesched_lint.programs import OFFLINE, TIMEOUT, ProgramError, run
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
        done = run((*tool.command, folder), name=tool.name, environ={**os.environ, **OFFLINE}, timeout=timeout)
    except ProgramError as error:
        raise RenderError(str(error)) from None
    if done.code:
        raise RenderError(f"{tool.name}: {_message(done.error) or f'ended with {done.code} and without a word'}")
    return done.out.decode("utf-8", "surrogateescape")


def render_with_origins(tool: Tool, folder: str, value: Mapping[str, object]) -> tuple[str, str]:
    """As ``render``, of a kustomization, each object annotated with the file that it came from.

    The second text is the folder to which the annotations' paths are relative. A kustomization of ours, in a folder
    of its own, builds on the given one and asks for the annotations; what only the outermost can set is repeated.
    Raises RenderError.
    """
    import json
    from tempfile import TemporaryDirectory

    if "openapi" in value:  # a path of it would have to be inside our folder
        raise RenderError("a schema of its own")
    with TemporaryDirectory(prefix="kubesched-lint-") as name:
        around = os.path.realpath(name)
        try:
            outer: dict[str, object] = {"resources": [os.path.relpath(os.path.realpath(folder), around)]}
        except ValueError as error:  # on another drive
            raise RenderError(str(error)) from None
        outer["buildMetadata"] = ["originAnnotations"]
        if "sortOptions" in value:
            outer["sortOptions"] = value["sortOptions"]
        with open(os.path.join(around, "kustomization.yaml"), "w", encoding="utf-8") as file:
            json.dump(outer, file, default=str)
        return render(tool, around), around


def _message(error: str) -> str:
    """The failure without the warnings before it; kubectl logs it with a time and a place in its code."""
    import re

    lines = [line.strip() for line in error.splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith(("# Warning", "WARNING", "walk.go", "Use --debug"))]
    text = " ".join(lines)
    logged = re.search(r'\berr="(.*)"$', text)
    if logged:
        text = logged[1].replace('\\"', '"')
    text = text.removeprefix("error: ").removeprefix("Error: ")
    return text if len(text) <= _LONGEST_MESSAGE else f"{text[:_LONGEST_MESSAGE]} …"
