"""Pods that attract, repel and spread."""

from __future__ import annotations

from tests.hostile.shapes.parts import Files, Json, affinity, isin, nodes, obj, preferred, stream, term, workload


def ring(n: int) -> Files:
    """Each Deployment beside the next, the last beside the first."""
    return Files(stream(workload(f"w{i}", affinity([term(f"w{(i + 1) % n}")])) for i in range(n)), nodes(30))


def chain(n: int) -> Files:
    """Each Deployment beside the next; only the last is free."""
    found = [workload(f"w{i}", affinity([term(f"w{i + 1}", "topology.kubernetes.io/zone")])) for i in range(n)]
    return Files(stream([*found, workload(f"w{n}")]), nodes(30))


def star(n: int) -> Files:
    """All Deployments beside one."""
    return Files(stream([workload("w0"), *(workload(f"w{i}", affinity([term("w0")])) for i in range(1, n))]), nodes(30))


def apart(n: int) -> Files:
    """As many Deployments as each of them has terms of anti-affinity."""
    terms = [term(f"w{i}") for i in range(n)]
    return Files(stream(workload(f"w{i}", affinity(terms, "podAntiAffinity")) for i in range(n)), nodes(n))


def apart_from_many(n: int) -> Files:
    """One Deployment with many terms against itself, each worded in another way."""
    terms = [{**term("w0"), "namespaces": ["default", f"n{i}"]} for i in range(n)]
    return Files(stream([workload("w0", affinity(terms, "podAntiAffinity"), replicas=40)]), nodes(300))


def preferring(n: int) -> Files:
    """Preferred terms, as many as Deployments."""
    terms = [term(f"w{i}", "topology.kubernetes.io/zone") for i in range(n)]
    return Files(stream(workload(f"w{i}", preferred(terms, "podAntiAffinity")) for i in range(n)), nodes(n))


def beside_all(n: int) -> Files:
    """Every Deployment apart from the pods of all namespaces that a selector chooses."""
    apart: Json = {
        "topologyKey": "kubernetes.io/hostname",
        "namespaceSelector": {"matchExpressions": [isin("team", ["x"], "NotIn")]},
        "labelSelector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]},
    }
    spaces = [
        obj("Namespace", f"s{i}") | {"metadata": {"name": f"s{i}", "labels": {"team": f"t{i}"}}} for i in range(n)
    ]
    found = [workload(f"w{i}", affinity([apart], "podAntiAffinity")) for i in range(n)]
    for i, one in enumerate(found):
        one["metadata"] = {"name": f"w{i}", "namespace": f"s{i}"}
    return Files(stream([*spaces, *found]), nodes(300))


def beside_each(n: int) -> Files:
    """Every Deployment apart from the next, which lives in a namespace of its own, chosen by its label."""

    def one(i: int) -> Json:
        apart: Json = {
            "topologyKey": "topology.kubernetes.io/zone",
            "namespaceSelector": {"matchLabels": {"team": f"t{(i + 1) % n}"}},
            "labelSelector": {"matchLabels": {"app": f"w{(i + 1) % n}"}},
        }
        found = workload(f"w{i}", affinity([apart], "podAntiAffinity"))
        return found | {"metadata": {"name": f"w{i}", "namespace": f"s{i}"}}

    spaces = [
        obj("Namespace", f"s{i}") | {"metadata": {"name": f"s{i}", "labels": {"team": f"t{i}"}}} for i in range(n)
    ]
    return Files(stream([*spaces, *map(one, range(n))]), nodes(30))


def everywhere(n: int) -> Files:
    """A Deployment of one name in each namespace, apart from its own pods and those of the next namespace."""

    def one(i: int) -> Json:
        apart = {**term("w0"), "namespaces": [f"s{i}", f"s{(i + 1) % n}"]}
        found = workload("w0", affinity([apart], "podAntiAffinity"), replicas=2)
        return found | {"metadata": {"name": "w0", "namespace": f"s{i}"}}

    return Files(stream([*(obj("Namespace", f"s{i}") for i in range(n)), *map(one, range(n))]), nodes(30))


def revisions(n: int) -> Files:
    """Deployments that share one label, each apart from pods of its own version."""
    apart: Json = {
        "topologyKey": "topology.kubernetes.io/zone",
        "labelSelector": {"matchLabels": {"tier": "x"}},
        "matchLabelKeys": ["version"],
    }
    found = affinity([apart], "podAntiAffinity")
    return Files(
        stream(workload(f"w{i}", found, labels={"tier": "x", "version": f"v{i}"}) for i in range(n)), nodes(30)
    )


