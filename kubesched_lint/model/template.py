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


def service_account(workload: Workload) -> str:
    """The ServiceAccount that the pods name; empty for ``default``, which every namespace has, or if none is known."""
    template = written_template(workload)
    spec = template.get("spec") if isinstance(template, dict) else None
    name = (spec.get("serviceAccountName") or spec.get("serviceAccount")) if isinstance(spec, dict) else None
    return name if isinstance(name, str) and name != "default" else ""
