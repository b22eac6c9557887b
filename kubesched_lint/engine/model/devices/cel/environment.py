"""The environments for selectors of devices; import this module only when an expression needs it.

There are two, as for own rules: the checker knows Quantity and Semver as types, and the runner has maps in their
place, because values of opaque types cannot be made in Python. Mirrors newCompiler of
``dynamic-resource-allocation/cel/compile.go`` and ``apiserver/pkg/cel/library/{quantity,semverlib}.go`` (v1.36).
"""

from __future__ import annotations

from functools import cache
from typing import Any

from cel_expr_python import cel
from cel_expr_python.ext import ext_bindings, ext_math, ext_optional, ext_strings

from kubesched_lint.engine.model.devices.cel.functions import FUNCTIONS

_TYPE = cel.Type


@cache
def environments() -> tuple[Any, Any]:
    """Return the checker and the runner."""
    opaque = _TYPE.AbstractType("kubernetes.Quantity"), _TYPE.AbstractType("kubernetes.Semver")
    maps = (_TYPE.Map(_TYPE.STRING, _TYPE.STRING),) * 2
    return _environment(*opaque), _environment(*maps)


def _environment(quantity: Any, semver: Any) -> Any:
    def of_domains(value: Any) -> Any:
        return _TYPE.Map(_TYPE.STRING, _TYPE.Map(_TYPE.STRING, value))

    variables = {
        "device.driver": _TYPE.STRING,
        "device.allowMultipleAllocations": _TYPE.BOOL,
        "device.attributes": of_domains(_TYPE.DYN),
        "device.capacity": of_domains(quantity),
    }
    extensions = [ext_optional.ExtOptional(), ext_bindings.ExtBindings(), ext_strings.ExtStrings(), ext_math.ExtMath()]
    return cel.NewEnv(variables=variables, functions=_functions(quantity, semver), extensions=extensions)


def _functions(quantity: Any, semver: Any) -> list[Any]:
    types = {"Q": quantity, "V": semver, "s": _TYPE.STRING, "i": _TYPE.INT, "b": _TYPE.BOOL, "d": _TYPE.DOUBLE}
    types["l"] = _TYPE.List(_TYPE.DYN)
    declared = []
    for name, (implementation, signatures) in FUNCTIONS.items():
        overloads: dict[str, Any] = {}
        for signature in signatures:
            taken, _, given = signature.partition(">")
            parameters = [types[letter] for letter in taken.lstrip(".")]
            overload = cel.Overload(
                f"{name}_{taken.lstrip('.')}",
                return_type=types[given],
                parameters=parameters,
                is_member=taken.startswith("."),
                impl=implementation,
            )
            overloads.setdefault(str([str(each) for each in parameters]), overload)  # the runner has one map for both
        declared.append(cel.FunctionDecl(name, list(overloads.values())))
    return declared
