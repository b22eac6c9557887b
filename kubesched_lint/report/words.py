"""The explanation below a message, where a format has no frames: evidence, premises and help, a line each."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.findings import Finding


def explanation(finding: Finding) -> Iterator[str]:
    evidence = finding.evidence
    if evidence.text:
        yield f"{evidence.kind}: {evidence.text}"
    yield from (f"{number}. {event}" for number, event in enumerate(evidence.trace, 1))
    yield from (f"assumes: {premise}" for premise in evidence.assumes)
    if finding.help:
        yield f"help: {finding.help}"
