"""The cost of ten own rules next to the shipped ones: for 1,000 workloads, and for loading them.

``python benchmarks/own_rules.py [--workloads N] [--rounds N]``. The rules are those of ``examples/rules``; the shipped
ones run alternately with and without them, in one process, on one manifest set and one cluster; the least CPU of each
counts. Compare the ratio between machines. Exit code 1 if own rules cost more than ``GOAL`` times the shipped ones.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from kubesched_lint.engine.model.decode.objects import is_read  # noqa: E402
from kubesched_lint.linter.lint import lint  # noqa: E402
from kubesched_lint.linter.options import Options  # noqa: E402
from kubesched_lint.linter.reading.manifest_set import ManifestSet, manifest_set  # noqa: E402
from kubesched_lint.rulebook.library import Rulebook  # noqa: E402
from kubesched_lint.rulebook.own import rulebook_with  # noqa: E402
from kubesched_lint.rulebook.rule import Rule  # noqa: E402
from kubesched_lint.sources.clusters.read import read_cluster  # noqa: E402
from kubesched_lint.sources.manifests.loader import documents  # noqa: E402

RULES = ROOT / "examples" / "rules"
SKETCH = ROOT / "fixtures" / "clusters" / "three-zones.yaml"
GOAL = 1.5
_WORKLOAD = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {name}
  namespace: {namespace}
  labels: {{app: {name}, team: {team}, tier: {tier}}}
spec:
  replicas: {replicas}
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata: {{labels: {{app: {name}}}}}
    spec:
      nodeSelector: {{example.com/pool: {team}}}
      tolerations:
      - {{key: example.com/spot, operator: Exists, effect: NoSchedule}}
      {placement}
      containers:
      - name: {name}
        image: registry.example.com/{namespace}/{name}:1.0
        resources: {{requests: {{cpu: 100m, memory: 128Mi}}}}
---
"""
_PLACEMENTS = (
    "priorityClassName: business-critical",
    "topologySpreadConstraints: [{{maxSkew: 1, minDomains: 3, topologyKey: topology.kubernetes.io/zone, "
    "whenUnsatisfiable: DoNotSchedule, labelSelector: {{matchLabels: {{app: {name}}}}}}}]",
    "affinity: {{podAntiAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: "
    "[{{topologyKey: kubernetes.io/hostname, labelSelector: {{matchLabels: {{app: {name}}}}}}}]}}}}",
)


def manifests(count: int) -> ManifestSet:
    """A platform's workloads; most follow its rules."""
    random = Random(7)
    texts = []
    for number in range(count):
        name = f"app-{number}"
        texts.append(
            _WORKLOAD.format(
                name=name,
                namespace=random.choice(("shop", "payments", "search", "checkout")),
                team=f"team-{number % 12}",
                tier=random.choice(("production", "test")),
                replicas=random.randint(1, 4),
                placement=random.choice(_PLACEMENTS).format(name=name),
            )
        )
    return manifest_set(documents("all.yaml", "".join(texts).encode(), is_read), "default")


def least(work: Callable[[], object], rounds: int) -> float:
    """CPU seconds of the fastest of some rounds."""
    taken = []
    for _ in range(rounds):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return min(taken)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workloads", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args(arguments)
    shipped = Rulebook.shipped().select()
    start = time.process_time()
    book = rulebook_with([str(RULES)])
    first = time.process_time() - start
    again = least(lambda: rulebook_with([str(RULES)]), given.rounds)
    own = tuple(rule for rule in book.select() if rule.code is not None)
    assert not book.faults, book.faults
    these, cluster = manifests(given.workloads), read_cluster(str(SKETCH))

    def run(rules: Sequence[Rule]) -> Callable[[], object]:
        return lambda: lint(these, cluster, Options(), rules)

    report, _ = lint(these, cluster, Options(), own)
    assert not report.errors, report.errors
    thousand = 1_000 / given.workloads
    nothing, theirs, both = (least(run(rules), given.rounds) for rules in ((), shipped, (*shipped, *own)))
    theirs, ours = (theirs - nothing) * thousand, (both - theirs) * thousand
    print(f"own rules: {len(own)} rules, {given.workloads} workloads, {len(report.findings)} findings")
    print(f"  loading: {first * 1e3:.0f} ms with the first import of CEL, {again * 1e3:.0f} ms again")
    print(f"  per 1,000 workloads: own {ours * 1e3:.0f} ms ({ours / len(own) * 1e3:.1f} ms a rule), ", end="")
    print(f"the {len(shipped)} shipped {theirs * 1e3:.0f} ms: ratio {ours / theirs:.2f} (goal {GOAL})")
    print("  each alone, with the facts that it would share:")
    for rule in own:
        alone = (least(run((rule,)), given.rounds) - nothing) * thousand
        print(f"    {rule.slug:36} {alone * 1e3:6.1f} ms")
    return 0 if ours <= GOAL * theirs else 1


if __name__ == "__main__":
    sys.exit(main())
