"""Plants wrong proofs, one small change of the code at a time, and counts how many an exact run beats.

    python scripts/planted_proofs.py --most 200

A change turns a comparison, an arithmetic sign, a constant or a condition in a check, or in a module with which checks
count. It does not change modules that the exact runs use. A wrong proof is planted if the changed code reports an error
where the matrix proves that all is fine; for a rule about a whole set, all of the set must be fine. The proof is caught
if the report shows it as not established. Prints the numbers of planted and caught proofs, and each that was not
caught.
"""

from __future__ import annotations

import argparse
import ast
import copy
from collections import Counter
from collections.abc import Iterator, Mapping
from difflib import unified_diff
from importlib import import_module
from pathlib import Path as File
from random import Random
from types import CodeType, FunctionType, ModuleType

from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.engine.events.answers.cells import Cell
from kubesched_lint.engine.placing import attempts
from kubesched_lint.findings import Severity
from kubesched_lint.linter.lint_text import lint_example
from kubesched_lint.rulebook.examples import Example, Trial
from kubesched_lint.rulebook.library import Rulebook, cards_folder
from kubesched_lint.rulebook.rule import Rule, module_name

SHARED = (
    "engine.placing.together.joint",
    "explaining.crowding.ports",
    "engine.placing.rollout",
    "engine.placing.together.spread",
    "engine.placing.wanted",
    "explaining.near_misses.zone_pins",
    "engine.scheduler.capacity",
    "engine.scenario.others.neighbours",
)
EVENTS = ("deploy", "rollout")
EACH = 20
"""So many wrong proofs of one change are counted, each on another example."""
CHANGED = (ast.Compare, ast.BinOp, ast.BoolOp, ast.UnaryOp, ast.If, ast.Constant)
SWAPPED = {
    ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
SIGNS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.Mult: ast.Add}


def places(tree: ast.Module) -> Iterator[tuple[int, int]]:
    """Every small change that ``changed`` can make: the number of a node in ``ast.walk``, and which of its changes."""
    for at, node in enumerate(ast.walk(tree)):
        for which in range(2):
            if isinstance(node, CHANGED) and _change(copy.deepcopy(node), which):
                yield at, which


def changed(tree: ast.Module, at: int, which: int) -> ast.Module:
    """The module with one change."""
    other = copy.deepcopy(tree)
    _change(list(ast.walk(other))[at], which)
    return ast.fix_missing_locations(other)


def _change(node: ast.AST, which: int) -> bool:
    """Change one node in place; False where there is no such change."""
    match node:
        case ast.Compare(ops=[op, *_]) if which == 0 and type(op) in SWAPPED:
            node.ops[0] = SWAPPED[type(op)]()
        case ast.BinOp(op=op) if which == 0 and type(op) in SIGNS:
            node.op = SIGNS[type(op)]()
        case ast.BoolOp(op=op) if which == 0:
            node.op = ast.Or() if isinstance(op, ast.And) else ast.And()
        case ast.UnaryOp(op=ast.Not()) if which == 0:
            node.op, node.operand = ast.Not(), ast.UnaryOp(ast.Not(), node.operand)
        case ast.If() if which < 2:
            node.test = ast.Constant(which == 0)
        case ast.Constant(value=int(value)) if which < 2 and not isinstance(value, bool):
            node.value = value + (1 if which else -1)
        case _:
            return False
    return True


class Changed:
    """A module whose functions run the code of another version of it, for the length of a ``with``."""

    def __init__(self, module: ModuleType, tree: ast.Module) -> None:
        self._functions = dict(_functions(vars(module), module.__name__))
        self._codes = {c.co_qualname: c for c in _codes(compile(tree, str(module.__file__), "exec"))}
        self._kept: dict[str, CodeType] = {}

    def __enter__(self) -> None:
        for name, function in self._functions.items():
            code = self._codes.get(name)
            if code is not None and len(code.co_freevars) == len(function.__code__.co_freevars):
                self._kept[name] = function.__code__
                function.__code__ = code

    def __exit__(self, *_: object) -> None:
        for name, code in self._kept.items():
            self._functions[name].__code__ = code


