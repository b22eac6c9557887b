"""The share of cells of ``simulate`` that end in "not established", and why.

``python benchmarks/established.py [--manifests FOLDER] [--cpu N ...] [--families FILE]`` from the repository. The
manifests of a folder (default: those of ``lifecycle.py``) are simulated on 100 nodes of N CPUs; each record of a file
of families on the snapshot from just before its files were applied. Two kinds of cells are counted separately: cells
that are not established because something is unknown or not modelled, and cells that depend on the scheduler's scores
(fine in each tried course of the default scheduler, bad in one that chooses other nodes). The output also has the
numbers that must not fall: cells with a single value, cells proven bad and cells proven fine.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from time import process_time

sys.path.insert(0, str(Path(__file__).parents[1]))

from kubesched_lint.commands.simulate.run import simulate
from kubesched_lint.engine.cluster.cluster import Cluster, ClusterError
from kubesched_lint.engine.events.answers.cells import BAD, BY_SCORES, FINE, NONE, UNKNOWN, Cell
from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.engine.verdicts.matrix import EVENTS
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import ManifestSet, manifest_set
from kubesched_lint.sources.clusters.read import cluster_from
from kubesched_lint.sources.manifests.loader import documents

APART = re.compile(r"not modelled|does not tell|not in the snapshot|is not known")
"""What the reasons say of cells that no better counting could establish."""
SHOWN = 25
_LINUX = {"kubernetes.io/os": "linux"}
POOLS = (
    ("general", 20, "amd64", "m5.2xlarge", 1),
    ("highmem", 10, "arm64", "m5.xlarge", 1),
    ("gpu", 2, "amd64", "m5.2xlarge", 2),
    ("control", 1, "amd64", "m5.xlarge", 1),
)
"""Name, nodes a zone, arch, instance type and CPUs as a multiple of those of a general node."""


def nodes(cpu: int) -> Cluster:
    """100 nodes in three zones: 99 in the four pools and one more."""
    zones = ["eu-west-1a", "eu-west-1b", "eu-west-1c"]
    groups = []
    for name, count, arch, kind, times in (*POOLS, ("spare", 1, "amd64", "m5.2xlarge", 1)):
        labels = {"kubernetes.io/arch": arch, "node.kubernetes.io/instance-type": kind, "node-pool": name}
        amounts = {"cpu": str(cpu * times), "memory": f"{4 * cpu * times}Gi", "pods": "110"}
        at = zones[:1] if name == "spare" else zones
        group = {"name": name, "count": count, "zones": at, "allocatable": amounts, "labels": {**_LINUX, **labels}}
        if name == "control":
            group["taints"] = ["node-role.kubernetes.io/control-plane:NoSchedule"]
        groups.append(group)
    sketch = {"apiVersion": "kubesched-lint/v1", "kind": "ClusterSketch", "nodes": groups}
    return cluster_from([("nodes.yaml", json.dumps(sketch).encode())], "nodes.yaml")


def read(files: Iterable[tuple[str, bytes]]) -> ManifestSet:
    entries = [document for path, text in files for document in documents(path, text, is_read)]
    return manifest_set(entries, "default")


def made() -> ManifestSet:
    from benchmarks.lifecycle import WORKLOADS, manifest

    return read((f"{i}.yaml", json.dumps(manifest(i)).encode()) for i in range(WORKLOADS))


def cells(manifests: ManifestSet, cluster: Cluster) -> Iterator[Cell]:
    for row in simulate(manifests, cluster, Options(), EVENTS).rows:
        yield from (cell for cell in row.cells if cell.verdict != NONE)


def records(path: Path) -> Iterator[Cell]:
    with gzip.open(path, "rt") as lines:
        for line in lines:
            record = json.loads(line)
            try:
                cluster = cluster_from([("snapshot.json", record["snapshot"].encode())], "snapshot.json")
            except ClusterError as error:
                print(f"{record['id']}: {error}", file=sys.stderr)
                continue
            yield from cells(read((name, text.encode()) for name, text in record["files"].items()), cluster)


def tell(name: str, simulated_cells: Iterable[Cell]) -> None:
    started = process_time()
    total = Counter[str]()
    reasons, events = Counter[str](), Counter[str]()
    for cell in simulated_cells:
        apart = cell.verdict == UNKNOWN and APART.search(" ".join((cell.why, *cell.missing)))
        total["cells"] += not apart
        total["apart"] += bool(apart)
        total["single"] += cell.bound.is_single
        total["proven bad"] += cell.proven and cell.verdict == BAD
        total["proven fine"] += cell.proven and cell.verdict == FINE
        total[cell.verdict] += not apart
        if cell.verdict == UNKNOWN and not apart:
            events[cell.event] += 1
            reasons[_reason(cell)] += 1
    spent = process_time() - started
    share = 100 * total[UNKNOWN] / max(total["cells"], 1)
    print(f"{name}: {total[UNKNOWN]} of {total['cells']} cells not established ({share:.1f} %), {total['apart']} apart")
    print(f"  {total[BY_SCORES]} more hang on the scheduler's scores, with a course each way")
    kept = ("single", "proven bad", "proven fine", "fine", "bad", "depends")
    print("  " + ", ".join(f"{total[key]} {key}" for key in kept))
    print(f"  {spent:.1f} s of CPU; by event: {dict(events)}")
    for reason, count in reasons.most_common(SHOWN):
        print(f"  {count:5} {reason}")


def _reason(cell: Cell) -> str:
    """The outcome that counting could not exclude, without numbers and names."""
    reason = cell.why.split(": ", 1)[-1]
    reason = next((m for m in cell.missing if "preemption" in m or "quota" in m or "search" in m), reason)
    return re.sub(r"\b[\w./-]*\d[\w./-]*\b", "#", re.sub(r"\b(domain|of) [\w.-]+-\S+", r"\1 X", reason))[:110]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--manifests", type=Path)
    parser.add_argument("--families", type=Path)
    parser.add_argument("--cpu", type=int, nargs="*", default=[16, 32, 64])
    arguments = parser.parse_args()
    if arguments.families:
        tell(str(arguments.families), records(arguments.families))
        return
    folder: Path | None = arguments.manifests
    manifests = made() if folder is None else read((str(p), p.read_bytes()) for p in sorted(folder.rglob("*.yaml")))
    for cpu in arguments.cpu:
        workloads = len(manifests.inventory.workloads)
        tell(f"{workloads} workloads, 100 nodes of {cpu} CPUs", cells(manifests, nodes(cpu)))


if __name__ == "__main__":
    main()
