"""From a world to its courses: the state right after ``kubectl apply``, and every next state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from kubesched_lint.engine.model.decode.nodes import decode_pod_object
from kubesched_lint.engine.model.pod import Pod
from tests.worlds import controllers
from tests.worlds.admission import NotCoveredError
from tests.worlds.controllers import NEWEST, WAITS, Mine, State
from tests.worlds.filters import Filters, Kind, Placed
from tests.worlds.hints import STORAGE, can_oversleep, wakes
from tests.worlds.inventory import Held
from tests.worlds.quotas import is_counted, is_granted
from tests.worlds.wanted import Wanted, identity

Value = dict[str, Any]
Event = tuple[list[Pod], list[Pod]]
"""Pods that were bound, and bound pods that went."""


class Courses(Wanted):
    """Raises NotCoveredError for a world that the reference does not know."""

    keeps_terminating = False
    """Whether pods that terminate stay: no kubelet ends them."""

    # --- what is asked ----------------------------------------------------------------------------------------------

    def names(self) -> list[str]:
        return [f"{v['kind']} {v['metadata']['namespace']}/{v['metadata']['name']}" for v in self._workloads]

    def wanted(self, number: int) -> int:
        value = self._workloads[number]
        if value["kind"] == "DaemonSet":
            return len(self._targets(number))
        return self._replicas(value)

    def end(self, state: State, number: int) -> tuple[int, int, bool]:
        """Pods bound, those of the newest template among them, and whether that is all that is wanted and there."""
        mine = self._mine(state, number)
        bound = [kind for kind, (_, position) in mine if position >= 0]
        fresh = sum(kind.revision == NEWEST for kind in bound)
        return len(bound), fresh, fresh == len(mine) == self.wanted(number)

    def first_choice(self, number: int) -> tuple[list[str], list[str]] | None:
        """Nodes on which the first pod fits beside what runs of others, and those that preemption may choose.

        None if unknown.
        """
        kind = self._workloads[number]["kind"]
        slot: int | str = 0 if kind == "StatefulSet" or self._has_slots(number) else ""
        start = self.start()
        made = self._kind(number, NEWEST, slot)
        if made is None or made.claims or made.pod.node_name or kind == "DaemonSet" or made.pod.scheduling_gates:
            return None
        if not self._is_granted(start, made):
            return None
        beside = [one for one in start.pods if self.filters.kinds[one[0]].workload != number]
        codes = self.filters.codes(made.number, beside, start.disks)
        fitting = [n.name for n, code in zip(self.filters.nodes, codes, strict=True) if not code]
        chosen = [] if fitting else self.filters.evictions(made.number, beside, start.disks, codes)
        return fitting, [self.filters.nodes[position].name for position, _ in chosen]

    def described(self, state: State) -> str:
        names = [*self.names(), "others"]
        where = [n.name for n in self.filters.nodes] + ["waits"]
        found = Counter(
            (
                names[self.filters.kinds[k].workload],
                self.filters.kinds[k].revision,
                where[p] if p >= WAITS else "sleeps",
            )
            for k, p in state.pods
        )
        disks = ", ".join(f"{key[1]} on {volume}" for key, volume in state.disks)
        pods = ", ".join(f"{n} of {name}{'' if not r else ' (old)'} {w}" for (name, r, w), n in sorted(found.items()))
        return f"{pods}; sizes {dict(state.sizes)}; {disks}"

    # --- the first state --------------------------------------------------------------------------------------------

    def start(self) -> State:
        pods = []
        for value in self._pods:
            kind = self._holds(self._standing(value), self.filters.devices.held_by(value))
            pods.append((kind.number, self._positions[value["spec"]["nodeName"]]))
        sizes = dict(self._sizes)
        for number, value in enumerate(self._workloads):
            if value["kind"] == "Pod" and identity(value) in self._live_pods:
                sizes[number, NEWEST] = 1
        disks = {key: c.volume_name for key, c in self._storage.claims.items() if c.volume_name}
        return self._made_state(pods, sizes, tuple(sorted(disks.items())))

    def _standing(self, value: Value) -> Kind:
        meta = value["metadata"]
        owner = next(iter(meta.get("ownerReferences", ())), None)
        for number, workload in enumerate(self._workloads):
            if workload["metadata"]["namespace"] != meta["namespace"]:
                continue
            found = self._owned(number, workload, value, owner)
            if found is not None:
                return found
        pod = decode_pod_object({**value, "spec": {k: v for k, v in value["spec"].items() if k != "nodeName"}})
        claims = tuple(
            (meta["namespace"], v["persistentVolumeClaim"]["claimName"])
            for v in value["spec"].get("volumes", ())
            if "persistentVolumeClaim" in v
        )
        found = Kind(len(self.filters.kinds), pod, -1, 0, "", claims, bool(meta.get("deletionTimestamp")))
        self.filters.kinds.append(found)
        return found

    def _owned(self, number: int, workload: Value, value: Value, owner: Value | None) -> Kind | None:
        name, kind = workload["metadata"]["name"], workload["kind"]
        if owner is None:
            if kind == "Pod" and value["metadata"]["name"] == name:
                return self._sure(number, NEWEST, "")
            adopts = kind == "ReplicaSet" and self._adopts(workload, value)
            return self._stranger(number, value) if adopts else None
        if kind == "Deployment":
            for (of, revision), (_, template_hash) in self._templates.items():
                if of == number and owner["name"] == f"{name}-{template_hash}":
                    return self._sure(number, revision, "")
        if kind == "ReplicaSet" and (owner["kind"], owner["name"]) == (kind, name):
            return self._sure(number, NEWEST, "")
        if kind == "StatefulSet" and (owner["kind"], owner["name"]) == (kind, name):
            ordinal = int(value["metadata"]["name"].rpartition("-")[2])
            return self._sure(number, 1 if (number, 1) in self._templates else NEWEST, ordinal)
        return None

    def _stranger(self, number: int, value: Value) -> Kind:
        """A pod that a ReplicaSet adopts."""
        pod = decode_pod_object({**value, "spec": {k: v for k, v in value["spec"].items() if k != "nodeName"}})
        found = Kind(len(self.filters.kinds), pod, number, NEWEST)
        self.filters.kinds.append(found)
        return found

    def _sure(self, number: int, revision: int, slot: int | str) -> Kind:
        if self._has_slots(number):
            raise NotCoveredError("running pods with ephemeral volumes")
        found = self._kind(number, revision, slot)
        if found is None:
            raise NotCoveredError("a running pod that would be refused now")
        return found

    # --- the next states --------------------------------------------------------------------------------------------

    def after(self, state: State) -> Iterator[State]:
        for later in self._next(state):
            yield from self._noticed(state, later) if self._may_oversleep() else (later,)

    def _next(self, state: State) -> Iterator[State]:
        """Making pods hurries: it takes nothing from anybody unless a quota counts them, or they stand at once."""
        for number in range(len(self._workloads)):
            made = self._creations(state, number)
            if (
                made
                and not is_counted(self._quotas, self._workloads[number])
                and not any(kind.pod.node_name for kind in made)
            ):
                yield self._with(state, made)
                return
        yield from self._made_one_by_one(state)
        yield from self._controllers(state)
        for key, volume in self._storage.bindings(self._awaited(state), state.disks):
            yield state._replace(disks=tuple(sorted((*state.disks, (key, volume)))))
        placed = _bound(state)
        for number, position in dict.fromkeys(state.pods):
            kind = self.filters.kinds[number]
            if position == WAITS and not kind.pod.scheduling_gates:
                yield from self._scheduled(state, kind, placed)
            elif kind.terminating and not self.keeps_terminating:
                yield self._less(state, ((number, position),))

    def _scheduled(self, state: State, kind: Kind, placed: list[Placed]) -> Iterator[State]:
        codes = self.filters.codes(kind.number, placed, state.disks)
        waiting = (kind.number, WAITS)
        candidate_nodes = [position for position, code in enumerate(codes) if not code]
        for position in candidate_nodes:
            disks = self._storage.bind(kind.claims, self.filters.nodes[position], state.disks)
            assert disks is not None
            yield self._moved(state, (waiting,), (self._bound_to(kind, position, placed),), disks)
        if candidate_nodes:
            return
        for position, victims in self.filters.evictions(kind.number, placed, state.disks, codes):
            self._deletable(victims)
            disks = self._storage.bind(kind.claims, self.filters.nodes[position], state.disks)
            assert disks is not None
            left = list(placed)
            for victim in victims:
                left.remove(victim)
            yield self._moved(state, (waiting, *victims), (self._bound_to(kind, position, left),), disks)

    def _bound_to(self, kind: Kind, position: int, placed: list[Placed]) -> Placed:
        """The pod on its node, with the devices that it gets there."""
        held = self.filters.given(kind, position, placed)
        assert held is not None
        return self._holds(kind, held).number, position

    def _holds(self, kind: Kind, held: Held) -> Kind:
        """The kind of such pods with these devices."""
        if not held:
            return kind
        known = self._holding.get((kind.number, held))
        if known is None:
            known = self._holding[kind.number, held] = replace(kind, number=len(self.filters.kinds), held=held)
            self.filters.kinds.append(known)
        return known

    def _made_one_by_one(self, state: State) -> Iterator[State]:
        for number in range(len(self._workloads)):
            for kind in self._creations(state, number):
                if self._is_granted(state, kind):
                    yield self._with(state, [kind])

    def _awaited(self, state: State) -> list[tuple[str, str]]:
        """The claims that exist: those of objects, and of pods that were made."""
        made = [c for k, _ in state.pods for c in self.filters.kinds[k].claims]
        return list(dict.fromkeys((*self._fixed, *made)))

    # --- who notices ------------------------------------------------------------------------------------------------

    def _may_oversleep(self) -> bool:
        return any(can_oversleep(kind.pod) for kind in self.filters.kinds)

    def _noticed(self, before: State, after: State) -> Iterator[State]:
        """``after`` an event, with those awake that it wakes; who could run now and is not woken may sleep on.

        Who waits may have been tried before the event, or not. So may those that are made for the victims of a
        preemption, for victims stand for a while after it.
        """
        was, now = Counter(_bound(before)), Counter(_bound(after))
        come = [self.filters.kinds[k].pod for k, _ in (now - was).elements()]
        gone = [self.filters.kinds[k] for k, _ in (was - now).elements()]
        event = (come, [kind.pod for kind in gone])
        after = after._replace(pods=tuple(sorted(self._woken(one, event, before, after) for one in after.pods)))
        found = [after]
        for number in dict.fromkeys(k for k, position in before.pods if position == WAITS):
            asleep = self._overlooked(number, event, before, after)
            if asleep is not None:
                found = [other for one in found for other in _some_asleep(one, number, asleep)]
        for kind in self._made_for(gone, after) if come else ():
            asleep = self._overlooked(kind.number, event, before, after)
            if asleep is not None and self._is_granted(after, kind):
                found += [self._moved(one, (), ((kind.number, asleep),), one.disks) for one in tuple(found)]
        yield from found

    def _woken(self, one: Placed, event: Event, before: State, after: State) -> Placed:
        number, position = one
        if position >= WAITS:
            return one
        reasons = self._reasons[WAITS - 1 - position]
        bound = before.disks != after.disks and STORAGE in reasons
        return (number, WAITS) if bound or wakes(self.filters.kinds[number].pod, reasons, *event) else one

    def _overlooked(self, number: int, event: Event, before: State, after: State) -> int | None:
        """Where pods of a kind sleep that were tried before an event and could run after it; None: none does."""
        kind, (come, gone) = self.filters.kinds[number], event
        if kind.pod.scheduling_gates or not (gone or (come and kind.pod.required_affinity)):
            return None
        if not all(self.filters.codes(number, _bound(before), before.disks)):
            return None
        if all(self.filters.codes(number, _bound(after), after.disks)):
            return None
        reasons = self.filters.rejecting(number, _bound(before), before.disks)
        if not reasons or wakes(kind.pod, reasons, come, gone):
            return None
        if reasons not in self._reasons:
            self._reasons.append(reasons)
        return WAITS - 1 - self._reasons.index(reasons)

    def _made_for(self, gone: list[Kind], after: State) -> list[Kind]:
        """What controllers make that do not wait until the pods have gone that somebody else takes from them."""
        owners = dict.fromkeys(kind.workload for kind in gone if kind.workload >= 0)
        able = [i for i in owners if self._workloads[i]["kind"] in ("Deployment", "ReplicaSet", "Job")]
        return [kind for i in able for kind in dict.fromkeys(self._creations(after, i))]

    # --- controllers ------------------------------------------------------------------------------------------------

    def _mine(self, state: State, number: int) -> Mine:
        kinds = self.filters.kinds
        return [(kinds[one[0]], one) for one in state.pods if kinds[one[0]].workload == number]

    def _creations(self, state: State, number: int) -> list[Kind]:
        """The pods that its controller would make now."""
        value, mine = self._workloads[number], self._mine(state, number)
        match value["kind"]:
            case "Deployment" | "ReplicaSet":
                wanted = [
                    (revision, size - sum(k.revision == revision for k, _ in mine))
                    for (of, revision), size in state.sizes
                    if of == number
                ]
            case "StatefulSet":
                step = self._stateful(number, value, mine)
                return [k for o in step.create if (k := self._kind(number, NEWEST, o)) is not None]
            case "DaemonSet":
                there = {k.slot for k, _ in mine}
                missing = [name for name in self._targets(number) if name not in there]
                return [k for name in missing if (k := self._kind(number, NEWEST, name)) is not None]
            case "Pod":
                wanted = [(NEWEST, 1 if not mine and not self._was_made(state, number) else 0)]
            case _:
                wanted = [(NEWEST, self._replicas(value) - len(mine))]
        found: list[Kind] = []
        for revision, count in wanted:
            slots: list[int | str] = [""] * max(count, 0)
            if self._has_slots(number) and count > 0:
                slots = list(controllers.free_slots([k.slot for k, _ in mine if isinstance(k.slot, int)], count))
            found += [k for s in slots if (k := self._kind(number, revision, s)) is not None]
        return found

    def _was_made(self, state: State, number: int) -> bool:
        """A bare pod is made once: its size is 1 from then on."""
        return dict(state.sizes).get((number, NEWEST), 0) == 1

    def _stateful(self, number: int, value: Value, mine: Mine) -> controllers.Step:
        members = {int(k.slot): (k.revision, position >= 0) for k, (_, position) in mine}
        ordered = value["spec"].get("podManagementPolicy") != "Parallel"
        return controllers.stateful_set(members, self._replicas(value), ordered=ordered)

    def _controllers(self, state: State) -> Iterator[State]:
        """Sizes and deletions."""
        for number, value in enumerate(self._workloads):
            mine = self._mine(state, number)
            if value["kind"] in ("Deployment", "ReplicaSet"):
                yield from self._sized(state, number, mine)
            if value["kind"] == "StatefulSet":
                gone = self._stateful(number, value, mine).delete
                if gone:
                    yield self._less(state, tuple(placed for k, placed in mine if k.slot in gone))

    def _sized(self, state: State, number: int, mine: Mine) -> Iterator[State]:
        sizes = {revision: size for (of, revision), size in state.sizes if of == number}
        actual = Counter(k.revision for k, _ in mine)
        bound = Counter(k.revision for k, (_, position) in mine if position >= 0)
        for revision, size in sizes.items():
            if actual[revision] > size:
                own = [one for one in mine if one[0].revision == revision]
                for gone in dict.fromkeys(controllers.deletions(own, mine, actual[revision] - size)):
                    yield self._less(state, gone)
                return
        if self._workloads[number]["kind"] == "Deployment":
            spec = {**self._workloads[number]["spec"], "replicas": self._replicas(self._workloads[number])}
            changed = controllers.deployment(spec, sizes, bound, actual)
            if changed:
                every = {**dict(state.sizes), **{(number, revision): size for revision, size in changed.items()}}
                yield self._made_state(state.pods, every, state.disks)

    # --- states -----------------------------------------------------------------------------------------------------

    def _is_granted(self, state: State, kind: Kind) -> bool:
        return is_granted(self._quotas, kind, [self.filters.kinds[k] for k, _ in state.pods])

    def _made_state(self, pods: Any, sizes: Mapping[tuple[int, int], int], disks: Any) -> State:
        return State(tuple(sorted(pods)), tuple(sorted(sizes.items())), disks)

    def _with(self, state: State, made: list[Kind]) -> State:
        pods, sizes = list(state.pods), dict(state.sizes)
        for kind in made:
            name = kind.pod.node_name
            pods.append((kind.number, self._admitted(kind, pods) if name else WAITS))
            if self._workloads[kind.workload]["kind"] == "Pod":
                sizes[kind.workload, NEWEST] = 1
        return self._made_state(pods, sizes, state.disks)

    def _admitted(self, kind: Kind, pods: list[Placed]) -> int:
        """The node of a pod that goes past the scheduler; its kubelet asks about room, ports and labels only."""
        position = self._positions[kind.pod.node_name]
        bare = replace(kind.pod, spread=(), required_affinity=(), required_anti_affinity=())
        alone = Filters(self.filters.nodes, self.filters.namespaces, self._storage, self.filters.devices)
        alone.kinds = [replace_kind(k, self.filters.nodes) for k in self.filters.kinds]
        alone.kinds[kind.number] = Kind(kind.number, bare, kind.workload)
        if alone.codes(kind.number, [p for p in pods if p[1] >= 0], ())[position]:
            raise NotCoveredError("a kubelet would turn the pod away")
        return position

    def _deletable(self, gone: tuple[Placed, ...]) -> None:
        for number, _ in gone:
            kind = self.filters.kinds[number]
            if any(key[1].startswith("~") for key in kind.claims):
                raise NotCoveredError("an ephemeral volume goes with its pod")

    def _less(self, state: State, gone: tuple[Placed, ...]) -> State:
        self._deletable(gone)
        return self._moved(state, gone, (), state.disks)

    def _moved(self, state: State, gone: tuple[Placed, ...], come: tuple[Placed, ...], disks: Any) -> State:
        pods = list(state.pods)
        for one in gone:
            pods.remove(one)
        return state._replace(pods=tuple(sorted((*pods, *come))), disks=disks)


def _bound(state: State) -> list[Placed]:
    return [one for one in state.pods if one[1] >= 0]


def _some_asleep(state: State, number: int, asleep: int) -> Iterator[State]:
    """Every way in which none, some or all of the waiting pods of a kind sleep."""
    pods = list(state.pods)
    yield state
    while (number, WAITS) in pods:
        pods.remove((number, WAITS))
        pods.append((number, asleep))
        yield state._replace(pods=tuple(sorted(pods)))


def replace_kind(kind: Kind, nodes: Any) -> Kind:
    """Without what other pods say to the scheduler."""
    return Kind(kind.number, replace(kind.pod, required_anti_affinity=()), kind.workload)
