"""Lints public repositories and writes their errors and warnings as JSON lines: ``python scripts/precision.py FOLDER``.

FOLDER has one folder per repository, named ``OWNER+NAME``, with the files of the commit that
``fixtures/precision/repositories.json`` lists. The script lints each of them as one set against the six plain nodes of
``fixtures/precision/sketch.yaml``, with the profiles ci and strict::

    python scripts/precision.py FOLDER --out findings.jsonl
    python scripts/precision.py FOLDER --only argoproj --profile strict
    python scripts/precision.py FOLDER --list blind.json --profile ci

A line has repository, profile, rule, severity, file, line and message. A table of rules goes to standard output.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

_FIXTURES = Path(__file__).resolve().parents[1] / "fixtures/precision"
_PROFILES = ("ci", "strict")
_SEVERITIES = ("error", "warning", "note")
_SECONDS = 900


def repositories(listed: str) -> list[str]:
    """The names in the file ``listed`` of ``fixtures/precision``, ``owner/name`` each."""
    return [row["repository"] for row in json.loads((_FIXTURES / listed).read_text())]


def report(folder: Path, profile: str) -> dict[str, Any] | None:
    """The JSON report of ``folder``; None if the run wrote none."""
    with TemporaryDirectory() as scratch:
        out = Path(scratch, "out.json")
        options = ["-c", str(_FIXTURES / "sketch.yaml"), "--profile", profile, "--no-cache", "--format", f"json={out}"]
        command = [sys.executable, "-m", "kubesched_lint", "lint", ".", *options]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=_SECONDS)
        if not out.exists():
            print(f"{folder.name}: exit code {done.returncode}: {done.stderr[-300:]}", file=sys.stderr)
            return None
        linted: dict[str, Any] = json.loads(out.read_text())
        return linted


def lines(repository: str, profile: str, linted: dict[str, Any], lowest: str) -> Iterator[dict[str, Any]]:
    """The findings of a report from ``lowest`` up, one line each."""
    wanted = _SEVERITIES[: _SEVERITIES.index(lowest) + 1]
    for finding in linted["findings"]:
        if finding["severity"] in wanted:
            place = finding.get("location") or {}
            yield {
                "repository": repository,
                "profile": profile,
                "rule": finding["rule"],
                "severity": finding["severity"],
                "file": place.get("path"),
                "line": place.get("line"),
                "object": finding.get("object"),
                "message": finding["message"],
            }


def table(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    """One line per profile, severity and rule, with its count and its repositories."""
    counts = Counter((row["profile"], row["severity"], row["rule"]) for row in rows)
    for (profile, severity, rule), count in sorted(counts.items(), key=lambda item: (item[0][:2], -item[1])):
        where = Counter(row["repository"] for row in rows if (row["profile"], row["rule"]) == (profile, rule))
        most = ", ".join(f"{name} {many}" for name, many in where.most_common(3))
        yield f"{profile:7} {severity:8} {count:5} {rule:40} {most}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, default=Path("precision.jsonl"))
    parser.add_argument("--profile", action="append", choices=_PROFILES, help="default: both")
    parser.add_argument("--lowest", default="warning", choices=_SEVERITIES)
    parser.add_argument("--list", default="repositories.json", help="list of repositories in fixtures/precision")
    parser.add_argument("--only", default="", help="part of a repository's name")
    options = parser.parse_args()
    rows = []
    with options.out.open("w") as out:
        for repository in (name for name in repositories(options.list) if options.only in name):
            folder = options.folder / repository.replace("/", "+")
            for profile in options.profile or _PROFILES:
                for row in lines(repository, profile, report(folder, profile) or {"findings": []}, options.lowest):
                    rows.append(row)
                    print(json.dumps(row), file=out, flush=True)
    print(*table(rows), sep="\n")


if __name__ == "__main__":
    main()
