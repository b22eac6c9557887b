"""A keystroke in a warm session over 200 files (goal: under 100 ms of CPU, median and 95th percentile).

Run from the repository: ``python benchmarks/session.py [FILES]``. Each keystroke changes one file and is answered at
once; the whole run that follows when the user pauses is measured too. Exit code 1 if the goal is missed.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from statistics import median, quantiles
from time import process_time

sys.path.insert(0, str(Path(__file__).parents[1]))

from kubesched_lint.commands.lint.run import Request
from kubesched_lint.linter.options import Options
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.session.session import Session
from scripts.make_corpus import write

FILES, KEYSTROKES, GOAL = 200, 100, 0.1
SKETCH = Path(__file__).parents[1] / "fixtures/clusters/three-zones.yaml"


def keystrokes(session: Session, folder: Path) -> list[float]:
    """Return the CPU seconds of each answer to a keystroke: a digit or a comment, somewhere in the set."""
    paths = sorted(folder.rglob("*.yaml"))
    taken = []
    for number in range(KEYSTROKES):
        path = paths[number * len(paths) // KEYSTROKES]
        text = path.read_text(encoding="utf-8")
        begun = process_time()
        session.put(str(path), text.replace("replicas: ", "replicas: 1") if number % 2 else f"{text}# {number}\n")
        session.at_once()
        taken.append(process_time() - begun)
    return taken


def measured(folder: Path, cluster: Path | None) -> bool:
    """Print one line of figures. Return whether the goal is met."""
    begun = process_time()
    session = Session(Request((str(folder),), str(cluster) if cluster else None), Options(), Rulebook.shipped())
    session.whole()
    opened = process_time() - begun
    taken = keystrokes(session, folder)
    begun = process_time()
    session.whole()
    whole = process_time() - begun
    slowest = quantiles(taken, n=20)[-1]
    met = slowest <= GOAL
    name = "three zones" if cluster else "no cluster"
    print(
        f"{name:12} opened {opened:.2f} s, keystroke {1000 * median(taken):.0f} ms "
        f"(95th percentile {1000 * slowest:.0f} ms), whole run {whole:.2f} s  goal {'met' if met else 'MISSED'}"
    )
    return met


def main() -> int:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else FILES
    with tempfile.TemporaryDirectory() as made:
        write(Path(made), count, 1)
        met = [measured(Path(made), cluster) for cluster in (None, SKETCH)]
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
