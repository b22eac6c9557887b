"""Exact runs of a deployment that try to beat a proof: pods are created, bound and preempted as Kubernetes does it.

A run is one order that Kubernetes may take: controllers create pods as far as quotas let them, the scheduler binds each
to some node that passes every filter, or lets it preempt pods of lower priority. A proof holds for every order, so
one run with a better end refutes it. A run proves nothing about what is not modelled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from kubesched_lint.analysis.coming import scheduled_pod
from kubesched_lint.analysis.limits import MOST_TRIES
from kubesched_lint.analysis.quota_demand import granted
from kubesched_lint.cluster.nodeset import NodeSet, lowest, nth, positions
from kubesched_lint.controllers.daemonset import pinned, with_daemon_tolerations
from kubesched_lint.controllers.statefulset import claims_of, pod_with_claims
from kubesched_lint.scheduler.binding import bind
from kubesched_lint.scheduler.framework import diagnose
from kubesched_lint.scheduler.preemption import preempt
from kubesched_lint.world.claims import without_unknown_storage
from kubesched_lint.world.devices import lacks_devices
from kubesched_lint.world.running import lasting_state
from kubesched_lint.world.world import Member

if TYPE_CHECKING:
    from random import Random

    from kubesched_lint.cluster.state import ClusterState, Placement
    from kubesched_lint.model.pod import Pod
    from kubesched_lint.model.workload import Workload
    from kubesched_lint.world.world import World

Choose = Callable[[NodeSet], int]
"""Return the feasible node to bind a pod to; every choice is one that some scheduler could make."""

raising = False
"""Set by tests, where a refuted proof is a failure."""


class RefutedError(AssertionError):
    """A run of the model contradicts a proof."""


class _Queue:
    """Waiting pods of one workload, in the order in which its controller makes them."""

    def __init__(self, workload: Workload, pods: Sequence[Pod], wanted: int) -> None:
        self.workload = workload
        self._pods = pods
        """One pod if all are alike, else one pod per wanted number."""
        self.waiting = list(range(wanted))
        self.in_turn = len(pods) == 1 or (workload.kind == "StatefulSet" and workload.pod_management != "Parallel")
        """Whether to skip the other pods after one finds no node, because they would fail too."""
        self.ends = workload.kind == "Job"
        """Whether its pods end by themselves and leave their place to the next ones."""

    def pod(self, number: int) -> Pod:
        return self._pods[number if len(self._pods) > 1 else 0]


def is_modelled(it: Member) -> bool:
    """Whether a run can follow its pods and the pods stay."""
    return (it.workload.stays or it.workload.kind == "DaemonSet") and is_followed(it)


def is_followed(it: Member) -> bool:
    """Whether a run can follow its pods: the scheduler sees them, and their storage and devices are known."""
    if it.workload.kind == "CronJob" or (it.workload.kind == "Job" and it.workload.suspended):
        return False
    if it.world.admission.decision(it.workload).unknown:
        return False
    if scheduled_pod(it) is None or lacks_devices(it.workload.pod, it.world):
        return False
    known = without_unknown_storage(it)
    return known.pod.volumes == it.workload.pod.volumes and known.claim_templates == it.workload.claim_templates


def pods_left(world: World, members: Sequence[Workload], choose: Choose) -> dict[Workload, int] | None:
    """Return workload → number of its pods that do not run at the end of one run; None after too many steps.

    All ``members`` must be modelled. The scheduler takes them in the given order, and retries waiting pods until
    nothing changes.
    """
    state = lasting_state(world)
    mark = state.mark()
    try:
        queues = [_queue(world.member(workload), state) for workload in members]
        wanted = [len(queue.waiting) for queue in queues]
        created = granted([(queue.workload, len(queue.waiting)) for queue in queues], world)
        for queue, count in zip(queues, created, strict=True):
            del queue.waiting[count:]
        refused = [most - count for most, count in zip(wanted, created, strict=True)]
        if not _run(queues, state, choose, steps=MOST_TRIES * (sum(wanted) + 1)):
            return None
        return {q.workload: lacking + len(q.waiting) for lacking, q in zip(refused, queues, strict=True)}
    finally:
        state.undo(mark)


def _run(queues: Sequence[_Queue], state: ClusterState, choose: Choose, steps: int) -> bool:
    """Bind pods until nothing changes. Return False if that takes more than ``steps`` decisions."""
    placed: dict[Placement, tuple[_Queue, int]] = {}
    moving = True
    while moving:
        moving = False
        for queue in queues:
            for number in tuple(queue.waiting):
                if steps <= 0:
                    return False
                steps -= 1
                placement, victims = _bind(queue.pod(number), state, choose)
                moving = moving or bool(victims)  # evicted pods wait again
                for victim in victims:
                    if victim in placed:  # its controller recreates it; other pods do not come back
                        owner, again = placed.pop(victim)
                        owner.waiting.append(again)
                if placement is not None:
                    queue.waiting.remove(number)
                    if queue.ends:
                        state.remove(placement)
                    else:
                        placed[placement] = (queue, number)
                    moving = True
                elif queue.in_turn:
                    break
    return True


def _bind(pod: Pod, state: ClusterState, choose: Choose) -> tuple[Placement | None, tuple[Placement, ...]]:
    """Return the pod's placement (None if not bound) and the pods that it preempted."""
    found = diagnose(pod, state)
    if found.feasible:
        return bind(pod, choose(found.feasible), state), ()
    chosen = preempt(pod, found, state).chosen
    if chosen is None or not chosen.is_freed:
        return None, ()
    for victim in chosen.victims:
        state.remove(victim)
    if not diagnose(pod, state).feasible >> chosen.position & 1:
        return None, chosen.victims
    return bind(pod, chosen.position, state), chosen.victims


