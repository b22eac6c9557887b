"""Read a Cluster from a file or folder: kubectl's output, our snapshot, or a sketch; YAML or JSON, also gzipped.

A JSON list of hundreds of megabytes is read in blocks, so that memory depends on the cluster, not on the text. Two
layouts can be split without a parser, because a JSON string never holds a bare newline: kubectl's, indented by four,
where only an item closes with a brace at column 9, and that of our own snapshots, one item per line.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import NamedTuple

from msgspec.structs import replace

from kubesched_lint.engine.base.quirks import STORAGE_CAPACITY_SCORES, has
from kubesched_lint.engine.base.releases import judged_by
from kubesched_lint.engine.cluster.cluster import LIVE, Cluster, ClusterError, Live
from kubesched_lint.engine.cluster.collecting.collect import Collector
from kubesched_lint.engine.cluster.limits import LARGEST
from kubesched_lint.engine.cluster.nodes.elastic import ClusterOptions
from kubesched_lint.engine.model.decode.fields import DecodeError
from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.engine.model.feature_gates import CAPACITY_SCORES, parsed
from kubesched_lint.engine.model.pod import SchedulerProfile
from kubesched_lint.files import content, opened, whole
from kubesched_lint.findings import InputError
from kubesched_lint.limits import LARGEST_SETTINGS
from kubesched_lint.sources.manifests.document import Document, Skipped, Unread
from kubesched_lint.sources.manifests.limits import LARGEST as LARGEST_MANIFEST
from kubesched_lint.sources.manifests.loader import documents
from kubesched_lint.sources.manifests.recognizing.meant import is_ours
from kubesched_lint.sources.objects.containers import explained, read_plain
from kubesched_lint.sources.objects.read_json import JsonSyntaxError, read_blocks, read_json
from kubesched_lint.sources.objects.status import sizes_in
from kubesched_lint.sources.objects.unpack import GZIP, UnpackError, gunzipped, limited
from kubesched_lint.sources.scheduler_config.file import read_scheduler_config, schedulers_of
from kubesched_lint.sources.sketches.fields import UnknownFieldError

SUFFIXES = (".yaml", ".yml", ".json", ".yaml.gz", ".yml.gz", ".json.gz")
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
ABSENT = "there is no such file"
Contents = Mapping[str, tuple[tuple[str, bytes], ...]]
"""Path of a cluster, or of the configuration of its kube-scheduler → (path, content) of its files."""
_ON_DISK: Contents = {}
_CHUNK = 64 << 10
"""Of a large file at once: what it becomes fits into a cache of the processor, and no freed part of it is so large that
the C library returns it to the system, which would fill it with zeros for the next chunk.
"""


def is_absent(path: str) -> bool:
    """Return whether ``path`` names neither a file, a folder nor a live cluster."""
    return path.partition(":")[0] != LIVE and not os.path.lexists(path)


def read_cluster(path: str, *, elastic: bool | None = None, asked: Live | None = None) -> Cluster:
    """Return the cluster at ``path``: a file, a folder with files, or ``live[:context]`` for a live cluster.

    ``elastic`` overrides what the nodes' labels show. ``asked`` is what a live cluster is asked for. Raises
    ClusterError, also for what cannot be opened.
    """
    if path.partition(":")[0] == LIVE:
        from kubesched_lint.sources.capture.snapshot import live_cluster

        return live_cluster(path, path.partition(":")[2] or None, elastic=elastic, asked=asked)
    collector = Collector(elastic, path, sizes_in)
    origins = [_read_file(name, collector) for name in _names(path)]
    return _finished(collector, path, origins)


def read_stated(
    path: str, cluster_options: ClusterOptions, *, asked: Live | None = None, contents: Contents = _ON_DISK
) -> Cluster:
    """Return ``read_cluster`` with what the user says about it. Raises ClusterError.

    What ``contents`` has is not read from the disk.
    """
    elastic = cluster_options.elastic
    if path in contents:
        return stated(cluster_from(contents[path], path, elastic=elastic), cluster_options, contents)
    return stated(read_cluster(path, elastic=elastic, asked=asked), cluster_options, contents)


def stated(cluster: Cluster, cluster_options: ClusterOptions, contents: Contents = _ON_DISK) -> Cluster:
    """Return the cluster with the nodes that may come and the scheduler as the user says. Raises ClusterError."""
    cluster = cluster.as_stated(cluster_options)
    if not cluster_options.scheduler_config:
        return cluster
    schedulers = stated_schedulers(cluster_options, cluster, contents)
    return replace(cluster, inventory=replace(cluster.inventory, schedulers=schedulers))


def stated_schedulers(
    said: ClusterOptions, cluster: Cluster | None = None, contents: Contents = _ON_DISK
) -> tuple[SchedulerProfile, ...]:
    """Return the profiles of the configuration that the user names. Raises ClusterError."""
    path = said.scheduler_config
    data = next((content for _, content in contents.get(path, ())), None)
    return read_scheduler_config(path, data, scores_capacity=_scores_capacity(said, cluster))


def _scores_capacity(said: ClusterOptions, cluster: Cluster | None) -> bool:
    """Return whether StorageCapacityScoring is on: as the user states, else as the cluster shows, else by version."""
    version, gates = ("", {}) if cluster is None else (cluster.version, cluster.feature_gates)
    known = {**gates, **parsed(said.feature_gates)}
    by_version = has(judged_by(said.kubernetes_version, version), STORAGE_CAPACITY_SCORES)
    return known.get(CAPACITY_SCORES, by_version)


def contents(path: str) -> tuple[tuple[str, bytes], ...] | None:
    """Return the files that ``read_cluster`` would read; None for a live cluster. Raises OSError and ClusterError."""
    if path.partition(":")[0] == LIVE:
        return None
    return tuple((name, _bytes(name)) for name in _names(path))


def small_contents(path: str) -> tuple[tuple[str, bytes], ...]:
    """Return (path, content) of the files at ``path`` that are YAML and no larger than a manifest may be.

    Raises OSError and ClusterError.
    """
    names = (name for name in _names(path) if name.lower().endswith((".yaml", ".yml")))
    named_contents = ((name, content(name, LARGEST_MANIFEST)) for name in names)
    return tuple((name, data) for name, data in named_contents if len(data) <= LARGEST_MANIFEST)


def _bytes(path: str) -> bytes:
    return whole(path, LARGEST)


def cluster_from(files: Iterable[tuple[str, bytes]], path: str, *, elastic: bool | None = None) -> Cluster:
    """Return the cluster that ``files`` (path and content) describe together; ``path`` names it.

    Raises ClusterError.
    """
    collector = Collector(elastic, path, sizes_in)
    origins = [_read(name, b"".join(unpacked(name, [data])), collector) for name, data in files]
    return _finished(collector, path, origins)


def _finished(collector: Collector, path: str, origins: Iterable[frozenset[str]]) -> Cluster:
    cluster = collector.cluster(path)
    if not cluster.inventory.nodes and not cluster.inventory.node_pools and not any(origins):
        raise ClusterError(path, 0, 0, _no_nodes(collector))
    return cluster


def _names(path: str) -> list[str]:
    if not os.path.isdir(path):
        return [path]
    names = sorted(files_inside(path))
    if not names:
        raise ClusterError(path, 0, 0, "the folder holds no .yaml, .yml, .json or .gz file")
    return names


def files_inside(folder: str) -> Iterator[str]:
    """Yield the files of a folder that are read as one cluster."""
    for parent, folders, names in os.walk(folder):
        folders[:] = [f for f in folders if not f.startswith(".")]
        yield from (os.path.join(parent, name) for name in names if name.lower().endswith(SUFFIXES))


def _read_file(name: str, collector: Collector) -> frozenset[str]:
    """Return which of ``sketch`` and ``snapshot`` the file holds."""
    try:
        with opened(name) as file:
            chunks = unpacked(name, iter(lambda: file.read(_CHUNK), b""))
            first, second = next(chunks, b""), next(chunks, b"")
            _check_text(name, first)  # before up to the size limit of a cluster is read
            if second:
                kinds_read = _streamed(chain([first, second], chunks), collector)
                if kinds_read is not None:
                    return kinds_read
                file.seek(0)  # the fast reader failed: the slow one reports where
                chunks = unpacked(name, iter(lambda: file.read(_CHUNK), b""))
                return _read(name, b"".join(chunks), collector)
        return _read(name, first, collector)
    except FileNotFoundError:
        raise ClusterError(name, 0, 0, ABSENT) from None
    except OSError as error:
        raise ClusterError(name, 0, 0, f"cannot be read: {error.strerror or error}") from None


def _streamed(chunks: Iterator[bytes], collector: Collector) -> frozenset[str] | None:
    """Return as ``_read``; None if the file cannot be split into blocks, or a block is invalid."""
    first = next(chunks)
    layout = layout_of(first)
    if layout is None:
        return None
    return read_blocks(blocks(chain([first], chunks), layout), collector)


def unpacked(name: str, chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the content of a file in pieces, unpacked if it is gzipped. Raises ClusterError."""
    chunks = iter(chunks)
    first = next(chunks, b"")
    whole = chain([first], chunks)
    try:
        yield from limited(gunzipped(whole) if first.startswith(GZIP) else filter(None, whole), LARGEST)
    except UnpackError as error:
        raise ClusterError(name, 0, 0, str(error)) from None


