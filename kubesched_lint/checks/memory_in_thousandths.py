"""The suffix `m` of a quantity means thousandths: `512m` of memory is half a byte, not 512 MiB."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.model.pod import Container, Pod
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.remedies.remedy import Remedy, written_at
from kubesched_lint.findings import Hazard, pattern
from kubesched_lint.sources.manifests.changes import Put

_TOO_LITTLE = 1 << 20
"""Bytes. No container starts in less; larger amounts in thousandths are exact: tools write 1.1Gi as 1181116006400m."""


def check(it: Member) -> Iterator[Hazard]:
    for container, at in _tiny(it.workload.pod):
        written = written_at(it.workload.source, at)
        if isinstance(written, str) and written.endswith("m"):
            yield Hazard(
                at=at,
                evidence=pattern(f"{written} is {written[:-1]} thousandths of a byte"),
                values={
                    "container": container.name,
                    "written": written,
                    "what": str(at[-2])[:-1],
                    "meant": _meant(written),
                },
            )


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Write mebibytes, which `m` most often stands for."""
    meant = str(hazard.values["meant"])
    yield Remedy(f"write {meant}", False, (Put(hazard.at, meant),))


def _tiny(pod: Pod) -> Iterator[tuple[Container, Path]]:
    """Yield the paths of requests and limits below `_TOO_LITTLE`, also of those that the API server copies."""
    for container in (*pod.containers, *pod.init_containers):
        for what, amounts in (("requests", container.requests), ("limits", container.limits)):
            if 0 < amounts.get("memory", 0) < _TOO_LITTLE:
                yield container, (*container.path, "resources", what, "memory")


def _meant(written: str) -> str:
    return f"{written[:-1]}Mi"
