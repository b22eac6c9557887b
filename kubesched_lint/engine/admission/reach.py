"""Which objects of a manifest set apply to which workloads: two sample folders are two scenarios."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from kubesched_lint.engine.base.places import Manifest, Source

if TYPE_CHECKING:

    class Policy(Protocol):
        """An object that applies to workloads, from a manifest or the cluster."""

        @property
        def source(self) -> Source | None: ...


P = TypeVar("P", bound="Policy")


def is_in_reach(policy: Source | None, workload: Source | None, namespace: str = "", *, around: bool = True) -> bool:
    """Return whether a user who applies the workload also applies the policy; both are of one namespace.

    Objects of the cluster always apply. Manifests belong together if one is in a folder around the other, or if both
    set the name of their namespace: folders side by side without it are samples, each to try separately. Without
    ``around``, so are folders inside each other. ``namespace``: the policy is the Namespace of this name.
    """
    if not (isinstance(policy, Manifest) and isinstance(workload, Manifest)) or policy.path == workload.path:
        return True
    ours, theirs = _folder(workload.path), _folder(policy.path)
    if ours == theirs or (around and (ours.startswith(theirs) or theirs.startswith(ours))):
        return True
    namespace = namespace or policy.namespace
    return bool(namespace) and namespace == workload.namespace


class InReach(Generic[P]):
    """Policies of one namespace, and which of them ``is_in_reach`` of a workload, without a look at each."""

    def __init__(self, policies: Sequence[P], *, around: bool = True) -> None:
        self.all = tuple(policies)
        self._around = around
        self._everywhere: list[int] = []
        self._in_folder: dict[str, list[int]] = {}
        self._below: dict[str, list[int]] = {}
        """Folder → the policies of the folders below it."""
        self._in_namespace: dict[str, list[int]] = {}
        self._found: dict[tuple[str, str], tuple[P, ...]] = {}
        for number, policy in enumerate(policies):
            source = policy.source
            if not isinstance(source, Manifest):
                self._everywhere.append(number)
                continue
            folder = _folder(source.path)
            self._in_folder.setdefault(folder, []).append(number)
            if around:
                for other in _folders_around(folder):
                    self._below.setdefault(other, []).append(number)
            if source.namespace:
                self._in_namespace.setdefault(source.namespace, []).append(number)

    def of(self, workload: Source | None) -> tuple[P, ...]:
        """Return the policies in reach of a workload, in their order."""
        if len(self._everywhere) == len(self.all) or not isinstance(workload, Manifest):
            return self.all
        key = _folder(workload.path), workload.namespace
        if key not in self._found:
            self._found[key] = tuple(self.all[number] for number in sorted(self._numbers(*key)))
        return self._found[key]

    def _numbers(self, folder: str, namespace: str) -> set[int]:
        numbers = {*self._everywhere, *self._in_folder.get(folder, ()), *self._in_namespace.get(namespace, ())}
        if self._around:
            numbers.update(self._below.get(folder, ()))
            for other in _folders_around(folder):
                numbers.update(self._in_folder.get(other, ()))
        return numbers


def _folders_around(folder: str) -> Iterator[str]:
    """Yield the folders around a folder, each with its slash; last the empty one."""
    while folder:
        folder = _folder(folder[:-1])
        yield folder


def _folder(path: str) -> str:
    """Return the folder with a slash at the end; empty for a file without a folder."""
    head, slash, _ = path.rpartition("/")
    return head + slash
