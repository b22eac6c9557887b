"""The cost of reading a large cluster and of linting 100 workloads against it, relative to ``json.loads`` of the file.

Run from the repository: ``python benchmarks/snapshot.py [PODS NODES]``; default: 100, 1,000 and 5,000 nodes with 30
pods each. The pods look like kubectl's output for real ones: managed fields, environment, token volumes, daemons pinned
to their nodes; on 5,000 nodes they are trimmed as by ``kubesched-lint snapshot``. Exit code 1 if reading kubectl's
output for 1,000 nodes takes more than half the CPU of ``json.loads``, or a third of its memory.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any

ROOT = Path(__file__).parents[1]
GOAL_CPU, GOAL_MEMORY = 0.5, 1 / 3
SIZES = ((3_000, 100), (30_000, 1_000), (150_000, 5_000))
KUBECTLS = 100_000
"""Pods; of more, what kubectl prints would take a gigabyte."""

_WORKLOAD = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {name}
  namespace: {team}
  labels: {{app: {name}, team: {team}}}
spec:
  replicas: {replicas}
  selector:
    matchLabels:
      app: {name}
  template:
    metadata:
      labels:
        app: {name}
    spec:
      {constraint}
      containers:
        - name: {name}
          image: registry.example.com/{team}/{name}:1.{replicas}
          ports:
            - name: http
              containerPort: 8080
          env:
            - name: SERVICE_NAME
              value: {name}
            - name: LOG_LEVEL
              value: "info"
          resources:
            requests:
              cpu: {cpu}m
              memory: 256Mi
          readinessProbe:
            httpGet:
              path: /ready
              port: http
---
apiVersion: v1
kind: Service
metadata:
  name: {name}
  namespace: {team}
spec:
  selector:
    app: {name}
  ports:
    - port: 80
      targetPort: http
"""
_SPREAD = """topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: topology.kubernetes.io/zone
          whenUnsatisfiable: DoNotSchedule
          labelSelector:
            matchLabels:
              app: {name}"""
_APART = """affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            - topologyKey: kubernetes.io/hostname
              labelSelector:
                matchLabels:
                  app: {name}"""
_ANYWHERE = "terminationGracePeriodSeconds: 30"
_MEASURE = """
import sys, time
sys.path.insert(0, {root!r})
{prepare}
before = time.process_time()
{work}
cost = time.process_time() - before
# Not ru_maxrss: a child inherits that from the process that started it.
peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) / 1024
print(cost, peak, {result})
"""


def plain_manifests(folder: Path, count: int) -> None:
    """Files with a Deployment and its Service each, a hundred in a folder; equal counts give equal files."""
    for number in range(count):
        random = Random(number)
        name, team = f"app-{number:05}", f"team-{number // 100:03}"
        constraint = random.choice((_SPREAD, _APART, _ANYWHERE, _ANYWHERE)).format(name=name)
        text = _WORKLOAD.format(
            name=name,
            team=team,
            replicas=random.randint(1, 8),
            cpu=random.choice((50, 250, 900)),
            constraint=constraint,
        )
        path = folder / team / f"{name}.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")


def nodes(count: int) -> Iterator[dict[str, Any]]:
    for i in range(count):
        name = f"ip-10-{i >> 8}-{i & 255}-7.eu-west-1.compute.internal"
        labels = {
            "kubernetes.io/hostname": name,
            "kubernetes.io/os": "linux",
            "topology.kubernetes.io/zone": f"eu-west-1{'abc'[i % 3]}",
            "node.kubernetes.io/instance-type": ("m6i.4xlarge", "c7g.4xlarge")[i % 2],
        }
        images = [{"names": [f"registry.example.com/i{n}@sha256:{n:064x}"], "sizeBytes": n << 20} for n in range(40)]
        yield {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": labels, "creationTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {"providerID": f"aws:///{i}"},
            "status": {
                "allocatable": {"cpu": "15890m", "memory": "60000000Ki", "pods": "110"},
                "conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-01-02T00:00:00Z"}],
                "images": images,
            },
        }


def lean(pod: dict[str, Any]) -> dict[str, Any]:
    """Without the fields that no scheduler reads."""
    del pod["metadata"]["managedFields"], pod["spec"]["volumes"], pod["status"]["containerStatuses"]
    for container in pod["spec"]["containers"]:
        del container["env"], container["volumeMounts"]
    return pod


