"""Small clusters and pods, drawn: few names, so that selectors, domains and ports often meet."""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.engine.model.labels import Requirement, Selector
from kubesched_lint.engine.model.node import HOSTNAME, REGION, ZONE, Node, Taint
from kubesched_lint.engine.model.pod import (
    BoundPod,
    Container,
    HostPort,
    NodeSelectorTerm,
    Pod,
    PodAffinityTerm,
    SpreadConstraint,
    Toleration,
    Volume,
)
from kubesched_lint.engine.model.policy import DisruptionBudget, Namespace
from kubesched_lint.engine.model.storage import Claim, PersistentVolume, StorageClass
from tests import drawn as st

KEYS = (HOSTNAME, HOSTNAME, ZONE, ZONE, ZONE, "rack", REGION, "nope")
NAMESPACES = {"a": {"env": "prod"}, "b": {"env": "dev"}, "c": {}}

Features = frozenset[str]
ALL: Features = frozenset(["affinity", "spread", "ports", "resources", "volumes", "nodes"])
FOCUSES: tuple[Features, ...] = (
    # One at a time, lest what bars a node for good hides what a rarer plugin says.
    frozenset(["affinity"]),
    frozenset(["spread"]),
    frozenset(["affinity", "spread"]),
    frozenset(["resources", "ports"]),
    frozenset(["resources", "spread"]),
    frozenset(["volumes"]),
    ALL,
)

CROWDING: tuple[Features, ...] = (
    frozenset(["resources"]),
    frozenset(["resources", "affinity"]),
    frozenset(["resources", "spread"]),
    frozenset(["ports"]),
    frozenset(["spread"]),
    frozenset(["affinity"]),
    frozenset(["affinity", "spread"]),
    frozenset(["resources", "volumes"]),
)

label_values = st.sampled_from(["web", "db", "api"])
pod_labels = st.fixed_dictionaries({"app": label_values}, optional={"tier": st.sampled_from(["front", "back"])})


def sampled(*values: object) -> st.Drawn[Any]:
    return st.sampled_from(values)


def seldom(rare: int, often: object, seldom: object) -> st.Drawn[Any]:
    """``seldom`` in one draw of ``rare``: what bars nodes for good would else leave nothing to the other plugins."""
    return sampled(*[often] * (rare - 1), seldom)


def few(items: st.Drawn[object], rare: int = 3) -> st.Drawn[tuple[object, ...]]:
    """Mostly none, else one or two."""
    some = st.lists(items, min_size=1, max_size=2).map(tuple)
    return seldom(rare, st.just(()), some).flatmap(lambda chosen: chosen)


@st.composite
def requirements(draw: st.DrawFn, keys: tuple[str, ...], values: tuple[str, ...]) -> Requirement:
    operator = draw(sampled("In", "NotIn", "Exists", "DoesNotExist"))
    some = draw(st.lists(st.sampled_from(values), min_size=1, max_size=2, unique=True))
    return Requirement(draw(st.sampled_from(keys)), operator, tuple(some) if operator in ("In", "NotIn") else ())


