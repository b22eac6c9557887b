"""Find the workload or pod for ``kind/name``, ``namespace/name``, ``name`` or ``kind/namespace/name``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec import Struct

from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.engine.base.text import first_few, meant
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.pod import BoundPod
from kubesched_lint.engine.model.workload import Workload

_SHORT = {
    "cj": "cronjob",
    "deploy": "deployment",
    "ds": "daemonset",
    "po": "pod",
    "rs": "replicaset",
    "sts": "statefulset",
}


class NamingError(ValueError):
    """No object or several objects match the name; the message lists candidates."""


class NamedObject(Struct, frozen=True):
    """A workload, or a pod of the snapshot (``bound``)."""

    kind: str
    namespace: str
    name: str
    workload: Workload | None = None
    bound: BoundPod | None = None

    def __str__(self) -> str:
        return str(ObjectRef(self.kind, self.namespace, self.name))

    @property
    def full_name(self) -> str:
        """The unambiguous name."""
        return f"{self.kind.lower()}/{self.namespace}/{self.name}"


def find(name: str, manifests: Inventory, live: Inventory | None) -> NamedObject:
    """Return the one object that matches ``name``, in the manifests or else in the snapshot. Raises NamingError."""
    everything = [list(_workloads(manifests))]
    if live is not None:
        everything += [list(_workloads(live)), list(_pods(live))]
    for subjects in everything:
        found = [s for s in subjects if _means(name, s)]
        if len(found) == 1:
            return found[0]
        if found:
            raise NamingError(f"{name!r} may mean {_listed(found, ' or ')}")
    known = [subject for subjects in everything[:2] for subject in subjects]
    raise NamingError(f"nothing is named {name!r}{_hint(name, known)}")


def _hint(name: str, known: Sequence[NamedObject]) -> str:
    """Return at most three guesses, or else a list of what there is, or what to do where there is nothing."""
    called: dict[str, list[NamedObject]] = {}
    for subject in known:
        called.setdefault(subject.name, []).append(subject)
    guesses = [subject for right in meant(name.rpartition("/")[2].lower(), called) for subject in called[right]]
    if guesses:
        return f"; did you mean {_listed(guesses, ' or ')}?"
    if not known:
        return "; neither the cluster nor a manifest that was read has any workload: name the path of manifests"
    return f"; there is {_listed(known, ', ')}"


def _workloads(inventory: Inventory) -> Iterator[NamedObject]:
    for workload in inventory.workloads:
        yield NamedObject(*workload.key, workload)


def _pods(inventory: Inventory) -> Iterator[NamedObject]:
    for bound in inventory.pods:
        yield NamedObject("Pod", bound.namespace, bound.name, bound=bound)


def _means(name: str, subject: NamedObject) -> bool:
    parts = name.split("/")
    if parts[-1] not in (subject.name, subject.name.partition(":")[0]):  # a custom resource with a part, `web:workers`
        return False
    match parts[:-1]:
        case []:
            return True
        case [one]:
            return one == subject.namespace or _kind(one) == subject.kind.lower()
        case [kind, namespace]:
            return _kind(kind) == subject.kind.lower() and namespace == subject.namespace
    return False


def is_kind(word: str) -> bool:
    """Return whether the word is a kind rather than a namespace."""
    return _kind(word) in _SHORT.values()


def _kind(word: str) -> str:
    """Return the kind in lower case: ``deployment`` for ``Deployment``, ``deployments`` and ``deploy``."""
    word = word.lower()
    return _SHORT.get(word) or word.removesuffix("s")


def _listed(subjects: Sequence[NamedObject], glue: str) -> str:
    """Return the names, with the kind where two subjects share namespace and name."""
    short = Counter((s.namespace, s.name) for s in set(subjects))
    names = dict.fromkeys(
        f"{s.namespace}/{s.name}" if s.namespace and short[s.namespace, s.name] == 1 else s.full_name for s in subjects
    )
    return first_few(list(names), glue)