def _read(name: str, data: bytes, collector: Collector) -> frozenset[str]:
    """Return which of ``sketch`` and ``snapshot`` the data holds."""
    data = _utf8(name, data)
    start = data[:4096].lstrip(b" \t\r\n\xef\xbb\xbf")[:1]
    if not data.strip(b" \t\r\n"):
        raise ClusterError(name, 0, 0, "the file is empty")
    if start in (b"{", b"[") and not _names_a_configuration(data):
        try:
            return read_json(name, data, collector)
        except JsonSyntaxError as error:
            if not name.removesuffix(".gz").endswith((".yaml", ".yml")):
                raise ClusterError(name, error.line, error.column, error.message) from None
    try:
        data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ClusterError(name, line, 1, f"is not valid UTF-8: byte 0x{data[error.start]:02x}") from None
    return read_yaml(name, data, collector)


def _names_a_configuration(data: bytes) -> bool:
    """Return whether JSON may hold a configuration of kube-scheduler, which the reader of YAML reads."""
    return len(data) < LARGEST_SETTINGS and b'"KubeSchedulerConfiguration"' in data


def _utf8(name: str, data: bytes) -> bytes:
    """Return the data as UTF-8: Windows PowerShell redirects kubectl's output as UTF-16."""
    if data.startswith(_UTF_16):
        try:
            return data.decode("utf-16").encode()
        except UnicodeError as error:
            raise ClusterError(name, 0, 0, f"is not valid UTF-16: {error}") from None
    _check_text(name, data)
    return data


