"""The diagram of a cluster: its domains, nodes, the pods on them, and the nodes that each finding's workload can use.

Domains are those of the topology key that the workloads use, or zones.
Similar nodes form one group with a count, so that a thousand nodes are a few boxes. Pods are where one random trace of
the default scheduler places them. The nodes of a finding are those that its workload can use, computed as in the rules.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct, field

from kubesched_lint.commands.limits import MOST_DRAWN, MOST_WORK, MOST_WORKLOADS
from kubesched_lint.engine.base.places import Location, ObjectRef
from kubesched_lint.engine.cluster.nodeset import holds, positions
from kubesched_lint.engine.controllers.daemonset import with_daemon_tolerations
from kubesched_lint.engine.model.nodes.node import HOSTNAME, ZONE, Node
from kubesched_lint.engine.model.quantity import show
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.placing.coming import created_pods
from kubesched_lint.engine.placing.placing import Placing
from kubesched_lint.engine.placing.wanted import pods_of_the_set
from kubesched_lint.engine.scenario.others.running import lasting_state
from kubesched_lint.engine.scenario.scenario import Member, Scenario
from kubesched_lint.engine.scheduler.framework import static_reach
from kubesched_lint.explaining.spreading.grouping import grouping_key
from kubesched_lint.findings import Finding
from kubesched_lint.sources.manifests.document import location_of

USABLE, FULL, TAINTED, UNMATCHED = "usable", "unfit", "tainted", "unmatched"
"""Whether a workload can use a node: yes; it is cordoned or too small; a taint excludes it; its labels do not match."""


class NodeGroup(Struct, frozen=True):
    """Nodes that look the same in the diagram; ``names`` are at most three of them."""

    domain: str
    """The value of the diagram's topology key; empty without one."""
    names: tuple[str, ...]
    count: int
    capacity: str
    taints: tuple[str, ...] = ()
    mark: str = ""
    """``cordoned``, ``not ready`` or ``to be added``."""
    pods: tuple[tuple[int, int], ...] = ()
    """(index in ``workloads`` of the diagram, number of pods), over all nodes of the group."""
    others: int = 0
    """Number of running pods that no workload of the set owns."""


class Domain(Struct, frozen=True):
    value: str
    nodes: int
    usable: int


class Highlight(Struct, frozen=True):
    """The subject of a finding: its workload, and the topology key of the term that it points to (may be empty)."""

    workload: int
    key: str = ""


class WaitingPods(Struct, frozen=True):
    workload: int
    pods: int
    message: str