apps = st.lists(label_values, min_size=1, max_size=2, unique=True).map(
    lambda values: Requirement("app", "In", tuple(values))
)
pod_selectors = st.one_of(
    apps.map(lambda app: Selector((app,))),
    apps.map(lambda app: Selector((app,))),
    st.lists(requirements(("app", "tier"), ("web", "db", "front", "back")), max_size=2).map(
        lambda found: Selector(tuple(found))
    ),
    st.sampled_from([Selector(), None]),
)
namespace_selectors = st.one_of(
    st.none(),
    st.none(),
    st.none(),
    st.lists(requirements(("env",), ("prod", "dev")), max_size=1).map(lambda found: Selector(tuple(found))),
)
affinity_terms = st.builds(
    PodAffinityTerm,
    topology_key=st.sampled_from(KEYS),
    selector=pod_selectors,
    namespaces=st.sampled_from([(), (), ("a",), ("b", "c")]),
    namespace_selector=namespace_selectors,
)
constraints = st.builds(
    SpreadConstraint,
    max_skew=st.sampled_from([1, 1, 2]),
    topology_key=st.sampled_from([ZONE, ZONE, HOSTNAME, HOSTNAME, "rack", "nope"]),
    when_unsatisfiable=seldom(5, "DoNotSchedule", "ScheduleAnyway"),
    selector=pod_selectors,
    min_domains=st.sampled_from([None, None, 2, 4]),
    node_affinity_policy=seldom(3, "", "Ignore"),
    node_taints_policy=seldom(3, "", "Honor"),
    match_label_keys=seldom(5, (), ("tier",)),
)
node_requirements = st.one_of(
    requirements((ZONE, "rack", "disk"), ("z1", "z2", "r1", "ssd")),
    st.builds(
        Requirement, st.just("gpus"), st.sampled_from(["Gt", "Lt"]), st.sampled_from([("1",), ("x",), ("1", "2")])
    ),
)
name_fields = st.builds(
    Requirement,
    st.just("metadata.name"),
    st.sampled_from(["In", "In", "NotIn"]),
    st.sampled_from([("n0",), ("n1",), ("n9",)]),
)
node_terms = st.builds(
    NodeSelectorTerm,
    expressions=st.lists(node_requirements, max_size=2).map(tuple),
    fields=few(name_fields),
)
tolerations = st.builds(
    Toleration,
    key=st.sampled_from(["dedicated", "spot", "node.kubernetes.io/unschedulable"]),
    operator=st.sampled_from(["Equal", "Exists", "Gt"]),
    value=st.sampled_from(["", "gpu"]),
    effect=st.sampled_from(["", "NoSchedule", "NoExecute"]),
)
lists_of_node_terms = st.lists(node_terms, max_size=2).map(tuple)
lists_of_tolerations = st.lists(tolerations, max_size=2)
taints = st.builds(
    Taint,
    key=st.sampled_from(["dedicated", "spot"]),
    value=st.sampled_from(["", "gpu"]),
    effect=st.sampled_from(["NoSchedule", "NoExecute", "PreferNoSchedule"]),
)
ports = st.builds(
    HostPort,
    port=st.sampled_from([80, 81]),
    protocol=st.sampled_from(["TCP", "UDP"]),
    host_ip=st.sampled_from(["0.0.0.0", "10.0.0.1", "10.0.0.2"]),
)
amounts = st.fixed_dictionaries(
    {},
    optional={
        "cpu": st.sampled_from([500, 1000, 0, 3000]),
        "memory": st.sampled_from([1, 2]),
        "example.com/gpu": seldom(3, 0, 1),
    },
)


@st.composite
def pods(draw: st.DrawFn, features: Features = ALL, rich: bool = True) -> Pod:
    """Bound pods are poor: their own spread and node affinity no longer matter."""
    rare = 3 if features == ALL else 2

    def some(feature: str, items: st.Drawn[object]) -> tuple[object, ...]:
        return draw(few(items, rare)) if feature in features else ()

    requests = draw(amounts) if "resources" in features else {}
    volumes = ()
    if "volumes" in features and (rich or draw(seldom(4, False, True))):
        volumes = draw(sampled((), ("d0",), ("d1", "d2"), ("d3",)))
    pod = Pod(
        namespace=draw(sampled("a", "a", "a", "b", "c")),
        labels=draw(pod_labels),
        containers=(Container("c", requests=requests),),
        requests=requests,
        required_anti_affinity=some("affinity", affinity_terms),
        host_ports=some("ports", ports),
        volumes=tuple(Volume(name, "persistentVolumeClaim", name) for name in volumes),
        priority=draw(sampled(None, 0, 0, 100)),
    )
    if not rich:
        return pod
    nodes_matter = "nodes" in features
    return replace(
        pod,
        priority=draw(sampled(1000, 100, 0)),
        preemption_policy=draw(seldom(12, "", "Never")),
        required_affinity=some("affinity", affinity_terms),
        spread=some("spread", constraints),
        node_selector={"disk": "ssd"} if nodes_matter and draw(seldom(12, False, True)) else {},
        required_node_terms=draw(lists_of_node_terms) if nodes_matter and draw(seldom(6, False, True)) else None,
        tolerations=tuple(draw(lists_of_tolerations)),
        node_name=draw(seldom(25, "", "n0")) if nodes_matter else "",
    )


@st.composite
def nodes(draw: st.DrawFn, number: int, features: Features) -> Node:
    wanted = {
        HOSTNAME: f"n{number}",
        ZONE: draw(sampled("z1", "z2", "z3")),
        REGION: "r",
        "rack": draw(sampled("r1", "r2")),
        "disk": "ssd",
        "gpus": draw(sampled("0", "2", "x")),
    }
    labels = {key: value for key, value in wanted.items() if draw(seldom(8, True, False))}
    allocatable = {
        "cpu": draw(sampled(2000, 3000, 1000)),
        "memory": draw(sampled(16, 8, 4)),
        "pods": draw(sampled(110, 5, 3)),
        "example.com/gpu": draw(sampled(1, 2, 0)),
    }
    return Node(
        f"n{number}",
        labels,
        taints=draw(few(taints, 12 if "nodes" in features else 25)),
        unschedulable=draw(seldom(20, False, True)) if "nodes" in features else False,
        allocatable=allocatable if "resources" in features and draw(seldom(8, True, False)) else None,
    )


