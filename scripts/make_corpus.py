"""Writes manifests as teams write them: ``python scripts/make_corpus.py FOLDER COUNT [--seed N]``.

File ``i`` of a seed has the same bytes on every machine, whatever the number of files: all random choices use
``random.random()``, the only function whose results Python promises to repeat in later versions. Each file is an
application of one to three objects in its team's layout: the indent of lists, the quotes and the amount of comments.
``benchmarks/run.py`` measures on 10,000 of them, ``same_output.py`` compares reports on 500.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any, TypeVar

SEED = 1
PER_FOLDER = 100
ZONE, HOSTNAME = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
T = TypeVar("T")

_SUBJECTS = ("order", "basket", "price", "stock", "mail", "login", "photo", "map", "chat", "report", "tax", "tour")
_ROLES = ("api", "worker", "gateway", "indexer", "cache", "importer", "sync", "viewer", "planner", "bridge")
_TEAMS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heron", "islet", "juniper")
_NOTES = (
    "# {team} owns this; see the runbook before scaling",
    "# generated once from the old chart, edited by hand since",
    "# replicas follow the load test of last spring",
    "# TODO: move to the shared base",
)
_PLAIN = re.compile(r"[A-Za-z/][\w./-]*(?:[:@][\w./-]+)*|\d+(?:m|Mi|Gi|%)")
_RESERVED = {"true", "false", "yes", "no", "on", "off", "null", "y", "n"}


class Dice:
    """The random choices of one file."""

    def __init__(self, seed: int, number: int) -> None:
        self._random = Random(f"{seed}/{number}").random

    def under(self, chance: float) -> bool:
        return self._random() < chance

    def between(self, least: int, most: int) -> int:
        """A whole number, both ends included."""
        return least + int(self._random() * (most - least + 1))

    def of(self, *options: T) -> T:
        return options[int(self._random() * len(options))]


class Layout:
    """YAML in the style of one team."""

    def __init__(self, dice: Dice) -> None:
        self.dash = dice.of("", "  ")
        self.quote = dice.of('"', '"', "'")
        self.flow = dice.of(0, 0, 24, 40)
        """The most characters of a mapping that is written on one line."""
        self.comments = dice.of(0.0, 0.0, 0.02, 0.05)
        self.dice = dice

    def document(self, value: Mapping[str, Any]) -> str:
        return "\n".join(self._mapping(value, "")) + "\n"

    def _mapping(self, value: Mapping[str, Any], indent: str) -> Iterator[str]:
        for key, inner in value.items():
            if self.comments and self.dice.under(self.comments):
                yield f"{indent}# {key} as agreed with operations"
            yield from self._entry(f"{indent}{key}:", inner, indent)

    def _entry(self, head: str, value: Any, indent: str) -> Iterator[str]:
        if isinstance(value, str) and "\n" in value:
            yield f"{head} |"
            yield from (f"{indent}  {line}" for line in value.splitlines())
        elif not isinstance(value, (dict, list)) or not value:
            yield f"{head} {self._scalar(value)}"
        elif (short := self._on_one_line(value)) is not None:
            yield f"{head} {short}"
        elif isinstance(value, dict):
            yield head
            yield from self._mapping(value, indent + "  ")
        else:
            yield head
            yield from self._list(value, indent + self.dash)

    def _list(self, value: list[Any], indent: str) -> Iterator[str]:
        for item in value:
            if isinstance(item, dict) and item:
                first, *others = self._mapping(item, indent + "  ")
                while first.lstrip().startswith("#"):  # a comment before the dash means the same
                    yield indent + first.lstrip()
                    first, *others = others
                yield f"{indent}- {first[len(indent) + 2 :]}"
                yield from others
            else:
                yield f"{indent}- {self._scalar(item)}"

    def _on_one_line(self, value: Any) -> str | None:
        if not self.flow or not isinstance(value, dict) or any(isinstance(v, (dict, list)) for v in value.values()):
            return None
        text = "{" + ", ".join(f"{key}: {self._scalar(inner)}" for key, inner in value.items()) + "}"
        return text if len(text) <= self.flow else None

    def _scalar(self, value: Any) -> str:
        if not isinstance(value, str):
            return json.dumps(value)
        if _PLAIN.fullmatch(value) and value.lower() not in _RESERVED:
            return value
        return f"{self.quote}{value}{self.quote}"


class App:
    """The common properties of the objects of one file."""

    def __init__(self, dice: Dice, number: int) -> None:
        self.team = dice.of(*_TEAMS)
        self.name = f"{dice.of(*_SUBJECTS)}-{dice.of(*_ROLES)}-{number:05}"
        self.namespace = f"{self.team}-{dice.of('prod', 'prod', 'test')}"
        self.own = {"app.kubernetes.io/name": self.name}
        self.labels = {
            **self.own,
            "app.kubernetes.io/version": f"{dice.between(1, 9)}.{dice.between(0, 40)}.{dice.between(0, 9)}",
            **({"team": self.team} if dice.under(0.5) else {}),
            **({"stage": self.namespace.partition("-")[2]} if dice.under(0.3) else {}),
        }
        self.port = dice.of(8080, 8443, 9000, 3000)

    def metadata(self, suffix: str = "") -> dict[str, Any]:
        return {"name": self.name + suffix, "namespace": self.namespace, "labels": self.labels}


def file_of(number: int, seed: int = SEED) -> tuple[str, str]:
    """Name and text of one file."""
    dice = Dice(seed, number)
    app, layout = App(dice, number), Layout(dice)
    texts = [layout.document(value) for value in _objects(dice, app)]
    note = dice.of(*_NOTES).format(team=app.team) + "\n" if dice.under(0.6) else ""
    start = "---\n" if dice.under(0.4) else ""
    return f"{app.name}.yaml", note + start + "---\n".join(texts)


def _objects(dice: Dice, app: App) -> Iterator[dict[str, Any]]:
    kind = dice.of(*["Deployment"] * 12, *["StatefulSet"] * 3, "DaemonSet", "DaemonSet", "CronJob", "", "")
    if not kind or dice.under(0.35):
        yield _settings(dice, app)
    if kind:
        yield _scheduled(dice, app) if kind == "CronJob" else _workload(dice, app, kind)
    if kind == "StatefulSet" or (kind == "Deployment" and dice.under(0.6)):
        yield _service(dice, app, headless=kind == "StatefulSet")
    if kind == "Deployment" and dice.under(0.15):
        yield _autoscaler(dice, app)
    elif kind in ("Deployment", "StatefulSet") and dice.under(0.15):
        yield _budget(dice, app)


def _workload(dice: Dice, app: App, kind: str) -> dict[str, Any]:
    spec: dict[str, Any] = {}
    if kind != "DaemonSet":
        spec["replicas"] = dice.of(1, 1, 2, 2, 3, 3, 3, 4, 5, 6, 9)
    if kind == "StatefulSet":
        spec["serviceName"] = app.name
        if dice.under(0.3):
            spec["podManagementPolicy"] = dice.of("Parallel", "OrderedReady")
    if kind == "Deployment" and dice.under(0.4):
        bounds = {"maxSurge": dice.of(1, "25%", 0), "maxUnavailable": dice.of(1, "25%")}
        spec["strategy"] = {"type": "RollingUpdate", "rollingUpdate": bounds}
    spec["selector"] = {"matchLabels": app.own}
    metadata: dict[str, Any] = {"labels": app.labels}
    if dice.under(0.4):
        metadata["annotations"] = {"prometheus.io/scrape": "true", "prometheus.io/port": str(app.port)}
    spec["template"] = {"metadata": metadata, "spec": _pod(dice, app, kind)}
    if kind == "StatefulSet":
        claim = {
            "accessModes": ["ReadWriteOnce"],
            **({"storageClassName": dice.of("standard", "fast")} if dice.under(0.6) else {}),
            "resources": {"requests": {"storage": f"{dice.of(1, 10, 50)}Gi"}},
        }
        spec["volumeClaimTemplates"] = [{"metadata": {"name": "data"}, "spec": claim}]
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": app.metadata(), "spec": spec}


def _scheduled(dice: Dice, app: App) -> dict[str, Any]:
    pod = {"restartPolicy": "OnFailure", **_pod(dice, app, "Job")}
    template = {"metadata": {"labels": app.labels}, "spec": pod}
    job = {"backoffLimit": dice.between(0, 6), "completions": dice.of(1, 1, 4), "template": template}
    spec = {"schedule": f"{dice.between(0, 59)} {dice.between(0, 23)} * * *", "jobTemplate": {"spec": job}}
    return {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": app.metadata(), "spec": spec}


def _pod(dice: Dice, app: App, kind: str) -> dict[str, Any]:
    spec: dict[str, Any] = {}
    if dice.under(0.4):
        spec["serviceAccountName"] = app.name
    spec |= _constraints(dice, app, kind)
    if dice.under(0.3):
        spec["terminationGracePeriodSeconds"] = dice.of(10, 30, 120)
    if dice.under(0.2):
        spec["initContainers"] = [_container(dice, app, "prepare")]
    mount = "data" if kind == "StatefulSet" else ""
    spec["containers"] = [_container(dice, app, "main", mount)]
    if dice.under(0.25):
        spec["containers"].append(_container(dice, app, "proxy"))
    spec["volumes"] = [{"name": "settings", "configMap": {"name": f"{app.name}-settings"}}]
    if dice.under(0.2):
        spec["volumes"].append({"name": "scratch", "emptyDir": {"sizeLimit": "512Mi"}})
    return spec


def _constraints(dice: Dice, app: App, kind: str) -> dict[str, Any]:
    """The fields that say where the pods may run."""
    spec: dict[str, Any] = {}
    if affinity := _affinity(dice, app):
        spec["affinity"] = affinity
    if kind in ("Deployment", "StatefulSet") and dice.under(0.3):
        keys = (ZONE, HOSTNAME) if dice.under(0.4) else (dice.of(ZONE, HOSTNAME),)
        spec["topologySpreadConstraints"] = [
            {
                "maxSkew": dice.of(1, 1, 2),
                "topologyKey": key,
                "whenUnsatisfiable": dice.of("DoNotSchedule", "ScheduleAnyway"),
                "labelSelector": {"matchLabels": app.own},
            }
            for key in keys
        ]
    if dice.under(0.15):
        spec["nodeSelector"] = dice.of({"kubernetes.io/os": "linux"}, {"pool": "general"}, {"pool": "memory"})
    if kind == "DaemonSet" or dice.under(0.1):
        spec["tolerations"] = [
            dice.of(
                {"key": "node-role.kubernetes.io/control-plane", "operator": "Exists", "effect": "NoSchedule"},
                {"key": "dedicated", "operator": "Equal", "value": app.team, "effect": "NoSchedule"},
            )
        ]
    if dice.under(0.08):
        spec["priorityClassName"] = dice.of("system-cluster-critical", "batch", "serving")
    return spec


def _affinity(dice: Dice, app: App) -> dict[str, Any]:
    affinity: dict[str, Any] = {}
    expression = {"key": "app.kubernetes.io/name", "operator": "In", "values": [app.name]}
    selector = dice.of({"matchLabels": app.own}, {"matchExpressions": [expression]})
    term = {"labelSelector": selector, "topologyKey": dice.of(HOSTNAME, HOSTNAME, ZONE)}
    if dice.under(0.2):
        affinity["podAntiAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    elif dice.under(0.25):
        preferred = [{"weight": dice.of(1, 50, 100), "podAffinityTerm": term}]
        affinity["podAntiAffinity"] = {"preferredDuringSchedulingIgnoredDuringExecution": preferred}
    if dice.under(0.15):
        key, values = dice.of(
            ("kubernetes.io/arch", ["amd64"]),
            (ZONE, ["eu-west-1a", "eu-west-1b"]),
            ("node.kubernetes.io/instance-type", ["m6i.xlarge", "m6i.2xlarge"]),
        )
        wanted = {"key": key, "operator": dice.of("In", "In", "NotIn"), "values": values}
        terms = {"nodeSelectorTerms": [{"matchExpressions": [wanted]}]}
        affinity["nodeAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
    return affinity


def _container(dice: Dice, app: App, name: str, mount: str = "") -> dict[str, Any]:
    version = app.labels["app.kubernetes.io/version"]
    container: dict[str, Any] = {"name": name, "image": f"registry.example.com/{app.team}/{app.name}:{version}"}
    if dice.under(0.5):
        container["imagePullPolicy"] = "IfNotPresent"
    if dice.under(0.3):
        container["args"] = [f"--listen=:{app.port}", f"--log={dice.of('info', 'debug')}"]
    if name == "main":
        container["ports"] = [{"name": "http", "containerPort": app.port}]
    if env := [_variable(dice, app, n) for n in range(dice.between(0, 14))]:
        container["env"] = env
    if dice.under(0.75):
        requests = {"cpu": dice.of("50m", "100m", "250m", "500m", "1"), "memory": dice.of("64Mi", "256Mi", "1Gi")}
        container["resources"] = {"requests": requests}
        if dice.under(0.6):
            container["resources"]["limits"] = {"memory": requests["memory"]}
    if name == "main" and dice.under(0.7):
        container["readinessProbe"] = {
            "httpGet": {"path": "/ready", "port": "http"},
            "periodSeconds": dice.between(2, 20),
        }
    if name == "main" and dice.under(0.5):
        container["livenessProbe"] = {"httpGet": {"path": "/alive", "port": "http"}, "failureThreshold": 3}
    if dice.under(0.4):
        rights = {"runAsNonRoot": True, "allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
        container["securityContext"] = rights
    mounts = [{"name": "settings", "mountPath": "/etc/app", "readOnly": True}]
    container["volumeMounts"] = [*mounts, {"name": mount, "mountPath": "/var/lib/app"}] if mount else mounts
    return container


def _variable(dice: Dice, app: App, number: int) -> dict[str, Any]:
    name = f"{dice.of(*_SUBJECTS)}_{number}".upper()
    if dice.under(0.2):
        return {"name": name, "valueFrom": {"secretKeyRef": {"name": f"{app.name}-secret", "key": name.lower()}}}
    host = f"{dice.of(*_SUBJECTS)}-{dice.of(*_ROLES)}.{dice.of(*_TEAMS)}-prod.svc"
    return {"name": name, "value": dice.of(f"http://{host}:{dice.between(1000, 9999)}", "true", str(number), host)}


def _service(dice: Dice, app: App, headless: bool) -> dict[str, Any]:
    ports = [{"name": "http", "port": dice.of(80, 443), "targetPort": "http"}]
    kind: dict[str, Any] = {"clusterIP": "None"} if headless else {"type": dice.of("ClusterIP", "LoadBalancer")}
    spec = {**kind, "selector": app.own, "ports": ports}
    return {"apiVersion": "v1", "kind": "Service", "metadata": app.metadata(), "spec": spec}


def _settings(dice: Dice, app: App) -> dict[str, Any]:
    lines = "\n".join(
        f"{dice.of(*_SUBJECTS)}.{dice.of(*_ROLES)}.{n} = {dice.of('on', 'off', dice.between(1, 5000))}"
        for n in range(dice.between(10, 80))
    )
    data = {"settings.ini": lines, "level": dice.of("info", "debug"), "retries": str(dice.between(0, 9))}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": app.metadata("-settings"), "data": data}


def _autoscaler(dice: Dice, app: App) -> dict[str, Any]:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": app.name}
    load = {"type": "Utilization", "averageUtilization": dice.of(60, 80)}
    spec = {
        "scaleTargetRef": target,
        "minReplicas": dice.between(1, 3),
        "maxReplicas": dice.between(3, 12),
        "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": load}}],
    }
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": app.metadata(),
        "spec": spec,
    }


def _budget(dice: Dice, app: App) -> dict[str, Any]:
    bound = dice.of({"minAvailable": 1}, {"maxUnavailable": 1}, {"minAvailable": "50%"})
    spec = {**bound, "selector": {"matchLabels": app.own}}
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": app.metadata(), "spec": spec}


def write(folder: Path, count: int, seed: int = SEED) -> None:
    """Writes ``count`` files, a hundred to a folder."""
    for number in range(count):
        name, text = file_of(number, seed)
        home = folder / f"part-{number // PER_FOLDER:03}"
        if number % PER_FOLDER == 0:
            home.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=SEED)
    chosen = parser.parse_args()
    write(chosen.folder, chosen.count, chosen.seed)


if __name__ == "__main__":
    main()
