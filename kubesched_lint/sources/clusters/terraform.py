"""Node groups of what ``terraform show -json`` prints for a plan: before the change, and after it.

A plan has ``prior_state`` and ``planned_values``; OpenTofu prints the same. Read are the fields of ``_KINDS``, which
docs/plan.md lists; of a group that changes in another field, that is said. Nothing is executed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from kubesched_lint.engine.base.text import first_few, many, one_line
from kubesched_lint.engine.cluster.limits import MOST_NODES
from kubesched_lint.engine.cluster.nodepools.templates import NAMELESS
from kubesched_lint.engine.cluster.nodepools.unknown import unlisted_type
from kubesched_lint.engine.cluster.nodes.shapes import shape_named
from kubesched_lint.engine.model.nodes.node import CLUSTER_AUTOSCALER, NodePool, Shape, Taint
from kubesched_lint.files import whole
from kubesched_lint.limits import LARGEST_OUTPUT

EKS, GKE, AKS = "aws_eks_node_group", "google_container_node_pool", "azurerm_kubernetes_cluster_node_pool"
_AKS_CLUSTER = "azurerm_kubernetes_cluster"
_EFFECTS = {
    "NO_SCHEDULE": "NoSchedule",
    "NO_EXECUTE": "NoExecute",
    "PREFER_NO_SCHEDULE": "PreferNoSchedule",
}
_SYSTEM = Taint("CriticalAddonsOnly", "true", "NoSchedule")
_FLEETING = frozenset(
    {"id", "arn", "status", "resources", "tags", "tags_all", "timeouts", "version", "etag", "operation"}
)
"""What changes without a change of the nodes: names of the cloud, and the state of the group."""

Values = Mapping[str, Any]


class TerraformError(Exception):
    """The file is not what ``terraform show -json`` prints; ``str()`` is the whole message."""


class Group(Struct, frozen=True):
    """A node group. ``size`` is the number of nodes that it is told to have; None: unknown, or left to others."""

    address: str
    pool: NodePool
    keys: tuple[str, ...]
    """How its nodes show it, as ``Node.group``."""
    size: int | None = None
    unread: tuple[tuple[str, str], ...] = ()
    """Its other fields, each with its value as JSON."""


class TerraformPools(Struct, frozen=True):
    """The groups of a plan by address, before and after it, and notes on what is not read."""

    before: Mapping[str, Group]
    after: Mapping[str, Group]
    notes: tuple[str, ...] = ()


def read_terraform(path: str) -> TerraformPools:
    """Return the node groups of a file. Raises TerraformError."""
    try:
        value = msgspec.json.decode(whole(path, LARGEST_OUTPUT))
    except OSError as error:
        raise TerraformError(f"{path}: cannot be read: {error.strerror or error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise TerraformError(f"{path}: is not JSON: {one_line(str(error))}") from None
    except RecursionError:
        raise TerraformError(f"{path}: is nested too deeply") from None
    if not isinstance(value, dict) or "planned_values" not in value or "format_version" not in value:
        wanted = "terraform plan -out=tfplan && terraform show -json tfplan"
        raise TerraformError(f"{path}: holds no plan: it is what `{wanted}` prints")
    old = list(_resources(_at(value, "prior_state", "values", "root_module")))
    new = list(_resources(_at(value, "planned_values", "root_module")))
    zones = _zones_of_subnets([*old, *new])
    before = {g.address: g for resource in old for g in _groups(resource, zones)}
    names = {address: group.pool.name for address, group in before.items()}
    after = {g.address: g for resource in new for g in _groups(_named(resource, names), zones)}
    if sum(group.size or 0 for group in after.values()) > MOST_NODES:
        raise TerraformError(f"{path}: its node groups have more than {MOST_NODES:,} nodes")
    return TerraformPools(before, after, tuple(_notes(before, after, old, new)))


def _at(value: object, *keys: str) -> Values:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def _resources(module: Values) -> Iterator[Values]:
    """Yield the managed resources of a module and of those in it."""
    waiting = [module]
    while waiting:
        module_values = waiting.pop()
        for resource in _list(module_values, "resources"):
            if resource.get("mode", "managed") == "managed" and isinstance(resource.get("values"), dict):
                yield resource
        waiting.extend(_list(module_values, "child_modules"))


def _list(value: Values, key: str) -> list[Values]:
    entries = value.get(key)
    return [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []


def _texts(value: Values, key: str) -> tuple[str, ...]:
    entries = value.get(key)
    return tuple(entry for entry in entries if isinstance(entry, str)) if isinstance(entries, list) else ()


def _first(value: Values, key: str) -> Values:
    """Return a nested block, which Terraform prints as a list of one."""
    return next(iter(_list(value, key)), {})


def _number(value: Values, key: str) -> int | None:
    number = value.get(key)
    return int(number) if isinstance(number, (int, float)) and not isinstance(number, bool) and number >= 0 else None


def _text(value: Values, key: str) -> str:
    text = value.get(key)
    return text if isinstance(text, str) else ""


def _labels(value: Values, key: str) -> dict[str, str]:
    labels = value.get(key)
    return {k: v for k, v in labels.items() if isinstance(v, str)} if isinstance(labels, dict) else {}


def _zones_of_subnets(resources: Sequence[Values]) -> Mapping[str, str]:
    """Return the zone of each subnet by its id, of those that the same plan holds."""
    zones: dict[str, str] = {}
    for resource in resources:
        values = resource["values"]
        if resource.get("type") == "aws_subnet" and _text(values, "id") and _text(values, "availability_zone"):
            zones[_text(values, "id")] = _text(values, "availability_zone")
    return zones


def _named(resource: Values, names: Mapping[str, str]) -> Values:
    """Return a group with a name, also if that is known only after the apply, as with ``node_group_name_prefix``.

    A group that is replaced keeps its name of before, so that its nodes are the same ones; a new one is called by its
    prefix, which no pod can ask for.
    """
    key, values = _NAMES.get(str(resource.get("type"))), resource["values"]
    if key is None or _text(values, key):
        return resource
    address = str(resource.get("address", ""))
    name = names.get(address) or _text(values, f"{key}_prefix").rstrip("-") or address
    return {**resource, "values": {**values, key: name}}


# --- one cloud each --------------------------------------------------------------------------------------------------


def _groups(resource: Values, zones: Mapping[str, str]) -> Iterator[Group]:
    kind, values, address = resource.get("type"), resource["values"], str(resource.get("address", ""))
    if kind == _AKS_CLUSTER:
        inner = _first(values, "default_node_pool")
        if _text(inner, "name"):
            yield _aks(f"{address}.default_node_pool", inner, zones)
    elif isinstance(kind, str) and kind in _KINDS:
        group = _KINDS[kind](address, values, zones)
        if group.pool.name:
            yield group


def _eks(address: str, values: Values, zones: Mapping[str, str]) -> Group:
    name, scaling = _text(values, "node_group_name"), _first(values, "scaling_config")
    subnets = _texts(values, "subnet_ids")
    known = tuple(dict.fromkeys(zones[subnet] for subnet in subnets if subnet in zones))
    all_known = bool(subnets) and all(subnet in zones for subnet in subnets)
    key = f"eks.amazonaws.com/nodegroup={name}"
    pool = _pool(name, key, _labels(values, "labels"), _taints(values, "taint"), _texts(values, "instance_types"))
    pool = msgspec.structs.replace(pool, zones=known if all_known else None, limits=_most(scaling, "max_size"))
    read = ("node_group_name", "labels", "taint", "instance_types", "scaling_config", "subnet_ids")
    return Group(address, pool, (key,), _number(scaling, "desired_size"), _unread(values, read))


def _gke(address: str, values: Values, zones: Mapping[str, str]) -> Group:
    name, config = _text(values, "name"), _first(values, "node_config")
    places = _texts(values, "node_locations")
    key = f"cloud.google.com/gke-nodepool={name}"
    machine = _text(config, "machine_type")
    pool = _pool(name, key, _labels(config, "labels"), _taints(config, "taint"), (machine,) if machine else ())
    scaling, each = _first(values, "autoscaling"), _number(values, "node_count")
    most = _number(scaling, "total_max_node_count")
    per_zone = _number(scaling, "max_node_count")
    if most is None and per_zone is not None and places:
        most = per_zone * len(places)
    pool = msgspec.structs.replace(pool, zones=places or None, limits={} if most is None else {"nodes": most})
    size = each * len(places) if each is not None and places else None
    read = ("name", "node_locations", "node_count", "autoscaling", "node_config")
    inner = _unread(config, ("machine_type", "labels", "taint"), "node_config.")
    return Group(address, pool, (key,), size, (*_unread(values, read), *inner))


def _aks(address: str, values: Values, zones: Mapping[str, str]) -> Group:
    name, machine = _text(values, "name"), _text(values, "vm_size")
    key = f"kubernetes.azure.com/agentpool={name}"
    taints = [*filter(None, map(_parsed, _texts(values, "node_taints")))]
    if values.get("only_critical_addons_enabled") is True:
        taints.append(_SYSTEM)
    pool = _pool(name, key, _labels(values, "node_labels"), tuple(taints), (machine,) if machine else ())
    pool = msgspec.structs.replace(pool, limits=_most(values, "max_count"))
    read = ("name", "vm_size", "node_taints", "node_labels", "only_critical_addons_enabled", "max_count", "node_count")
    keys = (key, f"agentpool={name}")
    return Group(address, pool, keys, _number(values, "node_count"), _unread(values, read))


_NAMES: Mapping[str, str] = {EKS: "node_group_name", GKE: "name", AKS: "name"}
_KINDS: Mapping[str, Callable[[str, Values, Mapping[str, str]], Group]] = {EKS: _eks, GKE: _gke, AKS: _aks}


def _pool(
    name: str, key: str, labels: Mapping[str, str], taints: tuple[Taint, ...], machines: Sequence[str]
) -> NodePool:
    label, _, value = key.partition("=")
    shapes = tuple(shape_named(machine) or unlisted_type(machine) for machine in machines)
    own = {label: value, **labels}
    return NodePool(name, CLUSTER_AUTOSCALER, None, own, taints, shapes=shapes or (Shape(NAMELESS),))


def _most(values: Values, key: str) -> Mapping[str, int]:
    most = _number(values, key)
    return {} if most is None else {"nodes": most}


def _taints(values: Values, key: str) -> tuple[Taint, ...]:
    return tuple(
        Taint(_text(taint, "key"), _text(taint, "value"), _EFFECTS.get(_text(taint, "effect"), _text(taint, "effect")))
        for taint in _list(values, key)
    )


def _parsed(text: str) -> Taint | None:
    """Return a taint of ``key=value:Effect``; None if it is not so written."""
    left, colon, effect = text.rpartition(":")
    key, _, value = left.partition("=")
    return Taint(key, value, effect) if colon and key else None


def _unread(values: Values, read: Sequence[str], prefix: str = "") -> tuple[tuple[str, str], ...]:
    others = {key: value for key, value in values.items() if key not in read and key not in _FLEETING}
    return tuple((f"{prefix}{key}", msgspec.json.encode(value).decode()) for key, value in sorted(others.items()))


# --- what is not read ------------------------------------------------------------------------------------------------


def _notes(
    before: Mapping[str, Group], after: Mapping[str, Group], old: Sequence[Values], new: Sequence[Values]
) -> Iterator[str]:
    for address, group in after.items():
        was = before.get(address)
        if was is not None:
            changed = sorted({key for key, _ in set(was.unread) ^ set(group.unread)})
            if changed:
                yield f"{address}: not read although it changes: {first_few(changed)}"
    nameless = [r for r in new if (key := _NAMES.get(str(r.get("type")))) and not _text(r["values"], key)]
    for address in (str(resource.get("address")) for resource in nameless):
        if address in after:
            yield f"{address} gets its name when it is applied: called {after[address].pool.name} here"
    sides = [{str(r.get("address")): r for r in side if _is_machine(r)} for side in (old, new)]
    others = [a for a in {**sides[0], **sides[1]} if _values(sides[0], a) != _values(sides[1], a)]
    if others:
        yield f"not read: {many(len(others), 'changed resource')} that may make nodes ({first_few(others)})"


def _values(side: Mapping[str, Values], address: str) -> object:
    return side[address]["values"] if address in side else None


def _is_machine(resource: Values) -> bool:
    """Whether a resource that is not read may make nodes: scaling groups, launch templates, whole clusters."""
    kind = str(resource.get("type"))
    words = ("autoscaling_group", "launch_template", "instance_template", "instance_group", "scale_set", "fargate")
    return kind == "google_container_cluster" or any(word in kind for word in words)
