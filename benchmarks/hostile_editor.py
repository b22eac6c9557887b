"""Print what an editor and ``--watch`` ask about a file, with seconds of CPU: ``hostile_editor.py FILE [CLUSTER]``."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.hostile.shapes.editing import edited

if __name__ == "__main__":
    slowest = ("nothing", 0.0)
    for what, seconds in edited(sys.argv[1], next(iter(sys.argv[2:]), None)):
        print(f"{what}: {seconds:.2f}", flush=True)
        slowest = max(slowest, (what, seconds), key=lambda shape: shape[1])
    print(f"slowest: {slowest[1]:.2f} at {slowest[0]}")
