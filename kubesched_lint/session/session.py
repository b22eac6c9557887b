"""One set of files and one cluster, kept warm: what did not change is neither read nor decoded again.

An edit gets two answers. ``at_once`` runs the rules that cost little in the last whole run, and keeps what the other
rules found then, at the places where it is now; no exact run tries its proofs yet. ``whole`` runs every rule, and says
what ``lint`` says of these files.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.commands.lint.freshness import judged_now
from kubesched_lint.commands.lint.run import Request, input_of, open_cluster, report_on
from kubesched_lint.engine.base import work
from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.engine.base.releases import judged_by
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.files import is_within
from kubesched_lint.findings import Finding, InputError, Report
from kubesched_lint.linter.lint import lasting_scenario
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import ManifestSet, ref_of
from kubesched_lint.linter.results.rule_results import numbered
from kubesched_lint.project.baseline import KnownFinding, held_against, read_baseline
from kubesched_lint.project.owners import with_owners
from kubesched_lint.rulebook.library import Rule, Rulebook
from kubesched_lint.session.decoding import Decoder
from kubesched_lint.session.files import SessionFiles, shifts
from kubesched_lint.session.limits import STEPS_AT_ONCE
from kubesched_lint.session.moved import moved
from kubesched_lint.sources.manifests.inputs import Input


class Answer(Struct, frozen=True):
    """A report, and the bytes that its places are about: path → data. ``waiting`` rules show older findings."""

    report: Report
    data: dict[str, bytes]
    waiting: tuple[str, ...] = ()


class Session:
    """Files, cluster and options of a request. One thread at a time may use it."""

    def __init__(self, request: Request, options: Options, rulebook: Rulebook) -> None:
        self.request = request
        self.options = options
        self.rulebook = rulebook
        self.files = SessionFiles(self._find, options.kinds, self._may_hold)
        self.cluster: Cluster | None = None
        self._problem: tuple[InputError, ...] = ()
        self._known: tuple[KnownFinding, ...] = ()
        self._whole: Answer | None = None
        self._costs: dict[str, float] = {}
        self._manifests: ManifestSet | None = None
        self._scenario: Scenario | None = None
        """That of the manifests, with all that the answer at once has learnt of it."""
        self._paid: dict[str, float] = {}
        """What rules have cost that learnt of this scenario."""
        self.read_cluster()

    def read_cluster(self) -> None:
        """Read cluster and baseline from the disk. Raises BaselineError."""
        self.cluster, self._problem = open_cluster(self.request.cluster, self.request.cluster_options)
        if self.request.baseline:
            self._known = read_baseline(self.request.baseline, self.rulebook)
        server = self.cluster.server_version if self.cluster else ""
        self._version = judged_by(self.options.kubernetes_version, server)
        self._decoder = Decoder(self.options, self._version)
        self._manifests = self._whole = self._scenario = None
        self._costs = {}
        self._paid = {}

    def look_again(self) -> bool:
        """Read the files from the disk. Return whether they have changed."""
        return self._changed(self.files.look_again())

    def put(self, path: str, text: str | None) -> bool:
        """Lay a buffer over a file, or take it away with None. Return whether that changes what is read."""
        return self._changed(self.files.put(path, text))

    def _changed(self, is_changed: bool) -> bool:
        if is_changed:
            self._manifests = self._scenario = None
            self._paid = {}
        return is_changed

    def _find(self) -> Iterable[Input]:
        return input_of(self.request, self.options)

    def _may_hold(self, real: str) -> bool:
        """Return whether a new file would be read: below one of the paths, and not excluded."""
        folders = map(os.path.realpath, self.request.paths)
        return any(is_within(real, folder) for folder in folders) and not self.options.exclude.covers(real)

    @property
    def manifests(self) -> ManifestSet:
        """The set as the files and buffers are now."""
        if self._manifests is None:
            self._manifests = self._decoder.manifests(self.files.entries())
        return self._manifests

    def whole(self, is_stopped: Callable[[], bool] = lambda: False) -> Answer:
        """Return the findings of every rule. Raises work.StoppedError soon after ``is_stopped`` becomes true."""
        costs: dict[str, float] = {}
        with work.stoppable(is_stopped):
            report = self._report(None, costs)
        self._scenario = None  # each fix and each question has one of its own
        self._costs = costs | {slug: max(cost, costs.get(slug, 0)) for slug, cost in self._paid.items()}
        self._whole = Answer(report, self.files.judged())
        return self._shown(self._whole)

    def at_once(self) -> Answer:
        """Return the findings of the cheap rules now, and of the others as the last whole run found them."""
        rules = self._rules()
        cheap = self._cheap(rules)
        costs: dict[str, float] = {}
        with work.within(2 * STEPS_AT_ONCE) as limit:
            report = self._report(cheap, costs)
        self._paid = costs
        if not limit.sufficed:  # with more steps, it may know more
            self._scenario = None
        self._costs |= {slug: max(cost, self._costs.get(slug, 0)) for slug, cost in costs.items()}
        ran = {rule.slug for rule in cheap} - {skip.rule for skip in report.skipped if skip.cut}
        waiting = tuple(rule.slug for rule in rules if rule.slug not in ran and rule.each != "waiver")
        kept = () if self._whole is None else tuple(self._kept(self._whole, ran))
        report = replace(report, findings=_joined(report.findings, kept, ran))
        return self._shown(Answer(report, self.files.judged(), waiting))

    def _rules(self) -> Sequence[Rule]:
        return self.options.rules(self.rulebook)

    def _cheap(self, rules: Sequence[Rule]) -> Sequence[Rule]:
        """Return the rules for an answer at once: before a whole run those that need no nodes."""
        if not self._costs:
            return [rule for rule in rules if "nodes" not in rule.needs]
        left, cheap = STEPS_AT_ONCE, set()
        for slug, cost in sorted(self._costs.items(), key=lambda item: item[1]):
            left -= int(cost)
            if cost > STEPS_AT_ONCE // 10 or left < 0:
                break
            cheap.add(slug)
        return [rule for rule in rules if rule.slug in cheap or rule.slug not in self._costs]

    def _report(self, rules: Sequence[Rule] | None, costs: dict[str, float]) -> Report:
        """Return the findings; the scenario is kept unless the run does not end."""
        paths = self.request.paths
        manifests = self.manifests
        scenario, self._scenario = self._scenario, None
        if scenario is None:
            scenario = lasting_scenario(manifests, self.cluster, self.options)
        report = report_on(
            manifests,
            self.cluster,
            self._problem,
            self.options,
            self.rulebook,
            paths,
            rules=rules,
            costs=costs,
            is_refuting=rules is None,
            scenario=scenario,
        )
        self._scenario = scenario
        if self._known:
            report = held_against(report, self._known, source=self.request.baseline or "").report
        if self.request.max_age:
            report = judged_now(report, self.cluster, self.request.max_age, self._version)
        return with_owners(report)

    def _kept(self, whole: Answer, ran: set[str]) -> Iterator[Finding]:
        """Yield the findings of the rules that did not run, about objects that are still there."""
        there = {ref_of(document, self.options.namespace) for document in self.manifests.documents}
        moves = shifts(whole.data, self.files.judged())
        for finding in whole.report.findings:
            if finding.rule not in ran and finding.object in there and finding.location.path:
                yield moved(finding, moves)

    def _shown(self, answer: Answer) -> Answer:
        """Return the answer at the places where its texts are now, with the faults of buffers that cannot be read."""
        now = self.files.data()
        moves = shifts(answer.data, now)
        report, faults = answer.report, tuple(self.files.faults())
        if moves or faults:
            errors = (*report.errors, *faults)
            report = replace(report, findings=tuple(moved(f, moves) for f in report.findings), errors=errors)
        return replace(answer, report=report, data=now)


def tidy() -> None:
    """Collect garbage, and leave what stays out of later collections: some edits would wait for one of all files."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()


_Told = tuple[str, ObjectRef]


def _joined(findings: Sequence[Finding], kept: Sequence[Finding], ran: set[str]) -> tuple[Finding, ...]:
    """Return new and kept findings by place; what a kept finding explains is no finding of its own."""
    explained: set[_Told] = {(part.rule, part.object) for finding in kept for part in finding.also}
    new = (finding for finding in findings if finding.rule in ran and (finding.rule, finding.object) not in explained)
    both = sorted((*new, *kept), key=lambda f: (f.location.path, f.location.span, f.rule))
    return tuple(numbered(both))
