"""What real charts write, and what is sound, is left alone: with a cluster and without."""

from __future__ import annotations

from pathlib import Path as File

import pytest

from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.findings import Report, Severity
from kubesched_lint.linter.lint import lint
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import ManifestSet, manifest_set
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.sources.clusters.read import cluster_from
from kubesched_lint.sources.manifests.loader import documents

FIXTURES = File(__file__).parent.parent.parent / "fixtures"
FILES = sorted((FIXTURES / "manifests" / "clean").glob("*.yaml"))
MIXED = sorted((FIXTURES / "manifests" / "clean" / "mixed-pools").glob("*.yaml"))
POOLS = FIXTURES / "clusters" / "mixed-pools.yaml"
SKETCH = FIXTURES / "clusters" / "three-zones.yaml"
BOOK = Rulebook.shipped()


def read(files: list[File]) -> ManifestSet:
    return manifest_set([d for file in files for d in documents(file.name, file.read_bytes(), is_read)], "default")


def three_zones() -> Cluster:
    return cluster_from([(SKETCH.name, SKETCH.read_bytes())], SKETCH.name)


def judged(manifests: ManifestSet, cluster: Cluster | None, profile: str = "ci") -> Report:
    assert not manifests.errors
    report, _ = lint(manifests, cluster, Options(profile=profile), BOOK.select(profile))
    assert not report.errors
    return report


def said(report: Report) -> list[str]:
    return [f"{f.location.path}:{f.location.span.line} {f.rule}: {f.message}" for f in report.findings]


@pytest.mark.parametrize("cluster", [None, three_zones()], ids=["text alone", "three zones"])
def test_nothing_is_said_of_the_clean_manifests_together(cluster: Cluster | None) -> None:
    report = judged(read(FILES), cluster)
    assert said(report) == []
    assert report.summary.rules >= (55 if cluster else 30), "silence of rules that did not run shows nothing"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_nothing_is_said_of_a_clean_file_alone(file: File) -> None:
    assert said(judged(read([file]), three_zones())) == []
    assert said(judged(read([file]), None)) == []
    assert said(judged(read([file]), None, "editor")) == []


@pytest.mark.parametrize("files", [[file] for file in MIXED] + [MIXED], ids=[*(f.stem for f in MIXED), "together"])
def test_nothing_worth_a_warning_is_said_where_pools_are_mixed(files: list[File]) -> None:
    """Host ports at the edge, brokers by zone, GPUs behind a taint; of profile strict at most a note."""
    manifests = read(files)
    cluster = cluster_from([(POOLS.name, POOLS.read_bytes())], POOLS.name)
    assert said(judged(manifests, cluster)) == []
    assert said(judged(manifests, None)) == []
    strict = judged(manifests, cluster, "strict")
    assert [f for f in strict.findings if f.severity > Severity.NOTE] == []
    assert strict.summary.rules >= 80


def test_where_the_pools_are_lacking_the_same_manifests_are_not_silent() -> None:
    text = POOLS.read_text()
    fewer = "".join(line for line in text.splitlines(keepends=True) if "name: gpu" not in line and "edge" not in line)
    cluster = cluster_from([(POOLS.name, fewer.encode())], POOLS.name)
    spoken = {(f.rule, f.severity) for f in judged(read(MIXED), cluster).findings}
    assert ("nodeselector-matches-nothing", Severity.ERROR) in spoken


def test_the_corpus_is_large_and_varied() -> None:
    manifests = read(FILES)
    kinds = {workload.kind for workload in manifests.inventory.workloads}
    assert len(FILES) >= 10
    assert len(manifests.documents) >= 25
    assert kinds >= {"Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob"}


def test_the_same_manifests_with_a_hazard_are_not_silent() -> None:
    """The corpus is silent because it is sound: three brokers in three zones pass, four that stand alone do not."""
    text = (FIXTURES / "manifests" / "clean" / "event-log.yaml").read_text()
    hard = text.replace("topologyKey: kubernetes.io/hostname", "topologyKey: topology.kubernetes.io/zone")
    four = hard.replace("replicas: 3", "replicas: 4")
    assert hard != text
    assert four != hard
    manifests = manifest_set(documents("event-log.yaml", four.encode(), is_read), "default")
    report, _ = lint(manifests, three_zones(), Options(), BOOK.select("ci"))
    assert "anti-affinity-exceeds-domains" in {finding.rule for finding in report.findings}


POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: tool, namespace: shop}\nspec:\n"
ON_ARCH = POD + (
    "  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: ["
    "{matchExpressions: [{key: kubernetes.io/arch, operator: In, values: [amd64, arm64]}]}]}}}\n"
    "  containers: [{name: main, image: 'tool:1'}]\n"
)
ON_DISK = POD + "  containers: [{name: main, image: 'tool:1', resources: {requests: {ephemeral-storage: 1Gi}}}]\n"


@pytest.mark.parametrize("manifest", [ON_ARCH, ON_DISK], ids=["kubernetes.io/arch", "ephemeral-storage"])
def test_what_every_kubelet_reports_is_not_missing_from_a_sketch(manifest: str) -> None:
    assert said(judged(manifest_set(documents("m.yaml", manifest.encode(), is_read), "default"), three_zones())) == []
