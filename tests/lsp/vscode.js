// What somebody does in VS Code: an extension with this main and the activation event "*" does it in the open folder,
// and writes what it sees to the file in $PROBE. See scripts/record_lsp.py.
"use strict";

const fs = require("fs");
const vscode = require("vscode");

const tell = (...what) => fs.appendFileSync(process.env.PROBE || "/tmp/probe.jsonl", JSON.stringify(what) + "\n");
const sleep = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

async function until(what, find) {
  for (let tries = 0; tries < 200; tries += 1) {
    const found = await find();
    if (found) return found;
    await sleep(150);
  }
  throw new Error(`${what} never came`);
}

async function session() {
  const ask = vscode.commands.executeCommand;
  const file = vscode.Uri.joinPath(vscode.workspace.workspaceFolders[0].uri, "manifests/cache.yaml");
  const document = await vscode.workspace.openTextDocument(file);
  await vscode.window.showTextDocument(document);
  const diagnostics = () => vscode.languages.getDiagnostics(file);
  const [found] = await until("the finding", () => diagnostics().length && diagnostics());
  tell("finding", found.code.value, found.severity, found.range, found.relatedInformation.length);
  const lenses = await until("the lens", async () => {
    const shown = await ask("vscode.executeCodeLensProvider", file, 10);
    return shown.length && shown;
  });
  tell("lens", lenses[0].range.start.line, lenses[0].command.title);
  const hovers = await ask("vscode.executeHoverProvider", file, new vscode.Position(4, 9));
  tell("hover", hovers[0].contents[0].value.slice(0, 40));
  const actions = await ask("vscode.executeCodeActionProvider", file, found.range);
  tell("fix", actions[0].title, actions[0].kind.value, actions[0].isPreferred);
  await vscode.workspace.applyEdit(actions[0].edit);
  await until("no finding", () => !diagnostics().length);
  await ask("undo");
  await until("the finding again", () => diagnostics().length);
  await vscode.workspace.saveAll();
  await ask("kubesched-lint.restart");
  tell("done", vscode.version);
}

module.exports = { activate: () => session().catch((error) => tell("error", String(error.stack || error))) };
