"""The devices of a world for its exhaustive reference, which tries every choice in the scheduler's order.

``Inventory`` shares nothing with the product but field names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from msgspec import Struct

from tests.worlds.clusters import Value

TEMPLATES: Mapping[str, Value] = {  # a count of 0: all devices
    "one": {"exactly": {"count": 1}},
    "two": {"exactly": {"count": 2}},
    "an-a": {"exactly": {"count": 1, "model": "a"}},
    "a-b": {"exactly": {"count": 1, "model": "b"}},
    "alike": {"exactly": {"count": 2}, "models": "matched"},
    "unlike": {"exactly": {"count": 2}, "models": "distinct"},
    "share": {"exactly": {"count": 1, "share": 1}},
    "shares": {"exactly": {"count": 1, "share": 2}},
    "all": {"exactly": {"count": 0}},
    "a-or-b": {"firstAvailable": [{"count": 1, "model": "a"}, {"count": 1, "model": "b"}]},
    "either": {"firstAvailable": [{"count": 2, "model": "a"}, {"count": 1}]},
}
RESOURCE = "example.com/gpu"
"""The extended resource that the class of all devices serves where no node states it."""
SHARED, PAIR = "shared-gpu", "shared-pair"
SHARED_CLAIMS = {SHARED: "one", PAIR: "two"}
"""Claim → the template that asks for the same."""
Held = tuple[tuple[str, tuple[str, ...]], ...]
"""(shared claim, or empty for a claim of its own; its devices, a shared one once per unit), for each claim of a pod."""


class Option(NamedTuple):
    """``count`` devices (0: all) of a model (empty: any), ``share`` units of each that is shared (0: the whole)."""

    count: int
    model: str
    share: int


class Want(Struct, frozen=True):
    """One claim of a pod: any of ``options``; ``shared`` names a claim of several pods."""

    options: tuple[Option, ...]
    shared: str = ""
    exists: bool = True
    models: str = ""
    """``matched``: all its devices are of one model; ``distinct``: no two are."""
    of_node: bool = True
    """False: a device plugin of the node may serve it instead."""


class Inventory:
    """All devices; a device has the name ``pool/device`` and the node that can use it, empty for all."""

    def __init__(self, objects: Sequence[Value]) -> None:
        slices = sorted((v for v in objects if v["kind"] == "ResourceSlice"), key=lambda v: v["spec"]["pool"]["name"])
        offered = [(each["spec"], d) for each in slices for d in each["spec"].get("devices", ())]
        self._devices = [
            (f"{spec['pool']['name']}/{d['name']}", spec.get("nodeName", ""), _model(d))
            for spec, d in offered
            if "taints" not in d
        ]
        self._worn = {spec.get("nodeName") for spec, d in offered if "taints" in d}
        self._units = {f"{spec['pool']['name']}/{d['name']}": _units(d) for spec, d in offered}
        self._split = {f"{s['pool']['name']}/{d['name']}" for s, d in offered if d.get("allowMultipleAllocations")}
        self._parts = {f"{spec['pool']['name']}/{d['name']}": _parts(d) for spec, d in offered}
        self._whole = {
            each["spec"]["pool"]["name"]: _counters(each["spec"]) for each in slices if _counters(each["spec"])
        }
        self.plugged = {v["metadata"]["name"] for v in objects if _is_plugged(v)}
        """The nodes that state the resource."""
        self._node_of = {name: node for name, node, _ in self._devices}
        allocated = [v for v in objects if v["kind"] == "ResourceClaim" and "status" in v]
        self._held = {_owner(v): _names(v) for v in allocated if "ownerReferences" in v["metadata"]}
        self._shared = {_full_name(v): _names(v) for v in allocated if "ownerReferences" not in v["metadata"]}
        self._claims = {(v["kind"], v["metadata"].get("namespace"), v["metadata"]["name"]) for v in objects}

    def wants(self, spec: Value, namespace: str) -> tuple[Want, ...]:
        """What a pod wants: its claims, and last what no device plugin of its node offers it."""
        named = tuple(self._want(reference, namespace) for reference in spec.get("resourceClaims", ()))
        count = _asked(spec)
        return (*named, Want((Option(count, "", 0),), of_node=False)) if count else named

    def _want(self, reference: Value, namespace: str) -> Want:
        shared = reference.get("resourceClaimName", "")
        name = shared or reference["resourceClaimTemplateName"]
        kind = "ResourceClaim" if shared else "ResourceClaimTemplate"
        wanted = TEMPLATES[SHARED_CLAIMS.get(name, name)]
        options = [wanted["exactly"]] if "exactly" in wanted else wanted["firstAvailable"]
        exists = (kind, namespace, name) in self._claims
        key = f"{namespace}/{shared}" if shared else ""
        asked = tuple(Option(each["count"], each.get("model", ""), each.get("share", 0)) for each in options)
        return Want(asked, key, exists, wanted.get("models", ""))

    def held_by(self, pod: Value) -> Held:
        """What a running pod holds."""
        meta, found = pod["metadata"], list[tuple[str, tuple[str, ...]]]()
        for reference in pod["spec"].get("resourceClaims", ()):
            shared = reference.get("resourceClaimName", "")
            key = f"{meta['namespace']}/{shared}" if shared else ""
            own = meta["namespace"], meta["name"], reference["name"]
            if key in self._shared or own in self._held:
                found.append((key, self._shared[key] if shared else self._held[own]))
        for_resource = meta["namespace"], meta["name"], "extended-resources"
        return (*found, ("", self._held[for_resource])) if for_resource in self._held else tuple(found)

    @property
    def is_split(self) -> bool:
        """Whether claims share devices."""
        return bool(self._split)

    def node_of(self, device: str) -> str:
        return self._node_of[device]

    def allocated(self, wants: Sequence[Want], node: str, holders: Sequence[Held]) -> Held | None:
        """What the wants get on a node beside what others hold; None if they cannot have it."""
        if not all(want.exists for want in wants):
            return None
        known = {claim: devices for held in holders for claim, devices in held if claim}
        own = [devices for held in holders for claim, devices in held if not claim]
        taken = Counter(device for devices in (*own, *known.values()) for device in devices)
        if any(self._node_of[d] not in ("", node) for w in wants if w.shared in known for d in known[w.shared]):
            return None
        usable = [(name, model) for name, where, model in self._devices if where in ("", node)]
        return self._chosen(tuple(wants), usable, taken, known, 0 if node in self._worn else len(usable))

    def fails(self, wants: Sequence[Want], node: str, holders: Sequence[Held]) -> bool:
        """Whether a want for a model meets a free device that does not say its model, before all wants are met.

        The wants have one option and no rule; a device that somebody has is not asked.
        """
        usable = [(name, model) for name, where, model in self._devices if where in ("", node)]
        if all(model for _, model in usable) or not all(want.exists for want in wants):
            return False
        taken = {device for held in holders for _, devices in held for device in devices}
        units = [(number, want.options[0]) for number, want in enumerate(wants) for _ in range(want.options[0].count)]

        def met(place: int, start: int) -> bool:
            if place == len(units):
                return True
            number, option = units[place]
            for i, (name, model) in enumerate(usable[start:], start):
                if name in taken:
                    continue
                if option.model and not model:
                    raise LookupError(name)
                if option.model in ("", model):
                    taken.add(name)
                    goes_on = units[place + 1 : place + 2] and units[place + 1][0] == number
                    if met(place + 1, i + 1 if goes_on else 0):
                        return True
                    taken.remove(name)
            return False

        try:
            met(0, 0)
        except LookupError:
            return True
        return False

    def _chosen(
        self,
        wants: tuple[Want, ...],
        usable: list[tuple[str, str]],
        taken: Counter[str],
        known: Mapping[str, tuple[str, ...]],
        whole: int,
    ) -> Held | None:
        """What the wants get of the usable devices; ``whole`` devices are all of the node, 0 if nobody gets all."""
        if not wants:
            return ()
        first, *rest = wants
        if first.shared in known:
            after = self._chosen(tuple(rest), usable, taken, known, whole)
            return None if after is None else ((first.shared, known[first.shared]), *after)
        model_of = dict(usable)
        for count, model, share in first.options:
            if not count and not whole:
                continue
            for devices in combinations([name for name, own in usable if model in ("", own)], count or whole):
                if not _suits(first.models, [model_of[each] for each in devices]):
                    continue
                held = tuple(each for each in devices for _ in range(self._wanted_of(each, share)))
                if not self._is_free(taken + Counter(held)):
                    continue
                after = self._chosen(tuple(rest), usable, taken + Counter(held), known, whole)
                if after is not None:
                    return ((first.shared, held), *after)
        return None

    def _wanted_of(self, device: str, share: int) -> int:
        return share if share and device in self._split else self._units[device]

    def _is_free(self, taken: Counter[str]) -> bool:
        """Whether devices and counters suffice for all that is taken."""
        used: Counter[str] = Counter()
        for device in taken:
            used[device.partition("/")[0]] += self._parts[device]
        return all(count <= self._units[device] for device, count in taken.items()) and all(
            used[pool] <= most for pool, most in self._whole.items()
        )


def _is_plugged(value: Value) -> bool:
    return value["kind"] == "Node" and RESOURCE in value["status"].get("allocatable", {})


def _asked(spec: Value) -> int:
    """The devices that the containers of a pod use at a time, as an extended resource; no sidecars here."""
    lasting = sum(_amount(container) for container in spec["containers"])
    return max([lasting, *map(_amount, spec.get("initContainers", ()))])


def _amount(container: Value) -> int:
    return int(container.get("resources", {}).get("requests", {}).get(RESOURCE, 0))


def _owner(claim: Value) -> tuple[str, str, str]:
    """Namespace, pod and reference of a claim of a running pod."""
    meta = claim["metadata"]
    pod = meta["ownerReferences"][0]["name"]
    return meta["namespace"], pod, meta["name"].removeprefix(f"{pod}-").removesuffix("-x")


def _full_name(value: Value) -> str:
    return f"{value['metadata']['namespace']}/{value['metadata']['name']}"


def _names(claim: Value) -> tuple[str, ...]:
    results = claim["status"]["allocation"]["devices"]["results"]
    return tuple(
        f"{one['pool']}/{one['device']}"
        for one in results
        for _ in range(int(one.get("consumedCapacity", {}).get("memory", 1)))
    )


def _units(device: Value) -> int:
    """How many units of a device claims may share; 1 for one that a claim has alone."""
    return int(device["capacity"]["memory"]["value"]) if device.get("allowMultipleAllocations") else 1


def _parts(device: Value) -> int:
    """What a partition takes of the counter of its pool."""
    return sum(int(each["counters"]["memory"]["value"]) for each in device.get("consumesCounters", ()))


def _counters(spec: Value) -> int:
    return sum(int(each["counters"]["memory"]["value"]) for each in spec.get("sharedCounters", ()))


def _suits(rule: str, models: list[str]) -> bool:
    kinds = len(set(models))
    return not rule or kinds == (1 if rule == "matched" else len(models))


def _model(device: Value) -> str:
    """Its model; empty if it does not say."""
    found: Any = device["attributes"].get("model", {"string": ""})["string"]
    return str(found)
