"""Pods of many parts, and many pods."""

from __future__ import annotations

from tests.hostile.shapes.parts import Files, Json, affinity, job, nodes, obj, sketch, stream, term, workload


def inits(n: int) -> Files:
    found = [{"name": f"i{i}", "image": "i:1", "resources": {"requests": {"cpu": "1"}}} for i in range(n)]
    return Files(stream([workload("w0", {"initContainers": found}, replicas=3)]), nodes(30))


def containers(n: int) -> Files:
    found = [
        {"name": f"i{i}", "image": f"i:{i}", "ports": [{"containerPort": 1 + i, "hostPort": 1 + i}]} for i in range(n)
    ]
    return Files(
        stream([workload("w0", {"containers": found}, replicas=3), workload("w1", {"containers": found})]), nodes(30)
    )


def ports(n: int) -> Files:
    """Workloads that each want the same port of a node."""
    pod = {"containers": [{"name": "c", "image": "i:1", "ports": [{"containerPort": 80, "hostPort": 80}]}]}
    return Files(stream(workload(f"w{i}", pod) for i in range(n)), nodes(60))


def addresses(n: int) -> Files:
    """Workloads that want the same port, each at another address."""

    def one(i: int) -> Json:
        port = {"containerPort": 80, "hostPort": 80, "hostIP": f"10.0.{i // 250}.{1 + i % 250}"}
        return workload(f"w{i}", {"containers": [{"name": "c", "image": "i:1", "ports": [port]}]}, replicas=2)

    return Files(stream(map(one, range(n))), nodes(30))


def labels(n: int) -> Files:
    """Labels of one pod, and a selector that asks for all of them."""
    found = {f"k{i}": "x" for i in range(n)}
    against: Json = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": found}}
    return Files(
        stream(workload(f"w{i}", affinity([against], "podAntiAffinity"), labels=found) for i in range(4)), nodes(30)
    )


def replicas(n: int) -> Files:
    """Few workloads of many replicas; the largest is what int32 holds."""
    spread = {
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "kubernetes.io/hostname",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"app": "w1"}},
            }
        ]
    }
    found = [
        workload("w0", replicas=n),
        workload("w1", spread, replicas=n),
        workload("w2", affinity([term("w2")], "podAntiAffinity"), replicas=n),
        workload("w3", kind="StatefulSet", replicas=n, serviceName="w3"),
        workload("w4", affinity([term("w0")]), replicas=n),
        job("j", parallelism=n, completions=n),
        job("k", parallelism=n, completions=n, completionMode="Indexed"),
        obj(
            "PodDisruptionBudget",
            "b",
            "policy/v1",
            spec={"maxUnavailable": n, "selector": {"matchLabels": {"app": "w0"}}},
        ),
        obj(
            "HorizontalPodAutoscaler",
            "w0",
            "autoscaling/v2",
            spec={"maxReplicas": n, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "w0"}},
        ),
    ]
    return Files(stream(found), nodes(30))


def fitting_replicas(n: int) -> Files:
    """As ``replicas``, of pods that ask for nothing, on nodes that could hold them all."""
    small = {"containers": [{"name": "c", "image": "i:1"}]}
    entry: Json = {
        "name": "n",
        "zones": ["z0", "z1", "z2"],
        "count": 10,
        "allocatable": {"cpu": "8000", "memory": "32Ti", "pods": str(2**31 - 1)},
    }
    spread = {
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "kubernetes.io/hostname",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"app": "w1"}},
            }
        ]
    }
    found = [
        workload("w0", small, replicas=n),
        workload("w1", {**small, **spread}, replicas=n, strategy={"rollingUpdate": {"maxSurge": "100%"}}),
        workload("w2", small, kind="StatefulSet", replicas=n, serviceName="w2", podManagementPolicy="Parallel"),
        job("j", parallelism=n, completions=n),
    ]
    return Files(stream(found), sketch([entry]))


def rollouts(n: int) -> Files:
    """Deployments in the midst of their rollout have two revisions each."""
    plans = [{"rollingUpdate": {"maxSurge": f"{1 + i % 99}%", "maxUnavailable": f"{i % 50}%"}} for i in range(12)]
    big = {"containers": [{"name": "c", "image": "i:1", "resources": {"requests": {"cpu": "100m"}}}]}
    return Files(stream(workload(f"w{i}", big, replicas=n, strategy=plan) for i, plan in enumerate(plans)), nodes(300))


def cronjobs(n: int) -> Files:
    def one(i: int) -> Json:
        made = job(f"w{i}", affinity([term(f"w{i + 1}")]), parallelism=2**31 - 1)
        spec = {"schedule": "* * * * *", "jobTemplate": {"spec": made["spec"]}}
        return obj("CronJob", f"w{i}", "batch/v1", spec=spec)

    return Files(stream(map(one, range(n))), nodes(30), "cronjob/w0")
