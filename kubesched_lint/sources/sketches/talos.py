"""A sketch of the nodes that machine configurations of Talos Linux, or talhelper's talconfig.yaml, describe.

Mirrors Talos' controllers in ``internal/app/machined/pkg/controllers/k8s``: ``node_label_spec.go``,
``node_taint_spec.go``, and ``node_apply.go``, which changes workers with the rights of their kubelet alone. What
NodeRestriction refuses there, what a variable holds, and the size of machines stay unknown.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import yaml
from msgspec import Struct, field

from kubesched_lint.engine.base.text import first_few, many
from kubesched_lint.engine.cluster.cluster import ClusterError
from kubesched_lint.engine.model.nodes.node import HOSTNAME, REGION, ZONE
from kubesched_lint.files import root_of, whole
from kubesched_lint.printing import visible
from kubesched_lint.sources.manifests.limits import LARGEST
from kubesched_lint.sources.manifests.recognizing.kustomization import text_to_read, value_in
from kubesched_lint.sources.manifests.yaml.split import parts
from kubesched_lint.sources.sketches.sketch import API_VERSION, KIND
from kubesched_lint.sources.sketches.text import listing, mapping, scalar

_CONTROL_PLANE = "node-role.kubernetes.io/control-plane"
_OF_CONTROL_PLANES = frozenset({"controlplane", "init"})
_TYPES = _OF_CONTROL_PLANES | {"worker", "join"}
_KINDS = ("HostnameConfig", "KubeNodeConfig", "KubeletConfig")
"""Documents beside the main one that tell of labels, taints and names (Talos 1.14)."""
_READ_IN_PATCHES = re.compile(
    r"node-?labels|node-?taints|register-?with-?taints|allowScheduling|hostname|labels|taints", re.I
)
_DELETED = "$patch"
_VARIABLE = "${"
_ENCRYPTED = "ENC["
_SYSTEM = re.compile(r"(?:.*\.)?(?:kubernetes|k8s)\.io")
_KUBELETS = re.compile(r"(?:.*\.)?(?:kubelet|node)\.kubernetes\.io")
_ALLOWED = frozenset({HOSTNAME, ZONE, REGION, "kubernetes.io/os", "kubernetes.io/arch"})
"""Labels of Kubernetes that a kubelet may set on its node, beside those of ``_KUBELETS``."""

Files = Sequence[tuple[str, bytes]]
"""(path, content) of each."""


class _Machine(Struct):
    """What is known of one machine: its documents by kind, the main one under the empty name."""

    path: str
    documents: dict[str, dict[str, Any]]
    unknown: list[str] = field(default_factory=list)
    """What else may set labels and taints, in words."""


class _Node(Struct):
    name: str
    labels: dict[str, str]
    taints: list[str]
    others: set[str]
    """Keys of labels that it may have."""
    notes: list[str]
    is_one: bool = True
    """Whether it is one machine; else nobody knows how many have this configuration."""


def talos_sketch(files: Files, shown: str, node_groups: str = "") -> str:
    """Return a sketch as YAML; empty if no file describes machines of Talos. Raises ClusterError.

    ``shown`` names the files, ``node_groups`` is ``complete``, ``open`` or empty.
    """
    machines = [machine for path, data in files for machine in _machines(path, data)]
    if not machines:
        return ""
    nodes: dict[str, _Node] = {}
    for machine in machines:
        node = _node(machine)
        nodes.setdefault(node.name, node)
    lines = [
        f"# {many(len(nodes), 'node')} of {visible(shown)}, as Talos is told to make them; docs/sketch.md explains it.",
        "# How much pods can ask of a node is not written there: add allocatable, or rules about room are silent.",
    ]
    lines += (f"# {visible(note)}" for note in dict.fromkeys(note for node in nodes.values() for note in node.notes))
    lines += [f"apiVersion: {API_VERSION}", f"kind: {KIND}"]
    lines += [f"nodeGroups: {node_groups}"] if node_groups else []
    others = sorted({key for node in nodes.values() for key in node.others})
    lines += listing("otherLabels", list(map(scalar, others)), 0) if others else []
    lines.append("nodes:")
    for node in nodes.values():
        lines.append(f"- name: {scalar(node.name)}")
        labels = [(key, scalar(value)) for key, value in node.labels.items()]
        lines += mapping("labels", labels) if labels else []
        lines += listing("taints", list(map(scalar, node.taints))) if node.taints else []
        lines += [] if node.is_one else ["  elastic: true  # nobody knows how many there are"]
    return "\n".join(lines) + "\n"


# --- reading --------------------------------------------------------------------------------------------------------


def _machines(path: str, data: bytes) -> Iterator[_Machine]:
    values = [value for value in _values(data) if isinstance(value, dict)]
    machine: _Machine | None = None
    for value in values:
        settings = value.get("machine")
        if isinstance(settings, dict) and settings.get("type") in _TYPES:
            if machine is not None:
                yield machine
            machine = _Machine(path, {"": value})
        elif machine is not None and value.get("kind") in _KINDS:
            machine.documents[value["kind"]] = value
        elif _is_of_talhelper(value):
            yield from _of_talhelper(path, value)
    if machine is not None:
        yield machine


def _values(data: bytes) -> Iterator[Any]:
    text = text_to_read(data)
    yield from (value_in(part.text) for part in parts(text))


def _is_of_talhelper(value: Mapping[str, Any]) -> bool:
    is_named = "clusterName" in value and "endpoint" in value
    return is_named and "apiVersion" not in value and isinstance(value.get("nodes"), list)


def _of_talhelper(path: str, value: Mapping[str, Any]) -> Iterator[_Machine]:
    allow = value.get("allowSchedulingOnControlPlanes", value.get("allowSchedulingOnMasters"))
    for node in map(_map, _list(value.get("nodes"))):
        is_control_plane = bool(node.get("controlPlane"))
        group = _map(value.get("controlPlane" if is_control_plane else "worker"))
        settings = {
            "type": "controlplane" if is_control_plane else "worker",
            "network": {"hostname": node.get("hostname")},
            "nodeLabels": {**_map(group.get("nodeLabels")), **_map(node.get("nodeLabels"))},
            "nodeTaints": {**_map(group.get("nodeTaints")), **_map(node.get("nodeTaints"))},
        }
        main = {"machine": settings, "cluster": {"allowSchedulingOnControlPlanes": allow}}
        machine = _Machine(path, {"": main})
        _check_name(path, node.get("hostname"))
        for patch in (*_patches(value), *_patches(group), *_patches(node)):
            _patch(machine, patch)
        yield machine


def _patches(value: Mapping[str, Any]) -> Iterator[Any]:
    for key in ("patches", "configPatches"):
        yield from _list(value.get(key))
    if value.get("inlinePatch"):
        yield value["inlinePatch"]


def _patch(machine: _Machine, patch: Any) -> None:
    """Apply a strategic merge patch; of another, say that it is not known if it may matter."""
    text = patch if isinstance(patch, str) else yaml.safe_dump(patch, default_flow_style=True)
    if isinstance(patch, str) and patch.startswith("@"):
        try:
            folder = os.path.dirname(machine.path)
            root = root_of(machine.path) or os.path.realpath(folder)
            text = text_to_read(whole(os.path.join(folder, patch[1:]), LARGEST, root=root))
        except (OSError, ValueError):
            machine.unknown.append(f"the patch {patch[1:]} is not read")
            return
    for part in parts(text):
        value = value_in(part.text)
        kind = str(value.get("kind") or "") if isinstance(value, dict) else ""
        if isinstance(value, dict) and (kind in _KINDS or not kind):
            machine.documents[kind] = _merged(machine.documents.get(kind, {}), value)
        elif not isinstance(value, dict) and _READ_IN_PATCHES.search(part.text):
            machine.unknown.append("a patch of JSON is not read")


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Return mappings merged at any depth, without what ``$patch: delete`` takes away."""
    values = dict(below)
    for key, value in above.items():
        if isinstance(value, dict) and value.get(_DELETED) == "delete":
            values.pop(key, None)
        elif isinstance(value, dict):
            old = values.get(key)
            values[key] = _merged(old if isinstance(old, dict) else {}, value)
        else:
            values[key] = value
    return values


