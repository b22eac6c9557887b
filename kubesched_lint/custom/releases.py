"""The objects with which controllers install charts: HelmRelease of Flux, HelmChart of K3s."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.custom._charts import CHARTS
from kubesched_lint.custom.app_template import Chart, is_of_author, not_read_in, objects_of
from kubesched_lint.custom.blame import Blame, blame_of
from kubesched_lint.custom.card import EVENTS
from kubesched_lint.custom.chart_values import Values, values_of
from kubesched_lint.custom.derive import UnreadableError
from kubesched_lint.custom.kinds import is_named_by_releases, is_release
from kubesched_lint.custom.others import Others
from kubesched_lint.engine.model.decode.fields import DecodeError
from kubesched_lint.engine.model.decode.objects import decode_object, is_read
from kubesched_lint.engine.model.workloads.workload import Custom, Workload
from kubesched_lint.engine.scenario.settings.not_read import Release
from kubesched_lint.findings import InputError
from kubesched_lint.sources.charts.lock import Pinned, are_versions, is_digest, is_one_version, pinned
from kubesched_lint.sources.charts.rendering import Asked, ChartFile, given_values
from kubesched_lint.sources.delivery.flux_objects import listed, patches_of
from kubesched_lint.sources.manifests.document import Document, Move, Text, Unread
from kubesched_lint.sources.manifests.inputs import InputFile
from kubesched_lint.sources.manifests.loader import documents_of
from kubesched_lint.sources.manifests.rendered.charts import Made

_LATEST = "*"
"""The API server's default for the version of a HelmRelease's chart."""
NO_CARD = "no values card describes its chart"
ELSEWHERE = "it is installed in another cluster (kubeConfig)"
SUSPENDED = "it is suspended: Flux installs nothing of it"
_VERSION = re.compile(r"v?(\d{1,6})\.(\d{1,6})\.(\d{1,6})")
_REVISION = "pod-template-hash"
_POST = {"patches", "patchesStrategicMerge", "patchesJson6902", "images"}
_UNPROVEN = ("workloads", "claims")
"""Fields of Inventory of what a release makes if not all of it is known: nothing is refused or granted by the rest."""

Decoded = tuple[str, Any]
"""The field of Inventory of an object, and the object."""


Reads = Callable[[object, object], bool] | None
DefaultValues = tuple[tuple[str, ...], str, str]
"""Path of the subchart, file in the archive, and text of a file of a chart's own values."""


class MadeOf(Struct, frozen=True):
    """What a release makes: decoded objects, custom resources, and what nobody reads.

    ``why``: something of it could not be read, and what; empty if all could.
    """

    objects: tuple[Decoded, ...] = ()
    custom: tuple[Document, ...] = ()
    unread: tuple[Unread, ...] = ()
    whole: tuple[Document, ...] = ()
    """The sources of objects that have all fields which are applied."""
    why: str = ""


