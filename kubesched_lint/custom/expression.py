"""Expressions of workload cards: paths into objects, defaults, arithmetic. A value keeps the place that it is from.

``spec.replicas or 1``, ``metadata.name + '-' + item.name``, ``[{'name': v.id} for v in spec.volumes if v.size]``. Only
Python's parser reads them; nothing of a card is executed, and numbers, texts, lists and depth are bounded.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any
from warnings import catch_warnings

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.custom.limits import LARGEST_NUMBER
from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.model.limits import LONGEST
from kubesched_lint.sources.manifests.document import Document

_WORDS: Mapping[str, bool | None] = {"true": True, "false": False, "null": None}
_COMPARED: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_COUNTED: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_LISTS = ({list}, {list, type(None)}, {type(None)})
_MAPPINGS = ({dict}, {dict, type(None)})
_CALLED: Mapping[str, Callable[..., int]] = {"min": min, "max": max, "sum": sum, "int": int, "mib": int}
_ONE = {"sum": "one list", "int": "one text or number", "mib": "one text such as '2048m' or '2g'"}
"""Functions of one value → what it is."""
_JAVA_UNITS = {"k": 10, "m": 20, "g": 30, "t": 40}


class ExpressionError(ValueError):
    """An expression that is none, or that has no value for an object; the text says why."""


class Place(Struct, frozen=True):
    """The place of a value: a path in a document, which may not exist."""

    document: Document
    at: Path


Part = tuple[Path, Place, bool]
"""A path inside a value, the place of what is there, and whether it is exact."""


class Found(Struct, frozen=True):
    """The value of an expression: ``place`` is where it, or the first value that it is made of, is written."""

    value: Any
    place: Place | None = None
    is_exact: bool = False
    """The very value stands at ``place``, or would, if a user wrote it."""
    parts: tuple[Part, ...] = ()
    """Those of a list or mapping that the expression makes."""


Scope = Mapping[str, Found]
"""The names that an expression may begin with → objects or parts of them."""


@lru_cache(maxsize=1024)
def parsed(text: str, names: Sequence[str] = ()) -> ast.expr:
    """Return the tree of an expression. Raises ExpressionError if it uses anything else, or other names if given."""
    if len(text) > LONGEST:
        raise ExpressionError(f"longer than {LONGEST} characters")
    try:
        with catch_warnings(action="ignore"):  # Python would warn on stderr about odd escapes and comparisons
            tree = ast.parse(text, mode="eval").body
    except SyntaxError as error:
        raise ExpressionError(f"not an expression: {error.msg}, at character {error.offset}") from None
    except (ValueError, RecursionError, MemoryError):
        raise ExpressionError("not an expression") from None
    nodes = tuple(ast.walk(tree))
    loops = (node.target for node in nodes if isinstance(node, ast.comprehension))
    known = (*names, *(item.id for item in loops if isinstance(item, ast.Name))) if names else ()
    for node in nodes:
        _must_be_known(node, known)
    return tree


_KNOWN = (
    *(ast.Attribute, ast.Subscript, ast.Name, ast.Load, ast.Constant, ast.BoolOp, ast.And, ast.Or, ast.IfExp),
    *(ast.UnaryOp, ast.Not, ast.USub, ast.BinOp, ast.Compare, ast.Call, ast.List, ast.Dict),
    *(ast.ListComp, ast.comprehension, ast.Store),
    *_COMPARED,
    *_COUNTED,
)


def _must_be_known(node: ast.AST, names: Sequence[str]) -> None:
    if not isinstance(node, _KNOWN):
        raise ExpressionError(f"{type(node).__name__} is not part of expressions of cards")
    match node:
        case ast.Call(func=ast.Name(id="has"), args=[_, ast.Constant(value=str()), *wanted], keywords=[]):
            if not all(isinstance(value, ast.Constant) for value in wanted) or len(wanted) > 1:
                raise ExpressionError("has(…) takes a list, a key and, if wanted, a value")
        case ast.Call(func=ast.Name(id=name), args=[_, *more], keywords=[]) if name in _CALLED:
            if more and name in _ONE:
                raise ExpressionError(f"{name}(…) takes {_ONE[name]}")
        case ast.Call():
            raise ExpressionError(
                "only min(…), max(…), sum(…), int(…), mib(…) and has(list, 'key'[, value]) can be called"
            )
        case ast.Name(id=name) if names and name not in (*names, *_WORDS, *_CALLED, "has"):
            raise ExpressionError(f"there is no `{name}`: an expression begins with {', '.join(names)}")
        case ast.Subscript(slice=ast.Constant(value=str() | int())):
            return
        case ast.Subscript():
            raise ExpressionError("only a text or a number may stand in brackets")
        case ast.Constant(value=float() | complex() | bytes()):
            raise ExpressionError(f"{node.value!r} is neither a whole number nor a text")
        case ast.Dict(keys=keys) if not all(isinstance(k, ast.Constant) and isinstance(k.value, str) for k in keys):
            raise ExpressionError("a key in braces is a text")
        case ast.Compare(ops=[_, _, *_]):
            raise ExpressionError("compare two values at a time")
        case ast.ListComp(elt=made, generators=[ast.comprehension(target=ast.Name(), ifs=[] | [_] as ifs, is_async=0)]):
            if any(isinstance(inner, ast.ListComp) for part in (made, *ifs) for inner in ast.walk(part)):
                raise ExpressionError("a list is made of another list, not inside of it")
        case ast.ListComp():
            raise ExpressionError("a list is made by one `for NAME in LIST`, perhaps with one `if`")


def evaluate(text: str, scope: Scope) -> Found:
    """Return the value of an expression; None for a path that does not exist. Raises ExpressionError."""
    try:
        return _value(parsed(text), scope)
    except RecursionError:
        raise ExpressionError("nested too deeply") from None


def is_true(text: str, scope: Scope) -> bool:
    """Return whether the value is anything but absent, null or false; an empty mapping is a value."""
    return _holds(evaluate(text, scope))


def _holds(evaluated: Found) -> bool:
    return evaluated.value is not None and evaluated.value is not False


def _value(node: ast.expr, scope: Scope) -> Found:
    match node:
        case ast.Constant():
            return Found(node.value)
        case ast.Name(id=name):
            return Found(_WORDS[name]) if name in _WORDS else scope.get(name, Found(None))
        case ast.Attribute(value=inner, attr=step):
            return _child(_value(inner, scope), step)
        case ast.Subscript(value=inner, slice=ast.Constant(value=str() | int() as step)):
            return _child(_value(inner, scope), step)
        case ast.List(elts=items):
            founds = [_value(item, scope) for item in items]
            return Found([evaluated.value for evaluated in founds], parts=tuple(_within(enumerate(founds))))
        case ast.Dict(keys=keys, values=values):
            made = {key.value: _value(value, scope) for key, value in _pairs(keys, values)}
            held = {key: evaluated.value for key, evaluated in made.items() if evaluated.value is not None}
            return Found(held, parts=tuple(_within(made.items())))
        case ast.ListComp(elt=made, generators=[ast.comprehension(target=ast.Name(id=name), iter=inner, ifs=ifs)]):
            return _listed(made, name, _value(inner, scope), ifs, scope)
        case ast.BoolOp(op=op, values=values):
            return _chosen(isinstance(op, ast.Or), values, scope)
        case ast.IfExp(test=test, body=body, orelse=other):
            asked = _value(test, scope)
            return _placed(_value(body if _holds(asked) else other, scope), asked)
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return Found(not _holds(_value(inner, scope)))
        case ast.UnaryOp(operand=inner):
            evaluated = _value(inner, scope)
            return Found(-_number(evaluated.value), evaluated.place)
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return _compared(op, _value(left, scope), _value(right, scope))
        case ast.BinOp(left=left, op=op, right=right):
            return _combined(op, _value(left, scope), _value(right, scope))
        case ast.Call(func=ast.Name(id="has"), args=[inner, ast.Constant(value=str(key)), *wanted]):
            return _held(_value(inner, scope), key, wanted)
        case ast.Call(func=ast.Name(id="int"), args=[inner]):
            return _counted(_value(inner, scope))
        case ast.Call(func=ast.Name(id="mib"), args=[inner]):
            return _sized(_value(inner, scope))
        case ast.Call(func=ast.Name(id="sum"), args=[inner]):
            return _added(_value(inner, scope))
        case ast.Call(func=ast.Name(id=name), args=args):
            founds = [_value(arg, scope) for arg in args]
            return Found(_CALLED[name]([_number(evaluated.value) for evaluated in founds]), _first(founds))
    raise ExpressionError("not an expression of cards")


def _listed(made: ast.expr, name: str, items: Found, ifs: Sequence[ast.expr], scope: Scope) -> Found:
    """Return the list of what is ``made`` of each item that passes the condition; of an absent list, an empty one."""
    if not (items.value is None or isinstance(items.value, list)):
        raise ExpressionError(f"{_brief(items.value)} is not a list")
    if len(items.value or ()) > LONGEST:
        raise ExpressionError("a list is too long")
    scopes = ({**scope, name: item} for _, item in _members(items))
    founds = [_value(made, inner) for inner in scopes if all(_holds(_value(test, inner)) for test in ifs)]
    return Found([evaluated.value for evaluated in founds], parts=tuple(_within(enumerate(founds))))


def _pairs(keys: Sequence[ast.expr | None], values: Sequence[ast.expr]) -> Iterator[tuple[ast.Constant, ast.expr]]:
    for key, value in zip(keys, values, strict=True):
        assert isinstance(key, ast.Constant), "checked when it was parsed"
        yield key, value


def _within(members: Iterable[tuple[Any, Found]]) -> Iterator[Part]:
    """Yield the parts of a list or mapping from its steps and their values."""
    for step, evaluated in members:
        if evaluated.place is not None:
            yield (step,), evaluated.place, evaluated.is_exact
        yield from (((step, *path), place, is_exact) for path, place, is_exact in evaluated.parts)


def _members(evaluated: Found) -> Iterator[tuple[Any, Found]]:
    """Yield the steps of a list or mapping, each with its value."""
    if isinstance(evaluated.value, list | dict):
        below: dict[str | int, list[Part]] = {}
        for path, place, is_exact in evaluated.parts:
            below.setdefault(path[0], []).append((path[1:], place, is_exact))
        for step, inside in (
            enumerate(evaluated.value) if isinstance(evaluated.value, list) else evaluated.value.items()
        ):
            yield step, _of_parts(inside, below.get(step, ())) if evaluated.parts else _child(evaluated, step)


def _of_parts(value: Any, parts: Sequence[Part]) -> Found:
    """Return a value with its parts, of which one without a path tells its own place."""
    held = Found(value, parts=tuple(part for part in parts if part[0]))
    return next((replace(held, place=place, is_exact=is_exact) for path, place, is_exact in parts if not path), held)


def _child(evaluated: Found, step: str | int) -> Found:
    inside: Any = None
    if isinstance(evaluated.value, dict):
        inside = evaluated.value.get(step)
    elif isinstance(evaluated.value, list) and isinstance(step, int) and 0 <= step < len(evaluated.value):
        inside = evaluated.value[step]
    if evaluated.parts:
        below = [(path[1:], place, is_exact) for path, place, is_exact in evaluated.parts if path[0] == step]
        return _of_parts(inside, below)
    place = None if evaluated.place is None else Place(evaluated.place.document, (*evaluated.place.at, step))
    return Found(inside, place, evaluated.is_exact)


def _chosen(is_default: bool, nodes: Sequence[ast.expr], scope: Scope) -> Found:
    """Return the first operand that holds (``or``) or does not (``and``), else the last.

    A default keeps the place of the value that it replaces: there a user would write another one.
    """
    first: Found | None = None
    for node in nodes:
        evaluated = _value(node, scope)
        first = first or evaluated
        if _holds(evaluated) == is_default:
            break
    assert first is not None, "Python's parser gives at least two operands"
    if is_default and evaluated.place is None:
        return replace(evaluated, place=first.place, is_exact=first.is_exact)
    return _placed(evaluated, first)


def _placed(evaluated: Found, asked: Found) -> Found:
    """Return a value that has no place, near the one that decides about it."""
    return replace(evaluated, place=asked.place) if evaluated.place is None else evaluated


def _compared(op: ast.cmpop, left: Found, right: Found) -> Found:
    try:
        return Found(_COMPARED[type(op)](left.value, right.value), left.place)
    except TypeError:
        return Found(False, left.place)


def _combined(op: ast.operator, left: Found, right: Found) -> Found:
    """Return a number, or two texts, lists or mappings joined; items of the first list keep their places."""
    place = _first((left, right))
    if isinstance(op, ast.Add) and isinstance(left.value, str | int) and isinstance(right.value, str):
        return Found(_text(f"{left.value}{right.value}"), place)
    if isinstance(op, ast.Add) and isinstance(left.value, str) and isinstance(right.value, int):
        return Found(_text(f"{left.value}{right.value}"), place)
    if isinstance(op, ast.Add) and {type(left.value), type(right.value)} in _LISTS:
        both = [*(left.value or ()), *(right.value or ())]
        if len(both) > LONGEST:
            raise ExpressionError("a list is too long")
        members = (*_members(left), *((len(left.value or ()) + at, evaluated) for at, evaluated in _members(right)))
        return Found(both or None, place, left.is_exact, tuple(_within(members)))
    if isinstance(op, ast.Add) and {type(left.value), type(right.value)} in _MAPPINGS:
        if not (left.value and right.value):
            return left if left.value else right
        joined = {**dict(_members(left)), **dict(_members(right))}
        return Found(
            {key: evaluated.value for key, evaluated in joined.items()}, place, parts=tuple(_within(joined.items()))
        )
    if isinstance(op, ast.Add) and str in (type(left.value), type(right.value)):
        other = right if isinstance(left.value, str) else left
        raise ExpressionError(f"{_brief(other.value)} is not a text")
    try:
        number = _COUNTED[type(op)](_number(left.value), _number(right.value))
    except ZeroDivisionError:
        raise ExpressionError("a number is divided by 0") from None
    return Found(_number(number), place)


def _held(listed: Found, key: str, wanted: Sequence[ast.expr]) -> Found:
    """Return whether an item of a list has the key, with the wanted value if there is one."""
    members = [item for item in listed.value if isinstance(item, dict)] if isinstance(listed.value, list) else []
    values = [_value(value, {}).value for value in wanted]
    return Found(any(key in item and all(item[key] == value for value in values) for item in members), listed.place)


def _added(listed: Found) -> Found:
    """Return the sum of a list of whole numbers; 0 of an absent one."""
    if not (listed.value is None or isinstance(listed.value, list)):
        raise ExpressionError(f"{_brief(listed.value)} is not a list")
    founds = [evaluated for _, evaluated in _members(listed)]
    return Found(_number(sum(_number(evaluated.value) for evaluated in founds)), _first(founds))


def _counted(evaluated: Found) -> Found:
    """Return a number that is written as a text, as in annotations."""
    written = evaluated.value
    if isinstance(written, str) and written.isascii() and written.isdecimal() and len(written) < 10:
        return Found(int(written), evaluated.place)
    return Found(_number(written), evaluated.place)


def _sized(evaluated: Found) -> Found:
    """Return the mebibytes, rounded up, of a size as Java's programs write it: ``2048m``, ``1.5g``, ``512 MB``."""
    match = re.fullmatch(r"(\d{1,9})(?:\.(\d{1,3}))? *([kmgt])(?:i?b)?", str(evaluated.value).lower(), re.ASCII)
    if match is None:
        raise ExpressionError(f"{_brief(evaluated.value)} is no size such as '2048m' or '2g'")
    whole, part, unit = match.groups()
    thousandths = int(whole) * 1000 + int((part or "").ljust(3, "0"))
    return Found(_number(-(-(thousandths << _JAVA_UNITS[unit]) // (1000 << 20))), evaluated.place)


def _first(founds: Sequence[Found]) -> Place | None:
    return next((evaluated.place for evaluated in founds if evaluated.place is not None), None)


def _number(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ExpressionError(f"{_brief(value)} is not a whole number")
    if abs(value) > LARGEST_NUMBER:
        raise ExpressionError("a number is too large")
    return value


def _text(text: str) -> str:
    if len(text) > LONGEST:
        raise ExpressionError("a text is too long")
    return text


def _brief(value: object) -> str:
    return "an absent value" if value is None else repr(value)[:40]
