"""matchLabelKeys names a label that the pods never get, so it does not narrow the selection."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.scenario.pods.pod_labels import has_label, is_revision_label, revision_label
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.remedies.remedy import Remedy
from kubesched_lint.findings import Hazard, Place, pattern
from kubesched_lint.sources.manifests.changes import Put, Remove


def check(it: Member) -> Iterator[Hazard]:
    """The API server merges only keys that the pod carries (``pkg/registry/core/pod/strategy.go``)."""
    wanted = revision_label(it.workload)
    for constraint in it.workload.pod.spread:
        for number, key in enumerate(constraint.match_label_keys):
            if has_label(it.workload, key):
                continue
            yield Hazard(
                at=(*constraint.path, "matchLabelKeys", number),
                evidence=pattern(
                    f"pods of a {it.workload.ref.kind} do not get the label {key}, and its template has none"
                ),
                values={"key": key, "topology": constraint.topology_key, "wanted": wanted},
                related=(Place(it.workload.pod.labels_path, "the labels of the pods"),),
                variant="revision" if is_revision_label(key) and wanted else "default",
            )


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Use a key that the pods carry, or none."""
    wanted = hazard.values["wanted"]
    instead = Remedy(f"use {wanted} instead", safe=hazard.variant == "revision", changes=(Put(hazard.at, wanted),))
    if hazard.variant == "revision":
        yield instead
    yield Remedy("drop the key, which has no effect", safe=True, changes=(Remove(hazard.at),))
    if hazard.variant != "revision" and wanted:
        yield instead
