"""What ``typing`` offers to type checkers, for modules that ``lint`` imports: ``typing`` itself takes 5 ms to import.

Type checkers see the names of ``typing``. When the code runs, they are placeholders that cost nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import IO as IO
    from typing import Any as Any
    from typing import Generic as Generic
    from typing import NoReturn as NoReturn
    from typing import Protocol as Protocol
    from typing import TextIO as TextIO
    from typing import TypeAlias as TypeAlias
    from typing import TypeVar as TypeVar
    from typing import cast as cast
    from typing import dataclass_transform as dataclass_transform
else:

    class _Placeholder:
        """Stands for a type; as a base class it adds nothing."""

        __slots__ = ()

        def __class_getitem__(cls, parameters):
            return cls

    IO = Any = Generic = NoReturn = Protocol = TextIO = TypeAlias = _Placeholder

    def TypeVar(name, *constraints, bound=None):  # noqa: N802 – the name of typing
        """Return a type that stands for any."""
        return _Placeholder

    def cast(kind, value):
        """Return the value."""
        return value

    def dataclass_transform(**options):
        """Return a decorator that changes nothing."""
        return lambda cls: cls
