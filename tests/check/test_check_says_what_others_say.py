"""One theory: the cells of ``check`` are those of ``simulate``, and what it blocks has an error of ``lint``.

Tests try some drawn worlds; ``python -m tests.check.test_check_says_what_others_say --count 500`` tries many.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from kubesched_lint.commands.check.run import EVENTS, check
from kubesched_lint.commands.lint.report_extras import effort_for
from kubesched_lint.commands.lint.run import report_on
from kubesched_lint.commands.plan.version import Version
from kubesched_lint.commands.simulate.run import simulate
from kubesched_lint.commands.simulate.simulation_report import seen
from kubesched_lint.engine.answers.cells import NONE, REFUSED
from kubesched_lint.engine.model.workload import KINDS
from kubesched_lint.findings import Severity
from kubesched_lint.linter.causes import members
from tests.plan.changed_worlds import OPTIONS, cluster_of, read, rulebook
from tests.plan.test_plan_equals_lint_and_simulate import changed_manifests
from tests.share import every
from tests.worlds.draw import Dice, Seeded
from tests.worlds.generator import seeded
from tests.worlds.many import tell_differences


def differing(seed: int) -> Iterator[str]:
    """Yield what check says otherwise than simulate and lint; a world in which nothing starts yields nothing."""
    world = seeded(seed)
    cluster = cluster_of(world)
    cluster = replace(cluster, kinds=cluster.kinds | {*KINDS, "Node"})
    after = read(changed_manifests(world.manifests, Dice(Seeded(seed))))
    found = check(Version("after", after, OPTIONS), cluster, rulebook())
    refs = frozenset(one.object for one in found.started)
    if not refs or found.environments:
        return
    matrix = simulate(after, cluster, OPTIONS, EVENTS, effort_for(len(refs)), only=refs)
    cells = {(matrix.workloads[row.number].ref, cell.event): cell for row in matrix.rows for cell in row.cells}
    for one in found.started:
        for event in one.events:
            expected = cells.get((one.object, event.cell.event))
            if event.cell.event in EVENTS and (expected is None or seen(expected) != seen(event.cell)):
                says = expected and expected.text
                yield f"{one.object} {event.cell.event}: simulate says {says}, check {event.cell.text}"
        told = {event.cell.event for event in one.events}
        untold = [e for (ref, e), c in cells.items() if ref == one.object and e not in told and c.verdict != NONE]
        yield from (f"{one.object} {e}: check says nothing" for e in untold if e != "drain")
    report = report_on(after, cluster, (), OPTIONS, rulebook())
    errors = [m for f in report.findings if f.severity is Severity.ERROR and not f.suppressed for m in members(f)]
    named = {error.object for error in errors}
    for one in found.blocked:
        is_refused = any(event.cell.verdict == REFUSED for event in one.events)
        if one.object not in named and not is_refused and not any(str(one.object) in e.message for e in errors):
            yield f"{one.object}: check blocks, lint has no error"
    bad_now = {e.object for e in errors if e.evidence.event == "deploy" and e.evidence.kind == "proof"}
    for one in found.started:
        if one.change is not None and one.object in bad_now and not one.blocks(Severity.ERROR) and not found.is_blocked:
            yield f"{one.object}: lint proves that the deploy ends badly, check lets it pass"


@pytest.mark.parametrize("seed", every(3, range(0, 48, 4)))
def test_check_says_what_simulate_and_lint_say(seed: int) -> None:
    assert list(differing(seed)) == []


if __name__ == "__main__":
    tell_differences(__doc__, differing)
