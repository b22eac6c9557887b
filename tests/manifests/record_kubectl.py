"""Asks kubectl what it makes of every snippet of ``kubectl_snippets.txt`` and writes ``kubectl_answers.json``.

Needs no cluster: ``kubectl annotate --local`` reads, converts and prints. Run it after a new kubectl:
``python tests/manifests/record_kubectl.py``.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

HERE = Path(__file__).parent
HEAD = "apiVersion: example.com/v1\nkind: Example\nmetadata: {name: a}\n"


def snippets() -> list[str]:
    """One a line, written as JSON strings so that blanks and controls show; ``#`` begins a comment."""
    lines = (HERE / "kubectl_snippets.txt").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line and not line.startswith("#")]


def answer(snippet: str) -> dict[str, object]:
    """``value`` without the head, or the ``error`` in kubectl's words."""
    command = ["kubectl", "annotate", "--local", "-f", "-", "x=y", "-o", "json"]
    done = subprocess.run(command, input=(HEAD + snippet).encode(), capture_output=True, check=False)
    if done.returncode:
        return {"error": done.stderr.decode().strip().removeprefix("error: error parsing STDIN: ")}
    value = json.loads(done.stdout)
    for key in ("apiVersion", "kind", "metadata"):
        del value[key]
    return {"value": value}


def main() -> None:
    version = subprocess.run(["kubectl", "version", "--client"], capture_output=True, check=True, text=True).stdout
    answers = {snippet: answer(snippet) for snippet in snippets()}
    text = json.dumps({"kubectl": version.splitlines()[0], "answers": answers}, indent=1, ensure_ascii=True)
    (HERE / "kubectl_answers.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