class ReleaseObject(Struct, frozen=True):
    """An object that installs a chart: where in the set it stands, and what it names there.

    ``namespace`` is that of objects without one, ``order`` the place in the reading order, and ``others`` has the
    objects of the set that it names.
    """

    document: Document
    namespace: str
    order: int
    others: Others

    @property
    def spec(self) -> Mapping[str, Any]:
        return _mapping(self.document.value, "spec")

    @property
    def own_namespace(self) -> str:
        return self.document.namespace or self.namespace

    @property
    def home(self) -> str:
        """The namespace that the release is installed in."""
        return str(self.spec.get("targetNamespace") or self.own_namespace)

    @property
    def name(self) -> str:
        """The name that helm-controller gives the release."""
        target = self.spec.get("targetNamespace")
        composed = f"{target}-{self.document.name}" if target else self.document.name
        return _shortened(str(self.spec.get("releaseName") or composed))

    @property
    def values(self) -> Values:
        return values_of(self.document, self.name, self.home, self.others)

    def named(self, ref: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the ``spec`` of an object of the set that it names; empty if it is not in it."""
        at = (str(ref.get("kind")), str(ref.get("namespace") or self.own_namespace), str(ref.get("name")))
        referred = self.others.named(*at)
        return {} if referred is None else _mapping(referred.value, "spec")

    @property
    def chart(self) -> tuple[str, str]:
        """The chart and its version; empty where the object does not tell."""
        ref = _mapping(self.spec, "chartRef")
        if self.document.kind == "HelmChart":
            return str(self.spec.get("chart") or ""), str(self.spec.get("version") or "")
        if not ref:
            chart = _mapping(_mapping(self.spec, "chart"), "spec")
            return str(chart.get("chart") or ""), str(chart.get("version") or "")
        source = self.named(ref)
        if not source:
            return str(ref.get("name") or ""), ""
        version = _mapping(source, "ref")  # of several, source-controller takes the digest, else the first of these
        semver = "" if version.get("digest") else version.get("semver")
        return str(source.get("url") or "").rpartition("/")[2], str(semver or version.get("tag") or "")

    @property
    def _source(self) -> Mapping[str, Any]:
        return _mapping(self.spec, "chartRef") or _mapping(_mapping(_mapping(self.spec, "chart"), "spec"), "sourceRef")

    @property
    def address(self) -> str:
        """The address of the repository that has the chart; empty if the set does not tell."""
        return str(self.named(self._source).get("url") or "")

    @property
    def pinned(self) -> Pinned | str:
        """The version, or range, of the chart that it installs; else why nobody can say which, or where it is from."""
        chart, version = self.chart
        ref, address = self._source, self.address
        is_of_oci = ref.get("kind") == "OCIRepository"
        if ref.get("kind") not in ("OCIRepository", "HelmRepository"):
            return f"its chart is taken from a {ref.get('kind') or 'source that it does not name'}"
        if not address:
            return f"{ref['kind']} {ref.get('name')}, which has its chart, is not in the set"
        version = version or ("" if is_of_oci else _LATEST)
        named = _mapping(self.named(ref), "ref") if is_of_oci else {}
        digest = str(named.get("digest") or "")
        if named.get("semverFilter") and version == named.get("semver"):
            return f"semverFilter of OCIRepository {ref.get('name')} is not read"
        if digest and not is_digest(digest):
            return f"{digest} is no digest of its chart"
        if not are_versions(version) and not digest:
            return f"{version or 'no version'} is no version of its chart"
        pinned_chart = pinned(address, "" if is_of_oci else chart, version if are_versions(version) else "", digest)
        return pinned_chart if pinned_chart.is_sound else f"{pinned_chart.repository} is no address of charts"

    @property
    def files(self) -> tuple[ChartFile, ...]:
        """The files of the chart that stand in for its values.yaml; the last wins."""
        chart = _mapping(_mapping(self.spec, "chart"), "spec")
        is_optional = bool(chart.get("ignoreMissingValuesFiles"))
        names = [*listed(chart.get("valuesFiles")), *([chart["valuesFile"]] if chart.get("valuesFile") else [])]
        return tuple(ChartFile(str(name), is_optional) for name in names)

    @property
    def asked(self) -> Asked | str:
        """What Helm is asked to render; else why it is not."""
        chart = self.pinned
        if isinstance(chart, str):
            return chart
        values = given_values(self.values.value)
        if values is None:
            return "its values are none that Helm could get"
        return Asked(chart, self.name, self.home, values, post=given_values(self.post or []) or "", own=self.files)

    @property
    def post(self) -> list[dict[str, Any]] | None:
        """The kustomizations of ``postRenderers``; None if they are more than patches and images."""
        kustomizations = []
        for each in listed(self.spec.get("postRenderers")):
            kustomize = each.get("kustomize") if isinstance(each, dict) and set(each) == {"kustomize"} else None
            if not isinstance(kustomize, dict) or kustomize.keys() - _POST:
                return None
            patches, images = list(patches_of(kustomize)), list(listed(kustomize.get("images")))
            if not all(isinstance(patch, dict) and patch.keys() <= {"patch", "target"} for patch in patches):
                return None
            if not all(isinstance(image, dict) for image in images):
                return None
            kustomizations.append({"patches": patches, "images": images})
        return kustomizations


def read_release(
    release_object: ReleaseObject, made: Made | None = None, reads: Reads = None, defaults: Sequence[DefaultValues] = ()
) -> tuple[Release, MadeOf]:
    """Return the release that an object installs, and what its chart makes: as Helm rendered it (``made``), else as
    far as a card tells.

    ``reads`` tells the kinds that are decoded or derived; ``defaults`` has the chart's own values.
    """
    document = release_object.document
    chart, version = release_object.chart
    where = document.location(())
    title = " ".join(filter(None, (chart, version)))
    release = Release(document.kind, release_object.home, document.name, title, where.path, where.span.line, NO_CARD)
    if release_object.spec.get("kubeConfig") and document.kind == "HelmRelease":
        return replace(release, why=ELSEWHERE), MadeOf()
    if release_object.spec.get("suspend") is True and document.kind == "HelmRelease":
        return replace(release, why=SUSPENDED), MadeOf()
    card = CHARTS.get(chart) if document.kind == "HelmRelease" else None
    try:
        if made is not None and made.text and reads is not None:
            values = release_object.values
            spec = (
                {**release_object.spec, "postRenderers": None}
                if release_object.post is not None
                else release_object.spec
            )
            whys = tuple(filter(None, (_why_partly(values, spec, is_rendered=True),)))
            made_of = _rendered(release_object, made.text, reads, blame_of(values, document, defaults), whys)
            return replace(release, why=made_of.why or (whys or ("",))[0]), made_of
        if card is None:
            return replace(release, why=made.why if made else NO_CARD), MadeOf()
        return _by_card(release_object, card, release)
    except (UnreadableError, DecodeError) as error:
        return replace(release, why=getattr(error, "message", str(error))), MadeOf()


def _by_card(release_object: ReleaseObject, card: Mapping[str, Any], release: Release) -> tuple[Release, MadeOf]:
    """Return what a values card makes of a release. Raises UnreadableError, DecodeError."""
    chart, version = release_object.chart
    first, last = (str(card["versions"][key]) for key in ("first", "last"))
    if _numbers(version) < _numbers(first):
        return replace(release, why=f"its values card begins with {chart} {first}"), MadeOf()
    values = release_object.values
    is_newer = _numbers(version) > _numbers(last)
    plain = list(objects_of(values, Chart(tuple(card["pod"]), tuple(card["container"]), is_newer)))
    why = _why_partly(values, release_object.spec) or (not_read_in(values) if is_newer else "")
    doubts = [f"the values card describes {chart} up to {last}, and this is {_named(version)}"] if is_newer else []
    doubts += (
        [f"its chart is from {release_object.address}, and the card describes that of bjw-s"]
        if not is_of_author(release_object.address)
        else []
    )
    doubts += filter(None, (why,))
    made = []
    for each in plain:
        whys = (*doubts, *(f"values.{at} is a template of the chart" for at in each.open))
        made.append(
            _decoded(release_object, _standing_for(release_object, each.value, tuple(each.moves.values())), whys)
        )
    return replace(release, why=why), MadeOf(tuple(made))


def _shortened(name: str) -> str:
    """Return a name that Helm accepts, as helm-controller's ``ShortenName`` does: 53 characters, a hash at the end."""
    return name if len(name) <= 53 else f"{name[:40]}-{sha256(name.encode()).hexdigest()[:12]}"


def _named(version: str) -> str:
    return f"version {version}" if version else "a version that nobody names"


def _rendered(release_object: ReleaseObject, text: str, reads: Reads, blame: Blame, whys: Sequence[str]) -> MadeOf:
    """Return what Helm wrote, each object with its place among the values; what cannot be decoded is said."""
    assert reads is not None
    file = InputFile(f"{release_object.document.path} ({release_object.name})", text.encode("utf-8", "surrogateescape"))
    decoded: list[Decoded] = []
    custom, whole, unread, wrong = list[Document](), list[Document](), list[Unread](), list[str]()
    for entry in documents_of(file, reads):
        if isinstance(entry, Unread) and not (entry.kind and entry.api_version):
            wrong.append("its chart makes YAML without a kind and apiVersion, which nobody can apply")
        elif isinstance(entry, Unread):
            unread.append(replace(entry, path=release_object.document.path, line=release_object.document.span(()).line))
        elif isinstance(entry, InputError):
            wrong.append(f"what its chart makes cannot be read: {entry.message}")
        elif isinstance(entry, Document) and is_release(entry.api_version, entry.kind):
            wrong.append(f"its chart makes {entry.kind} {entry.name}, which is not followed")
        elif isinstance(entry, Document) and not is_named_by_releases(entry.api_version, entry.kind):
            source = replace(_standing_for(release_object, entry.value, blame.moves(entry.value)), is_whole=not whys)
            if not is_read(entry.api_version, entry.kind):
                custom += [] if whys else [source]
                continue
            try:
                decoded_object = _decoded(release_object, source, whys)
            except DecodeError as error:
                wrong.append(f"its {entry.kind} {entry.name} has the wrong type: {error.message}")
                continue
            decoded += [decoded_object] if not whys or decoded_object[0] in _UNPROVEN else []
            whole += [] if whys else [source]
    return MadeOf(tuple(decoded), tuple(custom), tuple(unread), tuple(whole), next(iter(wrong), ""))


def _why_partly(values: Values, spec: Mapping[str, Any], *, is_rendered: bool = False) -> str:
    if values.unknown:
        return f"values of {', '.join(values.unknown)} are not known"
    if spec.get("postRenderers"):
        return "postRenderers change what the chart makes"
    chart = _mapping(_mapping(spec, "chart"), "spec")
    if not is_rendered and (chart.get("valuesFiles") or chart.get("valuesFile")):
        return "valuesFiles of its chart are not read"
    return "rawResources are not read" if values.value.get("rawResources") and not is_rendered else ""


def _standing_for(release_object: ReleaseObject, value: dict[str, Any], moves: Sequence[Move]) -> Document:
    """Return the document of an object that the chart makes: its text is the release."""
    meta = _mapping(value, "metadata")
    document = release_object.document
    return replace(
        document,
        written=Text(document.text, value),
        moves=tuple(moves) or (Move(("metadata",), document, ("metadata", "name"), is_exact=False),),
        stands_for=document,
        kind=value["kind"],
        api_version=str(value.get("apiVersion") or ""),
        name=str(meta.get("name") or ""),
        namespace=str(meta.get("namespace") or release_object.home),
        annotations=meta.get("annotations"),
    )


def _decoded(release_object: ReleaseObject, source: Document, whys: Sequence[str]) -> Decoded:
    """Return an object that the chart makes; ``whys``: what nothing of it can be proven without. Raises DecodeError."""
    field_name, made = decode_object(source.value, release_object.home, source, release_object.order)
    if whys and isinstance(made, Workload):
        owner = "ReplicaSet" if made.kind == "Deployment" else made.kind
        unknown = dict.fromkeys(EVENTS, whys[0])
        made = replace(made, custom=Custom(made.ref, 1, owner, "", _REVISION, (), unknown, made.selector))
    return field_name, made


def _numbers(version: str) -> tuple[int, ...]:
    """Return the numbers of a version; those of no version that exists if it is not exact."""
    match = _VERSION.match(version) if is_one_version(version) else None
    return tuple(map(int, match.groups())) if match else (10**6,)


def _mapping(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    mapping = value.get(key)
    return mapping if isinstance(mapping, dict) else {}
