"""Whatever ``simulate`` calls fine for a gang, no course of a plain scheduler ends badly: every order, every node."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import permutations
from random import Random
from typing import NamedTuple

import pytest

from kubesched_lint.library import load_cluster, simulate

GATES = "GenericWorkload=true,GangScheduling=true"
ALONE = "o"
"""The kind of the pod that is in no gang."""


class State(NamedTuple):
    """Kinds of pods: ``on`` by node, waiting, and not yet created; those on the lost node still count as running."""

    on: tuple[tuple[str, ...], ...]
    waiting: tuple[str, ...]
    coming: tuple[str, ...] = ()
    lost: int | None = None


class Plain:
    """A scheduler of pods that request CPU, with one gang: it may try pods in any order and choose any node."""

    def __init__(self, nodes: list[int], requests: dict[str, int], least: int) -> None:
        self.nodes, self.requests, self.least = nodes, requests, least

    def ends(self, start: State) -> set[State]:
        """Every state in which an attempt may change nothing, and nothing else happens."""
        found, seen, todo = set(), {start}, [start]
        while todo:
            state = todo.pop()
            after = list(self._after(state))
            if all(one == state for one in after) or (state in after and self._is_quiet(state)):
                found.add(state)
            todo += set(after) - seen
            seen |= set(after)
        return found

    def _is_quiet(self, state: State) -> bool:
        doomed = state.lost is not None and state.on[state.lost]
        open_to_alone = ALONE in state.waiting and any(self._nodes_for(ALONE, state.on, state.lost))
        return not (state.coming or doomed or open_to_alone)

    def _after(self, state: State) -> Iterator[State]:
        for kind in set(state.coming):
            yield state._replace(coming=without(state.coming, kind), waiting=ordered(*state.waiting, kind))
        if state.lost is not None:
            for kind in set(state.on[state.lost]):
                on = changed(state.on, state.lost, without(state.on[state.lost], kind))
                yield state._replace(on=on, waiting=ordered(*state.waiting, kind))
        if ALONE in state.waiting:
            for at in self._nodes_for(ALONE, state.on, state.lost):
                on = changed(state.on, at, ordered(*state.on[at], ALONE))
                yield state._replace(on=on, waiting=without(state.waiting, ALONE))
        ours = tuple(kind for kind in state.waiting if kind != ALONE)
        running = sum(kind != ALONE for held in state.on for kind in held)
        if ours and len(ours) + running >= self.least:
            others = tuple(kind for kind in state.waiting if kind == ALONE)
            for order in set(permutations(ours)):
                for on, left in self._attempts(state.on, order, state.lost):
                    bound = len(ours) - len(left) + running >= self.least
                    yield state._replace(on=on, waiting=ordered(*left, *others)) if bound else state
        if not state.waiting and not state.coming:
            yield state

    def _attempts(
        self, on: tuple[tuple[str, ...], ...], order: tuple[str, ...], lost: int | None
    ) -> Iterator[tuple[tuple[tuple[str, ...], ...], tuple[str, ...]]]:
        if not order:
            yield on, ()
            return
        kind, rest = order[0], order[1:]
        fits = list(self._nodes_for(kind, on, lost))
        for at in fits:
            yield from self._attempts(changed(on, at, ordered(*on[at], kind)), rest, lost)
        if not fits:
            for after, left in self._attempts(on, rest, lost):
                yield after, (kind, *left)

    def _nodes_for(self, kind: str, on: tuple[tuple[str, ...], ...], lost: int | None) -> Iterator[int]:
        for at, room in enumerate(self.nodes):
            if at != lost and room - sum(self.requests[held] for held in on[at]) >= self.requests[kind]:
                yield at


def ordered(*kinds: str) -> tuple[str, ...]:
    return tuple(sorted(kinds))


def without(kinds: tuple[str, ...], kind: str) -> tuple[str, ...]:
    left = list(kinds)
    left.remove(kind)
    return tuple(left)


def changed(on: tuple[tuple[str, ...], ...], at: int, held: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    return (*on[:at], held, *on[at + 1 :])


class Case(NamedTuple):
    nodes: list[int]
    jobs: dict[str, tuple[int, int]]
    """Name → (pods, CPUs of each)."""
    least: int
    alone: int
    """CPUs of a pod outside the gang; 0: there is none."""


def drawn(seed: int) -> Case:
    random = Random(seed)
    nodes = [random.choice([2, 3, 4]) for _ in range(random.choice([2, 3]))]
    jobs = {name: (random.choice([1, 2]), random.choice([1, 2, 2])) for name in ("a", "b")}
    total = sum(pods for pods, _ in jobs.values())
    return Case(nodes, jobs, random.choice([total, total, total - 1, 1]), random.choice([0, 0, 1]))


def manifests(case: Case) -> str:
    text = f"""\
