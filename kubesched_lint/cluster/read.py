"""From a file or folder to a Cluster: kubectl's output, our snapshot, or a sketch; YAML or JSON, also gzipped."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from kubesched_lint.cluster.cluster import Cluster, ClusterError
from kubesched_lint.cluster.collect import Collector

_SUFFIXES = (".yaml", ".yml", ".json", ".yaml.gz", ".yml.gz", ".json.gz")
_GZIP = b"\x1f\x8b"
LARGEST = 4 << 30
"""Bytes of one file, unpacked."""
_FREELY = 64 << 20
_MOST_FOLD = 500


def read_cluster(path: str, *, elastic: bool | None = None) -> Cluster:
    """Reads what is at ``path``, a file or a folder with files. ``elastic`` overrides what nodes say of themselves.

    Raises ClusterError, also for what cannot be opened.
    """
    return cluster_from(_files(path), path, elastic=elastic)


def cluster_from(files: Iterable[tuple[str, bytes]], path: str, *, elastic: bool | None = None) -> Cluster:
    """The cluster that ``files`` (path and content) describe together; ``path`` names it. Raises ClusterError."""
    collector = Collector(elastic)
    sketched = captured = False
    for name, data in files:
        found = _read(name, _unpacked(name, data), collector)
        sketched, captured = sketched or "sketch" in found, captured or "snapshot" in found
    cluster = collector.cluster(path)
    if not cluster.inventory.nodes and not sketched and not captured:
        raise ClusterError(path, 0, 0, _no_nodes(collector))
    return cluster


def _files(path: str) -> Iterator[tuple[str, bytes]]:
    names = [path]
    if os.path.isdir(path):
        names = sorted(_inside(path))
        if not names:
            raise ClusterError(path, 0, 0, "the folder holds no .yaml, .yml, .json or .gz file")
    for name in names:
        try:
            if os.path.getsize(name) > LARGEST:
                raise ClusterError(name, 0, 0, f"the file is larger than {LARGEST >> 30} GiB")
            with open(name, "rb") as file:
                yield name, file.read()
        except OSError as error:
            raise ClusterError(name, 0, 0, f"cannot be read: {error.strerror or error}") from None


def _inside(folder: str) -> Iterator[str]:
    for parent, folders, names in os.walk(folder):
        folders[:] = [f for f in folders if not f.startswith(".")]
        yield from (os.path.join(parent, name) for name in names if name.lower().endswith(_SUFFIXES))


def _unpacked(name: str, data: bytes) -> bytes:
    if not data.startswith(_GZIP):
        return data
    import zlib

    chunks: list[bytes] = []
    size, rest = 0, data
    try:
        while rest:  # gzip files may be members one after the other
            inflate = zlib.decompressobj(wbits=31)
            while rest and not inflate.eof:
                chunk = inflate.decompress(rest, 1 << 24)
                rest = inflate.unconsumed_tail
                size += len(chunk)
                chunks.append(chunk)
                if size > LARGEST or (size > _FREELY and size > _MOST_FOLD * len(data)):
                    raise ClusterError(name, 0, 0, f"unpacks to more than {size >> 20} MiB, {size // len(data)}-fold")
            if not inflate.eof:
                raise ClusterError(name, 0, 0, "the gzip file is cut off: its end is missing")
            rest = inflate.unused_data
            if not rest.startswith(_GZIP):
                break
    except zlib.error as error:
        raise ClusterError(name, 0, 0, f"is not a sound gzip file: {error}") from None
    return b"".join(chunks)


def _read(name: str, data: bytes, collector: Collector) -> frozenset[str]:
    """Which of ``sketch`` and ``snapshot`` were met."""
    start = data[:4096].lstrip(b" \t\r\n\xef\xbb\xbf")[:1]
    if not data.strip(b" \t\r\n"):
        raise ClusterError(name, 0, 0, "the file is empty")
    if start in (b"{", b"["):
        from kubesched_lint.cluster.read_json import JsonSyntaxError, read_json

        try:
            return read_json(name, data, collector)
        except JsonSyntaxError as error:
            if not name.removesuffix(".gz").endswith((".yaml", ".yml")):
                raise ClusterError(name, error.line, error.column, error.message) from None
    from kubesched_lint.cluster.read_yaml import read_yaml

    return read_yaml(name, data, collector)


def _no_nodes(collector: Collector) -> str:
    met = ", ".join(f"{count} {kind}" for kind, count in {**collector.counts, **collector.unread}.items())
    return (
        f"holds no nodes ({met or 'no objects at all'}): a cluster is what `kubectl get nodes,pods -A -o json` prints, "
        "a snapshot, or a ClusterSketch (`kubesched-lint init` writes one)"
    )
