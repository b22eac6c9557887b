"""The minor versions of Kubernetes that are modelled, and the one that a run judges by."""

from __future__ import annotations

import re
from functools import lru_cache

RECORDED = "1.36"
"""The newest version whose answers and decisions were recorded: the default if the cluster's version is unknown."""

MODELLED = ("1.30", "1.31", "1.32", "1.33", "1.34", "1.35", RECORDED, "1.37")
"""Oldest first; those above RECORDED follow the upstream source only."""

NO_VERSION = f"no Kubernetes version such as {RECORDED}"
"""What is wrong with a text that is not ``is_asked_for``."""

_VERSION = r"v?([0-9]{1,4})\.([0-9]{1,4})(?:\.([0-9]{1,4}))?(?![0-9])"
_NEWEST_PATCH = 10_000

Release = tuple[int, int, int]
"""Major, minor and patch version."""


@lru_cache(maxsize=64)
def release(version: str) -> Release:
    """Return ``(1, 36, 2)`` of ``v1.36.2``; without a patch version, ``1.36`` or ``1.36+``, that of the newest patch.

    Raises ValueError.
    """
    if version in MODELLED:
        return 1, int(version.removeprefix("1.")), _NEWEST_PATCH
    match = re.match(_VERSION, version)
    if not match:
        raise ValueError(f"not a Kubernetes version: {version!r} (expected something like 1.36)")
    major, minor, patch = match.groups()
    return int(major), int(minor), int(patch) if patch else _NEWEST_PATCH


@lru_cache(maxsize=64)
def minor_of(version: str) -> str:
    """Return ``1.36`` of ``v1.36.2``. Raises ValueError."""
    major, minor, _ = release(version)
    return f"{major}.{minor}"


def modelled(version: str) -> str:
    """Return the version to judge by: without ``v`` and build, and the nearest modelled one. Raises ValueError."""
    if is_newer(version):
        return MODELLED[-1]
    if is_older(version):
        return MODELLED[0]
    return ".".join(str(part) for part in release(version) if part != _NEWEST_PATCH)


def judged_by(asked: str, server: str) -> str:
    """Return the version that a run judges by: the one asked for, else the API server's, else RECORDED.

    ``server`` may be any text. Raises ValueError if ``asked`` is no version.
    """
    if not asked and not (server and re.match(_VERSION, server)):
        return RECORDED
    return modelled(asked or server)


def not_modelled(asked: str, server: str) -> tuple[str, ...]:
    """Return what every report says if the version asked for, else the API server's, is not modelled.

    ``server`` may be any text. Raises ValueError if ``asked`` is no version.
    """
    version = judged_by(asked, server)
    if not asked and not (server and re.match(_VERSION, server)):
        return ()
    given = minor_of(asked or server)
    if given == minor_of(version):
        return ()
    end = f"newer than {MODELLED[-1]}, the newest" if is_newer(given) else f"older than {MODELLED[0]}, the oldest"
    return (f"Kubernetes {given} is {end} version that is modelled: judged as Kubernetes {version}",)


def is_asked_for(version: str) -> bool:
    """Return whether a text is a version; of one that is not modelled, ``modelled`` is judged by."""
    return bool(re.fullmatch(_VERSION, version))


def is_newer(version: str) -> bool:
    """Return whether a version is newer than all that are modelled. Raises ValueError."""
    return release(version)[:2] > release(MODELLED[-1])[:2]


def is_older(version: str) -> bool:
    """Return whether a version is older than all that are modelled. Raises ValueError."""
    return release(version)[:2] < release(MODELLED[0])[:2]
