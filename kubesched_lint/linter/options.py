"""What the user asked for, after flags and configuration have been merged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from kubesched_lint.findings import Severity
from kubesched_lint.linter.globs import Globs
from kubesched_lint.record import record

PROFILES = ("ci", "strict", "editor")
KUBERNETES_VERSIONS = ("1.30", "1.31", "1.32", "1.33", "1.34", "1.35", "1.36")


class ChangedError(Exception):
    """Why nobody can tell what ``--changed`` asks for, as one message for the user."""


class BaselineError(Exception):
    """A baseline that cannot be used; its text is for the user."""


@record
class Override:
    """Other settings for findings in some files: ``ignore`` holds slugs, ``severities`` is by slug."""

    files: Globs
    ignore: tuple[str, ...] = ()
    severities: Mapping[str, Severity] = field(default_factory=dict)
    origin: str = ""
    """Where it is written: ``kubesched.toml:12``."""


@record
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
    overrides: tuple[Override, ...] = ()
    exclude: Globs = field(default_factory=Globs)
    """Files and folders that are passed over where a folder is read; what is named is always read."""

    def ignores(self, slug: str, path: str) -> bool:
        """Whether the findings of a rule in a file are left out."""
        return any(slug in override.ignore and override.files.covers(path) for override in self.overrides)

    def severity(self, slug: str, path: str) -> Severity | None:
        """What the user set for the findings of a rule in a file; the last override that says something wins."""
        for override in reversed(self.overrides):
            if slug in override.severities and override.files.covers(path):
                return override.severities[slug]
        return self.severities.get(slug)
