"""Nodes, what pods ask of them, and pools."""

from __future__ import annotations

from tests.hostile.shapes.parts import (
    Files,
    Json,
    affinity,
    isin,
    nodes,
    obj,
    required_nodes,
    sketch,
    stream,
    term,
    workload,
)


def node_terms(n: int) -> Files:
    """Terms of node affinity, each of its own values."""
    terms: list[Json] = [
        {"matchExpressions": [isin("disk", [f"v{i}", "ssd"]), isin("pool", [f"p{i}"], "NotIn")]} for i in range(n)
    ]
    return Files(stream([workload("w0", required_nodes(terms), replicas=3)]), nodes(2 * n // 5, labels={"disk": "hdd"}))


def node_numbers(n: int) -> Files:
    """Terms that compare numbers."""
    terms: list[Json] = [{"matchExpressions": [isin("cores", [str(i + 100)], "Gt")]} for i in range(n)]
    return Files(stream([workload("w0", required_nodes(terms))]), nodes(2 * n // 5, labels={"cores": "8"}))


def node_values(n: int) -> Files:
    """One expression with many values."""
    terms: list[Json] = [{"matchExpressions": [isin("disk", [f"v{i}" for i in range(n)], "NotIn")]}]
    return Files(stream(workload(f"w{i}", required_nodes(terms)) for i in range(10)), nodes(300))


def taints(n: int) -> Files:
    """Taints, and as many tolerations."""
    found = [f"t{i}=x:NoSchedule" for i in range(n)]
    some = [{"key": f"t{i}", "operator": "Equal", "value": "x", "effect": "NoSchedule"} for i in range(n)]
    return Files(stream(workload(f"w{i}", {"tolerations": some[i:]}) for i in range(5)), nodes(n, taints=found))


def node_kinds(n: int) -> Files:
    """Nodes, each with a taint and labels of its own."""
    entries: list[Json] = [
        {
            "name": f"n{i}",
            "labels": {f"l{i}": "x", "row": f"r{i % 97}"},
            "taints": [f"t{i}=x:NoSchedule"],
            "allocatable": {"cpu": str(1 + i % 60), "memory": "8Gi"},
        }
        for i in range(n)
    ]
    some = [{"key": f"t{i}", "operator": "Exists"} for i in range(n)]
    return Files(stream(workload(f"w{i}", {"tolerations": some}, replicas=3) for i in range(4)), sketch(entries))


def own_nodes(n: int) -> Files:
    """Workloads, each for a node of its own."""
    found = [{"name": f"n{i}", "labels": {"of": f"w{i}"}, "allocatable": {"cpu": "8"}} for i in range(n)]
    return Files(stream(workload(f"w{i}", {"nodeSelector": {"of": f"w{i}"}}) for i in range(n)), sketch(found))


def misspelt_keys(n: int) -> Files:
    """Workloads for labels that no node has, each like a label of a node, and like many others."""
    found = [{"name": f"n{i}", "labels": {f"disk-{i}": "x"}, "allocatable": {"cpu": "8"}} for i in range(n)]
    return Files(stream(workload(f"w{i}", {"nodeSelector": {f"dsik-{i}": "x"}}) for i in range(n)), sketch(found))


def misspelt_values(n: int) -> Files:
    """Workloads for values of one label that no node has, each like that of a node, and like many others."""
    found = [{"name": f"n{i}", "labels": {"pool": f"disk-{i}"}, "allocatable": {"cpu": "8"}} for i in range(n)]
    return Files(stream(workload(f"w{i}", {"nodeSelector": {"pool": f"dsik-{i}"}}) for i in range(n)), sketch(found))


def misspelt_tolerations(n: int) -> Files:
    """Workloads that tolerate what no node has, each like the taint of a node, and like many others."""

    def one(i: int) -> Json:
        tolerated = {"key": "team", "operator": "Equal", "value": f"dsik-{i}", "effect": "NoSchedule"}
        return workload(f"w{i}", {"tolerations": [tolerated]})

    found = [{"name": f"n{i}", "taints": [f"team=disk-{i}:NoSchedule"], "allocatable": {"cpu": "8"}} for i in range(n)]
    return Files(stream(map(one, range(n))), sketch(found))


def misspelt_taints(n: int) -> Files:
    """Workloads that tolerate a key that no node has, on nodes of which each repels them by a key of its own."""

    def one(i: int) -> Json:
        return workload(f"w{i}", {"tolerations": [{"key": f"dsik-{i}", "operator": "Exists", "effect": "NoSchedule"}]})

    found = [{"name": f"n{i}", "taints": [f"disk-{i}=x:NoSchedule"], "allocatable": {"cpu": "8"}} for i in range(n)]
    return Files(stream(map(one, range(n))), sketch(found))


def own_taints(n: int) -> Files:
    """Workloads, each for a node of its own, whose taint it does not tolerate."""
    found = [
        {"name": f"n{i}", "labels": {"of": f"w{i}"}, "taints": [f"disk-{i}=x:NoSchedule"], "allocatable": {"cpu": "8"}}
        for i in range(n)
    ]
    return Files(stream(workload(f"w{i}", {"nodeSelector": {"of": f"w{i}"}}) for i in range(n)), sketch(found))


def tolerant(n: int) -> Files:
    """Workloads that tolerate the taints of all nodes, which have one each."""
    found = [{"name": f"n{i}", "taints": [f"disk-{i}=x:NoSchedule"], "allocatable": {"cpu": "8"}} for i in range(n)]
    pod = {"tolerations": [{"operator": "Exists"}]}
    return Files(stream(workload(f"w{i}", pod, replicas=2) for i in range(n)), sketch(found))


def cordoned(n: int) -> Files:
    """Workloads, each for a node of its own, which is cordoned."""
    found = [
        {"name": f"n{i}", "labels": {"of": f"w{i}"}, "unschedulable": True, "allocatable": {"cpu": "8"}}
        for i in range(n)
    ]
    return Files(stream(workload(f"w{i}", {"nodeSelector": {"of": f"w{i}"}}) for i in range(n)), sketch(found))


def misspelt_domains(n: int) -> Files:
    """Workloads that spread over keys that no node has, each like the key of a node."""

    def one(i: int) -> Json:
        spread = {
            "maxSkew": 1,
            "topologyKey": f"dsik-{i}",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": f"w{i}"}},
        }
        return workload(f"w{i}", {"topologySpreadConstraints": [spread]}, replicas=2)

    found = [{"name": f"n{i}", "labels": {f"disk-{i}": "x"}, "allocatable": {"cpu": "8"}} for i in range(n)]
    return Files(stream(map(one, range(n))), sketch(found))


def placeholders(n: int) -> Files:
    """Workloads whose values are placeholders, each of another name."""
    return Files(stream(workload(f"w{i}", {"priorityClassName": f"${{P{i}}}"}) for i in range(n)), nodes(30))


def own_resources(n: int) -> Files:
    """Workloads that ask each for a resource of its own, which one node has."""

    def one(i: int) -> Json:
        asked = {"requests": {f"example.com/r{i}": "1"}, "limits": {f"example.com/r{i}": "1"}}
        return workload(f"w{i}", {"containers": [{"name": "c", "image": "i:1", "resources": asked}]})

    found = [{"name": f"n{i}", "allocatable": {"cpu": "8", f"example.com/r{i}": "2"}} for i in range(n)]
    return Files(stream(map(one, range(n))), sketch(found))


def daemons(n: int) -> Files:
    """DaemonSets on many nodes."""
    port = {"containers": [{"name": "c", "image": "i:1", "ports": [{"containerPort": 80, "hostPort": 80}]}]}
    found = [workload(f"w{i}", port if i % 2 else {}, kind="DaemonSet", replicas=None) for i in range(6)]
    return Files(stream(found), nodes(n))


def many_nodes(n: int) -> Files:
    """A plain set with everything in it, on many nodes."""
    spread = {
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "topology.kubernetes.io/zone",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"app": "w0"}},
            }
        ]
    }
    found = [
        workload("w0", spread, replicas=10),
        workload("w1", affinity([term("w1")], "podAntiAffinity"), replicas=10),
        workload("w2", kind="StatefulSet", replicas=10, serviceName="w2"),
        workload("w3", kind="DaemonSet", replicas=None),
    ]
    return Files(stream(found), nodes(n))


