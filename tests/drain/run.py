"""Compare ``drain`` with the plain model on many clusters: ``python -m tests.drain.run --count 1000``."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Collection
from itertools import combinations
from random import Random

from kubesched_lint.commands.drain.plan import DEPENDS, IMPOSSIBLE, POSSIBLE, PROVEN, UNKNOWN, DrainPlan
from kubesched_lint.commands.drain.replay import Rules
from kubesched_lint.commands.drain.run import Effort, drain
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import ManifestSet
from tests.drain.made import cluster_of, drawn
from tests.drain.reference import Reference


def planned(made: Reference, targets: tuple[int, ...], at_once: int = 0, effort: Effort | None = None) -> DrainPlan:
    names = ",".join(made.nodes[n].name for n in targets)
    rules = Rules(remove=made.remove, at_once=at_once)
    return drain(ManifestSet(), cluster_of(made), Options(), nodes=names, rules=rules, effort=effort)


def disagreement(seed: int, effort: Effort | None = None) -> tuple[str, str]:
    """Return (what both say, where they differ; empty if they agree). With little ``effort``, less may be proven."""
    made, random = drawn(seed), Random(seed)
    count = len(made.nodes)
    targets = tuple(sorted(random.sample(range(count), random.randint(1, min(count - made.remove, 4)))))
    at_once = random.choice([0, 0, 1])
    plan = planned(made, targets, at_once, effort)
    said = f"{plan.verdict}, {plan.evidence}"
    if plan.verdict == IMPOSSIBLE:
        said += ", smallest" if plan.is_smallest else ", not smallest"
    sure = made.fewest(targets, sure=True, at_once=at_once)
    some = made.fewest(targets, sure=False, at_once=at_once)
    if plan.verdict == POSSIBLE and plan.evidence == PROVEN:
        numbers = {node.name: n for n, node in enumerate(made.nodes)}
        waves = [tuple(numbers[name] for name in wave.nodes) for wave in plan.waves]
        if not made.holds(waves):
            return said, f"the plan {waves} may end badly"
        if plan.is_fewest and sure != len(waves):
            return said, f"{len(waves)} waves, and {sure} suffice"
    elif sure is not None and effort is None:
        return said, f"a sure plan has {sure} waves"
    if (plan.verdict, plan.evidence) == (IMPOSSIBLE, PROVEN) and some is not None:
        return said, f"a plan of {some} waves may end well"
    if some is None and plan.verdict not in ((IMPOSSIBLE,) if effort is None else (IMPOSSIBLE, UNKNOWN)):
        return said, "no order of any plan ends well"
    if plan.verdict == IMPOSSIBLE and (wrong := _not_smallest(plan, made, targets, at_once)):
        return said, wrong
    if plan.verdict == DEPENDS and some != len(plan.waves):
        return said, f"{len(plan.waves)} waves, and {some} may suffice"
    return said, ""


def _not_smallest(plan: DrainPlan, made: Reference, targets: tuple[int, ...], at_once: int) -> str:
    """Where the plain model finds that the obstacles are too few or too many."""

    def suffices(given_up: Collection[tuple[str, str]]) -> bool:
        return made.without(given_up).fewest(targets, sure=False, at_once=at_once) is not None

    listed = {(o.kind, "" if o.kind == "room" else o.of.name.partition("-")[0]) for o in plan.obstacles}
    if not plan.is_smallest:
        return "" if not suffices(()) else "it lists obstacles, and there are none"
    if not suffices(listed):
        return f"without {sorted(listed)} it is still impossible"
    sets = (s for size in range(len(listed)) for s in combinations(made.conditions(), size))
    fewer = next(filter(suffices, sets), None) if len(listed) < 4 else None
    return "" if fewer is None else f"{sorted(listed)}, and {fewer} suffices"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    said: Counter[str] = Counter()
    wrong = 0
    for seed in range(options.first, options.first + options.count):
        what, difference = disagreement(seed)
        said[what] += 1
        if difference:
            wrong += 1
            print(f"seed {seed}: {what}: {difference}")
    print(dict(said), f"{wrong} disagreements")


if __name__ == "__main__":
    main()
