"""What was once said wrongly, held against the truth: ``lint`` and ``simulate`` on every row of a table.

``Row.runs`` is the truth: how many pods of each workload run after the first deployment. Most of it was recorded from a
real control plane; the rest follows from upstream source.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

import pytest
from msgspec import Struct, field

from kubesched_lint.commands.lint.run import report_on
from kubesched_lint.commands.simulate.run import simulate
from kubesched_lint.commands.simulate.simulation_report import SimulationReport
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.events.answers.cells import BAD, FINE, REFUSED, UNKNOWN, Cell
from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.findings import Finding, Report, Severity
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import ManifestSet, manifest_set
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.sources.clusters.read import cluster_from
from kubesched_lint.sources.manifests.loader import documents

FOLDER = Path(__file__).parents[2] / "fixtures" / "wrong-verdicts"
OPTIONS = Options(profile="strict")
ASSUMED = "*"
"""Ends the text of a cell that rests on what the cluster file does not tell of volumes."""


class Row(Struct, frozen=True, dict=True):
    manifests: str
    """A file, or a folder of files."""
    runs: dict[str, int]
    """Name of a workload → pods of it that run."""
    cluster: str = "three.cluster.json"
    says: frozenset[str] = frozenset()
    """``rule name`` of findings that there are, of whatever severity."""
    never_says: frozenset[str] = frozenset()
    """Rules that say nothing."""
    skips: frozenset[str] = frozenset()
    """Rules that ask for what the cluster file does not tell."""
    assumes: dict[str, str] = field(default_factory=dict)
    """Name of a workload of which both reports say that its pods run, and the assumption beside it that is wrong."""
    untold: frozenset[str] = frozenset()
    """Workloads of which the cluster file, or one pod that stands for all, does not tell enough for a verdict."""
    noted: tuple[str, ...] = ()
    """Parts of notes of both reports."""
    text: bytes = b""
    """The manifests, where they are in no file."""

    def __str__(self) -> str:
        return f"{self.manifests} {self.cluster}".replace(".cluster", "")

    @cached_property
    def given(self) -> tuple[ManifestSet, Cluster]:
        path = FOLDER / self.manifests
        files = [path] if path.is_file() else sorted(path.rglob("*.yaml"))
        texts = [(str(f.relative_to(FOLDER)), f.read_bytes()) for f in files] or [(self.manifests, self.text)]
        entries = [entry for name, text in texts for entry in documents(name, text, is_read)]
        data = (FOLDER / self.cluster).read_bytes()
        return manifest_set(entries, "default"), cluster_from([(self.cluster, data)], self.cluster)

    @cached_property
    def report(self) -> Report:
        manifests, cluster = self.given
        return report_on(manifests, cluster, (), OPTIONS, Rulebook.shipped())

    @cached_property
    def result(self) -> SimulationReport:
        return simulate(*self.given, OPTIONS, ["deploy"])

    @cached_property
    def cells(self) -> dict[str, Cell]:
        return {self.result.workloads[row.number].name: row.cells[0] for row in self.result.rows}


def words(*found: str) -> frozenset[str]:
    return frozenset(found)


def pools(count: int) -> bytes:
    """A Deployment for the last of many Karpenter pools, each with a label of its own."""
    deployment = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      nodeSelector: {intent: p%d}
      containers: [{name: c, image: nginx:1, resources: {requests: {cpu: 100m}}}]
"""
    pool = """---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: p%d}
spec:
  template:
    metadata: {labels: {intent: p%d}}
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
      - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
      - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]}
"""
    return (deployment % (count - 1) + "".join(pool % (i, i) for i in range(count))).encode()


