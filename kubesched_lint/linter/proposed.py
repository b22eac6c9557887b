"""What the fix of a rule proposes for a finding, before anybody tries it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from kubesched_lint.admission.schedulers import is_added
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.findings import Source
from kubesched_lint.linter.judged import Judged
from kubesched_lint.manifests.document import Document
from kubesched_lint.world.world import World


def proposed(judged: Judged, world: World) -> Iterator[Remedy]:
    """Yield the remedies that the rule's fix proposes, the best first, each with a title."""
    if is_added(judged.hazard.at):
        return  # the scheduler's configuration has it, the manifest does not
    subjects = (judged.hazard.source, world) if judged.workload is None else (world.member(judged.workload),)
    for remedy in judged.rule.mend()(judged.hazard, *subjects):
        yield remedy if remedy.title else replace(remedy, title=judged.finding.help)


def source_of(judged: Judged) -> Source | None:
    return judged.hazard.source or (judged.workload.source if judged.workload else None)


def is_any_written(findings: Iterable[Judged], world: World) -> bool:
    """Whether a rule proposes a change of a file that somebody wrote, for one of the findings.

    Only linting again shows whether the finding goes and no other comes: ``--diff`` does.
    """
    return any(_is_written(one, world) for one in findings if one.rule.fix)


def _is_written(judged: Judged, world: World) -> bool:
    try:
        sources = [remedy.source or source_of(judged) for remedy in proposed(judged, world)]
    except Exception:  # --diff and --fix report it
        return False
    return any(isinstance(s, Document) and s.rendering is None and s.filled_in is None for s in sources)
