"""The lock of charts: which archive each pinned version of a chart is, by its digest."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from kubesched_lint.files import content
from kubesched_lint.limits import LARGEST_SETTINGS

NAME = "kubesched-charts.lock"
_HEAD = "# Written by `kubesched-lint charts pull`: commit it, and do not edit it.\n"
_ADDRESS = re.compile(r"(?:https?|oci)://[A-Za-z0-9][A-Za-z0-9.-]*(?::\d{1,5})?(?:/[A-Za-z0-9._~%+@-]+)*")
_CHART = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(?:/[A-Za-z0-9][A-Za-z0-9._-]*)*")
_VERSION = re.compile(r"v?\d{1,9}\.\d{1,9}\.\d{1,9}(?:-[0-9A-Za-z.-]{1,99})?(?:\+[0-9A-Za-z.-]{1,99})?")
_RANGE = re.compile(r"[<>=!~^v ]{0,4}[0-9xX*][0-9A-Za-z.*<>=!~^|,+ -]{0,99}")
_KEYS = ("repository", "chart", "version", "sha256")
_RESOLVED, _OF_MANIFEST = "resolved", "digest"
_MANIFEST = re.compile(r"sha256:[0-9a-f]{64}")
_DIGEST = re.compile(r"[0-9a-f]{64}")


class LockError(Exception):
    """The lock cannot be read; the text says why, without the file's name."""


class Pinned(Struct, frozen=True, order=True):
    """A chart as it is asked for. ``repository`` is its address without the chart's name: ``https://…`` or ``oci://…``.

    ``version`` is one version, or a range, which the lock pins. ``digest`` is that of the manifest in a registry, as
    ``sha256:…``: it decides, whatever the version says, which may be empty then.
    """

    repository: str
    chart: str
    version: str
    digest: str = ""

    def __str__(self) -> str:
        return f"{self.chart} {self.version or self.digest}"

    @property
    def is_range(self) -> bool:
        return not self.digest and not is_one_version(self.version)

    @property
    def is_sound(self) -> bool:
        """Whether they are an address, a name, versions and a digest: nothing that a program takes for an option."""
        pairs = ((_ADDRESS, self.repository), (_CHART, self.chart))
        is_named = is_digest(self.digest) and not self.version
        is_named = is_named or (are_versions(self.version) and (is_digest(self.digest) or not self.digest))
        return is_named and all(pattern.fullmatch(text) for pattern, text in pairs)


class Locked(Struct, frozen=True, order=True):
    """What a chart was when it was pulled: the SHA-256 digest of its archive, and of a range the version."""

    sha256: str
    resolved: str = ""


def pinned(address: str, chart: str, version: str, digest: str = "") -> Pinned:
    """Return a chart under the one spelling of its address; ``chart`` may be empty if the address ends with it."""
    plain = address.strip().rstrip("/")
    if not chart:
        plain, _, chart = plain.rpartition("/")
    return Pinned(plain, chart, version, digest)


def is_one_version(version: str) -> bool:
    """Return whether it names one version, and no range."""
    return _VERSION.fullmatch(version) is not None


def are_versions(version: str) -> bool:
    """Return whether it names one version, or a range, as Helm reads them."""
    return is_one_version(version) or _RANGE.fullmatch(version) is not None


def is_digest(text: str) -> bool:
    """Return whether it is the digest of a manifest, ``sha256:…``."""
    return _MANIFEST.fullmatch(text) is not None


def locked_in(path: str, root: str = "") -> Mapping[Pinned, Locked]:
    """Return what each chart was when it was pulled; empty without a file.

    ``root`` as for ``content``. Raises LockError.
    """
    try:
        data = content(path, LARGEST_SETTINGS, root=root)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise LockError((error.strerror or str(error)).lower()) from None
    if len(data) > LARGEST_SETTINGS:
        raise LockError(f"larger than {LARGEST_SETTINGS >> 20} MiB")
    try:
        table = tomllib.loads(data.decode())
    except (ValueError, RecursionError) as error:
        raise LockError(f"not TOML: {error}") from None
    entries = table.get("charts", [])
    if not isinstance(entries, list) or table.keys() - {"charts"}:
        raise LockError("expected [[charts]] and nothing else")
    return dict(map(_entry, entries))


def _entry(entry: Any) -> tuple[Pinned, Locked]:
    values = [entry.get(key) for key in _KEYS] if isinstance(entry, dict) else []
    texts = [value for value in values if isinstance(value, str)]
    if len(texts) != len(_KEYS) or set(entry) - {_RESOLVED, _OF_MANIFEST} != set(_KEYS):
        raise LockError(f"each of [[charts]] has {', '.join(_KEYS)}, which are strings")
    repository, chart, version, digest = texts
    pin, resolved = Pinned(repository, chart, version, str(entry.get(_OF_MANIFEST, ""))), entry.get(_RESOLVED, "")
    is_resolved = isinstance(resolved, str) and (is_one_version(resolved) if pin.is_range else not resolved)
    if not pin.is_sound or not _DIGEST.fullmatch(digest) or not is_resolved:
        raise LockError(f"no chart, version and SHA-256 digest: {texts}")
    return pin, Locked(digest, resolved)


def text_of(charts: Iterable[tuple[Pinned, Locked]]) -> str:
    """Return the lock's text, in the order of names, so that pulling again changes no line that need not change."""
    lines = [_HEAD]
    for chart, locked in sorted(charts):
        lines.append(
            f'\n[[charts]]\nrepository = "{chart.repository}"\nchart = "{chart.chart}"\nversion = "{chart.version}"\n'
        )
        lines += [f'{_OF_MANIFEST} = "{chart.digest}"\n'] if chart.digest else []
        lines += [f'{_RESOLVED} = "{locked.resolved}"\n'] if locked.resolved else []
        lines.append(f'sha256 = "{locked.sha256}"\n')
    return "".join(lines)
