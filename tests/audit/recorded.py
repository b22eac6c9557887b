"""Compare what ``audit`` says of lost nodes with recorded losses: ``python -m tests.audit.recorded FILE…``.

Each recorded loss of nodes becomes a question: the pods where the phase before left them, and the nodes that were lost.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from functools import reduce
from operator import or_
from pathlib import Path
from typing import NamedTuple

from kubesched_lint.commands.audit.losses import Losses
from kubesched_lint.commands.audit.running_cluster import RunningCluster
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.running_set import running_set
from tests.drain.recorded import Moment, cases, cluster_of, moments


class Compared(NamedTuple):
    """One workload that lost pods."""

    case: str
    workload: str
    said: int
    """Pods that wait, by counting or in one run."""
    proven: int
    recorded: int
    is_counted: bool
    """Counting clears the loss: no order of events leaves pods waiting."""

    @property
    def is_wrong(self) -> bool:
        """Whether a proof says the opposite of what was recorded."""
        return self.proven > self.recorded or (self.is_counted and self.recorded > 0)


def compared(path: Path) -> Iterator[Compared | str]:
    """Yield our answer to each recorded loss of a file, by workload, or why it is not asked."""
    for case in cases(path):
        for found in moments(case, "lose"):
            if isinstance(found, str):
                yield found
            elif any(node["spec"].get("unschedulable") for node in found.nodes):
                yield "a node is cordoned, which audit takes to pass"
            else:
                yield from _answers(case["id"], found)


def _answers(case: str, moment: Moment) -> Iterator[Compared]:
    cluster = cluster_of(moment.objects)
    running = running_set(cluster)
    losses = Losses(RunningCluster(cluster, running, running.premises(Options())))
    nodes = reduce(or_, map(dict(losses.places()).__getitem__, moment.step["lose"]))
    gone = losses.gone(nodes)
    is_counted = losses.has_room(gone, nodes)
    left = () if is_counted else losses.left(nodes, gone)
    assert left is not None
    left = losses.proven(nodes, gone, left)
    for ref in dict.fromkeys(group.ref for group, _ in gone):
        name = f"{ref.kind}/{ref.name}"
        mine = [part for part in left if part.group.ref == ref]
        said, proven = sum(part.pods for part in mine), sum(part.surely.pods for part in mine)
        yield Compared(case, name, said, proven, max(moment.fewer(name), 0), is_counted)


def main(paths: list[str]) -> int:
    counts: Counter[str] = Counter()
    for path in paths:
        for found in compared(Path(path)):
            if isinstance(found, str):
                counts[f"not asked: {found}"] += 1
                continue
            how = "cleared by counting" if found.is_counted else f"{found.proven} of {found.said} proven"
            counts[f"{how}, {found.recorded} recorded"] += 1
            if found.is_wrong:
                counts["wrong proofs"] += 1
                print(found)
    print(*(f"{count:4} {text}" for text, count in sorted(counts.items())), sep="\n")
    return int(counts["wrong proofs"] > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
