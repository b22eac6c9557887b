"""What a run reads, and what it is compared with."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct, field

from kubesched_lint.engine.cluster.nodes.elastic import ClusterOptions

if TYPE_CHECKING:
    from kubesched_lint.linter.options import Options
    from kubesched_lint.project.baseline import KnownFinding
    from kubesched_lint.project.changed import Changes
    from kubesched_lint.project.config.keys import Given
    from kubesched_lint.rulebook.library import Rulebook
    from kubesched_lint.sources.clusters.read import Contents
    from kubesched_lint.sources.manifests.inputs import Input, Progress


class Request(Struct, frozen=True):
    """What to read; ``baseline`` names a file: findings that it holds are known."""

    paths: tuple[str, ...]
    cluster: str | None = None
    cluster_options: ClusterOptions = field(default_factory=ClusterOptions)
    before: Before | None = None
    """The report has only findings that are new since then, or that a change since then touches."""
    force_exclude: bool = False
    """Whether ``Options.exclude`` holds also for paths that are named, as pre-commit names each file."""
    render: bool = True
    """Whether kustomizations and charts are rendered where a tool for it is there."""
    progress: Progress | None = None
    cache: bool = False
    """Whether the run may repeat the report of an earlier run that read the same input, and keep its own."""
    baseline: str | None = None
    mending: bool = False
    """Whether fixes are tried anyhow, so that the report need not say what they might do."""
    configuration: str = ""
    """What ``project.weakening`` says of the configuration in ``config_file``."""
    config_file: str = ""
    max_age: str | None = None
    """A duration such as ``7d``: an older snapshot is an error."""
    min_read: Given | None = None
    """The least share of releases that must be read, in percent; None if nobody asks."""
    require_workloads: bool = False
    """Whether it is an error that no workload was read beside what makes pods and was not judged."""
    is_one_of_many: bool = False
    """Whether other targets share the baseline, so that this run alone cannot say which entries are gone."""
    clusters_beside: Mapping[str, str] = field(default_factory=dict)
    """Path without links of each cluster of further runs → its path: where it lies among the manifests, it is none."""


def reading_of(request: Request, options: Options) -> Hashable:
    """Return what decides which files are read as manifests: requests that have it in common read the same ones."""
    excluded = options.exclude, options.include_tests
    return request.paths, request.render, request.force_exclude, options.applied, *excluded


class Brought(Struct, frozen=True):
    """What another process has read for some requests. What is not in it is read from the disk."""

    sets: Mapping[Hashable, tuple[Input, ...]] = field(default_factory=dict)
    """``reading_of`` a request → what is read as its manifests."""
    files: Contents = field(default_factory=dict)
    known: tuple[KnownFinding, ...] | None = None
    """The entries of the baseline."""


class Before(Struct, frozen=True):
    """What a run is compared with."""

    changes: Changes
    past: Past | None = None
    """None if nothing has changed."""

    def changes_now(self, request: Request) -> Changes:
        """Return the changes; a fix makes further ones. Raises ChangedError."""
        if not request.mending:
            return self.changes
        from kubesched_lint.project.changed import changes_since  # git, which a run without --changed does not need

        return changes_since(self.changes.base, request.paths)


class Past(Struct, frozen=True):
    """A copy of the files before the change, and how they are linted: by their own configuration."""

    folder: str
    """The place of the current folder in the copy."""
    request: Request
    """No path: nothing was there."""
    options: Options
    rulebook: Rulebook
    reads: tuple[str, ...] = ()
    """Absolute paths, in the work tree, of what decides about findings besides manifests."""
    shares_cluster: bool = False
    """Whether the cluster is the same, so that it is read once."""
    notes: tuple[str, ...] = ()