def pods(count: int, on: list[str]) -> Iterator[dict[str, Any]]:
    """Every tenth belongs to a DaemonSet, the others to Deployments of some thirty replicas."""
    for i in range(count):
        node = on[i % len(on)]
        daemon = i % 10 == 0
        app = f"agent-{i // 10 // len(on)}" if daemon else f"app-{i // 30}"
        token = f"kube-api-access-{i:05x}"
        labels = {"app": app, ("controller-revision-hash" if daemon else "pod-template-hash"): "5d9c7b6f4"}
        spec: dict[str, Any] = {
            "nodeName": node,
            "priority": 0,
            "schedulerName": "default-scheduler",
            "containers": [
                {
                    "name": "main",
                    "image": f"registry.example.com/{app}:1",
                    "env": [{"name": f"SETTING_{n}", "value": f"value-{n}"} for n in range(20)],
                    "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}},
                    "volumeMounts": [{"name": token, "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}],
                }
            ],
            "tolerations": [
                {
                    "key": f"node.kubernetes.io/{k}",
                    "operator": "Exists",
                    "effect": "NoExecute",
                    "tolerationSeconds": 300,
                }
                for k in ("not-ready", "unreachable")
            ],
            "volumes": [{"name": token, "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}],
        }
        if daemon:
            pin = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
            required = {"nodeSelectorTerms": [pin]}
            spec["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
        owner = {"kind": "DaemonSet" if daemon else "ReplicaSet", "name": f"{app}-5d9c7b6f4", "controller": True}
        managed = {f"f:field{n}": {f"f:inner{m}": {} for m in range(6)} for n in range(10)}
        yield {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": f"{app}-5d9c7b6f4-{i:05x}",
                "namespace": f"team-{i // 30 % 50}" if not daemon else "kube-system",
                "uid": f"{i:032x}",
                "labels": labels,
                "creationTimestamp": "2026-01-01T00:00:00Z",
                "ownerReferences": [{**owner, "apiVersion": "apps/v1", "uid": f"{i // 30:032x}"}],
                "managedFields": [{"manager": "kubelet", "fieldsV1": managed}],
            },
            "spec": spec,
            "status": {
                "phase": "Running",
                "startTime": "2026-01-01T00:00:05Z",
                "conditions": [
                    {"type": t, "status": "True", "lastTransitionTime": "2026-01-01T00:00:05Z"}
                    for t in ("Initialized", "Ready", "ContainersReady", "PodScheduled")
                ],
                "containerStatuses": [
                    {
                        "allocatedResources": {"cpu": "100m", "memory": "128Mi"},
                        "containerID": f"containerd://{i:064x}",
                        "image": f"registry.example.com/{app}:1",
                        "imageID": f"registry.example.com/{app}@sha256:{i // 30:064x}",
                        "lastState": {},
                        "name": "main",
                        "ready": True,
                        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}},
                        "restartCount": 0,
                        "started": True,
                        "state": {"running": {"startedAt": "2026-01-01T00:00:06Z"}},
                    }
                ],
            },
        }


def write(file: Path, pod_count: int, node_count: int) -> None:
    """In kubectl's layout."""
    made = list(nodes(node_count))
    trimmed = lean if pod_count > KUBECTLS else lambda pod: pod
    names = [node["metadata"]["name"] for node in made]
    with file.open("w") as out:
        out.write('{\n    "apiVersion": "v1",\n    "items": [\n')
        between = ""
        for item in chain(made, map(trimmed, pods(pod_count, names))):
            text = json.dumps(item, indent=4).replace("\n", "\n        ")
            out.write(f"{between}        {text}")
            between = ",\n"
        out.write('\n    ],\n    "kind": "List",\n    "metadata": {\n        "resourceVersion": ""\n    }\n}\n')


def measured(prepare: str, work: str, result: str) -> tuple[float, float, str]:
    """CPU seconds and peak MiB of a fresh interpreter, best of three."""
    code = _MEASURE.format(root=str(ROOT), prepare=prepare, work=work, result=result)
    runs = []
    for _ in range(3):
        cpu, peak, *words = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.split()
        runs.append((float(cpu), float(peak), " ".join(words)))
    return min(runs)


def figures(pod_count: int, node_count: int) -> bool:
    """Prints the figures of one size and tells whether the goals are met, where there are any."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "cluster.json")
        write(file, pod_count, node_count)
        packed = Path(folder, "cluster.json.gz")
        with file.open("rb") as source, gzip.open(packed, "wb", 6) as target:
            while block := source.read(1 << 20):
                target.write(block)
        print(f"{pod_count:,} pods on {node_count:,} nodes: {file.stat().st_size / 1e6:.0f} MB of JSON")
        base = measured("import json", f"found = json.loads(open({str(file)!r}, 'rb').read())", "len(found['items'])")
        rows = [("json.loads", base)]
        for name, path in (("read_cluster", file), ("read_cluster, gzip", packed)):
            work = f"c = read_cluster({str(path)!r})"
            counts = "len(c.inventory.pods), 'pods,', len({p.pod for p in c.inventory.pods}), 'distinct'"
            rows.append((name, measured("from kubesched_lint.sources.clusters.read import read_cluster", work, counts)))
        manifests = Path(folder, "manifests")
        manifests.mkdir()
        plain_manifests(manifests, 100)
        prepare = "from kubesched_lint import lint"
        work = f"report = lint({str(manifests)!r}, cluster={str(file)!r})"
        rows.append(("lint 100 workloads", measured(prepare, work, "len(report.findings), 'findings'")))
    for name, (cpu, peak, said) in rows:
        print(
            f"  {name:20} {cpu:6.2f} s CPU ({cpu / base[0]:.2f})  {peak:7.0f} MiB ({peak / base[1]:.2f})  {said}",
            flush=True,
        )
    _, (cpu, peak, _) = rows[1]
    return not SIZES[1][0] <= pod_count <= KUBECTLS or (cpu <= GOAL_CPU * base[0] and peak <= GOAL_MEMORY * base[1])


def main() -> int:
    sizes = ((int(sys.argv[1]), int(sys.argv[2])),) if len(sys.argv) == 3 else SIZES
    met = [figures(*size) for size in sizes]  # all of them, even if one misses its goal
    return int(not all(met))


if __name__ == "__main__":
    sys.exit(main())
