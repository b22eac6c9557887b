"""The whole capture: all lists, gaps for missing ones, and the resulting file."""

from __future__ import annotations

import gzip
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import Struct

from kubesched_lint.engine.base.steps import at
from kubesched_lint.engine.cluster.cluster import Cluster, ClusterError, Live
from kubesched_lint.engine.cluster.collecting.collect import Collector
from kubesched_lint.engine.model.decode.objects import READ_KINDS
from kubesched_lint.sources.capture.answers import AnswerError, ApiAnswer, one_line
from kubesched_lint.sources.capture.connection import CaptureError, Connection
from kubesched_lint.sources.capture.gates import feature_gates
from kubesched_lint.sources.capture.lists import PAGE, Items, ListReader, Progress, Unavailable
from kubesched_lint.sources.capture.resources import RESOURCES, Resource, served_versions
from kubesched_lint.sources.capture.templates import whole_workloads
from kubesched_lint.sources.objects.containers import SNAPSHOT
from kubesched_lint.sources.objects.read_json import read_blocks
from kubesched_lint.sources.objects.status import sizes_in
from kubesched_lint.sources.redaction.open_words import open_version
from kubesched_lint.sources.redaction.redact import Redactor
from kubesched_lint.sources.scheduler_config.kept import kept_of, redacted
from kubesched_lint.sources.sketches.sketch import API_VERSION
from kubesched_lint.writing import destination, replacing


class Snapshot(Struct, frozen=True):
    """``metadata`` as in the file; ``counts``: kind → items.

    ``failures`` are gaps caused by server failures; refused and unserved lists are not among them.
    """

    metadata: Mapping[str, Any]
    lists: tuple[Items, ...]
    counts: Mapping[str, int]
    failures: tuple[str, ...] = ()
    unknown_gates: str = ""
    """Why the API server's feature gates are unknown."""

    @property
    def gaps(self) -> tuple[str, ...]:
        return tuple(self.metadata["gaps"])

    def pieces(self) -> Iterator[bytes]:
        """Yield the file, one item per line, so that ``objects/read_json.py`` can split it."""
        yield self._head()[:-2] + b"\n"
        parted = b""
        for items in self.lists:
            for text in items.texts():
                yield parted + text
                parted = b",\n"
        yield b"\n]}\n"

    def _head(self) -> bytes:
        meta = msgspec.json.encode(self.metadata)
        return b'{"apiVersion":"%b","kind":"%b","metadata":%b,"items":[]}' % (
            API_VERSION.encode(),
            SNAPSHOT.encode(),
            meta,
        )

    def write(self, path: str) -> int:
        """Write the file atomically, gzipped if the name ends in .gz; return its size in bytes. Raises OSError."""
        path = destination(path)
        with replacing(path) as file:
            if path.endswith(".gz"):
                # No time stamp inside, so that equal snapshots are equal files.
                with gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
                    packed.writelines(self.pieces())
            else:
                file.writelines(self.pieces())
        return os.path.getsize(path)

    def cluster(self, path: str, *, elastic: bool | None = None) -> Cluster:
        """Return the cluster as if read from the file ``path``, without a file. Raises ClusterError."""
        collector = Collector(elastic, path, sizes_in)
        if read_blocks(self._blocks(), collector) is None:
            raise ClusterError(
                path, 0, 0, "holds an object that cannot be read; `kubesched-lint snapshot` makes a file to look at"
            )
        return collector.cluster(path)

    def _blocks(self) -> Iterator[bytes]:
        yield self._head()
        for items in self.lists:
            for text in items.texts():
                yield b'{"items":[' + text + b"]}"


def capture(
    connection: Connection,
    captured_at: str,
    *,
    namespaces: Sequence[str] = (),
    redactor: Redactor | None = None,
    progress: Progress | None = None,
    page: int = PAGE,
    scheduler: Mapping[str, Any] | None = None,
) -> Snapshot:
    """Return everything that scheduling reads. ``captured_at`` is RFC 3339; ``namespaces`` empty: all.

    ``scheduler`` is the configuration of kube-scheduler, which no API serves.

    What cannot be listed becomes a gap. Raises CaptureError if the server cannot be queried at all.
    """
    connection.begin()
    version = _version(connection)
    served, gaps, failures = _served(connection)
    reader = ListReader(connection, redactor, progress, page)
    lists: list[Items] = []
    kinds: list[str] = []
    counts: dict[str, int] = {}
    for resource in RESOURCES:
        if resource.only_in and redactor is not None:
            continue  # its text names node groups
        listed = namespaces if resource.namespaced and not resource.only_in else ()
        wanted = tuple(listed) or (resource.only_in or None,)
        try:
            lists_of_kind = _found(reader, resource, served, wanted)
        except Unavailable as reason:
            if resource.only_in and not reason.failed:
                continue
            gaps.append(f"{resource.name}: {reason}")
            failures += gaps[-1:] if reason.failed else []
            continue
        if wanted == (None,) and (lists_of_kind or resource.kind in READ_KINDS):
            kinds.append(resource.kind)  # an API that is not served has no objects
        lists += lists_of_kind
        counts[resource.kind] = counts.get(resource.kind, 0) + sum(items.count for items in lists_of_kind)
    if namespaces:
        named = [redactor.name(n) if redactor else n for n in namespaces]
        gaps.append(f"namespaced objects: only of {', '.join(named)} (--namespace)")
    gates, unknown_gates = feature_gates(connection, served)
    metadata = {
        "capturedAt": captured_at,
        "kubernetesVersion": open_version(version) if redactor else version,
        "kinds": kinds,
        "gaps": gaps,
        **({"redacted": True} if redactor else {"context": connection.context} if connection.context else {}),
        **({"featureGates": gates} if gates else {}),
        **({"schedulerConfiguration": _kept(scheduler, redactor)} if scheduler else {}),
    }
    there = {kind: count for kind, count in counts.items() if count}
    return Snapshot(metadata, tuple(lists), there, tuple(failures), unknown_gates)


