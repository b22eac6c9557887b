"""All refusals of the API server, also those after the first wrong type, at which its decoder stops."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kubesched_lint.findings import Path
from kubesched_lint.validation.causes import Cause
from kubesched_lint.validation.validate import ApiServerAnswer, validate

_UNDECODED = 400
Refusals = tuple[tuple[Cause, ApiServerAnswer], ...]


def refusals(obj: dict[Any, Any], version: str) -> Iterator[tuple[Cause, ApiServerAnswer]]:
    """Yield every cause with its verdict; further wrong types appear as if the earlier ones were fixed."""
    verdict = validate(obj, version=version)
    yield from ((cause, verdict) for cause in verdict.causes)
    if verdict.code == _UNDECODED:
        yield from _further(obj, verdict, version)


def _further(obj: dict[Any, Any], verdict: ApiServerAnswer, version: str) -> Iterator[tuple[Cause, ApiServerAnswer]]:
    """Yield the next decoding errors: wrong types, then unknown fields.

    Rules are checked only for values that decode.
    """
    from kubesched_lint.manifests.drop_value import affordable, set_aside

    value = obj
    told = {cause.path for cause in verdict.causes}
    met: list[Path] = []
    most = affordable(value)
    while len(met) < most and not any(cause.message.startswith("unknown field ") for cause in verdict.causes):
        path = verdict.causes[0].path
        left = set_aside(value, path, times=met.count(path))
        if left is value:
            return
        value = left
        met.append(path)
        verdict = validate(value, version=version)
        if verdict.code != _UNDECODED:
            return
        for cause in verdict.causes:
            if cause.path not in told:
                told.add(cause.path)
                yield cause, verdict
