"""Workloads of a manifest set as plain values, and how they stand in a cluster that runs them already."""

from __future__ import annotations

import copy

from tests.worlds.clusters import APPS, HOST, REQUIRED, ZONE, Value, claim, item
from tests.worlds.draw import Dice

HASHES = ("5d4f8c7b9", "7c9b8d6f5")
"""pod-template-hash or controller-revision-hash: of the new revision, and of the one before it."""


def workload(dice: Dice, has: frozenset[str], app: str, namespace: str) -> Value:
    kinds = ["Deployment"] * 3
    for kind in ("DaemonSet", "StatefulSet", "Job", "ReplicaSet", "Pod"):
        if kind.lower() in has:
            kinds += [kind] * 4
    kind = dice.pick(kinds)
    labels = {"app": app}
    if dice.chance(0.2):
        labels["tier"] = dice.pick(["x", "w"])
    template: Value = {"metadata": {"labels": labels}, "spec": pod_spec(dice, has, app, kind)}
    if kind == "Pod":
        return item("Pod", app, namespace, meta={"labels": labels}, spec=template["spec"])
    if kind == "Job":
        template["spec"]["restartPolicy"] = "Never"
        spec: Value = {"parallelism": dice.integer(1, 3), "template": template}
        if dice.chance(0.5):
            spec["completions"] = dice.integer(1, 3)
        return item("Job", app, namespace, "batch/v1", spec=spec)
    spec = {"selector": {"matchLabels": {"app": app}}, "template": template}
    if kind != "DaemonSet":
        spec["replicas"] = 0 if "zero" in has and dice.chance(0.4) else dice.pick([1, 2, 3, 2, 4])
    if kind == "Deployment":
        spec.update(_strategy(dice))
    if kind == "StatefulSet":
        spec["serviceName"] = app
        if dice.chance(0.4):
            spec["podManagementPolicy"] = "Parallel"
        if "claims" in has and dice.chance(0.6):
            template_claim = claim(dice, "data", "")
            del template_claim["apiVersion"], template_claim["kind"]
            spec["volumeClaimTemplates"] = [template_claim]
            template["spec"]["volumes"] = [v for v in template["spec"].get("volumes", ()) if v["name"] != "data"]
    return item(kind, app, namespace, "apps/v1", spec=spec)


def _strategy(dice: Dice) -> Value:
    if dice.chance(0.1):
        return {"strategy": {"type": "Recreate"}}
    if dice.chance(0.3):
        bounds = dice.pick([(0, 1), (1, 0), (1, 1), ("25%", "50%")])
        rolling = {"maxSurge": bounds[0], "maxUnavailable": bounds[1]}
        return {"strategy": {"type": "RollingUpdate", "rollingUpdate": rolling}}
    return {}


# --- pods -----------------------------------------------------------------------------------------------------------


def pod_spec(dice: Dice, has: frozenset[str], app: str, kind: str) -> Value:
    container: Value = {"name": "c", "image": "pause:1"}
    if dice.chance(0.75):
        cpu = dice.pick(["500m", "1", "2", "250m", "1500m"])
        container["resources"] = {"requests": {"cpu": cpu}}
        if dice.chance(0.25):
            container["resources"]["limits"] = {"cpu": dice.pick([cpu, "2"])}
    if "ports" in has and dice.chance(0.5):
        container["ports"] = [{"containerPort": 80, "hostPort": dice.pick([80, 80, 81]), "protocol": "TCP"}]
    spec: Value = {"containers": [container]}
    affinity = _affinity(dice, has, app)
    if affinity:
        spec["affinity"] = affinity
    if "spread" in has and dice.chance(0.7):
        spec["topologySpreadConstraints"] = _spread(dice, has, app)
    if "taints" in has and dice.chance(0.5):
        spec["tolerations"] = [_toleration(dice)]
    if "selector" in has and dice.chance(0.4):
        spec["nodeSelector"] = dice.pick([{"disk": "ssd"}, {ZONE: "z1"}, {ZONE: "z2"}, {HOST: "n0"}])
    if "priority" in has and dice.chance(0.6):
        spec["priorityClassName"] = dice.pick(["high", "low", "polite", "high"])
    if "absent-class" in has and dice.chance(0.4):
        spec.update(dice.pick([{"priorityClassName": "absent"}, {"runtimeClassName": "absent"}]))
    if "gates" in has and dice.chance(0.4):
        spec["schedulingGates"] = [{"name": "example.com/wait"}]
    if "node-name" in has and dice.chance(0.5) and kind not in ("DaemonSet",):
        spec["nodeName"] = "n0"
    if "claims" in has and dice.chance(0.5):
        name = dice.pick(["shared", f"{app}-disk", "bound"])
        spec["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": name}}]
    if "ephemeral" in has and dice.chance(0.5):
        made = claim(dice, "x", "")["spec"]
        spec.setdefault("volumes", []).append({"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": made}}})
    return spec


