"""The explanation below a message, where a format has no frames: evidence, premises and help, a line each."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.findings import Finding, Location


def annotated(location: Location) -> Location:
    """Where a service can show a remark: the file nearest to a text that was rendered, and is in no file."""
    return location.near or location


def explanation(finding: Finding) -> Iterator[str]:
    evidence, where = finding.evidence, finding.location
    if where.near is not None:
        yield f"in what is rendered: {where.path}:{where.span.line}:{where.span.column}"
    if evidence.text:
        yield f"{evidence.kind}: {evidence.text}"
    yield from (f"{number}. {event}" for number, event in enumerate(evidence.trace, 1))
    yield from (f"assumes: {premise}" for premise in evidence.assumes)
    if finding.help:
        yield f"help: {finding.help}"
