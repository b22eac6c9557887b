"""One run for a person: files and cluster in, one report out."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from kubesched_lint.clock import now
from kubesched_lint.commands.lint.exceptions import counting_again, with_ended_entries, with_exceptions
from kubesched_lint.commands.lint.freshness import judged_now
from kubesched_lint.commands.lint.known import compared
from kubesched_lint.commands.lint.nothing import nothing_checked
from kubesched_lint.commands.lint.remarks import (
    notes_on,
    set_notes,
    skipped_documents,
    with_unused_baseline,
)
from kubesched_lint.commands.lint.request import Before, Brought, reading_of
from kubesched_lint.commands.lint.request import Request as Request
from kubesched_lint.commands.lint.unjudged import covering, requiring_workloads, with_what_is_not_judged
from kubesched_lint.custom.kinds import SHIPPED, Kinds
from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.engine.base.releases import judged_by, minor_of
from kubesched_lint.engine.cluster.cluster import LIVE, ClusterError
from kubesched_lint.engine.scenario.premises.mutated import mutation_notes
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.files import is_within
from kubesched_lint.findings import InputError, Report, Summary
from kubesched_lint.linter.linted import Linted, linted
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import ManifestSet, manifest_set, ref_of
from kubesched_lint.linter.results.proposed import is_any_written
from kubesched_lint.project.baseline import read_baseline
from kubesched_lint.project.owners import with_owners
from kubesched_lint.project.weakening import edited_by, line
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.sources.manifests.loader import InputFile, documents_of, find_files
from kubesched_lint.sources.manifests.recognizing.meant import Scope

if TYPE_CHECKING:
    from kubesched_lint.commands.lint.cache import CacheFolder
    from kubesched_lint.commands.lint.known import Compared
    from kubesched_lint.commands.lint.report_extras import ReportExtras
    from kubesched_lint.engine.cluster.cluster import Cluster
    from kubesched_lint.engine.cluster.nodes.elastic import ClusterOptions
    from kubesched_lint.project.baseline import KnownFinding
    from kubesched_lint.project.changed import Changes
    from kubesched_lint.rulebook.library import Rule
    from kubesched_lint.sources.clusters.read import Contents
    from kubesched_lint.sources.manifests.inputs import Input, Progress
    from kubesched_lint.sources.manifests.loader import Entry


class Shared(Struct):
    """What several runs read once: the clusters, and the manifests of those with the same paths and settings."""

    brought: Brought = field(default_factory=Brought)
    clusters: list[Inputs] = field(default_factory=list)
    sets: list[tuple[tuple[object, ...], ManifestSet]] = field(default_factory=list)
    """(What decides which files are read, which of their documents and as what; the set): own cards have no hash."""

    def lender(self, request: Request, options: Options) -> Inputs:
        """Return the inputs with the cluster of a request."""
        asked = (request.cluster, request.cluster_options)  # declared groups have no hash
        for inputs in self.clusters:
            if (inputs.request.cluster, inputs.request.cluster_options) == asked:
                return inputs
        self.clusters.append(Inputs(request, options, (), self))
        return self.clusters[-1]

    def entries(self, baseline: str, rulebook: Rulebook) -> Sequence[KnownFinding]:
        """Return the entries of a baseline. Raises BaselineError."""
        return read_baseline(baseline, rulebook) if self.brought.known is None else self.brought.known

    def forget_cluster(self, path: str | None) -> None:
        self.clusters = [inputs for inputs in self.clusters if inputs.request.cluster != path]

    def forget_sets(self, reading: Hashable) -> None:
        self.sets = [(key, made) for key, made in self.sets if key[0] != reading]


class Inputs(Struct, frozen=True, dict=True):
    """What a run reads: its files at once, everything else when somebody asks for it."""

    request: Request
    options: Options
    files: Iterable[Input]
    """Read once: a list gives up each file when its documents are made."""
    shared: Shared
    past: LintRun | None = None
    """The run before the change."""
    lender: Inputs | None = None
    """The inputs with the same cluster, so that it is read once."""

    @cached_property
    def manifests(self) -> ManifestSet:
        before = None if self.past is None else self.past.manifests.inventory
        return self._read if before is None else replace(self._read, before=before)

    @property
    def _read(self) -> ManifestSet:
        namespace, version, kinds = self.options.namespace, self.version, self.options.kinds
        again = not self.request.mending  # a fix changes the files
        key = (reading_of(self.request, self.options), version and minor_of(version), namespace, kinds)
        made = next((made for known, made in self.shared.sets if known == key), None)
        if made is None:
            made = manifest_set(entries_of(self._drained(), kinds, again=again), namespace, version, kinds=kinds)
            self.shared.sets.append((key, made))
        return made

    def _drained(self) -> Iterator[Input]:
        if not isinstance(self.files, list):
            yield from self.files
            return
        self.files.reverse()
        while self.files:
            yield self.files.pop()

    @property
    def version(self) -> str:
        """The Kubernetes version that the run judges by; if nobody asks for one, the cluster is read for it."""
        asked = self.options.kubernetes_version
        cluster = None if asked else self.opened[0]
        return judged_by(asked, cluster.server_version if cluster else "")

    @cached_property
    def opened(self) -> tuple[Cluster | None, tuple[InputError, ...]]:
        if self.lender:
            return self.lender.opened
        return open_cluster(self.request.cluster, self.request.cluster_options, self.shared.brought.files)


class LintRun(Struct, frozen=True):
    """The report of a run, and what it was made from: read only now, where a kept report spared that."""

    report: Report
    options: Options
    material: Inputs
    held: Compared | None = None
    """The report held against the baseline; None without one."""
    linted: Linted | None = None
    """What the report was made from, for a run that mends it."""

    @property
    def manifests(self) -> ManifestSet:
        return self.material.manifests

    @property
    def cluster(self) -> Cluster | None:
        return self.material.opened[0]

    def files(self) -> Sequence[str]:
        """The files that were read, in order."""
        return sorted({d.path for d in self.manifests.documents} | {u.path for u in self.manifests.unread})

    def rendered_lines(self, path: str) -> Sequence[str]:
        """The lines of rendered text, which is in no file."""
        text = (d.rendering.text for d in self.manifests.documents if d.path == path and d.rendering is not None)
        return next((rendered.split("\n") for rendered in text), ())

    def extras(self) -> ReportExtras | None:
        """The matrix and the picture of the cluster; simulates, so that only formats which show it ask."""
        if self.cluster is None:
            return None
        from kubesched_lint.commands.lint.report_extras import extras_of

        return extras_of(self.manifests, self.cluster, self.options, self.report.findings)


def check(request: Request, options: Options, rulebook: Rulebook) -> Report:
    """The report of ``checked`` alone."""
    return checked(request, options, rulebook).report


def checked(
    request: Request,
    options: Options,
    rulebook: Rulebook,
    *,
    lender: Inputs | None = None,
    shared: Shared | None = None,
) -> LintRun:
    """Return the run: read inputs, lint, apply waivers and baseline.

    Raises UnknownRuleError, ChangedError or BaselineError.
    A cluster that cannot be read becomes one error of the report; the manifests are then checked without a cluster.
    If no file has its name, the run ends at once, because the name is wrong. ``lender`` and
    ``shared`` as in ``Inputs``.
    """
    options.rules(rulebook)  # before anything is read
    shared = shared or Shared()
    is_brought = request.cluster in shared.brought.files
    if request.cluster is not None and not is_brought and (absent := _absent(request.cluster)):
        return LintRun(absent, options, Inputs(request, options, [], shared))
    entries = None if request.baseline is None else shared.entries(request.baseline, rulebook)
    known: Linted | None
    before, lender = request.before, lender or shared.lender(request, options)
    changes = None if before is None else before.changes_now(request)
    files: Iterable[Input] | None = shared.brought.sets.get(reading_of(request, options))
    files = input_of(request, options) if files is None else files
    if request.cache or before:
        read = list(files)
        past = None if before is None else _past(before, request, read, lender)
        material = Inputs(request, options, read, shared, past, lender)
        report, known = (_kept_or_made(material, read, rulebook), None) if request.cache else _made(material, rulebook)
    else:
        past = None
        material = Inputs(request, options, files, shared, lender=lender)
        report, known = _made(material, rulebook)
    held = None if entries is None else _compared(report, entries, material, rulebook)
    report = with_ended_entries(held.report, options, rulebook) if held else report
    judged = report
    if before is not None and changes is not None:
        from kubesched_lint.commands.lint.past import reported

        then = None if past is None else past.report
        report = reported(report, then, material.manifests, options.namespace, before, changes)
        report = counting_again(report, judged, changes, options.today)
    report = with_exceptions(report, judged, options.today)
    report = report if request.baseline or request.is_one_of_many else with_unused_baseline(report, rulebook)
    if request.max_age:
        report = judged_now(report, material.opened[0], request.max_age, material.version)
    report = covering(requiring_workloads(report, request, options), request.min_read)
    report = with_owners(_saying_what_is_weaker(report, judged, changes, request))
    return LintRun(report, options, material, held, known if request.mending else None)


def _past(before: Before, request: Request, files: Sequence[Input], lender: Inputs) -> LintRun | None:
    """Return the run before the change, with its manifests; None if no change can matter."""
    from kubesched_lint.commands.lint.past import past_run

    def run(asked: Request, options: Options, rulebook: Rulebook) -> LintRun:
        if not asked.paths:
            return LintRun(Report(), options, Inputs(asked, options, (), Shared()))
        shares = before.past is not None and before.past.shares_cluster
        past = checked(asked, options, rulebook, lender=lender if shares else None)
        _ = past.manifests  # read while the current folder is that of the copy
        return past

    return past_run(before, request, files, run)


def users_cache() -> CacheFolder | None:
    """Return the cache in the user's folder; a run without one does not load its code."""
    from kubesched_lint.commands.lint.cache import cache_folder

    return cache_folder(os.environ)


