"""What lint says of the mistakes of ``fixtures/clouds``, from ``expected.json``, as a part of docs/research/clouds.md.

python scripts/cloud_table.py           # write the part
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from scripts.cloud_fixtures import FOLDER, descriptions

PAGE = Path(__file__).parents[1] / "docs" / "research" / "clouds.md"
BEGIN = "<!-- generated: scripts/cloud_table.py writes this part from fixtures/clouds/expected.json -->"
END = "<!-- end of the generated part -->"
DECISIONS = ("complete", "open", "")
"""Whether the user says that the node groups are complete, that they are open, or nothing."""
FIXED = ("kubeadm",)
"""Clusters to which nothing adds nodes."""
ESTABLISHED = ("karpenter-nodepools",)
"""Clusters whose input shows that the list of node groups is complete."""

Row = Mapping[str, Any]


def read() -> Mapping[str, Any]:
    expected_rows: Mapping[str, Any] = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))
    return expected_rows


def mistakes() -> Mapping[str, Row]:
    mistake_rows: Mapping[str, Row] = read()["mistakes"]
    return mistake_rows


def gap(cloud: str, decision: str, name: str) -> str:
    """Return the severity that lint finds where it falls short of the expectation; empty where it does not."""
    fits = (
        gap["found"]
        for gap in read()["gaps"]
        if name in gap["mistakes"] and cloud in gap["clouds"] and decision in gap["decisions"]
    )
    return next(fits, "")


def column(cloud: str, decision: str) -> str:
    """Return the column of ``expected.json`` that holds for a cloud."""
    if cloud in FIXED:
        return "fixed"
    return decision or ("complete" if cloud in ESTABLISHED else "open")


def row_of(cloud: str, row: Row) -> Row:
    """Return the row with what differs on the cloud."""
    own: Row = {}
    for clouds, differs in row.get("except", {}).items():
        own = differs if cloud in clouds.split(", ") else own
    return {**row, **own}


def expected(cloud: str, decision: str, name: str) -> tuple[str, str]:
    """Return (severity or ``silent``, rule) of a mistake."""
    row = row_of(cloud, mistakes()[name])
    return row[column(cloud, decision)], row["rule"]


def counts(cloud: str, decision: str) -> str:
    seen = Counter(gap(cloud, decision, name) or expected(cloud, decision, name)[0] for name in mistakes())
    return " / ".join(str(seen[severity]) for severity in ("error", "warning", "silent"))


def part() -> Iterator[str]:
    yield BEGIN
    yield ""
    yield f"Of the {len(mistakes())} mistakes, so many are error / warning / silent:"
    yield ""
    yield "| nodes of | `complete` | `open` | undecided |"
    yield "|---|---|---|---|"
    for cloud in descriptions():
        yield f"| {cloud} | " + " | ".join(counts(cloud, decision) for decision in DECISIONS) + " |"
    yield ""
    yield "| mistake | no autoscaler | `complete` | `open` | why |"
    yield "|---|---|---|---|---|"
    for name, row in mistakes().items():
        yield from lines_of(name, row)
    yield ""
    yield END


def lines_of(name: str, row: Row) -> Iterator[str]:
    """Yield the line of a mistake, a line for each group of clouds that differs, and what lint lacks."""
    title = name.partition("-")[2].replace("-", " ")
    yield f"| {title} | {row['fixed']} | {row['complete']} | {row['open']} | {row['why']} |"
    for clouds, differs in row.get("except", {}).items():
        if "complete" in differs:
            both = {**row, **differs}
            yield f"| … on {clouds} | | {both['complete']} | {both['open']} | {both['why']} |"
    lacks = [gap for gap in read()["gaps"] if name in gap["mistakes"]]
    if lacks:
        yield f"| … but today | | | {lacks[0]['found']} | {lacks[0]['why']} |"


def main() -> None:
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    PAGE.write_text(before + "\n".join(part()) + after, encoding="utf-8")


if __name__ == "__main__":
    main()