def pools(n: int) -> Files:
    """NodePools of Karpenter, each for one workload."""
    reqs = [{"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot", "on-demand"]}]

    def pool(i: int) -> Json:
        template = {
            "metadata": {"labels": {"pool": f"p{i}"}},
            "spec": {
                "requirements": reqs,
                "nodeClassRef": {"group": "g", "kind": "EC2NodeClass", "name": "x"},
                "taints": [{"key": "pool", "value": f"p{i}", "effect": "NoSchedule"}],
            },
        }
        return obj("NodePool", f"p{i}", "karpenter.sh/v1", spec={"template": template, "limits": {"cpu": "100"}})

    def one(i: int) -> Json:
        tolerated = [{"key": "pool", "operator": "Equal", "value": f"p{i}"}]
        return workload(f"w{i}", {"nodeSelector": {"pool": f"p{i}"}, "tolerations": tolerated})

    return Files(stream([*map(pool, range(n)), *map(one, range(n))]), nodes(3))


def misspelt_pools(n: int) -> Files:
    """NodePools of Karpenter, and workloads that each misspell one of them."""
    reqs = [{"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot"]}]

    def pool(i: int) -> Json:
        spec = {"nodeClassRef": {"group": "x", "kind": "y", "name": "z"}, "requirements": reqs}
        template = {"metadata": {"labels": {"pool": f"disk-{i}"}}, "spec": spec}
        return obj("NodePool", f"p{i}", "karpenter.sh/v1", spec={"template": template})

    wrong = (workload(f"w{i}", {"nodeSelector": {"pool": f"dsik-{i}"}}) for i in range(n))
    return Files(stream([*map(pool, range(n)), *wrong]), nodes(3))


