"""What the part of a running set proves, no trace and no search of the whole set contradicts."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import assume
from msgspec.structs import replace

from kubesched_lint.engine.bounds import counted as counting
from kubesched_lint.engine.bounds import parts
from kubesched_lint.engine.bounds.counting import Counting
from kubesched_lint.engine.bounds.idle import idle
from kubesched_lint.engine.events.answers.event_bounds import EventBounds
from kubesched_lint.engine.events.start.evictable_pods import guests_of
from kubesched_lint.engine.events.start.groups import group_in
from kubesched_lint.engine.events.start.simulated_set import UNREACHABLE_OF, SimulatedMember, SimulatedSet
from kubesched_lint.engine.events.start.timelines import timeline_of
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.labels import Requirement, Selector
from kubesched_lint.engine.model.nodes.node import HOSTNAME, ZONE, Node
from kubesched_lint.engine.model.pod import BoundPod, Owner, Pod, PodAffinityTerm, SpreadConstraint, Toleration
from kubesched_lint.engine.model.policy import Autoscaler, DisruptionBudget
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.runs.event_outcomes import EventOutcomes
from kubesched_lint.engine.runs.judging import is_stuck
from kubesched_lint.engine.verdicts.matrix import EVENTS
from tests import drawn as st
from tests.drawn import given
from tests.events.enclosed import thorough
from tests.events.made_sets import nodes
from tests.events.made_sets import workload as made

KINDS = ("Deployment", "StatefulSet", "DaemonSet")
RANKS = (0, 0, 0, 5, -5)
REPLICA_SET = Owner("ReplicaSet", "other")
NEAR_OTHERS = PodAffinityTerm("pool", Selector((Requirement("app", "In", ("other",)),)))
NEAR_ITSELF = PodAffinityTerm(HOSTNAME, Selector((Requirement("app", "In", ("new",)),)))


@st.composite
def ranked(draw, app: str):
    drawn = draw(made(app, KINDS))
    return replace(drawn, pod=replace(drawn.pod, priority=draw(st.sampled_from(RANKS))))


@st.composite
def guest(draw, cluster, number: int) -> BoundPod:
    requests = {"cpu": draw(st.sampled_from([100, 600]))}
    pod = Pod("default", {"app": draw(st.sampled_from(["web", "x"]))}, requests=requests)
    node = draw(st.sampled_from([n.name for n in cluster]))
    owner = draw(st.sampled_from([None, REPLICA_SET]))
    return BoundPod(f"guest-{number}", node, replace(pod, priority=draw(st.sampled_from(RANKS))), owner)


@st.composite
def running_sets(draw) -> SimulatedSet:
    """A set that runs as a trace deployed it, beside others; one of it may be changed, new or short, or all is new."""
    cluster = draw(nodes())
    workloads = (draw(ranked("web")), draw(ranked("db")), draw(ranked("etc")))
    kept = Selector((Requirement("app", "In", (draw(st.sampled_from(["web", "db"])),)),))
    budget = DisruptionBudget("default", "keep", kept, min_available=draw(st.integers(0, 2)))
    objects = Inventory(
        pods=tuple(draw(guest(cluster, i)) for i in range(draw(st.integers(0, 2)))),
        budgets=(budget,) * draw(st.integers(0, 1)),
    )
    scalers = {0: Autoscaler("default", "web", workloads[0].ref, max_replicas=draw(st.integers(1, 5)))}
    setting = SimulatedSet(cluster, objects, workloads, scalers=scalers)
    runs = _deployed(setting, seed=draw(st.integers(0, 99)))
    assume(runs)
    changes = dict.fromkeys(runs, False)
    match draw(st.integers(0, 4)):
        case 0:
            changes[draw(st.sampled_from(sorted(runs)))] = True
        case 1:
            runs = {i: pods[:-1] for i, pods in runs.items() if i != 1 or pods[:-1]}
        case 2:
            del runs[draw(st.sampled_from(sorted(runs)))]
        case 3:
            runs = {}
    return replace(setting, running={i: pods for i, pods in runs.items() if pods}, changes=changes)


def _deployed(setting: SimulatedSet, seed: int) -> dict[int, tuple[BoundPod, ...]]:
    """Return the pods at the end of a trace, which must have a node each."""
    timeline = timeline_of(setting, range(len(setting.workloads)), expected=True, most_states=0, runs=1, seed=seed)
    (state,), model = timeline.states[:1], timeline.model()
    assume(not state.waiting and not any(state.pinned))
    found: dict[int, list[BoundPod]] = {}
    for position, held in enumerate(state.bound):
        for slot, count in held:
            own = found.setdefault(model.pod_types.slots[slot].workload, [])
            name = setting.workloads[model.pod_types.slots[slot].workload].name
            node = setting.nodes[position].name
            own += [BoundPod(f"{name}-{len(own) + n}", node, model.pod(slot)) for n in range(count)]
    return {number: tuple(pods) for number, pods in found.items()}


def _ends(setting: SimulatedSet, event: str, number: int) -> Iterator[object]:
    """Yield ends of traces of the whole set; and of every scheduler, where a search is small and nobody preempts."""
    everybody, names = range(len(setting.workloads)), [n.name for n in setting.nodes]
    guests = guests_of(setting).hosted
    for seed in range(3):
        traces = timeline_of(
            setting, everybody, expected=False, most_states=0, runs=2, seed=seed, preempting=True, guests=guests
        )
        yield from EventOutcomes(setting, everybody, [traces], names).ends(event, number) or ()
    if len({pod.priority for pod in (*setting.pods, *(b.pod for b in setting.objects.pods))}) == 1:
        search = timeline_of(setting, everybody, expected=False, most_states=800, guests=guests)
        if search.sound:
            yield from EventOutcomes(setting, everybody, [search], names).ends(event, number) or ()


@thorough
@given(running_sets(), st.sampled_from(EVENTS))
def test_what_a_part_proves_no_end_of_the_whole_contradicts(setting, event):
    followed = {bound for one in guests_of(setting).hosted for bound in one.pods}
    assume(all(w.bound in followed for w in guests_of(setting).weaker(range(len(setting.workloads)))))
    proven = [
        i
        for i in range(len(setting.workloads))
        if not idle(setting.member(i), event) and parts.surely_fine(setting.member(i), event) is not None
    ]
    assume(proven)
    for number in proven:
        for end in _ends(setting, event, number):
            assert end.lack == 0, (event, number)
            assert event == "drain" or not is_stuck(event, end), (event, number)


@thorough
@given(running_sets(), st.sampled_from([*UNREACHABLE_OF, *UNREACHABLE_OF.values()]))
def test_what_counting_says_of_either_end_of_a_loss_no_end_of_the_whole_contradicts(setting, event):
    followed = {bound for one in guests_of(setting).hosted for bound in one.pods}
    assume(all(w.bound in followed for w in guests_of(setting).weaker(range(len(setting.workloads)))))
    counting, numbers = Counting(setting), range(len(setting.workloads))
    every = [
        (i, counting.bounds(event, group_in(setting.member(i), event), i))
        for i in numbers
        if not idle(setting.member(i), event)
    ]
    told = [(i, bounds) for i, bounds in every if bounds.least.pods or bounds.most.pods < bounds.wanted]
    assume(told)
    for number, bounds in told:
        for end in _ends(setting, event, number):
            pods = end.filled(bounds.wanted)
            assert bounds.least.pods <= pods, (event, number, bounds.least.why)
            assert min(pods, bounds.wanted) <= bounds.most.pods, (event, number, bounds.most.why)


def test_a_new_workload_meets_only_pods_that_move_when_a_node_is_lost() -> None:
    """Two of three nodes have room for two pods more, which come from the third one at most."""
    cluster = tuple(Node(f"n{i}", allocatable={"cpu": 300, "pods": 110}) for i in range(3))
    web, new = _sized("web", 5), _sized("new", 1)
    running = {0: tuple(BoundPod(f"web-{i}", f"n{i % 3}", web.pod) for i in range(5))}

    def proven(event: str, kind: str = "Job", web: Workload = web) -> bool:
        pod = replace(new.pod, required_affinity=(NEAR_ITSELF,)) if kind == "near" else new.pod
        made = replace(new, kind="Job" if kind == "near" else kind, pod=pod)
        setting = SimulatedSet(cluster, Inventory(), (web, made), running=running, changes={0: False})
        return parts.surely_fine(setting.member(1), event) is not None

    for event in ("node-loss", "drain"):
        assert proven(event)
        assert proven(event, "Deployment")
        assert not proven(event, "near"), "it may follow a pod that is lost"
        assert not proven(event, web=replace(web, replicas=6)), "nothing stands for certain"


def test_who_is_preempted_before_a_loss_may_be_anywhere() -> None:
    """New pods that may have to preempt others make these move as well, whatever is lost after that."""
    cluster = tuple(Node(f"n{i}", {ZONE: f"z{i // 2}"}, allocatable={"cpu": 200, "pods": 110}) for i in range(3))
    assert parts._after_deploy(_pressed_before(cluster, priority=5)).whole == {0, 1}
    assert parts._after_deploy(_pressed_before(cluster, priority=0)).whole == {0}


def _pressed_before(cluster: tuple[Node, ...], priority: int) -> SimulatedSet:
    new, web = _sized("new", 1, priority=priority), _sized("web", 6)
    running = {1: tuple(BoundPod(f"web-{i}", f"n{i % 3}", web.pod) for i in range(6))}
    return SimulatedSet(cluster, Inventory(), (new, web), running=running, changes={1: False})


def _spread_beside_others() -> SimulatedSet:
    """A pod in each of three zones, which spread strictly; what else runs fits nowhere else."""
    cluster = tuple(
        Node(f"{z}{i}", {HOSTNAME: f"{z}{i}", ZONE: z}, allocatable={"cpu": 4000, "memory": 8 << 30, "pods": 110})
        for z in "abc"
        for i in range(2)
    )
    own = Selector((Requirement("app", "In", ("web",)),))
    web = Pod(
        "default", {"app": "web"}, requests={"cpu": 500}, spread=(SpreadConstraint(1, ZONE, "DoNotSchedule", own),)
    )
    rest = Pod("default", {"app": "rest"}, requests={"cpu": 1500})
    runs = {
        0: tuple(BoundPod(f"web-{z}", f"{z}0", web) for z in "abc"),
        1: tuple(BoundPod(f"rest-{n.name}-{i}", n.name, rest) for n in cluster for i in range(2)),
    }
    workloads = (
        Workload("Deployment", "default", "web", web, replicas=3),
        Workload("Deployment", "default", "rest", rest, replicas=12),
    )
    return SimulatedSet(cluster, Inventory(), workloads, running=runs, changes={0: False, 1: False})


def test_a_spread_leads_to_the_zone_that_lost_a_pod() -> None:
    """The other two zones hold one pod each, and no zone with more than the least may get the next one."""
    for event in ("node-loss", "node-unreachable", "drain"):
        assert Counting(_spread_beside_others()).bounds(event, (0, 1), 0).is_fine, event
    assert not Counting(_spread_beside_others()).bounds("zone-loss", (0, 1), 1).is_fine


def test_an_unreachable_zone_holds_pods_that_run_at_max_skew() -> None:
    """Each zone has one pod. Whichever is unreachable counts as empty, and the others get no second one."""
    sets = _spread_beside_others()
    bounds = Counting(sets).bounds("zone-unreachable", (0, 1), 0)
    assert bounds.is_bad
    assert bounds.most.pods == 2
    assert not Counting(sets).bounds("zone-loss", (0, 1), 0).is_bad
    assert not Counting(sets).bounds("node-unreachable", (0, 1), 0).is_bad
    gone = tuple(bound for bound in sets.running[0] if bound.node != "c0")
    moved = replace(sets, running={**sets.running, 0: (*gone, replace(gone[0], name="web-c", node="a1"))})
    assert not Counting(moved).bounds("zone-unreachable", (0, 1), 0).is_bad, "zone c has none of its pods"
    loose = replace(sets.workloads[0], pod=replace(sets.workloads[0].pod, tolerations=(Toleration(operator="Exists"),)))
    stays = replace(sets, workloads=(loose, sets.workloads[1]))
    assert not Counting(stays).bounds("zone-unreachable", (0, 1), 0).is_bad, "nobody evicts its pods"


def test_a_stateful_set_that_runs_in_every_zone_lacks_a_pod_while_one_is_unreachable() -> None:
    sets = _spread_beside_others()
    free = replace(sets.workloads[0], kind="StatefulSet", pod=replace(sets.workloads[0].pod, spread=()))
    runs = {**sets.running, 0: tuple(replace(bound, pod=free.pod) for bound in sets.running[0])}
    stateful = replace(sets, workloads=(free, sets.workloads[1]), running=runs)
    bounds = Counting(stateful).bounds("zone-unreachable", (0, 1), 0)
    assert (bounds.is_bad, bounds.most.pods) == (True, 2)
    assert not Counting(stateful).bounds("node-unreachable", (0, 1), 0).is_bad, "other nodes have none of its pods"


def test_pods_of_others_that_may_be_preempted_hold_no_zone() -> None:
    """Zones b and c are full and hold pods that the spread counts; only zone a may have the fewest."""
    names = [f"{z}{i}" for z in "abc" for i in range(2)]
    cluster = tuple(
        Node(n, {HOSTNAME: n, ZONE: n[0]}, allocatable={"cpu": 2000, "memory": 8 << 30, "pods": 110}) for n in names
    )
    team = Selector((Requirement("team", "In", ("x",)),))
    spread = (SpreadConstraint(1, ZONE, "DoNotSchedule", team),)
    web = Pod("default", {"app": "web", "team": "x"}, requests={"cpu": 500}, spread=spread)
    counted = Pod("default", {"app": "seen", "team": "x"}, requests={"cpu": 100})
    full = Pod("default", {"app": "full"}, requests={"cpu": 1900}, priority=9)
    guests = [BoundPod(f"{p.labels['app']}-{n}", n, p, REPLICA_SET) for n in names[2:] for p in (counted, full)]

    def surely_runs(rank: int) -> bool:
        workloads = (
            Workload("Deployment", "default", "web", web, replicas=1),
            Workload(
                "Deployment",
                "default",
                "other",
                Pod("default", {"app": "other"}, requests={"cpu": 200}, priority=rank),
                replicas=1,
            ),
        )
        return counting.count(
            SimulatedSet(cluster, Inventory(pods=tuple(guests)), workloads).member(0), "deploy"
        ).is_fine

    assert surely_runs(0)
    assert not surely_runs(5), "a stronger pod may drive the counted ones out, so that zone b may have the fewest"


def test_a_workload_without_pods_leaves_nobody_out() -> None:
    """Where nothing runs, the part is the whole, and is not made."""
    cluster = (Node("n0", allocatable={"cpu": 4000, "pods": 110}),)
    setting = SimulatedSet(cluster, Inventory(), (_sized("web", 1), _sized("off", 0)))
    assert parts.quiet(setting) == frozenset()
    assert all(parts.surely_fine(setting.member(number), "rollout") is None for number in range(2))


def test_what_only_one_workload_asks_is_not_remembered() -> None:
    """It would grow with the square of the set."""
    cluster = (Node("n0", allocatable={"cpu": 4000, "pods": 110}),)
    setting = SimulatedSet(cluster, Inventory(), tuple(_sized(f"web{i}", 1, priority=i) for i in range(4)))
    for number in range(4):
        parts.surely_fine(setting.member(number), "rollout")
    assert len(parts._known_pressed(setting)) == 0


def test_preempted_pods_of_others_move_where_it_is_known_who_makes_them_anew() -> None:
    """The strong pod may have to take the place of another one, for which the second node has room beside ``web``."""
    strong, web = _sized("strong", 1, priority=9, pool="n0"), _sized("web", 1, pool="n1")
    weak = _sized("other", 1).pod

    def proven(owner: Owner | None, near: bool = False, room: int = 300) -> bool:
        rooms = {"n0": 200, "n1": room}
        cluster = tuple(Node(name, {"pool": name}, allocatable={"cpu": c, "pods": 110}) for name, c in rooms.items())
        others = tuple(BoundPod(f"other-{i}", "n0", weak, owner) for i in range(2))
        asks = replace(web.pod, required_affinity=(NEAR_OTHERS,)) if near else web.pod
        made = SimulatedSet(cluster, Inventory(pods=others), (strong, replace(web, pod=asks)))
        return parts.surely_fine(made.member(1), "deploy") is not None

    assert proven(REPLICA_SET)
    assert proven(None)
    assert not proven(REPLICA_SET, room=200), "they may take all room that is left"
    assert not proven(Owner("Operator", "other")), "another pod may come in its place"
    assert not proven(None, near=True), "nobody makes it again"


def test_a_preempted_pod_of_others_may_preempt_in_turn() -> None:
    """The strongest shares no node with ``web``, but the pod that it preempts does, and outranks ``web``."""
    size = {"cpu": 100, "pods": 110}
    cluster = tuple(Node(name, {"pool": name}, allocatable=size) for name in ("n0", "n1"))
    strong, web = _sized("strong", 1, priority=9, pool="n0"), _sized("web", 1, pool="n1")
    between = BoundPod("other-0", "n0", _sized("other", 1, priority=5).pod, REPLICA_SET)
    running = {1: (BoundPod("web-0", "n1", web.pod),)}

    def proven(others: tuple[BoundPod, ...]) -> bool:
        setting = SimulatedSet(cluster, Inventory(pods=others), (strong, web), running=running, changes={1: False})
        return parts.surely_fine(setting.member(1), "deploy") is not None

    assert not proven((between,))
    assert proven((replace(between, owner=None),))
    assert proven((replace(between, pod=_sized("other", 1).pod),))


def test_a_lost_pod_with_an_old_template_may_preempt() -> None:
    """No node has room for the new pod, so the old one is there when its node is lost, and outranks the DaemonSet."""
    size = {"cpu": 100, "pods": 110}
    cluster = tuple(Node(name, {"pool": name}, allocatable=size) for name in ("n0", "n1"))
    small, daemon = _sized("web", 1), replace(_sized("etc", 1, priority=5, pool="n1"), kind="DaemonSet")
    large = replace(small, pod=replace(small.pod, requests={"cpu": 200}))

    def proven(old_priority: int) -> bool:
        old = BoundPod("web-0", "n0", replace(small.pod, priority=old_priority))
        running = {0: (old,), 1: (BoundPod("etc-0", "n1", daemon.pod),)}
        setting = SimulatedSet(cluster, Inventory(), (large, daemon), running=running, changes={0: True, 1: False})
        return parts.surely_fine(setting.member(1), "node-loss") is not None

    assert proven(5)
    assert not proven(6)


def _sized(name: str, replicas: int, priority: int = 0, **labels: str) -> Workload:
    """``labels`` are those of the nodes that it may use."""
    pod = Pod("default", {"app": name}, requests={"cpu": 100}, priority=priority, node_selector=labels)
    return Workload("Deployment", "default", name, pod, replicas=replicas)


def test_who_drives_out_a_pod_of_two_terms_may_miss_that_it_is_gone() -> None:
    """The hint asks whether all terms of the deleted pod select the waiting one (podMatchesAllAffinityTerms)."""
    cluster = (Node("n0", {HOSTNAME: "n0"}, allocatable={"cpu": 4000, "pods": 110}),)
    all_pods, own = PodAffinityTerm(HOSTNAME, Selector(())), PodAffinityTerm(HOSTNAME, _only("weak"))
    strong = Workload("ReplicaSet", "default", "strong", Pod("default", {"app": "strong"}, priority=0), 2)
    for terms, is_fine in (((all_pods, own), False), ((all_pods,), True)):
        pod = Pod("default", {"app": "weak"}, priority=-10, required_anti_affinity=terms)
        weak = Workload("ReplicaSet", "default", "weak", pod, 1)
        member = SimulatedSet(cluster, Inventory(), (weak, strong)).member(1)
        assert (parts.surely_fine(member, "deploy") is not None) is is_fine, terms


def _counted(monkeypatch) -> list[str]:
    """Return the names of the workloads of which parts count an event, as they are counted."""
    asked: list[str] = []

    def counting(member: SimulatedMember, event: str) -> EventBounds:
        asked.append(member.workload.name)
        return counting_alone(member, event)

    counting_alone = parts.count
    monkeypatch.setattr(parts, "count", counting)
    return asked


def _one_on_each(*specs: Pod, guests: tuple[BoundPod, ...] = ()) -> SimulatedSet:
    """A pod of each workload on each of four nodes in two zones, each with room for two pods more."""
    cluster = tuple(
        Node(f"n{i}", {HOSTNAME: f"n{i}", ZONE: f"z{i // 2}"}, allocatable={"cpu": 100 * (len(specs) + 2), "pods": 110})
        for i in range(4)
    )
    workloads = tuple(Workload("Deployment", "default", pod.labels["app"], pod, replicas=4) for pod in specs)
    runs = {i: tuple(BoundPod(f"{w.name}-{n.name}", n.name, w.pod) for n in cluster) for i, w in enumerate(workloads)}
    return SimulatedSet(cluster, Inventory(pods=guests), workloads, running=runs, changes=dict.fromkeys(runs, False))


def test_a_drain_asks_nothing_that_the_loss_of_its_node_has_answered(monkeypatch) -> None:
    setting, asked = _one_on_each(_sized("web", 4).pod, _sized("db", 4, priority=5).pod), _counted(monkeypatch)
    for event in ("node-loss", "drain"):
        assert all(parts.surely_fine(member, event) for member in setting.members)
        assert len(asked) == 8, f"once for each of two workloads and four nodes: {event}"


def test_a_drained_node_without_pods_counts_for_a_spread_and_a_lost_one_does_not() -> None:
    """Three pods hold a node each, and the fourth one may join none of them while the drained node is empty."""
    spread = (SpreadConstraint(1, HOSTNAME, "DoNotSchedule", _only("web")),)
    member = _one_on_each(replace(_sized("web", 4).pod, spread=spread)).member(0)
    assert parts.surely_fine(member, "node-loss")
    assert not parts.surely_fine(member, "drain")


def test_pods_that_stay_on_a_drained_node_keep_others_from_its_zone() -> None:
    """Each agent of zone z0 keeps new pods out of it; the other zone is full, for two pods of each node."""
    apart = PodAffinityTerm(ZONE, _only("web"))
    agent = Pod("default", {"app": "agent"}, required_anti_affinity=(apart,))
    full = BoundPod("full", "n2", Pod("default", {"app": "full"}, requests={"cpu": 200}), REPLICA_SET)
    guests = (BoundPod("agent-n0", "n0", agent, Owner("DaemonSet", "agent")), full, replace(full, node="n3"))
    web = _one_on_each(_sized("web", 4).pod, guests=guests)
    gone = parts._Moves(frozenset(), some=((0, 1),), lost=1)
    met = parts._Met(frozenset([0]), frozenset(), 0)
    mover = parts._part(web, gone, met).movers[0]
    assert parts._is_fine(web, gone, gone, met, mover)
    drained = gone._replace(drained=True)
    assert not parts._is_fine(web, drained, drained, met, mover)


def test_of_movers_that_preempt_the_same_pods_one_that_has_to_is_enough(monkeypatch) -> None:
    """Each of three new ones needs more room than a node has, and may drive out ``web``."""
    large = [_sized(name, 1, priority=5) for name in ("a", "b", "c")]
    large = [replace(workload, pod=replace(workload.pod, requests={"cpu": 250})) for workload in large]
    strong = BoundPod("other", "n3", Pod("default", {"app": "other"}, priority=9), REPLICA_SET)
    standing = _one_on_each(_sized("web", 4).pod, guests=(strong,))
    setting = replace(standing, workloads=(*standing.workloads, *large))
    asked = _counted(monkeypatch)
    assert parts._after_deploy(setting).whole == {0, 1, 2, 3}
    assert parts._pressed(setting, parts._after_loss(setting, "node-loss", 1), 0).pressing[0].number == 1
    assert asked == ["a"], "who has to at first has to when web moves as well, and when a node is lost"


def _only(app: str) -> Selector:
    return Selector((Requirement("app", "In", (app,)),))