class ClusterDiagram(Struct, frozen=True):
    workloads: tuple[ObjectRef, ...]
    groups: tuple[NodeGroup, ...]
    """By domain, then by size."""
    key: str = ZONE
    """The topology key of the domains."""
    reach: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    """Index of a workload → per group ``USABLE``, ``FULL``, ``TAINTED`` or ``UNMATCHED``."""
    counts: Mapping[int, Mapping[str, int]] = field(default_factory=dict)
    """Index of a workload → number of nodes of each of these levels."""
    domains: Mapping[Highlight, tuple[Domain, ...]] = field(default_factory=dict)
    """For focuses with a key; the domain of nodes without the key has an empty value."""
    focuses: tuple[Highlight | None, ...] = ()
    """One per finding, in the report's order; None if the object creates no pods."""
    waiting: tuple[WaitingPods, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def nodes(self) -> int:
        return sum(group.count for group in self.groups)


def diagram(
    scenario: Scenario, findings: Sequence[Finding], today: Sequence[Node] = (), added: Sequence[Node] = ()
) -> ClusterDiagram:
    """Return the diagram of ``scenario``, which has no pools and no transient states of nodes.

    ``today`` are the nodes with their transient states, ``added`` the nodes that pools add. If there are too many
    groups, only the largest are drawn, and a note says so.
    """
    workloads = scenario.as_deployed
    place = {workload.ref: i for i, workload in enumerate(workloads)}
    focuses = tuple(_focuses(findings, workloads, place))
    reach = {f.workload: _reach(scenario.member(workloads[f.workload])) for f in focuses if f is not None}
    grouping = grouping_key((scenario.member(workload).pod for workload in workloads), scenario.index)
    keys = sorted({f.key for f in focuses if f is not None and f.key} - {HOSTNAME, grouping})
    placed, waiting, notes = _placed(scenario)
    marks = {n.name: mark for n in today if (mark := _transient(n))} | {n.name: "to be added" for n in added}
    few = len(scenario.index.nodes) <= MOST_DRAWN
    members: dict[tuple[object, ...], list[int]] = {}
    for i, node in enumerate(scenario.index.nodes):
        alike = (
            node.labels.get(grouping, ""),
            marks.get(node.name) or _transient(node),
            _capacity(node),
            tuple(map(str, node.taints)),
            tuple(node.labels.get(key) for key in keys),
            tuple(levels[i] for levels in reach.values()),
            (i if node.name not in marks else -1, placed[i]) if few else (),
        )
        members.setdefault(alike, []).append(i)
    folded = sorted(members.values(), key=lambda alike_nodes: (-len(alike_nodes), alike_nodes[0]))
    drawn, left = folded[: 5 * MOST_DRAWN], folded[5 * MOST_DRAWN :]
    drawn.sort(key=lambda alike_nodes: (scenario.index.nodes[alike_nodes[0]].labels.get(grouping, ""), alike_nodes[0]))
    if left:
        notes = (*notes, f"{sum(map(len, left)):,} nodes of {len(left):,} further kinds are not drawn")
    running = _others(scenario)
    return ClusterDiagram(
        tuple(workload.ref for workload in workloads),
        tuple(_group(alike_nodes, scenario.index.nodes, grouping, marks, placed, running) for alike_nodes in drawn),
        grouping,
        {number: tuple(levels[alike_nodes[0]] for alike_nodes in drawn) for number, levels in reach.items()},
        {number: _tally(levels) for number, levels in reach.items()},
        {f: _domains(f, reach[f.workload], scenario) for f in focuses if f is not None and f.key},
        focuses,
        waiting,
        notes,
    )


# --- subjects of findings ---------------------------------------------------------------------------------------------


def _focuses(
    findings: Sequence[Finding], workloads: Sequence[Workload], place: Mapping[ObjectRef, int]
) -> Iterator[Highlight | None]:
    known: dict[int, list[tuple[Location, str]]] = {}
    for count, finding in enumerate(findings):
        number = place.get(finding.object)
        if number is None:
            yield None
            continue
        workload = workloads[number]
        if count < MOST_WORKLOADS and number not in known:
            known[number] = list(_terms(workload))
        yield Highlight(number, _key(finding, known.get(number, ())))


def _terms(workload: Workload) -> Iterator[tuple[Location, str]]:
    """Yield (location, topology key) of each term that has one."""
    pod, source = workload.pod, workload.source
    if source is None:
        return
    weighted = (*pod.preferred_affinity, *pod.preferred_anti_affinity)
    terms = (*pod.required_affinity, *pod.required_anti_affinity, *(w.term for w in weighted))
    yield from ((location_of(source, term.path), term.topology_key) for term in terms if term.path)
    yield from (
        (location_of(source, constraint.path), constraint.topology_key) for constraint in pod.spread if constraint.path
    )


def _key(finding: Finding, terms: Sequence[tuple[Location, str]]) -> str:
    """Return the topology key of the first term that contains the finding or a related place; empty without one."""
    for location in (finding.location, *(related.location for related in finding.related)):
        start = (location.span.line, location.span.column)
        for term, key in terms:
            span = term.span
            if location.path == term.path and (span.line, span.column) <= start < (span.end_line, span.end_column):
                return key
    return ""


def _reach(it: Member) -> tuple[str, ...]:
    """Return per node whether the workload can use it."""
    pod = it.pod
    if it.workload.kind == "DaemonSet":
        pod = with_daemon_tolerations(pod)
    matching, tolerated, usable = static_reach(pod, it.scenario.index)
    return tuple(
        USABLE if holds(usable, i) else FULL if holds(tolerated, i) else TAINTED if holds(matching, i) else UNMATCHED
        for i in range(len(it.scenario.index))
    )


def _tally(levels: Sequence[str]) -> Mapping[str, int]:
    return {level: levels.count(level) for level in (USABLE, FULL, TAINTED, UNMATCHED)}


def _domains(focus: Highlight, levels: Sequence[str], scenario: Scenario) -> tuple[Domain, ...]:
    index = scenario.index
    domains = {**index.domains(focus.key), "": index.all & ~index.with_key(focus.key)}
    return tuple(
        Domain(value, nodes.bit_count(), sum(1 for i in positions(nodes) if levels[i] == USABLE))
        for value, nodes in domains.items()
        if nodes
    )


# --- pods -------------------------------------------------------------------------------------------------------------


def _placed(scenario: Scenario) -> tuple[list[tuple[tuple[int, int], ...]], tuple[WaitingPods, ...], tuple[str, ...]]:
    """Return per node its (workload, number of pods); the pending pods; and notes."""
    nodes = len(scenario.index)
    wanted = pods_of_the_set(scenario)
    if wanted * nodes > MOST_WORK:
        nothing: list[tuple[tuple[int, int], ...]] = [()] * nodes
        return nothing, (), (f"pods are not drawn: placing {wanted:,} on {nodes:,} nodes would take too long",)
    counts: list[dict[int, int]] = [{} for _ in range(nodes)]
    left: dict[int, tuple[int, str]] = {}
    place = {workload: number for number, workload in enumerate(scenario.as_deployed)}
    state = lasting_state(scenario)
    with state.undone():
        placing = Placing(list(created_pods(scenario)), state, seed=1).run()
        for placement, placed_copies in placing.placed.items():
            at, workload = counts[placement.position], place[placed_copies.workload]
            at[workload] = at.get(workload, 0) + 1
        for number, copies in enumerate(placing.queue):
            if copies.left:
                before, _ = left.get(place[copies.workload], (0, ""))
                left[place[copies.workload]] = (before + copies.left, placing.message(number))
    waiting = tuple(WaitingPods(number, pods, why) for number, (pods, why) in left.items())
    note = "the diagram shows one possible placement by the default scheduler; another order may give another one"
    return [tuple(at.items()) for at in counts], waiting, (note,) if any(counts) else ()


def _others(scenario: Scenario) -> Mapping[str, int]:
    counts: dict[str, int] = {}
    for pod in scenario.other_pods:
        if pod.node:
            counts[pod.node] = counts.get(pod.node, 0) + 1
    return counts


# --- nodes ------------------------------------------------------------------------------------------------------------


def _group(
    members: Sequence[int],
    nodes: Sequence[Node],
    key: str,
    marks: Mapping[str, str],
    placed: Sequence[tuple[tuple[int, int], ...]],
    running: Mapping[str, int],
) -> NodeGroup:
    first = nodes[members[0]]
    pods: dict[int, int] = {}
    for i in members:
        for number, count in placed[i]:
            pods[number] = pods.get(number, 0) + count
    return NodeGroup(
        first.labels.get(key, ""),
        tuple(nodes[i].name for i in members[:3]),
        len(members),
        _capacity(first),
        tuple(map(str, first.taints)),
        marks.get(first.name) or _transient(first),
        tuple(sorted(pods.items())),
        sum(running.get(nodes[i].name, 0) for i in members),
    )


def _transient(node: Node) -> str:
    """Return the transient state of a node; empty if it has none."""
    return "cordoned" if node.unschedulable else "" if node.ready else "not ready"


def _capacity(node: Node) -> str:
    """Return ``4 CPU · 16Gi · 2 nvidia.com/gpu``; empty if a sketch declares no resources."""
    known = node.allocatable
    if known is None:
        return ""
    parts = [f"{show('cpu', known['cpu'])} CPU"] if "cpu" in known else []
    parts += [show("memory", known["memory"])] if "memory" in known else []
    parts += [f"{amount} {name}" for name, amount in sorted(known.items()) if "/" in name and amount]
    return " · ".join(parts)
