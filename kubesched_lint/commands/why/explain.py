"""Explain one decision of the scheduler: for every node its scores, or the plugin that rejects the pod."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from kubesched_lint.commands.why.groups import GroupAnswer
from kubesched_lint.engine.cluster.nodeset import positions
from kubesched_lint.engine.cluster.state import ClusterState, Placement
from kubesched_lint.engine.model.labels import Selector
from kubesched_lint.engine.model.pod import DEVICES_PLUGIN, Pod
from kubesched_lint.engine.scheduler.detail import Details
from kubesched_lint.engine.scheduler.devices.life import allocations
from kubesched_lint.engine.scheduler.framework import GATED, UNASKED, Diagnosis, diagnose, message
from kubesched_lint.engine.scheduler.placement import is_sampled
from kubesched_lint.engine.scheduler.plugins.dynamic_resources import attempt_of
from kubesched_lint.engine.scheduler.plugins.verdict import Rejection
from kubesched_lint.engine.scheduler.preemption.preemption import preempt
from kubesched_lint.engine.scheduler.scoring import score
from kubesched_lint.explaining.objects.refused import Refusal


class Obstacle(Struct, frozen=True):
    """Why a node was rejected: the plugin, kube-scheduler's reason verbatim, and a detail."""

    plugin: str
    reason: str
    detail: str = ""
    removable: bool = False
    """Whether evicting pods from the node might help."""


WITH_POOLS = "with the nodes that pools could add: "
"""Begins the note about all pods of the workload, which belongs to the verdict."""
BY_QUOTA = "but "
"""Begins the note about the pods that a quota does not let in: it belongs to the verdict, too."""
OF_THE_VERDICT = (WITH_POOLS, BY_QUOTA)


class NodeVerdict(Struct, frozen=True):
    """``obstacles`` if the node does not fit; else ``scores`` if several nodes fit."""

    node: str
    obstacles: tuple[Obstacle, ...] = ()
    scores: Mapping[str, int] = field(default_factory=dict)
    """Plugin → normalised score times weight."""
    total: int | None = None
    may_win: bool = False
    """Whether the scheduler may choose it."""
    devices: Mapping[str, Sequence[Sequence[str]]] = field(default_factory=dict)
    """Name in ``resourceClaims`` → [request, driver, pool, device] of each device that the pod would get here."""

    @property
    def fits(self) -> bool:
        return not self.obstacles


class Explanation(Struct, frozen=True):
    subject: str
    """The workload or pod, like ``Deployment shop/web``."""
    nodes: tuple[NodeVerdict, ...]
    """In the order of the cluster."""
    message: str = ""
    """The PodScheduled message when nothing fits."""
    waits: bool = True
    """Whether a pod without a node waits; the kubelet of a node that it names refuses it instead."""
    refusal: str = ""
    """The plugin that rejected the pod before any node was examined."""
    nominated: str = ""
    """The node on which preemption would make room."""
    victims: tuple[str, ...] = ()
    """The pods it would evict there, ``namespace/name``."""
    sampled: bool = False
    """More nodes fit than the scheduler scores, so any of them may win; the totals are from a sample."""
    notes: tuple[str, ...] = ()
    may_grow: bool = False
    """Pools may add nodes; ``nodes`` has only existing ones."""
    not_created: bool = False
    """The API server rejects the pod with ``message``, so no node is examined."""
    refused: tuple[Refusal, ...] = ()
    """Why the API server refuses the workload itself; then ``not_created``, too."""
    made_for: int | None = None
    """Number of nodes for which a DaemonSet creates a pod; None for other pods. Other nodes get no pod."""

    group: GroupAnswer | None = None
    """What becomes of the gang that the pod is in."""
    replica: int = 1
    """Which of its workload's pods it is, from 1."""
    replicas: int = 1
    """The number of pods that its workload wants."""
    waits_from: int = 0
    """The first of the later replicas that finds no node if all are placed in turn; 0 if none is known."""
    waits_because: str = ""
    """The message of that replica."""

    @property
    def is_negative(self) -> bool:
        """Whether the pod never runs: no node fits, or its gang never starts."""
        return not self.fitting or (self.group is not None and self.group.never_starts)

    @property
    def lacks_facts(self) -> bool:
        """Whether some fact is not known that may exclude a node."""
        return any(note.startswith("not known: ") for note in self.notes)

    @property
    def fitting(self) -> tuple[NodeVerdict, ...]:
        return tuple(n for n in self.nodes if n.fits)

    @property
    def plugins(self) -> tuple[str, ...]:
        """Score plugins that gave a score, in the profile's order."""
        return tuple(dict.fromkeys(plugin for node in self.nodes for plugin in node.scores))


