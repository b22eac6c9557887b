"""Pull the pinned charts of releases with the user's helm, and lock their digests: the only use of a network."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from shutil import which
from tempfile import TemporaryDirectory

from msgspec import Struct

from kubesched_lint.custom.kinds import is_named_by_releases, is_release
from kubesched_lint.custom.others import Others
from kubesched_lint.custom.releases import ReleaseObject
from kubesched_lint.files import content_at
from kubesched_lint.findings import InputError
from kubesched_lint.limits import LARGEST_OUTPUT
from kubesched_lint.programs import ProgramError, run_as_user
from kubesched_lint.sources.charts.folder import archive, keep
from kubesched_lint.sources.charts.lock import Locked, Pinned, is_one_version
from kubesched_lint.sources.charts.rendering import NO_HELM
from kubesched_lint.sources.manifests.chart_folders.chart_archive import ArchiveError, chart_in
from kubesched_lint.sources.manifests.document import Document, Skipped
from kubesched_lint.sources.manifests.inputs import InputFile
from kubesched_lint.sources.manifests.kustomize.rendering import message_of
from kubesched_lint.sources.manifests.loader import documents_of
from kubesched_lint.sources.manifests.recognizing.kustomization import value_in

Found = InputFile | Skipped | InputError
_OCI = "oci://"
_TIMEOUT = 300.0
"""Seconds for one chart: a registry may be slow."""


class PullError(Exception):
    """A chart was not pulled; the text says why."""


class Wanted(Struct, frozen=True):
    """The charts that releases install, and why that of some is not known: (place of the release, reason)."""

    charts: tuple[Pinned, ...] = ()
    others: tuple[tuple[str, str], ...] = ()


def wanted(sets: Iterable[Iterable[Found]], namespace: str, more: Iterable[Pinned] = ()) -> Wanted:
    """Return the charts of the HelmReleases in several sets of files and ``more``, each once."""
    charts: dict[Pinned, None] = dict.fromkeys(more)
    others: dict[tuple[str, str], None] = {}
    for files in sets:
        for release in _releases(files, namespace):
            chart = release.pinned
            if isinstance(chart, Pinned):
                charts[chart] = None
            else:
                where = release.document.location(())
                others[f"{where.path}:{where.span.line}: {release.document.kind} {release.document.name}", chart] = None
    return Wanted(tuple(sorted(charts)), tuple(others))


def _releases(files: Iterable[Found], namespace: str) -> Iterator[ReleaseObject]:
    releases, named = list[Document](), list[Document]()
    for entry in (entry for file in files if isinstance(file, InputFile) for entry in documents_of(file, _reads)):
        if isinstance(entry, Document) and is_release(entry.api_version, entry.kind):
            releases.append(entry)
        elif isinstance(entry, Document) and is_named_by_releases(entry.api_version, entry.kind):
            named.append(entry)
    others = Others(named, namespace)
    yield from (ReleaseObject(document, namespace, order, others) for order, document in enumerate(releases))


def _reads(api_version: object, kind: object) -> bool:
    """Return whether documents of a kind tell which charts are wanted."""
    return is_release(api_version, kind) or is_named_by_releases(api_version, kind)


def pulled(chart: Pinned, folder: str, locked: Mapping[Pinned, Locked]) -> Locked:
    """Return what a chart is whose archive is in ``folder`` now. Raises PullError.

    What is locked must have the digest of the lock: another archive under the same version is refused. What a range
    means is asked again each time.
    """
    known = locked.get(chart)
    if known and not chart.is_range and archive(folder, known.sha256) is not None:
        return known
    helm = which("helm")
    if helm is None:
        raise PullError(NO_HELM)
    if not chart.is_sound:
        raise PullError(f"{chart.repository} {chart} is not pulled: no address, chart and version")
    data = _fetched(chart, helm)
    version = _version_in(data)
    resolved = version if chart.is_range else ""
    try:
        digest = keep(folder, data)
    except OSError as error:
        raise PullError(f"{folder}: cannot be written: {(error.strerror or str(error)).lower()}") from None
    if known and resolved == known.resolved and digest != known.sha256:
        raise PullError(f"another archive than locked: its SHA-256 digest is {digest}, that of the lock {known.sha256}")
    return Locked(digest, resolved)


def _version_in(data: bytes) -> str:
    """Return the version of the chart in an archive. Raises PullError, also for a refused one."""
    try:
        chart = chart_in(data)
    except ArchiveError as error:
        raise PullError(f"its archive is refused: {error}") from None
    value = value_in(chart.files["Chart.yaml"].decode("utf-8", "replace"))
    version = str(value.get("version")) if isinstance(value, dict) else ""
    if not is_one_version(version):
        raise PullError("its archive names no version")
    return version


def _fetched(chart: Pinned, helm: str) -> bytes:
    """Return the archive that helm pulls. Raises PullError."""
    is_oci = chart.repository.startswith(_OCI)
    at = f"@{chart.digest}" if chart.digest else ""
    source = (f"{chart.repository}/{chart.chart}{at}",) if is_oci else (chart.chart, f"--repo={chart.repository}")
    version = () if at else (f"--version={chart.version}",)
    with TemporaryDirectory(prefix="kubesched-lint-") as name:
        folder = os.path.realpath(name)
        try:
            command = (helm, "pull", *source, *version, f"--destination={folder}")
            done = run_as_user(command, name="helm pull", timeout=_TIMEOUT)
            archives = [file for file in sorted(os.listdir(folder)) if file.endswith(".tgz")]
            if done.code or len(archives) != 1:
                raise PullError(f"helm pull: {message_of(done.error) or 'no archive, and no message'}")
            data = content_at(os.path.join(folder, archives[0]), LARGEST_OUTPUT)
        except (ProgramError, OSError) as error:
            raise PullError(str(error)) from None
    if len(data) > LARGEST_OUTPUT:
        raise PullError(f"its archive is larger than {LARGEST_OUTPUT >> 20} MiB")
    return data
