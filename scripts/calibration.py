"""How far verdicts can be trusted, release by release: measures it, and writes docs/calibration.md.

    python scripts/replay.py CLONES --out replay.jsonl
    python scripts/calibration.py replay.jsonl      # measure this version: fixtures/calibration/VERSION.json
    python scripts/calibration.py                   # write the page from what was measured

What was blocked in the replay is judged by people, in ``fixtures/precision/replay-verdicts.tsv``. A blocked commit
without a verdict, and a verdict without one, is an error.
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from kubesched_lint.version import __version__  # noqa: E402

PAGE = ROOT / "docs/calibration.md"
MEASURED = ROOT / "fixtures/calibration"
VERDICTS = ROOT / "fixtures/precision/replay-verdicts.tsv"
BEGIN = "<!-- generated: scripts/calibration.py writes this part from fixtures/calibration -->"
END = "<!-- end of the generated part -->"
RECORDED = ("deployments", "families", "lifecycles", "lifecycles-midrollout", "lifecycles-wide", "lifecycles-wide-2")
QUESTION = "no error on what ran"
MEANINGS = {
    "true": "the change breaks something",
    "sketch": "true on the nodes of the sketch, which the team would have had to change with the manifests",
    "old": "the Kubernetes of its day had an API that the modelled versions (1.30 and later) refuse",
    "follows": "an earlier commit that was blocked is not mended yet",
    "innocent": "nothing is wrong with the change",
}
"""Verdicts on blocked commits."""
Value = dict[str, Any]


# --- measuring --------------------------------------------------------------------------------------------------------


def recordings() -> Value:
    """What recordings of real schedulers say against our errors and cells."""
    asked = agreed = 0
    cells: Counter[str] = Counter()
    with TemporaryDirectory() as folder:
        ours = Path(folder, "ours.jsonl")
        for name in RECORDED:
            file = f"fixtures/conformance/{name}.jsonl.gz"
            command = ("-m", "kubesched_lint", "verify", file, "--show", "0", "-f", "json", "--predictions", str(ours))
            done = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=False)
            for kind in json.loads(done.stdout)["kinds"]:
                answers = kind["questions"].get(QUESTION, {"asked": 0, "agreed": 0})
                asked, agreed = asked + answers["asked"], agreed + answers["agreed"]
            for line in ours.read_text().splitlines():
                cells.update(cell["verdict"] for cell in json.loads(line).get("cells", ()))
    lines = (ROOT / "tests/recorded/artefacts.txt").read_text().splitlines()
    return {"asked": asked, "agreed": agreed, "artefacts": sum(QUESTION in line for line in lines), "cells": cells}


def replays(lines: Sequence[Value]) -> Iterator[Value]:
    """One row for each repository of a replay."""
    for repository in dict.fromkeys(line["repository"] for line in lines):
        own_lines = [line for line in lines if line["repository"] == repository]
        judged = [line for line in own_lines if line.get("commit")]
        if judged:
            yield {
                "repository": repository,
                "commits": len(judged),
                "workloads": judged[-1]["workloads"],
                "blocked": [line["commit"] for line in judged if line["exitCode"]],
                "cells": next((line["cells"] for line in own_lines if "cells" in line), {}),
            }


def measure(replay: Path) -> None:
    lines = [json.loads(line) for line in replay.read_text().splitlines()]
    rows = [*replays(lines)]
    never = {line["repository"] for line in lines}.difference(row["repository"] for row in rows)
    figures = {"recordings": recordings(), "replay": rows, "neverGreen": sorted(never)}
    (MEASURED / f"{__version__}.json").write_text(json.dumps(figures, indent=1) + "\n")


# --- the page ---------------------------------------------------------------------------------------------------------


def verdicts() -> Mapping[tuple[str, str], Value]:
    with VERDICTS.open(newline="") as file:
        return {(row["repository"], row["commit"]): row for row in csv.DictReader(file, delimiter="\t")}


def part() -> str:
    """The generated part of the page."""
    releases = {file.stem: json.loads(file.read_text()) for file in sorted(MEASURED.glob("*.json"))}
    judged = verdicts()
    latest = releases[max(releases)]
    lines = [BEGIN, "", *_table(releases, judged), "", *_repositories(latest, judged), "", *_blocked(latest, judged)]
    return "\n".join([*lines, "", END])


def _table(releases: Mapping[str, Value], judged: Mapping[tuple[str, str], Value]) -> Iterator[str]:
    yield "| | " + " | ".join(releases) + " |"
    yield "|---|" + "--:|" * len(releases)
    columns = [dict(_figures(release, judged)) for release in releases.values()]
    for name in columns[0]:
        yield f"| {name} | " + " | ".join(column[name] for column in columns) + " |"


def _figures(figures: Value, judged: Mapping[tuple[str, str], Value]) -> Iterator[tuple[str, str]]:
    seen = figures["recordings"]
    contradicted = seen["asked"] - seen["agreed"] - seen["artefacts"]
    yield "recorded deployments", f"{seen['asked']:,}"
    yield "**errors that a recording contradicts** (goal: 0)", f"**{contradicted}**"
    yield "set aside, because no kubelet took part in the recording", f"{seen['artefacts']}"
    yield "cells about recordings that are `?`", _share(seen["cells"])
    commits = sum(row["commits"] for row in figures["replay"])
    kinds = Counter(decision["verdict"] for decision in _verdicts_of(figures, judged))
    yield "replayed commits", f"{commits:,}"
    yield "repositories", f"{len(figures['replay'])}"
    yield "**blocks per 100 pull requests**", f"**{100 * kinds.total() / commits:.1f}**"
    yield "… and repositories in which the gate would never be green", f"{len(figures['neverGreen'])}"
    for kind, meaning in MEANINGS.items():
        goal = " (goal: at most 0.2 %)" if kind == "innocent" else ""
        yield f"… of them {kind}: {meaning}{goal}", f"{kinds[kind]} ({100 * kinds[kind] / commits:.2f} %)"
    cells = Counter[str]()
    for row in figures["replay"]:
        cells.update(row["cells"])
    yield "cells of `simulate` in these repositories that are `?`", _share(cells)


def _share(cells: Mapping[str, int]) -> str:
    counted = {verdict: count for verdict, count in cells.items() if verdict != "none"}
    every = sum(counted.values())
    return f"{100 * counted.get('unknown', 0) / every:.1f} % of {every:,}" if every else "not measured"


def _verdicts_of(figures: Value, judged: Mapping[tuple[str, str], Value]) -> list[Value]:
    """The verdict on each blocked commit. Raises KeyError if one is missing."""
    return [judged[row["repository"], commit] for row in figures["replay"] for commit in row["blocked"]]


def _repositories(figures: Value, judged: Mapping[tuple[str, str], Value]) -> Iterator[str]:
    yield "| repository | commits | workloads | blocked | innocent | `?` |"
    yield "|---|--:|--:|--:|--:|--:|"
    for row in figures["replay"]:
        innocent = sum(judged[row["repository"], commit]["verdict"] == "innocent" for commit in row["blocked"])
        counts = f"{row['commits']} | {row['workloads']} | {len(row['blocked'])} | {innocent}"
        yield f"| {row['repository']} | {counts} | {_share(row['cells'])} |"


def _blocked(figures: Value, judged: Mapping[tuple[str, str], Value]) -> Iterator[str]:
    yield "| blocked | verdict | why |"
    yield "|---|---|---|"
    for row in _verdicts_of(figures, judged):
        if row["verdict"] not in ("follows", "old"):
            yield f"| {row['repository']} {row['commit'][:8]} | {row['verdict']} | {row['reason']} |"


def main() -> None:
    if sys.argv[1:]:
        measure(Path(sys.argv[1]))
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(before + part() + rest.partition(END)[2])


if __name__ == "__main__":
    main()
