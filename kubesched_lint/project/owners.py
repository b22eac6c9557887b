"""Who is to mend a finding: the owners of its file by CODEOWNERS; in a repository without one, its namespace."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cache

from msgspec.structs import replace

from kubesched_lint.engine.base.places import Location, ObjectRef
from kubesched_lint.files import is_within, root_of
from kubesched_lint.findings import Finding, Report
from kubesched_lint.project.codeowners import CodeOwners, code_owners
from kubesched_lint.sources.manifests.document import RENDERED

NOBODY = "no owner"
"""The owner of a file that CODEOWNERS gives to nobody."""
NO_NAMESPACE = "no namespace"
"""The owner of an object of the whole cluster, where namespaces own the others."""


_NAMESPACE = "namespace "


def is_namespace(owner: str) -> bool:
    """Whether a namespace stands for an owner, because no CODEOWNERS names one."""
    return owner == NO_NAMESPACE or owner.startswith(_NAMESPACE)


class OwnersOfFiles:
    """The owners of files, whose repositories are looked for once."""

    def __init__(self) -> None:
        self._root = cache(_root)
        self._by_root = cache(code_owners)

    def of_file(self, path: str) -> tuple[str, ...] | None:
        """Return the owners of a file, empty if nobody owns it; None if there is no CODEOWNERS for it."""
        if path.startswith("<"):  # <stdin>
            return None
        is_folder = path.endswith(RENDERED)
        real = os.path.realpath(path.removesuffix(RENDERED))
        if is_folder:  # the files of a rendered kustomization are not known
            real = os.path.join(real, "kustomization.yaml")
        root, owners = self._owners_for(os.path.dirname(real))
        if owners is None or not is_within(real, root):
            return None
        return owners.of(os.path.relpath(real, root).replace(os.sep, "/"))

    def owner(self, place: Location, subject: ObjectRef) -> str:
        """Return the owner of a finding, as reports show it."""
        owners = self.of_file((place.near or place).path)
        if owners is not None:
            return " ".join(owners) or NOBODY
        return f"{_NAMESPACE}{subject.namespace}" if subject.namespace else NO_NAMESPACE

    def _owners_for(self, folder: str) -> tuple[str, CodeOwners | None]:
        root = self._root(folder)
        return root, self._by_root(root) if root else None


def _root(folder: str) -> str:
    try:
        return root_of(folder)
    except (OSError, ValueError):
        return ""


def with_owners(report: Report) -> Report:
    """Return the report whose findings have owners."""
    return replace(report, findings=owned(report.findings)) if report.findings else report


def owned(findings: Iterable[Finding], owners: OwnersOfFiles | None = None) -> tuple[Finding, ...]:
    owners = owners or OwnersOfFiles()
    return tuple(
        replace(
            finding,
            owner=owners.owner(finding.location, finding.object),
            also=owned(finding.also, owners) if finding.also else (),
        )
        for finding in findings
    )