apiVersion: scheduling.k8s.io/v1alpha2
kind: PodGroup
metadata: {{name: g, namespace: shop}}
spec: {{schedulingPolicy: {{gang: {{minCount: {case.least}}}}}}}
"""
    alone = {ALONE: (1, case.alone)} if case.alone else {}
    for name, (pods, cpu) in {**case.jobs, **alone}.items():
        group = "" if name == ALONE else "schedulingGroup: {podGroupName: g}, "
        text += f"""\
---
apiVersion: batch/v1
kind: Job
metadata: {{name: {name}, namespace: shop}}
spec: {{parallelism: {pods}, template: {{spec: {{restartPolicy: Never, {group}
  containers: [{{name: c, image: "i:1", resources: {{requests: {{cpu: "{cpu}"}}}}}}]}}}}}}
"""
    return text


def sketch(case: Case) -> str:
    nodes = "".join(f'- {{name: node{i}, allocatable: {{cpu: "{cpu}"}}}}\n' for i, cpu in enumerate(case.nodes))
    return f"apiVersion: kubesched-lint/v1\nkind: ClusterSketch\nelastic: false\nnodes:\n{nodes}"


@cache
def fine(seed: int) -> dict[str, bool]:
    """Event → whether ``simulate`` proves it fine for all workloads of the gang, with all pods at once."""
    case = drawn(seed)
    cluster = load_cluster(text=sketch(case))
    found = simulate(text=manifests(case), cluster=cluster, events=["deploy", "node-loss"], feature_gates=GATES)
    ours = [cell for cell in found.outcomes if cell.object.name != ALONE]
    return {
        event: all(c.verdict == "fine" and c.proven and c.bound[0] == c.wanted for c in ours if c.event == event)
        for event in ("deploy", "node-loss")
    }


def plain_ends(seed: int) -> tuple[set[State], set[State]]:
    """The ends of the deployment, and of the loss of any node after those where all pods run."""
    case = drawn(seed)
    requests = {name: cpu for name, (_, cpu) in case.jobs.items()} | {ALONE: case.alone}
    plain = Plain(case.nodes, requests, case.least)
    pods = [name for name, (count, _) in case.jobs.items() for _ in range(count)] + [ALONE] * bool(case.alone)
    deployed = plain.ends(State(((),) * len(case.nodes), (), ordered(*pods)))
    after: set[State] = set()
    for state in deployed:
        for lost in range(len(case.nodes)):
            after |= plain.ends(state._replace(lost=lost)) if not state.waiting else set()
    return deployed, after


@pytest.mark.parametrize("seed", range(24))
def test_what_is_fine_ends_well_in_every_course(seed: int) -> None:
    deployed, after = plain_ends(seed)
    for event, ends in (("deploy", deployed), ("node-loss", after)):
        assert ends or event == "node-loss"
        if fine(seed)[event]:
            assert {kind for end in ends for kind in end.waiting} <= {ALONE}, (drawn(seed), event)


def test_fine_and_not_fine_both_occur() -> None:
    for event in ("deploy", "node-loss"):
        found = [fine(seed)[event] for seed in range(24)]
        assert 3 <= sum(found) <= 21, event
