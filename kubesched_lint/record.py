"""``@record``: a frozen, slotted dataclass whose methods are written when its first instance is made.

``dataclasses`` compiles six functions when a class is defined, 0.4 ms each time: for the 85 classes that linting one
file imports, a third of its start-up (``benchmarks/run.py``). Most of them are never instantiated in such a run. To a
reader, to mypy, to ``dataclasses.replace`` and to ``dataclasses.fields`` a record is a dataclass.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field
from operator import attrgetter
from typing import Any, NoReturn, TypeVar, cast, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: type[T]) -> type[T]:
    """Fields are what the class's own body annotates; ``field(compare=False)`` keeps one out of equality and hash."""
    body = {name: value for name, value in cls.__dict__.items() if name not in ("__dict__", "__weakref__")}
    names = tuple(body.get("__annotations__", ()))
    given = {name: body.pop(name) for name in names if name in body}
    said = _said([name for name in names if getattr(given.get(name), "compare", True)])

    def first(self: object, *args: object, **kwargs: object) -> None:
        written = _init(made, names, given)
        type.__setattr__(made, "__init__", written)  # from now on this one is called
        written(self, *args, **kwargs)

    def equals(self: object, other: object) -> object:
        return said(self) == said(other) if other.__class__ is self.__class__ else NotImplemented

    methods = {
        "__init__": first,
        "__eq__": equals,
        "__hash__": lambda self: hash(said(self)),
        "__repr__": _repr,
        "__setattr__": _refuse,
        "__delattr__": _refuse,
        "__reduce__": lambda self: (self.__class__, tuple(getattr(self, name) for name in names)),
        "__dataclass_fields__": _Fields(given),
        "__match_args__": names,
        "__slots__": names,
        "__qualname__": cls.__qualname__,
    }
    made: Any = type(cls.__name__, cls.__bases__, methods | body)
    return cast("type[T]", made)


def _said(names: list[str]) -> Callable[[object], object]:
    return attrgetter(*names) if names else lambda self: ()


def _init(cls: type, names: tuple[str, ...], given: Mapping[str, Any]) -> Callable[..., None]:
    """Writes to the slots themselves: half the time of ``object.__setattr__``."""
    known: dict[str, Any] = {"missing": MISSING}
    parameters, lines = [], []
    for name in names:
        known[f"set_{name}"] = cls.__dict__[name].__set__
        default = given.get(name, MISSING)
        value = name
        if isinstance(default, Field) and default.default_factory is not MISSING:
            known[f"new_{name}"], default = default.default_factory, MISSING
            value, parameter = f"new_{name}() if {name} is missing else {name}", f"{name}=missing"
        else:
            default = default.default if isinstance(default, Field) else default
            known[f"default_{name}"] = default
            parameter = name if default is MISSING else f"{name}=default_{name}"
        parameters.append(parameter)
        lines.append(f"    set_{name}(self, {value})\n")
    exec(f"def __init__(self, {', '.join(parameters)}):\n{''.join(lines) or '    pass'}", known)
    written: Callable[..., None] = known["__init__"]
    return written


def _repr(self: object) -> str:
    shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__class__.__match_args__)  # type: ignore[attr-defined]
    return f"{self.__class__.__qualname__}({shown})"


def _refuse(self: object, name: str, value: object = None) -> NoReturn:
    raise FrozenInstanceError(f"cannot change field {name!r}")


class _Fields:
    """What ``dataclasses`` itself says of the class, asked when ``fields`` or ``replace`` need it."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._given = given

    def __get__(self, instance: object, owner: type) -> dict[str, Field[Any]]:
        twin: Any = dataclass(init=False, repr=False, eq=False)(
            type(owner.__name__, (), {"__annotations__": owner.__annotations__, **self._given})
        )
        found: dict[str, Field[Any]] = twin.__dataclass_fields__
        type.__setattr__(owner, "__dataclass_fields__", found)
        return found
