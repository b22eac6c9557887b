"""A version label that a change does not bump is told by plan, --changed, and beside running pods."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.program import called

RULE = "spread-version-label-not-bumped"


def web(image: str = "app:1", version: str = "v1") -> dict[str, Any]:
    labels = {"app": "web", "version": version}
    spread = {
        "maxSkew": 1,
        "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": labels},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"topologySpreadConstraints": [spread], "containers": [{"name": "main", "image": image}]},
            },
        },
    }


def owner(kind: str, name: str) -> list[dict[str, Any]]:
    return [{"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": name, "controller": True}]


def node(name: str) -> dict[str, Any]:
    able = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    labels = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": f"z-{name}"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"allocatable": able, "capacity": able},
    }


def listed(*kinds: str) -> str:
    """What ``kubectl get`` prints of a deployed ``web``."""
    live = web()
    live["metadata"]["uid"] = "web"
    hashed = {"app": "web", "version": "v1", "pod-template-hash": "5d9"}
    template = {**live["spec"]["template"], "metadata": {"labels": hashed}}
    items: list[dict[str, Any]] = [node("a"), node("b")]
    if "Deployment" in kinds:
        items.append(live)
    if "ReplicaSet" in kinds:
        about = {
            "name": "web-5d9",
            "namespace": "shop",
            "uid": "web-5d9",
            "labels": hashed,
            "annotations": {"deployment.kubernetes.io/revision": "1"},
            "ownerReferences": owner("Deployment", "web"),
        }
        spec = {"replicas": 2, "selector": {"matchLabels": hashed}, "template": template}
        items.append({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": about, "spec": spec})
    for name in ("a", "b"):
        about = {"name": f"web-5d9-{name}", "namespace": "shop", "labels": hashed}
        about |= {"ownerReferences": owner("ReplicaSet", "web-5d9")}
        spec = {**template["spec"], "nodeName": name}
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {**about, "ownerReferences": owner("ReplicaSet", "web-5d9")},
        }
        items.append({**pod, "spec": spec, "status": {"phase": "Running"}})
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items})


def found(folder: Path, *args: str) -> list[str]:
    done = called("lint", *args, "--format", "json", cwd=folder)
    assert done.returncode in (0, 1), done.stderr
    return [f"{one['rule']}:{one['severity']}" for one in json.loads(done.stdout)["findings"]]


@pytest.mark.parametrize("kinds", [("Pod",), ("Pod", "ReplicaSet"), ("Pod", "Deployment", "ReplicaSet")])
def test_what_runs_shows_it(tmp_path: Path, kinds: tuple[str, ...]) -> None:
    (tmp_path / "cluster.json").write_text(listed(*kinds))

    def said(value: dict[str, Any]) -> list[str]:
        (tmp_path / "web.yaml").write_text(yaml.safe_dump(value))
        return [one for one in found(tmp_path, "web.yaml", "-c", "cluster.json") if RULE in one]

    assert said(web("app:2")) == [f"{RULE}:warning"]
    assert said(web("app:1")) == said(web("app:2", "v2")) == []
    recreated = web("app:2")
    recreated["spec"]["strategy"] = {"type": "Recreate"}
    assert said(recreated) == []


def test_plan_says_it(tmp_path: Path) -> None:
    for name, value in (("old", web()), ("new", web("app:2")), ("bumped", web("app:2", "v2"))):
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(value))
    nodes = {"apiVersion": "v1", "kind": "List", "items": [node("a"), node("b")]}
    (tmp_path / "nodes.json").write_text(json.dumps(nodes))

    def said(name: str) -> str:
        done = called("plan", "old.yaml", f"{name}.yaml", "-c", "nodes.json", "--events", "deploy", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert said("new").startswith(f"after this change 1 warning is new: {RULE}\n")
    assert RULE not in said("bumped")


def test_strict_finds_the_label_whatever_runs(tmp_path: Path) -> None:
    (tmp_path / "web.yaml").write_text(yaml.safe_dump(web()))
    by_hand = "spread-version-label-by-hand:note"
    assert by_hand in found(tmp_path, "web.yaml", "--profile=strict")
    assert by_hand not in found(tmp_path, "web.yaml")


def test_verbose_says_that_it_could_not_run(tmp_path: Path) -> None:
    (tmp_path / "web.yaml").write_text(yaml.safe_dump(web()))
    done = called("lint", "web.yaml", "--verbose", cwd=tmp_path)
    assert RULE in done.stdout
    assert "running pods in the cluster file, or a change (--changed=BASE, plan)" in done.stdout
