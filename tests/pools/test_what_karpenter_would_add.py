"""Cases told by Karpenter's scheduling tests and documentation: pods and pools in, pools, zones and node counts out.

The facts are those of ``pkg/controllers/provisioning`` of kubernetes-sigs/karpenter (suite_test.go, and
scheduling/{topology,suite,instance_selection}_test.go); manifests and sizes are our own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from kubesched_lint.engine.placing.growth.plan import GROWN, LIMITED, NEVER, TODAY, Plan
from kubesched_lint.findings import Finding

Planner = Callable[[str, str], Plan]
Writer = Callable[..., str]

ZONES = ("eu-west-1a", "eu-west-1b", "eu-west-1c")
ZONE = "topology.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"


def sketch(pools: str, nodes: str = "[]", objects: str = "[]") -> str:
    """A sketch in one line each; shapes hold one, two or four pods of one cpu."""
    return (
        f"apiVersion: kubesched-lint/v1\nkind: ClusterSketch\nnodes: {nodes}\npools: {pools}\nobjects: {objects}\n"
        f"kinds: [Pod, PersistentVolumeClaim, PersistentVolume, StorageClass]\n"
    )


ONE = "{name: one, allocatable: {cpu: 1500m, memory: 4Gi}}"
TWO = "{name: two, allocatable: {cpu: 2500m, memory: 8Gi}}"
FIVE = "{name: five, allocatable: {cpu: 5500m, memory: 16Gi}}"


def pool(name: str = "general", shapes: str = ONE, zones: tuple[str, ...] = ZONES, more: str = "") -> str:
    extra = f", {more}" if more else ""
    return f"{{name: {name}, autoscaler: karpenter, zones: [{', '.join(zones)}], shapes: [{shapes}]{extra}}}"


def spread(key: str, skew: int = 1, more: str = "") -> str:
    return (
        f"topologySpreadConstraints:\n- {{maxSkew: {skew}, topologyKey: {key}, whenUnsatisfiable: DoNotSchedule, "
        f"labelSelector: {{matchLabels: {{app: web}}}}{more}}}"
    )


def affinity(kind: str, key: str, app: str = "web") -> str:
    return (
        f"affinity:\n  {kind}:\n    requiredDuringSchedulingIgnoredDuringExecution:\n"
        f"    - {{labelSelector: {{matchLabels: {{app: {app}}}}}, topologyKey: {key}}}"
    )


def by_zone(plan: Plan) -> dict[str, int]:
    """Zone → new nodes."""
    counts: Counter[str] = Counter()
    for added in plan.added:
        counts[added.zone] += added.count
    return dict(counts)


def by_label(plan: Plan, key: str) -> dict[str, int]:
    return dict(Counter(node.labels[key] for node in plan.nodes))


def shapes(plan: Plan) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for added in plan.added:
        counts[added.shape] += added.count
    return dict(counts)


def outcome(plan: Plan) -> tuple[str, int]:
    """Verdict and pods left, of the only workload."""
    (verdict,) = plan.verdicts
    return verdict.kind, verdict.left


# --- topology spread ------------------------------------------------------------------------------------------------


def test_four_pods_are_balanced_over_three_zones(plan_of: Planner, deployment: Writer) -> None:
    plan = plan_of(deployment(replicas=4, pod=spread(ZONE)), sketch(f"[{pool()}]"))
    assert sorted(by_zone(plan).values()) == [1, 1, 2]
    assert outcome(plan) == (GROWN, 0)


def test_only_the_zones_of_the_pool_are_balanced(plan_of: Planner, deployment: Writer) -> None:
    plan = plan_of(deployment(replicas=4, pod=spread(ZONE)), sketch(f"[{pool(zones=ZONES[:2])}]"))
    assert by_zone(plan) == {"eu-west-1a": 2, "eu-west-1b": 2}


def test_zones_of_several_pools_are_balanced_together(plan_of: Planner, deployment: Writer) -> None:
    pools = f"[{pool('left', zones=ZONES[:1])}, {pool('right', zones=ZONES[1:])}]"
    plan = plan_of(deployment(replicas=6, pod=spread(ZONE)), sketch(pools))
    assert by_zone(plan) == dict.fromkeys(ZONES, 2)
    assert {(a.pool, a.zone) for a in plan.added} == {("left", ZONES[0]), ("right", ZONES[1]), ("right", ZONES[2])}


def test_min_domains_beyond_the_zones_of_the_pool_leaves_one_each(plan_of: Planner, deployment: Writer) -> None:
    manifests = deployment(replicas=3, pod=spread(ZONE, more=", minDomains: 3"))
    plan = plan_of(manifests, sketch(f"[{pool(zones=ZONES[:2])}]"))
    assert by_zone(plan) == {"eu-west-1a": 1, "eu-west-1b": 1}
    assert outcome(plan) == (NEVER, 1)


@pytest.mark.parametrize("least", [2, 3])
def test_min_domains_that_can_be_met_change_nothing(plan_of: Planner, deployment: Writer, least: int) -> None:
    manifests = deployment(replicas=11, pod=spread(ZONE, more=f", minDomains: {least}"))
    assert sorted(by_zone(plan_of(manifests, sketch(f"[{pool()}]"))).values()) == [3, 4, 4]


def test_spread_by_hostname_makes_a_node_for_each_pod(plan_of: Planner, deployment: Writer) -> None:
    plan = plan_of(deployment(replicas=4, pod=spread(HOSTNAME)), sketch(f"[{pool(shapes=FIVE)}]"))
    assert len(plan.nodes) == 4


def test_spread_by_hostname_fills_a_node_up_to_its_skew(plan_of: Planner, deployment: Writer) -> None:
    plan = plan_of(deployment(replicas=4, pod=spread(HOSTNAME, skew=4)), sketch(f"[{pool(shapes=FIVE)}]"))
    assert shapes(plan) == {"five": 1}


def test_capacity_types_are_balanced_where_the_pool_leaves_them_open(plan_of: Planner, deployment: Writer) -> None:
    key = "karpenter.sh/capacity-type"
    plan = plan_of(deployment(replicas=4, pod=spread(key)), sketch(f"[{pool()}]"))
    assert by_label(plan, key) == {"on-demand": 2, "spot": 2}


def test_values_shared_out_among_pools_set_the_ratio_of_spot(plan_of: Planner, deployment: Writer) -> None:
    def one(name: str, capacity: str, values: str) -> str:
        wanted = (
            f"requirements: [{{key: karpenter.sh/capacity-type, operator: In, values: [{capacity}]}}, "
            f"{{key: capacity-spread, operator: In, values: [{values}]}}]"
        )
        return pool(name, more=wanted)

    four, first = "'2', '3', '4', '5'", "'1'"
    pools = f"[{one('spot', 'spot', four)}, {one('on-demand', 'on-demand', first)}]"
    plan = plan_of(deployment(replicas=20, pod=spread("capacity-spread")), sketch(pools))
    assert by_label(plan, "capacity-spread") == {str(n): 4 for n in range(1, 6)}
    assert by_label(plan, "karpenter.sh/capacity-type") == {"spot": 16, "on-demand": 4}


def test_a_skew_beside_a_domain_that_no_pool_serves_stops_growth(plan_of: Planner, deployment: Writer) -> None:
    """One pod runs on spot; the pool makes on-demand only, so that it may have two and the rest waits."""
    running = (
        "[{apiVersion: v1, kind: Pod, metadata: {name: old, namespace: shop, labels: {app: web}}, "
        "spec: {nodeName: old, containers: [{name: main, image: x}]}}]"
    )
    key = "karpenter.sh/capacity-type"
    nodes = f"[{{name: old, zones: [eu-west-1a], labels: {{{key}: spot}}, allocatable: {{cpu: 500m, memory: 1Gi}}}}]"
    only = f"requirements: [{{key: {key}, operator: In, values: [on-demand]}}]"
    manifests = deployment(replicas=5, pod=spread(key))
    plan = plan_of(manifests, sketch(f"[{pool(more=only)}]", nodes, running))
    assert by_label(plan, key) == {"on-demand": 2}
    assert outcome(plan) == (NEVER, 3)


# --- affinity to pods -----------------------------------------------------------------------------------------------


def test_pods_that_want_their_own_host_stay_pending_beyond_one_node(plan_of: Planner, deployment: Writer) -> None:
    plan = plan_of(deployment(replicas=10, pod=affinity("podAffinity", HOSTNAME)), sketch(f"[{pool(shapes=FIVE)}]"))
    assert len(plan.nodes) == 1
    assert outcome(plan) == (NEVER, 5)
    assert plan.verdicts[0].message == "0/1 nodes are available: 1 Insufficient cpu."


def test_pods_that_want_their_own_zone_all_get_nodes_there(plan_of: Planner, deployment: Writer) -> None:
    plan = plan_of(deployment(replicas=8, pod=affinity("podAffinity", ZONE)), sketch(f"[{pool(shapes=TWO)}]"))
    assert list(by_zone(plan).values()) == [4]
    assert outcome(plan) == (GROWN, 0)


def test_self_affinity_follows_the_node_affinity_beside_it(plan_of: Planner, deployment: Writer) -> None:
    pod = f"nodeSelector: {{{ZONE}: eu-west-1c}}\n" + affinity("podAffinity", ZONE)
    assert by_zone(plan_of(deployment(replicas=3, pod=pod), sketch(f"[{pool(shapes=FIVE)}]"))) == {"eu-west-1c": 1}


def test_anti_affinity_by_hostname_makes_a_node_each(plan_of: Planner, deployment: Writer) -> None:
    plan = plan_of(deployment(replicas=2, pod=affinity("podAntiAffinity", HOSTNAME)), sketch(f"[{pool(shapes=FIVE)}]"))
    assert shapes(plan) == {"five": 2}


def test_anti_affinity_by_zone_ends_with_the_zones(plan_of: Planner, deployment: Writer) -> None:
    plan = plan_of(deployment(replicas=4, pod=affinity("podAntiAffinity", ZONE)), sketch(f"[{pool()}]"))
    assert by_zone(plan) == dict.fromkeys(ZONES, 1)
    assert outcome(plan) == (NEVER, 1)


def test_a_pod_comes_to_the_zone_of_the_pod_it_wants_though_both_are_new(plan_of: Planner, deployment: Writer) -> None:
    target = deployment("cache", pod=f"nodeSelector: {{{ZONE}: eu-west-1b}}")
    plan = plan_of(target + "\n" + deployment(pod=affinity("podAffinity", ZONE, "cache")), sketch(f"[{pool()}]"))
    assert by_zone(plan) == {"eu-west-1b": 2}


# --- machines -------------------------------------------------------------------------------------------------------


def test_a_small_pod_gets_the_smallest_machine_and_several_share_one(plan_of: Planner, deployment: Writer) -> None:
    pools = sketch(f"[{pool(shapes=f'{FIVE}, {ONE}, {TWO}')}]")
    assert shapes(plan_of(deployment(replicas=1), pools)) == {"one": 1}
    assert shapes(plan_of(deployment(replicas=2), pools)) == {"two": 1}
    assert shapes(plan_of(deployment(replicas=4), pools)) == {"five": 1}


def test_architectures_get_machines_of_their_own(plan_of: Planner, deployment: Writer) -> None:
    manifests = "\n".join(
        deployment(arch, pod=f"nodeSelector: {{kubernetes.io/arch: {arch}}}") for arch in ("amd64", "arm64")
    )
    assert shapes(plan_of(manifests, sketch(f"[{pool(shapes='m6i.large, m7g.large')}]"))) == {
        "m6i.large": 1,
        "m7g.large": 1,
    }


def test_a_pod_larger_than_every_machine_is_never_helped(plan_of: Planner, deployment: Writer) -> None:
    plan = plan_of(deployment(cpu="6"), sketch(f"[{pool(shapes=f'{ONE}, {FIVE}')}]"))
    assert not plan.nodes
    assert outcome(plan) == (NEVER, 1)


def test_one_host_port_takes_a_node_each(plan_of: Planner) -> None:
    manifests = """
        apiVersion: apps/v1
        kind: Deployment
        metadata: {name: web, namespace: shop}
        spec:
          replicas: 2
          selector: {matchLabels: {app: web}}
          template:
            metadata: {labels: {app: web}}
            spec:
              containers: [{name: main, image: x, ports: [{containerPort: 80, hostPort: 80}]}]
        """
    assert shapes(plan_of(manifests, sketch(f"[{pool(shapes=FIVE)}]"))) == {"five": 2}


def test_nodes_of_others_are_filled_before_any_is_made(plan_of: Planner, deployment: Writer) -> None:
    nodes = "[{name: own, zones: [eu-west-1a], allocatable: {cpu: 2500m, memory: 8Gi}}]"
    cluster = sketch(f"[{pool()}]", nodes)
    plan = plan_of(deployment(replicas=2), cluster)
    assert outcome(plan) == (TODAY, 0)
    assert not plan.nodes
    (verdict,) = plan_of(deployment(replicas=3), cluster).verdicts
    assert (verdict.today, verdict.grown) == (2, 1)


# --- DaemonSets -----------------------------------------------------------------------------------------------------

DAEMON = """
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, namespace: ops}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec:
      %s
      containers: [{name: main, image: x, resources: {requests: {cpu: %s}}}]
