"""Each revision of a workload is counted by itself: ``matchLabelKeys`` with the label that tells revisions apart."""

from __future__ import annotations

from kubesched_lint.analysis.pod_labels import revision_label
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.findings import Path
from kubesched_lint.manifests.changes import Append
from kubesched_lint.model.workload import Workload


def by_revision(workload: Workload, term: Path) -> Remedy:
    """For the spread constraint or (anti-)affinity term at ``term``."""
    label = revision_label(workload)
    change = Append((*term, "matchLabelKeys"), label, after=("labelSelector",))
    return Remedy(
        f"add matchLabelKeys: [{label}], so that each revision counts by itself", safe=True, changes=(change,)
    )
