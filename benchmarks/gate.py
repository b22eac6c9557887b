"""Counts the instructions of a few commands and compares them with a committed baseline; at most 3 % more are allowed.

``python benchmarks/gate.py [--write] [CASE…]`` from the repository. valgrind counts, so the load of the machine does
not matter. The version of Python does: ``gate.json`` has a baseline for each. Exit code 1 when a case needs more than
``LIMIT`` times its baseline, else 0, also without valgrind (the gate says so). ``--write`` makes the counts of today
the baseline; commit it with the reason.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
BASELINE = Path(__file__).with_suffix(".json")
LIMIT = 1.03
SHOP = ("fixtures/shop", "--cluster", "fixtures/clusters/three-zones.yaml")
FILES = 200
CORPUS = "CORPUS"
"""Stands for the folder with ``FILES`` generated manifests."""
CASES: Mapping[str, Sequence[str]] = {
    "version": ("--version",),
    "lint one file": ("lint", "fixtures/shop/web.yaml", "--no-cache", "--no-config"),
    "lint shop": ("lint", *SHOP, "--no-cache", "--no-config"),
    "lint 200 files": ("lint", CORPUS, *SHOP[1:], "--no-cache", "--no-config"),
    "simulate shop": ("simulate", *SHOP, "--no-config"),
}
_COUNTED = re.compile(r"I\s+refs:\s+([\d,]+)")


def instructions(arguments: Sequence[str], folder: Path) -> int:
    """Return the number of instructions of one run of the command line. Raises RuntimeError if valgrind has none."""
    words = [str(folder) if word == CORPUS else word for word in arguments]
    out = folder.with_name("cachegrind.out")
    valgrind = ("valgrind", "--tool=cachegrind", "--cache-sim=no", f"--cachegrind-out-file={out}")
    command = (sys.executable, "-m", "kubesched_lint", *words)
    # The second run is counted: it finds the bytecode that the first has written, and none of other runs.
    environment = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONPATH": str(ROOT)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory() as bytecode:
        environment["PYTHONPYCACHEPREFIX"] = bytecode
        subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=False)
        counted = (*valgrind, *command)
        done = subprocess.run(counted, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    match = _COUNTED.search(done.stderr)
    if match is None or done.returncode not in (0, 1):
        raise RuntimeError(f"{' '.join(words)}: exit code {done.returncode}: {done.stderr[-300:]}")
    return int(match[1].replace(",", ""))


def key() -> str:
    """Return the key of a baseline: the interpreter and the kind of processor."""
    return f"{platform.python_implementation()} {platform.python_version()} {platform.machine()}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    if shutil.which("valgrind") is None:
        print("valgrind is not installed: nothing was measured")
        return 0
    kept = json.loads(BASELINE.read_text("utf-8")) if BASELINE.exists() else {}
    before = kept.setdefault(key(), {})
    if not before and not asked.write:
        print(f"gate.json has no baseline for {key()}: --write makes one")
    slower = False
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "corpus"
        made = (sys.executable, "scripts/make_corpus.py", str(folder), str(FILES))
        subprocess.run(made, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        for case in asked.cases or CASES:
            count = instructions(CASES[case], folder)
            ratio = count / before[case] if before.get(case) else 1.0
            mark = "  SLOWER" if ratio > LIMIT else ""
            print(f"{case:16} {count / 1e6:10,.1f} M instructions  {ratio:6.3f}{mark}", flush=True)
            slower = slower or bool(mark)
            if asked.write:
                before[case] = count
    if asked.write:
        BASELINE.write_text(json.dumps(kept, indent=2) + "\n", "utf-8")
        return 0
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
