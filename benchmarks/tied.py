"""What workloads cost that are tied to each other, and pools that may become many kinds of nodes."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.many_workloads import sketch
from benchmarks.rows import LINT, Row, growing, spent
from benchmarks.snapshot import plain_manifests
from tests.hostile.shapes import SHAPES

RINGS, POOLS, FILES = (500, 1_000, 2_000), (5, 10, 20), 62
ALONE = ("--no-cache", "--no-config")


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        runs = {count: _ring(folder, count) for count in (3, *RINGS)}
        nothing = spent(runs.pop(3)).cpu
        yield growing(f"a ring of {RINGS[-1]:,} workloads, each beside the next", runs, 3, nothing)
        manifests = folder / "manifests"
        manifests.mkdir()
        plain_manifests(manifests, FILES)
        runs = {count: (*LINT, str(manifests), *ALONE, "-c", _pools(folder, count)) for count in (0, *POOLS)}
        nothing = spent(runs.pop(0)).cpu
        yield growing(f"{POOLS[-1]} NodePools of Karpenter, {FILES} files", runs, 1.5, nothing)


def _ring(folder: Path, count: int) -> tuple[str, ...]:
    files = SHAPES["ring"].make(count)
    manifests, cluster = folder / f"ring-{count}.yaml", folder / f"nodes-{count}.yaml"
    manifests.write_text(files.manifests, encoding="utf-8")
    cluster.write_text(files.cluster, encoding="utf-8")
    return (*LINT, str(manifests), *ALONE, "-c", str(cluster))


def _pools(folder: Path, count: int) -> str:
    """A cluster with pools that may become machines of many kinds."""
    pools_folder = folder / f"{count}-pools"
    pools_folder.mkdir()
    (pools_folder / "nodes.yaml").write_text(json.dumps(sketch(6)), encoding="utf-8")
    requirements = [
        {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot", "on-demand"]},
        {"key": "karpenter.k8s.aws/instance-category", "operator": "In", "values": ["c", "m", "r"]},
    ]
    for i in range(count):
        reference = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}
        spec = {"requirements": requirements, "nodeClassRef": reference}
        template = {"metadata": {"labels": {"team": f"t{i}"}}, "spec": spec}
        pool = {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": f"p{i}"}}
        text = json.dumps({**pool, "spec": {"template": template, "limits": {"cpu": "1000"}}})
        (pools_folder / f"pool-{i}.yaml").write_text(text, encoding="utf-8")
    return str(pools_folder)
