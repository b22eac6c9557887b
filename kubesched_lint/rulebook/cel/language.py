"""CEL with our types: an expression is checked when it is loaded, then run on plain values.

It uses two environments of cel-cpp (``cel-expr-python``). In one the facts are messages, so that its checker refuses
unknown names and wrong types. In the other they are maps, so that no conversion to messages is needed at run time.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from msgspec import Struct

from kubesched_lint.engine.base.extras import CEL_NEEDED, has_cel
from kubesched_lint.engine.base.text import did_you_mean
from kubesched_lint.limits import LARGEST_WHOLE
from kubesched_lint.rulebook.cel.cost import Cost, cost_of
from kubesched_lint.rulebook.cel.object_facts import STRUCTS
from kubesched_lint.rulebook.cel.structs import AMOUNTS, BOOL, INT, LABELS, STRING, STRINGS, Uses
from kubesched_lint.rulebook.cel.syntax import selects
from kubesched_lint.rulebook.limits import MOST_TURNS

PARAM_TYPES: Mapping[str, str] = {
    "integer": INT,
    "number": "double",
    "string": STRING,
    "boolean": BOOL,
    "strings": STRINGS,
}
"""Type of a parameter in a card → its CEL type."""

_PACKAGE = "kubesched"


class ExpressionError(Exception):
    """Why an expression is invalid. ``line`` and ``column`` count from 1 in the expression; 0: the whole expression."""

    def __init__(self, message: str, line: int = 0, column: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column


class EvaluationError(Exception):
    """An expression that fails on a value: a missing key of a map, a division by zero, too much work.

    ``line`` is the first line of the expression in its card; 0 if it is in no card.
    """

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.line = line


class MissingCelError(Exception):
    """The extra ``[cel]`` is not installed."""


class CelExpression(Struct, frozen=True):
    """A checked expression. ``uses`` are the fields it reads, ``type`` is the type of its value (see ``structs``).

    ``name`` and ``line`` are its place in the card.
    """

    text: str
    type: str
    uses: Uses
    program: Any
    cost: Cost
    name: str = ""
    line: int = 0

    def pay(self, values: Mapping[str, Any]) -> None:
        """Raise EvaluationError if it might cost too much on these values; call it unless the cost is free."""
        if self.cost.pay(values):
            raise self._failed(f"it may build more than {LARGEST_WHOLE // 1024**2} MiB of text from what it looks at")

    def _failed(self, words: str) -> EvaluationError:
        return EvaluationError(f"{self.name}: {words}" if self.name else words, self.line)

    def __call__(self, activation: Any) -> Any:
        """Return its value as a Python value. Raises EvaluationError."""
        try:
            value = self.program.eval(activation)
        except RuntimeError as error:
            if "Iteration budget exceeded" in str(error):
                raise self._failed(f"its loops take more than {MOST_TURNS:,} turns") from None
            raise self._failed(_explained(str(error))) from None
        plain = value.plain_value()
        if plain is not True and plain is not False and value.type() == _types().ERROR:
            raise self._failed(_explained(str(plain)))
        return plain


class Language:
    """The names that the expressions of one card may use: variables with structs, parameters with types."""

    def __init__(self, variables: Mapping[str, str], params: Mapping[str, str]) -> None:
        self._params = params
        cel = _cel()
        types = cel.Type
        plain = {f"params.{name}": _plain(kind) for name, kind in params.items()}
        structs = {name: types(f"{_PACKAGE}.{struct}") for name, struct in variables.items()}
        maps = {name: types.Map(types.STRING, types.DYN) for name in variables}
        self._variables = variables
        self._checker = cel.NewEnv(descriptor_pool=_messages(), variables={**structs, **plain}, functions=_functions())
        self._runner = cel.NewEnv(variables={**maps, **plain}, functions=_functions())

    def compile(self, text: str) -> CelExpression:
        """Check an expression. Raises ExpressionError for invalid CEL, a misspelt name or a wrong type."""
        try:
            checked = self._checker.compile(text)
        except RuntimeError as error:
            raise self._fault(str(error)) from None
        serialized = checked.serialize()
        uses: dict[str, frozenset[str]] = {}
        for select in selects(serialized):
            if select.struct in STRUCTS:
                if select.is_has:
                    raise _always_there(select.struct, select.field, text, select.at)
                uses[select.struct] = uses.get(select.struct, frozenset()) | {select.field}
        kind = _type_name(checked.return_type())
        return CelExpression(text, kind, uses, self._runner.deserialize(serialized), cost_of(serialized))

    def bind(self, values: Mapping[str, Any]) -> Any:
        """Return an activation: variables and ``params.…`` with their values, for any number of expressions."""
        return self._runner.Activation(values)

    def _fault(self, error: str) -> ExpressionError:
        """Parse cel-cpp's error: ``INVALID_ARGUMENT: ERROR: <input>:1:9: undefined field …``, then a caret line."""
        match = re.search(r"ERROR: <input>:(-?\d+):(-?\d+): ([^\n]*)", error)
        if match is None:
            return ExpressionError(error.splitlines()[0] if error else "it cannot be read")
        line, column, text = max(int(match[1]), 0), max(int(match[2]), 0), match[3].removesuffix(" [INVALID_ARGUMENT]")
        field = re.match(r"undefined field '([^']*)' not found in struct '[^'.]*\.(\w+)'", text)
        name = re.match(r"undeclared reference to '([^']*)'", text)
        if field:
            text = _no_field(field[1], field[2])
        elif name:
            text = self._no_name(name[1])
        elif text.startswith("Syntax error: "):
            text = f"no CEL: {text.removeprefix('Syntax error: ').partition(' expecting ')[0]}"
        return ExpressionError(text.replace(f"{_PACKAGE}.", ""), line, column)

    def _no_name(self, name: str) -> str:
        base, dot, param = name.partition(".")
        name = base  # for a misspelt variable cel-cpp reports the whole chain after it
        if base == "params":
            if not dot:
                return "`params` alone is nothing: write params.<name>"
            return f"the card has no parameter `{param}`{did_you_mean(param, self._params)}"
        known = [*self._variables, "params", *_FUNCTIONS]
        what = ", ".join(self._variables)
        return f"there is no `{name}` here{did_you_mean(name, known) or f'; there are {what} and params.…'}"


