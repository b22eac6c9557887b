"""Which objects of a manifest set apply to which workloads: two sample folders are two worlds."""

from __future__ import annotations

from kubesched_lint.findings import Source
from kubesched_lint.manifests.document import Document


def is_in_reach(policy: Source | None, workload: Source | None, namespace: str = "", *, around: bool = True) -> bool:
    """Return whether a user who applies the workload also applies the policy; both are of one namespace.

    Objects of the cluster always apply. Manifests belong together if one is in a folder around the other, or if both
    set the name of their namespace: folders side by side without it are samples, each to try separately. Without
    ``around``, so are folders inside each other. ``namespace``: the policy is the Namespace of this name.
    """
    if not (isinstance(policy, Document) and isinstance(workload, Document)) or policy.path == workload.path:
        return True
    ours, theirs = _folder(workload.path), _folder(policy.path)
    if ours == theirs or (around and (ours.startswith(theirs) or theirs.startswith(ours))):
        return True
    namespace = namespace or policy.namespace
    return bool(namespace) and namespace == workload.namespace


def _folder(path: str) -> str:
    """Return the folder with a slash at the end; empty for a file without a folder."""
    head, slash, _ = path.rpartition("/")
    return head + slash
