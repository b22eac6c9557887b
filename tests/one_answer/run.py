"""``python -m tests.one_answer.run --seeds 1-40``: the invariants over more than a test run has time for."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from time import process_time

from kubesched_lint.engine.placing import attempts
from kubesched_lint.findings import Severity
from tests.one_answer import scenes
from tests.one_answer.invariants import Break, counted_bounds_are_kept, one_answer, refused_is_refused
from tests.one_answer.scenes import Scene

KINDS = ("nodes", "kubectl", "full")


def _asked(args: argparse.Namespace) -> Iterator[Scene]:
    if args.fixtures:
        yield from scenes.of_fixtures()
        yield from scenes.of_clouds()
    if args.cards:
        yield from scenes.of_cards()
    for seed in _numbers(args.seeds):
        for kind in args.kinds.split(","):
            for mistakes in map(int, args.mistakes.split(",")):
                yield from scenes.of_ordinary(seed, kind, mistakes)
    yield from map(scenes.of_scenario, _numbers(args.worlds))


def _numbers(text: str) -> range:
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1) if text else range(0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="", help="ordinary companies, such as 1-40")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--mistakes", default="0,4")
    parser.add_argument("--worlds", default="", help="random worlds, such as 0-999")
    parser.add_argument("--cards", action="store_true")
    parser.add_argument("--fixtures", action="store_true")
    parser.add_argument(
        "--long", action="store_true", help="search as lint does; else cells of ordinary companies are only counted"
    )
    args = parser.parse_args()
    kinds: Counter[str] = Counter()
    rates: Counter[tuple[str, str]] = Counter()
    attempts.raising = True
    for told in _asked(args):
        start, scene = process_time(), told.searched if args.long else told
        try:
            found = [*one_answer(scene), *refused_is_refused(scene), *counted_bounds_are_kept(scene)]
        except attempts.RefutedError as error:
            found = [Break(1, scene.name, "a run refutes a proof", str(error))]
        for one in found:
            kinds[f"{one.invariant} {one.what}"] += 1
            print(f"  {one.line}\n      {one.more}")
        words = scene.name.split()
        if words[0] == "ordinary" and words[3] == "0":
            key = f"{words[2]} {words[4]}"
            rates[key, "workloads"] += len(scene.manifests.inventory.workloads)
            for finding in scene.linted[0].findings:
                if finding.severity >= Severity.WARNING:
                    rates[key, f"{finding.severity.word} {finding.rule}"] += 1
        print(f"{scene.name}: {len(found)} breaks, {process_time() - start:.1f} s", flush=True)
    for kind, count in kinds.most_common():
        print(f"{count:6} {kind}")
    for (which, what), count in sorted(rates.items()):
        print(f"healthy {which}: {count} {what}")


if __name__ == "__main__":
    main()
