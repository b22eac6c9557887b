"""Recorded cases from files, one JSON object a line, plain or gzipped."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DECISIONS = "decisions"
PREEMPTION = "preemption"
LIFECYCLES = "lifecycles"
ADMISSION = "admission"


class CaseError(ValueError):
    """A file that cannot be read, or a line that is no case; the message names both."""


def read_cases(path: str) -> Iterator[dict[str, Any]]:
    """The cases of one ``.jsonl`` or ``.jsonl.gz`` file in order. Raises CaseError."""
    try:
        with _lines(path) as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield _case(line, f"{path}:{number}")
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise CaseError(f"{path}: {error.strerror or error if isinstance(error, OSError) else error}") from None


def _lines(path: str) -> Any:
    with Path(path).open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    if not packed:
        return Path(path).open(encoding="utf-8")
    import gzip

    return gzip.open(path, "rt", encoding="utf-8")


def _case(line: str, place: str) -> dict[str, Any]:
    try:
        case = json.loads(line)
    except ValueError as error:
        raise CaseError(f"{place}: not JSON: {error}") from None
    if not isinstance(case, dict):
        raise CaseError(f"{place}: a case is one JSON object a line")
    return case


def kind_of(case: dict[str, Any]) -> str:
    """Which of the four kinds of recording a case is; empty for none of them."""
    if "decisions" in case and "nodes" in case:
        return DECISIONS if "namespaces" in case else PREEMPTION
    if "steps" in case:
        return LIFECYCLES
    if "manifest" in case or "object" in case:
        return ADMISSION
    return ""
