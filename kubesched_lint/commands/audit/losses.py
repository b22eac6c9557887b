"""What a lost node or zone leaves waiting: counted where that suffices, else one run with kube-scheduler's scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import chain
from operator import or_
from typing import NamedTuple

from msgspec.structs import replace

from kubesched_lint.commands.audit.crowding import Crowding
from kubesched_lint.commands.audit.findings import FACT, LOSS, PROOF, WITNESS, AuditFinding
from kubesched_lint.commands.audit.proving import NOWHERE, Waits, surely_waiting
from kubesched_lint.commands.audit.running_cluster import ReplicaGroup, RunningCluster, decisive, place
from kubesched_lint.commands.limits import MOST_RUNS
from kubesched_lint.engine.admission.schedulers import owner_selector
from kubesched_lint.engine.base import work
from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.engine.base.text import first_few, many, plural
from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.cluster.nodeset import EMPTY, NodeSet, lowest, only, popcount, positions
from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.model.labels import Selector
from kubesched_lint.engine.model.nodes.node import HOSTNAME, ZONE
from kubesched_lint.engine.model.pod import Pod
from kubesched_lint.engine.placing.placing import Copies, Placing
from kubesched_lint.engine.scenario.others.running import all_running_pods
from kubesched_lint.engine.scheduler.framework import message, static_reach
from kubesched_lint.engine.scheduler.topology import counted_domains, is_short_of_domains
from kubesched_lint.findings import Severity


class _Left(NamedTuple):
    """Pods of one group that wait after a loss."""

    group: ReplicaGroup
    pods: int
    surely: Waits
    says: str
    place: str


class _Loss(NamedTuple):
    """The pods of one object that wait after the loss of one node or zone, and all pods that ran there."""

    lost: str
    nodes: NodeSet
    gone: Sequence[tuple[ReplicaGroup, int]]
    parts: tuple[_Left, ...]

    @property
    def pods(self) -> int:
        return sum(part.pods for part in self.parts)

    @property
    def surely(self) -> int:
        return sum(part.surely.pods for part in self.parts)

    @property
    def is_proven(self) -> bool:
        return self.surely >= self.pods


class Losses:
    """The losses of single nodes and of single zones, one after another."""

    def __init__(self, now: RunningCluster) -> None:
        self._now = now
        self._proofs = 0
        self._looks = 0
        self.unfollowed: list[str] = []
        self._groups = [c for c in now.groups if c.comes_back and _stays(c) and now.follows(c)]
        self._room: dict[ReplicaGroup, int] = {}
        zones = now.lasting.index.domains(ZONE)
        self._zones = dict(zones) if len(zones) > 1 else {}

    def findings(self) -> Iterator[AuditFinding]:
        by_object: dict[ObjectRef, list[AuditFinding]] = {}
        zones = ((name, nodes, self.gone(nodes)) for name, nodes in self._zones.items())
        for finding in (*self._of("node", self._of_nodes()), *self._of("zone", zones)):
            by_object.setdefault(finding.object, []).append(finding)
        for first, *more in by_object.values():
            yield replace(first, details=(*first.details, *(("and", _beside(first, other)) for other in more)))
        yield from self._at_once(self._zones)

    def places(self) -> Iterable[tuple[str, NodeSet]]:
        """Return (name, nodes) of each node and each zone that may be lost."""
        return (*((name, only(p)) for p, name in enumerate(self._now.lasting.index.names)), *self._zones.items())

    def _of_nodes(self) -> Iterator[tuple[str, NodeSet, Sequence[tuple[ReplicaGroup, int]]]]:
        """Yield name, nodes and ``gone`` of each node, except where all pods had room if the node were the fullest."""
        most = max(Counter(chain.from_iterable(group.positions for group in self._groups)).values(), default=0)
        tight = EMPTY
        for group in self._groups:
            if self._least_room(group) <= most:
                tight |= group.nodes
        there: dict[int, list[tuple[ReplicaGroup, int]]] = {position: [] for position in positions(tight)}
        for group in self._groups:
            for position, count in Counter(group.positions).items() if group.nodes & tight else ():
                if position in there:
                    there[position].append((group, count))
        for position, gone in there.items():
            yield self._now.lasting.index.names[position], only(position), gone

    def _of(
        self, what: str, places: Iterable[tuple[str, NodeSet, Sequence[tuple[ReplicaGroup, int]]]]
    ) -> Iterator[AuditFinding]:
        losses: dict[ObjectRef, dict[str, _Loss]] = {}
        left, skipped = MOST_RUNS, list[str]()
        for name, nodes, gone in places:
            if not gone or self.has_room(gone, nodes):
                continue
            cost = sum(count for _, count in gone) * len(self._now.lasting.index)
            waiting = self.left(nodes, gone) if cost <= left else None
            left -= cost if waiting is not None else 0
            if waiting is None:
                skipped.append(name)
            for ref, parts in _by_object(waiting or ()).items():
                losses.setdefault(ref, {})[name] = _Loss(name, nodes, gone, parts)
        if skipped:
            which = f"{what} {skipped[0]}" if len(skipped) == 1 else f"{many(len(skipped), what)}"
            self.unfollowed.append(f"the loss of {which}: too many pods to place one by one")
        self._prove(losses)
        for ref, several in losses.items():
            yield _finding(what, ref, [*several.values()], self._now.assumed)

    def left(self, nodes: NodeSet, gone: Sequence[tuple[ReplicaGroup, int]]) -> Sequence[_Left] | None:
        """Return what waits after nodes are lost; None after too many steps."""
        return work.tried(lambda: tuple(self.simulated(nodes, gone)), None, 2)

    def _prove(self, losses: Mapping[ObjectRef, dict[str, _Loss]]) -> None:
        """Note what is proven of the worst loss of each object, and of its others while all are proven.

        A finding says that all losses are proven or what is proven of the worst one, so nobody reads more.
        """
        worst = {ref: _worst(several.values()).lost for ref, several in losses.items()}
        self._prove_at(losses, [(name, ref) for ref, name in worst.items()])
        self._prove_at(
            losses,
            [
                (name, ref)
                for ref, several in losses.items()
                for name in several
                if name != worst[ref] and several[worst[ref]].is_proven
            ],
        )

    def _prove_at(self, losses: Mapping[ObjectRef, dict[str, _Loss]], asked: Iterable[tuple[str, ObjectRef]]) -> None:
        """Prove losses by name and object, all of one name at once; none of an object after one that is not proven."""
        at: dict[str, list[ObjectRef]] = {}
        for name, ref in asked:
            at.setdefault(name, []).append(ref)
        open_: set[ObjectRef] = set()
        for name, refs in at.items():
            several = [losses[ref][name] for ref in refs if ref not in open_]
            if not several:
                continue
            left = [part for loss in several for part in loss.parts]
            for ref, proven in _by_object(self.proven(several[0].nodes, several[0].gone, left)).items():
                losses[ref][name] = loss = losses[ref][name]._replace(parts=proven)
                if not loss.is_proven:
                    open_.add(ref)

    def proven(
        self, nodes: NodeSet, gone: Sequence[tuple[ReplicaGroup, int]], left: Sequence[_Left]
    ) -> Sequence[_Left]:
        """Return some of what waits after nodes are lost, with what is proven of it."""
        open_ = {part.group for part in left if part.surely.pods < part.pods}
        pods = len(self._now.cluster.inventory.pods)
        if not open_ or self._proofs + pods > MOST_RUNS // 60:
            return left
        self._proofs += pods
        asked = [number for number, (group, _) in enumerate(gone) if group in open_]
        lost = frozenset(self._now.lasting.names(nodes))
        sure = work.tried(lambda: surely_waiting(self._now, lost, gone, asked), dict[int, Waits](), 2)
        proven = {gone[number][0]: waits for number, waits in sure.items()}
        return [part._replace(surely=proven.get(part.group, part.surely)) for part in left]

    def gone(self, nodes: NodeSet) -> Sequence[tuple[ReplicaGroup, int]]:
        """Return each group with pods on the nodes, and how many: those of the first node first."""
        lost = [(group, group.on(nodes)) for group in self._groups if group.nodes & nodes]
        return sorted(lost, key=lambda pair: lowest(pair[0].nodes & nodes))

    def has_room(self, gone: Sequence[tuple[ReplicaGroup, int]], nodes: NodeSet) -> bool:
        """Whether every pod finds a node whatever the order.

        Each placement takes at most one node from the others, and most take only a part of its room.
        """
        pods = sum(count for _, count in gone)
        least = pods + nodes.bit_count()
        return (
            all(self._least_room(group) >= least for group, _ in gone)
            or all(self._is_open(group, nodes, pods) for group, _ in gone)
            or work.tried(lambda: self._is_uncrowded(gone, nodes), False, 2)
        )

    def _least_room(self, group: ReplicaGroup) -> int:
        """Return the least number of nodes that take one more pod now, over the domains of its spread; 0 if unknown."""
        if group not in self._room:
            self._room[group] = min(map(popcount, self.rooms(group, EMPTY)), default=0)
        return self._room[group]

    def _is_open(self, group: ReplicaGroup, nodes: NodeSet, pods: int) -> bool:
        return min(map(popcount, self.rooms(group, nodes)), default=0) >= pods

    def _is_uncrowded(self, gone: Sequence[tuple[ReplicaGroup, int]], nodes: NodeSet) -> bool:
        if self._looks > MOST_RUNS // 6:
            return False
        crowding = Crowding(gone, nodes, self._now.state)
        try:
            return all(crowding.leaves_open(group.pod, self.rooms(group, nodes)) for group, _ in gone)
        finally:
            self._looks += crowding.looks

    def rooms(self, group: ReplicaGroup, lost: NodeSet) -> Sequence[NodeSet]:
        """Return the nodes that take one more pod, in each domain of its spread: the emptiest one is always open.

        Empty if one placement may take more than one node from others, so that counting does not suffice.
        """
        hard = [constraint for constraint in group.pod.spread if constraint.is_hard]
        if _needs_run(group.pod) or len(hard) > 1:
            return ()
        left = self._now.open_to(group) & ~lost
        if not hard:
            return (left,)
        domains = counted_domains(group.pod, hard[0], self._now.lasting.index, lost).values()
        # With too few domains even the emptiest one may be closed.
        return () if is_short_of_domains(hard[0], len(domains)) else [left & domain for domain in domains]

    def simulated(self, nodes: NodeSet, gone: Sequence[tuple[ReplicaGroup, int]]) -> Iterator[_Left]:
        """Yield what one run leaves: pods of high priority first, each on a node that kube-scheduler may choose."""
        if any(_loses_domains(group.pod, nodes, self._now.lasting.index) for group, _ in gone):
            state = all_running_pods(self._now.without(frozenset(self._now.lasting.names(nodes)))).state
            yield from self._placed(gone, state, state.index.all)
            return
        state = self._now.state
        with state.undone():
            for position in positions(nodes):
                for held in state.pods_on(position):
                    state.remove(held)
            yield from self._placed(gone, state, state.index.all & ~nodes)

    def _placed(self, gone: Sequence[tuple[ReplicaGroup, int]], state: ClusterState, among: NodeSet) -> Iterator[_Left]:
        groups = sorted(gone, key=lambda pair: (-(pair[0].pod.priority or 0), str(pair[0].ref)))
        queue = [Copies(group.pod, _owner(group), count) for group, count in groups]
        placing = Placing(queue, state, among=among).run()
        for number, ((group, count), copies) in enumerate(zip(groups, queue, strict=True)):
            if copies.left:
                diagnosis = placing.diagnosis(number)
                surely = 0 if static_reach(group.pod, state.index).usable & among else count
                at = place(group.pod, group.workload, decisive(group.pod, diagnosis, state), group.ref)
                yield _Left(group, copies.left, Waits(surely, NOWHERE), message(diagnosis), at)

    def _at_once(self, zones: Mapping[str, NodeSet]) -> Iterator[AuditFinding]:
        """Yield workloads of several pods, all of which run on one node, or in one of several zones."""
        index = self._now.lasting.index
        spots: dict[ObjectRef, list[ReplicaGroup]] = {}
        for group in self._groups:
            spots.setdefault(group.ref, []).append(group)
        for ref, groups in spots.items():
            pods, there = sum(len(group.positions) for group in groups), reduce(or_, (group.nodes for group in groups))
            if pods < 2:
                continue
            on_one = there.bit_count() == 1
            zone = next((z for z, nodes in zones.items() if not there & ~nodes), None)
            if on_one or zone is not None:
                where = f"on node {index.names[lowest(there)]}" if on_one else f"in zone {zone}"
                every = "both" if pods == 2 else f"all {pods}"
                text = f"{every} pods of {ref} run {where}"
                severity = Severity.WARNING if on_one else Severity.NOTE
                what = ("note", "if it is lost, none of them runs until others are made")
                yield AuditFinding(LOSS, severity, ref, text, evidence=FACT, pods=pods, details=(what,))


def _owner(group: ReplicaGroup) -> Selector | None:
    return None if group.workload is None else owner_selector(group.workload, group.pod.labels)


def _by_object(left_pods: Iterable[_Left]) -> dict[ObjectRef, tuple[_Left, ...]]:
    """Return the parts by object: pods of a StatefulSet differ by their claims."""
    parts: dict[ObjectRef, tuple[_Left, ...]] = {}
    for part in left_pods:
        parts[part.group.ref] = (*parts.get(part.group.ref, ()), part)
    return parts


def _worst(several: Iterable[_Loss]) -> _Loss:
    return max(several, key=lambda loss: (loss.pods, loss.lost))


def _finding(what: str, ref: ObjectRef, several: Sequence[_Loss], assumed: str) -> AuditFinding:
    worst = _worst(several)
    lost = [loss.lost for loss in several]
    which = f"{what} {worst.lost}" if len(lost) == 1 else f"any of {len(lost)} {what}s ({first_few(lost)})"
    most = "up to " if len({loss.pods for loss in several}) > 1 else ""
    is_proven = all(loss.is_proven for loss in several)
    find = plural(worst.pods, "finds", "find")
    first = max(worst.parts, key=lambda part: part.pods)
    return AuditFinding(
        LOSS,
        Severity.WARNING,
        ref,
        f"{most}{many(worst.pods, 'pod')} of {ref} {find} no other node after the loss of {which}",
        first.place,
        PROOF if is_proven else WITNESS,
        worst.pods,
        tuple(_evidence(worst, first, assumed if is_proven else "")),
    )


def _beside(first: AuditFinding, other: AuditFinding) -> str:
    """Return the message of another finding, with its evidence if that is another one."""
    how = "proven" if other.evidence == PROOF else "in one run with kube-scheduler's scores"
    return other.message if other.evidence == first.evidence else f"{other.message} ({how})"


def _evidence(worst: _Loss, first: _Left, assumed: str) -> Iterator[tuple[str, str]]:
    """Yield the details of a loss; ``assumed`` is empty unless it is proven."""
    if assumed:
        yield from ((PROOF, first.says), ("because", first.surely.why), ("assumes", assumed))
        return
    yield WITNESS, first.says
    if worst.surely:
        yield "note", f"proven for every order: {worst.surely} of them {plural(worst.surely, 'waits', 'wait')}"


def _stays(group: ReplicaGroup) -> bool:
    return group.workload is None or group.workload.stays


def _needs_run(pod: Pod) -> bool:
    """Whether one placement may take more than one node from others, or a lost pod may matter elsewhere."""
    wide = any(term.topology_key != HOSTNAME for term in pod.required_anti_affinity)
    return wide or bool(pod.required_affinity) or bool(pod.volumes)


def _loses_domains(pod: Pod, nodes: NodeSet, index: NodeIndex) -> bool:
    """Whether a hard spread constraint counts fewer domains after the loss."""
    return any(
        not domain & ~nodes
        for constraint in pod.spread
        if constraint.is_hard
        for domain in counted_domains(pod, constraint, index).values()
    )
