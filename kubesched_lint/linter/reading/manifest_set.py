"""From documents to one manifest set: decoded, unread, skipped and invalid documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from kubesched_lint.custom.kinds import RELEASES, SHIPPED, Kinds, is_named_by_releases, is_release
from kubesched_lint.engine.apiserver.refusals import Refusals, refusals
from kubesched_lint.engine.apiserver.values.removed import no_matches, removed_in
from kubesched_lint.engine.base.places import ObjectRef, Path
from kubesched_lint.engine.base.releases import minor_of
from kubesched_lint.engine.base.text import and_more
from kubesched_lint.engine.model.decode.fields import DecodeError
from kubesched_lint.engine.model.decode.objects import decode_object, gather, is_read
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.scenario.settings.not_read import NotRead, Release
from kubesched_lint.engine.scenario.settings.user_settings import Premises
from kubesched_lint.findings import InputError
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.wrong_types import decoded_anyway
from kubesched_lint.rulebook.library import Rule
from kubesched_lint.sources.manifests.document import Document, Skipped, Unread, print_of
from kubesched_lint.sources.manifests.recognizing.classify import CLUSTER_WIDE
from kubesched_lint.sources.manifests.recognizing.meant import is_ours


class ManifestSet(Struct, frozen=True):
    """``documents`` have kinds that we read, in reading order; ``undecoded`` have wrong types at these paths."""

    inventory: Inventory = field(default_factory=Inventory)
    documents: tuple[Document, ...] = ()
    undecoded: tuple[tuple[Document, tuple[Path, ...]], ...] = ()
    unread: tuple[Unread, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    left_out: tuple[Skipped, ...] = ()
    """Folders and files that nobody applies with the others."""
    errors: tuple[InputError, ...] = ()
    given_errors: tuple[InputError, ...] = ()
    """Those of ``errors`` that reading files made; documents and kinds make the others, whenever a set is made of them.
    """
    refused: Mapping[Document, Refusals] = field(default_factory=dict)
    """Document → what the API server of version ``judged_for`` refuses in it."""
    judged_for: str = ""
    """Minor version of Kubernetes of ``refused``; empty if not computed."""
    kinds: Kinds = SHIPPED
    """The kinds of custom resources that are read."""
    before: Inventory | None = None
    """The manifests before the change; None if the set is compared with nothing."""
    releases: tuple[Release, ...] = ()
    """The objects that install charts; those that were not read are in ``unread``, too."""
    made: tuple[Document, ...] = ()
    """The objects that rendered charts make; each stands for its release, which is in ``documents``."""

    @property
    def is_complete(self) -> bool:
        """Whether no document may create pods that we cannot see."""
        return self.not_read.is_nothing

    @property
    def not_read(self) -> NotRead:
        """What may define objects, or create pods, that we cannot see."""
        errors = dict.fromkeys(f"{error.path}:{error.line}" if error.line else error.path for error in self.errors)
        skipped = (f"{document.path}:{document.line}" if document.line else document.path for document in self.skipped)
        unread = tuple(release for release in self.releases if release.why)
        others = [
            unread_object
            for unread_object in self.delivering
            if not is_release(unread_object.api_version, unread_object.kind)
        ]
        makers = [f"{unread_object.kind} {unread_object.path}:{unread_object.line}" for unread_object in unread]
        makers += (f"{unread_object.kind} {unread_object.path}:{unread_object.line}" for unread_object in others)
        return NotRead(tuple(errors), tuple(dict.fromkeys((*makers, *skipped))), unread)

    @property
    def delivering(self) -> list[Unread]:
        """What makes objects that are not read; in a set of a GitOps controller, its Applications were followed."""
        followed = ("Application", "ApplicationSet") if self.kinds.reads_named else ()
        return [
            unread_object
            for unread_object in self.unread
            if _makes_objects(unread_object) and unread_object.kind not in followed
        ]

    @property
    def without_pods(self) -> Iterator[str]:
        """Yield which custom resources have pods that we cannot see, each with its place and the reason."""
        for unread in self.unread:
            if unread.why or unread.wraps_pod_template:
                why = unread.why or f"no workload card describes {unread.api_version} {unread.kind}"
                yield f"{unread.kind} ({unread.path}:{unread.line}) is not read: {why}"

    def premises(self, options: Options) -> Premises:
        """Apply order, version, and whether the set is complete."""
        not_read = self.not_read
        if options.partial:
            not_read = replace(not_read, others=(_NOT_GIVEN, *not_read.others))
        version, gates = options.kubernetes_version, options.feature_gates
        return Premises(options.apply_order, version, not_read, gates, self.before, options.survive)

    @property
    def is_empty(self) -> bool:
        """Whether the set has neither errors nor an object that somebody would apply."""
        return not (self.documents or self.errors or any(_is_applied(u) for u in self.unread))

    @property
    def unread_kinds(self) -> Mapping[str, int]:
        counts: dict[str, int] = {}
        for unread in self.unread:
            kind = unread.kind or "YAML without a kind"
            counts[kind] = counts.get(kind, 0) + 1
        return counts


_NOT_GIVEN = "the rest of the set, which was not given (--partial)"
_OF_DELIVERY = {
    **{kind: f"{group}/" for kind, group in RELEASES.items()},
    "Application": "argoproj.io/",
    "ApplicationSet": "argoproj.io/",
    "ResourceSet": "fluxcd.controlplane.io/",
}
"""Kinds whose controllers apply charts and folders from elsewhere → the beginning of their apiVersion."""


def _makes_objects(unread: Unread) -> bool:
    delivery = _OF_DELIVERY.get(unread.kind)
    return unread.wraps_pod_template or (delivery is not None and unread.api_version.startswith(delivery))


def describes_cluster(unread: Unread) -> bool:
    """Return whether an object describes a cluster and is not applied."""
    return unread.kind == "Node" or is_ours(unread.api_version)


_OF_NODES = {
    "CapacityBuffer": "the room that it keeps ready does not count",
}


def about_nodes(unread: Iterable[Unread]) -> Iterator[str]:
    """Yield a note for each unread kind that changes what nodes an autoscaler makes."""
    kinds = {unread_object.kind for unread_object in unread}
    yield from (f"{kind} is not read: {what}" for kind, what in _OF_NODES.items() if kind in kinds)


def no_longer_served(unread: Iterable[Unread], version: str) -> Iterator[str]:
    """Yield a note for each unread kind that Kubernetes ``version`` has removed."""
    by_kind: dict[tuple[str, str], list[Unread]] = {}
    for unread_object in unread:
        by_kind.setdefault((unread_object.api_version, unread_object.kind), []).append(unread_object)
    for (api_version, kind), objects in by_kind.items():
        since = removed_in(api_version, kind, version)
        if since:
            first, more = objects[0], and_more(len(objects) - 1)
            place = f"{first.path}:{first.line}{more}"
            yield f"kubectl refuses {place}: {no_matches(api_version, kind)}, which Kubernetes {since} removed"


def with_rule(errors: Iterable[InputError], rules: Iterable[Rule]) -> Iterator[InputError]:
    """Give refusals the rule that reports what the API server refuses in objects that can be decoded."""
    slug = next((rule.slug for rule in rules if rule.refuses), "")
    yield from (replace(error, rule=slug) if error.is_refusal else error for error in errors)


def _is_applied(unread: Unread) -> bool:
    """Whether somebody would apply the object; not so for a kustomization that could not be rendered."""
    return (
        bool(unread.kind)
        and not describes_cluster(unread)
        and not unread.api_version.startswith("kustomize.config.k8s.io/")
    )


def ref_of(document: Document, namespace: str) -> ObjectRef:
    """Return the object of a document, decoded or not; ``namespace`` is the default."""
    home = "" if document.kind in CLUSTER_WIDE else document.namespace or namespace
    return ObjectRef(document.kind, home, document.name or document.generate_name)


def refused_of(document: Document, version: str) -> Refusals:
    """Return what the API server of that version refuses in an object."""
    return tuple(refusals(document.value, version))


def decoded(document: Document, namespace: str, order: int) -> tuple[str, Any]:
    """Return the object's field in Inventory, and the object. Raises DecodeError."""
    return decode_object(document.value, namespace, document, order)