CSI = words("pv-zone-pinning-conflict", "allowed-topologies-conflict", "statefulset-spread-pvc-deadlock")
ZONES = "zoned.cluster.yaml"
TABLE = [
    Row("taints-policy.yaml", {"web": 2}, "taints-policy.cluster.yaml", words("spread-tainted-domain-blocks web")),
    Row(
        "preempt-affinity.yaml",
        {"reader": 1},
        "preempt-affinity.cluster.yaml",
        words("runs-only-by-eviction reader"),
    ),
    Row(
        "preempt-symmetry.yaml",
        {"pod-affinity-4": 1},
        "preempt-symmetry.cluster.yaml",
        words("runs-only-by-eviction pod-affinity-4"),
    ),
    Row("preempt-anti.yaml", {"ad": 1}, "preempt-anti.cluster.yaml", words("runs-only-by-eviction ad")),
    Row("csi-zone.yaml", {"db": 1}, "csi-zone.cluster.yaml", never_says=CSI, noted=("in eu-west-1b (pool default)",)),
    Row("csi-zone.yaml", {"db": 1}, "csi-zone-topologies.cluster.yaml", never_says=CSI),
    Row(
        "csi-zone.yaml",
        {"db": 1},
        "csi-zone-standard.cluster.yaml",
        never_says=CSI,
        noted=("1 × m6i.large in eu-west-1b (pool default)",),
    ),
    Row("csi-zone-class.yaml", {"g": 1}, ZONES, never_says=CSI),
    Row("unchanged.yaml", {"web": 3}, "unchanged.cluster.yaml", words("rollout-surge-deadlock web")),
    Row("nodename-spread.yaml", {"web": 4}, says=words("nodename-bypass web")),
    Row("no-provisioner-immediate.yaml", {"db": 0}, says=words("pods-stay-pending db")),
    Row("rwop-immediate.yaml", {"web": 1}, says=words("claim-shared-by-replicas web")),
    Row(
        "missing-class-and-runtimeclass.yaml",
        {"p": 0, "rt": 0},
        skips=words("storageclass-missing", "runtime-class-missing"),
        assumes={
            "p": "every node reaches its volume: it is unknown what StorageClass none-such does",
            "rt": "RuntimeClass gvisor exists, without overhead, nodeSelector and tolerations",
        },
    ),
    Row(
        "missing-priorityclass.yaml",
        {"web": 0},
        skips=words("priority-class-missing"),
        assumes={"web": "PriorityClass none-such exists, and gives priority 0"},
    ),
    Row("limitrange-max.yaml", {"web": 0}, says=words("admission-refuses-pods web")),
    Row("quota-daemonset.yaml", {"ds": 0, "ss": 0}, says=words("quota-refuses-pods ds", "quota-refuses-pods ss")),
    Row("default-class.yaml", {"p": 0}, says=words("pods-stay-pending p")),
    Row("replicationcontroller.yaml", {"web": 0}, says=words("nodeselector-matches-nothing web")),
    Row("zero-replicas.yaml", {"web": 0}),
    Row("beta-os.yaml", {"web": 1}, ZONES),
    Row("beta-arch.yaml", {"g": 1}, ZONES, never_says=words("nodeselector-matches-nothing"), untold=words("g")),
    Row(
        "pod-name-label.yaml",
        {"db": 3, "web": 1},
        never_says=words("affinity-selector-matches-nothing"),
        untold=words("web"),
    ),
    # db-1 must be in the zone of db-0, and may not, for the other zones have none.
    Row(
        "pod-index-label.yaml",
        {"db": 1},
        ZONES,
        never_says=words("affinity-selector-matches-nothing"),
        untold=words("db"),
    ),
    Row("removed-api.yaml", {"d": 0}, says=words("api-would-reject d")),
    Row("twice", {"web": 1}, says=words("drain-stuck web")),
    Row("twice/a", {"web": 1}, says=words("drain-stuck web")),
    Row("toleration-typo.yaml", {"ctl": 1}, says=words("toleration-matches-no-taint ctl")),
    Row("soft-key.yaml", {"ps": 3}, says=words("soft-key-on-no-node ps")),
    Row(
        "unchanged.yaml",
        {"web": 2},
        "unknown-node.cluster.yaml",
        words("anti-affinity-exceeds-domains web"),
        noted=("1 running pod is on nodes that the cluster does not hold",),
    ),
    Row(
        "karpenter-preferred.yaml",
        {"inflate": 3},
        "karpenter-preferred.cluster.yaml",
        noted=tuple(f"1 × m6i.large in eu-west-1{zone} (pool default)" for zone in "abc"),
    ),
    *(
        Row(f"{count}-pools.yaml", {"web": 1}, ZONES, never_says=words("pool-cannot-provide-label"), text=pools(count))
        for count in (5, 10, 30)
    ),
]
rows = pytest.mark.parametrize("row", TABLE, ids=map(str, TABLE))