def group_names(n: int) -> Files:
    """Node groups in cluster-autoscaler's status, and as many nodes, each with the label of another group."""

    def group(i: int) -> str:
        return f"- {{name: eks-p{i}-2cc6, health: {{nodeCounts: {{registered: {{total: 1}}}}}}}}\n"

    def node(i: int) -> Json:
        labels = {"cloud.google.com/gke-nodepool": f"p{i}"}
        return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"n{i}", "labels": labels}}

    status = {"status": "nodeGroups:\n" + "".join(map(group, range(n)))}
    counted: Json = obj("ConfigMap", "cluster-autoscaler-status", "v1", data=status)
    return Files(stream([workload("w0")]), stream([counted, *map(node, range(n))]))


def sketched_pools(n: int) -> Files:
    """Pools of a sketch, and workloads that fit on no node that is there."""
    big = {"containers": [{"name": "c", "image": "i:1", "resources": {"requests": {"cpu": "12"}}}]}
    found: list[Json] = [
        {
            "name": f"p{i}",
            "zones": ["z0", "z1"],
            "shapes": [{"name": f"s{i}", "allocatable": {"cpu": str(13 + i % 7), "memory": "64Gi"}}],
            "limits": {"nodes": 3},
        }
        for i in range(n)
    ]
    entry: Json = {"name": "n", "zones": ["z0"], "count": 3, "allocatable": {"cpu": "8", "memory": "32Gi"}}
    return Files(stream(workload(f"w{i}", big, replicas=2) for i in range(n)), sketch([entry], pools=found))


def own_zones(n: int) -> Files:
    """Workloads that spread over as many zones as nodes."""
    zone = "topology.kubernetes.io/zone"

    def one(i: int) -> Json:
        spread = {"maxSkew": 1, "topologyKey": zone, "whenUnsatisfiable": "DoNotSchedule"}
        chosen = {"labelSelector": {"matchLabels": {"app": f"w{i}"}}}
        return workload(f"w{i}", {"topologySpreadConstraints": [spread | chosen]}, replicas=2)

    return Files(stream(map(one, range(n))), nodes(n, zones=n))


def all_but_one(n: int) -> Files:
    """Workloads that may each use all nodes but one."""

    def one(i: int) -> Json:
        return workload(f"w{i}", required_nodes([{"matchExpressions": [isin("of", [f"w{i}"], "NotIn")]}]))

    offered = {"cpu": "8", "memory": "8Gi"}
    found = [{"name": f"n{i}", "labels": {"of": f"w{i}"}, "allocatable": offered} for i in range(n)]
    return Files(stream(map(one, range(n))), sketch(found))


def sizes(n: int) -> Files:
    """Workloads of as many sizes as nodes have."""

    def one(i: int) -> Json:
        asked = {"requests": {"cpu": f"{100 + i}m", "memory": f"{64 + i}Mi"}}
        return workload(f"w{i}", {"containers": [{"name": "c", "image": "i:1", "resources": asked}]})

    found = [{"name": f"n{i}", "allocatable": {"cpu": f"{8000 + i}m", "memory": f"{9000 + i}Mi"}} for i in range(n)]
    return Files(stream(map(one, range(n))), sketch(found))
