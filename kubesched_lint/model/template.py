"""The pod template of a workload as it is written."""

from __future__ import annotations

from kubesched_lint.manifests.document import Document
from kubesched_lint.manifests.recognise import value_at
from kubesched_lint.model.workload import Workload


def written_template(workload: Workload) -> object:
    """The template of a workload as plain values; None where nobody knows it."""
    if workload.template is None and isinstance(workload.source, Document):
        return value_at(workload.source.value, workload.pod.path[:-1])
    return workload.template
