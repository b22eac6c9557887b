"""Recognize by their contents the files that nobody applies: clusters, our own baselines, and what is no manifest.

It looks at bytes, because every file of a set meets it; ``meant.is_ours`` decides about documents.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

OURS = "a snapshot or sketch of a cluster"
DUMP = "a dump of a cluster (nodes, or pods that run)"
BASELINE = "a baseline of kubesched-lint"

# Patterns are text: ``re`` compiles one when a run first needs it.
_OURS = rb"""(?m)^(?:\{|["']?)apiVersion["']?:[ ]*["']?kubesched-lint/|"apiVersion"\s*:\s*"kubesched-lint/"""
_BASELINE = rb"""\s*\{\s*"kubesched-lint-baseline"\s*:"""
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_ITEMS = rb"""(?m)^["']?items["']?:|"items"\s*:\s*\["""
_NAMED = rb"""(?i)\b%s["']?[ \t]*:"""

# kubectl writes the fields of items with 2 to 4 blanks; what they hold, such as their owners, stands further inside.
_OF_ITEM = (
    rb"""(?m)^ {0,4}(?:- +)?["']?kind["']?: *["']?(Node|Pod)(?:List)?["']?\s*$|\{(?:[^{}\n]*, *)?kind: (Node|Pod)\b"""
)
_OF_JSON = rb'"kind"\s*:\s*"(Node|Pod)(?:List)?"'
_RUNNING = (
    rb"""(?:^|[\s{,])["']?(?:hostIPs?|ownerReferences)["']?\s*:"""
    rb"""|(?:^|[\s{,])["']?phase["']?\s*:\s*["']?(?:Pending|Running|Succeeded|Failed|Unknown)\b"""
)


def may_be_manifest(data: bytes) -> bool:
    """Return whether the bytes name an apiVersion and a kind, so that somebody meant a Kubernetes object."""
    data = _as_utf_8(data)
    return all(re.search(_NAMED % name, data) for name in (b"apiVersion", b"kind"))


def never_applied(data: bytes) -> str:
    """Return what a file shows that nobody applies; empty if it may hold manifests."""
    data = _as_utf_8(data)
    if b"kubesched-lint" in data:
        if re.match(_BASELINE, data):
            return BASELINE
        if re.search(_OURS, data):
            return OURS if all(re.search(_OURS, part) for part in _documents(data)) else ""
    if b"items" in data and re.search(_ITEMS, data):
        lists = _documents(data)  # of a dump each is a List, some of which may hold neither nodes nor pods
        return (
            DUMP
            if all(re.search(_ITEMS, document_bytes) for document_bytes in lists) and any(map(_is_dump, lists))
            else ""
        )
    return ""


def _as_utf_8(data: bytes) -> bytes:
    return data.decode("utf-16", "replace").encode() if data.startswith(_UTF_16) else data


def _documents(data: bytes) -> list[bytes]:
    return [part for part in re.split(rb"(?m)^---.*$", data) if b"apiVersion" in part]


def _is_dump(document: bytes) -> bool:
    """Return whether a document is a List of nodes, or of pods that a cluster has."""
    if not re.search(_ITEMS, document):
        return False
    if document.lstrip()[:1] != b"{":
        kinds = {kind for kinds_of_item in re.findall(_OF_ITEM, document) for kind in kinds_of_item}
        return b"Node" in kinds or (b"Pod" in kinds and re.search(_RUNNING, document) is not None)
    kinds = set(re.findall(_OF_JSON, document))
    if not kinds:
        return False
    try:
        value = msgspec.json.decode(document)
    except (msgspec.MsgspecError, ValueError, RecursionError):  # YAML in braces, or the first part of a large file
        return b"Node" in kinds or (b"Pod" in kinds and re.search(_RUNNING, document) is not None)
    kind = value.get("kind", "List")
    items = value.get("items")
    if not isinstance(kind, str) or not kind.endswith("List") or not isinstance(items, list):
        return False
    return any(_is_of_cluster(item, kind.removesuffix("List")) for item in items)


def _is_of_cluster(item: Any, kind: str) -> bool:
    """Return whether an item of a list of this ``kind`` is a node, or a pod that a cluster has."""
    if not isinstance(item, dict):
        return False
    kind = item.get("kind", kind)
    if kind != "Pod":
        return bool(kind == "Node")
    status, metadata = item.get("status"), item.get("metadata")
    is_seen = isinstance(status, dict) and not status.keys().isdisjoint(("phase", "hostIP", "hostIPs"))
    return is_seen or (isinstance(metadata, dict) and bool(metadata.get("ownerReferences")))
