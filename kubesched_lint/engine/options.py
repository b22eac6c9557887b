"""What the user asked for, after flags and configuration have been merged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kubesched_lint.findings import Severity

PROFILES = ("ci", "strict", "editor")
KUBERNETES_VERSIONS = ("1.30", "1.31", "1.32", "1.33", "1.34", "1.35", "1.36")


class ChangedError(Exception):
    """Why nobody can tell what ``--changed`` asks for, as one message for the user."""


@dataclass(frozen=True, slots=True)
class Options:
    """``params`` maps slug → parameter → value; ``severities`` maps slug → severity."""

    profile: str = "ci"
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    namespace: str = "default"
    apply_order: str = "kubectl"
    kubernetes_version: str = "1.36"
    partial: bool = False
    """The manifests are part of a larger set: nobody may say that something is missing from them."""
    params: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    severities: Mapping[str, Severity] = field(default_factory=dict)