def explain(
    pod: Pod,
    state: ClusterState,
    owner: Selector | None = None,
    *,
    subject: str = "",
    notes: Sequence[str] = (),
    one_node_each: bool = False,
) -> Explanation:
    """Return how the scheduler would decide about an admitted pod now. ``state`` is unchanged on return.

    ``owner`` is the selector of the pod's controller (``scoring.owner_selector``). With ``one_node_each``, the pod
    represents the pods of a DaemonSet, one per node, so there is no choice and there are no scores.
    """
    diagnosis = diagnose(pod, state)
    obstacles = _obstacles(diagnosis, pod, state)
    if diagnosis.feasible:
        # The scheduler does not score a single node.
        chooses = bool(diagnosis.feasible & (diagnosis.feasible - 1)) and not one_node_each
        nodes = _scored(diagnosis, obstacles, pod, state, owner) if chooses else _unscored(diagnosis, obstacles, state)
        nodes = _with_devices(nodes, pod, state) if state.devices is not None else nodes
        return Explanation(subject, tuple(nodes), sampled=chooses and is_sampled(diagnosis), notes=tuple(notes))
    preemption = preempt(pod, diagnosis, state)
    chosen = preemption.chosen
    return Explanation(
        subject,
        tuple(_unscored(diagnosis, obstacles, state)),
        message=message(diagnosis, preemption.message),
        waits=not diagnosis.kubelet_of,
        refusal=diagnosis.refusal.plugin if diagnosis.refusal else _holding_back(diagnosis),
        nominated=state.index.names[chosen.position] if chosen else "",
        victims=tuple(map(_name, chosen.victims)) if chosen else (),
        notes=tuple(notes),
    )


def _name(placement: Placement) -> str:
    return f"{placement.pod.namespace}/{placement.bound.name if placement.bound else '(earlier replica)'}"


def _unscored(
    diagnosis: Diagnosis, obstacles: Sequence[Sequence[Obstacle]], state: ClusterState
) -> Iterator[NodeVerdict]:
    for i, name in enumerate(state.index.names):
        yield NodeVerdict(name, tuple(obstacles[i]), may_win=bool(diagnosis.feasible >> i & 1))


def _scored(
    diagnosis: Diagnosis,
    obstacles: Sequence[Sequence[Obstacle]],
    pod: Pod,
    state: ClusterState,
    owner: Selector | None,
) -> Iterator[NodeVerdict]:
    scores = score(pod, state, diagnosis.feasible, owner)
    by_plugin, total = scores.by_plugin, scores.total
    winners = diagnosis.feasible if is_sampled(diagnosis) else scores.best
    for i, name in enumerate(state.index.names):
        if diagnosis.feasible >> i & 1:
            own = {plugin: values[name] for plugin, values in by_plugin.items()}
            yield NodeVerdict(name, (), own, total[name], bool(winners >> i & 1))
        else:
            yield NodeVerdict(name, tuple(obstacles[i]))


def _with_devices(nodes: Iterable[NodeVerdict], pod: Pod, state: ClusterState) -> Iterator[NodeVerdict]:
    attempt = attempt_of(pod, state)
    for position, node in enumerate(nodes):
        given = allocations(attempt, position) if attempt is not None and node.fits else {}
        yield replace(node, devices=given) if given else node


def _obstacles(diagnosis: Diagnosis, pod: Pod, state: ClusterState) -> list[list[Obstacle]]:
    """Return the obstacles of each node position; if a PreFilter rejected the pod, every node has the same one."""
    obstacles: list[list[Obstacle]] = [[] for _ in state.index.names]
    if diagnosis.waits_for:
        everywhere = Obstacle(_holding_back(diagnosis), diagnosis.waits_for)
    elif diagnosis.refusal is not None:
        everywhere = Obstacle(
            diagnosis.refusal.plugin, diagnosis.refusal.message, removable=diagnosis.refusal.resolvable
        )
    else:
        details = Details(pod, state)
        for rejection in diagnosis.rejections:
            for position in positions(rejection.nodes):
                obstacles[position].append(_obstacle(rejection, details.of(rejection, position)))
        pinned = ", ".join(diagnosis.pinned_by)
        for position in positions(diagnosis.outside):
            reason = f"{UNASKED} [{' '.join(diagnosis.pinned_by)}]"
            obstacles[position].append(Obstacle(pinned, reason))
        return obstacles
    return [[everywhere] for _ in obstacles]


def _holding_back(diagnosis: Diagnosis) -> str:
    """Return the plugin that keeps the scheduler from trying the pod; empty if it is tried."""
    if not diagnosis.waits_for:
        return ""
    return "SchedulingGates" if diagnosis.waits_for == GATED else DEVICES_PLUGIN


def _obstacle(rejection: Rejection, detail: str) -> Obstacle:
    return Obstacle(rejection.plugin, rejection.reason, detail, removable=rejection.resolvable)