_FUNCTIONS = (
    "size", "has", "all", "exists", "exists_one", "filter", "map", "get", "contains", "startsWith", "endsWith",
    "matches",
)  # fmt: skip


def require_cel() -> None:
    """Raise MissingCelError without the extra."""
    if not has_cel():
        raise MissingCelError(f"rules with expressions need the extra: {CEL_NEEDED}")


def _no_field(name: str, struct: str) -> str:
    known = [field.name for field in STRUCTS[struct].fields]
    return f"{struct} has no field `{name}`{did_you_mean(name, known) or '; it has ' + ', '.join(known)}"


def _always_there(struct: str, field: str, text: str, at: int) -> ExpressionError:
    declared = STRUCTS[struct].field(field)
    about = declared.about if declared else ""
    before = text[:at]
    return ExpressionError(
        f"has(….{field}) is always true: a fact of {struct} is always there ({field}: {about})",
        before.count("\n") + 1,
        at - (before.rfind("\n") + 1) + 1,
    )


def _explained(error: str) -> str:
    """Return a runtime error without its code, with advice for the usual one."""
    text = error.partition(": ")[2] or error
    if text.startswith("Key not found in map : "):
        key = text.removeprefix("Key not found in map : ")
        return f"there is no {key} in the map; ask {key} in … first, or use .get({key}, …)"
    return text


def _cel() -> Any:
    """The package of the extra ``cel``, which few runs need."""
    from cel_expr_python import cel

    return cel


@cache
def _types() -> Any:
    return _cel().Type


@cache
def _functions() -> list[Any]:
    """The function ``labels.get("team", "none")``: a map's value, or a default."""
    cel = _cel()
    types = cel.Type

    def overload(name: str, value: Any) -> Any:
        keyed = types.Map(types.STRING, value)
        parameters = [keyed, types.STRING, value]
        return cel.Overload(name, return_type=value, parameters=parameters, is_member=True, impl=_get)

    return [cel.FunctionDecl("get", [overload("get_string", types.STRING), overload("get_int", types.INT)])]


def _get(values: Mapping[str, Any], key: str, otherwise: Any) -> Any:
    return values.get(key, otherwise)


def _plain(kind: str) -> Any:
    types = _types()
    return {
        STRING: types.STRING,
        INT: types.INT,
        BOOL: types.BOOL,
        "double": types.DOUBLE,
        STRINGS: types.List(types.STRING),
        LABELS: types.Map(types.STRING, types.STRING),
        AMOUNTS: types.Map(types.STRING, types.INT),
    }[kind]


def _type_name(type_: Any) -> str:
    """One of ``structs.PLAIN`` or ``double``; else CEL's name of the type."""
    for kind in (STRING, INT, BOOL, "double", STRINGS, LABELS, AMOUNTS):
        if type_ == _plain(kind):
            return kind
    return str(type_).lower().replace(f"{_PACKAGE}.", "")


@cache
def _messages() -> Any:
    """The structs as protocol buffers; only the checker uses them, no message is ever made."""
    from google.protobuf import descriptor_pb2, descriptor_pool

    proto = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name=f"{_PACKAGE}.proto", package=_PACKAGE, syntax="proto3")
    scalars = {STRING: proto.TYPE_STRING, INT: proto.TYPE_INT64, BOOL: proto.TYPE_BOOL, STRINGS: proto.TYPE_STRING}
    for struct in STRUCTS.values():
        message = file.message_type.add(name=struct.name)
        for number, field in enumerate(struct.fields, 1):
            added = message.field.add(name=field.name, number=number, label=proto.LABEL_OPTIONAL)
            if field.type in (LABELS, AMOUNTS):
                # protoc's naming: a map is a repeated message of entries.
                entry = message.nested_type.add(name="".join(map(str.title, field.name.split("_"))) + "Entry")
                entry.options.map_entry = True
                value = proto.TYPE_STRING if field.type == LABELS else proto.TYPE_INT64
                entry.field.add(name="key", number=1, label=proto.LABEL_OPTIONAL, type=proto.TYPE_STRING)
                entry.field.add(name="value", number=2, label=proto.LABEL_OPTIONAL, type=value)
                added.type, added.type_name = proto.TYPE_MESSAGE, f".{_PACKAGE}.{struct.name}.{entry.name}"
            elif field.struct:
                added.type, added.type_name = proto.TYPE_MESSAGE, f".{_PACKAGE}.{field.struct}"
            else:
                added.type = scalars[field.type]
            if field.is_list or field.type in (LABELS, AMOUNTS):
                added.label = proto.LABEL_REPEATED
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    return pool
