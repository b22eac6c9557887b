"""Record what Helm makes of values with app-template: ``python tests/custom/record_app_template.py HELM CHART``.

CHART is a folder with the chart of the version that its values card names last, with its library in ``charts/``.
"""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
CARD = ROOT / "workloads" / "charts" / "app-template.md"
RECORDED = ROOT / "fixtures" / "releases" / "app-template.json"
KINDS = ("Deployment", "StatefulSet", "DaemonSet", "CronJob", "Job", "PersistentVolumeClaim")
NAME, NAMESPACE = "rel", "ns"


def examples() -> list[dict[str, Any]]:
    """The values of the card, as they stand."""
    return [yaml.safe_load(text) for text in re.findall(r"```yaml values\n(.*?)```", CARD.read_text(), re.DOTALL)]


def _pod(draw: random.Random) -> dict[str, Any]:
    terms = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]}
    label = draw.choice(["{{ .Release.Name }}", "{{.Release.Namespace}}", "x"])
    spread = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    options: dict[str, Any] = {
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}},
        "hostNetwork": draw.choice([True, False]),
        "labels": {"tier": draw.choice("ab")},
        "nodeSelector": {draw.choice(["disk", "arch"]): draw.choice(["ssd", "arm64"])},
        "priorityClassName": draw.choice(["", "high"]),
        "terminationGracePeriodSeconds": draw.choice([0, 30]),
        "tolerations": draw.choice([[], [{"key": "dedicated", "operator": "Exists"}]]),
        "topologySpreadConstraints": [{**spread, "labelSelector": {"matchLabels": {"app.kubernetes.io/name": label}}}],
        "restartPolicy": "Always",
    }
    return {key: options[key] for key in draw.sample(sorted(options), draw.randint(0, 4))}


def _container(draw: random.Random, others: list[str]) -> dict[str, Any]:
    container: dict[str, Any] = {"image": {"repository": "web", "tag": "1"}}
    if draw.random() < 0.6:
        container["resources"] = {"requests": {"cpu": draw.choice(["100m", 1])}, "limits": {"memory": "1Gi"}}
    if draw.random() < 0.3:
        container["ports"] = [{"containerPort": 80, "hostPort": 8080}]
    if draw.random() < 0.2:
        container["nameOverride"] = "other"
    if others and draw.random() < 0.4:
        container["dependsOn"] = draw.choice(others)
    if others and draw.random() < 0.2:
        container["enabled"] = False
    return container


def _controller(draw: random.Random) -> dict[str, Any]:
    kind = draw.choice(["deployment", "deployment", "statefulset", "daemonset", "cronjob", "job", None])
    names = draw.sample(["app", "sidecar", "b"], draw.randint(1, 3))
    found: dict[str, Any] = {
        "containers": {name: _container(draw, names[:number]) for number, name in enumerate(names)},
    }
    found |= {"type": kind} if kind else {}
    found |= {"pod": _pod(draw)} if draw.random() < 0.6 else {}
    if draw.random() < 0.4:
        found["initContainers"] = {"init": {**_container(draw, []), "restartPolicy": draw.choice(["Always", ""])}}
    if draw.random() < 0.3:
        found["defaultContainerOptions"] = {"resources": {"requests": {"memory": "64Mi"}}}
        found["defaultContainerOptionsStrategy"] = draw.choice(["overwrite", "merge"])
        found["applyDefaultContainerOptionsToInitContainers"] = draw.choice([True, False])
    if kind == "cronjob":
        found["cronjob"] = {"schedule": "@daily", "concurrencyPolicy": draw.choice(["Allow", ""]), "parallelism": 2}
    if kind == "job":
        found["job"] = {"completions": 3, "parallelism": draw.choice([1, 2])}
    if kind == "statefulset":
        found["replicas"] = draw.choice([1, 3])
        claim = {"name": "data", "accessMode": "ReadWriteOnce", "size": "1Gi", "globalMounts": [{"path": "/d"}]}
        claim |= {"storageClass": draw.choice(["fast", "-"])} if draw.random() < 0.5 else {}
        found["statefulset"] = {"volumeClaimTemplates": [claim], "podManagementPolicy": draw.choice(["Parallel", ""])}
    if kind in ("deployment", None):
        found |= draw.choice([{}, {"replicas": 0}, {"replicas": 3}, {"replicas": None}])
        rolling = {"surge": draw.choice([1, "25%", 0]), "unavailable": draw.choice([1, 0])}
        found |= draw.choice(
            [{}, {"strategy": "RollingUpdate"}, {"strategy": "RollingUpdate", "rollingUpdate": rolling}]
        )
    return found | draw.choice([{}, {}, {"suffix": "x"}, {"prefix": "y"}])


def _volume(draw: random.Random, controllers: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = draw.choice(
        [
            {"existingClaim": "media"},
            {"accessMode": "ReadWriteOnce", "size": "5Gi", "storageClass": draw.choice(["fast", "-"])},
            {"type": "emptyDir", "medium": "Memory", "sizeLimit": "1Gi"},
            {"type": "hostPath", "hostPath": "/mnt"},
            {"type": "nfs", "server": "nas", "path": "/x"},
            {"type": "secret", "name": "s"},
            {"type": "custom", "volumeSpec": {"emptyDir": {}}},
        ]
    )
    one = {draw.choice(controllers): {"app": [{"path": "/a"}]}}
    return {
        **found,
        **draw.choice([{}, {"globalMounts": [{"path": "/g"}]}, {"advancedMounts": one}, {"enabled": False}]),
    }


def drawn(count: int) -> Iterator[dict[str, Any]]:
    draw = random.Random(53)
    for _ in range(count):
        controllers = draw.sample(["main", "web", "rel"], draw.randint(1, 3))
        values: dict[str, Any] = {"controllers": {name: _controller(draw) for name in controllers}}
        values |= {"defaultPodOptions": _pod(draw)} if draw.random() < 0.5 else {}
        if len(controllers) > 1:  # the chart gives the pods of all the labels of one then, of any of them
            values.get("defaultPodOptions", {}).pop("labels", None)
        values |= {"defaultPodOptionsStrategy": "merge"} if draw.random() < 0.3 else {}
        volumes = draw.sample(["config", "media", "tmp"], draw.randint(0, 3))
        values |= {"persistence": {name: _volume(draw, controllers) for name in volumes}} if volumes else {}
        more = [
            {"nameOverride": "other"},
            {"fullnameOverride": "whole"},
            {"alwaysAppendIdentifierToResourceName": True},
        ]
        values |= {"global": draw.choice(more)} if draw.random() < 0.4 else {}
        yield values


def made_by_helm(helm: str, chart: str, values: dict[str, Any]) -> list[dict[str, Any]] | None:
    """The objects that pods come from; None if Helm refuses the values."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        json.dump(values, file)
        file.flush()
        command = [helm, "template", NAME, chart, "-n", NAMESPACE, "-f", file.name, "--kube-version", "1.36.0"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return None
    return [one for one in yaml.safe_load_all(done.stdout) if one and one["kind"] in KINDS]


def main(helm: str, chart: str) -> None:
    found = [(values, made_by_helm(helm, chart, values)) for values in (*examples(), *drawn(90))]
    lines = (json.dumps({"values": values, "objects": made}) for values, made in found if made is not None)
    RECORDED.write_text("[\n" + ",\n".join(lines) + "\n]\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
