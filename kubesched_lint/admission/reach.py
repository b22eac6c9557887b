"""Which objects of a manifest set are meant for which workloads: two sample folders are two worlds."""

from __future__ import annotations

from kubesched_lint.findings import Source
from kubesched_lint.manifests.document import Document


def is_in_reach(policy: Source | None, workload: Source | None, namespace: str = "") -> bool:
    """Whether somebody who applies the workload applies the policy too, both being of one namespace.

    What the cluster holds is there. In the set they belong together where one stands in a folder around
    the other, or where both write the name of their namespace: folders side by side that leave it out are samples,
    each to be tried by itself. ``namespace``: the policy is the Namespace of this name.
    """
    if not (isinstance(policy, Document) and isinstance(workload, Document)) or policy.path == workload.path:
        return True
    ours, theirs = _folder(workload.path), _folder(policy.path)
    if ours.startswith(theirs) or theirs.startswith(ours):
        return True
    namespace = namespace or _written_namespace(policy)
    return bool(namespace) and namespace == _written_namespace(workload)


def _folder(path: str) -> str:
    """With a slash at the end; empty for a file without a folder."""
    head, slash, _ = path.rpartition("/")
    return head + slash


def _written_namespace(source: Document) -> str:
    return str(source.meta.get("namespace") or "")
