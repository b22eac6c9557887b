"""How fixes look in manifests as people lay them out: read fixtures/golden/fixes.diff."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from pathlib import Path

from kubesched_lint.commands.fix.search import mend
from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.linter.lint import lint
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import manifest_set
from kubesched_lint.linter.waivers.suppression import suppress
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.sources.clusters.read import cluster_from
from kubesched_lint.sources.manifests.loader import documents

BOOK = Rulebook.shipped()
CLUSTER = """\
apiVersion: kubesched-lint/v1
kind: ClusterSketch
nodes:
- name: worker
  count: 2
  zones: [eu-west-1a, eu-west-1b, eu-west-1c]
  labels: {disktype: ssd}
  allocatable: {cpu: "4", memory: 16Gi}
- {name: gpu, count: 1, zones: [eu-west-1a], labels: {pool: gpu}, taints: [dedicated=gpu:NoSchedule]}
"""

HEAD = """\
apiVersion: apps/v1
kind: {kind}
metadata:
  name: web
  namespace: shop
spec:
  # asked for by the shop team
  replicas: {replicas}
  selector:
    matchLabels:
      app: web
  template:
    metadata:
      labels:
        app: web
    spec:
"""
TAIL = """\
      containers:  # only one
        - name: web
          image: "registry.example.com/shop/web:1.0"
"""


def deployment(spec: str, kind: str = "Deployment", replicas: int = 3, tail: str = TAIL) -> str:
    head = HEAD.format(kind=kind, replicas=replicas)
    if kind == "DaemonSet":
        head = head.replace("  # asked for by the shop team\n  replicas: 3\n", "")
    return head + "".join(f"      {line}\n" if line else "\n" for line in spec.splitlines()) + tail


APART = """\
affinity:
  podAntiAffinity:
    # one a zone
    requiredDuringSchedulingIgnoredDuringExecution:
      - labelSelector:
          matchLabels:
            app: web   # itself
        topologyKey: topology.kubernetes.io/zone
"""
EVEN = """\
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: {key}
    whenUnsatisfiable: {when}
    labelSelector:
      matchLabels:
        app: {app}
"""
BUDGET = """\
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: web
  namespace: shop
spec:
  minAvailable: 3  # all of them
  selector:
    matchLabels:
      app: web
"""
SCALER = """\
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: shop}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 3
  maxReplicas: 30   # black friday
  metrics:
  - {type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}
"""
CPU = TAIL + '          resources:\n            requests: {cpu: "1", memory: 1Gi}\n'
ZONE, HOSTNAME = "topology.kubernetes.io/zone", "kubernetes.io/hostname"

POSTGRES = """\
---
apiVersion: v1
kind: Pod
metadata: {name: db, namespace: shop, labels: {app.kubernetes.io/name: postgres}}
spec: {containers: [{name: db, image: postgres:17}]}
"""

CASES = {
    "each revision is balanced by itself": deployment(EVEN.format(key=ZONE, when="ScheduleAnyway", app="web")),
    "an old pod makes room": deployment(APART),
    "a spread constraint for anti-affinity": deployment(APART, replicas=6),
    "a label as the other pods have it": deployment(
        APART.replace("podAntiAffinity", "podAffinity").replace(": web", ": postgres")
    )
    + POSTGRES,
    "a renamed topology key": deployment(
        EVEN.format(key='"failure-domain.beta.kubernetes.io/zone"', when="ScheduleAnyway", app="web")
    ),
    "a mistyped topology key": deployment(
        EVEN.format(key="topology.kubernetes.io/zones", when="DoNotSchedule", app="web")
    ),
    "a selector that misses its own pods": deployment(EVEN.format(key=HOSTNAME, when="ScheduleAnyway", app="website")),
    "a node label in other letters": deployment("nodeSelector:\n  diskType: ssd  # fast\n"),
    "a taint in the way": deployment("nodeSelector:\n  pool: gpu\n"),
    "a node by its label": deployment("nodeName: worker-eu-west-1a-1  # the big one\n"),
    "a misspelt field": deployment("nodeselector:\n  disktype: ssd\n"),
    "text and numbers": deployment('terminationGracePeriodSeconds: "30"\n', tail=TAIL),
    "a budget that lets one go": deployment("") + BUDGET,
    "no more than there is room for": deployment("", tail=CPU) + SCALER,
    "a spread constraint on a DaemonSet": deployment(
        EVEN.format(key=ZONE, when="DoNotSchedule", app="web"), kind="DaemonSet"
    ),
}


def mended(name: str, text: str, folder: Path) -> list[str]:
    file = folder / "manifest.yaml"
    file.write_text(text)
    options = Options()
    cluster = cluster_from([("cluster.yaml", CLUSTER.encode())], "cluster.yaml", elastic=None)
    manifests = manifest_set(documents(str(file), text.encode(), is_read), "default")
    rules = BOOK.select()
    report = suppress(lint(manifests, cluster, options, rules)[0], manifests, BOOK, rules, options)
    found = mend(manifests, cluster, options, BOOK, report, unsafe=True)
    (open_file,) = found.open_files
    titles = [f"= {fix.title} ({'safe' if fix.safe else 'unsafe'})\n" for fix in found.fixes.values()]
    lines = difflib.unified_diff(text.splitlines(True), open_file.data.decode().splitlines(True), n=2)
    return [f"## {name}: fixed {found.fixed} of {found.findings}\n", *titles, *list(lines)[2:], "\n"]


def test_fixes_look_as_if_the_owner_had_written_them(golden: Callable[[str, str], None], tmp_path: Path) -> None:
    golden("fixes.diff", "".join(line for name, text in CASES.items() for line in mended(name, text, tmp_path)))