def selecting(n: int) -> Files:
    """Selectors of many expressions over many workloads."""
    some = [isin(f"k{i % 50}", [f"v{i}", f"v{i + 1}"], "NotIn" if i % 2 else "In") for i in range(20)]

    def one(i: int) -> Json:
        chosen: Json = {
            "topologyKey": "topology.kubernetes.io/zone",
            "labelSelector": {"matchExpressions": [*some, isin("k3", [f"v{i}"])]},
        }
        return workload(f"w{i}", affinity([chosen], "podAntiAffinity"), labels={f"k{j}": f"v{i}" for j in range(10)})

    return Files(stream(map(one, range(n))), nodes(30))


def crowd(n: int) -> Files:
    """Deployments that share one label, each apart from all that carry it."""
    against: Json = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"tier": "x"}}}
    return Files(
        stream(workload(f"w{i}", affinity([against], "podAntiAffinity"), labels={"tier": "x"}) for i in range(n)),
        nodes(n // 2),
    )


def spreads(n: int) -> Files:
    """One Deployment with many spread constraints, each by another key or selector."""
    found = [
        {
            "maxSkew": 1 + i % 3,
            "topologyKey": ("topology.kubernetes.io/zone", "kubernetes.io/hostname")[i % 2],
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchExpressions": [isin("app", ["w0", f"x{i}"])]},
        }
        for i in range(n)
    ]
    return Files(stream([workload("w0", {"topologySpreadConstraints": found}, replicas=30)]), nodes(60))


def spread_keys(n: int) -> Files:
    """Many constraints, each by a key of its own that all nodes carry."""
    found = [
        {
            "maxSkew": 1,
            "topologyKey": f"k{i}",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "w0"}},
        }
        for i in range(n)
    ]
    labels = {f"k{i}": "{name}" for i in range(n)}
    return Files(stream([workload("w0", {"topologySpreadConstraints": found}, replicas=30)]), nodes(60, labels=labels))


def alone(n: int) -> Files:
    """Deployments that keep away from the pods of all others."""

    def one(i: int) -> Json:
        others = {"matchExpressions": [isin("app", [f"w{i}"], "NotIn")]}
        against: Json = {"topologyKey": "kubernetes.io/hostname", "labelSelector": others}
        return workload(f"w{i}", affinity([against], "podAntiAffinity"))

    return Files(stream(map(one, range(n))), nodes(n))


def together(n: int) -> Files:
    """Deployments that share one label, each beside any that carry it."""
    beside: Json = {"topologyKey": "topology.kubernetes.io/zone", "labelSelector": {"matchLabels": {"tier": "x"}}}
    return Files(stream(workload(f"w{i}", affinity([beside]), labels={"tier": "x"}) for i in range(n)), nodes(n))


def avoiding(n: int) -> Files:
    """Deployments that prefer nodes without pods of all others."""

    def one(i: int) -> Json:
        others = {"matchExpressions": [isin("app", [f"w{i}"], "NotIn")]}
        return workload(
            f"w{i}",
            preferred([{"topologyKey": "kubernetes.io/hostname", "labelSelector": others}], "podAntiAffinity"),
        )

    return Files(stream(map(one, range(n))), nodes(n))


def full_zones(n: int) -> Files:
    """Deployments of three pods, one in each zone, on nodes that are nearly full with them; each asks for more."""

    def one(i: int) -> Json:
        over: Json = {
            "maxSkew": 1,
            "topologyKey": "topology.kubernetes.io/zone",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": f"w{i}"}},
        }
        asked = {"cpu": f"{1_100 + i % 25 * 37}m", "memory": f"{3_000 + i % 25 * 53}Mi"}
        containers = [{"name": "c", "image": "i:1", "resources": {"requests": asked}}]
        return workload(f"w{i}", {"containers": containers, "topologySpreadConstraints": [over]}, replicas=3)

    allocatable = {"cpu": "4", "memory": "16Gi", "pods": "110"}
    return Files(stream(map(one, range(n))), nodes(n + n // 5, allocatable=allocatable))


def full_next(n: int) -> Files:
    """Deployments on nodes that are nearly full with them, each apart from the next, of two priorities."""
    ranks = [obj("PriorityClass", f"p{i}", "scheduling.k8s.io/v1", value=10 * i) for i in range(2)]

    def one(i: int) -> Json:
        asked = {"cpu": f"{1_100 + i % 25 * 37}m", "memory": "1Gi"}
        containers = [{"name": "c", "image": "i:1", "resources": {"requests": asked}}]
        apart = affinity([term(f"w{(i + 1) % n}")], "podAntiAffinity")
        spec = {**apart, "containers": containers, "priorityClassName": f"p{i % 2}"}
        return workload(f"w{i}", spec, replicas=3)

    allocatable = {"cpu": "4", "memory": "16Gi", "pods": "110"}
    return Files(stream([*ranks, *map(one, range(n))]), nodes(n + n // 5, allocatable=allocatable))
