"""Scores by sets of nodes equal scores node by node and pod by pod, on clusters that hypothesis makes.

The plain scorer below follows ``pkg/scheduler/framework/plugins/*/`` (v1.36) loop by loop, and knows no sets of nodes.
"""

from __future__ import annotations

from math import floor, log

from hypothesis import settings
from msgspec.structs import replace

from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.cluster.nodeset import positions
from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.labels import Requirement, Selector
from kubesched_lint.engine.model.node import HOSTNAME, ZONE, Node, Taint
from kubesched_lint.engine.model.pod import (
    BoundPod,
    Container,
    NodeSelectorTerm,
    Pod,
    PodAffinityTerm,
    PreferredNodeTerm,
    SpreadConstraint,
    Toleration,
    WeightedPodAffinityTerm,
)
from kubesched_lint.engine.model.policy import Namespace, Service
from kubesched_lint.engine.model.resources import effective_requests, nonzero_requests
from kubesched_lint.engine.scheduler.scoring import Scoring, score
from tests import drawn as st
from tests.drawn import given
from tests.share import examples

# --- the plain scorer -----------------------------------------------------------------------------------------------


class Naive:
    """``pods`` are (pod, node number, terminating)."""

    def __init__(self, nodes, pods, namespaces, services):
        self.nodes, self.pods, self.services = nodes, pods, services
        self.namespaces = {n.name: n.labels for n in namespaces}

    def on(self, number):
        return [(pod, gone) for pod, at, gone in self.pods if at == number]

    def totals(self, pod, feasible, owner):
        plugins = {
            "TaintToleration": [3 * s for s in self.taints(pod, feasible)],
            "NodeAffinity": [2 * s for s in self.node_affinity(pod, feasible)],
            "NodeResourcesFit": [self.fit(pod, n) for n in feasible],
            "PodTopologySpread": [2 * s for s in self.spread(pod, feasible, owner)],
            "InterPodAffinity": [2 * s for s in self.inter_pod(pod, feasible)],
            "NodeResourcesBalancedAllocation": [self.balanced(pod, n) for n in feasible],
            "ImageLocality": [self.images(pod, n) for n in feasible],
        }
        return {
            name: {self.nodes[n].name: s for n, s in zip(feasible, values, strict=True)}
            for name, values in plugins.items()
        }

    def taints(self, pod, feasible):
        raw = []
        for n in feasible:
            count = 0
            for taint in self.nodes[n].taints:
                if taint.effect != "PreferNoSchedule":
                    continue
                for t in pod.tolerations:
                    if t.effect not in ("", taint.effect) or t.key not in ("", taint.key):
                        continue
                    if t.operator == "Exists" or t.value == taint.value:
                        break
                else:
                    count += 1
            raw.append(count)
        most = max(raw)
        return [100 - 100 * s // most if most else 100 for s in raw]

    def node_affinity(self, pod, feasible):
        raw = []
        for n in feasible:
            labels = self.nodes[n].labels
            raw.append(
                sum(
                    p.weight
                    for p in pod.preferred_node_terms
                    if p.term.expressions and all(r.matches(labels) for r in p.term.expressions)
                )
            )
        most = max(raw)
        return [100 * s // most if most else s for s in raw]

    def fit(self, pod, n):
        allocatable = self.nodes[n].allocatable
        filled = {"cpu": 100, "memory": 200 << 20}
        asked = effective_requests(tuple(replace(c, requests={**filled, **c.requests}) for c in pod.containers), ())
        total = weights = 0
        for i, resource in enumerate(("cpu", "memory")):
            capacity = allocatable.get(resource, 0)
            if capacity == 0:
                continue
            used = asked[resource] + sum(nonzero_requests(other)[i] for other, _ in self.on(n))
            total += 0 if used > capacity else (capacity - used) * 100 // capacity
            weights += 1
        return total // weights if weights else 0

    def balanced(self, pod, n):
        asked = [pod.requests.get("cpu", 0), pod.requests.get("memory", 0)]
        if not any(asked):
            return 0
        taken = [sum(o.requests.get(r, 0) for o, _ in self.on(n)) for r in ("cpu", "memory")]
        have = [self.nodes[n].allocatable.get(r, 0) for r in ("cpu", "memory")]

        def evenness(used):
            shares = [min(1.0, u / h) for u, h in zip(used, have, strict=True) if h]
            deviation = abs((shares[0] - shares[1]) / 2) if len(shares) == 2 else 0.0
            return int((1 - deviation) * 100.0)

        return 50 + (50 + evenness([t + a for t, a in zip(taken, asked, strict=True)]) - evenness(taken)) // 2

    def constraints(self, pod, owner):
        if pod.spread:
            return [(c, c.selector) for c in pod.spread if c.when_unsatisfiable == "ScheduleAnyway"]
        requirements = {}
        for service in self.services:
            if service.namespace == pod.namespace and all(pod.labels.get(k) == v for k, v in service.selector.items()):
                for key, value in service.selector.items():
                    requirements[key] = Requirement(key, "In", (value,))
        found = [*requirements.values(), *(owner.requirements if owner else ())]
        if not found:
            return []
        selector = Selector(tuple(found))
        return [
            (SpreadConstraint(3, HOSTNAME, "ScheduleAnyway"), selector),
            (SpreadConstraint(5, ZONE, "ScheduleAnyway"), selector),
        ]

    def count(self, n, selector, namespace):
        if selector is None or not selector.requirements:
            return 0
        return sum(
            not gone and other.namespace == namespace and selector.matches(other.labels) for other, gone in self.on(n)
        )

    def included(self, pod, constraint, n):
        node = self.nodes[n]
        if constraint.node_affinity_policy in ("", "Honor") and any(
            node.labels.get(k) != v for k, v in pod.node_selector.items()
        ):
            return False
        if constraint.node_taints_policy == "Honor":
            for taint in node.taints:
                if taint.effect != "PreferNoSchedule" and not any(
                    t.effect in ("", taint.effect)
                    and t.key in ("", taint.key)
                    and (t.operator == "Exists" or t.value == taint.value)
                    for t in pod.tolerations
                ):
                    return False
        return True

    def spread(self, pod, feasible, owner):
        constraints = self.constraints(pod, owner)
        if not constraints:
            return [0] * len(feasible)
        need_all = bool(pod.spread)

        def has_all(n):
            return all(c.topology_key in self.nodes[n].labels for c, _ in constraints)

        ignored = [n for n in feasible if need_all and not has_all(n)]
        counts = []
        sizes = []
        for c, selector in constraints:
            domains = {}
            for n in feasible:
                if n not in ignored and c.topology_key != HOSTNAME:
                    domains[self.nodes[n].labels.get(c.topology_key, "")] = 0
            sizes.append(len(feasible) - len(ignored) if c.topology_key == HOSTNAME else len(domains))
            for n, node in enumerate(self.nodes):
                value = node.labels.get(c.topology_key, "")
                if value in domains and (not need_all or has_all(n)) and self.included(pod, c, n):
                    domains[value] += self.count(n, selector, pod.namespace)
            counts.append(domains)
        raw = {}
        for n in feasible:
            if n in ignored:
                continue
            value = 0.0
            for (c, selector), domains, size in zip(constraints, counts, sizes, strict=True):
                label = self.nodes[n].labels.get(c.topology_key)
                if label is None:
                    continue
                here = self.count(n, selector, pod.namespace) if c.topology_key == HOSTNAME else domains[label]
                value += here * log(size + 2) + float(c.max_skew - 1)
            raw[n] = floor(value) + (1 if value - floor(value) >= 0.5 else 0)
        least, most = min(raw.values(), default=0), max(raw.values(), default=0)
        return [0 if n in ignored else 100 * (most + least - raw[n]) // most if most else 100 for n in feasible]

    def inter_pod(self, pod, feasible):
        sums = {}

        def weigh(term, holder_namespace, target, namespace_labels, n, weight):
            if term.selector is None or not term.selector.matches(target.labels):
                return
            names = term.namespaces
            if not names and term.namespace_selector is None:
                names = (holder_namespace,)
            chosen = term.namespace_selector
            if target.namespace not in names and not (chosen is not None and chosen.matches(namespace_labels)):
                return
            if term.topology_key in self.nodes[n].labels:
                key = (term.topology_key, self.nodes[n].labels[term.topology_key])
                sums[key] = sums.get(key, 0) + weight

        def merged(term):
            """The incoming pod's terms name the namespaces that they select, and are then matched without labels."""
            chosen = term.namespace_selector
            if chosen is None or not chosen.requirements:
                return term
            selected = tuple(name for name, labels in self.namespaces.items() if chosen.matches(labels))
            return replace(term, namespaces=term.namespaces + selected)

        for other, n, _ in self.pods:
            for w in pod.preferred_affinity:
                weigh(merged(w.term), pod.namespace, other, {}, n, w.weight)
            for w in pod.preferred_anti_affinity:
                weigh(merged(w.term), pod.namespace, other, {}, n, -w.weight)
            own = self.namespaces[pod.namespace]
            for term in other.required_affinity:
                weigh(term, other.namespace, pod, own, n, 1)
            for w in other.preferred_affinity:
                weigh(w.term, other.namespace, pod, own, n, w.weight)
            for w in other.preferred_anti_affinity:
                weigh(w.term, other.namespace, pod, own, n, -w.weight)
        raw = [sum(s for (key, value), s in sums.items() if self.nodes[n].labels.get(key) == value) for n in feasible]
        spread = max(raw) - min(raw)
        return [int(100.0 * ((s - min(raw)) / spread)) if spread else 0 for s in raw]

    def images(self, pod, n):
        total = 0
        for container in pod.containers:
            holders = [node for node in self.nodes if container.image in node.images]
            if container.image in self.nodes[n].images:
                total += int(holders[0].images[container.image] * (len(holders) / len(self.nodes)))
        most = (1000 << 20) * len(pod.containers)
        return 100 * (min(max(total, 23 << 20), most) - (23 << 20)) // (most - (23 << 20))


# --- clusters -------------------------------------------------------------------------------------------------------

KEYS = (HOSTNAME, ZONE, "rack", "serial")
APPS = ("web", "db")
NAMESPACES = (Namespace("shop", {"team": "a"}), Namespace("lab", {}))

nodes = st.builds(
    lambda zone, rack, disk, taints, cpu, memory, images: (
        {ZONE: zone, "rack": rack, "disk": disk},
        taints,
        {"cpu": cpu, "memory": memory, "pods": 110},
        images,
    ),
    st.sampled_from(["a", "b", "c", "", None]),
    st.sampled_from(["r1", "r2", None]),
    st.sampled_from(["ssd", None]),
    st.lists(
        st.builds(
            Taint,
            st.sampled_from(["spot", "gpu"]),
            st.just("x"),
            st.sampled_from(["PreferNoSchedule", "PreferNoSchedule", "NoSchedule"]),
        ),
        max_size=2,
        unique=True,
    ).map(tuple),
    st.sampled_from([0, 900, 4000, 16000]),
    st.sampled_from([0, 1 << 30, (9 << 30) + 12345]),
    st.dictionaries(st.sampled_from(["nginx:1", "redis:7"]), st.sampled_from([30 << 20, 700 << 20]), max_size=2),
)
selectors = st.sampled_from(
    [
        None,
        Selector(),
        Selector((Requirement("app", "In", ("web",)),)),
        Selector((Requirement("app", "In", ("web", "db")),)),
        Selector((Requirement("app", "NotIn", ("db",)),)),
        Selector((Requirement("tier", "Exists"),)),
    ]
)
namespace_selectors = st.sampled_from(
    [
        None,
        None,
        Selector(),
        Selector((Requirement("team", "In", ("a",)),)),
        Selector((Requirement("team", "NotIn", ("a",)),)),
    ]
)
terms = st.builds(
    PodAffinityTerm,
    st.sampled_from(KEYS),
    selectors,
    st.sampled_from([(), (), ("lab",)]),
    namespace_selectors,
)
weighted = st.lists(st.builds(WeightedPodAffinityTerm, st.sampled_from([1, 7, 100]), terms), max_size=2).map(tuple)
spreads = st.builds(
    SpreadConstraint,
    st.integers(1, 3),
    st.sampled_from(KEYS),
    st.sampled_from(["ScheduleAnyway", "ScheduleAnyway", "DoNotSchedule"]),
    selectors,
    node_affinity_policy=st.sampled_from(["", "Honor", "Ignore"]),
    node_taints_policy=st.sampled_from(["", "Honor", "Ignore"]),
)
requests = st.fixed_dictionaries(
    {}, optional={"cpu": st.sampled_from([0, 100, 333, 1500]), "memory": st.sampled_from([0, 1 << 27, 3 << 30])}
)


@st.composite
def pods(draw):
    asked = draw(st.lists(requests, min_size=1, max_size=2))
    containers = tuple(
        Container(f"c{i}", r, image=draw(st.sampled_from(["nginx:1", "redis:7"]))) for i, r in enumerate(asked)
    )
    labels = {"app": draw(st.sampled_from(APPS))}
    if draw(st.booleans()):
        labels["tier"] = "front"
    return Pod(
        draw(st.sampled_from(["shop", "lab"])),
        labels,
        node_selector=draw(st.sampled_from([{}, {}, {"disk": "ssd"}])),
        preferred_node_terms=tuple(
            PreferredNodeTerm(weight, NodeSelectorTerm((Requirement("rack", "In", (rack,)),) if rack else ()))
            for weight, rack in draw(
                st.lists(st.tuples(st.integers(1, 100), st.sampled_from(["r1", "r2", None])), max_size=2)
            )
        ),
        tolerations=draw(
            st.sampled_from([(), (Toleration("spot", "Exists"),), (Toleration("gpu", "Equal", "x", "NoSchedule"),)])
        ),
        required_affinity=draw(st.lists(terms, max_size=1).map(tuple)),
        preferred_affinity=draw(weighted),
        preferred_anti_affinity=draw(weighted),
        spread=draw(st.lists(spreads, max_size=2).map(tuple)),
        containers=containers,
        requests=effective_requests(containers, ()),
    )


@st.composite
def clusters(draw):
    made = []
    for i, (labels, taints, allocatable, images) in enumerate(draw(st.lists(nodes, min_size=2, max_size=7))):
        carried = {key: value for key, value in labels.items() if value is not None}
        if draw(st.integers(0, 5)):
            carried[HOSTNAME] = f"n{i}"
        if draw(st.integers(0, 5)):
            carried["serial"] = f"s{i}"  # like the hostname a domain of its own for every node
        made.append(Node(f"n{i}", carried, taints, allocatable=allocatable, images=images))
    kinds = draw(st.lists(pods(), min_size=1, max_size=4))
    running = draw(
        st.lists(st.tuples(st.sampled_from(kinds), st.integers(0, len(made) - 1), st.booleans()), max_size=10)
    )
    services = draw(st.lists(st.builds(Service, st.just("shop"), st.just("s"), st.just({"app": "web"})), max_size=1))
    return made, running, tuple(services)


def state_of(made, running, services):
    bound = tuple(BoundPod(f"p{i}", made[n].name, pod, terminating=gone) for i, (pod, n, gone) in enumerate(running))
    return ClusterState(NodeIndex(made), Inventory(pods=bound, namespaces=NAMESPACES, services=services))


def without_zeros(by_plugin):
    return {plugin: values for plugin, values in by_plugin.items() if any(values.values())}


OWNER = Selector((Requirement("app", "In", ("db",)),))


@settings(max_examples=examples(250), deadline=None)
@given(clusters(), pods(), st.sampled_from([None, OWNER]), st.integers(0, 127))
def test_scores_equal_those_found_node_by_node(cluster, pod, owner, some):
    made, running, services = cluster
    state = state_of(made, running, services)
    feasible = some % (1 << len(made)) or state.index.all
    found = score(pod, state, feasible, owner)
    expected = Naive(made, running, NAMESPACES, services).totals(pod, list(positions(feasible)), owner)
    assert without_zeros(found.by_plugin) == without_zeros(expected)
    totals = {made[n].name: sum(values[made[n].name] for values in expected.values()) for n in positions(feasible)}
    assert found.total == totals
    most = max(totals.values())
    assert state.index.names_of(found.best) == [name for name, total in totals.items() if total == most]


@settings(max_examples=examples(150), deadline=None)
@given(clusters(), pods(), pods(), st.randoms())
def test_scoring_kept_while_pods_come_and_go_equals_scoring_anew(cluster, pod, newcomer, random):
    made, running, services = cluster
    state = state_of(made, running, services)
    kept = Scoring(pod, state, OWNER)
    marks = []
    for _ in range(random.randint(1, 8)):
        step = random.choice(["place", "place other", "remove", "mark", "undo"])
        standing = list(state.placements())
        if step == "remove" and standing:
            state.remove(random.choice(standing))
        elif step == "mark":
            marks.append(state.mark())
        elif step == "undo" and marks:
            state.undo(marks.pop())
        elif step.startswith("place"):
            state.place(pod if step == "place" else newcomer, random.randrange(len(made)))
        feasible = random.randint(1, state.index.all)
        again = score(pod, state, feasible, OWNER)
        found = kept.scores(feasible)
        assert without_zeros(found.by_plugin) == without_zeros(again.by_plugin)
        assert found.best == again.best
