"""Our own snapshot file: versioned, with what it captured whole and what it could not."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kubesched_lint.engine.base.partly_compared import same_values
from kubesched_lint.engine.cluster.cluster import Cluster, ClusterError
from kubesched_lint.sources.clusters import read
from kubesched_lint.sources.clusters.read import blocks, cluster_from, layout_of, read_cluster

CLUSTERS = Path(__file__).parents[2] / "fixtures" / "clusters"
ITEMS: list[dict[str, Any]] = json.loads(gzip.decompress((CLUSTERS / "kubectl-get.json.gz").read_bytes()))["items"]
META = {
    "capturedAt": "2026-11-21T04:00:00Z",
    "kubernetesVersion": "v1.36.2",
    "kinds": [*sorted({item["kind"] for item in ITEMS}), "Service"],
    "gaps": ["persistentvolumes: forbidden (403)"],
}


def one_a_line(items: list[dict[str, Any]], **meta: Any) -> bytes:
    """The layout that ``snapshot`` writes."""
    head = {"apiVersion": "kubesched-lint/v1", "kind": "ClusterSnapshot", "metadata": {**META, **meta}}
    text = json.dumps(head, separators=(",", ":"))[:-1] + ',"items":[\n'
    return (text + ",\n".join(json.dumps(i, separators=(",", ":")) for i in items) + "\n]}\n").encode()


def test_it_tells_its_age_version_and_gaps() -> None:
    cluster = cluster_from([("s.json", one_a_line(ITEMS))], "s.json")
    assert (cluster.origin, cluster.captured_at, cluster.version) == ("snapshot", META["capturedAt"], "v1.36.2")
    assert cluster.has("Service")
    said = cluster.describe(lambda: datetime(2026, 11, 21, 7, tzinfo=UTC))
    assert said.startswith("60 nodes and 199 pods from s.json, captured 3 hours ago; holds no ")
    assert said.endswith("gaps: persistentvolumes: forbidden (403)")
    assert "Service" not in said


def test_it_may_lack_nodes_because_nobody_may_list_them() -> None:
    cluster = cluster_from([("s.json", one_a_line(ITEMS[:0], kinds=["Pod"]))], "s.json")
    assert not cluster.has("Node")


def test_it_reads_as_yaml_too() -> None:
    text = (
        "apiVersion: kubesched-lint/v1\nkind: ClusterSnapshot\nmetadata: {capturedAt: '2026-01-01T00:00:00Z'}\n"
        "items:\n- {apiVersion: v1, kind: Node, metadata: {name: a}}\n"
    )
    cluster = cluster_from([("s.yaml", text.encode())], "s.yaml")
    assert (cluster.origin, len(cluster.inventory.nodes)) == ("snapshot", 1)


@pytest.mark.parametrize(
    ("meta", "message"),
    [
        ({"capturedat": "x"}, "metadata.capturedat: unknown field: did you mean capturedAt?"),
        ({"gaps": "none"}, "metadata.gaps: expected a list, found the string 'none'"),
        ({"capturedAt": 3}, "metadata.capturedAt: expected a string (put it in quotes), found the number 3"),
    ],
)
def test_a_mistake_in_its_metadata_is_explained(meta: dict[str, Any], message: str) -> None:
    with pytest.raises(ClusterError) as caught:
        cluster_from([("s.json", one_a_line(ITEMS[:2], **meta))], "s.json")
    assert caught.value.message == message
    assert caught.value.line == 1


def test_a_time_that_is_none_is_shown_as_it_is() -> None:
    cluster = cluster_from([("s.json", one_a_line(ITEMS, capturedAt="yesterday"))], "s.json")
    assert "captured at yesterday" in cluster.describe(lambda: datetime(2026, 11, 21, tzinfo=UTC))


def test_a_capture_from_the_future_is_called_so() -> None:
    cluster = cluster_from([("s.json", one_a_line(ITEMS))], "s.json")
    assert "in the future" in cluster.describe(lambda: datetime(2025, 1, 1, tzinfo=UTC))


# -- in blocks -------------------------------------------------------------------------------------------------------


def kubectl_layout(items: list[dict[str, Any]]) -> bytes:
    return json.dumps({"apiVersion": "v1", "items": items, "kind": "List", "metadata": {}}, indent=4).encode()


def in_chunks(data: bytes, size: int) -> list[bytes]:
    return [data[i : i + size] for i in range(0, len(data), size)]


@pytest.mark.parametrize("write", [kubectl_layout, one_a_line])
@pytest.mark.parametrize("size", [9_973, 100_003])
def test_blocks_together_say_what_the_file_says(write: Any, size: int) -> None:
    data = write(ITEMS)
    first, *rest = in_chunks(data, size)
    layout = layout_of(first)
    assert layout is not None
    found = [json.loads(block) for block in blocks(iter([first, *rest]), layout)]
    assert len(found) > 5
    assert [item for block in found for item in block.get("items", ())] == ITEMS
    whole: dict[str, Any] = {}
    for block in found:
        whole |= block
    assert whole.keys() == json.loads(data).keys()


@pytest.mark.parametrize(
    "data",
    [
        b'{"apiVersion":"v1","kind":"List","items":[{"kind":"Node"}]}',
        b'{\n    "apiVersion": "v1",\n    "items": [],\n    "kind": "List"\n}',
        b"apiVersion: v1\nkind: List\nitems:\n",
        b"",
    ],
)
def test_other_layouts_are_left_to_the_parser(data: bytes) -> None:
    assert layout_of(data) is None


def read_small(path: Path, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    monkeypatch.setattr(read, "_CHUNK", 20_000)
    return read_cluster(str(path))


@pytest.mark.parametrize("write", [kubectl_layout, one_a_line])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_reading_in_blocks_equals_reading_whole(
    write: Any, pack: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "c.json"
    file.write_bytes(pack(write(ITEMS)))
    streamed = read_small(file, monkeypatch)
    whole = cluster_from([(str(file), write(ITEMS))], str(file))
    assert same_values(streamed, whole)
    assert len(streamed.inventory.pods) == 199


def test_a_mistake_in_a_late_block_is_still_placed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    items = [*ITEMS[:-1], {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "bad"}, "spec": {"taints": 3}}]
    (tmp_path / "c.json").write_bytes(kubectl_layout(items))
    with pytest.raises(ClusterError) as caught:
        read_small(tmp_path / "c.json", monkeypatch)
    assert "items[347] (Node bad): spec.taints: expected a list" in caught.value.message
    lines = (tmp_path / "c.json").read_text().splitlines()
    assert '"taints": 3' in lines[caught.value.line - 1]


def test_a_list_that_is_followed_by_another_reads_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "c.json").write_bytes(kubectl_layout(ITEMS[:200]) + b"\n" + kubectl_layout(ITEMS[200:]))
    assert len(read_small(tmp_path / "c.json", monkeypatch).inventory.pods) == 199


def test_a_cut_off_large_file_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "c.json").write_bytes(kubectl_layout(ITEMS)[:-5000])
    with pytest.raises(ClusterError, match="cut off"):
        read_small(tmp_path / "c.json", monkeypatch)
    (tmp_path / "c.json").write_bytes(gzip.compress(kubectl_layout(ITEMS))[:-500])
    with pytest.raises(ClusterError, match="is cut off: the end of the gzip data is missing"):
        read_small(tmp_path / "c.json", monkeypatch)
