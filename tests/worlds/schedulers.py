"""The scheduler's configuration, for worlds and for their exhaustive reference.

``configured(seed)`` is a world of the generator with a KubeSchedulerConfiguration, Services, and pods that name its
profiles. ``Schedulers`` tells the reference what a profile makes of a pod; it shares only decoding with the product.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.engine.model.decode.pods import node_terms, spread_constraint
from kubesched_lint.engine.model.labels import Requirement, Selector
from kubesched_lint.engine.model.pod import NodeSelectorTerm, Pod, SpreadConstraint
from tests.worlds.clusters import HOST, REQUIRED, ZONE, Value, item
from tests.worlds.draw import Dice, Seeded
from tests.worlds.generator import World, seeded

OTHER = "other-scheduler"
_FILTERS = ("InterPodAffinity", "PodTopologySpread", "TaintToleration", "NodeUnschedulable")
"""Filters that the kubelet does not repeat."""
_OWNS = ("Deployment", "ReplicaSet", "StatefulSet")


# --- worlds ---------------------------------------------------------------------------------------------------------


def configured(seed: int) -> World:
    """The world of a seed under a configuration; worlds with running pods keep their templates."""
    world, dice = seeded(seed), Dice(Seeded(10_000_000 + seed))
    names = ["default-scheduler", *([OTHER] if dice.chance(0.4) else [])]
    manifests = json.loads(json.dumps(world.manifests))
    if "runs" not in world.features:
        for value in manifests:
            _edit(dice, value, names)
    services = [
        _service(dice, value) for value in manifests if "template" in value.get("spec", {}) and dice.chance(0.4)
    ]
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [_profile(dice, name) for name in names],
    }
    found = replace(world, manifests=[*services, *manifests], snapshot=True, scheduler=configuration)
    return replace(found, manifests=list({(v["kind"], *_name(v)): v for v in found.manifests}.values()))


def _name(value: Value) -> tuple[str, str]:
    return value["metadata"].get("namespace", ""), value["metadata"]["name"]


def _edit(dice: Dice, value: Value, names: Sequence[str]) -> None:
    """Let pods name a profile, and leave most of them without constraints of their own."""
    if value["kind"] not in (*_OWNS, "DaemonSet", "Job", "Pod"):
        return
    spec = value["spec"] if value["kind"] == "Pod" else value["spec"]["template"]["spec"]
    if dice.chance(0.8):
        spec.pop("topologySpreadConstraints", None)
    if dice.chance(0.5):
        spec["schedulerName"] = dice.pick(names)


def _service(dice: Dice, value: Value) -> Value:
    labels = value["spec"]["template"]["metadata"]["labels"]
    selector = dict(list(labels.items())[: dice.integer(1, 2)])
    namespace, name = _name(value)
    return item("Service", name, namespace, spec={"selector": selector, "ports": [{"port": 80}]})


def _profile(dice: Dice, name: str) -> Value:
    entries = []
    if dice.chance(0.75):
        constraints = [_constraint(dice, key) for key in dice.some((ZONE, HOST, "disk"), dice.pick([1, 1, 2]))]
        args = {"defaultingType": "List", "defaultConstraints": constraints}
        entries.append({"name": "PodTopologySpread", "args": args})
    if dice.chance(0.35):
        wanted = dice.pick([("disk", ["ssd"]), ("disk", ["ssd", "hdd"]), (ZONE, ["z1"]), (ZONE, ["z1", "z2"])])
        expression = {"key": wanted[0], "operator": dice.pick(["In", "In", "NotIn"]), "values": wanted[1]}
        terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
        entries.append({"name": "NodeAffinity", "args": {"addedAffinity": {REQUIRED: terms}}})
    plugins: Value = {}
    if dice.chance(0.3):
        plugins["filter"] = {"disabled": [{"name": dice.pick(_FILTERS)}]}
    if dice.chance(0.15):
        plugins["postFilter"] = {"disabled": [{"name": "DefaultPreemption"}]}
    if dice.chance(0.08):
        plugins["preFilter"] = {"disabled": [{"name": dice.pick(["PodTopologySpread", "InterPodAffinity"])}]}
    return {"schedulerName": name, "plugins": plugins, "pluginConfig": entries}


def _constraint(dice: Dice, key: str) -> Value:
    found: Value = {"maxSkew": dice.pick([1, 1, 2]), "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule"}
    if dice.chance(0.15):
        found["whenUnsatisfiable"] = "ScheduleAnyway"
    elif dice.chance(0.25):
        found["minDomains"] = dice.integer(1, 4)
    for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        if dice.chance(0.3):
            found[policy] = dice.pick(["Honor", "Ignore"])
    if dice.chance(0.3):
        found["matchLabelKeys"] = [dice.pick(["pod-template-hash", "tier"])]
    return found


# --- the reference ---------------------------------------------------------------------------------------------------


class Profile(Struct, frozen=True):
    """What a profile does to all its pods."""

    added: tuple[NodeSelectorTerm, ...] | None = None
    disabled: frozenset[str] = frozenset()
    """Filters that do not run."""
    failing: frozenset[str] = frozenset()
    """Filters whose PreFilter does not run."""
    preempts: bool = True
    constraints: tuple[SpreadConstraint, ...] = ()


DEFAULT_PROFILE = Profile()


class Schedulers:
    """The profiles of a world. Without a configuration, every pod has the default one."""

    def __init__(self, configuration: Value | None, services: Sequence[Value]) -> None:
        self._profiles = {p["schedulerName"]: _read(p) for p in (configuration or {}).get("profiles", ())}
        self._services = services

    def profile_of(self, pod: Pod) -> Profile:
        return self._profiles[pod.scheduler_name] if self._profiles else DEFAULT_PROFILE

    def applied(self, pod: Pod, workload: Value, namespace: str) -> Pod:
        """Return the pod with its profile's default constraints (buildDefaultConstraints)."""
        profile = self.profile_of(pod)
        if pod.spread or pod.node_name or not profile.constraints:
            return pod
        pairs = self._pairs(pod, workload, namespace)
        if not pairs:
            return pod
        selector = Selector(tuple(Requirement(key, "In", (value,)) for key, value in pairs.items()))
        spread = tuple(replace(c, selector=selector, match_label_keys=()) for c in profile.constraints)
        return replace(pod, spread=spread)

    def _pairs(self, pod: Pod, workload: Value, namespace: str) -> Mapping[str, str]:
        """The equalities of ``helper.DefaultSelector``: those of Services, and of the owner."""
        found: dict[str, str] = {}
        for service in self._services:
            selector = service["spec"].get("selector") or {}
            same = service["metadata"].get("namespace", "default") == namespace
            if same and selector and selector.items() <= dict(pod.labels).items():
                found.update(selector)
        if workload["kind"] in _OWNS:
            found.update(workload["spec"]["selector"]["matchLabels"])
        if workload["kind"] == "Deployment":
            found["pod-template-hash"] = pod.labels["pod-template-hash"]
        return found


def _read(profile: Value) -> Profile:
    args = {entry["name"]: entry["args"] for entry in profile["pluginConfig"]}
    plugins: dict[str, Any] = profile["plugins"]
    gone = {point: frozenset(p["name"] for p in chosen["disabled"]) for point, chosen in plugins.items()}
    added = args.get("NodeAffinity", {}).get("addedAffinity", {}).get(REQUIRED)
    constraints = args.get("PodTopologySpread", {}).get("defaultConstraints", ())
    disabled = gone.get("filter", frozenset())
    return Profile(
        node_terms(added, ()),
        disabled,
        gone.get("preFilter", frozenset()) - disabled,
        "postFilter" not in gone,
        tuple(spread_constraint(c, ()) for c in constraints),
    )
