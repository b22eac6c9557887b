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
_KEYS = ("repository", "chart", "version", "sha256")
_DIGEST = re.compile(r"[0-9a-f]{64}")


class LockError(Exception):
    """The lock cannot be read; the text says why, without the file's name."""


class Pinned(Struct, frozen=True, order=True):
    """One version of a chart. ``repository`` is its address without the chart's name: ``https://…`` or ``oci://…``."""

    repository: str
    chart: str
    version: str

    def __str__(self) -> str:
        return f"{self.chart} {self.version}"

    @property
    def is_sound(self) -> bool:
        """Whether the three are an address, a name and one version: nothing that a program takes for an option."""
        pairs = ((_ADDRESS, self.repository), (_CHART, self.chart), (_VERSION, self.version))
        return all(pattern.fullmatch(text) for pattern, text in pairs)


def pinned(address: str, chart: str, version: str) -> Pinned:
    """Return a chart under the one spelling of its address; ``chart`` may be empty if the address ends with it."""
    plain = address.strip().rstrip("/")
    if not chart:
        plain, _, chart = plain.rpartition("/")
    return Pinned(plain, chart, version)


def is_one_version(version: str) -> bool:
    """Return whether it names one version, and no range."""
    return _VERSION.fullmatch(version) is not None


def locked_in(path: str, root: str = "") -> Mapping[Pinned, str]:
    """Return the SHA-256 digest of each chart; empty without a file. Raises LockError; ``root`` as for ``content``."""
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


def _entry(entry: Any) -> tuple[Pinned, str]:
    values = [entry.get(key) for key in _KEYS] if isinstance(entry, dict) else []
    texts = [value for value in values if isinstance(value, str)]
    if len(texts) != len(_KEYS) or set(entry) != set(_KEYS):
        raise LockError(f"each of [[charts]] has {', '.join(_KEYS)}, which are strings")
    *names, digest = texts
    found = Pinned(*names)
    if not found.is_sound or not _DIGEST.fullmatch(digest):
        raise LockError(f"no chart, version and SHA-256 digest: {texts}")
    return found, digest


def text_of(digests: Iterable[tuple[Pinned, str]]) -> str:
    """Return the lock's text, in the order of names, so that pulling again changes no line that need not change."""
    lines = [_HEAD]
    for one, digest in sorted(digests):
        lines.append(
            f'\n[[charts]]\nrepository = "{one.repository}"\nchart = "{one.chart}"\nversion = "{one.version}"\n'
            f'sha256 = "{digest}"\n'
        )
    return "".join(lines)
