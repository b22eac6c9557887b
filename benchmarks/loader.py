"""The CPU time of reading manifests, relative to ``yaml.CSafeLoader`` on the same files in the same run.

Run from the repository: ``python benchmarks/loader.py [FOLDER]``; without a folder, 1,000 generated files. Every figure
is the best of three. Exit code 1 if a goal is missed.
"""

from __future__ import annotations

import gc
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

GOALS = {"files to documents": 0.4, "complete reader: values": 1.0, "complete reader: values and places": 1.3}
"""CPU as a part of CSafeLoader's, at most."""

_WORKLOAD = """\
# {name}: ask in #{team}
apiVersion: apps/v1
kind: {kind}
metadata:
  name: {name}
  labels: {{app.kubernetes.io/name: {name}, team: {team}}}
spec:
  selector:
    matchLabels:
      app.kubernetes.io/name: {name}
  template:
    metadata:
      labels:
        app.kubernetes.io/name: {name}
        app.kubernetes.io/version: "{version}"
    spec:
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: topology.kubernetes.io/zone
          whenUnsatisfiable: DoNotSchedule
          labelSelector:
            matchLabels:
              app.kubernetes.io/name: {name}
      containers:
        - name: {name}
          image: registry.example.com/{team}/{name}:{version}
          args: ["--listen=0.0.0.0:{port}", --verbose]
          ports:
            - name: http
              containerPort: {port}
          env:
{env}
          resources:
            requests:
              cpu: {cpu}m
              memory: 128Mi
      tolerations:
        - {{key: dedicated, operator: Exists}}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: {name}-config
data:
  config.yaml: |
{data}
"""


def make(folder: Path, count: int) -> None:
    made = random.Random(8)
    for i in range(count):
        name = f"{made.choice(['cart', 'search', 'ledger'])}-{i:05d}"
        text = _WORKLOAD.format(
            name=name,
            team=made.choice(["shop", "pay", "data"]),
            kind=made.choice(["Deployment", "StatefulSet", "DaemonSet"]),
            version=f"{made.randint(1, 9)}.{made.randint(0, 30)}.{made.randint(0, 12)}",
            port=made.randint(1024, 9999),
            cpu=made.choice([50, 100, 250]),
            env="\n".join(
                f"            - name: V{k}\n              value: http://{name}-{k}:80/"
                for k in range(made.randint(1, 12))
            ),
            data="\n".join(f"    key_{k}: {made.getrandbits(40)}" for k in range(made.randint(5, 60))),
        )
        (folder / f"{name}.yaml").write_text(text)


def cpu(work: Callable[[], object]) -> float:
    """Seconds, the best of three, each with empty caches."""
    from kubesched_lint.sources.manifests.yaml import fast_reader, places

    best = float("inf")
    for _ in range(3):
        for remembered in (
            fast_reader.head_of,
            fast_reader.tail_of,
            fast_reader.line_of,
            places._in_plain,
            places._lines,
        ):
            remembered.cache_clear()
        gc.collect()
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def drain(items: Iterable[object]) -> None:
    for _ in items:
        pass


def measure(folder: str) -> bool:
    """Prints the table; whether every goal was met."""
    import yaml

    from kubesched_lint.engine.model.decode.objects import is_read
    from kubesched_lint.sources.manifests.document import Document
    from kubesched_lint.sources.manifests.files import find_files
    from kubesched_lint.sources.manifests.inputs import InputFile
    from kubesched_lint.sources.manifests.loader import documents_of
    from kubesched_lint.sources.manifests.yaml.full_reader import tree
    from kubesched_lint.sources.manifests.yaml.split import parts

    files = [file for file in find_files([folder]) if isinstance(file, InputFile)]
    texts = [file.data.decode("utf-8", "replace") for file in files]
    size = sum(len(file.data) for file in files) / 1e6
    read = [entry for file in files for entry in documents_of(file, is_read) if isinstance(entry, Document)]
    fast = sum(document.is_plain for document in read)
    print(f"{len(files):,} files, {size:.1f} MB, {len(read):,} documents read, {fast:,} of them by the fast reader")

    def load() -> None:
        for text in texts:
            try:
                drain(yaml.load_all(text, Loader=yaml.CSafeLoader))
            except yaml.YAMLError:
                continue

    def complete(*, places: bool) -> None:
        for text in texts:
            for part in parts(text):
                try:
                    tree(part.text, places=places)
                except ValueError:
                    continue

    reference = cpu(load)
    rows = {
        "find and read the files": cpu(lambda: drain(find_files([folder]))),
        "files to documents": cpu(lambda: drain(e for file in files for e in documents_of(file, is_read))),
        "complete reader: values": cpu(lambda: complete(places=False)),
        "complete reader: values and places": cpu(lambda: complete(places=True)),
        "a place in every document read": cpu(lambda: drain(d.span(("spec", "template", "spec")) for d in read)),
    }
    print(f"{'yaml.CSafeLoader':36}{reference:8.2f} s {size / reference:7.1f} MB/s")
    met = True
    for name, seconds in rows.items():
        ratio, goal = seconds / reference, GOALS.get(name)
        words = "" if goal is None else f"  (goal {goal})" if ratio <= goal else f"  MISSES ITS GOAL OF {goal}"
        met = met and (goal is None or ratio <= goal)
        print(f"{name:36}{seconds:8.2f} s {size / seconds:7.1f} MB/s {ratio:6.2f} of CSafeLoader{words}")
    return met


def main() -> int:
    if len(sys.argv) > 1:
        return 0 if measure(sys.argv[1]) else 1
    with tempfile.TemporaryDirectory() as folder:
        make(Path(folder), 1000)
        return 0 if measure(folder) else 1


if __name__ == "__main__":
    sys.exit(main())