"""


def test_daemonsets_are_reserved_on_every_new_node(plan_of: Planner, deployment: Writer) -> None:
    pools = sketch(f"[{pool(shapes=f'{ONE}, {TWO}')}]")
    assert shapes(plan_of(deployment() + DAEMON % ("nodeSelector: {}", "1"), pools)) == {"two": 1}
    assert outcome(plan_of(deployment() + DAEMON % ("nodeSelector: {}", "2"), pools)) == (NEVER, 1)


def test_a_daemonset_that_does_not_go_there_takes_nothing(plan_of: Planner, deployment: Writer) -> None:
    manifests = deployment(pod="tolerations: [{key: own, operator: Exists}]") + DAEMON % ("nodeSelector: {}", "1")
    plan = plan_of(manifests, sketch(f"[{pool(shapes=ONE, more='taints: [own=yes:NoSchedule]')}]"))
    assert shapes(plan) == {"one": 1}
    elsewhere = deployment() + DAEMON % ("nodeSelector: {team: other}", "1")
    assert shapes(plan_of(elsewhere, sketch(f"[{pool(shapes=ONE)}]"))) == {"one": 1}


def test_a_daemonset_of_the_snapshot_is_known_by_its_pods(plan_of: Planner, deployment: Writer) -> None:
    running = (
        "[{apiVersion: v1, kind: Pod, metadata: {name: agent-x, namespace: ops, ownerReferences: "
        "[{apiVersion: apps/v1, kind: DaemonSet, name: agent, uid: u, controller: true}]}, "
        "spec: {nodeName: own, containers: [{name: main, image: x, resources: {requests: {cpu: 800m}}}]}}]"
    )
    nodes = "[{name: own, zones: [eu-west-1a], allocatable: {cpu: 900m, memory: 8Gi}}]"
    plan = plan_of(deployment(), sketch(f"[{pool(shapes=f'{ONE}, {TWO}')}]", nodes, running))
    assert shapes(plan) == {"two": 1}


# --- pools ----------------------------------------------------------------------------------------------------------


def test_limits_stop_growth_before_or_in_its_midst(plan_of: Planner, deployment: Writer) -> None:
    limited = "limits: {cpu: %s}"
    assert outcome(plan_of(deployment(replicas=2), sketch(f"[{pool(more=limited % '1')}]"))) == (LIMITED, 2)
    plan = plan_of(deployment(replicas=2), sketch(f"[{pool(more=limited % '2')}]"))
    assert (len(plan.nodes), *outcome(plan)) == (1, LIMITED, 1)
    assert str(plan.verdicts[0]) == "pool limit reached (general)"
    assert outcome(plan_of(deployment(replicas=2), sketch(f"[{pool(more=limited % '3')}]"))) == (GROWN, 0)


def test_nodes_that_a_pool_has_count_against_its_limit(plan_of: Planner, deployment: Writer) -> None:
    nodes = "[{name: old, zones: [eu-west-1a], labels: {pool: general}, allocatable: {cpu: 500m, memory: 4Gi}}]"
    limited = pool(more="labels: {pool: general}, limits: {nodes: 2}")
    plan = plan_of(deployment(replicas=2), sketch(f"[{limited}]", nodes))
    assert (len(plan.nodes), *outcome(plan)) == (1, LIMITED, 1)


def test_the_weightiest_pool_is_used_unless_the_pod_chooses(plan_of: Planner, deployment: Writer) -> None:
    light, heavy = (pool(n, more=f"weight: {w}, labels: {{team: {n}}}") for n, w in (("light", 1), ("heavy", 50)))
    pools = sketch(f"[{light}, {heavy}]")
    assert {a.pool for a in plan_of(deployment(replicas=3), pools).added} == {"heavy"}
    chosen = deployment(replicas=3, pod="nodeSelector: {team: light}")
    assert {a.pool for a in plan_of(chosen, pools).added} == {"light"}


@pytest.mark.parametrize(
    ("expression", "served"),
    [
        ("{key: team, operator: In, values: [a]}", True),
        ("{key: team, operator: NotIn, values: [a]}", True),
        ("{key: team, operator: In, values: [forbidden]}", False),
        ("{key: team, operator: DoesNotExist}", False),
        ("{key: unheard-of, operator: In, values: [a]}", False),
        ("{key: unheard-of, operator: Exists}", False),
        ("{key: unheard-of, operator: NotIn, values: [a]}", True),
        ("{key: unheard-of, operator: DoesNotExist}", True),
        ("{key: generation, operator: Gt, values: ['4']}", True),
        ("{key: generation, operator: Gt, values: ['8']}", False),
        ("{key: generation, operator: Lt, values: ['4']}", False),
    ],
)
def test_what_a_pool_leaves_open_a_pod_may_choose(
    plan_of: Planner, deployment: Writer, expression: str, served: bool
) -> None:
    wanted = (
        "requirements: [{key: team, operator: Exists}, {key: team, operator: NotIn, values: [forbidden]}, "
        "{key: generation, operator: Gt, values: ['3']}, {key: generation, operator: Lt, values: ['9']}]"
    )
    pod = (
        "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
        f"{{nodeSelectorTerms: [{{matchExpressions: [{expression}]}}]}}}}}}"
    )
    plan = plan_of(deployment(pod=pod), sketch(f"[{pool(more=wanted)}]"))
    assert outcome(plan) == ((GROWN, 0) if served else (NEVER, 1))


def test_teams_that_choose_values_of_their_own_share_no_node(plan_of: Planner, deployment: Writer) -> None:
    wanted = "requirements: [{key: example.com/team, operator: Exists}]"
    manifests = "\n".join(
        deployment(f"{team}-web", pod=f"nodeSelector: {{example.com/team: {team}}}") for team in ("a", "b")
    )
    plan = plan_of(manifests, sketch(f"[{pool(shapes=FIVE, more=wanted)}]"))
    assert by_label(plan, "example.com/team") == {"a": 1, "b": 1}


def test_a_pool_with_a_taint_serves_only_who_tolerates_it(plan_of: Planner, deployment: Writer) -> None:
    cluster = sketch(f"[{pool(more='taints: [gpu=yes:NoSchedule]')}]")
    assert outcome(plan_of(deployment(), cluster)) == (NEVER, 1)
    assert outcome(plan_of(deployment(pod="tolerations: [{key: gpu, operator: Exists}]"), cluster)) == (GROWN, 0)


def test_a_node_comes_where_the_bound_volume_is(plan_of: Planner) -> None:
    objects = (
        "[{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, namespace: shop}, spec: "
        "{volumeName: vol, storageClassName: gp3, accessModes: [ReadWriteOnce], "
        "resources: {requests: {storage: 1Gi}}}, status: {phase: Bound}}, "
        "{apiVersion: v1, kind: PersistentVolume, metadata: {name: vol}, spec: {capacity: {storage: 1Gi}, accessModes: "
        "[ReadWriteOnce], storageClassName: gp3, claimRef: {namespace: shop, name: data}, csi: {driver: "
        "ebs.csi.aws.com, volumeHandle: vol}, nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: "
        f"{ZONE}, operator: In, values: [eu-west-1b]}}]}}]}}}}}}}}]"
    )
    manifests = """
        apiVersion: v1
        kind: Pod
        metadata: {name: db, namespace: shop}
        spec:
          volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
          containers: [{name: main, image: x}]
        """
    annotated = objects.replace(
        "{name: data, namespace: shop}",
        "{name: data, namespace: shop, annotations: {pv.kubernetes.io/bind-completed: 'yes'}}",
        1,
    )
    assert by_zone(plan_of(manifests, sketch(f"[{pool()}]", objects=annotated))) == {"eu-west-1b": 1}


# --- preferences (scheduling/preferences.go) --------------------------------------------------------------------------

SOFT_ZONES = spread(ZONE).replace("DoNotSchedule", "ScheduleAnyway")
SOFT_HOSTS = (
    "affinity:\n  podAntiAffinity:\n    preferredDuringSchedulingIgnoredDuringExecution:\n    - {weight: 1, "
    "podAffinityTerm: {labelSelector: {matchLabels: {app: web}}, topologyKey: kubernetes.io/hostname}}"
)


def test_a_soft_spread_over_zones_is_kept_while_it_can_be(plan_of: Planner, deployment: Writer) -> None:
    plan = plan_of(deployment(replicas=3, pod=SOFT_ZONES), sketch(f"[{pool(shapes=FIVE)}]"))
    assert by_zone(plan) == dict.fromkeys(ZONES, 1)


def test_a_preference_that_cannot_be_kept_is_dropped(plan_of: Planner, deployment: Writer) -> None:
    limited = pool(shapes=FIVE, more='limits: {cpu: "6"}')
    plan = plan_of(deployment(replicas=3, pod=SOFT_ZONES), sketch(f"[{limited}]"))
    assert (outcome(plan), len(plan.nodes)) == ((GROWN, 0), 1)


def test_preferred_anti_affinity_makes_a_node_for_each_replica(plan_of: Planner, deployment: Writer) -> None:
    assert len(plan_of(deployment(replicas=3, pod=SOFT_HOSTS), sketch(f"[{pool(shapes=FIVE)}]")).nodes) == 3


def test_the_heaviest_node_preference_that_can_be_kept_chooses_the_zone(plan_of: Planner, deployment: Writer) -> None:
    wish = "- {{weight: {}, preference: {{matchExpressions: [{{key: {}, operator: In, values: [{}]}}]}}}}"
    wishes = "\n    ".join((wish.format(1, ZONE, ZONES[2]), wish.format(9, ZONE, "us-east-1a")))
    pod = f"affinity:\n  nodeAffinity:\n    preferredDuringSchedulingIgnoredDuringExecution:\n    {wishes}"
    assert by_zone(plan_of(deployment(pod=pod), sketch(f"[{pool()}]"))) == {ZONES[2]: 1}


def test_cluster_autoscaler_keeps_no_preference(plan_of: Planner, deployment: Writer) -> None:
    groups = ", ".join(
        pool(zone, FIVE, (zone,)).replace("autoscaler: karpenter", "autoscaler: cluster-autoscaler") for zone in ZONES
    )
    assert len(plan_of(deployment(replicas=3, pod=SOFT_ZONES), sketch(f"[{groups}]")).nodes) == 1


# --- many pools -------------------------------------------------------------------------------------------------------

NODE_POOL = """\
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {{name: p{0}}}
spec:
  template:
    metadata: {{labels: {{intent: p{0}}}}}
    spec:
      nodeClassRef: {{group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}}
      requirements: [{{key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]}}]
