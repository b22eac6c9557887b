"""The time by which a run judges: an input like others, so that tomorrow's report can be made today."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from kubesched_lint.engine.base.text import seconds_of

VARIABLE = "KUBESCHED_LINT_NOW"
"""The environment's variable for another time: ``2027-03-01`` or ``2027-03-01T12:00:00+00:00``."""


class ClockError(ValueError):
    """The variable holds no time; the text is a message for the user."""


def now(environ: Mapping[str, str] = os.environ) -> datetime:
    """Return the time that the environment gives, else the clock's, with its time zone. Raises ClockError."""
    given = environ.get(VARIABLE)
    if not given:
        return datetime.now(UTC)
    try:
        moment = datetime.fromisoformat(given)
    except ValueError:
        raise ClockError(f"{VARIABLE}: {given!r} is no time such as 2027-03-01 or 2027-03-01T12:00:00Z") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def today(environ: Mapping[str, str] = os.environ) -> str:
    """Return the day in UTC, ``2027-03-01``. Raises ClockError."""
    return now(environ).astimezone(UTC).date().isoformat()


def fresh_since(duration: str) -> str:
    """Return the time before which running pods are too old for an error, in full hours: reports are kept as long.

    ``duration`` is such as ``24h``; of another text, the time is now. Raises ClockError.
    """
    since = now() - timedelta(seconds=seconds_of(duration) or 0)
    return since.astimezone(UTC).strftime("%Y-%m-%dT%H:00:00+00:00")
