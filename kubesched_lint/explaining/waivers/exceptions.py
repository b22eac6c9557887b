"""Exceptions with an end and an owner: ``reason until 2027-03-01 @team``, in a waiver or in a baseline."""

from __future__ import annotations

import re
from datetime import date, timedelta

from msgspec import Struct

_TERMS = re.compile(
    r"(?P<reason>.*?)(?:(?:^|\s)until\s+(?P<until>\d{4}[-/.]\d{1,2}[-/.]\d{1,2}))?(?P<owner>(?:(?:^|\s+)@\S+)*)\s*$",
    re.DOTALL,
)
_SOON = timedelta(days=30)
"""What ends within these days is listed."""


class Terms(Struct, frozen=True):
    """The reason, the last day of an exception as it is written (empty: no end), and who answers for it."""

    reason: str
    until: str = ""
    owner: str = ""


def terms_of(text: str) -> Terms:
    """Return the terms at the end of a reason."""
    match = _TERMS.match(text)
    if match is None or not (match["until"] or match["owner"].strip()):
        return Terms(text)
    return Terms(match["reason"].strip(" ,;:"), match["until"] or "", " ".join(match["owner"].split()))


def is_day(until: str) -> bool:
    """Whether a text is a day of the calendar, written as 2027-03-01."""
    try:
        return date.fromisoformat(until).isoformat() == until
    except ValueError:
        return False


def has_ended(until: str, today: str) -> bool:
    """Whether an exception has ended: its last day is over, or is no day. Never without a clock or an end."""
    return bool(until and today) and (not is_day(until) or until < today)


def ends_soon(until: str, today: str) -> bool:
    """Whether an exception has ended, or ends within a month."""
    if not (until and today) or has_ended(until, today):
        return bool(until and today)
    return date.fromisoformat(until) - date.fromisoformat(today) <= _SOON
