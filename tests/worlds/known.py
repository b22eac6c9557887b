"""``python -m tests.worlds.known``: takes closed contradictions off ``open.txt``, and adds none.

Each line of ``open.txt`` is a seed and a kind of contradiction that the world of this seed still shows. Lines with
``*`` for a seed are kinds that longer runs still meet and that the hypothesis test passes over; whoever closes one
deletes its line.
"""

from __future__ import annotations

from pathlib import Path

from tests.worlds.agreement import contradictions
from tests.worlds.generator import seeded

SEEDS = 250
THOROUGH = 10
"""Every so many worlds all events are asked, and the files are read in other ways."""
OPEN = Path(__file__).with_name("open.txt")
Line = tuple[int, str]


def found(seeds: range = range(SEEDS)) -> set[Line]:
    """What the worlds of the seeds show now."""
    return {(s, c.kind) for s in seeds for c in contradictions(seeded(s), thorough=s % THOROUGH == 0)}


def listed() -> set[Line]:
    lines = (line.partition(" ") for line in OPEN.read_text().splitlines() if line and not line.startswith("#"))
    return {(int(seed), kind) for seed, _, kind in lines if seed != "*"}


def open_kinds() -> set[str]:
    """Every kind that is listed, of a seed or not."""
    return {line.partition(" ")[2] for line in OPEN.read_text().splitlines() if not line.startswith("#")}


def write(lines: set[Line]) -> None:
    others = [line for line in OPEN.read_text().splitlines(keepends=True) if line.startswith("*")]
    head = "# Open contradictions: seed and kind. Only lines may go: python -m tests.worlds.known\n"
    OPEN.write_text(head + "".join(f"{seed} {kind}\n" for seed, kind in sorted(lines)) + "".join(others))


if __name__ == "__main__":
    now = found()
    new = now - listed()
    write(now & listed())
    print(f"{len(now & listed())} open contradictions left; {len(new)} new ones, not written: {sorted(new)[:5]}")
