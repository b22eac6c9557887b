"""plan(A → B) says what lint and simulate say of A, and of B: of manifests that change, and of clusters that do."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from itertools import chain

import pytest
from msgspec.structs import replace

from kubesched_lint.commands.lint.report_extras import effort_for
from kubesched_lint.commands.lint.run import report_on
from kubesched_lint.commands.plan.plan_result import Plan
from kubesched_lint.commands.plan.run import plan
from kubesched_lint.commands.plan.version import Version
from kubesched_lint.commands.simulate.run import simulate
from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.model.workloads.workload import KINDS
from kubesched_lint.linter.reading.manifest_set import ManifestSet
from kubesched_lint.project.finding_changes import each_once, finding_changes, of_whole_findings
from kubesched_lint.project.owners import with_owners
from kubesched_lint.sources.clusters.read import cluster_from
from tests.plan.changed_worlds import EVENTS, OPTIONS, _image, _requests, _scale, _seen, _selector, read, rulebook
from tests.worlds.clusters import Value
from tests.worlds.draw import Dice, Seeded
from tests.worlds.generator import seeded
from tests.worlds.many import tell_differences

EDITS = (_scale, _image, _requests, _selector)
Matrix = Mapping[tuple[ObjectRef, str], object]


def changed_manifests(values: list[Value], dice: Dice) -> list[Value]:
    """One or two edits that keep every workload: the pods of one that goes or comes are on one side's cluster only."""
    values = copy.deepcopy(values)
    for _ in range(dice.integer(1, 2)):
        chosen = dice.pick([value for value in values if value["kind"] in KINDS])
        dice.pick(EDITS)(values, chosen, dice)
    return values


def changed_cluster(text: bytes, dice: Dice) -> bytes:
    """The cluster with a node less, or a node with another label or taint; the same one in a third of the cases."""
    value = json.loads(text)
    nodes = [item for item in value["items"] if item["kind"] == "Node"]
    chosen = dice.pick(nodes)
    match dice.integer(0, 3):
        case 0 if len(nodes) > 1:
            value["items"].remove(chosen)
        case 1:
            chosen["metadata"].setdefault("labels", {})["disk"] = dice.pick(["ssd", "hdd", "tape"])
        case 2:
            chosen.setdefault("spec", {})["taints"] = [{"key": "own", "value": "x", "effect": "NoSchedule"}]
    return json.dumps(value).encode()


def matrix(manifests: ManifestSet, cluster: Cluster) -> Matrix:
    found = simulate(manifests, cluster, OPTIONS, EVENTS, effort_for(len(manifests.inventory.workloads)))
    return {(found.workloads[row.number].ref, cell.event): _seen(cell) for row in found.rows for cell in row.cells}


def cells_of(found: Plan) -> Mapping[tuple[ObjectRef, str], tuple[object, object]]:
    pairs = ((one.object, change) for one in found.workloads for change in one.cells)
    return {(ref, change.event): (_seen(change.before), _seen(change.after)) for ref, change in pairs}


def differing(seed: int) -> Iterator[str]:
    """Yield what plan says otherwise than lint and simulate."""
    world, dice = seeded(seed), Dice(Seeded(seed))
    text = world.cluster_json()
    first, second = world.manifests, changed_manifests(world.manifests, dice)
    clusters = [cluster_from([("c.json", one)], "c.json") for one in (text, changed_cluster(text, dice))]
    sides = [read(first), read(second)]
    found = plan(
        *(Version(name, side, OPTIONS) for name, side in zip(("a", "b"), sides, strict=True)),
        clusters[1],
        rulebook(),
        EVENTS,
        former=clusters[0],
    )
    ends = [matrix(side, cluster) for side, cluster in zip(sides, clusters, strict=True)]
    told = cells_of(found)
    for key in dict.fromkeys(chain(*ends)):
        expected = tuple(end.get(key) for end in ends)
        if expected[0] != expected[1] and told.get(key) != expected:
            yield f"{key}: simulate says {expected}, plan {told.get(key)}"
        if expected[0] == expected[1] and key in told:
            yield f"{key}: simulate says {expected[0]} of both sides, plan {told[key]}"
    # What a rule compares with the version before the change is for the second side alone.
    after = replace(sides[1], before=sides[0].inventory)
    of_sides = zip((sides[0], after), clusters, strict=True)
    reports = [with_owners(report_on(m, c, (), OPTIONS, rulebook())) for m, c in of_sides]
    wanted = finding_changes(*reports)
    # Plan counts causes, as every report does: what several objects lack is one finding.
    keys = [
        sorted({(c.finding.rule, str(c.finding.object), c.before is None, c.after is None) for c in changes})
        for changes in (of_whole_findings(each_once(wanted.changes)), found.findings.changes)
    ]
    if keys[0] != keys[1] or wanted.unchanged != found.findings.unchanged:
        yield f"lint says {keys[0]} {wanted.unchanged}, plan {keys[1]} {found.findings.unchanged}"


@pytest.mark.parametrize("seed", [2, 5, 7, 12, 15, 23, 31, 40, 504, 537, 7079, 20136])
def test_plan_says_what_lint_and_simulate_say(seed: int) -> None:
    assert list(differing(seed)) == []


if __name__ == "__main__":
    tell_differences(__doc__, differing)
