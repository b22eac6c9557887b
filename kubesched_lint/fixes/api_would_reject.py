"""A misspelt field, a value whose type or spelling alone is wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kubesched_lint.analysis.facts import Facts
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.findings import Hazard
from kubesched_lint.fixes._written import is_slip, written
from kubesched_lint.manifests.changes import Put, Rename
from kubesched_lint.manifests.document import Document

_CHOICE = re.compile(r'Unsupported value: "([^"]*)": supported values: (".*")')
_NUMBER = re.compile(r"cannot unmarshal string into .* of type u?int(?:32|64)?$")
_TEXT = re.compile(r"cannot unmarshal (?:number|bool) into .* of type string")


def fixes(hazard: Hazard, document: Document, facts: Facts) -> Iterator[Remedy]:
    """Safe: the object as it stands is refused."""
    words, value = str(hazard.values["words"]), written(document, hazard.at)
    if hazard.variant == "misspelt":
        meant = str(hazard.values["meant"])
        yield Remedy(f"write {meant}", safe=True, changes=(Rename(hazard.at, meant),), is_new=True)
    elif hazard.variant == "unreadable" and _TEXT.search(words) and isinstance(value, (int, float)):
        text = _as_written(document, hazard)
        yield Remedy(f'write "{text}", which is text', safe=True, changes=(Put(hazard.at, text),), is_new=True)
    elif hazard.variant == "unreadable" and _NUMBER.search(words) and isinstance(value, str) and value.isdecimal():
        yield Remedy(f"write {value} without quotes", safe=True, changes=(Put(hazard.at, int(value)),), is_new=True)
    elif choice := _CHOICE.search(words):
        wrong, listed = choice.groups()
        found = [name for name in listed.strip('"').split('", "') if is_slip(wrong, name)]
        if len(found) == 1 and value == wrong:
            yield Remedy(f"write {found[0]}", safe=True, changes=(Put(hazard.at, found[0]),), is_new=True)


def _as_written(document: Document, hazard: Hazard) -> str:
    """``on`` and ``0x10`` were meant as they read, not as true and 16."""
    span = document.span(hazard.at)
    return document.line_text(span.line)[span.column - 1 : span.end_column - 1]