class Made(Struct, frozen=True):
    nodes: tuple[Node, ...]
    pods: tuple[BoundPod, ...]
    claims: tuple[Claim, ...]
    volumes: tuple[PersistentVolume, ...]
    classes: tuple[StorageClass, ...]
    budgets: tuple[DisruptionBudget, ...]
    pod: Pod

    namespaces = tuple(Namespace(name, labels) for name, labels in NAMESPACES.items())


@st.composite
def clusters(draw: st.DrawFn, focuses: tuple[Features, ...] = FOCUSES, most_nodes: int = 6) -> Made:
    """What pods and nodes may have is one of ``focuses``; the fewer nodes, the more crowded."""
    features = draw(sampled(*focuses))
    count = draw(st.integers(1, most_nodes))
    made_nodes = tuple(draw(nodes(i, features)) for i in range(count))
    bound = tuple(
        BoundPod(
            f"b{i}",
            f"n{draw(st.integers(0, count - 1))}",
            draw(pods(features, rich=False)),
            terminating=draw(seldom(5, False, True)),
            start_time=f"2026-01-01T00:00:0{draw(st.integers(0, 3))}Z",
        )
        for i in range(draw(st.integers(2, 12)))
    )
    incoming = draw(pods(features))
    held = draw(storage(incoming.namespace)) if "volumes" in features else ((), (), ())
    return Made(made_nodes, bound, *held, draw(budgets()), incoming)


@st.composite
def crowded(draw: st.DrawFn) -> Made:
    """One to three nodes, and a pod that matters more than most of what stands there."""
    made = draw(clusters(CROWDING, most_nodes=3))
    requests = {"cpu": draw(sampled(500, 1000))} if made.nodes[0].allocatable else {}
    pod = replace(made.pod, priority=draw(sampled(1000, 1000, 100)), requests=requests or made.pod.requests)
    return replace(made, pod=pod)


@st.composite
def storage(
    draw: st.DrawFn, namespace: str
) -> tuple[tuple[Claim, ...], tuple[PersistentVolume, ...], tuple[StorageClass, ...]]:
    """Claims d0 to d3, of which one may be missing, bound, waiting for a free volume or to be provisioned."""
    classes = (
        StorageClass("wait", "csi.example.com", "WaitForFirstConsumer", draw(topologies)),
        StorageClass("local", "kubernetes.io/no-provisioner", "WaitForFirstConsumer"),
        StorageClass("now", "csi.example.com", "Immediate"),
    )
    claims, volumes = [], []
    for i in range(4):
        fate = draw(sampled("local", "local", "local", "wait", "wait", "bound", "bound", "bound", "now", "missing"))
        mode = draw(sampled("ReadWriteOnce", "ReadWriteOnce", "ReadWriteOncePod"))
        if fate == "missing":
            continue
        name, size = f"d{i}", draw(st.integers(1, 3))
        if fate == "bound":
            zone = draw(sampled("", "", "z1", "z1__z2"))
            volumes.append(
                PersistentVolume(
                    f"pv-{name}",
                    "wait",
                    5,
                    (mode,),
                    labels={ZONE: zone} if zone else {},
                    node_terms=draw(volume_terms),
                    claim_ref=(namespace, name, ""),
                )
            )
        claims.append(
            Claim(
                namespace,
                name,
                "wait" if fate == "bound" else fate,
                f"pv-{name}" if fate == "bound" else "",
                size,
                (mode,),
            )
        )
    for i in range(draw(st.integers(0, 3))):
        reserved = draw(sampled(None, None, (namespace, "d1", "")))
        volumes.append(
            # Sizes differ: of two alike upstream takes any.
            PersistentVolume(
                f"free-{i}", "local", i + 1, ("ReadWriteOnce",), node_terms=draw(volume_terms), claim_ref=reserved
            )
        )
    return tuple(claims), tuple(volumes), classes


volume_terms = st.one_of(
    st.none(), st.builds(NodeSelectorTerm, st.lists(node_requirements, max_size=1).map(tuple)).map(lambda t: (t,))
)
topologies = st.sampled_from([(), ({ZONE: ("z1",)},), ({ZONE: ("z2",), "rack": ("r1", "r2")}, {"disk": ("ssd",)})])


@st.composite
def budgets(draw: st.DrawFn) -> tuple[DisruptionBudget, ...]:
    return tuple(
        DisruptionBudget(
            draw(sampled("a", "a", "b")),
            f"budget-{i}",
            draw(pod_selectors),
            disruptions_allowed=draw(sampled(0, 1, 2)),
        )
        for i in range(draw(st.integers(0, 2)))
    )