def _kept(configuration: Mapping[str, Any], redactor: Redactor | None) -> dict[str, Any]:
    kept = kept_of(configuration)
    return redacted(kept, redactor) if redactor else kept


def _found(
    reader: ListReader,
    resource: Resource,
    served: Mapping[str, tuple[str, ...]] | None,
    namespaces: tuple[str | None, ...],
) -> list[Items]:
    """Return the lists of a resource, one per namespace; empty if its API does not exist. Raises Unavailable."""
    for version in served_versions(resource, served):
        try:
            return [reader.items(resource, version, namespace) for namespace in namespaces]
        except Unavailable as reason:
            if reason.status != 404:
                raise
    others = () if served is None else served.get(resource.group, ())
    if resource.optional and set(others) <= {*resource.versions, *resource.versions_without}:
        return []
    known = " or ".join(map(resource.api_version, resource.versions))
    listed = [v if _API_VERSION.fullmatch(v) else "an odd one" for v in others[:9]]
    raise Unavailable(f"not served as {known}" + (f", only as {', '.join(listed)}" if listed else ""))


class _Version(msgspec.Struct):
    version: str = msgspec.field(name="gitVersion")


class _GroupVersion(msgspec.Struct):
    version: str


class _Group(msgspec.Struct):
    name: str
    versions: list[_GroupVersion]


class _Groups(msgspec.Struct):
    groups: list[_Group]


_VERSION = re.compile(r"v?[0-9]{1,4}(?:\.[0-9]{1,6}){1,2}[A-Za-z0-9.+_-]{0,80}")
_API_VERSION = re.compile("v[0-9]{1,3}(?:(?:alpha|beta)[0-9]{1,3})?")
_UNSOUND = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def _version(connection: Connection) -> str:
    """Return the Kubernetes version; empty if the server hides it. Raises CaptureError if it is not an API server."""
    answer = _asked(connection, "/version")
    if answer.status != 200:
        return ""
    try:
        version = msgspec.json.decode(answer.body, type=_Version).version
    except _UNSOUND:
        start = one_line(answer.body[:40].decode("utf-8", "replace"))
        raise CaptureError(
            f"{connection.host} does not answer as an API server does, but with {start!r}. Is a login page in between?"
        ) from None
    return version if _VERSION.fullmatch(version) else ""


def _asked(connection: Connection, path: str) -> ApiAnswer:
    try:
        answer = connection.get(path)
    except AnswerError as error:
        raise CaptureError(f"{connection.host}: the answer for {path} {error}") from None
    if 300 <= answer.status < 400:
        raise CaptureError(
            f"{connection.host} redirects ({answer.status}), which is not followed with credentials. "
            "Is a login page in between?"
        )
    return answer


def _served(connection: Connection) -> tuple[Mapping[str, tuple[str, ...]] | None, list[str], list[str]]:
    """Return group → versions (None if unavailable), the gap in that case, and the gap again if the server failed."""
    answer = _asked(connection, "/apis")
    if answer.status != 200:
        gap = f"API groups: not listed ({answer.status})"
        return None, [gap], [gap] if answer.status >= 500 or answer.status == 429 else []
    try:
        groups = msgspec.json.decode(answer.body, type=_Groups)
    except _UNSOUND:
        gap = "API groups: the answer is not what the API promises"
        return None, [gap], [gap]
    return {g.name: tuple(v.version for v in g.versions) for g in groups.groups}, [], []


def live_cluster(name: str, context: str | None, *, elastic: bool | None = None, asked: Live | None = None) -> Cluster:
    """Return the cluster of ``context`` (None: the current one), with what is ``asked`` for.

    ``name`` is its name in reports. Raises ClusterError.
    """
    from kubesched_lint.sources.capture.kubeconfig import connect

    asked = asked or Live()
    try:
        connection = connect(context, read_seconds=asked.read_seconds, list_seconds=asked.list_seconds)
        snapshot = capture(connection, now(), progress=at)
        whole = whole_workloads(connection, asked.wholly)
    except CaptureError as error:
        raise ClusterError(name, 0, 0, str(error)) from None
    if snapshot.failures:
        why = "; ".join(snapshot.failures[:3])
        raise ClusterError(name, 0, 0, f"{why}. `kubesched-lint snapshot --allow-gaps` makes a file without that")
    return snapshot.cluster(name, elastic=elastic).with_whole(
        {ref: each.template for ref, each in whole.items()},
        {ref: each.scaled_by for ref, each in whole.items() if each.scaled_by},
    )


def now() -> str:
    """Return the current time in RFC 3339."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