def _toleration(dice: Dice) -> Value:
    return dice.pick(
        [
            {"key": "dedicated", "operator": "Exists"},
            {"key": "dedicated", "operator": "Equal", "value": "x", "effect": "NoSchedule"},
            {"operator": "Exists"},
        ]
    )


def _affinity(dice: Dice, has: frozenset[str], app: str) -> Value:
    affinity: Value = {}
    if "anti" in has and dice.chance(0.6):
        affinity["podAntiAffinity"] = {REQUIRED: [_term(dice, has, app) for _ in range(dice.pick([1, 1, 1, 2]))]}
    if "affinity" in has and dice.chance(0.5):
        affinity["podAffinity"] = {REQUIRED: [_term(dice, has, app) for _ in range(dice.pick([1, 1, 1, 2]))]}
    if "selector" in has and dice.chance(0.3):
        wanted = dice.pick(
            [("disk", "In", ["ssd"]), (ZONE, "NotIn", ["z1"]), ("disk", "Exists", []), (ZONE, "In", ["z2"])]
        )
        expression: Value = {"key": wanted[0], "operator": wanted[1]}
        if wanted[2]:
            expression["values"] = wanted[2]
        affinity["nodeAffinity"] = {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}
    return affinity


def _term(dice: Dice, has: frozenset[str], app: str) -> Value:
    target = app if dice.chance(0.5) else dice.pick(APPS)
    term: Value = {"labelSelector": {"matchLabels": {"app": target}}, "topologyKey": dice.pick([HOST, ZONE, "disk"])}
    if dice.chance(0.15):
        term["labelSelector"] = dice.pick([{"matchExpressions": [{"key": "app", "operator": "Exists"}]}, {}])
    if dice.chance(0.12):
        labelled = {
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": dice.pick(["other", "default"])}}
        }
        term.update(
            dice.pick([{"namespaces": ["other"]}, {"namespaceSelector": {}}, {"namespaces": ["default"]}, labelled])
        )
    if "label-keys" in has and dice.chance(0.4):
        term[dice.pick(["matchLabelKeys", "mismatchLabelKeys"])] = [dice.pick(["pod-template-hash", "tier"])]
    return term


def _spread(dice: Dice, has: frozenset[str], app: str) -> list[Value]:
    found = []
    for key in dice.some([HOST, ZONE, "disk"], dice.pick([1, 1, 2])):
        constraint: Value = {
            "maxSkew": dice.pick([1, 1, 2]),
            "topologyKey": key,
            "whenUnsatisfiable": "DoNotSchedule" if dice.chance(0.85) else "ScheduleAnyway",
            "labelSelector": {"matchLabels": {"app": app if dice.chance(0.85) else dice.pick(APPS)}},
        }
        if constraint["whenUnsatisfiable"] == "DoNotSchedule" and "min-domains" in has and dice.chance(0.5):
            constraint["minDomains"] = dice.integer(1, 4)
        if "policies" in has and dice.chance(0.7):
            constraint["nodeTaintsPolicy"] = dice.pick(["Honor", "Ignore"])
            constraint["nodeAffinityPolicy"] = dice.pick(["Ignore", "Honor"])
        if "label-keys" in has and dice.chance(0.4):
            constraint["matchLabelKeys"] = [dice.pick(["pod-template-hash", "tier"])]
        found.append(constraint)
    return found


# --- what runs already ----------------------------------------------------------------------------------------------


def running(dice: Dice, has: frozenset[str], made: Value, names: list[str]) -> list[Value]:
    """The live object, its ReplicaSets or ControllerRevisions, and its pods, for a workload of the set.

    ``made`` may be changed afterwards: the manifests then ask for a new template or another size.
    """
    kind = made["kind"]
    spec = made["spec"] if kind == "Pod" else made["spec"]["template"]["spec"]
    if spec.get("schedulingGates"):  # what runs has none left
        return []
    live = copy.deepcopy(made)
    live["metadata"]["uid"] = f"uid-{made['metadata']['name']}"
    if kind == "Pod":
        return [_bound(live, dice.pick(names))]
    if kind not in ("Deployment", "StatefulSet", "ReplicaSet"):
        return []
    if made["spec"]["template"]["spec"].get("volumes") or made["spec"].get("volumeClaimTemplates"):
        return []
    wanted = live["spec"]["replicas"]
    state = dice.pick(["unchanged", "changed", "scaled", "half"])
    if kind != "Deployment" and state == "half":
        state = "changed" if kind == "StatefulSet" else "unchanged"
    if state == "changed" and kind != "ReplicaSet":
        _change(dice, made)
    if state == "scaled":
        made["spec"]["replicas"] = dice.integer(1, 4)
    stock = _Stock(live, names, dice)
    if state == "half":
        old = copy.deepcopy(live)
        _change(dice, old)
        if old["spec"]["template"] == live["spec"]["template"]:
            return stock.of(live, HASHES[0], wanted, 1)
        fresh = dice.integer(0, wanted)
        return [*stock.of(old, HASHES[1], wanted - fresh, 1), *stock.of(live, HASHES[0], fresh, 2), *stock.live()]
    return [*stock.of(live, HASHES[1] if state == "changed" else HASHES[0], wanted, 1), *stock.live()]