"""
THREE_ZONES = f"[{{name: w, zones: [{', '.join(ZONES)}]}}]"


def test_the_last_of_many_pools_counts(plan_of: Planner, deployment: Writer) -> None:
    """Together they have more kinds of nodes than a plan looks at."""
    manifests = deployment(pod="nodeSelector: {intent: p11}") + "\n" + "".join(map(NODE_POOL.format, range(12)))
    plan = plan_of(manifests, sketch("[]", nodes=THREE_ZONES))
    assert (outcome(plan), plan.added[0].pool) == ((GROWN, 0), "p11")


def test_what_is_cut_short_is_not_examined(
    findings_of: Callable[..., dict[str, Finding]], deployment: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifests = deployment(replicas=9, pod="nodeSelector: {intent: nobody}")
    cluster = sketch(f"[{pool()}]", nodes=THREE_ZONES)
    assert "pool-cannot-provide-label" in findings_of(manifests, cluster)
    monkeypatch.setattr("kubesched_lint.engine.scenario.pools.potential.MOST_KINDS", 2)
    assert not findings_of(manifests, cluster).keys() & {"pool-cannot-provide-label", "nodeselector-matches-nothing"}


def test_a_maximum_that_no_pool_helps_is_told_beside_a_pool_of_the_set(
    findings_of: Callable[..., dict[str, Finding]], deployment: Writer
) -> None:
    """The nodes of today are elastic; their pool, which is in the set, makes others than those asked for."""
    scaler = (
        "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: web, namespace: shop}\nspec: "
        "{scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, minReplicas: 2, maxReplicas: 20}\n"
    )
    manifests = f"{deployment(replicas=2, pod='nodeSelector: {disk: ssd}')}\n---\n{scaler}{NODE_POOL.format(0)}"
    nodes = "[{name: w, count: 3, zones: [a], labels: {disk: ssd, karpenter.sh/nodepool: p0}, allocatable: {cpu: 2}}]"
    cluster = f"apiVersion: kubesched-lint/v1\nkind: ClusterSketch\nnodes: {nodes}\n"
    assert "scale-to-hpa-max-pending" in findings_of(manifests, cluster)
