"""Functions and classes do one thing each; import circles are a contract of ``lint-imports`` (pyproject.toml)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "kubesched_lint"
GENERATED = {"_generated.py", "_index.py", "_lint_options.py"}
LONGEST_FUNCTION, LONGEST_CLASS = 60, 400
"""Most lines of a function, without its signature and its docstring, and of a class."""
LONGEST_CHECK = 100
MOST_ENTRIES = 15
"""Most modules and folders of a package."""
NAME_NOTHING = {"found", "one", "here", "its", "this", "those", "them", "thing", "things", "stuff"}
"""Words that say of no thing what it is: ``node``, ``claims`` or ``blocked`` does."""
LIMIT = re.compile(r"(^|_)(MOST|FEW|STEPS|LEAST|MANY|MAX)(_|$)")
SIZE = re.compile(r"(^|_)(LARGEST|LONGEST)(_|$)")
JOINS = {
    "engine/admission/admission.py",  # workloads and quotas
    "explaining/crowding/ports.py",  # users of one host port
    "engine/cluster/selecting/labelled.py",  # selectors and the pods that they select
    "engine/cluster/selecting/postings.py",  # pods and the selectors that select them
    "engine/bounds/competition/contention.py",  # parts of a set and all that may exist beside each
    "engine/bounds/least.py",  # losses and the workloads that they concern
    "engine/events/search/hypotheses.py",  # lost nodes and all others
    "engine/bounds/losses/unreachable.py",  # losses and the domains of a spread
    "engine/scheduler/devices/alike.py",  # devices and the selectors that look at them
    "linter/environments/duplicate_definitions.py",  # files and definitions
    "linter/environments/variants.py",  # folders and definitions
    "rulebook/cel/cost.py",  # own rules and values
    "engine/scheduler/scores/node_resources.py",  # pods and nodes with different numbers
}
SEARCHES = {
    "engine/bounds/counted.py",  # cells of the table
    "engine/events/search/explore.py",  # states and courses
    "engine/events/transitions/gangs.py",  # orders of a gang
    "engine/events/transitions/stored_volumes.py",  # states and the volumes of all
    "engine/events/transitions/statefulset_pods.py",  # ordinals
    "engine/events/start/timelines.py",  # starts of courses
    "engine/scheduler/devices/allocator.py",  # devices for a claim
    "engine/scheduler/framework.py",  # nodes for a pod
    "engine/scheduler/pod_groups/pod_groups.py",  # nodes for each pod of a gang
    "explaining/ends/bad_ends.py",  # tables of verdicts, one for each folder or file that is judged apart
}
SOLVER = {
    "engine/placing/together/programme.py",  # a set on classes of nodes
    "engine/bounds/competition/filling.py",  # pods on groups of nodes
}


@cache
def trees() -> list[tuple[str, ast.Module]]:
    files = (file for file in PACKAGE.rglob("*.py") if file.name not in GENERATED)
    return [(str(file.relative_to(PACKAGE)), ast.parse(file.read_bytes())) for file in files]


@cache
def walked() -> list[tuple[str, list[ast.AST]]]:
    """Each file with all its nodes: to walk through them takes most of the time of these tests."""
    return [(file, list(ast.walk(tree))) for file, tree in trees()]


def lines_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    body = function.body[int(ast.get_docstring(function) is not None and len(function.body) > 1) :]
    end = function.end_lineno
    assert end is not None
    return end - body[0].lineno + 1


def test_no_function_and_no_class_is_too_long() -> None:
    functions, classes = {}, {}
    for file, nodes in walked():
        for node in nodes:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                functions[file, node.name, node.lineno] = lines_of(node)
            elif isinstance(node, ast.ClassDef):
                classes[file, node.name] = (node.end_lineno or 0) - node.lineno + 1
    assert len(functions) > 3_000
    assert {name for name, lines in functions.items() if lines > LONGEST_FUNCTION} == set()
    assert {name for name, lines in classes.items() if lines > LONGEST_CLASS} == set()


def test_a_package_fits_on_one_screen() -> None:
    """A reader sees the idea of a package in few names. Rules and commands are as many as there are."""
    entries: dict[str, set[str]] = {}
    for file, _ in trees():
        *folders, name = Path(file).parts
        for depth, entry in enumerate((*folders, name)):
            if entry != "__init__.py":
                entries.setdefault("/".join(folders[:depth]), set()).add(entry)
    assert len(entries) > 80
    assert {folder for folder, names in entries.items() if len(names) > MOST_ENTRIES} == {
        "",
        "checks",
        "cli/subcommands",
    }
    assert len(entries[""]) <= 25


def test_a_large_package_says_in_which_order_to_read_it() -> None:
    large, silent = [], []
    for init in PACKAGE.rglob("__init__.py"):
        names = {f.stem for f in init.parent.iterdir() if (f.suffix == ".py" or f.is_dir()) and f.name[:2] != "__"}
        package = str(init.parent.relative_to(PACKAGE))
        if len(names) > 10 and package not in (".", "checks", "cli/subcommands"):
            large.append(package)
            _, _, order = (ast.get_docstring(ast.parse(init.read_text())) or "").partition("Read ")
            told = re.findall(r"``([a-z_]+)``", order)
            if not told or not names.issuperset(told):
                silent.append((package, told))
    assert len(large) > 15
    assert silent == []


def test_a_check_says_one_thing() -> None:
    """What two rules need belongs to ``explaining``."""
    checks = {file.name: file.read_text() for file in (PACKAGE / "checks").glob("*.py")}
    assert len(checks) > 120
    assert {name for name, text in checks.items() if text.count("\n") > LONGEST_CHECK} == set()
    parts = [name.removesuffix(".py") for name in checks if name.startswith("_") and name != "__init__.py"]
    users = {part: sum(f"checks.{part} import" in text for text in checks.values()) for part in parts}
    assert set(users.values()) == {1}


def bound_in(nodes: Iterable[ast.AST]) -> set[str]:
    """Return each name that is bound: variables, parameters, fields, functions, classes, imports and captures."""
    names = set()
    for node in nodes:
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()) | ast.arg(arg=name):
                names.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.alias(name=name, asname=other):
                names.add(other or name.partition(".")[0])
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                names.add(name)
            case ast.MatchMapping(rest=str(name)):
                names.add(name)
    return names


def test_names_say_what_things_are() -> None:
    every = """