# --- nodes ----------------------------------------------------------------------------------------------------------


def _node(machine: _Machine) -> _Node:
    main, new, kubelet = (machine.documents.get(kind, {}) for kind in ("", "KubeNodeConfig", "KubeletConfig"))
    settings, cluster = _map(main.get("machine")), _map(main.get("cluster"))
    old_kubelet = _map(settings.get("kubelet"))
    arguments = {**_map(old_kubelet.get("extraArgs")), **_map(kubelet.get("extraArgs"))}
    configuration = {**_map(old_kubelet.get("extraConfig")), **_map(kubelet.get("config"))}
    name = _map(settings.get("network")).get("hostname") or machine.documents.get("HostnameConfig", {}).get("hostname")
    shown = str(name or re.sub(r"[^a-z0-9-]+", "-", os.path.splitext(os.path.basename(machine.path))[0].lower()))
    node = _Node(shown, {}, [], set(), [f"{shown}: {why}" for why in machine.unknown], bool(name))
    _check_name(machine.path, shown)
    labels = {**_map(settings.get("nodeLabels")), **_map(new.get("labels"))}
    taints = {**_map(settings.get("nodeTaints")), **_map(new.get("taints"))}
    if settings["type"] in _OF_CONTROL_PLANES:
        labels.setdefault(_CONTROL_PLANE, "")
        allow = cluster.get("allowSchedulingOnControlPlanes", cluster.get("allowSchedulingOnMasters"))
        if not allow and not new:
            taints.setdefault(_CONTROL_PLANE, "NoSchedule")
        node.taints += _taints(taints)
    elif taints or any(map(_is_refused, labels)):
        refused = first_few([*map(str, taints), *(str(key) for key in labels if _is_refused(key))])
        node.notes.append(f"{shown} may lack {refused}, and nodeLabels, which NodeRestriction refuses to a worker")
        node.others |= set(map(str, labels))
        labels = {}
    for key, value in {**labels, **dict(_pairs(arguments.get("node-labels")))}.items():
        if isinstance(value, str) and not _is_open(value):
            node.labels[str(key)] = value
        else:  # a number or yes without quotes is the text for Talos, and nobody can tell how it was written
            node.others.add(str(key))
            node.notes.append(f"{shown}: the value of the label {key} is not known" + _unquoted(value))
    node.taints += (taint for taint in _words(arguments.get("register-with-taints")) if not _is_open(taint))
    node.taints += _of_kubelet(configuration.get("registerWithTaints"))
    node.taints = list(dict.fromkeys(taint for taint in node.taints if not _is_open(taint)))
    return node


