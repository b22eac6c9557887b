"""From files to one manifest set: what was understood, what was counted, what was skipped and what is broken."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field

from kubesched_lint.findings import InputError, ObjectRef, Path
from kubesched_lint.linter.options import Options
from kubesched_lint.manifests.document import Document, Skipped, Unread
from kubesched_lint.model.decode.fields import DecodeError
from kubesched_lint.model.decode.objects import decode_object, gather
from kubesched_lint.model.inventory import Inventory
from kubesched_lint.record import record
from kubesched_lint.text import and_more
from kubesched_lint.validation.refusals import Refusals, refusals
from kubesched_lint.validation.removed import no_matches, removed_in
from kubesched_lint.world.world import Premises


@record
class ManifestSet:
    """``documents`` are those of kinds we read, in reading order; ``undecoded`` those with wrong types, and where."""

    inventory: Inventory = field(default_factory=Inventory)
    documents: tuple[Document, ...] = ()
    undecoded: tuple[tuple[Document, tuple[Path, ...]], ...] = ()
    unread: tuple[Unread, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    errors: tuple[InputError, ...] = ()
    refused: Mapping[int, Refusals] = field(default_factory=dict)
    """What the API server of ``judged_for`` refuses of the documents, by their ``id``."""
    judged_for: str = ""
    """A version of Kubernetes; empty where nobody was asked yet."""

    @property
    def is_complete(self) -> bool:
        """Whether no document was met that makes pods which we cannot see."""
        return not self.skipped and not self.errors and not any(u.wraps_pod_template for u in self.unread)

    def premises(self, options: Options) -> Premises:
        """What is known beside the set and a cluster."""
        is_complete = self.is_complete and not options.partial
        return Premises(options.apply_order, options.kubernetes_version, is_complete)

    @property
    def is_empty(self) -> bool:
        """Whether nothing was met that could be checked or counted: no object that somebody would apply."""
        return not (self.documents or self.errors or any(_is_applied(u) for u in self.unread))

    @property
    def unread_kinds(self) -> Mapping[str, int]:
        counts: dict[str, int] = {}
        for unread in self.unread:
            kind = unread.kind or "YAML without a kind"
            counts[kind] = counts.get(kind, 0) + 1
        return counts


_OF_CLUSTERS = frozenset({"ClusterSketch", "Node"})
"""Kinds that a cluster is told by, and that nobody applies."""


def tells_cluster(unread: Unread) -> bool:
    return unread.kind in _OF_CLUSTERS


def no_longer_served(unread: Iterable[Unread], version: str) -> Iterator[str]:
    """A note for each kind of object that is not read and that a server of ``version`` does not know either."""
    found: dict[tuple[str, str], list[Unread]] = {}
    for one in unread:
        found.setdefault((one.api_version, one.kind), []).append(one)
    for (api_version, kind), objects in found.items():
        since = removed_in(api_version, kind, version)
        if since:
            first, more = objects[0], and_more(len(objects) - 1)
            place = f"{first.path}:{first.line}{more}"
            yield f"kubectl refuses {place}: {no_matches(api_version, kind)}, which Kubernetes {since} removed"


def _is_applied(unread: Unread) -> bool:
    """A kustomization that nothing could render says what is applied, and is not applied itself."""
    return (
        bool(unread.kind)
        and not tells_cluster(unread)
        and not unread.api_version.startswith("kustomize.config.k8s.io/")
    )


_CLUSTER_WIDE = frozenset(
    {
        "CSINode",
        "Namespace",
        "NodePool",
        "PersistentVolume",
        "PriorityClass",
        "RuntimeClass",
        "StorageClass",
        "VolumeAttachment",
    }
)


def ref_of(document: Document, namespace: str) -> ObjectRef:
    """The object of a document, decoded or not; ``namespace`` fills a missing one."""
    meta = document.meta
    name = meta.get("name") or meta.get("generateName") or ""
    home = "" if document.kind in _CLUSTER_WIDE else str(meta.get("namespace") or namespace)
    return ObjectRef(document.kind, home, str(name))


def refused_of(document: Document, version: str) -> Refusals:
    """What the API server of that version refuses of an object."""
    return tuple(refusals(document.value, version))


def manifest_set(
    entries: Iterable[Document | Unread | Skipped | InputError],
    namespace: str,
    version: str = "",
    judge: Callable[[Document, str], Refusals] = refused_of,
) -> ManifestSet:
    """Decodes every document; each wrong type is one error at that very value.

    With a ``version`` of Kubernetes each document is also judged as its API server would, while its values are still
    in the processor's cache, and then released: later that costs a third more, and half of the memory.
    """
    documents: list[Document] = []
    undecoded: list[tuple[Document, tuple[Path, ...]]] = []
    unread: list[Unread] = []
    skipped: list[Skipped] = []
    errors: list[InputError] = []
    objects = []
    refused: dict[int, Refusals] = {}
    for entry in entries:
        if isinstance(entry, Document):
            try:
                objects.append(decode_object(entry.value, namespace, entry, len(documents)))
            except DecodeError as error:
                from kubesched_lint.linter.wrong_types import decoded_anyway  # only few sets ever need it

                anyway = decoded_anyway(entry, error, namespace, len(documents))
                if anyway.skipped is not None:
                    skipped.append(anyway.skipped)
                    continue
                if anyway.object is not None:
                    objects.append(anyway.object)
                else:
                    errors.extend(anyway.errors)
                    undecoded.append((entry, anyway.paths))
            documents.append(entry)
            if version:
                try:
                    found = judge(entry, version)
                except Exception:
                    version = ""  # a flaw of ours: the rule asks again, and its failure is told as that of any rule
                    continue
                if found:
                    refused[id(entry)] = found
                entry.release()
        elif isinstance(entry, Unread):
            unread.append(entry)
        elif isinstance(entry, Skipped):
            skipped.append(entry)
        else:
            errors.append(entry)
    return ManifestSet(
        gather(objects),
        tuple(documents),
        tuple(undecoded),
        tuple(unread),
        tuple(skipped),
        tuple(errors),
        refused,
        version,
    )
