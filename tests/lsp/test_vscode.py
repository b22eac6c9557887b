"""The extension for VS Code, in Node.js with stand-ins for the editor and for the client library."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kubesched_lint.version import __version__

EXTENSION = Path(__file__).parents[2] / "editors/vscode"
PACKAGE = json.loads((EXTENSION / "package.json").read_text())
_PLAY = """
const told = [];
const tell = (...what) => told.push(what);
const settings = { path: "kubesched-lint", arguments: ["--target", "eu"] };
const folder = { uri: { scheme: "file", fsPath: "/repo" } };
const registered = {};
class LanguageClient {
  constructor(id, name, server, options) { tell("made", server, options); }
  async start() {
    tell("start");
    if (settings.path === "nowhere") throw new Error("ENOENT");
    this.runs = true;
  }
  needsStop() { return this.runs; }
  async stop() { tell("stop"); }
}
const modules = {
  vscode: {
    commands: { registerCommand: (name, run) => { registered[name] = run; return name; } },
    window: { showErrorMessage: (text) => tell("error", text) },
    workspace: {
      getConfiguration: () => ({ get: (name) => settings[name] }),
      onDidChangeConfiguration: (run) => { registered.settings = run; },
      workspaceFolders: [folder],
    },
  },
  "vscode-languageclient/node": { LanguageClient },
};
const Module = require("module");
const load = Module._load;
Module._load = (name, ...more) => modules[name] || load(name, ...more);
const extension = require(process.argv[1]);
(async () => {
  await extension.activate({ subscriptions: [] });
  settings.path = "nowhere";
  await registered.settings({ affectsConfiguration: (name) => name === "kubesched-lint" });
  await registered.settings({ affectsConfiguration: () => false });
  settings.path = "kubesched-lint";
  await registered["kubesched-lint.restart"]();
  await extension.deactivate();
  console.log(JSON.stringify(told));
})();
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node.js")
def test_it_starts_the_server_and_says_what_to_install() -> None:
    done = subprocess.run(
        ["node", "-e", _PLAY, str(EXTENSION / "extension.js")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    told: list[list[Any]] = json.loads(done.stdout)
    started, failed = ["made", "start"], ["made", "start", "error"]
    assert [one[0] for one in told] == [*started, "stop", *failed, *started, "stop"]
    _, server, options = told[0]
    assert server == {
        "command": "kubesched-lint",
        "args": ["lsp", "--target", "eu"],
        "options": {"cwd": "/repo"},
    }
    assert {one["scheme"] for one in options["documentSelector"]} == {"file"}
    assert told[5][1] == "nowhere lsp did not start: ENOENT. Install it with: pipx install 'kubesched-lint[lsp]'"


def test_no_folder_chooses_the_program() -> None:
    settings = PACKAGE["contributes"]["configuration"]["properties"]
    assert {setting["scope"] for setting in settings.values()} == {"machine"}
    assert set(PACKAGE["capabilities"]["untrustedWorkspaces"]["restrictedConfigurations"]) == set(settings)


def test_it_has_the_version_of_the_program() -> None:
    assert PACKAGE["version"] == __version__
    lock = json.loads((EXTENSION / "package-lock.json").read_text())["packages"]
    assert lock[""]["dependencies"] == PACKAGE["dependencies"]
    assert [name for name, package in lock.items() if "resolved" in package] == [], "any registry serves"
