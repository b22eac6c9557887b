"""``python -m tests.session.run --count N --seed S``: random edits of a set, and where a warm session and a fresh run
differ.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random

from kubesched_lint.commands.lint.run import Request, check
from kubesched_lint.findings import Report
from kubesched_lint.linter.options import Options
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.session.session import Session
from scripts.make_corpus import write

ROOT = Path(__file__).parents[2]
SKETCH = ROOT / "fixtures/clusters/three-zones.yaml"
BROKEN = ("a: [\n", "\t- x\n", "kind: {\n", '"\n')


def said(report: Report) -> tuple[object, ...]:
    """What a report says, apart from notes about other commands."""
    return report.findings, report.skipped, report.errors


def edited(text: str, dice: Random) -> str:
    """Return the text after an edit that leaves YAML, usually with another meaning."""
    lines = text.split("\n")
    at = int(dice.random() * len(lines))
    choice = int(dice.random() * 5)
    if choice == 0:
        lines.insert(at, "# a comment")
    elif choice == 1:
        lines = [line.replace("replicas: ", "replicas: 1") for line in lines]
    elif choice == 2:
        lines = [line.replace("memory: ", "memory: 9") for line in lines]
    elif choice == 3:
        lines = [*lines, "---", "apiVersion: v1", "kind: Namespace", "metadata: {name: extra}", ""]
    else:
        lines = [line.replace("zone", "zoned") if dice.random() < 0.5 else line for line in lines]
    return "\n".join(lines)


def differences(seed: int, edits: int, files: int, cluster: str | None) -> Iterator[str]:
    """Yield a sentence for each edit after which the session says something else than a fresh run."""
    dice = Random(seed)
    book, options = Rulebook.shipped(), Options()
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), files, seed)
        request = Request((folder,), cluster)
        session = Session(request, options, book)
        paths = sorted(Path(folder).rglob("*.yaml"))
        for number in range(edits):
            path = paths[int(dice.random() * len(paths))]
            text = edited(path.read_text(), dice)
            session.put(str(path), text + BROKEN[number % len(BROKEN)])
            session.at_once()
            session.put(str(path), text)
            path.write_text(text)
            fresh = check(request, options, book)
            at_once = session.at_once()
            if not at_once.waiting and said(at_once.report) != said(fresh):
                yield f"seed {seed}, edit {number}: at once"
            if said(session.whole().report) != said(fresh):
                yield f"seed {seed}, edit {number}: whole"
            if not session.at_once().waiting and said(session.at_once().report) != said(fresh):
                yield f"seed {seed}, edit {number}: at once after whole"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--files", type=int, default=12)
    chosen = parser.parse_args()
    found = 0
    for seed in range(chosen.seed, chosen.seed + chosen.count):
        for text in differences(seed, 10, chosen.files, str(SKETCH) if seed % 2 else None):
            print(text, flush=True)
            found += 1
    print(f"{chosen.count} sets, {found} differences")


if __name__ == "__main__":
    main()