def manifest_set(
    entries: Iterable[Document | Unread | Skipped | InputError],
    namespace: str,
    version: str = "",
    judge: Callable[[Document, str], Refusals] = refused_of,
    kinds: Kinds = SHIPPED,
    decode: Callable[[Document, str, int], tuple[str, Any]] = decoded,
) -> ManifestSet:
    """Return the set of all documents, decoded; each wrong type is one error at its value.

    ``kinds`` are those of custom resources, which become workloads after all other documents are read.

    With a Kubernetes ``version``, ``judge`` also validates each document as its API server would, and then releases
    its values: later, out of the CPU cache, validation takes a third more time, and the values would take memory.
    """
    documents: list[Document] = []
    undecoded: list[tuple[Document, tuple[Path, ...]]] = []
    unread, skipped, left_out = list[Unread](), list[Skipped](), list[Skipped]()
    errors, given = [InputError(fault.path, fault.message, fault.line) for fault in kinds.faults], list[InputError]()
    objects: list[tuple[str, Any]] = []
    refused: dict[Document, Refusals] = {}
    described = _Described(kinds, namespace)
    for entry in entries:
        if isinstance(entry, Document):
            if not is_read(entry.api_version, entry.kind):
                described.add(entry, len(documents))
                documents.append(entry)
                continue
            try:
                objects.append(decode(entry, namespace, len(documents)))
            except DecodeError as error:
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
            if version and not _is_judged(entry, version, judge, refused):
                version = ""  # our bug: the rule validates again, and reports its failure like any rule
        elif isinstance(entry, Unread):
            unread.append(entry)
        elif isinstance(entry, Skipped):
            (left_out if entry.left_out else skipped).append(entry)
        else:
            errors.append(entry)
            given.append(entry)
    releases, made = described.read(objects, documents, unread, errors) if described else ((), ())
    if version and not all(_is_judged(document, version, judge, refused) for document in made):
        version = ""
    return ManifestSet(
        gather(objects),
        tuple(documents),
        tuple(undecoded),
        tuple(unread),
        tuple(skipped),
        tuple(left_out),
        tuple(errors),
        tuple(given),
        refused,
        version and minor_of(version),
        kinds,
        releases=releases,
        made=made,
    )


