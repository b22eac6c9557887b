"""One decision of the scheduler laid open: for every node the score it gets, or the plugin that turned the pod away."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field

from kubesched_lint.cluster.nodeset import positions
from kubesched_lint.cluster.state import ClusterState, Placement
from kubesched_lint.model.labels import Selector
from kubesched_lint.model.pod import Pod
from kubesched_lint.record import record
from kubesched_lint.scheduler.detail import Details
from kubesched_lint.scheduler.framework import Diagnosis, diagnose, message
from kubesched_lint.scheduler.placement import Placer
from kubesched_lint.scheduler.preemption import preempt
from kubesched_lint.scheduler.sampling import is_sampled
from kubesched_lint.scheduler.scoring import score
from kubesched_lint.scheduler.verdict import Rejection


@record
class Obstacle:
    """Why a node was turned down: the plugin, kube-scheduler's reason verbatim, and what lies behind it."""

    plugin: str
    reason: str
    detail: str = ""
    removable: bool = False
    """Whether evicting pods from the node might help."""


@record
class NodeVerdict:
    """Either ``obstacles``, or the node fits and, where there was a choice, has scores."""

    node: str
    obstacles: tuple[Obstacle, ...] = ()
    scores: Mapping[str, int] = field(default_factory=dict)
    """Plugin → normalised score times weight."""
    total: int | None = None
    may_win: bool = False
    """Whether the scheduler may choose it."""

    @property
    def fits(self) -> bool:
        return not self.obstacles


@record
class Explanation:
    subject: str
    """What was asked about: ``Deployment shop/web``."""
    nodes: tuple[NodeVerdict, ...]
    """In the order of the cluster."""
    message: str = ""
    """The PodScheduled message when nothing fits."""
    refusal: str = ""
    """The plugin that turned the pod away before any node was looked at."""
    nominated: str = ""
    """The node on which preemption would make room."""
    victims: tuple[str, ...] = ()
    """The pods it would evict there, ``namespace/name``."""
    sampled: bool = False
    """More nodes fit than the scheduler scores: any of them may win, and its totals are those of its sample."""
    notes: tuple[str, ...] = ()
    may_grow: bool = False
    """Pools may add nodes: ``nodes`` are those of today."""
    not_created: bool = False
    """The API server refuses the pod, in the words of ``message``: no node is asked."""
    made_for: int | None = None
    """Nodes for which a DaemonSet makes a pod; None for any other pod. On others that do not fit nothing waits."""

    @property
    def fitting(self) -> tuple[NodeVerdict, ...]:
        return tuple(n for n in self.nodes if n.fits)

    @property
    def plugins(self) -> tuple[str, ...]:
        """Score plugins that had something to say, in the profile's order."""
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
    """How the scheduler would decide about an admitted pod now. ``state`` is as before when this returns.

    ``owner`` is the selector of the pod's controller (``scoring.owner_selector``). With ``one_node_each`` the pod
    stands for those that a DaemonSet makes, each for a node of its own: there is nothing to choose, hence no scores.
    """
    found = diagnose(pod, state)
    obstacles = _obstacles(found, pod, state)
    if found.feasible:
        # Without a choice the scheduler does not score.
        chooses = bool(found.feasible & (found.feasible - 1)) and not one_node_each
        nodes = _scored(found, obstacles, pod, state, owner) if chooses else _unscored(found, obstacles, state)
        return Explanation(subject, tuple(nodes), sampled=chooses and is_sampled(found), notes=tuple(notes))
    preemption = preempt(pod, found, state)
    chosen = preemption.chosen
    return Explanation(
        subject,
        tuple(_unscored(found, obstacles, state)),
        message=message(found, preemption.message),
        refusal=found.refusal.plugin if found.refusal else "SchedulingGates" if found.gated else "",
        nominated=state.index.names[chosen.position] if chosen else "",
        victims=tuple(map(_name, chosen.victims)) if chosen else (),
        notes=tuple(notes),
    )


def place_earlier(pods: Iterable[Pod], state: ClusterState, owner: Selector | None, seed: int) -> int:
    """Binds pods one after another, as the scheduler would draw; tells how many found a node before one did not."""
    placer: Placer | None = None
    placed = 0
    for pod in pods:
        if placer is None or placer.pod is not pod:
            placer = Placer(pod, state, owner, seed=seed + placed)
        if placer.place() is None:
            break
        placed += 1
    return placed


def _name(placement: Placement) -> str:
    return f"{placement.pod.namespace}/{placement.bound.name if placement.bound else '(earlier replica)'}"


def _unscored(found: Diagnosis, obstacles: Sequence[Sequence[Obstacle]], state: ClusterState) -> Iterator[NodeVerdict]:
    for i, name in enumerate(state.index.names):
        yield NodeVerdict(name, tuple(obstacles[i]), may_win=bool(found.feasible >> i & 1))


def _scored(
    found: Diagnosis,
    obstacles: Sequence[Sequence[Obstacle]],
    pod: Pod,
    state: ClusterState,
    owner: Selector | None,
) -> Iterator[NodeVerdict]:
    scores = score(pod, state, found.feasible, owner)
    by_plugin, total = scores.by_plugin, scores.total
    winners = found.feasible if is_sampled(found) else scores.best
    for i, name in enumerate(state.index.names):
        if found.feasible >> i & 1:
            own = {plugin: values[name] for plugin, values in by_plugin.items()}
            yield NodeVerdict(name, (), own, total[name], bool(winners >> i & 1))
        else:
            yield NodeVerdict(name, tuple(obstacles[i]))


def _obstacles(found: Diagnosis, pod: Pod, state: ClusterState) -> list[list[Obstacle]]:
    """Per position. Where a PreFilter refused the pod every node has the same one."""
    obstacles: list[list[Obstacle]] = [[] for _ in state.index.names]
    if found.gated:
        everywhere = Obstacle("SchedulingGates", message(found))
    elif found.refusal is not None:
        everywhere = Obstacle(found.refusal.plugin, found.refusal.message, removable=found.refusal.resolvable)
    else:
        details = Details(pod, state)
        for rejection in found.rejections:
            for position in positions(rejection.nodes):
                obstacles[position].append(_obstacle(rejection, details.of(rejection, position)))
        pinned = ", ".join(found.pinned_by)
        for position in positions(found.outside):
            reason = f"node(s) didn't satisfy plugin(s) [{' '.join(found.pinned_by)}]"
            obstacles[position].append(Obstacle(pinned, reason))
        return obstacles
    return [[everywhere] for _ in obstacles]


def _obstacle(rejection: Rejection, detail: str) -> Obstacle:
    return Obstacle(rejection.plugin, rejection.reason, detail, removable=rejection.resolvable)
