"""A plain model of drains: every order of evictions and bindings, with any scheduler that respects the filters.

It reads the same values as the snapshot that ``drain`` gets, and shares no code with the package.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import combinations

from msgspec import Struct, field
from msgspec.structs import replace

State = tuple[tuple[int, ...], ...]
"""Per workload: its pods per node; the last number counts those that wait."""


class Node(Struct, frozen=True):
    name: str
    zone: str
    cpu: int
    tainted: bool = False
    label: str = ""


class App(Struct, frozen=True):
    name: str
    cpu: int
    on: tuple[int, ...]
    """Its pods per node, at the start."""
    kind: str = "Deployment"
    apart: str = ""
    """``zone`` or ``host``: required anti-affinity to its own pods."""
    spread: int = 0
    """maxSkew over zones, DoNotSchedule; 0: no constraint."""
    label: str = ""
    """The nodes that it selects."""
    tolerates: bool = False
    budget: tuple[str, int] | None = None
    """``maxUnavailable`` or ``minAvailable``, and the number."""


class Reference(Struct):
    nodes: list[Node]
    apps: list[App]
    remove: bool = False
    _ends: dict[object, frozenset[State]] = field(default_factory=dict)

    def start(self) -> State:
        return tuple((*app.on, 0) for app in self.apps)

    # --- plans ------------------------------------------------------------------------------------------------------

    def fewest(self, targets: tuple[int, ...], *, sure: bool, at_once: int = 0) -> int | None:
        """The fewest waves of a plan of which every end is good (``sure``), or some end; None without such a plan."""
        most = at_once or len(targets)
        for count in range(1, len(targets) + 1):
            if self._plan(frozenset([self.start()]), targets, frozenset(), count, most, sure):
                return count
        return None

    def holds(self, waves: list[tuple[int, ...]]) -> bool:
        """Whether every order of events of these waves ends well."""
        states, gone = frozenset([self.start()]), frozenset[int]()
        for wave in waves:
            ends = self._after(states, wave, gone)
            if not ends or not all(self._is_good(end, wave) for end in ends):
                return False
            states, gone = ends, gone | (frozenset(wave) if self.remove else frozenset())
        return True

    def _plan(
        self, states: frozenset[State], left: tuple[int, ...], gone: frozenset[int], count: int, most: int, sure: bool
    ) -> bool:
        sizes = range(len(left), 0, -1) if count > 1 else [len(left)]
        for size in sizes:
            if size > most:
                continue
            for wave in combinations(left, size):
                ends = self._after(states, wave, gone)
                good = frozenset(end for end in ends if self._is_good(end, wave))
                if not good or (sure and good != ends):
                    continue
                rest = tuple(n for n in left if n not in wave)
                lost = gone | (frozenset(wave) if self.remove else frozenset())
                if not rest or (count > 1 and self._plan(good, rest, lost, count - 1, most, sure)):
                    return True
        return False

    def _is_good(self, state: State, wave: tuple[int, ...]) -> bool:
        for app, pods in zip(self.apps, state, strict=True):
            if app.kind == "DaemonSet":
                continue
            if pods[-1] or any(pods[n] for n in wave):
                return False
        return True

    def conditions(self) -> list[tuple[str, str]]:
        """(kind, app) of everything that may keep a node from being drained."""
        found = [("room", "")]
        for app in self.apps:
            has = {
                "budget": app.budget,
                "bare-pod": app.kind == "Pod",
                "anti-affinity": app.apart,
                "spread": app.spread,
                "node-labels": app.label,
                "taint": not app.tolerates,
            }
            found += [(kind, app.name) for kind, there in has.items() if there and app.kind != "DaemonSet"]
        return found

    def without(self, conditions: Collection[tuple[str, str]]) -> Reference:
        """The same cluster without some conditions; a bare pod goes for good."""
        nodes = [replace(node, cpu=1_000) for node in self.nodes] if ("room", "") in conditions else self.nodes
        apps = []
        for app in self.apps:
            mine = {kind for kind, name in conditions if name == app.name}
            changes = {
                "budget": {"budget": None},
                "bare-pod": {"kind": "Forced"},
                "anti-affinity": {"apart": ""},
                "spread": {"spread": 0},
                "node-labels": {"label": ""},
                "taint": {"tolerates": True},
            }
            apps.append(replace(app, **{k: v for kind in mine for k, v in changes[kind].items()}))
        return Reference(nodes, apps, self.remove)

    # --- one wave ---------------------------------------------------------------------------------------------------

    def _after(self, states: frozenset[State], wave: tuple[int, ...], gone: frozenset[int]) -> frozenset[State]:
        key = (states, wave, gone)
        if key not in self._ends:
            closed = gone | frozenset(wave)
            seen, stack, ends = set(states), list(states), set()
            while stack:
                state = stack.pop()
                moved = False
                for after in self._moves(state, wave, closed, gone):
                    moved = True
                    if after not in seen:
                        seen.add(after)
                        stack.append(after)
                if not moved:
                    ends.add(state)
            self._ends[key] = frozenset(ends)
        return self._ends[key]

    def _moves(
        self, state: State, wave: tuple[int, ...], closed: frozenset[int], gone: frozenset[int]
    ) -> Iterator[State]:
        for i, app in enumerate(self.apps):
            if app.kind == "DaemonSet":
                continue
            for n in wave:
                if state[i][n] and app.kind != "Pod" and self._may_go(i, state):
                    yield self._with(state, i, n, -1, int(app.kind != "Forced"))
            if state[i][-1]:
                for n in range(len(self.nodes)):
                    if n not in closed and self._fits(i, n, state, gone):
                        yield self._with(state, i, n, 1, -1)

    def _with(self, state: State, i: int, n: int, there: int, waiting: int) -> State:
        pods = list(state[i])
        pods[n] += there
        pods[-1] += waiting
        return (*state[:i], tuple(pods), *state[i + 1 :])

    def _may_go(self, i: int, state: State) -> bool:
        budget = self.apps[i].budget
        if budget is None:
            return True
        if budget[0] == "maxUnavailable" and self.apps[i].kind in ("Pod", "Forced"):
            return False  # the budget asks for the scale of a controller that is not there
        healthy, every = sum(state[i][:-1]), sum(state[i])
        needed = every - budget[1] if budget[0] == "maxUnavailable" else budget[1]
        return healthy > max(needed, 0)

    # --- filters ----------------------------------------------------------------------------------------------------

    def _fits(self, i: int, n: int, state: State, gone: frozenset[int]) -> bool:
        app, node = self.apps[i], self.nodes[n]
        used = sum(pods[n] * other.cpu for other, pods in zip(self.apps, state, strict=True))
        if used + app.cpu > node.cpu or (node.tainted and not app.tolerates):
            return False
        if app.label and node.label != app.label:
            return False
        if app.apart == "host" and state[i][n]:
            return False
        if app.apart == "zone" and any(
            state[i][m] for m, other in enumerate(self.nodes) if other.zone == node.zone and m not in gone
        ):
            return False
        return not app.spread or self._is_even(i, n, state, gone)

    def _is_even(self, i: int, n: int, state: State, gone: frozenset[int]) -> bool:
        app, counts = self.apps[i], dict[str, int]()
        for m, node in enumerate(self.nodes):
            if m not in gone and (not app.label or node.label == app.label):
                counts[node.zone] = counts.get(node.zone, 0) + state[i][m]
        return counts[self.nodes[n].zone] + 1 - min(counts.values()) <= app.spread
