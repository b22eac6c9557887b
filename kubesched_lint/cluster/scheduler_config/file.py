"""Read the configuration file of kube-scheduler, and refuse what kube-scheduler refuses."""

from __future__ import annotations

from kubesched_lint.cluster.cluster import ClusterError
from kubesched_lint.cluster.scheduler_config.read import profiles_of
from kubesched_lint.files import whole
from kubesched_lint.findings import InputError, Path
from kubesched_lint.manifests.document import Document, Skipped, Unread
from kubesched_lint.manifests.loader import documents
from kubesched_lint.model.decode.fields import DecodeError
from kubesched_lint.model.pod import SchedulerProfile
from kubesched_lint.validation.scheduler import API_VERSION, KIND, scheduler_refusals

_LARGEST = 1 << 20
"""Most bytes of a configuration."""


def is_configuration(api_version: object, kind: object) -> bool:
    return kind == KIND and str(api_version).startswith("kubescheduler.config.k8s.io/")


def content_of(path: str) -> bytes:
    """Return the bytes of a configuration. Raises OSError."""
    return whole(path, _LARGEST)


def read_scheduler_config(path: str) -> tuple[SchedulerProfile, ...]:
    """Return the profiles that a file sets up. Raises ClusterError with the place of the first fault."""
    try:
        data = content_of(path)
    except FileNotFoundError:
        raise ClusterError(path, 0, 0, "there is no such file") from None
    except OSError as error:
        raise ClusterError(path, 0, 0, f"cannot be read: {error.strerror or error}") from None
    found: Document | None = None
    for entry in documents(path, data, is_configuration):
        if isinstance(entry, InputError):
            raise ClusterError(path, entry.line, entry.column, entry.message)
        if isinstance(entry, Skipped):
            raise ClusterError(path, entry.line, 1, f"{entry.reason}: this is not a {KIND}")
        if isinstance(entry, Unread) or found is not None:
            other = entry.kind or "a document without a kind" if isinstance(entry, Unread) else f"a second {KIND}"
            raise ClusterError(path, entry.line, 1, f"holds {other}: expected one {KIND}")
        found = entry
    if found is None:
        raise ClusterError(path, 0, 0, f"is empty: expected a {KIND}")
    return schedulers_of(found)


def schedulers_of(document: Document) -> tuple[SchedulerProfile, ...]:
    """Return the profiles of a KubeSchedulerConfiguration. Raises ClusterError with the place of the first fault."""
    if document.value.get("apiVersion") != API_VERSION:
        raise _at(document, ("apiVersion",), f"only {API_VERSION} is read")
    refused = next(scheduler_refusals(document.value), None)
    if refused is not None:
        message = str(refused) if refused.reason else refused.message
        raise _at(document, refused.path, message, key="unknown field" in refused.message)
    try:
        return tuple(profiles_of(document.value, document).values())
    except DecodeError as error:  # plugins with which it does not start, or a null in a list of values
        raise _at(document, error.path, error.message) from None


def _at(document: Document, path: Path, message: str, *, key: bool = False) -> ClusterError:
    span = document.span(path, key=key)
    return ClusterError(document.path, span.line, span.column, message)
