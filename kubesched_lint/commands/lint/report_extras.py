"""What a page shows beside findings: the what-happens-when matrix and the picture of the cluster, bounded in time."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from kubesched_lint.analysis.worlds import grown_world, settled
from kubesched_lint.cluster.cluster import Cluster
from kubesched_lint.commands.lint.cluster_diagram import ClusterDiagram, scene
from kubesched_lint.commands.simulate.run import SimulationReport, simulate
from kubesched_lint.findings import Finding, ObjectRef
from kubesched_lint.lifecycle.courses import Effort
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading import ManifestSet
from kubesched_lint.record import record
from kubesched_lint.world.world import World

MOST_ROWS = 100
FEW_ROWS = 20
"""Of more workloads fewer seeded courses are followed: doubts stay doubts, and nothing else changes."""
MOST_CELLS_OF_NODES = 50_000
"""Rows times nodes: as much as takes some seconds."""
MOST_WORKLOADS = 1_500
"""Of larger sets there is no matrix: to see who gets into whose way is quadratic."""


@record
class ReportExtras:
    """``outlook`` None: the set is too large; ``notes`` say what was left out."""

    outlook: SimulationReport | None
    scene: ClusterDiagram
    notes: tuple[str, ...] = ()


def panorama(manifests: ManifestSet, cluster: Cluster, options: Options, findings: Sequence[Finding]) -> ReportExtras:
    """The workloads that findings are about come first where not all can be told. Pure."""
    rows, notes = _rows(manifests, len(cluster.inventory.nodes), findings)
    effort = Effort() if len(rows) <= FEW_ROWS else Effort(runs=1, nodes=1)
    outlook = simulate(manifests, cluster, options, effort=effort, only=rows) if rows else None
    return ReportExtras(outlook, _scene(manifests, cluster, options, findings), notes)


def _rows(
    manifests: ManifestSet, nodes: int, findings: Sequence[Finding]
) -> tuple[Collection[ObjectRef], tuple[str, ...]]:
    """Of which workloads the matrix tells, and what is to be said of the others."""
    workloads = [w.ref for w in manifests.inventory.workloads if w.kind != "CronJob"]
    everything = frozenset(workloads)
    if len(workloads) > MOST_WORKLOADS:
        many = f"{len(workloads):,} workloads are too many for a matrix (at most {MOST_WORKLOADS:,})"
        return (), (f"{many}: kubesched-lint simulate tells of a part of them",)
    most = max(10, min(MOST_ROWS, MOST_CELLS_OF_NODES // max(nodes, 1)))
    if len(everything) <= most:
        return everything, ()
    found = [f.object for f in sorted(findings, key=lambda f: -f.severity) if f.object in everything]
    first = list(dict.fromkeys((*found, *workloads)))[:most]
    told = f"the matrix tells of {len(first):,} of {len(everything):,} workloads, those with findings first"
    return frozenset(first), (f"{told}: kubesched-lint simulate tells of all",)


def _scene(manifests: ManifestSet, cluster: Cluster, options: Options, findings: Sequence[Finding]) -> ClusterDiagram:
    world = World(manifests.inventory, settled(cluster), manifests.premises(options))
    grown = grown_world(world)
    assert grown.cluster is not None
    added = grown.cluster.inventory.nodes[len(cluster.inventory.nodes) :]
    return scene(grown.without_pools, findings, cluster.inventory.nodes, added)
