"""Cases of outsiders, ``fixtures/outsiders/cases.json``: a command in a folder, and what its output must have."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.one_answer.scenes import FIXTURES
from tests.program import called

FOLDER = FIXTURES / "outsiders"
CASES: list[dict[str, Any]] = json.loads((FOLDER / "cases.json").read_text())


def failures(case: dict[str, Any]) -> list[str]:
    """Why a case does not hold; empty if it does."""
    folder = FOLDER / case["dir"]
    if case.get("check") == "ends":
        return list(_rare_ends(case, folder))
    with _changed(folder) if case.get("git") else nullcontext(folder) as place:
        asked = [case, *case.get("also", [])]
        return [f"{' '.join(one['argv'])}: {why}" for one in asked for why in _wrong(one["argv"], one["expect"], place)]


@contextmanager
def _changed(folder: Path) -> Iterator[Path]:
    """A repository with ``base`` as the branch main, in whose work tree ``head`` is checked out."""
    with TemporaryDirectory() as place:
        shutil.copytree(folder / "base", place, dirs_exist_ok=True)
        author = ("-c", "user.name=test", "-c", "user.email=test@example.com")
        for argv in (["init", "-q", "-b", "main"], ["add", "."], [*author, "commit", "-q", "-m", "base"]):
            subprocess.run(["git", *argv], cwd=place, check=True, capture_output=True)
        shutil.copytree(folder / "head", place, dirs_exist_ok=True)
        yield Path(place)


def _rare_ends(case: dict[str, Any], folder: Path) -> Iterator[str]:
    """The share of a rare end among random runs, unless no counts are printed."""
    rare = seen = 0
    for seed in range(1, case["seeds"] + 1):
        out = called(*case["argv"], "--seed", str(seed), cwd=folder).stdout
        part = out.partition(case["after"])[2].partition("\n\n")[0]
        for end, times in re.findall(r"^\s*((?:\d+/)+\d+)\b.*?(\d+)\s*×", part, re.M):
            seen += int(times)
            rare += int(times) * (end in case["rare"])
    if rare > case["most"] * seen:
        yield f"{rare} of {seen} runs end in {case['rare']}, expected is a share of {case['share']:.2%}"


def _wrong(argv: list[str], expect: dict[str, Any], folder: Path) -> Iterator[str]:
    done = called(*argv, cwd=folder)
    both = f"{done.stdout}\n{done.stderr}"
    if "This is a bug" in both or "Traceback (most recent" in both:
        yield "a crash"
    if done.returncode not in expect.get("exit", [done.returncode]):
        yield f"exit {done.returncode}, wanted {expect['exit']}"
    data = json.loads(done.stdout) if done.stdout.startswith("{") else {}
    found = list(_findings(data))
    for want in expect.get("has", ()):
        if not any(_meets(one, want) for one in found):
            yield f"no finding {want}"
    for want in expect.get("hasnot", ()):
        yield from (f"unwanted: {one['message']}" for one in found if _meets(one, want))
    if "cell" in expect:
        yield from _wrong_cells(data, expect["cell"])
    yield from (f"lacks /{text}/" for text in expect.get("stdout_has", ()) if not re.search(text, both, re.I | re.S))
    yield from (f"has /{text}/" for text in expect.get("stdout_hasnot", ()) if re.search(text, both, re.I))


def _findings(data: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every finding that counts, and those of the same cause beside it."""
    for one in data.get("findings", ()):
        if not one.get("suppressed"):
            yield one
            yield from ({**one, **other} for other in one.get("also") or ())


def _meets(one: dict[str, Any], want: dict[str, Any]) -> bool:
    evidence = one.get("evidence") or {}
    words = " ".join((one["message"], one.get("help") or "", evidence.get("text") or "", *evidence.get("assumes", ())))
    severities = want.get("severity", one["severity"])
    return (
        bool(re.search(want.get("rule", ""), one["rule"]))
        and (one["severity"] in severities if isinstance(severities, list) else one["severity"] == severities)
        and one["location"]["line"] in want.get("line", [one["location"]["line"]])
        and ("workload" not in want or bool(re.search(rf"(?<![\w-]){want['workload']}(?![\w-])", words)))
        and bool(re.search(want.get("text", ""), words, re.I | re.S))
    )


def _wrong_cells(data: dict[str, Any], want: dict[str, Any]) -> Iterator[str]:
    rows = [row for row in data["workloads"] if re.search(want["workload"], row["object"])]
    cells = [cell for row in rows for cell in row["cells"] if cell["event"] == want["event"]]
    if not cells:
        yield f"no cell {want['event']} of {want['workload']}"
    for cell in cells:
        is_other = re.search(want["text_not"], cell["text"]) if "text_not" in want else False
        verdicts, proven = want.get("verdict", cell["verdict"]), want.get("proven", cell["proven"])
        if is_other or cell["verdict"] not in verdicts or cell["proven"] != proven:
            yield f"cell {cell['text']}: {cell['verdict']}{' proven' * cell['proven']}"
