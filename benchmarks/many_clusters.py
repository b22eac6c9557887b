"""What ``fleet`` costs for each of 40 clusters beside ``lint`` of one: the manifests are read once."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.many_files import corpus
from benchmarks.many_workloads import sketch
from benchmarks.rows import LINT, PYTHON, Row, exponent, least, spent

FLEET = (*PYTHON, "-m", "kubesched_lint", "fleet")
CLUSTERS, FILES, NODES = (10, 20, 40), 600, 102


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        manifests = corpus(folder / "manifests", FILES)
        for count in CLUSTERS:
            (folder / str(count)).mkdir()
            for i in range(count):
                (folder / str(count) / f"c{i}.yaml").write_text(json.dumps(sketch(NODES)), encoding="utf-8")
        first_cluster = folder / str(CLUSTERS[0]) / "c0.yaml"
        lint = (*LINT, manifests, "--no-cache", "--no-config", "-c", str(first_cluster))
        alone = least([spent(lint) for _ in range(2)]).cpu
        fleet = (*FLEET, manifests, "--executor", "serial", "--clusters")
        runs = [spent((*fleet, str(folder / str(count)))) for count in CLUSTERS]
        said = f"{runs[-1].cpu:.1f} s, {runs[-1].peak:.0f} MiB; in clusters"
        what = f"`fleet`: {FILES} files, each of {CLUSTERS[-1]} clusters"
        each, growth = runs[-1].cpu / CLUSTERS[-1], exponent(CLUSTERS, [run.cpu for run in runs])
        yield Row(what, each / alone, "× `lint` with one", 1.2, growth, said)
