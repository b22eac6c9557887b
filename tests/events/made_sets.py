"""Small clusters and workloads for hypothesis to play with."""

from __future__ import annotations

from kubesched_lint.engine.model.decode.workloads import decode_workload
from kubesched_lint.engine.model.nodes.node import HOSTNAME, ZONE, Node, Taint
from kubesched_lint.engine.model.workloads.workload import Workload
from tests import drawn as st

APPS = ("web", "db")


@st.composite
def nodes(draw, most: int = 4) -> tuple[Node, ...]:
    return tuple(
        Node(
            f"n{i}",
            {HOSTNAME: f"n{i}"}
            | ({} if draw(st.integers(0, 5)) == 0 else {ZONE: draw(st.sampled_from(["za", "zb", "zc"]))}),
            (Taint("dedicated", "gpu"),) if draw(st.integers(0, 7)) == 0 else (),
            allocatable={"cpu": draw(st.sampled_from([300, 1000, 2000, 4000])), "memory": 8 << 30, "pods": 110},
        )
        for i in range(draw(st.integers(1, most)))
    )


@st.composite
def workload(draw, app: str, kinds=("Deployment", "StatefulSet"), most: int = 3, tier: str = "") -> Workload:
    """A workload whose pods have the label ``app`` and, if given, ``tier``, as have its selectors of its own pods."""
    labels = {"app": app} | ({"tier": tier} if tier else {})
    other = st.sampled_from(APPS)
    key = st.sampled_from([HOSTNAME, ZONE])
    requests = {"cpu": draw(st.sampled_from(["100m", "600m", "1"]))}
    spec: dict = {"containers": [{"name": "c", "resources": {"requests": requests}}]}

    def selects(name: str) -> dict:
        found = {"labelSelector": {"matchLabels": labels if name == app else {"app": name}}, "topologyKey": draw(key)}
        return {**found, "matchLabelKeys": ["pod-template-hash"]} if draw(st.integers(0, 3)) == 0 else found

    affinity: dict = {}
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    for shape in draw(st.lists(st.integers(0, 5), min_size=1, max_size=2, unique=True)):
        match shape:
            case 1:
                affinity["podAntiAffinity"] = {required: [selects(draw(other))]}
            case 2:
                spread = []
                for _ in range(draw(st.sampled_from([1, 1, 2]))):
                    hard = draw(st.sampled_from(["DoNotSchedule", "ScheduleAnyway"]))
                    skew = {"maxSkew": draw(st.integers(1, 2)), "whenUnsatisfiable": hard}
                    policies = {
                        policy: value
                        for policy in ("nodeTaintsPolicy", "nodeAffinityPolicy")
                        if (value := draw(st.sampled_from([None, "Honor", "Ignore"])))
                    }
                    spread.append({**selects(draw(st.sampled_from([app, app, *APPS]))), **skew, **policies})
                spec["topologySpreadConstraints"] = spread
            case 3:
                spec["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 80}]
            case 4:
                affinity["podAffinity"] = {required: [selects(draw(other))]}
    if affinity:
        spec["affinity"] = affinity
    if draw(st.integers(0, 3)) == 0:
        spec["tolerations"] = [{"key": "dedicated", "operator": "Exists"}]
    if draw(st.integers(0, 7)) == 0:
        spec["nodeSelector"] = {ZONE: draw(st.sampled_from(["za", "zb"]))}
    kind = draw(st.sampled_from(kinds))
    body = {
        "replicas": draw(st.integers(1, most)),
        "selector": {"matchLabels": {"app": app}},
        "template": {"metadata": {"labels": labels}, "spec": spec},
    }
    if kind == "StatefulSet":
        body["podManagementPolicy"] = draw(st.sampled_from(["OrderedReady", "Parallel"]))
        body["updateStrategy"] = {"rollingUpdate": {"maxUnavailable": draw(st.sampled_from([1, 2, "50%"]))}}
    elif kind == "DaemonSet":
        surge, unavailable = draw(st.sampled_from([(1, 0), (0, 1), (0, 2)]))
        body["updateStrategy"] = {"rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}
    else:
        surge, unavailable = draw(st.sampled_from([(1, 0), (0, 1), ("50%", "50%"), ("25%", "25%")]))
        body["strategy"] = {"rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}
        if draw(st.integers(0, 4)) == 0:
            body["strategy"] = {"type": "Recreate"}
    return decode_workload({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": app}, "spec": body}, "default")
