"""Worlds whose manifests change, and what must hold between the plans of related changes.

Tests try some seeds; ``python -m tests.plan.changed_worlds --count 500`` tries many.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from functools import cache

import yaml

from kubesched_lint.commands.plan.affected import affected
from kubesched_lint.commands.plan.plan_result import Plan
from kubesched_lint.commands.plan.run import plan
from kubesched_lint.commands.plan.version import Version
from kubesched_lint.commands.simulate.run import simulate
from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.events.answers.cells import BAD, Cell
from kubesched_lint.engine.events.answers.order import BETTER, OTHER, WORSE
from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.engine.model.workloads.workload import KINDS
from kubesched_lint.engine.scenario.scenario import Scenario as LintedScenario
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import ManifestSet, manifest_set
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.sources.clusters.read import cluster_from
from kubesched_lint.sources.manifests.loader import documents
from tests.worlds.clusters import Value
from tests.worlds.draw import Dice, Seeded
from tests.worlds.generator import World, seeded
from tests.worlds.many import tell_differences

EVENTS = ("deploy", "rollout", "drain")
OPTIONS = Options()


@cache
def rulebook() -> Rulebook:
    return Rulebook.shipped()


def cluster_of(world: World) -> Cluster:
    return cluster_from([("cluster.json", world.cluster_json())], "cluster.json")


def read(values: list[Value], path: str = "manifests.yaml") -> ManifestSet:
    texts = (yaml.dump(value, sort_keys=False, Dumper=yaml.CSafeDumper) for value in values)
    return manifest_set(documents(path, "---\n".join(texts).encode(), is_read), "default")


def planned(before: ManifestSet, after: ManifestSet, cluster: Cluster) -> Plan:
    sides = Version("before", before, OPTIONS), Version("after", after, OPTIONS)
    return plan(*sides, cluster, rulebook(), EVENTS)


# --- changes --------------------------------------------------------------------------------------------------------


def changed(values: list[Value], dice: Dice) -> list[Value]:
    """One or two random edits."""
    values = copy.deepcopy(values)
    for _ in range(dice.integer(1, 2)):
        value = dice.pick([value for value in values if value["kind"] in KINDS])
        dice.pick(EDITS)(values, value, dice)
        if not any(value["kind"] in KINDS for value in values):
            break
    return values


def _template(value: Value) -> Value:
    if value["kind"] == "Pod":
        return value
    spec: Value = value["spec"]
    return spec["jobTemplate"]["spec"]["template"] if value["kind"] == "CronJob" else spec["template"]


def _scale(values: list[Value], value: Value, dice: Dice) -> None:
    if "replicas" in value["spec"]:
        value["spec"]["replicas"] = dice.integer(0, 5)


def _image(values: list[Value], value: Value, dice: Dice) -> None:
    _template(value)["spec"]["containers"][0]["image"] = f"example.com/app:{dice.integer(1, 9)}"


def _requests(values: list[Value], value: Value, dice: Dice) -> None:
    container = _template(value)["spec"]["containers"][0]
    container.setdefault("resources", {}).setdefault("requests", {})["cpu"] = f"{dice.integer(1, 30) * 100}m"


def _removed(values: list[Value], value: Value, dice: Dice) -> None:
    values.remove(value)


def _removed_other(values: list[Value], value: Value, dice: Dice) -> None:
    others = [value for value in values if value["kind"] not in KINDS]
    if others:
        values.remove(dice.pick(others))


def _selector(values: list[Value], value: Value, dice: Dice) -> None:
    _template(value)["spec"]["nodeSelector"] = {"disk": dice.pick(["ssd", "hdd"])}


Edit = Callable[[list[Value], Value, Dice], None]
EDITS: tuple[Edit, ...] = (_scale, _scale, _image, _requests, _requests, _removed, _removed_other, _selector)


def with_metadata(values: list[Value], dice: Dice) -> list[Value]:
    """Another annotation of one object, in all its definitions; no pod sees it."""
    values = copy.deepcopy(values)
    chosen = dice.pick([value for value in values if value["kind"] in KINDS])
    name = _name(chosen)
    for value in values:
        if _name(value) == name:
            value["metadata"].setdefault("annotations", {})["example.com/owner"] = "team"
    return values


def _name(value: Value) -> tuple[object, ...]:
    return value["kind"], value["metadata"].get("namespace"), value["metadata"]["name"]


# --- what must hold -------------------------------------------------------------------------------------------------


def broken(seed: int) -> Iterator[str]:
    """Yield what does not hold for a world and its changes."""
    world = seeded(seed)
    dice, cluster = Dice(Seeded(seed)), cluster_of(world)
    first = world.manifests
    second = changed(first, dice)
    third = changed(second, dice) if any(value["kind"] in KINDS for value in second) else second
    one, two, three = map(read, (first, second, third))
    forth = planned(one, two, cluster)
    if not planned(one, read(first), cluster).is_empty:
        yield "no change is no empty plan"
    yield from _not_reversed(forth, planned(two, one, cluster))
    yield from _not_the_same(forth, planned(one, _written_otherwise(second, dice), cluster))
    yield from _more_than_metadata(planned(one, read(with_metadata(first, dice)), cluster))
    yield from _not_chained(forth, planned(two, three, cluster), planned(one, three, cluster))
    yield from _untouched_differs(one, two, cluster)


def _written_otherwise(values: list[Value], dice: Dice) -> ManifestSet:
    """The same objects in another file, with comments, in flow style, the policies before the workloads."""
    workloads = [value for value in values if value["kind"] in KINDS]
    others = [value for value in values if value["kind"] not in KINDS]
    text = "\n---\n".join(f"# a comment\n{json.dumps(value, indent=3)}" for value in (*others, *workloads))
    return manifest_set(documents("renamed.yaml", text.encode(), is_read), "default")


def _seen(cell: Cell | None) -> object:
    return (
        None
        if cell is None
        else (cell.verdict, cell.verdict == BAD and cell.proven, cell.wanted, cell.bound[:2], cell.text)
    )


Cells = dict[tuple[str, str], tuple[object, object]]


def cells_of(found: Plan) -> Cells:
    """(object, event) → (before, after)."""
    each = ((str(one.object), change) for one in found.workloads for change in one.cells)
    return {(name, change.event): (_seen(change.before), _seen(change.after)) for name, change in each}


def _actions(found: Plan) -> dict[str, tuple[str, ...]]:
    return {str(one.object): one.change.actions for one in found.workloads if one.change}


_OPPOSITE = {"created": "removed", "removed": "created", WORSE: BETTER, BETTER: WORSE, OTHER: OTHER}


def _not_reversed(forth: Plan, back: Plan) -> Iterator[str]:
    if cells_of(forth) != {key: (after, before) for key, (before, after) in cells_of(back).items()}:
        yield f"cells are not reversed: {cells_of(forth)} {cells_of(back)}"
    turned = {name: tuple(_OPPOSITE.get(a, a) for a in actions) for name, actions in _actions(back).items()}
    if _actions(forth) != turned:
        yield f"actions are not reversed: {_actions(forth)} {_actions(back)}"
    if [_keys(forth, True), _keys(forth, False)] != [_keys(back, False), _keys(back, True)]:
        yield "new and gone findings are not reversed"
    ways = ({(str(o.object), c.event): c.direction for o in p.workloads for c in o.cells} for p in (forth, back))
    there, here = ways
    if there != {key: _OPPOSITE[way] for key, way in here.items()}:
        yield "worse is not the reverse of better"
    if [(r.zone, r.resource, r.before, r.after) for r in forth.room] != [
        (r.zone, r.resource, r.after, r.before) for r in back.room
    ]:
        yield "the room is not reversed"


def _keys(found: Plan, new: bool) -> list[tuple[str, str]]:
    changes = found.findings.new if new else found.findings.gone
    return sorted((change.finding.rule, str(change.finding.object)) for change in changes)


def _not_the_same(one: Plan, other: Plan) -> Iterator[str]:
    if cells_of(one) != cells_of(other):
        yield f"cells depend on how the manifests are written: {cells_of(one)} {cells_of(other)}"
    if _actions(one) != _actions(other) or _keys(one, True) != _keys(other, True):
        yield "the plan depends on how the manifests are written"


def _more_than_metadata(found: Plan) -> Iterator[str]:
    if cells_of(found):
        yield "metadata changes cells"
    if any(actions != ("only metadata",) for actions in _actions(found).values()) or len(_actions(found)) != 1:
        yield f"metadata is not only metadata: {_actions(found)}"


def _not_chained(first: Plan, second: Plan, whole: Plan) -> Iterator[str]:
    """Yield the cells whose way from first to last differs from the two halves."""
    one, two, both = cells_of(first), cells_of(second), cells_of(whole)
    for key in {**one, **two, **both}:
        if key in one and key in two and one[key][1] != two[key][0]:
            yield f"{key} ends as {one[key][1]} and begins as {two[key][0]}"
        begin = one[key][0] if key in one else two[key][0] if key in two else None
        end = two[key][1] if key in two else one[key][1] if key in one else None
        if begin != end and both.get(key) != (begin, end):
            yield f"{key} goes from {begin} to {end}, but in one step: {both.get(key)}"


def _untouched_differs(one: ManifestSet, two: ManifestSet, cluster: Cluster) -> Iterator[str]:
    """Yield the workloads that are not affected, and whose cells differ nevertheless."""
    worlds = (LintedScenario(m.inventory, cluster.without_transient(), m.premises(OPTIONS)) for m in (one, two))
    touched = affected(*worlds)
    old, new = (_whole_matrix(manifests, cluster) for manifests in (one, two))
    for key in old.keys() & new.keys():
        if key[0] not in touched and old[key] != new[key]:
            yield f"{key} is not affected, but goes from {old[key]} to {new[key]}"


def _whole_matrix(manifests: ManifestSet, cluster: Cluster) -> dict[tuple[ObjectRef, str], object]:
    found = simulate(manifests, cluster, OPTIONS, EVENTS)
    return {(found.workloads[r.number].ref, cell.event): _seen(cell) for r in found.rows for cell in r.cells}


if __name__ == "__main__":
    tell_differences(__doc__, broken)