def _absent(cluster: str) -> Report | None:
    """The report that no file has the name of the cluster; None if there is one."""
    from kubesched_lint.sources.clusters.read import ABSENT, is_absent

    if not is_absent(cluster):
        return None
    return Report(errors=(InputError(cluster, ABSENT),), summary=Summary(unreadable_cluster=cluster))


def _saying_what_is_weaker(report: Report, judged: Report, changes: Changes | None, request: Request) -> Report:
    """The report with the ``config`` line; ``judged`` has all findings, including those outside the change."""
    waived = any(finding.suppressed for finding in judged.findings)
    if not (request.configuration or waived or changes):
        return report
    scheduler_config = request.cluster_options.scheduler_config
    judges = (request.config_file, request.cluster, scheduler_config, request.baseline)
    edited = () if changes is None else edited_by(changes, judges)
    configuration = line(request.configuration, judged, request.baseline, edited)
    return replace(report, summary=replace(report.summary, configuration=configuration))


def _made(material: Inputs, rulebook: Rulebook) -> tuple[Report, Linted]:
    manifests, (cluster, problem), options = material.manifests, material.opened, material.options
    known = linted(manifests, cluster, options, rulebook, options.rules(rulebook))
    return told(known, manifests, cluster, problem, options, rulebook, material.request.paths), known


