"""What the rules about gangs share."""

from __future__ import annotations

from collections.abc import Sequence

from kubesched_lint.engine.base.places import Path, Source
from kubesched_lint.engine.placing.gangs.answers import Answer
from kubesched_lint.engine.placing.gangs.fit import answers
from kubesched_lint.engine.scenario.gangs import Gang, gangs_of
from kubesched_lint.engine.scenario.scenario import Scenario


def answers_about(scenario: Scenario) -> Sequence[Answer]:
    """Return the answers about the gangs of the set; only a set with gangs imports the search for them."""
    if not gangs_of(scenario):
        return ()
    return answers(scenario)


def place_of(gang: Gang) -> tuple[Path, Source | None]:
    """Return the line that asks for the number of pods: of the group if the manifests have it, else of a workload."""
    if gang.group.source is not None:
        return gang.group.path, gang.group.source
    first = gang.members[0].workload
    return first.replicas_path, first.source
