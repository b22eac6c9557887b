// Starts `kubesched-lint lsp` and hands it what happens in the editor. Everything else is in the server.
"use strict";

const { commands, window, workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

const INSTALL = "Install it with: pipx install 'kubesched-lint[lsp]'";
let client;

async function start() {
  const settings = workspace.getConfiguration("kubesched-lint");
  const folder = (workspace.workspaceFolders || [])[0];
  const server = {
    command: settings.get("path"),
    args: ["lsp", ...settings.get("arguments")],
    options: folder && folder.uri.scheme === "file" ? { cwd: folder.uri.fsPath } : {},
  };
  const files = ["yaml", "json"].map((language) => ({ scheme: "file", language }));
  client = new LanguageClient("kubesched-lint", "kubesched-lint", server, { documentSelector: files });
  try {
    await client.start();
  } catch (error) {
    window.showErrorMessage(`${server.command} lsp did not start: ${error.message || error}. ${INSTALL}`);
  }
}

async function stop() {
  const running = client;
  client = undefined;
  if (running && running.needsStop()) await running.stop();
}

async function activate(context) {
  const restart = async () => {
    await stop();
    await start();
  };
  context.subscriptions.push(
    commands.registerCommand("kubesched-lint.restart", restart),
    workspace.onDidChangeConfiguration((event) => event.affectsConfiguration("kubesched-lint") && restart()),
  );
  await start();
}

module.exports = { activate, deactivate: stop };
