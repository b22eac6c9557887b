"""``class X(Record)``: a slotted dataclass, frozen for mypy, that compiles nothing until many instances are made.

``dataclasses`` compiles six functions per class definition, 0.4 ms each time: for the 117 classes that linting one file
imports, a third of its start-up (``benchmarks/run.py``). Most have few instances in such a run, if any. A decorator
would have to define each class a second time, with slots, for the price of another class.

For readers, mypy and ``dataclasses.fields`` a record is a dataclass. ``replace`` is that of ``dataclasses`` without
``fields``. Only mypy prevents writes to a record: a check at run time makes each of half a million instances in a run
over 10,000 files four times as slow to fill. ``FrozenRecord`` does check, for the library's results: they are few per
file, and their users may not run mypy.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Mapping
from functools import cache, cached_property
from operator import attrgetter

from kubesched_lint.hints import TYPE_CHECKING, Any, NoReturn, TypeVar, dataclass_transform

T = TypeVar("T")

_FEW = 16
"""Instances that are filled name by name before an ``__init__`` is compiled.

Compiling costs as much as filling thirty.
"""


class _Missing:
    """No value is given."""


class _Field:
    """What ``field`` says about a field."""

    __slots__ = ("compare", "default", "default_factory")

    def __init__(self, default: Any, default_factory: Any, compare: bool) -> None:
        self.default = default
        self.default_factory = default_factory
        self.compare = compare


if TYPE_CHECKING:
    from dataclasses import Field
    from dataclasses import field as field
    from dataclasses import replace as replace
    from typing import NamedTuple as NamedTuple

    in_slot = cached_property

    @dataclass_transform(frozen_default=True, field_specifiers=(field,))
    class Record: ...

    @dataclass_transform(frozen_default=True, field_specifiers=(field,))
    class FrozenRecord: ...
else:

    class _RecordMeta(type):
        def __new__(cls, name, bases, body):
            if not bases:
                return super().__new__(cls, name, bases, body)
            base, *others = bases
            more = {"__setattr__": _refuse, "__delattr__": _refuse} if base is FrozenRecord else {}
            return _made(name, tuple(others), body, more)

    class Record(metaclass=_RecordMeta):
        """Make a class a record: its annotations are fields, ``field(compare=False)`` is not compared.

        The class is no subclass of this one: instances of a class with a metaclass take longer to make. A class with a
        ``cached_property`` also has a ``__dict__`` for it; all others have slots alone.
        """

    class FrozenRecord(metaclass=_RecordMeta):
        """Make a class a record that raises FrozenInstanceError, an AttributeError, on writes."""

    class _TupleMeta(type):
        def __new__(cls, name, bases, body):
            if not bases:
                return super().__new__(cls, name, bases, body)
            names = body.get("__annotations__", {})
            given = [body.pop(name) for name in names if name in body]
            made = namedtuple(name, names, defaults=given, module=body.pop("__module__"))
            for key, value in body.items():
                setattr(made, key, value)
            return made

    class NamedTuple(metaclass=_TupleMeta):
        """What ``typing.NamedTuple`` makes, in a third of the time: that one compiles every annotation."""

    def field(*, default=_Missing, default_factory=_Missing, compare=True):
        """Describe a field of a record, as ``dataclasses.field`` does; that module takes 4 ms to import."""
        return _Field(default, default_factory, compare)

    def in_slot(compute):
        """Make a property that is computed once and kept in a slot, which has its name with an underscore before it.

        For classes with thousands of instances: three values of ``cached_property`` take a dictionary of 272 bytes.
        """
        slot = f"_{compute.__name__}"

        def kept(self):
            value = getattr(self, slot, _Missing)
            if value is _Missing:
                value = compute(self)
                setattr(self, slot, value)
            return value

        return property(kept, doc=compute.__doc__)

    def replace(instance, /, **changes):
        """Return a copy of a record or dataclass with some fields changed."""
        made = instance.__class__
        read, places = _fields_of(made)
        values = list(read(instance))
        for name, value in changes.items():
            if name not in places:
                raise TypeError(f"{made.__qualname__} has no field {name!r}")
            values[places[name]] = value
        return made(*values)


@cache
def _fields_of(made: type) -> tuple[Callable[[object], tuple[object, ...]], Mapping[str, int]]:
    """Return a reader of all fields of an instance, and the position of each field."""
    names: tuple[str, ...] = made.__match_args__  # type: ignore[attr-defined]
    return _reader(names), {name: place for place, name in enumerate(names)}


def _reader(names: tuple[str, ...]) -> Callable[[object], tuple[object, ...]]:
    """Return a reader of these fields of an instance; for two and more, it is one written in C."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda instance: tuple(getattr(instance, name) for name in names)


