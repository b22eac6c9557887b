"""kubesched-lint for programs: the functions that ``kubesched_lint`` exports.

These functions do not print, exit or change their arguments; they may run in several threads at once. Their results are
frozen. The names in ``kubesched_lint.__all__`` keep their meaning within a major version.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.clock import fresh_since, today
from kubesched_lint.commands.check.check_result import Check
from kubesched_lint.commands.check.run import check as judged_apply
from kubesched_lint.commands.fit.asked import Amounts, only_environment
from kubesched_lint.commands.fit.asked import like as like_workload
from kubesched_lint.commands.fit.run import Fit
from kubesched_lint.commands.fit.run import fit as counted_fit
from kubesched_lint.commands.lint.run import entries_of, report_on, scope_of
from kubesched_lint.commands.plan.plan_result import Plan
from kubesched_lint.commands.plan.run import plan as planned
from kubesched_lint.commands.plan.running import as_it_runs
from kubesched_lint.commands.plan.version import Version, check_not_empty
from kubesched_lint.commands.simulate.run import simulate as matrix_of
from kubesched_lint.commands.simulate.simulation_options import SimulationOptions
from kubesched_lint.commands.simulate.simulation_report import SimulationReport
from kubesched_lint.commands.why.ask import Answer, Question, answers, with_premises
from kubesched_lint.custom.kinds import Kinds
from kubesched_lint.custom.own import kinds_with
from kubesched_lint.engine.answers.cells import Cell
from kubesched_lint.engine.base.places import Location, ObjectRef
from kubesched_lint.engine.base.releases import NO_VERSION, is_asked_for
from kubesched_lint.engine.base.text import first_few, seconds_of
from kubesched_lint.engine.cluster.cluster import Cluster, ClusterError, Live
from kubesched_lint.engine.cluster.nodes.elastic import COMPLETE, OPEN, ClusterOptions
from kubesched_lint.engine.model.feature_gates import parsed
from kubesched_lint.engine.runs.courses import Effort
from kubesched_lint.engine.verdicts.matrix import Row
from kubesched_lint.findings import InputError, Report, Severity
from kubesched_lint.linter.options import PROFILES, Options
from kubesched_lint.linter.reading import ManifestSet, manifest_set
from kubesched_lint.notebook import Shown, html_of
from kubesched_lint.project.config import FRESH_PODS
from kubesched_lint.project.rule_settings import param_of, severity_of
from kubesched_lint.report import fit_report, in_notebook
from kubesched_lint.report.check import report as check_report
from kubesched_lint.report.findings import as_json as as_json_of_lint
from kubesched_lint.report.findings import as_text as as_text_of_lint
from kubesched_lint.report.findings import explanation
from kubesched_lint.report.findings.context import RenderContext
from kubesched_lint.report.findings.footer import FAIL_ON
from kubesched_lint.report.plan import as_json as plan_json
from kubesched_lint.report.plan import as_text as plan_text
from kubesched_lint.report.simulation import report as simulation_report
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.rulebook.own import rulebook_with
from kubesched_lint.sources.clusters.read import cluster_from, read_stated, stated
from kubesched_lint.sources.manifests.loader import Entry, documents, find_files
from kubesched_lint.sources.manifests.meant import Scope

Path = str | os.PathLike[str]
Texts = str | Mapping[str, str]
Objects = Iterable[Mapping[str, Any]]

APPLY_ORDERS = ("kubectl", "helm", "kustomize", "argocd")
EVENTS = ("deploy", "rollout", "hpa-max", "scale-down", "node-loss", "zone-loss", "drain")
_TEXT, _OBJECTS = "<text>", "<object {}>"


class Outcome(Struct, frozen=True):
    """The possible results of one event for one workload.

    ``verdict`` is ``fine``, ``likely`` (fine in each tried run, also in those aimed at a bad end; no proof), ``bad``
    (in every order of events), ``depends`` (on the order, or on the lost node or zone), ``by-scores`` (fine in each
    tried run of the default scheduler, bad in a run that chooses other nodes), ``unknown``, ``refused`` by the API
    server, or ``none`` if the event does not affect it. ``bound`` is the least and
    the most of the ``wanted`` pods that end on a node. ``proven`` holds for every scheduler that respects the filters.
    """

    object: ObjectRef
    event: str
    verdict: str
    wanted: int
    bound: tuple[int, int]
    stuck: bool
    proven: bool
    text: str
    """The text in the table: ``2–3/3``."""
    because: str
    message: str
    """The message that Kubernetes will show; empty if all is well."""
    location: Location | None
    assumes: tuple[str, ...]
    environments: tuple[str, ...] = ()
    """The environments of the manifests in which it holds, such as ``prod``; none if it holds in all of them."""


class Simulation(Shown, Struct, frozen=True):
    """The result of ``simulate``: ``outcomes`` by workload, each in the order of the requested events."""

    matrix: SimulationReport
    """What the reports show; its fields may change in any version."""
    outcomes: tuple[Outcome, ...]
    errors: tuple[InputError, ...] = ()
    notes: tuple[str, ...] = ()
    shortages: tuple[str, ...] = ()
    """What the set lacks as a whole, proven for every order, whichever pods wait."""

    def __repr__(self) -> str:
        """Return the outcomes and what else is public: the matrix repeats them, with all workloads."""
        shown = (f"{name}={getattr(self, name)!r}" for name in ("outcomes", "errors", "notes", "shortages"))
        return f"Simulation({', '.join(shown)})"

    def of(self, name: str) -> tuple[Outcome, ...]:
        """Return the outcomes of a workload such as ``Deployment shop/web``; empty if the manifests do not have it."""
        return tuple(outcome for outcome in self.outcomes if str(outcome.object) == name)


class Why(Shown, Struct, frozen=True):
    """The result of ``why``: one answer, or one for each group of environments in which it is the same."""

    answers: tuple[Answer, ...]
    errors: tuple[InputError, ...] = ()


Result = Report | Simulation | Plan | Why | Check | Fit


def load_cluster(
    path: Path | None = None,
    *,
    text: Texts | None = None,
    objects: Objects = (),
    elastic: bool | None = None,
    node_groups: str = "",
    scheduler_config: Path | None = None,
    fresh_pods: str = FRESH_PODS,
) -> Cluster:
    """Return a cluster from a file or folder, from texts, or from parsed objects (Nodes, Pods, …, or one sketch).

    ``elastic`` overrides what the nodes' labels show about autoscalers. ``node_groups`` says whether the nodes show
    every node group: ``complete`` or ``open``. ``scheduler_config`` is the file of its kube-scheduler. Running pods of
    others prove an error only if the file is younger than ``fresh_pods``, such as ``24h``. Raises ClusterError if it
    cannot be read or has no nodes, ValueError if not exactly one of the three is given, or for another ``node_groups``
    or ``fresh_pods``.
    """
    given = list(_texts(text, objects))
    if (path is None) == (not given):
        raise ValueError("load_cluster takes a path, or else text or objects")
    groups = _one_of("node_groups", node_groups, ("", COMPLETE, OPEN))
    if seconds_of(fresh_pods) is None:
        raise ValueError(f"fresh_pods: {fresh_pods!r} is no duration such as 24h")
    since = fresh_since(fresh_pods)
    said = ClusterOptions(elastic, groups, scheduler_config=os.fspath(scheduler_config or ""), fresh_since=since)
    if path is not None:
        return read_stated(os.fspath(path), said)
    return stated(cluster_from(given, given[0][0] if len(given) == 1 else "", elastic=elastic), said)


def load_rules(*folders: Path) -> Rulebook:
    """Return the shipped rules, those of installed packages, and those of your own folders, for any number of calls.

    ``faults``, and ``Report.errors`` of each run, list the rules that cannot be used.
    """
    return rulebook_with([os.fspath(folder) for folder in folders])


def lint(
    *paths: Path,
    text: Texts | None = None,
    objects: Objects = (),
    cluster: Path | Cluster | None = None,
    elastic: bool | None = None,
    rules: Sequence[Path] | Rulebook = (),
    workloads: Sequence[Path] = (),
    profile: str = "ci",
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    severities: Mapping[str, Severity | str] | None = None,
    params: Mapping[str, Mapping[str, object]] | None = None,
    namespace: str = "default",
    apply_order: str = "kubectl",
    kubernetes_version: str = "",
    feature_gates: str = "",
    partial: bool = False,
    include_tests: bool = False,
) -> Report:
    """Return a report of the pods that will not be scheduled, and of the lines to blame.

    Manifests are files and folders (``paths``), YAML or JSON ``text`` (or a mapping from path to text), and parsed
    ``objects``; all together are one set. ``cluster`` is a path, or a result of ``load_cluster``; without one, rules
    that need nodes are in ``Report.skipped``. ``rules`` are folders with your own rules, or a result of ``load_rules``;
    ``workloads`` are folders with your own cards of custom resources; ``params`` and ``severities`` are by rule. With
    ``include_tests``, folders of tests below the paths are read, too. The other options are those of the command line.

    Manifests that cannot be read, and own rules that cannot be used, are in ``Report.errors``; the rest is checked. An
    empty set is an error too, unless it is ``partial``.

    Raises ClusterError for a cluster that cannot be read, UnknownRuleError for an unknown rule or family, and
    ValueError for an invalid option.
    """
    book = rules if isinstance(rules, Rulebook) else load_rules(*rules)
    options = replace(
        _options(namespace, apply_order, kubernetes_version, feature_gates, workloads, include_tests=include_tests),
        profile=_one_of("profile", profile, PROFILES),
        select=tuple(select),
        ignore=tuple(ignore),
        partial=partial,
        params=_params(params or {}, book),
        severities=_severities(severities or {}, book),
        today=today(),
    )
    manifests = _manifests(paths, text, objects, options, cluster)
    return report_on(manifests, _cluster(cluster, elastic), (), options, book, _named(paths, text))


def simulate(
    *paths: Path,
    text: Texts | None = None,
    objects: Objects = (),
    cluster: Path | Cluster,
    elastic: bool | None = None,
    workloads: Sequence[Path] = (),
    events: Sequence[str] = EVENTS,
    scale: Mapping[str, int] | None = None,
    lose: Sequence[str] = (),
    taint: Sequence[str] = (),
    unlabel: Sequence[str] = (),
    add: Mapping[str, int] | None = None,
    upgrade: bool | str = False,
    image_change: bool = False,
    states: int = 4_000,
    seed: int = 1,
    namespace: str = "default",
    apply_order: str = "kubectl",
    kubernetes_version: str = "",
    feature_gates: str = "",
    include_tests: bool = False,
) -> Simulation:
    """Return the possible results of each lifecycle event for each workload.

    Manifests, ``cluster`` and ``workloads`` as for ``lint``. ``scale`` maps workloads, as NAME or NAMESPACE/NAME, to
    numbers of replicas: each adds an event (``scale-to-15``). ``lose`` to ``image_change`` are hypotheses, written as
    on the command line: each adds an event (``lose zone=a``), and several add ``all at once``. ``add`` maps nodes to
    the number of further nodes like them; ``upgrade`` is True for all nodes, or chooses some. ``states`` limits one
    search; ``seed`` seeds the random runs that replace a search that is too large. Raises ClusterError, and ValueError
    for an unknown event, name, node, label or option.
    """
    options = _options(
        namespace, apply_order, kubernetes_version, feature_gates, workloads, include_tests=include_tests
    )
    known = _cluster(cluster, elastic)
    assert known is not None
    manifests = _manifests(paths, text, objects, options, cluster)
    sizes = tuple(f"{name}={size}" for name, size in (scale or {}).items())
    supposed = (
        *(("lose", text) for text in lose),
        *(("taint", text) for text in taint),
        *(("unlabel", text) for text in unlabel),
        *(("add", f"{like}={count}") for like, count in (add or {}).items()),
        *([("upgrade", upgrade if isinstance(upgrade, str) else "")] if upgrade else ()),
        *([("image-change", "")] if image_change else ()),
    )
    wishes = SimulationOptions(scale=sizes, suppose=supposed, skews=True)
    simulation = matrix_of(manifests, known, options, tuple(events), Effort(states=states, seed=seed), wishes=wishes)
    outcomes = (_outcome(simulation, row, cell) for row in simulation.rows for cell in row.cells)
    shortages = tuple(shortage.message for shortage in simulation.shortages)
    return Simulation(simulation, tuple(outcomes), simulation.errors, simulation.notes, shortages)


def plan(
    *paths: Path,
    text: Texts | None = None,
    objects: Objects = (),
    before: Path | Mapping[str, str] | Sequence[Mapping[str, Any]] | None = None,
    cluster: Path | Cluster,
    cluster_before: Path | Cluster | None = None,
    rules: Sequence[Path] | Rulebook = (),
    workloads: Sequence[Path] = (),
    events: Sequence[str] = EVENTS,
    profile: str = "ci",
    namespace: str = "default",
    apply_order: str = "kubectl",
    kubernetes_version: str = "",
    feature_gates: str = "",
    include_tests: bool = False,
) -> Plan:
    """Return what a change of manifests does to each workload.

    Manifests as for ``lint``, after the change. ``before`` has those before it: a file or folder, a mapping from path
    to text, or a list of parsed objects; None compares with what runs in the cluster. ``cluster_before`` is the
    cluster before the change, where nodes change too. ``Plan.is_worse`` says whether something becomes worse for
    certain. Raises ClusterError, UnknownRuleError, and ValueError for an invalid option or if no side has an object.
    """
    book = rules if isinstance(rules, Rulebook) else load_rules(*rules)
    options = _options(
        namespace, apply_order, kubernetes_version, feature_gates, workloads, include_tests=include_tests
    )
    options = replace(options, profile=_one_of("profile", profile, PROFILES))
    manifests = _manifests(paths, text, objects, options, cluster)
    known, former = _running(cluster, manifests), _cluster(cluster_before, None)
    is_folder = isinstance(before, str | os.PathLike)
    root = os.fspath(paths[0]) if is_folder and len(paths) == 1 else os.curdir
    after = Version(first_few(_named(paths, text)) or "objects", manifests, options, root=root)
    judge = partial(planned, cluster=known, rulebook=book, events=tuple(events), former=former)
    if before is None:
        check_not_empty(after)
        return judge(as_it_runs(after, known), after, running=True)
    old = _before(before, options, cluster, root)
    check_not_empty(old, after)
    return judge(old, after)


def _before(
    given: Path | Mapping[str, str] | Sequence[Mapping[str, Any]], options: Options, cluster: Path | Cluster, root: str
) -> Version:
    """Return the side before a change; a folder or file stands where ``root`` stands on the other side."""
    if isinstance(given, str | os.PathLike):
        path = os.fspath(given)
        manifests = _manifests((given,), None, (), options, cluster)
        return Version(path, manifests, options, root=os.curdir if root == os.curdir else path)
    text, objects = (given, ()) if isinstance(given, Mapping) else (None, given)
    return Version("before", _manifests((), text, objects, options, cluster), options)


def why(
    name: str,
    *paths: Path,
    text: Texts | None = None,
    objects: Objects = (),
    cluster: Path | Cluster,
    replica: int = 1,
    keep_running: bool = False,
    alone: bool = False,
    workloads: Sequence[Path] = (),
    namespace: str = "default",
    apply_order: str = "kubectl",
    kubernetes_version: str = "",
    feature_gates: str = "",
    seed: int = 0,
    include_tests: bool = False,
) -> Why:
    """Return where one pod can go, node by node.

    ``name`` is a pod or a workload of the manifests (as for ``lint``) or the cluster, as NAME, KIND/NAME,
    NAMESPACE/NAME or KIND/NAMESPACE/NAME; ``replica`` to ``alone`` as on the command line. The nodes that fit are
    ``Why.answers[0].explanation.fitting``. Raises ClusterError, OutOfWorkError if it cannot be established within the
    limit of work, and ValueError for a name that no or several objects have, and for an invalid option.
    """
    options = _options(
        namespace, apply_order, kubernetes_version, feature_gates, workloads, include_tests=include_tests
    )
    known = _cluster(cluster, None)
    assert known is not None
    manifests = _manifests(paths, text, objects, options, cluster)
    question = Question(
        name,
        _at_least_one("replica", replica),
        keep_running,
        alone,
        apply_order,
        kubernetes_version,
        seed,
        feature_gates=feature_gates,
    )
    found = answers(question, manifests.inventory, known)
    return Why(tuple(with_premises(one, question, known) for one in found), manifests.errors)


def fit(
    *paths: Path,
    text: Texts | None = None,
    objects: Objects = (),
    cluster: Path | Cluster,
    like: str = "",
    requests: Mapping[str, str] | None = None,
    spread: str = "",
    apart: str = "",
    namespace: str = "default",
    kubernetes_version: str = "",
) -> Fit:
    """Return how many more pods find a node beside those that run, and what stops the next one.

    The pods are ``like`` those of a workload (``shop/web``) of the manifests or the cluster, or have ``requests``
    (``{"cpu": "2"}``) and hard rules over ``spread`` and ``apart`` (``zone``, ``node`` or a label). ``counts`` holds
    both ends, in pods. Raises ClusterError, and ValueError for an unknown name or amount.
    """
    options = Options(namespace=namespace, kubernetes_version=_version(kubernetes_version))
    known = _cluster(cluster, None)
    assert known is not None
    manifests = _manifests(paths, text, objects, options, cluster)
    environment = only_environment(manifests.inventory)
    asked = Amounts(requests or {}, spread, apart)
    workload, pods = (
        like_workload(like, environment, known.inventory) if like else (asked.workload(namespace), str(asked))
    )
    return counted_fit(workload, pods, environment, known, manifests.premises(options))


def check(
    *paths: Path,
    text: Texts | None = None,
    objects: Objects = (),
    cluster: Path | Cluster,
    fail_on: str = "error",
    survive: Sequence[str] = (),
    workloads: Sequence[Path] = (),
    namespace: str = "default",
    node_groups: str = "",
    kubernetes_version: str = "",
) -> Check:
    """Return what applying the manifests to a cluster starts, how that ends, and what blocks it.

    ``cluster`` is ``live`` or ``live:CONTEXT``; a snapshot, or a result of ``load_cluster``, shows less of what runs.
    ``fail_on`` is ``error``, ``warning`` or ``never``. ``Check.verdict`` is ``passes``, ``blocked`` or ``unknown``.
    Raises ClusterError, and ValueError for an invalid option.
    """
    options = Options(
        namespace=namespace,
        survive=tuple(survive),
        kubernetes_version=_version(kubernetes_version),
        kinds=_kinds(workloads),
    )
    least = FAIL_ON[_one_of("fail_on", fail_on, tuple(FAIL_ON))]
    manifests = _manifests(paths, text, objects, options, cluster)
    known = _running(cluster, manifests, node_groups)
    named = first_few(_named(paths, text)) or "objects"
    return judged_apply(Version(named, manifests, options), known, load_rules(), least)


def as_json(result: Result) -> str:
    """Return a result as the JSON that the command of its name prints."""
    match result:
        case Report():
            return "".join(as_json_of_lint.render(result, RenderContext()))
        case Simulation():
            return simulation_report.as_json(result.matrix)
        case Plan():
            return plan_json.as_json(result)
        case Why():
            return explanation.all_as_json(result.answers)
        case Check():
            return check_report.as_json(result)
        case Fit():
            return fit_report.as_json(result)


def as_text(result: Result, *, color: bool = False, width: int = 0) -> str:
    """Return a result as the text that its command prints, in lines of ``width`` cells (0: no limit)."""
    match result:
        case Report():
            return "".join(as_text_of_lint.render(result, RenderContext(color=color, width=width)))
        case Simulation():
            return simulation_report.as_text(result.matrix, color=color, room=width)
        case Plan():
            return plan_text.as_text(result, color=color, room=width)
        case Why():
            return explanation.all_as_text(result.answers, color=color, width=width)
        case Check():
            return check_report.as_text(result, color=color, room=width)
        case Fit():
            return fit_report.as_text(result, room=width)


def as_html(result: Result) -> str:
    """Return a result as the part of a page that a notebook shows: the text of its command, in colour."""
    return in_notebook.as_html(as_text(result, color=True, width=in_notebook.WIDTH))


html_of.register(Shown, as_html)


def _options(
    namespace: str,
    apply_order: str,
    kubernetes_version: str,
    feature_gates: str,
    workloads: Sequence[Path],
    *,
    include_tests: bool,
) -> Options:
    """Return what all functions ask in the same words. Raises ValueError for an invalid option."""
    parsed(feature_gates)
    return Options(
        namespace=namespace,
        apply_order=_one_of("apply_order", apply_order, APPLY_ORDERS),
        kubernetes_version=_version(kubernetes_version),
        feature_gates=feature_gates,
        include_tests=include_tests,
        kinds=_kinds(workloads),
    )


def _outcome(simulation: SimulationReport, row: Row, cell: Cell) -> Outcome:
    return Outcome(
        object=simulation.workloads[row.number].ref,
        event=cell.event,
        verdict=cell.verdict,
        wanted=cell.wanted,
        bound=(cell.bound.least, cell.bound.most),
        stuck=cell.stuck,
        proven=cell.proven,
        text=cell.text,
        because=cell.why,
        message=cell.message,
        location=simulation.place(cell),
        assumes=cell.assumes,
        environments=simulation.where(row),
    )


def _running(given: Path | Cluster, manifests: ManifestSet, node_groups: str = "") -> Cluster:
    """Return a cluster with what applying the manifests changes; a live one is asked for their whole templates."""
    groups = _one_of("node_groups", node_groups, ("", COMPLETE, OPEN))
    if isinstance(given, Cluster):
        return given
    asked = Live(frozenset(workload.ref for workload in manifests.inventory.workloads))
    said = ClusterOptions(node_groups=groups, fresh_since=fresh_since(FRESH_PODS))
    return read_stated(os.fspath(given), said, asked=asked)


def _cluster(given: Path | Cluster | None, elastic: bool | None) -> Cluster | None:
    if isinstance(given, Cluster):
        if elastic is not None:
            raise ValueError("elastic belongs to load_cluster when the cluster is loaded already")
        return given
    return None if given is None else load_cluster(given, elastic=elastic)


def _manifests(
    paths: Sequence[Path], text: Texts | None, objects: Objects, options: Options, cluster: Path | Cluster | None
) -> ManifestSet:
    own = () if cluster is None or isinstance(cluster, Cluster) else (os.fspath(cluster),)
    entries = _entries(paths, _texts(text, objects), scope_of(options, own), options.kinds)
    return manifest_set(entries, options.namespace, kinds=options.kinds)


def _named(paths: Sequence[Path], text: Texts | None) -> tuple[str, ...]:
    """Return the names that errors use for inputs other than parsed objects."""
    texts = (_TEXT,) if isinstance(text, str) else text or ()
    return (*(os.fspath(path) for path in paths), *texts)


def _entries(paths: Sequence[Path], texts: Iterable[tuple[str, bytes]], scope: Scope, kinds: Kinds) -> Iterator[Entry]:
    if paths:
        yield from entries_of(find_files([os.fspath(path) for path in paths], scope=scope), kinds)
    for path, data in texts:
        yield from documents(path, data, kinds.is_read)


def _texts(text: Texts | None, objects: Objects) -> Iterator[tuple[str, bytes]]:
    named = {_TEXT: text} if isinstance(text, str) else text or {}
    for path, content in named.items():
        yield path, content.encode("utf-8", "surrogatepass")
    for number, value in enumerate(objects, 1):
        try:
            written = json.dumps(value, indent=2, ensure_ascii=False)
        except (TypeError, ValueError) as error:
            raise ValueError(f"object {number} cannot be written as YAML or JSON: {error}") from None
        yield _OBJECTS.format(number), written.encode("utf-8", "surrogatepass")


def _kinds(folders: Sequence[Path]) -> Kinds:
    return kinds_with([os.fspath(folder) for folder in folders])


def _one_of(name: str, value: str, known: Sequence[str]) -> str:
    if value not in known:
        raise ValueError(f"{name}: {value!r} is not one of {', '.join(known)}")
    return value


def _at_least_one(name: str, value: int) -> int:
    if value < 1:
        raise ValueError(f"{name}: {value} is less than 1")
    return value


def _version(asked: str) -> str:
    if asked and not is_asked_for(asked):
        raise ValueError(f"kubernetes_version: {asked!r} is {NO_VERSION}")
    return asked


def _severities(given: Mapping[str, Severity | str], book: Rulebook) -> Mapping[str, Severity]:
    found = {}
    for slug, wanted in given.items():
        rule = book.get(slug)
        found[rule.slug] = severity_of(wanted.word if isinstance(wanted, Severity) else wanted, rule)
    return found


def _params(given: Mapping[str, Mapping[str, object]], book: Rulebook) -> Mapping[str, Mapping[str, object]]:
    found = {}
    for slug, values in given.items():
        rule = book.get(slug)
        found[rule.slug] = {name: param_of(name, value, rule, book) for name, value in values.items()}
    return found


__all__ = [
    "Check",
    "Cluster",
    "ClusterError",
    "Fit",
    "Outcome",
    "Plan",
    "Simulation",
    "Why",
    "as_html",
    "as_json",
    "as_text",
    "check",
    "fit",
    "lint",
    "load_cluster",
    "load_rules",
    "plan",
    "simulate",
    "why",
]