def _change(dice: Dice, made: Value) -> None:
    """Another template: another image, another request, or one without its constraints."""
    spec = made["spec"]["template"]["spec"]
    what = dice.pick(["image", "cpu", "bare", "spread"])
    if what == "image":
        spec["containers"][0]["image"] = "pause:2"
    elif what == "cpu":
        spec["containers"][0]["resources"] = {"requests": {"cpu": dice.pick(["750m", "3"])}}
    elif what == "bare":
        spec.pop("affinity", None)
        spec.pop("topologySpreadConstraints", None)
        spec["containers"][0]["image"] = "pause:3"
    else:
        app = made["metadata"]["name"]
        term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": HOST}
        spec["affinity"] = {"podAntiAffinity": {REQUIRED: [term]}}


class _Stock:
    """The objects of one running workload as the controllers leave them."""

    def __init__(self, live: Value, names: list[str], dice: Dice) -> None:
        self._live, self._names, self._dice = live, names, dice
        self._made = 0

    def live(self) -> list[Value]:
        return [self._live] if self._live["kind"] != "ReplicaSet" else []

    def of(self, live: Value, template_hash: str, count: int, revision: int) -> list[Value]:
        kind, name = live["kind"], live["metadata"]["name"]
        namespace = live["metadata"]["namespace"]
        if kind == "Deployment":
            return self._replica_set(live, template_hash, count, revision)
        if kind == "ReplicaSet":
            return [live, *self._pods(live, {}, {"kind": kind, "name": name}, count)]
        label = {"controller-revision-hash": f"{name}-{template_hash}"}
        data = {"spec": {"template": live["spec"]["template"]}}
        mark = item("ControllerRevision", f"{name}-{template_hash}", namespace, "apps/v1", revision=revision, data=data)
        owner = {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": live["metadata"]["uid"]}
        mark["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
        live["status"] = {"currentRevision": f"{name}-{template_hash}", "updateRevision": f"{name}-{template_hash}"}
        return [mark, *self._pods(live, label, {"kind": kind, "name": name}, count)]

    def _replica_set(self, live: Value, template_hash: str, count: int, revision: int) -> list[Value]:
        name, namespace = live["metadata"]["name"], live["metadata"]["namespace"]
        template = copy.deepcopy(live["spec"]["template"])
        template["metadata"]["labels"]["pod-template-hash"] = template_hash
        labels = dict(template["metadata"]["labels"])
        selector = {"matchLabels": {**live["spec"]["selector"]["matchLabels"], "pod-template-hash": template_hash}}
        made = item("ReplicaSet", f"{name}-{template_hash}", namespace, "apps/v1")
        made["metadata"].update(labels=labels, uid=f"uid-{name}-{template_hash}")
        desired = live["spec"]["replicas"]
        made["metadata"]["annotations"] = {
            "deployment.kubernetes.io/revision": str(revision),
            "deployment.kubernetes.io/desired-replicas": str(desired),
        }
        owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name, "uid": f"uid-{name}"}
        made["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
        made["spec"] = {"replicas": count, "selector": selector, "template": template}
        mine = {"kind": "ReplicaSet", "name": f"{name}-{template_hash}"}
        return [made, *self._pods(live, {"pod-template-hash": template_hash}, mine, count)]

    def _pods(self, live: Value, label: dict[str, str], owner: dict[str, str], count: int) -> list[Value]:
        found = []
        for i in range(count):
            name = f"{owner['name']}-{i if live['kind'] == 'StatefulSet' else 'x' + str(self._made)}"
            self._made += 1
            template = copy.deepcopy(live["spec"]["template"])
            meta: Value = {"labels": {**template["metadata"]["labels"], **label}}
            meta["ownerReferences"] = [
                {"apiVersion": "apps/v1", **owner, "uid": f"uid-{owner['name']}", "controller": True}
            ]
            pod = item("Pod", name, live["metadata"]["namespace"], meta=meta, spec=template["spec"])
            found.append(_bound(pod, self._dice.pick(self._names)))
        return found


def _bound(pod: Value, node: str) -> Value:
    pod = copy.deepcopy(pod)
    pod["spec"]["nodeName"] = node
    pod["metadata"]["uid"] = f"uid-{pod['metadata']['name']}"
    pod["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    pod["status"] = {
        "phase": "Running",
        "startTime": "2026-01-01T00:00:01Z",
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    return pod
