"""Read containers of objects as plain values: sketch, snapshot file and Kubernetes lists."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from kubesched_lint.engine.base.places import Path, Source, Span
from kubesched_lint.engine.cluster.collecting.collect import Collector, Header
from kubesched_lint.engine.model.decode.fields import (
    DecodeError,
    Value,
    boolean,
    items,
    mapping,
    text,
    texts,
    words,
    wrong,
)
from kubesched_lint.sources.manifests.recognizing.meant import is_ours
from kubesched_lint.sources.scheduler_config.file import schedulers_in
from kubesched_lint.sources.sketches.devices import classes_of
from kubesched_lint.sources.sketches.fields import known
from kubesched_lint.sources.sketches.pools import written_groups, written_pools
from kubesched_lint.sources.sketches.sketch import API_VERSION, KIND, feature_gates_of, node_groups_of, sketched_nodes

SKETCH = KIND
SNAPSHOT = "ClusterSnapshot"
GROUPS = "NodeGroups"
_OURS = (SKETCH, SNAPSHOT, GROUPS)
_SNAPSHOT_FIELDS = frozenset(["apiVersion", "kind", "metadata", "items"])
_SCHEDULER = "schedulerConfiguration"
_SNAPSHOT_META = frozenset(
    ["capturedAt", "kubernetesVersion", "kinds", "gaps", "context", "redacted", "featureGates", _SCHEDULER]
)


def check_version(value: Value) -> None:
    """Check the version and kind of a document of this tool. Raises DecodeError for those that are not supported."""
    if value.get("apiVersion") != API_VERSION:
        version = value.get("apiVersion")
        raise DecodeError(("apiVersion",), f"apiVersion: {version} is not read by this version, only {API_VERSION}")
    if value.get("kind") not in _OURS:
        raise DecodeError(("kind",), f"kind: expected {' or '.join(_OURS)}, found {value.get('kind')!r}")


def read_sketch(sketch: Value, collector: Collector, source: Source | None = None) -> None:
    """Read a sketch into the collector. Raises DecodeError."""
    for node, because in sketched_nodes(sketch):
        collector.node(node, because)
    collector.describe(
        Header(
            "sketch",
            captured_at=text(sketch, "capturedAt", ()),
            version=text(sketch, "kubernetesVersion", ()),
            kinds=frozenset(["Node", *texts(sketch, "kinds", ())]),
            node_groups=node_groups_of(sketch),
            feature_gates=feature_gates_of(sketch),
            other_labels=frozenset(texts(sketch, "otherLabels", ())),
            source=source,
        )
    )
    more = boolean(sketch, "morePools", ())
    if sketch.get("pools") is not None:
        for pool in written_pools(sketch):
            collector.pool(pool, source, all_written=not more)
    for value, at in items(sketch, "objects", ()):
        add(value, at, collector, source)
    if collector.has_device_offers:
        collector.device_classes(classes_of(sketch))


def read_groups(value: Value, collector: Collector, source: Source | None = None) -> None:
    """Read node groups of cluster-autoscaler. Raises DecodeError."""
    for pool in written_groups(value):
        collector.pool(pool, source)


def read_metadata(meta: Value, collector: Collector) -> None:
    """Read the ``metadata`` of a ClusterSnapshot into the collector. Raises DecodeError."""
    at = ("metadata",)
    known(meta, _SNAPSHOT_META, at)
    collector.describe(
        Header(
            "snapshot",
            captured_at=text(meta, "capturedAt", at),
            version=text(meta, "kubernetesVersion", at),
            kinds=frozenset(texts(meta, "kinds", at)),
            gaps=texts(meta, "gaps", at),
            feature_gates=feature_gates_of(meta, at),
        )
    )
    configuration = mapping(meta, _SCHEDULER, at)
    if configuration:
        _read_scheduler(configuration, (*at, _SCHEDULER), collector)


def _read_scheduler(configuration: Value, at: Path, collector: Collector) -> None:
    if collector.schedulers:
        raise DecodeError(at, "a second KubeSchedulerConfiguration: expected one")
    try:
        profiles = schedulers_in(configuration, scores_capacity=True)  # validated when it was captured
    except DecodeError as error:
        raise DecodeError((*at, *error.path), error.message) from None
    collector.schedulers = tuple(replace(profile, origin=collector.path) for profile in profiles)


def read_snapshot(snapshot: Value, collector: Collector) -> None:
    """Read a snapshot into the collector. Raises DecodeError."""
    known(snapshot, _SNAPSHOT_FIELDS, ())
    read_metadata(mapping(snapshot, "metadata", ()), collector)
    read_items(items(snapshot, "items", ()), collector)


def read_list(value: Value, collector: Collector) -> None:
    """Read a Kubernetes list: ``v1 List``, or a typed list (``NodeList``), whose items need no kind of their own."""
    kind, version = element_kind(value)
    if kind:
        collector.describe(Header(kinds=frozenset([kind])))
    entries = items(value, "items", ())
    read_items(
        (({"apiVersion": version, "kind": kind, **item} if kind else item, at) for item, at in entries), collector
    )


def element_kind(value: Value) -> tuple[str, str]:
    """Return kind and apiVersion of the elements of a typed list; empty for ``kind: List``."""
    kind = text(value, "kind", ())
    return ("", "") if kind == "List" else (kind.removesuffix("List"), text(value, "apiVersion", ()))


def read_items(entries: Iterable[tuple[Value, Path]], collector: Collector) -> None:
    for value, at in entries:
        add(value, at, collector)


def add(value: Value, at: Path, collector: Collector, source: Source | None = None) -> None:
    """Add one object; its errors get paths from the root of the file. Raises DecodeError."""
    try:
        collector.value(value, None if source is None else _Within(source, at))
    except DecodeError as error:
        raise DecodeError((*at, *error.path), f"{_label(value, at)}: {error.message}") from None


def _label(value: Value, at: Path) -> str:
    meta = value.get("metadata")
    name = meta.get("name") if isinstance(meta, dict) else None
    return f"{words(at)} ({value.get('kind')} {name})" if at else f"{value.get('kind')} {name}"


class _Within:
    """An object inside a document: its paths begin at ``at``."""

    def __init__(self, source: Source, at: Path) -> None:
        self._source = source
        self._at = at
        self.path = source.path

    def span(self, path: Path, *, key: bool = False) -> Span:
        return self._source.span((*self._at, *path), key=key)


def explained(value: object, error: DecodeError) -> DecodeError:
    """Return the error in the schema's words if it concerns this tool's document, not a Kubernetes object inside it."""
    if (
        not isinstance(value, dict)
        or not is_ours(value.get("apiVersion"))
        or error.path[:1] in (("objects",), ("items",))
    ):
        return error
    if value.get("apiVersion") != API_VERSION or value.get("kind") not in _OURS:
        return error
    from kubesched_lint.sources.objects.schema import explain

    return explain(value, error)


def read_plain(value: object, collector: Collector, source: Source | None = None) -> str:
    """Read any document as plain values; return ``sketch``, ``snapshot`` or an empty text. Raises DecodeError."""
    if not isinstance(value, dict):
        raise wrong((), "a Kubernetes object, a list of them or a ClusterSketch", value)
    if is_ours(value.get("apiVersion")) or value.get("kind") in (SKETCH, SNAPSHOT):
        check_version(value)
        if value["kind"] == GROUPS:
            read_groups(value, collector, source)
            return ""
        if value["kind"] == SKETCH:
            read_sketch(value, collector, source)
            return "sketch"
        read_snapshot(value, collector)
        return "snapshot"
    if "items" in value:
        read_list(value, collector)
    elif not isinstance(value.get("kind"), str):
        raise DecodeError((), "the document names no kind: is it a Kubernetes object, a list or a ClusterSketch?")
    else:
        add(value, (), collector, source)
    return ""
