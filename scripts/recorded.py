"""Compares two versions on recorded deployments: which right errors and which established cells the newer one lost.

kubesched-lint verify fixtures/conformance/families.jsonl.gz --show 0 --predictions old.jsonl   # in the old version
kubesched-lint verify fixtures/conformance/families.jsonl.gz --show 0 --predictions new.jsonl   # in the new one
python scripts/recorded.py fixtures/conformance/families.jsonl.gz old.jsonl new.jsonl
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kubesched_lint.commands.verify.recorded import Deployment
from kubesched_lint.commands.verify.recordings import read_cases

Prediction = dict[str, Any]


def read(path: str) -> dict[str, Prediction]:
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    return {value["case"]: value for value in map(json.loads, lines)}


def cells(prediction: Prediction) -> dict[tuple[str, str], Prediction]:
    return {(cell["object"], cell["event"]): cell for cell in prediction["cells"]}


def is_established(cell: Prediction) -> bool:
    return bool(cell["verdict"] != "unknown")


def is_single(cell: Prediction) -> bool:
    return is_established(cell) and cell["bound"][0] == cell["bound"][1]


def lost_errors(case: Deployment, old: Prediction, new: Prediction) -> Iterator[str]:
    """Objects in trouble with an error from the old version and none from the new one."""
    kept = {error["object"] for error in new["errors"]}
    troubled = {str(ref) for phase in case.phases for ref, seen in phase.workloads.items() if seen.in_trouble}
    for name in sorted({error["object"] for error in old["errors"]} - kept):
        if name in troubled:
            yield f"{case.name} {name}: no error any more, and it was in trouble"


def lost_cells(name: str, old: Prediction, new: Prediction) -> Iterator[str]:
    after = cells(new)
    for key, cell in cells(old).items():
        if is_established(cell) and key in after and not is_established(after[key]):
            yield f"{name} {' '.join(key)}: was established as {cell['verdict']}, is not now"


def main(recording: str, old_path: str, new_path: str) -> None:
    old, new = read(old_path), read(new_path)
    for case in map(Deployment, read_cases(recording)):
        for line in (
            *lost_errors(case, old[case.name], new[case.name]),
            *lost_cells(case.name, old[case.name], new[case.name]),
        ):
            print(line)
    shared = {(name, key) for name in old for key in cells(old[name]).keys() & cells(new[name]).keys()}
    for word, held in (("before", old), ("after", new)):
        pairs = [cells(held[name])[key] for name, key in shared]
        errors = sum(len(prediction["errors"]) for prediction in held.values())
        established, single = sum(map(is_established, pairs)), sum(map(is_single, pairs))
        proven = sum(cell["proven"] for cell in pairs)
        print(f"{word}: {errors} errors; of {len(pairs)} cells", end=" ")
        print(f"{established} are established, {single} of one value, {proven} proven")


if __name__ == "__main__":
    main(*sys.argv[1:])