def _check_name(path: str, name: object) -> None:
    if not isinstance(name, str) or not name or _is_open(name):
        raise ClusterError(path, 0, 0, f"names a machine {name!r}: fill in its variables first (talhelper genconfig)")


def _taints(taints: Mapping[str, Any]) -> Iterator[str]:
    """Yield taints of ``nodeTaints``: key → ``value:effect``, or the effect alone."""
    for key, text in taints.items():
        value, _, effect = str(text).rpartition(":")
        yield f"{key}={value}:{effect}" if value else f"{key}:{effect}"


def _of_kubelet(taints: Any) -> Iterator[str]:
    for taint in map(_map, _list(taints)):
        value = f"={taint['value']}" if taint.get("value") else ""
        yield f"{taint.get('key')}{value}:{taint.get('effect')}"


def _pairs(text: Any) -> Iterator[tuple[str, str]]:
    for word in _words(text):
        key, _, value = word.partition("=")
        yield key, value


def _words(text: Any) -> Iterator[str]:
    """Yield the words of an argument of the kubelet: with commas, or a list."""
    several: Iterable[Any] = text if isinstance(text, list) else [text] if text else []
    for argument in several:
        yield from (word.strip().replace("=:", ":") for word in str(argument).split(",") if word.strip())


def _unquoted(value: Any) -> str:
    return "" if isinstance(value, str | dict | list | None) else ": put it in quotes"


def _is_refused(key: object) -> bool:
    """Return whether NodeRestriction keeps a kubelet from setting a label on its own node."""
    prefix, slash, _ = str(key).partition("/")
    is_system = bool(slash) and _SYSTEM.fullmatch(prefix) is not None
    return is_system and key not in _ALLOWED and _KUBELETS.fullmatch(prefix) is None


def _is_open(value: object) -> bool:
    return _VARIABLE in str(value) or str(value).startswith(_ENCRYPTED)


def _map(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