import found.a, a as one
def here(its, *this, **those):
    with a as them: (thing := 1)
    for things in b: self.stuff = 2
    match c:
        case [*here] | {**its}: pass
        case this: pass
    try: d
    except E as those: return [one for one in e], lambda one: 3
"""
    assert bound_in(ast.walk(ast.parse(every))) == NAME_NOTHING
    assert {file: names for file, nodes in walked() if (names := NAME_NOTHING & bound_in(nodes))} == {}


def test_few_imports_stand_inside_functions() -> None:
    """Each is the gate of something that a run may not need: a command, a report, pools, devices, a large package."""
    late = {
        (file, node.lineno)
        for file, nodes in walked()
        for function in nodes
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    assert 60 < len(late) <= 120


def test_work_is_counted_at_the_joins_the_searches_and_the_solver() -> None:
    """A loop that costs much passes one of these gates: it needs no count of its own."""
    counting = {
        file
        for file, nodes in walked()
        for node in nodes
        if isinstance(node, ast.Call)
        and getattr(node.func, "attr", getattr(node.func, "id", "")) == "spend"
        and file != "work.py"
    }
    assert counting == JOINS | SEARCHES | SOLVER


def are_numbers(value: ast.expr) -> bool:
    """Whether an expression is a number, such as ``1 << 20``, or several."""
    if isinstance(value, ast.BinOp):
        return are_numbers(value.left) and are_numbers(value.right)
    if isinstance(value, ast.Tuple):
        return all(map(are_numbers, value.elts))
    return isinstance(value, ast.Constant) and type(value.value) in (int, float)


def test_limits_are_few_and_each_says_what_a_user_sees() -> None:
    """They stand in modules named ``limits``, one in a package. Some numbers there bound the size of one thing."""
    names, sizes, silent, elsewhere = set(), set(), set(), set()
    for file, tree in trees():
        of_limits = Path(file).name.endswith("limits.py")
        for statement, after in zip(tree.body, [*tree.body[1:], None], strict=True):
            if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                name = statement.targets[0].id
                if not (LIMIT.search(name) or SIZE.search(name)) or not are_numbers(statement.value):
                    continue
                (names if LIMIT.search(name) else sizes).add((file, name))
                if not of_limits:
                    elsewhere.add((file, name))
                elif not (isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)):
                    silent.add((file, name))
    assert 60 < len(names) <= 100
    assert 10 < len(sizes) <= 20
    assert silent == set()
    assert elsewhere == {("engine/scheduler/scores/levels.py", "MAX_NODE_SCORE")}, (
        "the scheduler's highest score is no limit"
    )
