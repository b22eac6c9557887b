"""One object is defined twice with differences: in one file, or a Namespace by what two controllers apply."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from kubesched_lint.engine.base.places import ObjectRef, Path
from kubesched_lint.engine.base.plain import value_at
from kubesched_lint.engine.model.policy import Namespace
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.explaining.objects.apart import delivery_of
from kubesched_lint.explaining.remedies.remedy import written_at
from kubesched_lint.findings import Hazard, Place, pattern

_NAME: Path = ("metadata", "name")
_SSA: Path = ("metadata", "annotations", "kustomize.toolkit.fluxcd.io/ssa")
# https://docs.cloud.google.com/kubernetes-engine/config-sync/docs/how-to/cluster-scoped-objects
_CONFIG_SYNC = (
    "configmanagement.gke.io/cluster-selector",
    "configsync.gke.io/cluster-name-selector",
    "configmanagement.gke.io/namespace-selector",
)


def check(scenario: Scenario) -> Iterator[Hazard]:
    for items in scenario.manifests.duplicates().values():
        for earlier, later in pairwise(items):
            first, second = delivery_of(earlier), delivery_of(later)
            if first is not None and second is not None and first.title != second.title:
                if isinstance(later, Namespace):
                    yield from _relabelled(earlier, later, first.title, second.title)
            elif earlier.source.path == later.source.path and _selectors(earlier) == _selectors(later):
                yield from _hazards(earlier, later)


def _selectors(item: Any) -> Sequence[object]:
    """Return the clusters and namespaces into which Config Sync puts an object: two definitions may share none."""
    annotations = value_at(item.source.value, ("metadata", "annotations"))
    return (
        [annotations.get(key) for key in _CONFIG_SYNC] if isinstance(annotations, dict) else [None] * len(_CONFIG_SYNC)
    )


def _hazards(earlier: Any, later: Any) -> Iterator[Hazard]:
    before, after = earlier.source, later.source
    at = first_difference(before.value, after.value)
    if at is None:
        return
    yield Hazard(
        at=_NAME,
        source=after,
        victim=ObjectRef(after.kind, getattr(later, "namespace", ""), later.name),
        evidence=pattern(f"the first difference is at {at}"),
        values={"line": before.span(_NAME).line, "field": at},
        related=(Place(_NAME, "the first definition", before),),
    )


def _relabelled(earlier: Namespace, later: Namespace, first: str, second: str) -> Iterator[Hazard]:
    """Yield a Namespace whose labels two controllers set: each sync puts its own in place of the other's.

    Flux applies all with one field manager, so a label that the other Kustomization lacks goes, too.
    """
    label = first_difference(earlier.labels, later.labels)
    if label is None or any(written_at(item.source, _SSA) not in (None, "Override") for item in (earlier, later)):
        return  # a policy such as Merge keeps what others set
    yield Hazard(
        at=_NAME,
        source=later.source,
        victim=ObjectRef("Namespace", "", later.name),
        evidence=pattern(f"they differ in the label {label}"),
        values={"label": label, "first": first, "second": second},
        variant="relabelled",
        related=(Place(_NAME, f"the definition of {first}", earlier.source),),
    )


def first_difference(first: Any, other: Any, at: str = "") -> str | None:
    """The path of the first difference of two values, such as ``spec.replicas``; None if they are equal."""
    if isinstance(first, dict) and isinstance(other, dict):
        for key in dict.fromkeys((*first, *other)):
            difference = first_difference(first.get(key), other.get(key), f"{at}.{key}" if at else str(key))
            if difference is not None:
                return difference
        return None
    if isinstance(first, list) and isinstance(other, list) and len(first) == len(other):
        for i, (mine, yours) in enumerate(zip(first, other, strict=True)):
            difference = first_difference(mine, yours, f"{at}[{i}]")
            if difference is not None:
                return difference
        return None
    return None if first == other else at
