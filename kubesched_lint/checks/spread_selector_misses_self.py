"""A spread constraint that counts other pods than the one it places."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.remedies.remedy import Remedy, written_at
from kubesched_lint.explaining.remedies.rollouts import count_revisions_apart
from kubesched_lint.findings import Hazard, Place, pattern
from kubesched_lint.sources.manifests.changes import Put


def check(it: Member) -> Iterator[Hazard]:
    pod = it.pod
    labels = pod.labels
    for constraint in it.workload.pod.spread:
        selector = constraint.selector
        if selector is None or selector.is_empty or selector.may_match(labels, pod.varying):
            continue
        missed = next(r for r in selector.requirements if not r.matches(labels) and r.key not in pod.varying)
        own_value = labels.get(missed.key)
        yield Hazard(
            at=missed.path,
            evidence=pattern(
                f"the pods have {missed.key}={own_value}"
                if own_value is not None
                else f"the pods have no label {missed.key}"
            ),
            values={"key": constraint.topology_key, "selector": str(selector), "label": missed.key},
            related=(Place(it.workload.pod.labels_path, "the labels of the pods"),),
        )


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Select the label as the pods have it."""
    label = str(hazard.values["label"])
    own_value = it.pod.labels.get(label)
    if own_value is None or not isinstance(written_at(it.workload.source, hazard.at), str):
        return
    if it.workload.selector is not None and not it.workload.selector.matches(it.workload.pod.labels):
        return  # refused as written: the misspelt label may be the one of the pods
    constraint = next(c.path for c in it.workload.pod.spread if hazard.at[: len(c.path)] == c.path)
    changes = (Put(hazard.at, own_value), *count_revisions_apart(it.workload, constraint))
    yield Remedy(f"select {label}: {own_value}, as the pods have it", safe=False, changes=changes)