def _kept_or_made(material: Inputs, files: Sequence[Input], rulebook: Rulebook) -> Report:
    """From the cache, or for it; a cluster that cannot be read is asked for again the next time."""
    from kubesched_lint.commands.lint.cache import Kept, files_of_cluster, is_worthwhile, key_of

    place = users_cache() if is_worthwhile(files) else None
    request = material.request
    nodes = files_of_cluster(request.cluster, request.cluster_options.scheduler_config) if place else None
    if place is None or nodes is None:
        return _made(material, rulebook)[0]
    asked: tuple[object, ...] = (request.cluster, request.cluster_options, request.paths)
    if material.past is not None and request.before is not None:  # some rules read the templates that were there
        asked += (request.before.changes.commits, material.past.options, material.past.material.request.paths)
    key = key_of(files, nodes, material.options, rulebook, asked)
    if key is None:
        return _made(material, rulebook)[0]
    report = place.find(key, now)
    if report is None:
        report, _ = _made(material, rulebook)
        cluster, problem = material.opened
        if not problem:
            place.keep(key, Kept(report, cluster.description if cluster else None))
    return report


def report_on(
    manifests: ManifestSet,
    cluster: Cluster | None,
    problem: tuple[InputError, ...],
    options: Options,
    rulebook: Rulebook,
    paths: Sequence[str] = (),
    rules: Sequence[Rule] | None = None,
    costs: dict[str, float] | None = None,
    *,
    is_refuting: bool = True,
    scenario: Scenario | None = None,
) -> Report:
    """The report of what has been read; ``problem`` is why there is no cluster. Raises UnknownRuleError.

    That there is nothing to check is an error of the input, at the first of ``paths``, unless the set is partial.
    ``rules`` are those to run, by default what the options select; ``costs``, ``is_refuting`` and ``scenario`` as for
    ``lint``.
    """
    rules = options.rules(rulebook) if rules is None else rules
    known = linted(manifests, cluster, options, rulebook, rules, costs, is_refuting=is_refuting, scenario=scenario)
    return told(known, manifests, cluster, problem, options, rulebook, paths)


def told(
    known: Linted,
    manifests: ManifestSet,
    cluster: Cluster | None,
    problem: tuple[InputError, ...],
    options: Options,
    rulebook: Rulebook,
    paths: Sequence[str] = (),
) -> Report:
    """Return the report of what has been linted, with what it says beside findings; the rest as in ``report_on``."""
    report, scenario = known.report, known.scenario
    of_cluster = notes_on(cluster, options, manifests.premises(options))
    notes = (*set_notes(manifests), *of_cluster, *mutation_notes(scenario), *report.summary.notes)
    unreadable = problem[0].path if problem and cluster is None else ""
    waived = {(f.rule, f.location, f.message) for f in report.findings if f.suppressed}
    still_open = (j for j in known.results if (j.finding.rule, j.finding.location, j.finding.message) not in waived)
    summary = replace(
        report.summary,
        cluster=cluster.describe(now) if cluster else "",
        notes=notes,
        unreadable_cluster=unreadable,
        proposes_fixes=is_any_written(still_open, scenario),
    )
    summary = with_what_is_not_judged(summary, manifests)
    unchecked = (*skipped_documents(manifests), *report.skipped)
    unusable = tuple(InputError(fault.path, fault.message, fault.line) for fault in rulebook.faults)
    nothing = () if options.partial or not manifests.is_empty else (nothing_checked(manifests, options, paths),)
    errors = (*problem, *nothing, *unusable, *report.errors)
    return replace(report, skipped=unchecked, errors=errors, summary=summary)


