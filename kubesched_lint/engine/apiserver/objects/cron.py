"""The schedule and the time zone of a CronJob.

Mirrors ``ParseStandard`` of ``github.com/robfig/cron/v3``, which the API server calls, and ``validateTimeZone`` in
``pkg/apis/batch/validation/validation.go`` (v1.36). The existence of a time zone is not checked: that needs a database.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kubesched_lint.engine.apiserver.values.causes import Cause, invalid, named, quoted, required
from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.model.labels import go_int

_MONTHS = dict(zip(re.findall("...", "janfebmaraprmayjunjulaugsepoctnovdec"), range(1, 13), strict=True))
_DAYS = dict(zip(re.findall("...", "sunmontuewedthufrisat"), range(7), strict=True))
_NONE: dict[str, int] = {}
_BOUNDS = ((0, 59, _NONE), (0, 23, _NONE), (1, 31, _NONE), (1, 12, _MONTHS), (0, 6, _DAYS))
_DESCRIPTORS = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")
_DURATION = r"[+-]?(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+"
_ZONE_PART = r"[A-Za-z.\-_0-9+]{1,14}"


class _BadScheduleError(ValueError):
    """The schedule is invalid; the argument is the parser's message."""


def schedule(text: str, path: Path) -> Iterator[Cause]:
    if not text:
        yield required(path)
        return
    try:
        _parse(text)
    except _BadScheduleError as error:
        yield invalid(path, text, str(error))
    if "TZ" in text:
        yield invalid(path, text, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead")


def _parse(text: str) -> None:
    if text.startswith(("TZ=", "CRON_TZ=")):
        text = text.partition(" ")[2].strip()
    if text.startswith("@"):
        _descriptor(text)
        return
    fields = text.split()
    if len(fields) != 5:
        raise _BadScheduleError(f"expected exactly 5 fields, found {len(fields)}: [{' '.join(fields)}]")
    for field, (low, high, names) in zip(fields, _BOUNDS, strict=True):
        for part in filter(None, field.split(",")):
            _range(part, low, high, names)


def _descriptor(text: str) -> None:
    if text in _DESCRIPTORS:
        return
    if not text.startswith("@every "):
        raise _BadScheduleError(f"unrecognized descriptor: {text}")
    duration = text.removeprefix("@every ")
    if duration != "0" and not re.fullmatch(_DURATION, duration):
        raise _BadScheduleError(f"failed to parse duration {text}: time: invalid duration {quoted(duration)}")


def _range(part: str, low: int, high: int, names: dict[str, int]) -> None:
    span, *steps = part.split("/")
    ends = span.split("-")
    if ends[0] in ("*", "?"):
        start, end = low, high
    else:
        start = end = _number(ends[0], names)
        if len(ends) == 2:
            end = _number(ends[1], names)
        elif len(ends) > 2:
            raise _BadScheduleError(f"too many hyphens: {part}")
    step = 1
    if len(steps) == 1:
        step = _number(steps[0], _NONE)
        end = high if len(ends) == 1 else end
    elif steps:
        raise _BadScheduleError(f"too many slashes: {part}")
    if start < low:
        raise _BadScheduleError(f"beginning of range ({start}) below minimum ({low}): {part}")
    if end > high:
        raise _BadScheduleError(f"end of range ({end}) above maximum ({high}): {part}")
    if start > end:
        raise _BadScheduleError(f"beginning of range ({start}) beyond end of range ({end}): {part}")
    if step == 0:
        raise _BadScheduleError(f"step of range should be a positive number: {part}")


def _number(text: str, names: dict[str, int]) -> int:
    known = names.get(text.lower())
    if known is not None:
        return known
    number = go_int(text)
    if number is None:
        reason = f"strconv.Atoi: parsing {quoted(text)}: invalid syntax"
        raise _BadScheduleError(f"failed to parse int from {text}: {reason}")
    if number < 0:
        raise _BadScheduleError(f"negative number ({number}) not allowed: {text}")
    return number


def time_zone(name: str, path: Path) -> Iterator[Cause]:
    if not name:
        yield invalid(path, named(name), "timeZone must be nil or non-empty string")
        return
    for part in name.split("/"):
        if part in (".", "..") or part.startswith("-") or not re.fullmatch(_ZONE_PART, part):
            yield invalid(path, named(name), f"unknown time zone {name}")
            return
    if name.lower() == "local":
        detail = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        yield invalid(path, named(name), detail)
