"""Read the configuration file of kube-scheduler, and refuse what kube-scheduler refuses."""

from __future__ import annotations

from kubesched_lint.engine.base.places import Source
from kubesched_lint.engine.cluster.cluster import ClusterError
from kubesched_lint.engine.cluster.profiles.read import profiles_of
from kubesched_lint.engine.model.decode.fields import DecodeError, Value
from kubesched_lint.engine.model.pod import SchedulerProfile
from kubesched_lint.files import whole
from kubesched_lint.findings import InputError
from kubesched_lint.limits import LARGEST_SETTINGS
from kubesched_lint.sources.manifests.document import Document, Skipped, Unread
from kubesched_lint.sources.manifests.loader import documents
from kubesched_lint.sources.scheduler_config.validity import API_VERSION, KIND, validated


def is_configuration(api_version: object, kind: object) -> bool:
    return kind == KIND and str(api_version).startswith("kubescheduler.config.k8s.io/")


def content_of(path: str) -> bytes:
    """Return the bytes of a configuration. Raises OSError."""
    return whole(path, LARGEST_SETTINGS)


def read_scheduler_config(
    path: str, data: bytes | None = None, *, scores_capacity: bool = False
) -> tuple[SchedulerProfile, ...]:
    """Return the profiles that a file sets up. Raises ClusterError with the place of the first fault.

    ``data`` is its content if somebody has read it. ``scores_capacity``: the gate StorageCapacityScoring is on.
    """
    return schedulers_of(_document(path, data), scores_capacity=scores_capacity)


def _document(path: str, data: bytes | None) -> Document:
    try:
        data = content_of(path) if data is None else data
    except FileNotFoundError:
        raise ClusterError(path, 0, 0, "there is no such file") from None
    except OSError as error:
        raise ClusterError(path, 0, 0, f"cannot be read: {error.strerror or error}") from None
    configuration: Document | None = None
    for entry in documents(path, data, is_configuration):
        if isinstance(entry, InputError):
            raise ClusterError(path, entry.line, entry.column, entry.message)
        if isinstance(entry, Skipped):
            raise ClusterError(path, entry.line, 1, f"{entry.reason}: this is not a {KIND}")
        if isinstance(entry, Unread) and entry.kind == KIND:
            raise ClusterError(path, entry.line, 1, f"apiVersion: only {API_VERSION} is read")
        if isinstance(entry, Unread) or configuration is not None:
            other = entry.kind or "a document without a kind" if isinstance(entry, Unread) else f"a second {KIND}"
            raise ClusterError(path, entry.line, 1, f"holds {other}: expected one {KIND}")
        configuration = entry
    if configuration is None:
        raise ClusterError(path, 0, 0, f"is empty: expected a {KIND}")
    return configuration


def schedulers_of(document: Document, *, scores_capacity: bool = False) -> tuple[SchedulerProfile, ...]:
    """Return the profiles of a KubeSchedulerConfiguration. Raises ClusterError with the place of the first fault."""
    try:
        return schedulers_in(document.value, document, scores_capacity=scores_capacity)
    except DecodeError as error:
        span = document.span(error.path, key="unknown field" in error.message)
        raise ClusterError(document.path, span.line, span.column, error.message) from None


def schedulers_in(
    configuration: Value, source: Source | None = None, *, scores_capacity: bool = False
) -> tuple[SchedulerProfile, ...]:
    """Return the profiles of a configuration as plain values.

    Raises DecodeError with the first thing for which kube-scheduler does not start.
    """
    decoded = validated(configuration, scores_capacity=scores_capacity)
    return tuple(profiles_of(decoded, source).values())
