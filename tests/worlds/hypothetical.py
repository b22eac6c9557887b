"""Cells of hypotheses held against the exhaustive reference: ``python -m tests.worlds.hypothetical --count N``.

The reference deploys a world, changes the nodes under each of its ends as plain values, and follows what happens then
from a world of its own, in which the pods that stayed are running. Worlds have ReplicaSets and parallel StatefulSets,
whose lost pods may go all at once.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any

from msgspec.structs import replace

from kubesched_lint.commands.simulate.run import simulate
from kubesched_lint.commands.simulate.simulation_options import SimulationOptions
from kubesched_lint.engine.events.answers.cells import BAD, FINE, NONE, Cell
from kubesched_lint.engine.placing import attempts
from tests.worlds.admission import NotCoveredError
from tests.worlds.agreement import LONG, OPTIONS, Reading
from tests.worlds.controllers import NEWEST, Mine, State, Step, stateful_set
from tests.worlds.courses import Courses
from tests.worlds.filters import Kind
from tests.worlds.generator import World, seeded
from tests.worlds.reference import MOST_STATES, End

Value = dict[str, Any]
HOSTNAME, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
LEFT_OUT = {"claims", "ephemeral", "pools", "runs", "terminating", "daemonset", "job", "pod", "node-name", "twice"}
MOST_ENDS = 12
UNREACHABLE = [{"key": "node.kubernetes.io/unreachable", "effect": e} for e in ("NoSchedule", "NoExecute")]


def scenario_of(seed: int) -> World | None:
    """A world that the reference can follow through a hypothesis; None: it cannot."""
    world = seeded(seed)
    if LEFT_OUT.intersection(world.features):
        return None
    return replace(world, manifests=[_followed(value) for value in world.manifests])


def _followed(value: Value) -> Value:
    spec = {k: v for k, v in value.get("spec", {}).items() if k not in ("strategy", "minReadySeconds")}
    if value["kind"] == "Deployment":
        return {**value, "kind": "ReplicaSet", "spec": spec}
    if value["kind"] == "StatefulSet":
        return {**value, "spec": {**value["spec"], "podManagementPolicy": "Parallel"}}
    return value


class Change:
    """Plain changes of nodes and sizes."""

    def __init__(self, world: World) -> None:
        self._nodes = [v["metadata"]["name"] for v in world.cluster if v["kind"] == "Node"]
        self.lost: set[str] = set()
        self.unreachable: set[str] = set()
        self.taints: list[tuple[str, Value]] = []
        self.unlabelled: list[tuple[str, str]] = []
        self.copied: list[str] = []
        self.sizes: dict[tuple[str, str], int] = {}

    def nodes(self, world: World) -> Iterator[Value]:
        found = [json.loads(json.dumps(v)) for v in world.cluster if v["kind"] == "Node"]
        copies = [json.loads(json.dumps(v)) for v in found if v["metadata"]["name"] in self.copied]
        like = [v["metadata"]["name"] for v in (*found, *copies)]
        for value in copies:
            meta = value["metadata"]
            if meta["labels"].get(HOSTNAME) == meta["name"]:
                meta["labels"][HOSTNAME] = f"{meta['name']}-new-1"
            meta["name"] += "-new-1"
        for name, value in zip(like, (*found, *copies), strict=True):
            spec, labels = value.setdefault("spec", {}), value["metadata"]["labels"]
            for _, taint in [one for one in self.taints if one[0] == name]:
                kept = [t for t in spec.get("taints", []) if (t["key"], t["effect"]) != (taint["key"], taint["effect"])]
                spec["taints"] = [*kept, taint]
            for _, key in [one for one in self.unlabelled if one[0] == name]:
                labels.pop(key, None)
            if value["metadata"]["name"] in self.unreachable - self.lost:
                spec["taints"] = [*spec.get("taints", []), *UNREACHABLE]
            if value["metadata"]["name"] not in self.lost:
                yield value

    def evicts(self, kind: Kind, node: str) -> bool:
        taints = [t for name, t in self.taints if name == node and t["effect"] == "NoExecute"]
        left = set(self._nodes) - self.lost
        if node in self.unreachable and (self.copied or not self.unreachable.issuperset(left)):  # else nothing goes
            taints.append(UNREACHABLE[1])
        return node in self.lost or any(not _tolerated(kind, taint) for taint in taints)

    def keeps(self, node: str) -> bool:
        """Whether nobody ends the pods that are deleted on a node."""
        return node in self.unreachable - self.lost


class Drawn(Change):
    """One or two hypotheses."""

    def __init__(self, seed: int, world: World) -> None:
        super().__init__(world)
        self._dice = Random(seed)
        self.wishes = SimulationOptions()
        every = ["lose", "disconnect", "taint", "unlabel", "add", "scale"]
        kinds = self._dice.sample(every, self._dice.choice([1, 1, 2, 3]))
        for kind in kinds:
            getattr(self, f"_{kind}")(world)
        suppose = len(self.wishes.suppose)
        self.event = "all at once" if suppose + len(self.wishes.scale) > 1 else " ".join(*self.wishes.suppose or [""])

    def _asks(self, option: str, text: str) -> None:
        self.wishes = replace_wishes(self.wishes, suppose=(*self.wishes.suppose, (option, text)))

    def _lose(self, world: World) -> None:
        for name in self._dice.sample(self._nodes, self._dice.choice([1, 1, min(2, len(self._nodes))])):
            self.lost.add(name)
            self._asks("lose", f"node/{name}")

    def _disconnect(self, world: World) -> None:
        for name in self._dice.sample(self._nodes, self._dice.choice([1, 1, min(2, len(self._nodes))])):
            self.unreachable.add(name)
            self._asks("lose", f"node/{name}:unreachable")

    def _taint(self, world: World) -> None:
        name, effect = self._dice.choice(self._nodes), self._dice.choice(["NoSchedule", "NoExecute", "NoExecute"])
        key, value = self._dice.choice([("dedicated", "x"), ("dedicated", "w"), ("new", "")])
        self.taints.append((name, {"key": key, "value": value, "effect": effect}))
        self._asks("taint", f"node/{name}:{key}{'=' * bool(value)}{value}:{effect}")

    def _unlabel(self, world: World) -> None:
        name, key = self._dice.choice(self._nodes), self._dice.choice([HOSTNAME, ZONE, "disk"])
        if any(key in v["metadata"]["labels"] for v in world.cluster if v["kind"] == "Node"):
            self.unlabelled.append((name, key))
            self._asks("unlabel", f"node/{name}:{key}")

    def _add(self, world: World) -> None:
        self.copied.append(name := self._dice.choice(self._nodes))
        self._asks("add", f"node/{name}=1")

    def _scale(self, world: World) -> None:
        sized = [v for v in world.manifests if v["kind"] in ("ReplicaSet", "StatefulSet")]
        if sized:
            meta, size = self._dice.choice(sized)["metadata"], self._dice.randint(0, 4)
            self.sizes[meta["namespace"], meta["name"]] = size
            self.wishes = replace_wishes(self.wishes, scale=(f"{meta['namespace']}/{meta['name']}={size}",))


def replace_wishes(wishes: SimulationOptions, **more: Any) -> SimulationOptions:
    return SimulationOptions(**{"scale": wishes.scale, "suppose": wishes.suppose, **more})


def _tolerated(kind: Kind, taint: Value) -> bool:
    """Whether a pod tolerates a taint for good."""
    return any(
        t.seconds is None
        and (not t.effect or t.effect == taint["effect"])
        and (not t.key or t.key == taint["key"])
        and (t.operator == "Exists" or t.value == taint.get("value", ""))
        for t in kind.pod.tolerations
    )


class Deployed(Courses):
    """Courses that remember which value stands for which running pod."""

    def __init__(self, world: World) -> None:
        self.values: dict[int, Value] = {}
        super().__init__(world)

    @property
    def can_oversleep(self) -> bool:
        return self._may_oversleep()

    def _standing(self, value: Value) -> Kind:
        kind = super()._standing(value)
        self.values[kind.number] = value
        return kind

    def after_change(self, world: World, change: Change, state: State) -> World:
        """The world of a final state after a change: what stays is running."""
        others = [v for v in world.cluster if v["kind"] not in ("Node", "Pod")]
        manifests = [self._resized(v, change) for v in world.manifests]
        pods = []
        for number, (of, position) in enumerate(state.pods):
            kind, node = self.filters.kinds[of], self.filters.nodes[max(position, 0)].name
            if position >= 0 and not change.evicts(kind, node):
                pods.append(self._running(kind, node, number))
            elif position >= 0 and change.keeps(node):
                pods.append(self._terminating(self._running(kind, node, number)))
        return replace(world, manifests=manifests, cluster=[*change.nodes(world), *others, *pods])

    def _terminating(self, value: Value) -> Value:
        """A pod that its controller no longer counts, but that is still there."""
        meta = {k: v for k, v in value["metadata"].items() if k != "ownerReferences"}
        meta |= {"deletionTimestamp": "2026-01-02T00:00:00Z", "finalizers": ["example.com/stays"]}
        owner = next(iter(value["metadata"].get("ownerReferences", ())), {})
        return {**value, "metadata": meta, "was": (owner.get("kind"), owner.get("name"))}

    def _resized(self, value: Value, change: Change) -> Value:
        meta = value["metadata"]
        size = change.sizes.get((meta.get("namespace", ""), meta["name"]))
        is_sized = size is not None and value["kind"] in ("ReplicaSet", "StatefulSet")
        return {**value, "spec": {**value["spec"], "replicas": size}} if is_sized else value

    def _running(self, kind: Kind, node: str, number: int) -> Value:
        if kind.number in self.values:
            return self.values[kind.number]
        of = self._workloads[kind.workload]
        template, meta = of["spec"]["template"], of["metadata"]
        name = f"{meta['name']}-{kind.slot if of['kind'] == 'StatefulSet' else f'x{number}'}"
        owner = {"apiVersion": "apps/v1", "kind": of["kind"], "name": meta["name"], "uid": "u", "controller": True}
        labels = dict(kind.pod.labels)
        metadata = {"name": name, "namespace": meta["namespace"], "labels": labels, "ownerReferences": [owner]}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {**template["spec"], "nodeName": node}}


class Later(Courses):
    """What follows a change; pods on nodes that are unreachable run no more, and those that terminate stay."""

    keeps_terminating = True

    def __init__(self, world: World, change: Change) -> None:
        self._dead = change.unreachable - change.lost
        self._kept: dict[tuple[str, str], set[int]] = {}
        for value in world.cluster:
            kind, name = value.get("was", ("", ""))
            if kind == "StatefulSet":
                ordinal = int(value["metadata"]["name"].rpartition("-")[2])
                self._kept.setdefault((value["metadata"]["namespace"], name), set()).add(ordinal)
        super().__init__(world)

    def _stateful(self, number: int, value: Value, mine: Mine) -> Step:
        """A pod that terminates keeps its name."""
        kept = self._kept.get((value["metadata"]["namespace"], value["metadata"]["name"]), set())
        members = {int(k.slot): (k.revision, position >= 0) for k, (_, position) in mine}
        step = stateful_set({**members, **dict.fromkeys(kept, (NEWEST, False))}, self._replicas(value), ordered=False)
        return step._replace(delete=tuple(ordinal for ordinal in step.delete if ordinal not in kept))

    def end(self, state: State, number: int) -> tuple[int, int, bool]:
        dead = {p for p, node in enumerate(self.filters.nodes) if node.name in self._dead}
        return super().end(state._replace(pods=tuple(one for one in state.pods if one[1] not in dead)), number)


def finals(courses: Courses) -> list[State] | None:
    """The ends; None: too many states."""
    seen = {courses.start()}
    stack, found = list(seen), []
    while stack:
        state = stack.pop()
        after = list(courses.after(state))
        if not after:
            found.append(state)
        for later in after:
            if later not in seen:
                seen.add(later)
                stack.append(later)
        if len(seen) > MOST_STATES:
            return None
    return found


def reference(world: World, change: Change) -> dict[str, set[End]] | None:
    """``Kind namespace/name`` → all ends after the change; None: not covered."""
    try:
        courses = Deployed(world)
        before = finals(courses)
        if before is None or len(before) > MOST_ENDS:
            return None
        if courses.can_oversleep and any(position < 0 for state in before for _, position in state.pods):
            return None  # whether those that wait notice the change is not followed
        found: dict[str, set[End]] = {}
        for state in before:
            later = Later(courses.after_change(world, change, state), change)
            ends = finals(later)
            if not ends:
                return None
            for number, name in enumerate(later.names()):
                found.setdefault(name, set()).update(End(*later.end(end, number)) for end in ends)
    except NotCoveredError:
        return None
    return found


def disagreements(seed: int) -> list[str] | None:
    """What a cell says and the reference does not confirm; None: not covered."""
    world = scenario_of(seed)
    change = Drawn(seed, world) if world is not None else None
    if world is None or change is None or not change.wishes.suppose:
        return None
    true = reference(world, change)
    if true is None:
        return None
    reading = Reading(world)
    was, attempts.raising = attempts.raising, True
    try:
        result = simulate(reading.manifests, reading.cluster, OPTIONS, (), LONG, wishes=change.wishes)
    finally:
        attempts.raising = was
    said = {str(result.workloads[r.number]): {c.event: c for c in r.cells} for r in result.rows}
    return [
        f"{workload} {change.event}: said {cell.text} ({cell.verdict}{', proven' * cell.proven}: {cell.why}); true "
        f"{sorted(true[workload])}"
        for workload, cells in said.items()
        if (cell := cells[change.event]).verdict != NONE and not _holds(cell, true[workload])
    ]


def disagreements_about_losses(seed: int) -> list[str] | None:
    """The same of both ends of the loss of any node or zone."""
    world = scenario_of(seed)
    found = None if world is None else _losses(world)
    if world is None or found is None:
        return None
    reading = Reading(world)
    result = simulate(reading.manifests, reading.cluster, OPTIONS, tuple({event for event, _ in found}), LONG)
    said = {str(result.workloads[r.number]): r.cells for r in result.rows}
    return [
        f"{workload} {cell.event} {end}: said {told.text} ({told.verdict}{', proven' * told.proven}: {told.why}); "
        f"true {sorted(true[workload])}"
        for (event, end), true in found.items()
        for workload, cells in said.items()
        for cell in cells
        if cell.event == event and cell.verdict != NONE
        if (told := getattr(cell, end) or cell) and not _holds(told, true[workload])
    ]


def _losses(world: World) -> dict[tuple[str, str], dict[str, set[End]]] | None:
    """(event, what becomes of the Node objects) → the ends, over each node or zone."""
    zones: dict[str, set[str]] = {}
    nodes = [v["metadata"] for v in world.cluster if v["kind"] == "Node"]
    for meta in nodes:
        if ZONE in meta["labels"]:
            zones.setdefault(meta["labels"][ZONE], set()).add(meta["name"])
    groups = {"node-loss": [{meta["name"]} for meta in nodes], "zone-loss": list(zones.values())}
    found: dict[tuple[str, str], dict[str, set[End]]] = {}
    for event, end in ((event, end) for event in groups if groups[event] for end in ("deleted", "unreachable")):
        every = found.setdefault((event, end), {})
        for names in groups[event]:
            change = Change(world)
            (change.lost if end == "deleted" else change.unreachable).update(names)
            ends = reference(world, change)
            if ends is None:
                return None
            for workload, own in ends.items():
                every.setdefault(workload, set()).update(own)
    return found


def _holds(cell: Cell, ends: set[End]) -> bool:
    if cell.bound.by != "search" and cell.verdict in (FINE, BAD):
        inside = all(cell.bound.least <= min(end.bound, cell.wanted) <= cell.bound.most for end in ends)
    else:
        inside = True
    whole = [end.bound >= cell.wanted for end in ends]
    if cell.verdict == FINE:
        return inside and (all(whole) if cell.proven else any(whole))
    if cell.verdict == BAD:
        return inside and (not any(whole) if cell.proven else not all(whole))
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--losses", action="store_true", help="ask about any lost node or zone instead")
    args = parser.parse_args()
    tally: Counter[str] = Counter()
    asked = disagreements_about_losses if args.losses else disagreements
    for seed in range(args.seed, args.seed + args.count):
        found = asked(seed)
        tally["not covered" if found is None else "wrong" if found else "right"] += 1
        for line in found or ():
            print(seed, line, flush=True)
    print(dict(tally))


if __name__ == "__main__":
    main()
