"""Print recorded cases of the pods that wait in a cluster, for ``kubesched-lint verify`` (docs/verify.md)."""

import json
import subprocess


def kubectl(*arguments):
    return json.loads(subprocess.run(["kubectl", *arguments, "-o", "json"], check=True, capture_output=True).stdout)


def items(kind, *more):
    return kubectl("get", kind, *more)["items"]


def scheduled(pod):
    conditions = pod.get("status", {}).get("conditions", [])
    return next((c for c in conditions if c["type"] == "PodScheduled"), {})


kinds = (
    "storageclasses,persistentvolumes,csinodes,volumeattachments,priorityclasses,runtimeclasses",
    "persistentvolumeclaims,poddisruptionbudgets,services,limitranges,csistoragecapacities",
)
pods = [p for p in items("pods", "-A") if p.get("status", {}).get("phase") not in ("Succeeded", "Failed")]
waiting = [p for p in pods if "nodeName" not in p["spec"] and scheduled(p).get("status") == "False"]
case = {
    "kubernetes": kubectl("version")["serverVersion"]["gitVersion"],
    "nodes": items("nodes"),
    "namespaces": items("namespaces"),
    "objects": [*items(kinds[0]), *items(kinds[1], "-A")],
    "pods": [p for p in pods if "nodeName" in p["spec"]],
}
for pod in waiting:
    name = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
    decision = {"pod": pod, "message": scheduled(pod)["message"], "node": None}
    print(json.dumps({"id": name, **case, "decisions": [decision]}))
