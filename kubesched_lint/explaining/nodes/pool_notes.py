"""Footer lines: the pools, what is unknown about them, and what they would add."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubesched_lint.engine.base.text import SHOWN, and_more, first_few, plural
from kubesched_lint.engine.cluster.nodepools.minimum import stands_in
from kubesched_lint.engine.cluster.nodepools.templates import is_open, shapes
from kubesched_lint.engine.model.nodes.node import NodePool
from kubesched_lint.engine.model.quantity import show
from kubesched_lint.engine.placing.growth.growth import growth_plan
from kubesched_lint.engine.placing.growth.plan import GROWN, TODAY, Plan, Verdict, listed
from kubesched_lint.engine.scenario.devices.devices import needs_devices
from kubesched_lint.engine.scenario.premises.device_premises import stated_devices
from kubesched_lint.engine.scenario.scenario import Scenario


def pool_notes(scenario: Scenario) -> Iterator[str]:
    """Yield sentences for a set on a cluster with pools."""
    pools = scenario.pools
    yield f"nodes may come from {', '.join(map(_described, pools[:SHOWN]))}{_more(len(pools), 'pool')}"
    idle = scenario.potential.idle
    if idle:
        yield f"{_names(sorted(idle))} can make no node: no machine type and no label meets all requirements"
    zoneless = [pool.name for pool in pools if pool.zones is None]
    if zoneless:
        names = plural(len(zoneless), "names", "name")
        yield f"{_names(zoneless)} {names} no zones: assumed are those of today's nodes and any that a pod selects"
    yield from _unknown_sizes(pools)
    nodes = () if scenario.cluster is None else scenario.cluster.inventory.nodes
    for pool, count in ((pool, sum(stands_in(node, pool) for node in nodes)) for pool in pools):
        if count:
            are = f"{count} {plural(count, 'node of it counts', 'nodes of it count')} as there"
            yield f"pool {pool.name} has at least {pool.minimum} nodes: {are}, though none is listed"
    stated = stated_devices(scenario)
    if stated and any(needs_devices(w.pod, scenario) for w in scenario.manifests.workloads):
        yield f"assumed: {stated}"
    yield from growth_notes(growth_plan(scenario))


def _unknown_sizes(pools: Sequence[NodePool]) -> Iterator[str]:
    """Yield what is assumed about machine types that the table does not list, one line per bound."""
    pools_by_bound: dict[str, list[str]] = {}
    for pool in pools:
        if is_open(pool):
            pools_by_bound.setdefault(_bound(pool), []).append(pool.name)
    for bound, names in pools_by_bound.items():
        yield f"{_names(names)} may use machine types of unknown size: {bound}"


def _bound(pool: NodePool) -> str:
    unlisted = [shape.most for shape in shapes(pool) if shape.allocatable is None]
    known = [most for most in unlisted if most is not None]
    if len(known) < len(unlisted):
        return "on those every request fits"
    cpu, memory = (show(name, max(most[name] for most in known)) for name in ("cpu", "memory"))
    return f"assumed is that none has more than {cpu} CPU and {memory} memory, the most that its cloud sells"


def growth_notes(plan: Plan) -> Iterator[str]:
    """Yield one line for all workloads that fit today, then the verdict on each other workload."""
    if plan.skipped:
        yield plan.skipped
    today = [v.workload.ref.title for v in plan.verdicts if v.kind == TODAY]
    if today:
        yield f"{TODAY}: {', '.join(today[:SHOWN])}{_more(len(today), 'workload')}"
    others = [v for v in plan.verdicts if v.kind != TODAY]
    for verdict in others[:SHOWN]:
        yield verdict_note(verdict)
    if len(others) > SHOWN:
        in_all = f"; in all {len(plan.nodes)} new nodes: {listed(plan.added)}" if plan.added else ""
        yield f"{_more(len(others), 'workload').strip()}{in_all}"


def verdict_note(verdict: Verdict) -> str:
    """``2 pods of shop/web fit after adding 2 × m6i.large in eu-west-1b (pool general)``."""
    name = verdict.workload.ref.title
    if verdict.kind == TODAY:
        return f"{name} {TODAY}"
    if not verdict.added:
        some = f"{verdict.left} of {verdict.wanted} pods" if verdict.left < verdict.wanted else _pods(verdict.left)
        return f"{some} of {name} {plural(verdict.left, 'fits', 'fit')} nowhere: {verdict}"
    fit = plural(verdict.grown, "fits", "fit")
    rest = "" if verdict.kind == GROWN else f", and {verdict.left} more nowhere: {verdict}"
    return f"{_pods(verdict.grown)} of {name} {fit} after adding {listed(verdict.added)}{rest}"


def _pods(count: int) -> str:
    return f"{count} {plural(count, 'pod')}"


def _described(pool: NodePool) -> str:
    """Return ``pool general (2 zones, 1 machine type, nodes at most 10)``."""
    kinds = len(shapes(pool))
    parts = [] if pool.zones is None else [", ".join(pool.zones) if len(pool.zones) < 4 else f"{len(pool.zones)} zones"]
    parts.append(f"{kinds} {plural(kinds, 'machine type')}")
    parts += [f"at most {_limit(name, amount)}" for name, amount in pool.limits.items()]
    return f"pool {pool.name} ({'; '.join(filter(None, parts))})"


def _limit(name: str, amount: int) -> str:
    return f"{show(name, amount)} {'node' if name == 'nodes' and amount == 1 else name}"


def _names(pools: list[str]) -> str:
    return f"{plural(len(pools), 'pool')} {first_few(pools)}"


def _more(count: int, noun: str) -> str:
    """The rest of ``count`` that is not listed: `` and 3 more pools``."""
    return and_more(count - SHOWN, noun)
