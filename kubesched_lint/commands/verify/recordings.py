"""Read recorded cases from files with one JSON object per line, plain or gzipped."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from io import TextIOWrapper
from typing import Any

from kubesched_lint.engine.base.text import SHOWN
from kubesched_lint.files import opened

DECISIONS = "decisions"
PREEMPTION = "preemption"
LIFECYCLES = "lifecycles"
ADMISSION = "admission"
DEPLOYMENTS = "deployments"
GANGS = "gangs"


class CaseError(ValueError):
    """A file cannot be read, or a line is not a case; the message names file and line."""


def read_cases(path: str) -> Iterator[dict[str, Any]]:
    """Yield the cases of one ``.jsonl`` or ``.jsonl.gz`` file in order. Raises CaseError."""
    for _, case in placed_cases(path):
        yield case


def placed_cases(path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (``file:line``, case) in order. Raises CaseError."""
    try:
        with _lines(path) as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    place = f"{path}:{number}"
                    yield place, _case(line, place)
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise CaseError(f"{path}: {error.strerror or error if isinstance(error, OSError) else error}") from None


def _lines(path: str) -> Any:
    file: Any = opened(path)
    packed = file.read(2) == b"\x1f\x8b"
    file.seek(0)
    if packed:
        file = gzip.GzipFile(fileobj=file)
    return TextIOWrapper(file, encoding="utf-8")


def _case(line: str, place: str) -> dict[str, Any]:
    try:
        case = json.loads(line)
    except ValueError as error:
        raise CaseError(f"{place}: not JSON: {error}") from None
    except RecursionError:
        raise CaseError(f"{place}: not JSON: nested too deeply") from None
    if not isinstance(case, dict):
        raise CaseError(f"{place}: not a JSON object")
    return case


def kind_of(case: Mapping[str, Any], place: str = "") -> str:
    """Return the kind of a recorded case. Raises CaseError for an unknown kind."""
    if "decisions" in case and "nodes" in case:
        return DECISIONS if "namespaces" in case else PREEMPTION
    if "group" in case and "queue" in case:
        return GANGS
    if "steps" in case:
        return LIFECYCLES
    if "files" in case and ("nodes" in case or "deploy" in case):
        return DEPLOYMENTS
    if "manifest" in case or "object" in case:
        return ADMISSION
    fields = ", ".join(sorted(case)[:SHOWN]) or "none"
    raise CaseError(f"{place}: unknown kind of record (fields: {fields}); docs/verify.md lists the known ones")
