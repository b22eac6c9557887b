"""Write the node lists of ``fixtures/clouds``: what ``kubectl get nodes -o json`` shows on each platform.

python scripts/cloud_fixtures.py           # write fixtures/clouds/<cloud>/nodes.json
python scripts/cloud_fixtures.py --check   # exit with 1 if a file differs

``fixtures/clouds/clouds.yaml`` says what differs between the platforms; this script adds what every kubelet reports.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from string import Template
from typing import Any

import yaml

FOLDER = Path(__file__).parents[1] / "fixtures" / "clouds"
SEEN_AT = "2026-11-20T08:00:00Z"
KIB_OF_GIB = 1024 * 1024

Json = dict[str, Any]

EVERY_LABEL = {
    "beta.kubernetes.io/arch": "$arch",
    "beta.kubernetes.io/os": "linux",
    "kubernetes.io/arch": "$arch",
    "kubernetes.io/hostname": "$name",
    "kubernetes.io/os": "linux",
}
EVERY_ANNOTATION = {
    "node.alpha.kubernetes.io/ttl": "0",
    "volumes.kubernetes.io/controller-managed-attach-detach": "true",
}
CONDITIONS = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
)


def digest(text: str, length: int) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:length]


def uid(text: str) -> str:
    drawn = digest(text, 32)
    return f"{drawn[:8]}-{drawn[8:12]}-4{drawn[13:16]}-8{drawn[17:20]}-{drawn[20:]}"


def filled(templates: Mapping[str, str | None], values: Mapping[str, str]) -> dict[str, str]:
    """Return the templates with their ``$names`` replaced, sorted by key; null takes a key away."""
    kept = (key for key in sorted(templates) if templates[key] is not None)
    return {key: Template(templates[key]).substitute(values) for key in kept}


def facts(cloud: Json, group: Json, zone: str, index: int, number: int) -> dict[str, str]:
    """Return what templates may name; ``number`` counts the nodes of the cluster, ``index`` those of the group."""
    machine = cloud["machines"][group["machine"]]
    family, _, size = group["machine"].partition(".")
    known = {
        "arch": machine.get("arch", "amd64"),
        "category": family[0],
        "cpu": str(machine["cpu"]),
        "family": family,
        "generation": "".join(filter(str.isdigit, family))[:1],
        "gib": str(round(machine["memory"] / KIB_OF_GIB)),
        "group": group["name"],
        "host": str(10 + 7 * number),
        "id": digest(f"{cloud['name']}/{number}", 17),
        "index": str(index),
        "letter": zone[-1],
        "machine": group["machine"],
        "nth": str(1 + cloud["zones"].index(zone)),
        "mib": str(round(machine["memory"] / KIB_OF_GIB) * 1024),
        "region": cloud["region"],
        "short": digest(f"{cloud['name']}/{group['name']}/{index}", 5),
        "size": size,
        "zone": zone,
    }
    return {**known, "name": Template(group.get("node", cloud["node"])).substitute(known)}


def resources(machine: Json) -> Json:
    """Return capacity and allocatable; memory is written in KiB."""
    own = {"ephemeral-storage": "83873772Ki", "hugepages-1Gi": "0", "hugepages-2Mi": "0", "pods": str(machine["pods"])}
    capacity = {"cpu": str(machine["cpu"]), "memory": f"{machine['memory']}Ki", **own}
    free = {
        "cpu": machine["free_cpu"],
        "memory": f"{machine['free_memory']}Ki",
        **own,
        "ephemeral-storage": "76224326324",
    }
    return {"allocatable": dict(sorted(free.items())), "capacity": dict(sorted(capacity.items()))}


def status(cloud: Json, group: Json, values: Mapping[str, str]) -> Json:
    times = {"lastHeartbeatTime": SEEN_AT, "lastTransitionTime": SEEN_AT}
    conditions = [
        {**times, "message": message, "reason": reason, "status": is_so, "type": kind}
        for kind, is_so, reason, message in CONDITIONS
    ]
    addresses = [
        {"address": f"10.0.{int(values['host']) % 3}.{values['host']}", "type": "InternalIP"},
        {"address": values["name"], "type": "Hostname"},
    ]
    info = {"architecture": values["arch"], "operatingSystem": "linux", **cloud["system"]}
    machine = cloud["machines"][group["machine"]]
    return {**resources(machine), "addresses": addresses, "conditions": conditions, "nodeInfo": info}


def taint(text: str) -> Json:
    """Return the taint that ``key=value:effect`` or ``key:effect`` says."""
    key, _, effect = text.rpartition(":")
    name, has_value, value = key.partition("=")
    return {"effect": effect, "key": name, **({"value": value} if has_value else {})}


def node(cloud: Json, group: Json, values: Mapping[str, str], number: int) -> Json:
    labels = {**EVERY_LABEL, **cloud["labels"], **group.get("labels", {})}
    annotations = {**EVERY_ANNOTATION, **cloud.get("annotations", {}), **group.get("annotations", {})}
    metadata = {
        "annotations": filled(annotations, values),
        "creationTimestamp": SEEN_AT,
        "labels": filled(labels, values),
        "name": values["name"],
        "resourceVersion": str(1000 + number),
        "uid": uid(values["name"]),
    }
    spec: Json = filled({"providerID": cloud["provider"]}, values) if "provider" in cloud else {}
    if "taints" in group:
        spec["taints"] = [taint(text) for text in group["taints"]]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": metadata,
        "spec": spec,
        "status": status(cloud, group, values),
    }


def nodes(cloud: Json) -> Iterator[Json]:
    number = 0
    for group in cloud["groups"]:
        for index, letter in enumerate(group["zones"]):
            zone = cloud["zones"]["abc".index(letter)]
            yield node(cloud, group, facts(cloud, group, zone, index, number), number)
            number += 1


def node_list(cloud: Json) -> str:
    items = [*nodes(cloud), *cloud.get("objects", ())]
    listed = {"apiVersion": "v1", "items": items, "kind": "List", "metadata": {"resourceVersion": ""}}
    return json.dumps(listed, indent=1) + "\n"


def descriptions() -> dict[str, Json]:
    """Return cloud → description."""
    read = yaml.safe_load((FOLDER / "clouds.yaml").read_text(encoding="utf-8"))
    return {name: {**cloud, "name": name} for name, cloud in read["clouds"].items()}


def main(*, check: bool) -> int:
    wanted = {FOLDER / name / "nodes.json": node_list(cloud) for name, cloud in descriptions().items()}
    stale = [path for path, text in wanted.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    for path in stale:
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(wanted[path], encoding="utf-8")
        print(f"{path.relative_to(FOLDER)} {'differs' if check else 'written'}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main(check="--check" in sys.argv[1:]))
