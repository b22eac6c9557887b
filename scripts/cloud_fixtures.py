"""Write ``fixtures/clouds``: the nodes as ``kubectl get nodes -o json`` shows them, and cluster-autoscaler's status.

python scripts/cloud_fixtures.py           # write <cloud>/nodes.json and cluster-autoscaler/<cloud>.yaml
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
    sold = 1 << (machine["memory"] // KIB_OF_GIB).bit_length()  # GiB; the kernel keeps a part of them
    known = {
        "arch": machine.get("arch", "amd64"),
        "category": family[0],
        "cpu": str(machine["cpu"]),
        "family": family,
        "generation": "".join(filter(str.isdigit, family))[:1],
        "gib": str(sold),
        "group": group["name"],
        "host": str(10 + 7 * number),
        "id": digest(f"{cloud['name']}/{number}", 17),
        "index": str(index),
        "letter": zone[-1],
        "machine": group["machine"],
        "nth": str(1 + cloud["zones"].index(zone)),
        "mib": str(sold * 1024),
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


def scaled_groups(cloud: Json) -> Iterator[tuple[str, int]]:
    """Yield the name that cluster-autoscaler has for a group, and how many nodes it has; the group at zero is last."""
    scaled = [group for group in cloud["groups"] if not group.get("unscaled")]
    for group in [*scaled, {"name": cloud["zero"]["name"], "zones": ""}]:
        name = Template(cloud["autoscaler"])
        if "$zone" not in cloud["autoscaler"]:
            yield name.substitute(group=group["name"]), len(group["zones"])
            continue
        for letter, zone in zip("abc", cloud["zones"], strict=True):
            if letter in (group["zones"] or "a"):
                yield name.substitute(group=group["name"], zone=zone), group["zones"].count(letter)


def config_map(status: str) -> str:
    """Return the ConfigMap of cluster-autoscaler with the status as text."""
    head = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  annotations:\n"
    at = f"    cluster-autoscaler.kubernetes.io/last-updated: {SEEN_AT[:10]} {SEEN_AT[11:19]}.0 +0000 UTC\n"
    text = "".join(f"    {line}\n" for line in status.splitlines())
    return f"{head}{at}  name: cluster-autoscaler-status\n  namespace: kube-system\ndata:\n  status: |\n{text}"


def status_as_yaml(cloud: Json) -> str:
    """Return ``data.status`` as cluster-autoscaler 1.30 and later write it."""
    times = {"lastProbeTime": SEEN_AT, "lastTransitionTime": SEEN_AT}
    groups = [
        {"name": name, "health": health(count, least=0, most=10), "scaleUp": {"status": "NoActivity", **times}}
        | {"scaleDown": {"status": "NoCandidates", **times}}
        for name, count in scaled_groups(cloud)
    ]
    total = sum(count for _, count in scaled_groups(cloud))
    whole = {"health": health(total), "scaleUp": {"status": "NoActivity", **times}}
    whole["scaleDown"] = {"status": "NoCandidates", **times}
    said = {"time": SEEN_AT, "autoscalerStatus": "Running", "clusterWide": whole, "nodeGroups": groups}
    return yaml.safe_dump(said, sort_keys=False, width=1000)


def health(count: int, least: int | None = None, most: int = 0) -> Json:
    registered = {"total": count, "ready": count, "notStarted": 0}
    sizes = {} if least is None else {"cloudProviderTarget": count, "minSize": least, "maxSize": most}
    counts = {"registered": registered, "longUnregistered": 0, "unregistered": 0}
    times = {"lastProbeTime": SEEN_AT, "lastTransitionTime": SEEN_AT}
    return {"status": "Healthy", "nodeCounts": counts, **sizes, **times}


def status_as_text(cloud: Json) -> str:
    """Return ``data.status`` as cluster-autoscaler 1.29 and earlier write it."""
    return "\n".join(text_lines(cloud))


def text_lines(cloud: Json) -> Iterator[str]:
    at = f"{SEEN_AT[:10]} {SEEN_AT[11:19]}.0 +0000 UTC"
    seen = " (ready={0} unready=0 (resourceUnready=0) notStarted=0 longNotStarted=0 registered={0} longUnregistered=0"
    times = [f"               {key + ':':<19} {at} m=+10.0" for key in ("LastProbeTime", "LastTransitionTime")]
    total = sum(count for _, count in scaled_groups(cloud))
    idle = ["  ScaleDown:   NoCandidates (candidates=0)", *times, ""]
    yield f"Cluster-autoscaler status at {at}:"
    yield "Cluster-wide:"
    yield from ("  Health:      Healthy" + seen.format(total) + ")", *times)
    yield from (f"  ScaleUp:     NoActivity (ready={total} registered={total})", *times, *idle)
    yield "NodeGroups:"
    for name, count in scaled_groups(cloud):
        yield f"  Name:        {name}"
        yield f"  Health:      Healthy{seen.format(count)} cloudProviderTarget={count} (minSize=0, maxSize=10))"
        yield from times
        yield from (f"  ScaleUp:     NoActivity (ready={count} cloudProviderTarget={count})", *times, *idle)


def descriptions() -> dict[str, Json]:
    """Return cloud → description."""
    read = yaml.safe_load((FOLDER / "clouds.yaml").read_text(encoding="utf-8"))
    return {name: {**cloud, "name": name} for name, cloud in read["clouds"].items()}


def files() -> Iterator[tuple[Path, str]]:
    for name, cloud in descriptions().items():
        yield FOLDER / name / "nodes.json", node_list(cloud)
        if "autoscaler" in cloud:
            yield FOLDER / "cluster-autoscaler" / f"{name}.yaml", config_map(status_as_yaml(cloud))
            yield FOLDER / "cluster-autoscaler" / f"{name}-before-1.30.yaml", config_map(status_as_text(cloud))


def main(*, check: bool) -> int:
    wanted = dict(files())
    stale = [path for path, text in wanted.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    for path in stale:
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(wanted[path], encoding="utf-8")
        print(f"{path.relative_to(FOLDER)} {'differs' if check else 'written'}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main(check="--check" in sys.argv[1:]))
