"""The settings of a lint run, merged from flags and configuration."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from kubesched_lint.custom.kinds import SHIPPED, Kinds
from kubesched_lint.findings import Severity
from kubesched_lint.linter.globs import Globs
from kubesched_lint.rulebook.library import Rule, Rulebook

PROFILES = ("ci", "strict", "editor")


SURVIVED = ("hpa-max", "scale-down", "node-loss", "zone-loss", "drain")
"""Events that a user may ask a workload to survive; a deploy and a rollout it must survive anyhow."""


class ChangedError(Exception):
    """``--changed`` failed; the text is a message for the user."""


class BaselineError(Exception):
    """A baseline is invalid; the text is a message for the user."""


class Override(Struct, frozen=True):
    """Settings for findings in ``files``: ``ignore`` has slugs, ``severities`` maps slug → severity."""

    files: Globs
    ignore: tuple[str, ...] = ()
    severities: Mapping[str, Severity] = field(default_factory=dict)
    origin: str = ""
    """Place in the configuration, like ``kubesched.toml:12``."""


EVERYTHING = "**"
"""Stands for all paths in ``Options.together``: nothing of the set is an alternative."""


class Options(Struct, frozen=True):
    """``params`` maps slug → parameter → value; ``severities`` maps slug → severity."""

    profile: str = "ci"
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    namespace: str = "default"
    apply_order: str = "kubectl"
    kubernetes_version: str = ""
    """The version asked for; empty: the cluster's, see ``releases.judged_by``."""

    feature_gates: str = ""
    """``Name=true,Other=false``: what the user says; it overrides the cluster's file."""

    partial: bool = False
    """The manifests are part of a larger set, so no rule may report a missing object."""
    params: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    severities: Mapping[str, Severity] = field(default_factory=dict)
    overrides: tuple[Override, ...] = ()
    exclude: Globs = field(default_factory=Globs)
    """Files and folders to skip inside folders; a path that the user names is always read."""

    include_tests: bool = False
    """Whether folders of tests, expected results and copied code below the paths are read."""

    together: tuple[str, ...] = ()
    """Paths that a target names: what lies there is applied together, even if it defines the same workloads."""

    applied: bool = False
    """The paths are entry points of a GitOps controller: what it applies from there is judged."""

    environments: tuple[str, ...] = ()
    """Names of the environments to judge; empty: all of them, see ``linter.environments.environments``."""

    survive: tuple[str, ...] = ()
    """Events of ``SURVIVED``: a proof that a workload does not survive one is an error."""

    today: str = ""
    """The day by which exceptions end, ``2027-03-01``; empty: none ends."""

    kinds: Kinds = SHIPPED
    """The kinds of custom resources that are read."""

    def rules(self, rulebook: Rulebook) -> tuple[Rule, ...]:
        """Return the rules of a run. Raises UnknownRuleError."""
        return rulebook.select(self.profile, self.select, self.ignore)

    def ignores(self, slug: str, path: str) -> bool:
        """Whether the configuration drops the findings of a rule in a file."""
        return any(slug in override.ignore and override.files.covers(path) for override in self.overrides)

    def severity(self, slug: str, path: str) -> Severity | None:
        """The user's severity for findings of a rule in a file; None if not set. The last matching override wins."""
        for override in reversed(self.overrides):
            if slug in override.severities and override.files.covers(path):
                return override.severities[slug]
        return self.severities.get(slug)
