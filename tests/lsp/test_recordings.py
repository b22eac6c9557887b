"""Sessions that real clients had with the server (``scripts/record_lsp.py``), played again.

Before each message of the client, the server must have said what it last said before it in the recording. The words of
findings and cards may change; places, rules, fixes and lenses may not. Lenses are asked for again until they are there.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from time import sleep
from typing import Any

import pytest

from tests.lsp.client import Client, Message, serving

ROOT = Path(__file__).parents[2]
RECORDINGS = sorted((ROOT / "fixtures/lsp").glob("*.jsonl"))


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """The folder in which the sessions were recorded."""
    folder = tmp_path / "shop"
    (folder / "manifests").mkdir(parents=True)
    (folder / ".git").mkdir()
    for name in ("cache.yaml", "web.yaml"):
        shutil.copy(ROOT / "fixtures/shop" / name, folder / "manifests")
    shutil.copy(ROOT / "fixtures/clusters/three-zones.yaml", folder / "cluster.yaml")
    (folder / "kubesched.toml").write_text('cluster = "cluster.yaml"\nnode-groups = "complete"\n')
    return folder


def gist(message: Message) -> Any:
    """What must be the same of a message: words aside."""
    if message.get("method") == "textDocument/publishDiagnostics":
        params = message["params"]
        found = [(one["range"], one["severity"], one.get("code")) for one in params["diagnostics"]]
        return params["uri"], params.get("version"), found
    result = message.get("result")
    if isinstance(result, dict) and "contents" in result:
        return message["id"], result["contents"]["value"].split("\n")[0]
    if isinstance(result, list):
        parts = ("range", "kind", "isPreferred", "edit")
        titles = [one["command"]["title"].removesuffix(" …") for one in result if "command" in one]
        return message["id"], titles, [{name: one.get(name) for name in parts} for one in result]
    return message.get("id"), result if message.get("id") is not None and "method" not in message else message["method"]


def is_to_come(message: Message) -> bool:
    """Whether a message must come again: notes may come earlier or later, lenses are there sooner or later."""
    if "method" in message:
        return bool(message["method"] == "textDocument/publishDiagnostics")
    return bool(message.get("result") != [])


def hear(client: Client, wanted: Message, sent: Message) -> None:
    """Wait until the server says this; ``sent`` is what the client last said."""

    def is_it(said: Message) -> bool:
        if gist(said) == gist(wanted):
            return True
        if sent.get("method") == "textDocument/codeLens" and said.get("id") == sent["id"]:
            sleep(0.1)
            client.send(sent)
        return False

    client.until(is_it)


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda file: file.stem)
def test_a_recorded_session_goes_as_it_went(recording: Path, shop: Path, program: Path) -> None:
    text = recording.read_text(encoding="utf-8").replace("$ROOT", str(shop))
    spoken = [json.loads(line) for line in text.splitlines()]
    assert sum("client" in line for line in spoken) > 8
    with serving(program, folder=shop) as client:
        awaited: Message | None = None
        sent: Message = {}
        for line in spoken:
            if "server" in line:
                awaited = line["server"] if is_to_come(line["server"]) else awaited
                continue
            message = line["client"]
            if awaited is not None:
                hear(client, awaited, sent)
                awaited = None
            if message.get("method") in ("shutdown", "exit"):
                break  # serving() does this
            if "method" in message:
                client.send(message)
                sent = message
        client.number = 1_000


def test_two_editors_are_recorded() -> None:
    assert [file.stem.partition("-")[0] for file in RECORDINGS] == ["neovim", "vscode"]


def test_the_page_shows_the_configuration_of_helix() -> None:
    _, text = (ROOT / "editors/helix/languages.toml").read_text().split("\n", 1)
    assert f"```toml\n{text}```\n" in (ROOT / "docs/editors.md").read_text()


def _neovim() -> str | None:
    """The path of a Neovim that has ``vim.lsp.enable``."""
    program = shutil.which("nvim")
    if program is None:
        return None
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
    version = said.split("\n")[0].removeprefix("NVIM v").split(".")
    return program if [int(part) for part in version[:2]] >= [0, 11] else None


@pytest.mark.skipif(_neovim() is None, reason="no Neovim 0.11 or newer")
def test_neovim_works_with_our_configuration(shop: Path, tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "kubesched-lint").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m kubesched_lint "$@"\n')
    (programs / "kubesched-lint").chmod(0o755)
    environ = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    command = [_neovim(), "--clean", "--headless", "--cmd", f"set rtp+={ROOT / 'editors/neovim'}"]
    done = subprocess.run(
        [*command, "-c", f"luafile {ROOT / 'tests/lsp/neovim.lua'}"],
        cwd=shop,
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0
    assert done.stderr.splitlines()[-1:] == ["done"], done.stderr
