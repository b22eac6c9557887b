"""Functions and classes do one thing each; import circles are a contract of ``lint-imports`` (pyproject.toml)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "kubesched_lint"
GENERATED = {"_generated.py", "_index.py", "_lint_options.py"}
LONGEST_FUNCTION, LONGEST_CLASS = 60, 400
"""Most lines of a function, without its signature and its docstring, and of a class."""


def trees() -> Iterator[tuple[str, ast.Module]]:
    for file in PACKAGE.rglob("*.py"):
        if file.name not in GENERATED:
            yield str(file.relative_to(PACKAGE)), ast.parse(file.read_bytes())


def lines_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    body = function.body[int(ast.get_docstring(function) is not None and len(function.body) > 1) :]
    end = function.end_lineno
    assert end is not None
    return end - body[0].lineno + 1


def test_no_function_and_no_class_is_too_long() -> None:
    functions, classes = {}, {}
    for file, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                functions[file, node.name, node.lineno] = lines_of(node)
            elif isinstance(node, ast.ClassDef):
                classes[file, node.name] = (node.end_lineno or 0) - node.lineno + 1
    assert len(functions) > 3_000
    assert {name for name, lines in functions.items() if lines > LONGEST_FUNCTION} == set()
    assert {name for name, lines in classes.items() if lines > LONGEST_CLASS} == set()


def test_few_imports_stand_inside_functions() -> None:
    """Each is the gate of something that a run may not need: a command, a report, pools, devices, a large package."""
    late = {
        (file, node.lineno)
        for file, tree in trees()
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    assert 60 < len(late) <= 120