@rows
def test_no_error_is_about_pods_that_run(row: Row) -> None:
    for finding in _errors_about_deploy(row.report.findings):
        cell, runs = row.cells[finding.object.name], row.runs[finding.object.name]
        assert runs < cell.wanted, finding.message
        assert runs <= (finding.evidence.supply or 0), finding.message


@rows
def test_lint_says_that_pods_wait(row: Row) -> None:
    assert not row.report.errors
    said = {f"{finding.rule} {finding.object.name}" for finding in row.report.findings}
    assert said >= row.says
    assert not {finding.rule for finding in row.report.findings} & row.never_says
    skipped = {skip.rule for skip in row.report.skipped}
    assert skipped >= row.skips
    warned = {f.object.name for f in row.report.findings if f.severity >= Severity.WARNING}
    waits = {name for name, runs in row.runs.items() if runs < row.cells[name].wanted}
    assert not waits - warned - row.assumes.keys()
    notes = "\n".join(row.report.summary.notes)
    assert all(premise in notes for premise in row.assumes.values())


@rows
def test_simulate_tells_the_truth(row: Row) -> None:
    assert row.cells.keys() == row.runs.keys()
    for name, cell in row.cells.items():
        runs = row.runs[name]
        if not cell.wanted:
            assert not runs
        elif name in row.untold:
            assert (cell.verdict, cell.proven) == (UNKNOWN, False)
            assert cell.bound.least <= runs <= cell.bound.most
            assert cell.missing
        elif name in row.assumes:
            assert (cell.verdict, cell.proven, cell.text[-1]) == (FINE, False, ASSUMED)
            assert any(row.assumes[name] in premise for premise in cell.assumes)
        else:
            assert (cell.bound.least, cell.bound.most) == (runs, runs), cell.text
            refused = {f.object.name for f in row.report.findings if f.rule == "api-would-reject"}
            assert cell.verdict == (REFUSED if name in refused else FINE if runs == cell.wanted else BAD)


@rows
def test_notes_tell_of_nodes(row: Row) -> None:
    for part in row.noted:
        assert any(part in note for note in row.report.summary.notes)
        assert any(part in note for note in row.result.notes)


def test_without_nodes_nothing_is_known_about_them() -> None:
    row = Row("no-nodes.yaml", {}, "no-nodes.cluster.json")
    assert not row.report.errors
    assert not row.report.findings
    assert {cell.verdict for cell in row.cells.values()} == {UNKNOWN}
    assert not row.result.is_bad


def test_a_removed_version_makes_no_pods_for_the_rest_of_the_set() -> None:
    cell = Row("removed-api.yaml", {}).cells["d"]
    assert (cell.verdict, cell.proven) == (REFUSED, True)
    assert cell.why.startswith("the API server refuses Deployment ")
    assert cell.message == '404: no matches for kind "Deployment" in version "extensions/v1beta1"'


def test_quotas_are_judged_where_limit_ranges_are_not_told() -> None:
    """Of a list of nodes it is assumed that there are none, and the verdict says so."""
    cell = Row("quota-daemonset.yaml", {}).cells["ds"]
    assert (cell.verdict, cell.bound.most, cell.proven) == (BAD, 0, False)
    assert "no LimitRange of namespace default fills it in" in cell.assumes
    assert cell.message == 'pods "ds-*" is forbidden: failed quota: q: must specify requests.cpu for: c'


def _errors_about_deploy(findings: Iterable[Finding]) -> list[Finding]:
    return [f for f in findings if f.severity is Severity.ERROR and f.evidence.event == "deploy"]
