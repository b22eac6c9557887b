"""Read a cluster from YAML with the manifests' loader, so that every error has its line."""

from __future__ import annotations

from kubesched_lint.cluster.cluster import ClusterError
from kubesched_lint.cluster.collect import Collector
from kubesched_lint.cluster.containers import explained, is_ours, read_plain
from kubesched_lint.cluster.sketch import UnknownFieldError
from kubesched_lint.findings import InputError
from kubesched_lint.manifests.document import Document, Skipped, Unread
from kubesched_lint.manifests.loader import documents
from kubesched_lint.model.decode.fields import DecodeError
from kubesched_lint.model.decode.objects import is_read


def read_yaml(name: str, data: bytes, collector: Collector) -> frozenset[str]:
    """Return which of ``sketch`` and ``snapshot`` occur. Raises ClusterError."""
    met = set()
    for entry in documents(name, data, _is_wanted):
        if isinstance(entry, Document):
            met.add(_document(entry, collector))
        elif isinstance(entry, Unread):
            collector.count_unread(entry.kind)
        elif isinstance(entry, Skipped):
            raise ClusterError(name, entry.line, 1, f"{entry.reason}: this is not a cluster")
        elif isinstance(entry, InputError):
            raise ClusterError(name, entry.line, entry.column, entry.message)
    return frozenset(met) - {""}


def _is_wanted(api_version: object, kind: object) -> bool:
    """Return whether it is a container of cluster objects, or an object that is decoded."""
    if is_ours(api_version) or is_read(api_version, kind):
        return True
    return isinstance(kind, str) and (kind in ("Node", "ConfigMap") or kind.endswith("List"))


def _document(document: Document, collector: Collector) -> str:
    try:
        return read_plain(document.value, collector, document)
    except DecodeError as error:
        error = explained(document.value, error)
        span = document.span(error.path, key=isinstance(error, UnknownFieldError))
        raise ClusterError(document.path, span.line, span.column, error.message) from None
