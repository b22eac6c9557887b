"""Runs kubectl, kustomize or helm to learn what is applied: without network, without plugins, and not for ever."""

from __future__ import annotations

import os
from collections.abc import Mapping

from kubesched_lint.record import record

TIMEOUT = 60.0
"""Seconds that a tool may take for one folder."""
LARGEST = 64 * 1024 * 1024
"""Bytes that it may write."""
_LONGEST_MESSAGE = 600
# Kustomize fetches with git and with Go's HTTP client; we refuse addresses before it runs, and these refuse the rest.
_OFFLINE = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_TERMINAL_PROMPT": "0",
    "HTTP_PROXY": "http://127.0.0.1:9",
    "HTTPS_PROXY": "http://127.0.0.1:9",
    "http_proxy": "http://127.0.0.1:9",
    "https_proxy": "http://127.0.0.1:9",
    "NO_PROXY": "",
    "no_proxy": "",
}


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
    code, out, error = _run((*tool.command, folder), {**os.environ, **_OFFLINE}, timeout, tool.name)
    if code:
        raise RenderError(f"{tool.name}: {_message(error) or f'ended with {code} and without a word'}")
    return out.decode("utf-8", "surrogateescape")


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


def _run(command: tuple[str, ...], environ: Mapping[str, str], timeout: float, name: str) -> tuple[int, bytes, bytes]:
    import subprocess
    from threading import Thread
    from time import monotonic

    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environ,
            start_new_session=True,
        )
    except OSError as error:
        raise RenderError(f"{name} cannot be run: {(error.strerror or str(error)).lower()}") from None
    assert process.stdout is not None
    assert process.stderr is not None
    found: list[bytes] = [b"", b""]

    def read(number: int, stream: object, most: int) -> None:
        found[number] = stream.read(most + 1)  # type: ignore[attr-defined]
        if len(found[number]) > most:
            _end(process.pid)

    readers = [
        Thread(target=read, args=(0, process.stdout, LARGEST), daemon=True),
        Thread(target=read, args=(1, process.stderr, 1 << 20), daemon=True),
    ]
    deadline = monotonic() + timeout
    for reader in readers:
        reader.start()
    try:
        for reader in readers:
            reader.join(max(0.0, deadline - monotonic()))
        code = process.wait(max(0.1, deadline - monotonic()))
    except subprocess.TimeoutExpired:
        raise RenderError(f"{name} took longer than {timeout:g} seconds and was stopped") from None
    finally:
        if process.poll() is None:
            _end(process.pid)
            process.wait()
    if len(found[0]) > LARGEST:
        raise RenderError(f"{name} writes more than {LARGEST // 1024**2} MiB")
    return code, found[0], found[1]


def _end(process: int) -> None:
    """Ends the process and those that it has started: they are a session of their own."""
    import signal

    try:
        os.killpg(process, signal.SIGKILL)
    except (OSError, AttributeError):
        try:
            os.kill(process, signal.SIGTERM)
        except OSError:
            pass


def _message(error: bytes) -> str:
    """The failure without the warnings before it; kubectl logs it with a time and a place in its code."""
    import re

    lines = [line.strip() for line in error.decode("utf-8", "replace").splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith(("# Warning", "WARNING", "walk.go", "Use --debug"))]
    text = " ".join(lines)
    logged = re.search(r'\berr="(.*)"$', text)
    if logged:
        text = logged[1].replace('\\"', '"')
    text = text.removeprefix("error: ").removeprefix("Error: ")
    return text if len(text) <= _LONGEST_MESSAGE else f"{text[:_LONGEST_MESSAGE]} …"
