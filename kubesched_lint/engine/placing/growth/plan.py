"""The result of growing the cluster: the new nodes, and a verdict for each workload."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from kubesched_lint.engine.base.text import SHOWN, joined, plural
from kubesched_lint.engine.model.nodes.node import Node
from kubesched_lint.engine.model.pod import Pod
from kubesched_lint.engine.model.workloads.workload import Workload

TODAY, GROWN, LIMITED, NEVER = "fits today", "fits after growing", "pool limit reached", "no pool can help"


class Added(Struct, frozen=True):
    """``count`` new nodes of one kind."""

    pool: str
    zone: str
    shape: str
    count: int
    environments: tuple[str, ...] = ()
    """Of several versions of a set, those that need them; none if all do."""

    def __str__(self) -> str:
        return f"{self.count} × {self.shape}{f' in {self.zone}' if self.zone else ''} (pool {self.pool})"


def listed(added: Sequence[Added]) -> str:
    """``2 × m6i.large in a (pool p), 1 × m6i.large in b (pool p) and 1 × …``; of many kinds the first few."""
    shown, others = [str(group) for group in added[:SHOWN]], added[SHOWN:]
    if others:
        count = sum(group.count for group in others)
        kinds = plural(len(others), "another kind", f"{len(others)} other kinds")
        shown.append(f"{count} more {plural(count, 'node')} of {kinds}")
    return joined(shown)


class Verdict(Struct, frozen=True):
    """Pods of one workload: ``today`` fit on existing nodes, ``grown`` on new nodes ``added``, ``left`` nowhere."""

    workload: Workload
    kind: str
    wanted: int
    today: int
    grown: int
    left: int
    added: tuple[Added, ...] = ()
    limited: tuple[str, ...] = ()
    """Pools that could help if their limits allowed it."""
    message: str = ""
    """The scheduler's message about the pods that are left."""
    sizes_decide: bool = False
    """Whether a machine might be large enough after all, because its size is an estimate."""

    def __str__(self) -> str:
        """``fits after adding 2 × m6i.large in eu-west-1b (pool general)``."""
        if self.kind == GROWN:
            return f"fits after adding {listed(self.added)}"
        if self.kind == LIMITED:
            return f"pool limit reached ({', '.join(self.limited)})"
        if self.kind == NEVER and self.sizes_decide:
            return "no pool helps, unless its machines offer more than is usual"
        return "no pool can ever help" if self.kind == NEVER else TODAY


class Plan(Struct, frozen=True):
    """``nodes`` are the new ones; ``verdicts`` are in the set's order, without DaemonSets and Jobs."""

    added: tuple[Added, ...] = ()
    nodes: tuple[Node, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    left: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """The rest of each pool's limits after the plan."""
    placed: tuple[tuple[Pod, str], ...] = ()
    """Each pod that found a place, with the name of its node."""
    skipped: str = ""
    """Why nothing was planned; empty if the plan was made."""

    def of(self, workload: Workload) -> Verdict | None:
        return next((v for v in self.verdicts if v.workload is workload), None)