def _made(name: str, bases: tuple[type, ...], body: dict[str, Any], more: Mapping[str, object]) -> type:
    names = tuple(body.get("__annotations__", ()))
    given = {name: body.pop(name) for name in names if name in body}
    if any(value.__class__.__module__ == "dataclasses" for value in given.values()):
        raise TypeError(f"{name}: import field from kubesched_lint.record")
    values = _reader(names)
    compared = _compared([name for name in names if getattr(given.get(name), "compare", True)])
    caches = any(isinstance(value, cached_property) for value in body.values())
    left = iter(range(_FEW))

    def first(self: object, *args: object, **kwargs: object) -> None:
        if next(left, None) is None or not _fill(self, names, given, args, kwargs):
            written = made.__init__ = _init(names, given, made if more else None)  # from now on this one is called
            written(self, *args, **kwargs)

    def equals(self: object, other: object) -> object:
        return compared(self) == compared(other) if other.__class__ is self.__class__ else NotImplemented

    methods = {
        "__init__": first,
        "__eq__": equals,
        "__hash__": lambda self: hash(compared(self)),
        "__repr__": _repr,
        "__reduce__": lambda self: (self.__class__, values(self)),
        "__dataclass_fields__": _Fields(given),
        "__match_args__": names,
        "__slots__": (*names, "__dict__") if caches else names,
    }
    made: type[Any] = type(name, bases, {**methods, **more, **body})
    return made


def _compared(names: list[str]) -> Callable[[object], object]:
    """Return a reader of the fields that equality compares."""
    return attrgetter(*names) if names else lambda self: ()


def _fill(
    instance: object, names: tuple[str, ...], given: Mapping[str, Any], args: tuple[object, ...], kwargs: dict[str, Any]
) -> bool:
    """Fill the fields as ``__init__`` does; return False for wrong arguments, which the compiled one reports best."""
    values = dict(zip(names, args, strict=False)) | kwargs
    if len(values) != len(args) + len(kwargs):
        return False
    for name in names:
        value = values.pop(name, _Missing)
        if value is _Missing:
            value = given.get(name, _Missing)
            if isinstance(value, _Field):
                value = value.default if value.default_factory is _Missing else value.default_factory()
        if value is _Missing:
            return False
        object.__setattr__(instance, name, value)
    return not values


def _init(names: tuple[str, ...], given: Mapping[str, Any], frozen: type | None) -> Callable[..., None]:
    """Return a compiled ``__init__``; it fills ``frozen`` by its slots, in half the time of ``object.__setattr__``."""
    known: dict[str, Any] = {"missing": _Missing}
    parameters, lines = [], []
    for name in names:
        default = given.get(name, _Missing)
        value = name
        if isinstance(default, _Field) and default.default_factory is not _Missing:
            known[f"new_{name}"], default = default.default_factory, _Missing
            value, parameter = f"new_{name}() if {name} is missing else {name}", f"{name}=missing"
        else:
            default = default.default if isinstance(default, _Field) else default
            known[f"default_{name}"] = default
            parameter = name if default is _Missing else f"{name}=default_{name}"
        parameters.append(parameter)
        if frozen is not None:
            known[f"set_{name}"] = frozen.__dict__[name].__set__
        lines.append(f"    self.{name} = {value}\n" if frozen is None else f"    set_{name}(self, {value})\n")
    exec(f"def __init__(self, {', '.join(parameters)}):\n{''.join(lines) or '    pass'}", known)
    written: Callable[..., None] = known["__init__"]
    return written


def _refuse(self: object, name: str, *_: object) -> NoReturn:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _repr(self: object) -> str:
    shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__class__.__match_args__)  # type: ignore[attr-defined]
    return f"{self.__class__.__qualname__}({shown})"


class _Fields:
    """The field descriptions of ``dataclasses`` for the class, computed when ``fields`` or ``replace`` need them."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._given = given

    def __get__(self, instance: object, owner: type) -> dict[str, Field[Any]]:
        import dataclasses

        given = {name: _described(value) if isinstance(value, _Field) else value for name, value in self._given.items()}
        twin: Any = dataclasses.dataclass(init=False, repr=False, eq=False)(
            type(owner.__name__, (), {"__annotations__": owner.__annotations__, **given})
        )
        found: dict[str, Field[Any]] = twin.__dataclass_fields__
        owner.__dataclass_fields__ = found  # type: ignore[attr-defined]
        return found


def _described(field: _Field) -> Any:
    """Return the field as ``dataclasses`` describes it."""
    import dataclasses

    if field.default_factory is not _Missing:
        return dataclasses.field(default_factory=field.default_factory, compare=field.compare)
    if field.default is not _Missing:
        return dataclasses.field(default=field.default, compare=field.compare)
    return dataclasses.field(compare=field.compare)
