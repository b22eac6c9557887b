"""Recognize files that nobody applies with the others: tests and their data, copied code, snapshots of a cluster.

A repository holds more YAML than what somebody applies. Folders are recognized by their names and their neighbours,
because ``test`` is an environment beside ``prod`` and a folder of tests beside ``src``; files by their shape.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice

from msgspec import Struct, field

from kubesched_lint.files import is_within
from kubesched_lint.sources.manifests.document import Skipped
from kubesched_lint.sources.manifests.limits import MOST_LOOKED_AT

# Patterns are text: ``re`` compiles one when a run first needs it.
_CASE = r"\d+-assert\.ya?ml|chainsaw-test\.ya?ml"
"""Files that only a test case of kuttl or Chainsaw has beside its manifests."""
_ASSERT = r"\d\d-(?:assert|errors)\.ya?ml|(?:chainsaw|kuttl)[-_.].*"
_NEVER_APPLIED = (
    ("tests", r"_*test[-_. ]?(?:data|files|cases|fixtures|assets|resources|manifests)"),
    ("tests", r"__(?:tests|snapshots|fixtures)__"),
    ("copied code", r"node_modules|cue\.mod"),
    ("archived files", r"_archived?|archived|[_.]?(?:deprecated|obsolete|historic(?:al)?)"),
    ("disabled files", r"(?:.*[-_.])?disabled"),
    ("a template of a project", r".*(?:\{\{.*\}\}|\{%.*%\}).*"),
)  # fmt: skip
_KINDS_OF_TEST = (
    "acceptance|chaos|conformance|e2e|end[-_]?to[-_]?end|functional|integration|kuttl|load|perf|performance|regression|"
    "scale|scalability|smoke|stress|system|unit|upgrade"
)
_PERHAPS_APPLIED = (
    ("tests", rf"_*(?:tests?|testing|e2e|(?:{_KINDS_OF_TEST})[-_]?tests?|tests?[-_](?:{_KINDS_OF_TEST}))"),
    ("tests", r"_*fixtures?"),
    ("expected results of tests", r"(?:golden|expected)(?:[-_]?(?:files|outputs?|results?))?|goldens"),
    ("copied code", r"vendor"),
    ("archived files", r"archives?"),
)
"""Reason and pattern of names that an environment, a namespace or an application may have, too."""
_HOMES = r"app(?:lication)?s|clusters?|env(?:ironment)?s?|namespaces|overlays?|services|stages|teams|tenants"
"""Folders whose subfolders are named after environments, namespaces and applications."""
_OF_MANIFESTS = r"base|deploy(?:ments?)?|k8s|kubernetes|manifests"
"""Folders that hold no copied code; their tests may be tests."""
_ENVIRONMENT = (
    r"(?:.*[-_.])?(acc|dev(?:elopment)?|pre-?prod|live|prd|prod(?:uction)?|qa|stage|staging|stg|uat)(?:[-_.].*)?"
)
_CODE = r".*\.(?:go|rs|java|kt|cs|c|cc|cpp|bats)|.*(?:test|spec).*\.(?:py|js|ts|tsx|rb)"


OURS = "kubesched-lint"
"""The API group of sketches, snapshots and lists of node groups."""


def is_ours(api_version: object) -> bool:
    """Return whether a document claims this program's API group, in any version."""
    return isinstance(api_version, str) and api_version.partition("/")[0] == OURS


class LeftOut(Struct, frozen=True):
    """Why files in the folder ``path`` are not read; ``real`` is its path without links."""

    path: str
    real: str
    reason: str
    is_each: bool = False
    """Not the folder is left out, but each file on its own."""
    is_no_manifest: bool = False
    """It is left out whatever the options say about tests."""

    def skipped(self, paths: Sequence[str]) -> Skipped:
        """Return the one line about these files."""
        path = paths[0] if self.is_each and len(paths) == 1 else self.path
        reason = self.reason if self.is_no_manifest else f"{self.reason}; --include-tests judges them"
        return Skipped(path, 0, reason, left_out=len(paths))


class Scope(Struct, frozen=True):
    """Which files below the paths are meant to be applied."""

    include_tests: bool = False
    named_too: bool = False
    """The rule holds for named paths, too, because a hook names each file."""
    clusters: Mapping[str, str] = field(default_factory=dict)
    """Path without links of each ``--cluster``, a file or a folder → its path to show."""

    def above(self, path: str, real: str, root: str) -> LeftOut | None:
        """Return the outermost folder of tests, at or above a named path, inside its repository ``root``."""
        if self.include_tests or not root:
            return None
        parts = os.path.relpath(real, root).split(os.sep)
        for depth, name in enumerate(parts, start=1):
            folder = os.path.join(root, *parts[:depth])
            if os.path.isdir(folder) and (reason := reason_of(name, os.path.dirname(folder))):
                shown = os.path.normpath(os.path.join(path, *([os.pardir] * (len(parts) - depth))))
                return LeftOut(shown, folder, reason)
        return None

    def cluster(self, real: str, named: str) -> LeftOut | None:
        """Return why a file below the path ``named`` is not read if it belongs to ``--cluster``; both without links.

        A folder that holds the manifests, too, is no reason.
        """
        for cluster, shown in self.clusters.items():
            if is_within(real, cluster) and (real == cluster or not is_within(named, cluster)):
                return LeftOut(shown, cluster, "the cluster (--cluster)", is_no_manifest=True)
        return None


def by_contents(path: str, real: str, reason: str) -> LeftOut:
    """Return why a file is not read whatever it is called; the files of a folder have one line."""
    return LeftOut(os.path.dirname(path) or os.curdir, os.path.dirname(real), reason, is_each=True, is_no_manifest=True)


MEANT = Scope()


def reason_of(name: str, parent: str) -> str:
    """Return why the folder ``name`` in ``parent`` is not applied; empty if it may be."""
    reason = _matching(_NEVER_APPLIED, name)
    if reason:
        return reason
    reason = _matching(_PERHAPS_APPLIED, name)
    if not reason or re.fullmatch(_HOMES, os.path.basename(parent).lower()):
        return ""
    if reason == "tests":
        return "" if _is_environment(name, parent) else reason
    return "" if re.fullmatch(_OF_MANIFESTS, os.path.basename(parent).lower()) else reason


def is_case(names: Iterable[str]) -> bool:
    """Return whether a folder with these files is a test case of kuttl or Chainsaw."""
    return any(re.fullmatch(_CASE, name) for name in names)


def environment_in(name: str) -> str:
    """Return the environment in the name of a folder, such as ``prod`` in ``prod-eu``; empty without one."""
    match = re.fullmatch(_ENVIRONMENT, name.lower())
    return "" if match is None else match[1]


def is_assert(name: str) -> bool:
    """Return whether a file states what a test of kuttl or Chainsaw expects."""
    return re.fullmatch(_ASSERT, name) is not None


def _matching(table: tuple[tuple[str, str], ...], name: str) -> str:
    return next((reason for reason, pattern in table if re.fullmatch(pattern, name.lower())), "")


def _is_environment(name: str, parent: str) -> bool:
    """Return whether a folder without programs lies beside environments."""
    beside = (other for other in _names_in(parent) if other != name)
    return any(map(environment_in, beside)) and not _holds_code(os.path.join(parent, name))


def _holds_code(folder: str) -> bool:
    """Return whether one of the first files in a folder or below is a program."""
    names = (name for _, _, names in os.walk(folder) for name in names)
    return any(re.fullmatch(_CODE, name) for name in islice(names, MOST_LOOKED_AT))


def _names_in(folder: str) -> Collection[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return ()
