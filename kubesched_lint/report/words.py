"""Texts for CI services: paths relative to the repository, and explanations as lines."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.findings import Finding, Location, Span
from kubesched_lint.manifests.document import RENDERED


def annotated(location: Location) -> Location:
    """The location for an annotation of a service: for rendered text, which is in no file, the nearest file."""
    if location.near is None and location.path.endswith(RENDERED):  # a template that is not here
        return Location(location.path.removesuffix(RENDERED), Span(1, 1, 1, 1))
    return location.near or location


def explanation(finding: Finding) -> Iterator[str]:
    evidence, where = finding.evidence, finding.location
    if where.path.endswith(RENDERED):
        yield f"in what is rendered: {where.path}:{where.span.line}:{where.span.column}"
    if evidence.text:
        yield f"{evidence.kind}: {evidence.text}"
    yield from (f"{number}. {event}" for number, event in enumerate(evidence.trace, 1))
    yield from (f"assumes: {premise}" for premise in evidence.assumes)
    if finding.help:
        yield f"help: {finding.help}"


def relative(path: str, root: str) -> str:
    """``path`` relative to ``root`` if it is inside it; else unchanged."""
    if root and path.startswith(f"{root.rstrip('/')}/"):
        path = path[len(root.rstrip("/")) + 1 :]
    while path.startswith("./"):
        path = path[2:]
    return path
