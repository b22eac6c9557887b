"""The parts of a page besides findings: the matrix of events and the diagram of the cluster, with limited work."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec import Struct

from kubesched_lint.commands.limits import FEW_ROWS, MOST_CELLS, MOST_ROWS, MOST_WORKLOADS
from kubesched_lint.commands.lint.cluster_diagram import ClusterDiagram, diagram
from kubesched_lint.commands.simulate.run import simulate
from kubesched_lint.commands.simulate.simulation_report import SimulationReport
from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.placing.scenarios import grown_scenario
from kubesched_lint.engine.runs.courses import Effort
from kubesched_lint.explaining.objects.refused import accepted
from kubesched_lint.findings import Finding
from kubesched_lint.linter.lint import lasting_scenario
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import ManifestSet


class ReportExtras(Struct, frozen=True):
    """``simulation`` None: the set is too large; ``notes`` say what was left out."""

    simulation: SimulationReport | None
    diagram: ClusterDiagram
    notes: tuple[str, ...] = ()


def extras_of(manifests: ManifestSet, cluster: Cluster, options: Options, findings: Sequence[Finding]) -> ReportExtras:
    """Return matrix and diagram; if the matrix cannot have all workloads, it has those with findings first."""
    rows, notes = _rows(manifests, len(cluster.inventory.nodes), findings)
    simulation = simulate(manifests, cluster, options, effort=effort_for(len(rows)), only=rows) if rows else None
    return ReportExtras(simulation, _diagram(manifests, cluster, options, findings), notes)


def effort_for(rows: int, of_all: int = 0) -> Effort:
    """Return the effort for a matrix with so many rows, one of several with so many rows together."""
    return Effort() if rows <= FEW_ROWS and of_all <= MOST_ROWS else Effort(runs=1, nodes=1)


def most_rows(nodes: int, cells: int = MOST_CELLS) -> int:
    """Return the most rows of a matrix on a cluster with so many nodes; ``cells`` limits rows times nodes."""
    return max(10, min(MOST_ROWS, cells // max(nodes, 1)))


def _rows(
    manifests: ManifestSet, nodes: int, findings: Sequence[Finding]
) -> tuple[Collection[ObjectRef], tuple[str, ...]]:
    """Return the workloads of the matrix, and notes about those left out."""
    workloads = [w.ref for w in manifests.inventory.workloads if w.kind != "CronJob"]
    everything = frozenset(workloads)
    if len(workloads) > MOST_WORKLOADS:
        many = f"{len(workloads):,} workloads are too many for a matrix (at most {MOST_WORKLOADS:,})"
        return (), (f"{many}: run kubesched-lint simulate on some of them",)
    most = most_rows(nodes)
    if len(everything) <= most:
        return everything, ()
    with_findings = [f.object for f in sorted(findings, key=lambda f: -f.severity) if f.object in everything]
    first = list(dict.fromkeys((*with_findings, *workloads)))[:most]
    note = f"the matrix shows {len(first):,} of {len(everything):,} workloads, those with findings first"
    return frozenset(first), (f"{note}: kubesched-lint simulate shows all",)


def _diagram(manifests: ManifestSet, cluster: Cluster, options: Options, findings: Sequence[Finding]) -> ClusterDiagram:
    grown = grown_scenario(accepted(lasting_scenario(manifests, cluster, options)))
    assert grown.cluster is not None
    added = grown.cluster.inventory.nodes[len(cluster.inventory.nodes) :]
    return diagram(grown.without_pools, findings, cluster.inventory.nodes, added)
