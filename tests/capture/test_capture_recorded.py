"""What a real API server answered becomes a snapshot that says the same, and nothing besides."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from kubesched_lint.engine.base.partly_compared import same_values
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.sources.capture import Snapshot, capture, connect
from kubesched_lint.sources.clusters.read import read_cluster
from tests.capture.stand_in import TOKEN, ApiServer

KUBECTL = Path(__file__).parents[2] / "fixtures" / "clusters" / "kubectl-get.json.gz"
NOW = "2026-11-21T04:00:00Z"
pytestmark = pytest.mark.usefixtures("kubeconfig")


@pytest.fixture
def snapshot(api: ApiServer) -> Snapshot:
    return capture(connect(), NOW, page=50)


def by_name(inventory: Inventory, field: str) -> dict[str, Any]:
    """Without the annotations that no rule reads."""
    found = {thing.name: thing for thing in getattr(inventory, field)}
    if field in ("claims", "volumes"):
        kept = ("volume.kubernetes.io/selected-node", "pv.kubernetes.io/bind-completed")
        for name, thing in found.items():
            read = {k: v for k, v in thing.annotations.items() if k in kept}
            found[name] = replace(thing, annotations=read)
    return found


def test_it_says_what_kubectl_says_of_the_same_cluster(snapshot: Snapshot) -> None:
    ours, theirs = snapshot.cluster("here").inventory, read_cluster(str(KUBECTL)).inventory
    assert len(ours.nodes) == 60
    assert len(ours.pods) == 199
    for field in (
        *("nodes", "pods", "namespaces", "claims", "volumes", "storage_classes", "csi_nodes"),
        *("priority_classes", "autoscalers", "budgets"),
    ):
        assert same_values(by_name(ours, field), by_name(theirs, field)), field


def test_workloads_and_revisions_lack_only_what_scheduling_does_not_read(snapshot: Snapshot) -> None:
    ours, theirs = snapshot.cluster("here"), read_cluster(str(KUBECTL))

    def bare(cluster: Any) -> dict[tuple[str, str], Any]:
        return {
            (w.kind, w.name): replace(w, annotations={}, template={}, order=0, source=None)
            for w in cluster.inventory.workloads
        }

    assert same_values(bare(ours), bare(theirs))
    revisions = ({r.name: (r.owner, r.revision, r.replicas) for r in c.inventory.replica_sets} for c in (ours, theirs))
    assert next(revisions) == next(revisions)


def test_no_secret_survives(snapshot: Snapshot, tmp_path: Path, api: ApiServer) -> None:
    sent = gzip.decompress((Path(__file__).parents[2] / "fixtures/apiserver/responses.jsonl.gz").read_bytes())
    assert b"hunter2" in sent
    for name in ("plain.json", "packed.json.gz"):
        snapshot.write(str(tmp_path / name))
    plain = (tmp_path / "plain.json").read_bytes()
    assert gzip.decompress((tmp_path / "packed.json.gz").read_bytes()) == plain
    for leak in (b"hunter2", b"DB_PASSWORD", b"last-applied", b"secretKeyRef", b"managedFields", b"env"):
        assert leak not in plain, leak
    assert api.headers[0]["authorization"] == f"Bearer {TOKEN}"
    assert TOKEN.encode() not in plain


def test_pages_and_whole_lists_make_the_same_file(snapshot: Snapshot, api: ApiServer) -> None:
    paged = b"".join(snapshot.pieces())
    assert len(api.asked("pods")) == 4
    whole = b"".join(capture(connect(), NOW).pieces())
    assert len(api.asked("pods")) == 5
    assert paged == whole


def test_the_file_is_read_again(snapshot: Snapshot, tmp_path: Path) -> None:
    direct = snapshot.cluster("c")
    for name in ("c.json", "c.json.gz"):
        snapshot.write(str(tmp_path / name))
        again = read_cluster(str(tmp_path / name))
        assert same_values(again.inventory, direct.inventory)
        assert (again.kinds, again.version, again.origin) == (direct.kinds, "v1.36.2", "snapshot")
        assert not again.gaps
    lines = (tmp_path / "c.json").read_text().splitlines()
    assert len(lines) == sum(snapshot.counts.values()) + 2, "one item a line"
    assert json.loads("".join(lines))["metadata"]["capturedAt"] == NOW


def test_kinds_without_objects_and_apis_that_are_not_served_are_known_to_be_empty(snapshot: Snapshot) -> None:
    cluster = snapshot.cluster("c")
    assert cluster.has("LimitRange")
    assert cluster.has("DeviceClass")
    assert not cluster.inventory.limit_ranges


def test_the_same_cluster_makes_the_same_bytes(api: ApiServer, tmp_path: Path) -> None:
    for name in ("a.json.gz", "b.json.gz"):
        capture(connect(), NOW).write(str(tmp_path / name))
    assert (tmp_path / "a.json.gz").read_bytes() == (tmp_path / "b.json.gz").read_bytes()


def test_only_the_namespaces_that_were_asked_for(api: ApiServer) -> None:
    pods: dict[str, Any] = {}
    for item in json.loads(gzip.decompress(KUBECTL.read_bytes()))["items"]:
        if item["kind"] == "Pod":
            pods.setdefault(item["metadata"]["namespace"], []).append(item)
    for name in ("shop", "data"):
        for plural in ("pods", "services", "limitranges", "resourcequotas", "persistentvolumeclaims"):
            api.extra[f"/api/v1/namespaces/{name}/{plural}"] = (200, {"items": pods[name] if plural == "pods" else []})
    snapshot = capture(connect(), NOW, namespaces=["shop", "data"])
    assert snapshot.counts["Pod"] == len(pods["shop"]) + len(pods["data"])
    assert snapshot.counts["Node"] == 60
    cluster = snapshot.cluster("c")
    assert "namespaced objects: only of shop, data (--namespace)" in cluster.gaps
    assert cluster.has("Node")
    assert not cluster.has("Pod"), "pods of other namespaces are unknown, not absent"
    assert not api.asked("deployments")[0].startswith("/apis/apps/v1/deployments")