def _compared(report: Report, entries: Sequence[KnownFinding], material: Inputs, rulebook: Rulebook) -> Compared:
    options, request = material.options, material.request
    rules = options.rules(rulebook)
    ran = {rule.slug for rule in rules} - {skip.rule for skip in report.skipped}

    def objects() -> set[ObjectRef]:
        return {ref_of(document, options.namespace) for document in material.manifests.documents}

    return compared(report, entries, request.baseline or "", ran, objects, is_shared=request.is_one_of_many)


def read_manifests(
    paths: Sequence[str], options: Options, *, render: bool = True, cluster: str | None = None
) -> ManifestSet:
    """Return everything under the paths, decoded; ``errors`` has what could not be read. ``render`` as in Request."""
    files = files_of(paths, options, render=render, scope=scope_of(options, filter(None, [cluster])))
    return manifest_set(entries_of(files, options.kinds), options.namespace, kinds=options.kinds)


def scope_of(options: Options, clusters: Iterable[str] = (), *, named_too: bool = False) -> Scope:
    """Return which files are meant to be applied: not tests, unless the options include them, nor the clusters."""
    files = {}
    for path in clusters:
        if path.partition(":")[0] != LIVE:
            files[os.path.realpath(path)] = path
    return Scope(options.include_tests, named_too, files)


def files_of(
    paths: Sequence[str],
    options: Options,
    *,
    render: bool,
    progress: Progress | None = None,
    scope: Scope | None = None,
    cache: bool = True,
) -> Iterator[Input]:
    """Yield the files under the paths. With ``cache``, a kustomization that has not changed is not rendered again."""
    is_excluded, scope = options.exclude.covers if options.exclude.patterns else None, scope or scope_of(options)
    store = users_cache if cache else None
    if options.applied:
        from kubesched_lint.sources.delivery.entries import applied_files  # most sets are files

        return applied_files(paths, is_excluded, progress, store, options.kinds.charts)
    inflate = None
    if options.kinds.charts is not None:
        from kubesched_lint.sources.charts.inflating import inflating  # most runs have no charts

        inflate = inflating(options.kinds.charts)
    return find_files(paths, is_excluded, render=render, progress=progress, scope=scope, store=store, inflate=inflate)


def input_of(request: Request, options: Options) -> Iterator[Input]:
    """Yield what is read as the manifests of a request."""
    paths = tuple(p for p in request.paths if not (request.force_exclude and options.exclude.covers(p)))
    folders = [os.path.realpath(path) for path in paths] if request.clusters_beside else []
    beside = (c for real, c in request.clusters_beside.items() if any(is_within(real, folder) for folder in folders))
    scope = scope_of(options, filter(None, [request.cluster, *beside]), named_too=request.force_exclude)
    progress, cache = request.progress, request.cache
    return files_of(paths, options, render=request.render, progress=progress, scope=scope, cache=cache)


def entries_of(files: Iterable[Input], kinds: Kinds = SHIPPED, *, again: bool = False) -> Iterator[Entry]:
    """Yield the documents of files from ``find_files``, and its other results unchanged; ``again`` as documents_of."""
    for file in files:
        if isinstance(file, InputFile):
            yield from documents_of(file, kinds.is_read, again=again)
        else:
            yield file


def open_cluster(
    path: str | None, cluster_options: ClusterOptions, contents: Contents | None = None
) -> tuple[Cluster | None, tuple[InputError, ...]]:
    """Return (cluster of ``--cluster`` or None, errors of reading it and the configuration of its kube-scheduler).

    What ``contents`` has is not read from the disk.
    """
    if path is None and not cluster_options.scheduler_config:
        return None, ()
    from kubesched_lint.sources.clusters.read import read_stated, stated_schedulers

    try:
        if path is not None:
            return read_stated(path, cluster_options, contents=contents or {}), ()
        stated_schedulers(
            cluster_options, contents=contents or {}
        )  # it decides nothing, but a fault in it must not stay unseen
    except ClusterError as error:
        return None, (InputError(error.path, error.message, error.line, error.column),)
    return None, ()
