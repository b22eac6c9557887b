"""The configuration of a project: which keys there are, and what a project has said."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from kubesched_lint.findings import InputError
from kubesched_lint.linter.globs import Globs
from kubesched_lint.linter.options import KUBERNETES_VERSIONS, PROFILES, Override
from kubesched_lint.record import record

if TYPE_CHECKING:
    from kubesched_lint.rulebook.library import Rulebook

OWN_RULES = "rule-folders"
"""The key that names folders of own rules; ``--rules`` adds to them, for other keys may speak of their rules."""


@record
class ConfigKey:
    """A key at the top of the configuration, which a flag of the same name overrules.

    ``kind`` is ``string``, ``boolean``, ``choice``, ``path``, ``rules``, ``formats``, ``globs`` or ``folders``; the
    last four are lists of strings.
    """

    name: str
    kind: str
    about: str
    default: object = None
    choices: tuple[str, ...] = ()

    @property
    def is_list(self) -> bool:
        return self.kind in ("rules", "formats", "globs", "folders")


KEYS = (
    ConfigKey("cluster", "path", "Snapshot or sketch of the cluster: a file or a folder, relative to this file."),
    ConfigKey("namespace", "string", "Namespace of objects that name none.", "default"),
    ConfigKey("profile", "choice", "Which rules run unless selected by name.", "ci", PROFILES),
    ConfigKey(OWN_RULES, "folders", "Folders with rules of your own, relative to this file; --rules adds to them.", ()),
    ConfigKey("select", "rules", "Run only these rules or families.", ()),
    ConfigKey("ignore", "rules", "Leave out these rules or families.", ()),
    ConfigKey(
        "apply-order",
        "choice",
        "Which tool applies the manifests, and so in which order.",
        "kubectl",
        ("kubectl", "helm", "kustomize", "argocd"),
    ),
    ConfigKey("kubernetes-version", "choice", "Version whose scheduler is modelled.", "1.36", KUBERNETES_VERSIONS),
    ConfigKey("elastic", "boolean", "Whether nodes come and go by an autoscaler; seen from labels when absent."),
    ConfigKey("render", "boolean", "Read kustomizations and named charts as what kubectl and helm make of them.", True),
    ConfigKey("partial", "boolean", "The paths are part of a larger set: absence proves nothing.", False),
    ConfigKey(
        "fail-on",
        "choice",
        "The severity from which findings make the exit code 1.",
        "error",
        ("error", "warning", "note", "never"),
    ),
    ConfigKey("strict-skips", "boolean", "Exit with 1 also when a rule had to be skipped.", False),
    ConfigKey("formats", "formats", "Reports to write, each NAME or NAME=FILE; files lie in this folder.", ("text",)),
    ConfigKey("baseline", "path", "File of known findings, relative to this file.", None),
    ConfigKey("exclude", "globs", "Patterns of files and folders that are passed over, relative to this file.", ()),
)
BY_NAME = {key.name: key for key in KEYS}
TABLES = {"rules": "Parameters and severities, a table for each rule.", "overrides": "Other settings for some paths."}
OVERRIDE_KEYS = {
    "paths": "Patterns of the files, relative to this file.",
    "ignore": "Rules or families whose findings in these files are left out.",
    "severities": "Severity of findings in these files, by rule.",
}
SCHEMA_KEY = "$schema"


@record
class Given:
    """A value and where it comes from: ``kubesched.toml:3``, a flag, or ``default``."""

    value: object
    origin: str


@record
class Config:
    """``values`` holds the keys that are given; ``params`` and ``severities`` are by slug. No file: an empty one."""

    file: str = ""
    values: Mapping[str, Given] = field(default_factory=dict)
    params: Mapping[str, Mapping[str, Given]] = field(default_factory=dict)
    severities: Mapping[str, Given] = field(default_factory=dict)
    """Slug → a Severity."""
    overrides: tuple[Override, ...] = ()
    globs: Globs = field(default_factory=Globs)
    """``exclude``, with the folder that it is relative to."""
    rulebook: Rulebook | None = None
    """With the rules of one's own that it names; None for no file."""


class ConfigError(Exception):
    """A configuration that cannot be followed, with all that is wrong with it."""

    def __init__(self, problems: Iterable[InputError]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(map(_told, self.problems)))


def _told(problem: InputError) -> str:
    place = f"{problem.path}:{problem.line}:{problem.column}" if problem.line else problem.path
    return f"{place}: {problem.message}"
