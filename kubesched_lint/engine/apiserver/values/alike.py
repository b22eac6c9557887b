"""Blocks that are equal in thousands of manifests (resources, probes, ports) are judged once.

Serialising a small value (``marshal``) and looking it up costs a tenth of judging it. Equal bytes mean equal values;
equivalent values written in different orders are judged separately.
"""

from __future__ import annotations

import marshal
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from kubesched_lint.engine.apiserver.values.causes import Cause

_REMEMBERED = 2048
_PLAIN_FORM = 2
"""Later versions of ``marshal`` depend on which strings are shared."""


def is_sound(rule: Callable[..., Iterator[Cause]], value: Any, *more: object) -> bool:
    """Return whether ``rule(value, *more, path)`` yields nothing, whatever the path."""
    try:
        return _is_sound(rule, marshal.dumps(value, _PLAIN_FORM), more)
    except ValueError:  # nested too deeply to serialise
        return False


@lru_cache(maxsize=_REMEMBERED)
def _is_sound(rule: Callable[..., Iterator[Cause]], packed: bytes, more: tuple[object, ...]) -> bool:
    return next(rule(marshal.loads(packed), *more, ()), None) is None


def remembered(test: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Return the predicate with a cache for equal values."""

    @lru_cache(maxsize=_REMEMBERED)
    def of_packed(packed: bytes) -> bool:
        return test(marshal.loads(packed))

    def check(value: Any) -> bool:
        try:
            return of_packed(marshal.dumps(value, _PLAIN_FORM))
        except ValueError:
            return test(value)

    return check
