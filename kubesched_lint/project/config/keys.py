"""The configuration of a project: its keys, and their values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct, field

from kubesched_lint.engine.cluster.nodes.elastic import COMPLETE, OPEN
from kubesched_lint.findings import InputError
from kubesched_lint.linter.globs import Globs
from kubesched_lint.linter.options import PROFILES, SURVIVED, Override
from kubesched_lint.rulebook.library import Rulebook

DECLARED = "declared-groups"
OWN_RULES = "rule-folders"
"""The key with folders of own rules. ``--rules`` adds to it, because other keys may name rules of these folders."""


class ConfigKey(Struct, frozen=True):
    """A top-level key of the configuration, or ``TABLE.KEY``; the flag of the same name overrides it.

    ``kind`` is ``string``, ``boolean``, ``choice``, ``duration``, ``percent``, ``version``, ``path``, ``groups`` (a
    list of tables), ``rules``, ``formats``, ``globs``, ``folders`` or ``inputs``; the last five are lists of strings.
    """

    name: str
    kind: str
    about: str
    default: object = None
    choices: tuple[str, ...] = ()

    @property
    def is_list(self) -> bool:
        return self.kind in ("rules", "formats", "globs", "folders", "inputs", "events")


FRESH_PODS = "24h"
"""The default: a day of work, and no weekend."""
KEYS = (
    ConfigKey("cluster", "path", "Snapshot or sketch of the cluster: a file or a folder, relative to this file."),
    ConfigKey("namespace", "string", "Namespace of objects without a namespace.", "default"),
    ConfigKey("profile", "choice", "The set of rules to run when select is not given.", "ci", PROFILES),
    ConfigKey(OWN_RULES, "folders", "Folders with your own rules, relative to this file; --rules adds to them.", ()),
    ConfigKey("workload-folders", "folders", "Folders with your own workload cards, relative to this file.", ()),
    ConfigKey("select", "rules", "Run only these rules or families.", ()),
    ConfigKey("ignore", "rules", "Do not run these rules or families.", ()),
    ConfigKey(
        "apply-order",
        "choice",
        "The tool that applies the manifests; it decides the order.",
        "kubectl",
        ("kubectl", "helm", "kustomize", "argocd"),
    ),
    ConfigKey("kubernetes-version", "version", "Kubernetes version; that of the cluster when absent."),
    ConfigKey("feature-gates", "gates", "Feature gates of the cluster, such as GangScheduling=true.", ""),
    ConfigKey("scheduler-config", "path", "Configuration file of the cluster's kube-scheduler, relative to this file."),
    ConfigKey("elastic", "boolean", "Whether an autoscaler adds and removes nodes; read from node labels when absent."),
    ConfigKey(
        "node-groups",
        "choice",
        "Whether the nodes and declared-groups show every node group of the cluster; undecided when absent.",
        None,
        (COMPLETE, OPEN),
    ),
    ConfigKey(DECLARED, "groups", "Node groups that have no node now: name, labels, taints, machine and zones.", ()),
    ConfigKey("render", "boolean", "Render kustomizations with kubectl, and named charts with helm.", True),
    ConfigKey("partial", "boolean", "The paths are part of a larger set; missing objects may exist elsewhere.", False),
    ConfigKey("max-age", "duration", "Exit with 2 if the cluster's file is older, such as 12h, 7d or 2w.", None),
    ConfigKey("min-read", "percent", "Exit with 2 if a smaller percentage of the releases was read, such as 80.", None),
    ConfigKey(
        "fresh-pods", "duration", "Running pods of others prove an error only if younger, such as 24h.", FRESH_PODS
    ),
    ConfigKey(
        "survive",
        "events",
        "Events that every workload must survive: what proves that one does not is an error.",
        (),
        SURVIVED,
    ),
    ConfigKey(
        "fail-on",
        "choice",
        "Exit with 1 on findings of at least this severity.",
        "error",
        ("error", "warning", "note", "never"),
    ),
    ConfigKey(
        "shadow", "boolean", "Exit with 0 and tell what would have blocked: `lint`, `fleet`, `plan`, `check`.", False
    ),
    ConfigKey("strict-skips", "boolean", "Exit with 1 when a rule was skipped, too.", False),
    ConfigKey("formats", "formats", "Reports to write, each NAME or NAME=FILE, relative to this file.", ("text",)),
    ConfigKey("baseline", "path", "File of known findings, relative to this file.", None),
    ConfigKey("include-tests", "boolean", "Judge folders of tests, expected results and copied code, too.", False),
    ConfigKey(
        "unclaimed",
        "choice",
        "Folders with workloads that no target reads: a note, or exit 2 of lint and plan.",
        "note",
        ("note", "error"),
    ),
    ConfigKey(
        "gitops.helm",
        "choice",
        "Whether lint and the others render releases from charts that `charts pull` has locked.",
        "off",
        ("off", "cache"),
    ),
    ConfigKey("exclude", "globs", "Patterns of files and folders to skip, relative to this file.", ()),
)
BY_NAME = {key.name: key for key in KEYS}
TABLES = {
    "gitops": "How what Flux and Argo CD apply is read.",
    "rules": "Parameters and severity of each rule.",
    "overrides": "Settings for some paths.",
    "targets": "Folders and their clusters, which `lint` without paths checks.",
}
OVERRIDE_KEYS = {
    "paths": "Patterns of the files, relative to this file.",
    "ignore": "Rules or families to ignore in these files.",
    "severities": "Severity of findings in these files, by rule.",
}
TARGET_KEYS = {
    "name": "The target's name in reports and for --target.",
    "paths": "Files and folders to check, relative to this file.",
    "entry": "What a GitOps controller applies first, instead of paths: a folder or a file, relative to this file.",
}
"""The keys of a target besides ``TARGET_SETTINGS``."""
TARGET_SETTINGS = (
    "cluster", "namespace", "apply-order", "kubernetes-version", "feature-gates", "scheduler-config", "elastic",
    "node-groups", DECLARED, "partial", "fresh-pods", "survive",
)  # fmt: skip
"""The settings that a target may have, instead of those at the top of the file."""
DECIDING = ("cluster", "scheduler-config", "baseline", OWN_RULES, "workload-folders")
"""The keys that name files and folders which decide what is found."""
SCHEMA_KEY = "$schema"


class Given(Struct, frozen=True):
    """A value and where it comes from: ``kubesched.toml:3``, a flag, or ``default``."""

    value: object
    origin: str

    @property
    def is_flag(self) -> bool:
        return self.origin.startswith("-")


class Target(Struct, frozen=True):
    """Paths that one run of ``lint`` without paths checks; ``values`` override those of the configuration."""

    name: str
    paths: tuple[str, ...]
    values: Mapping[str, Given] = field(default_factory=dict)
    is_entry: bool = False
    """The path is an entry point: what a GitOps controller applies from there is checked."""


class Config(Struct, frozen=True):
    """``values`` has the given keys; ``params`` and ``severities`` are by slug. Empty when there is no file."""

    file: str = ""
    values: Mapping[str, Given] = field(default_factory=dict)
    params: Mapping[str, Mapping[str, Given]] = field(default_factory=dict)
    severities: Mapping[str, Given] = field(default_factory=dict)
    """Slug → a Severity."""
    overrides: tuple[Override, ...] = ()
    globs: Globs = field(default_factory=Globs)
    """``exclude``, and the folder that its patterns are relative to."""
    targets: tuple[Target, ...] = ()
    found_in: str = ""
    """The repository, a path without links, whose entry points are the targets, because the file has none."""
    rulebook: Rulebook | None = None
    """The shipped rules and those of ``rule-folders``; None without a file."""


class ConfigError(Exception):
    """The configuration is invalid; ``problems`` has every error in it."""

    def __init__(self, problems: Iterable[InputError]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(map(_as_line, self.problems)))


def _as_line(problem: InputError) -> str:
    return f"{problem.place}: {problem.message}"