def _check_text(name: str, start: bytes) -> None:
    if b"\0" in start[:4096] and not start.startswith(_UTF_16):
        raise ClusterError(name, 0, 0, "is not text: neither YAML nor JSON, nor gzip of one")


def _no_nodes(collector: Collector) -> str:
    counts = {**collector.counts, **collector.unread}
    objects = ", ".join(
        f"{count} {' '.join(kind.split())[:60] or 'without a kind'}" for kind, count in list(counts.items())[:20]
    )
    objects += f" and {len(counts) - 20} other kinds" if len(counts) > 20 else ""
    return (
        f"holds no nodes ({objects or 'no objects at all'}): a cluster is "
        "what `kubectl get nodes,pods -A -o json` prints, "
        "a snapshot, or a ClusterSketch (`kubesched-lint init` writes one)"
    )


# --- Read a cluster from YAML with the manifests' loader, so that every error has its line ----------------------------


def read_yaml(name: str, data: bytes, collector: Collector) -> frozenset[str]:
    """Return which of ``sketch`` and ``snapshot`` occur. Raises ClusterError."""
    origins = set()
    for entry in documents(name, data, _is_wanted):
        if isinstance(entry, Document):
            origins.add(_document(entry, collector))
        elif isinstance(entry, Unread):
            collector.count_unread(entry.kind)
        elif isinstance(entry, Skipped):
            raise ClusterError(name, entry.line, 1, f"{entry.reason}: this is not a cluster")
        elif isinstance(entry, InputError):
            raise ClusterError(name, entry.line, entry.column, entry.message)
    return frozenset(origins) - {""}


def _is_wanted(api_version: object, kind: object) -> bool:
    """Return whether it is a container of cluster objects, or an object that is decoded."""
    if is_ours(api_version) or is_read(api_version, kind):
        return True
    return isinstance(kind, str) and (kind in _ALSO_READ or kind.endswith("List"))


_ALSO_READ = ("Node", "ConfigMap", "KubeSchedulerConfiguration")


def _document(document: Document, collector: Collector) -> str:
    if document.kind == "KubeSchedulerConfiguration":
        if collector.schedulers:
            raise ClusterError(document.path, document.span(()).line, 1, f"a second {document.kind}: expected one")
        collector.schedulers = schedulers_of(document)
        return ""
    try:
        return read_plain(document.value, collector, document)
    except DecodeError as error:
        error = explained(document.value, error)
        span = document.span(error.path, key=isinstance(error, UnknownFieldError))
        raise ClusterError(document.path, span.line, span.column, error.message) from None


# --- Read a list of hundreds of megabytes in blocks, so that memory depends on the cluster, not on the text -----------

_HEADER = 64 << 10


class Layout(NamedTuple):
    """``opening`` ends the header; ``closing`` ends an item if ``between`` follows it."""

    opening: bytes
    closing: bytes
    between: bytes


_LAYOUTS = (
    Layout(b'\n    "items": [\n', b"\n        }", b",\n        {"),
    Layout(b'"items":[\n', b"}", b",\n{"),
)


def layout_of(first: bytes) -> Layout | None:
    """Return the layout of a document that begins with ``first``; None if only a parser can find its items."""
    head = first[:_HEADER]
    for layout in _LAYOUTS:
        at = head.find(layout.opening)
        if at >= 0 and head.startswith(b"{"):
            rest = first[at + len(layout.opening) :]
            return layout if rest.lstrip(b" ").startswith(b"{") else None
    return None


def blocks(chunks: Iterator[bytes], layout: Layout) -> Iterator[bytes]:
    """Yield JSON documents that together equal the input: the header without items, then parts of its items.

    The last part also has the fields that follow the items.
    """
    first = next(chunks)
    start = first.index(layout.opening) + len(layout.opening)
    yield first[:start] + b"]}"
    cut = layout.closing + layout.between
    part: list[bytes | memoryview] = [b'{"items":[']
    for chunk in chain([first[start:]], chunks):
        at = chunk.rfind(cut)
        if at < 0:  # also if two chunks share the place: then the part becomes longer
            part.append(chunk)
            continue
        end = at + len(layout.closing)
        part += (memoryview(chunk)[:end], b"]}")
        yield b"".join(part)
        part = [b'{"items":[', chunk[end + 1 :]]
    yield b"".join(part)
