"""What the rules about gangs share."""

from __future__ import annotations

from kubesched_lint.findings import Path, Source
from kubesched_lint.world.gangs import Gang


def place_of(gang: Gang) -> tuple[Path, Source | None]:
    """Return the line that asks for the number of pods: of the group if the manifests have it, else of a workload."""
    if gang.group.source is not None:
        return gang.group.path, gang.group.source
    first = gang.members[0].workload
    return first.replicas_path, first.source