def _functions(names: Mapping[str, object], module: str) -> Iterator[tuple[str, FunctionType]]:
    for value in names.values():
        value = getattr(value, "__wrapped__", value)  # what once_per_scenario remembers
        if isinstance(value, FunctionType) and value.__module__ == module:
            yield value.__qualname__, value
        elif isinstance(value, type) and value.__module__ == module:
            yield from _functions(vars(value), module)


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)


# --- planting -------------------------------------------------------------------------------------------------------


Errors = Mapping[tuple[str, ObjectRef], bool]
"""(rule, object) → whether a run beat it."""
Well = tuple[frozenset[ObjectRef], bool]
"""Objects that fare well, and whether all of a set do."""


def errors(example: Example, rules: tuple[Rule, ...], book: Rulebook) -> Errors:
    report = lint_example(example, rules, book)
    return {
        (f.rule, f.object): f.evidence.text.startswith("not established")
        for f in report.findings
        if f.severity is Severity.ERROR or f.evidence.text.startswith("not established")
    }


def fine(example: Example) -> Well:
    """The objects that the matrix proves to be fine in every event, and whether that is all objects."""
    from tests.events.test_rules_and_matrix_agree import report_of

    result = report_of(example, *EVENTS)
    well = {result.workloads[row.number].ref: all(map(_is_fine, row.cells)) for row in result.rows}
    return frozenset(ref for ref, is_well in well.items() if is_well), all(well.values())


def _is_fine(cell: Cell) -> bool:
    return cell.verdict == "none" or (cell.verdict == "fine" and cell.proven)


def is_wrong(key: tuple[str, ObjectRef], well: Well, book: Rulebook) -> bool:
    """Whether the error of a rule about an object is false."""
    (slug, object_), (objects, everything) = key, well
    return everything if book.get(slug).each == "set" else object_ in objects


def mutants(book: Rulebook, random: Random) -> Iterator[tuple[ModuleType, ast.Module, tuple[Rule, ...]]]:
    """Changed modules in random order, each with the rules that use it."""
    rules = tuple(r for r in book if r.severity is Severity.ERROR and r.each in ("workload", "set"))
    own = {f"checks.{module_name(rule.slug)}": (rule,) for rule in rules}
    asked = {**own, **dict.fromkeys(SHARED, rules)}
    planted = []
    for name, asking in asked.items():
        module = import_module(f"kubesched_lint.{name}")
        tree = ast.parse(File(str(module.__file__)).read_text(encoding="utf-8"))
        planted += [(module, tree, place, asking) for place in places(tree)]
    random.shuffle(planted)
    for module, tree, place, asking in planted:
        yield module, changed(tree, *place), asking


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    attempts.raising = False
    trial = Trial.of(cards_folder())
    random = Random(options.seed)
    tried = [e for e in trial.examples if e.cluster is not None]
    well = {str(example): fine(example) for example in tried}
    caught: Counter[str] = Counter()
    made = 0
    for module, tree, rules in mutants(trial.book, random):
        if sum(caught.values()) >= options.most:
            break
        made += 1
        slugs = {rule.slug for rule in rules}
        own = [e for e in tried if e.slug in slugs] if len(rules) == 1 else []
        planted = 0
        for example in [*own, *random.sample(tried, 60)]:
            if planted >= EACH:
                break
            with Changed(module, tree):
                try:
                    said = errors(example, rules, trial.book)
                except Exception:
                    break  # the changed code fails: nothing is planted
            wrong = {key: beaten for key, beaten in said.items() if is_wrong(key, well[str(example)], trial.book)}
            if not wrong:
                continue
            (rule, object_), beaten = next(iter(wrong.items()))
            planted += 1
            caught["caught" if beaten else "not caught"] += 1
            if not beaten:
                print(f"not caught: {rule} on {object_} of {example}; {module.__name__} with")
                print(_difference(module, tree))
    print(f"{made} changes, {sum(caught.values())} wrong proofs planted: {dict(caught)}")


def _difference(module: ModuleType, tree: ast.Module) -> str:
    before = ast.unparse(ast.parse(File(str(module.__file__)).read_text(encoding="utf-8"))).splitlines()
    lines = unified_diff(before, ast.unparse(tree).splitlines(), lineterm="", n=0)
    return "\n".join(line for line in lines if line[0] in "+-" and line[:3] not in ("+++", "---"))


if __name__ == "__main__":
    main()
