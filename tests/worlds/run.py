"""``python -m tests.worlds.run --count N --seed S --jobs 2``: many worlds, and what contradicts itself in them."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from time import process_time

from msgspec.structs import asdict

from tests.worlds.agreement import Contradiction, contradictions
from tests.worlds.classes import with_classes
from tests.worlds.devices import (
    with_choices,
    with_contested_resources,
    with_devices,
    with_failing_selectors,
    with_partitions,
    with_resources,
    with_shared_claims,
    with_shares,
    with_varied_claims,
)
from tests.worlds.generator import seeded
from tests.worlds.reference import outcomes
from tests.worlds.schedulers import configured

MAKERS = {
    "": seeded,
    "configured": configured,
    "devices": with_devices,
    "shared": with_shared_claims,
    "varied": with_varied_claims,
    "choices": with_choices,
    "failing": with_failing_selectors,
    "partitions": with_partitions,
    "shares": with_shares,
    "resources": with_resources,
    "contested": with_contested_resources,
    "classes": with_classes,
}
Task = tuple[int, bool, str]
"""Seed, whether all events are asked too, and what makes the world."""


def add_makers(parser: argparse.ArgumentParser) -> None:
    """Options that say what makes the worlds: ``args.maker`` is a key of MAKERS."""
    for name in filter(None, MAKERS):
        text = f"worlds of {MAKERS[name].__name__}"
        parser.add_argument(f"--{name}", dest="maker", action="store_const", const=name, default="", help=text)


def one(task: Task) -> tuple[int, bool, list[Contradiction]]:
    """(seed, whether the reference answers, what was found)."""
    seed, thorough, maker = task
    world = MAKERS[maker](seed)
    return seed, outcomes(world) is not None, contradictions(world, thorough=thorough)


def results(tasks: Iterable[Task], jobs: int) -> Iterator[tuple[int, bool, list[Contradiction]]]:
    if jobs == 1:
        yield from map(one, tasks)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(one, tasks, chunksize=20)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--thorough", type=int, default=10, help="every so many worlds all events are asked too")
    add_makers(parser)
    parser.add_argument("--out", type=Path, help="JSON lines: seed, kind, said, true")
    args = parser.parse_args()
    seeds = range(args.seed, args.seed + args.count)
    tasks = [(seed, args.thorough > 0 and seed % args.thorough == 0, args.maker) for seed in seeds]
    kinds: Counter[str] = Counter()
    worlds: dict[str, list[int]] = {}
    bad = covered = 0
    out = args.out.open("a") if args.out else None
    for number, (seed, is_covered, found) in enumerate(results(tasks, args.jobs), 1):
        covered += is_covered
        bad += bool(found)
        kinds.update({c.kind for c in found})
        for contradiction in found:
            worlds.setdefault(contradiction.kind, []).append(seed)
            if out is not None:
                print(json.dumps({"seed": seed, **asdict(contradiction)}), file=out, flush=True)
        if number % 1000 == 0 or number == args.count:
            print(f"{number} worlds, {covered} covered by the reference, {bad} with a contradiction", flush=True)
    for kind, count in kinds.most_common():
        print(f"{count:6} {kind} (seeds {', '.join(map(str, worlds[kind][:4]))})")
    print(f"{1000 * bad / args.count:.1f} contradictory worlds per 1,000; {process_time():.0f} s CPU of the parent")


if __name__ == "__main__":
    main()
