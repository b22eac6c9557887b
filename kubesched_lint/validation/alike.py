"""Blocks that are written alike in thousands of manifests (resources, probes, ports) are judged once.

To write a small value down (``marshal``) and look that up costs a tenth of judging it. Equal text is equal value: where
values of one meaning are written in different orders, each order is judged.
"""

from __future__ import annotations

import marshal
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from kubesched_lint.validation.causes import Cause

_REMEMBERED = 2048
_PLAIN_FORM = 2
"""Later forms of ``marshal`` depend on which strings are shared."""


def is_sound(rule: Callable[..., Iterator[Cause]], value: Any, *more: object) -> bool:
    """Whether ``rule(value, *more, path)`` has nothing to say, wherever the value stands."""
    try:
        return _is_sound(rule, marshal.dumps(value, _PLAIN_FORM), more)
    except ValueError:  # nested too deep to be written down
        return False


@lru_cache(maxsize=_REMEMBERED)
def _is_sound(rule: Callable[..., Iterator[Cause]], packed: bytes, more: tuple[object, ...]) -> bool:
    return next(rule(marshal.loads(packed), *more, ()), None) is None


def remembered(test: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """The same predicate, asked once for values that are alike."""

    @lru_cache(maxsize=_REMEMBERED)
    def of_packed(packed: bytes) -> bool:
        return test(marshal.loads(packed))

    def check(value: Any) -> bool:
        try:
            return of_packed(marshal.dumps(value, _PLAIN_FORM))
        except ValueError:
            return test(value)

    return check