def _queue(it: Member, state: ClusterState) -> _Queue:
    pod = it.pod
    if it.workload.kind == "DaemonSet":
        pod = with_daemon_tolerations(pod)
        names = it.world.index.names
        pods = [pinned(pod, names[p]) for p in positions(it.daemon_nodes)]
        return _Queue(it.workload, pods, len(pods))
    wanted = it.replicas
    varies = it.workload.kind == "StatefulSet" and it.world.varying_labels
    if not varies and not it.workload.claim_templates:
        return _Queue(it.workload, (pod,), wanted)
    claims = [c for n in range(wanted) for c in claims_of(it.workload, n)]
    state.storage = state.storage.with_objects(
        claim for claim in claims if state.storage.claim(claim.namespace, claim.name) is None
    )
    own = (it.pod_of_ordinal(n) if varies else pod for n in range(wanted))
    return _Queue(it.workload, [pod_with_claims(it.workload, each, n) for n, each in enumerate(own)], wanted)


# --- orders ---------------------------------------------------------------------------------------------------------


class Drawing:
    """Choices at random. The runs of a small set often ask for none, and ``random`` takes time to import."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    @cached_property
    def random(self) -> Random:
        from random import Random

        return Random(self._seed)

    def any_fit(self, nodes: NodeSet) -> int:
        return nth(nodes, self.random.randrange(nodes.bit_count()))


def orders(
    members: Sequence[Workload], favoured: Iterable[Workload], runs: int
) -> Iterator[tuple[Sequence[Workload], Choose]]:
    """Yield ``runs`` orders: favoured members first (on the first feasible node), last, then random (on any node)."""
    first = [w for w in members if any(w is f for f in favoured)]
    rest = [w for w in members if all(w is not f for f in first)]
    for seed in range(runs):
        drawing = Drawing(seed)
        ordered = [*first, *rest] if seed % 2 == 0 else [*rest, *first]
        if seed > 1 and len(ordered) > 1:
            drawing.random.shuffle(ordered)
        yield ordered, drawing.any_fit if seed else lowest
