"""Whatever is given as a cluster, there is one clear message and never a traceback."""

from __future__ import annotations

import gzip
import json
import os
import zlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kubesched_lint.engine.cluster.cluster import ClusterError
from kubesched_lint.sources.clusters.read import cluster_from, read_cluster
from tests.share import examples

RECORDED = gzip.decompress((Path(__file__).parents[2] / "fixtures" / "clusters" / "kubectl-get.json.gz").read_bytes())


def refusal(data: bytes, name: str = "c.json") -> ClusterError:
    with pytest.raises(ClusterError) as caught:
        cluster_from([(name, data)], name)
    assert "\n" not in caught.value.message
    assert len(caught.value.message) < 600
    return caught.value


def test_an_empty_file() -> None:
    assert refusal(b"").message == "the file is empty"
    assert refusal(b" \n\t\n").message == "the file is empty"


def test_json_that_is_cut_off_says_so_at_its_end() -> None:
    error = refusal(RECORDED[:100_000])
    assert "cut off" in error.message
    assert error.line == RECORDED[:100_000].count(b"\n") + 1


def test_json_with_a_mistake_is_placed() -> None:
    error = refusal(b'{"kind": "List",\n "items": [1,,2]}')
    assert (error.line, error.column) == (2, 14)


def test_gzip_that_is_cut_off() -> None:
    assert "cut off" in refusal(gzip.compress(RECORDED)[:-20]).message


def test_gzip_that_is_damaged() -> None:
    packed = bytearray(gzip.compress(RECORDED))
    packed[len(packed) // 2] ^= 0xFF
    assert "gzip" in refusal(bytes(packed)).message


def test_a_gzip_bomb_is_refused_before_it_fills_the_memory() -> None:
    bomb = gzip.compress(b"\0" * (200 << 20), 9)
    assert "unpacks to more than" in refusal(bomb).message


def test_nesting_beyond_all_measure() -> None:
    assert refusal(b"[" * 100_000).message
    assert refusal(b'{"items":' * 50_000).message
    deep = b'{"kind":"List","items":[{"kind":"Node","apiVersion":"v1","spec":' + b"[" * 900 + b"]" * 900 + b"}]}"
    assert refusal(deep).message


def test_bytes_that_are_no_text() -> None:
    error = refusal(b'{"kind": "List",\n"items": ["\xff\xfe"]}')
    assert "UTF-8" in error.message
    assert error.line == 2


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "3",
        '"text"',
        "null",
        "{}",
        '{"kind": 3}',
        '{"items": 3}',
        '{"kind": "List", "items": [3]}',
        '{"items": {}}',
    ],
)
def test_json_that_is_no_cluster(text: str) -> None:
    refusal(text.encode())
    refusal(text.encode(), "c.yaml")


@pytest.mark.parametrize(
    ("broken", "where"),
    [
        ({"kind": "Node", "apiVersion": "v1", "metadata": 3}, "items[1] (Node None): metadata: expected a mapping"),
        (
            {"kind": "Node", "apiVersion": "v1", "spec": {"taints": {}}},
            "items[1] (Node None): spec.taints: expected a list",
        ),
        (
            {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "p"}, "spec": {"containers": "x"}},
            "items[1] (Pod p): spec.containers: expected a list",
        ),
        (
            {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "p"}, "spec": {"priority": "high"}},
            "items[1] (Pod p): spec.priority: expected an integer",
        ),
        (
            {"kind": "PersistentVolume", "apiVersion": "v1", "spec": {"capacity": {"storage": "much"}}},
            "items[1] (PersistentVolume None): spec.capacity.storage: 'much': quantities",
        ),
    ],
)
def test_a_wrong_type_is_named_with_its_object_and_placed(broken: dict[str, object], where: str) -> None:
    node = {"kind": "Node", "apiVersion": "v1", "metadata": {"name": "a"}}
    error = refusal(json.dumps({"kind": "List", "apiVersion": "v1", "items": [node, broken]}, indent=1).encode())
    assert where in error.message
    assert error.line > 5


def test_a_path_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match="no such file"):
        read_cluster(str(tmp_path / "none.json"))


def test_an_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match=r"holds no \.yaml"):
        read_cluster(str(tmp_path))


def test_a_folder_that_is_a_link_to_itself(tmp_path: Path) -> None:
    (tmp_path / "again").symlink_to(tmp_path)
    (tmp_path / "nodes.json").write_text('{"kind": "Node", "apiVersion": "v1", "metadata": {"name": "a"}}')
    assert len(read_cluster(str(tmp_path)).inventory.nodes) == 1


def test_a_pipe_that_nobody_writes_to(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "c.json")
    with pytest.raises(ClusterError, match="not a regular file"):
        read_cluster(str(tmp_path / "c.json"))


def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    file.write_text("{}")
    file.chmod(0)
    if os.access(file, os.R_OK):
        pytest.skip("this user may read everything")
    with pytest.raises(ClusterError, match="cannot be read"):
        read_cluster(str(file))


def test_bytes_of_other_kinds_of_files() -> None:
    assert "UTF-8: byte 0xe9" in refusal(b"caf\xe9: 1\n").message
    assert "is not text" in refusal(zlib.compress(RECORDED[:9000])).message
    assert "is not text" in refusal(b"PK\x03\x04\0\0\0").message
    assert "UTF-16" in refusal(b"\xff\xfe\x00").message


_MUTATIONS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.text(max_size=3), st.just([]), st.just({}), st.just([3])
)


@settings(max_examples=examples(300), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_any_value_of_a_real_object_may_have_any_type(data: st.DataObject) -> None:
    """Reads, or says in one message why not."""
    item = data.draw(st.sampled_from(_ONE_OF_EACH))
    value = json.loads(item)
    target = value
    while True:
        keys = list(target) if isinstance(target, dict) else list(range(len(target)))
        if not keys:
            break
        key = data.draw(st.sampled_from(keys))
        if not isinstance(target[key], (dict, list)) or data.draw(st.integers(0, 3)) == 0:
            target[key] = data.draw(_MUTATIONS)
            break
        target = target[key]
    node = {"kind": "Node", "apiVersion": "v1", "metadata": {"name": "a"}}
    text = json.dumps({"kind": "List", "apiVersion": "v1", "items": [node, value]}).encode()
    try:
        cluster_from([("c.json", text)], "c.json")
    except ClusterError as error:
        assert "\n" not in error.message  # noqa: PT017 - that it may read is no failure
        assert error.line == 1  # noqa: PT017


def _one_of_each() -> list[str]:
    found: dict[str, str] = {}
    for item in json.loads(RECORDED)["items"]:
        found.setdefault(item["kind"], json.dumps(item))
    return list(found.values())


_ONE_OF_EACH = _one_of_each()
