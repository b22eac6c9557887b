"""``check`` against a live API server of 1,000 nodes and 30,000 pods (goal: 10 s of CPU).

Run from the repository: ``python -m benchmarks.check [PODS NODES [ROLLED]]``. The API server is a stand-in on the
loopback interface, whose pages are made before the clock starts: 300 Deployments, a third with a sidecar that their
templates do not have. The manifests roll ROLLED of them out (1), scale one, and create one. Exit code 1 if ``check``
takes more CPU.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Any
from urllib.parse import parse_qs, urlsplit

ROOT = Path(__file__).parents[1]
GOAL = 10.0
DEPLOYMENTS, SPACES, PAGE = 300, 30, 500
Value = dict[str, Any]


def node(number: int) -> Value:
    name = f"node-{number:04}"
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "topology.kubernetes.io/zone": f"eu-west-1{'abc'[number % 3]}",
        "node.kubernetes.io/instance-type": "m6i.4xlarge",
        "eks.amazonaws.com/nodegroup": f"general-{number % 3}",
    }
    status = {"allocatable": {"cpu": "15890m", "memory": "60000000Ki", "pods": "110"}, "capacity": {"cpu": "16"}}
    return {"metadata": {"name": name, "labels": labels, "uid": name}, "spec": {}, "status": status}


def deployment(number: int, replicas: int, *, image: str = "1.0") -> Value:
    name, space = f"app-{number:03}", f"team-{number % SPACES:02}"
    container = {
        "name": "app",
        "image": f"registry.example.com/{name}:{image}",
        "env": [{"name": f"SETTING_{i}", "value": "x" * 40} for i in range(10)],
        "resources": {"requests": {"cpu": "250m", "memory": "512Mi"}},
    }
    spread = {
        "maxSkew": 1,
        "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": name}},
    }
    pod: Value = {"containers": [container]}
    if not number % 2:
        pod["topologySpreadConstraints"] = [spread]
    spec = {
        "replicas": replicas,
        "selector": {"matchLabels": {"app": name}},
        "template": {"metadata": {"labels": {"app": name}}, "spec": pod},
    }
    return {"metadata": {"name": name, "namespace": space, "uid": f"d-{number}"}, "spec": spec}


def owner(kind: str, of: Value) -> list[Value]:
    meta = of["metadata"]
    controller = {"apiVersion": "apps/v1", "kind": kind, "name": meta["name"], "uid": meta["uid"], "controller": True}
    return [controller]


def replica_set(of: Value) -> Value:
    meta, spec = of["metadata"], of["spec"]
    labels = {**spec["template"]["metadata"]["labels"], "pod-template-hash": "5f7d8c9b4"}
    named = {"name": f"{meta['name']}-5f7d8c9b4", "namespace": meta["namespace"], "uid": f"r-{meta['uid']}"}
    notes = {"deployment.kubernetes.io/revision": "1"}
    template = {**spec["template"], "metadata": {"labels": labels}}
    return {
        "metadata": {**named, "labels": labels, "annotations": notes, "ownerReferences": owner("Deployment", of)},
        "spec": {"replicas": spec["replicas"], "selector": {"matchLabels": labels}, "template": template},
    }


def pods(of: Value, start: int, nodes: int) -> Iterator[Value]:
    made_by = replica_set(of)
    spec = made_by["spec"]["template"]["spec"]
    if int(of["metadata"]["name"][4:]) % 3 == 0:
        proxy = {"name": "istio-proxy", "image": "istio/proxyv2:1.24", "resources": {"requests": {"cpu": "100m"}}}
        spec = {**spec, "containers": [*spec["containers"], proxy]}
    conditions = [{"type": kind, "status": "True"} for kind in ("Initialized", "Ready", "PodScheduled")]
    for number in range(of["spec"]["replicas"]):
        name = f"{made_by['metadata']['name']}-{number:05}"
        meta = {"name": name, "namespace": of["metadata"]["namespace"], "labels": made_by["metadata"]["labels"]}
        meta |= {"ownerReferences": owner("ReplicaSet", made_by), "creationTimestamp": "2026-11-20T08:00:00Z"}
        meta["managedFields"] = [{"manager": "kubelet", "fieldsV1": {"f:status": {"f:conditions": {}}}}] * 3
        where = {"nodeName": f"node-{(start + number) % nodes:04}"}
        status = {"phase": "Running", "startTime": "2026-11-20T08:00:00Z", "conditions": conditions}
        yield {"metadata": meta, "spec": {**spec, **where}, "status": status}


def cluster(pod_count: int, node_count: int) -> Mapping[str, Iterable[Value]]:
    """Return plural → objects, as an API server lists them."""
    each = pod_count // DEPLOYMENTS
    made = [deployment(number, each) for number in range(DEPLOYMENTS)]
    return {
        "nodes": (node(number) for number in range(node_count)),
        "pods": (pod for number, entry in enumerate(made) for pod in pods(entry, number * 7, node_count)),
        "deployments": made,
        "replicasets": map(replica_set, made),
        "namespaces": ({"metadata": {"name": f"team-{number:02}"}} for number in range(SPACES)),
    }


class Pages:
    """Answers as bytes, gzipped: what the server costs is not measured."""

    def __init__(self, objects: Mapping[str, Iterable[Value]]) -> None:
        self._pages = {plural: list(self._of(items)) for plural, items in objects.items()}

    def _of(self, items: Iterable[Value]) -> Iterator[bytes]:
        left = iter(items)
        page, number = list(islice(left, PAGE)), 0
        while page:
            following, number = list(islice(left, PAGE)), number + 1
            meta = {"resourceVersion": "1", **({"continue": str(number)} if following else {})}
            yield gzip.compress(json.dumps({"metadata": meta, "items": page}).encode(), 1)
            page = following

    def page(self, plural: str, token: str) -> bytes:
        known = self._pages.get(plural)
        return known[int(token or 0)] if known else gzip.compress(b'{"metadata":{},"items":[]}')


def serve(pages: Pages) -> ThreadingHTTPServer:
    groups = ("apps", "batch", "autoscaling", "policy", "storage.k8s.io", "scheduling.k8s.io", "node.k8s.io")

    class Answers(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1

        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            where = urlsplit(self.path)
            if where.path == "/version":
                body = gzip.compress(b'{"gitVersion":"v1.36.2"}')
            elif where.path == "/apis":
                listed = [{"name": g, "versions": [{"version": v} for v in ("v1", "v2")]} for g in groups]
                body = gzip.compress(json.dumps({"groups": listed}).encode())
            else:
                token = parse_qs(where.query).get("continue", [""])[0]
                body = pages.page(where.path.rpartition("/")[2], token)
            self.send_response(200)
            self.send_header("Content-Encoding", "gzip")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def manifests(each: int, rolled: int) -> str:
    changed = [deployment(number, each, image="1.1") for number in range(rolled)]
    changed += [deployment(rolled, each + 20), deployment(DEPLOYMENTS, 30)]
    whole = ({"apiVersion": "apps/v1", "kind": "Deployment", **entry} for entry in changed)
    return "\n---\n".join(map(json.dumps, whole))


def main() -> int:
    pod_count, node_count, rolled = map(int, (*sys.argv[1:], *("30000", "1000", "1")[len(sys.argv) - 1 :]))
    server = serve(Pages(cluster(pod_count, node_count)))
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "apps.yaml").write_text(manifests(pod_count // DEPLOYMENTS, rolled), encoding="utf-8")
        config = Path(folder, "kubeconfig")
        url = f"http://127.0.0.1:{server.server_port}"
        parts = {
            "clusters": [{"name": "c", "cluster": {"server": url}}],
            "users": [{"name": "u", "user": {"token": "t"}}],
            "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "here",
        }
        config.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", **parts}), encoding="utf-8")
        command = [sys.executable, "-m", "kubesched_lint", "check", "apps.yaml", "-c", "live"]
        environment = {**os.environ, "KUBECONFIG": str(config), "PYTHONPATH": str(ROOT)}
        started, before = perf_counter(), os.times()
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        wall, after = perf_counter() - started, os.times()
    server.shutdown()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    print(done.stdout, done.stderr, sep="\n")
    print(f"exit code {done.returncode}: {wall:.1f} s from start to end, {cpu:.1f} s of CPU (goal: {GOAL:.0f} s)")
    return int(done.returncode > 1 or cpu > GOAL)


if __name__ == "__main__":
    sys.exit(main())
