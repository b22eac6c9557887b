"""Every module can be the first that is imported: no circle and no missing import hides behind the order of a run.

Where the imports that run with a module go round in no circle, a module finds the same modules whatever came before,
so one process may import all of them. Modules on a circle, and between two, are each imported in a process of their
own.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = "kubesched_lint"
OPTIONAL = ("highspy", "distributed", "cel_expr_python", "google", "pygls", "lsprotocol")
_ALL = """
import importlib, json, sys
for name in json.load(sys.stdin):
    try:
        importlib.import_module(name)
    except BaseException as error:
        print(json.dumps([name, f"{type(error).__name__}: {error}"]))
"""


def modules(root: Path) -> dict[str, Path]:
    """All modules of the package below ``root``; ``__main__`` runs the command when it is imported."""
    files = (root / PACKAGE).rglob("*.py")
    named = {".".join(file.relative_to(root).with_suffix("").parts): file for file in sorted(files)}
    return {name.removesuffix(".__init__"): file for name, file in named.items() if not name.endswith(".__main__")}


def imported(file: Path, name: str, known: Mapping[str, Path]) -> set[str]:
    """The modules of ours that are imported when this one is: those that functions import later do not count."""
    found: set[str] = set()
    for node in _run_at_once(ast.parse(file.read_text(encoding="utf-8")).body):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            found.add(base)
            found.update(f"{base}.{alias.name}" for alias in node.names)
    parents = {".".join(one.split(".")[:n]) for one in (*found, name) for n in range(1, one.count(".") + 1)}
    return ((found | parents) & known.keys()) - {name}


def _run_at_once(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that run with a module; what stands under ``if TYPE_CHECKING`` does not."""
    for statement in body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        yield statement
        if isinstance(statement, ast.If) and "TYPE_CHECKING" in ast.dump(statement.test):
            yield from _run_at_once(statement.orelse)
            continue
        for part in ("body", "orelse", "finalbody"):
            yield from _run_at_once(getattr(statement, part, []))
        for handler in getattr(statement, "handlers", []):
            yield from _run_at_once(handler.body)


def on_circles(graph: Mapping[str, set[str]]) -> list[str]:
    """What is left when modules that import nothing that is left, or that nobody left imports, are taken away."""
    left = {name: set(targets) for name, targets in graph.items()}
    while True:
        wanted = set().union(*left.values()) if left else set()
        gone = {name for name, targets in left.items() if not targets or name not in wanted}
        if not gone:
            return sorted(left)
        left = {name: targets - gone for name, targets in left.items() if name not in gone}


def failures(root: Path, names: list[str]) -> dict[str, str]:
    """Module → what its import raised, all in one fresh process."""
    done = subprocess.run(
        [sys.executable, "-c", _ALL],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
        input=json.dumps(names),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return dict(map(json.loads, done.stdout.splitlines()))


def found_in(root: Path) -> dict[str, str]:
    """Module → what its import raises where it is the first of ours, extras that are not installed aside."""
    known = modules(root)
    circles = on_circles({name: imported(file, name, known) for name, file in known.items()})
    found = failures(root, sorted(known.keys() - set(circles)))
    for name in circles:
        found |= failures(root, [name])
    return {
        name: failure
        for name, failure in found.items()
        if not any(f"No module named '{o}" in failure for o in OPTIONAL)
    }


@pytest.mark.thorough
def test_every_module_can_be_imported_first() -> None:
    assert len(modules(ROOT)) > 200
    assert found_in(ROOT) == {}


def needing_extras(root: Path) -> set[str]:
    """Modules that cannot be imported without a package of ``OPTIONAL``, alone or because of another module."""
    known = modules(root)
    graph = {name: imported(file, name, {**known, **dict.fromkeys(OPTIONAL, file)}) for name, file in known.items()}
    found = {name for name, targets in graph.items() if targets & set(OPTIONAL)}
    while more := {name for name, targets in graph.items() if name not in found and targets & found}:
        found |= more
    return found


def test_what_every_run_imports_needs_no_extra() -> None:
    """Rules and validation run without the extras; a function imports what evaluates a selector of devices."""
    found = needing_extras(ROOT)
    assert "kubesched_lint.engine.scheduler.devices.selectors.cel" in found
    names = {name for name in found if name.split(".")[1] in ("checks", "engine", "explaining", "linter")}
    evaluating = {
        "kubesched_lint.engine.model.devices.cel.environment",
        "kubesched_lint.engine.scheduler.devices.selectors.cel",
    }
    assert names - {"kubesched_lint.engine.model.devices.cel.functions"} == evaluating


def test_a_circle_and_a_missing_name_are_found(tmp_path: Path) -> None:
    package = tmp_path / PACKAGE
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "first.py").write_text("import kubesched_lint.second\nhere = 1\n")
    (package / "second.py").write_text("from kubesched_lint.first import here\n")
    (package / "third.py").write_text("from kubesched_lint import nothing\n")
    (package / "fourth.py").write_text("def late():\n    from kubesched_lint import nothing\n")
    found = found_in(tmp_path)
    assert sorted(found) == ["kubesched_lint.first", "kubesched_lint.third"]
    assert all(failure.startswith("ImportError: cannot import name") for failure in found.values())


def test_only_what_runs_at_once_is_followed(tmp_path: Path) -> None:
    file = tmp_path / "some.py"
    file.write_text(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from p.a import x\nelse:\n    import p.b\n"
        "try:\n    import p.c\nexcept ImportError:\n    import p.d\nclass K:\n    from p import e\n"
        "    def f(self):\n        import p.g\n"
    )
    known = dict.fromkeys(("p", "p.a", "p.b", "p.c", "p.d", "p.e", "p.g", "p.some"), file)
    assert imported(file, "p.some", known) == {"p", "p.b", "p.c", "p.d", "p.e"}
