"""How far a long computation is, told to whoever shows it."""

from __future__ import annotations

from collections.abc import Callable

listener: Callable[[str], None] | None = None
"""Who shows it; None: nobody. There is one, because there is one terminal."""


def at(detail: str, number: int = 0, total: int = 0) -> None:
    """Say how far it is: ``wave 3``; with a total, ``Deployment shop/web (5 of 22)``."""
    if listener is not None:
        listener(f"{detail} ({number:,} of {total:,})" if total else detail)