def _is_judged(
    entry: Document,
    version: str,
    judge: Callable[[Document, str], Refusals],
    refused: dict[Document, Refusals],
) -> bool:
    """Record what is refused in a document, and release it; return whether it could be judged."""
    try:
        answer = judge(entry, version)
    except Exception:
        return False
    if answer:
        refused[entry] = answer
    entry.release()
    return True


class _Described:
    """Documents of kinds that cards describe, and what these name; they are read when all others are."""

    def __init__(self, kinds: Kinds, namespace: str) -> None:
        self._kinds = kinds
        self._namespace = namespace
        self._custom: list[tuple[int, Document]] = []
        self._releases: list[tuple[int, Document]] = []
        self._named: list[Document] = []

    def __bool__(self) -> bool:
        return bool(self._custom or self._releases or self._named)

    def add(self, document: Document, number: int) -> None:
        """Add a document; ``number`` is its place in the reading order."""
        if is_release(document.api_version, document.kind):
            self._releases.append((number, document))
        elif is_named_by_releases(document.api_version, document.kind):
            self._named.append(document)
        elif self._kinds.of(document.api_version, document.kind) is not None:
            self._custom.append((number, document))

    def read(
        self,
        objects: list[tuple[str, Any]],
        documents: list[Document],
        unread: list[Unread],
        errors: list[InputError],
    ) -> tuple[tuple[Release, ...], tuple[Document, ...]]:
        """Add the workloads of custom resources, and what charts make, to the objects. Return the releases, and the
        documents of what rendered charts make.

        What no card can read, and what only names values, moves from ``documents`` to ``unread``.
        """
        from kubesched_lint.linter.reading.custom_resources import charted, derived  # most sets have none

        gone, releases = {document: _unread(document) for document in self._named}, list[Release]()
        whole: list[Document] = []
        resources = list(self._custom)
        places = {document: number for number, document in self._releases}
        for document, release, made, problem in charted(self._releases, self._named, self._kinds, self._namespace):
            releases.append(release)
            objects += made.objects
            unread += made.unread
            whole += made.whole
            resources += ((places[document], resource) for resource in made.custom)
            errors += [problem] if problem else []
            if not made.objects and not made.custom:
                gone[document] = _unread(document)
        for document, derivation in derived(resources, documents, self._kinds, self._namespace):
            if isinstance(derivation, Unread):
                gone[document] = derivation
            else:
                objects += (("workloads", workload) for workload in derivation.workloads)
                objects += (("budgets", budget) for budget in derivation.budgets)
        objects.sort(key=lambda entry: entry[1].order if entry[0] == "workloads" else 0)
        documents[:] = [document for document in documents if document not in gone]
        unread += gone.values()
        return tuple(releases), tuple(whole)


def _unread(document: Document) -> Unread:
    line, seen = document.span(()).line, print_of(document.text, document.prefix)
    return Unread(document.path, line, document.kind, document.api_version, seen=seen)
