"""Compare ``lint`` and ``simulate`` with recorded deployments.

Both predict from the files and from the cluster before they were applied. Then their errors, their cells, and the
absence of either are compared with the result of a real control plane.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any

from msgspec import Struct

from kubesched_lint.commands.lint.run import report_on
from kubesched_lint.commands.simulate.run import simulate
from kubesched_lint.commands.simulate.simulation_options import SimulationOptions
from kubesched_lint.commands.simulate.simulation_report import SimulationReport
from kubesched_lint.commands.verify.agreement import Agreement, Answer
from kubesched_lint.commands.verify.messages import messages
from kubesched_lint.commands.verify.recorded import Deployment, RecordedPhase, Seen
from kubesched_lint.custom.kinds import SHIPPED
from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.engine.base.releases import judged_by, minor_of
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.events.answers.cells import BAD, BY_SCORES, FINE, LIKELY, NONE, UNKNOWN, Cell
from kubesched_lint.engine.verdicts.matrix import EVENTS
from kubesched_lint.findings import Finding, Report, Severity
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import ManifestSet, manifest_set
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.sources.clusters.read import cluster_from
from kubesched_lint.sources.manifests.loader import documents

_GONE = 0
_REPORT = "Please report this"
"""Part of the message about a refuted proof, in findings and in cells."""
_NO_PROOF = ("a proof", "a search")
"""Starts of ``missing`` in unestablished cells whose features are all modelled."""
_PREFIX = re.compile(r'^pods? "[^"]*" is (?:forbidden|invalid): ', re.IGNORECASE)
"""Names of refused pods end in random characters."""


class Forecast(Struct, frozen=True, dict=True):
    """The results of ``lint`` (in its usual and its strict profile) and ``simulate`` before a set is applied."""

    usual: Callable[[], Report]
    """Called where pods are in trouble and ``simulate`` does not say so."""
    strict: Report
    simulation: SimulationReport

    @property
    def errors(self) -> list[Finding]:
        return [f for f in self.strict.findings if f.severity is Severity.ERROR and f.suppressed is None]

    @cached_property
    def _warnings(self) -> list[Finding]:
        return [f for f in self.usual().findings if f.severity >= Severity.WARNING and f.suppressed is None]

    def warnings(self, ref: ObjectRef) -> list[Finding]:
        """Return the open findings about an object of at least severity warning in the usual profile."""
        return [finding for finding in self._warnings if _is_about(finding, ref)]

    @cached_property
    def cells(self) -> dict[tuple[ObjectRef, str], Cell]:
        """The cells of the matrix; of a loss the end where nodes are deleted: recordings delete them."""
        workloads = self.simulation.workloads
        cells = ((workloads[row.number].ref, cell) for row in self.simulation.rows for cell in row.cells)
        return {(ref, cell.event): cell.deleted or cell for ref, cell in cells}

    def as_json(self, case: str) -> dict[str, object]:
        cells = [
            {
                "object": str(ref),
                "event": event,
                "verdict": cell.verdict,
                "wanted": cell.wanted,
                "bound": list(cell.bound[:2]),
                "proven": cell.proven,
            }
            for (ref, event), cell in self.cells.items()
            if cell.verdict != NONE
        ]
        errors = [{"rule": f.rule, "object": str(f.object), "message": f.message} for f in self.errors]
        return {"case": case, "errors": errors, "cells": cells}


def verify_deployment(
    case: Mapping[str, Any], account: Agreement, version: str | None = None
) -> Iterator[dict[str, object]]:
    """Yield the prediction for a set of manifests, and add the answers of the recorded cluster to ``account``."""
    deployment = Deployment(case)
    version = version or str(case.get("kubernetes", ""))
    forecast = predict(deployment, version)
    yield forecast.as_json(deployment.name)
    judge(deployment, forecast, account)
    account.excuse = "because the message was written before the last pods were bound"
    for ref, answer in messages(case, *_read(deployment, minor_of(judged_by("", version)))):
        account.note(answer, deployment.name, str(ref))


def judge(deployment: Deployment, forecast: Forecast, account: Agreement) -> None:
    """Add to ``account`` the answers for the recorded phases; skips phases that were still changing."""
    for phase in deployment.phases:
        if phase.stable:
            account.pods += sum(seen.bound for seen in phase.workloads.values())
            for ref, answer in _answers(deployment, forecast, phase):
                account.note(answer, deployment.name, f"{ref} after {phase.event}")
            _figures(forecast, phase, account)


def predict(deployment: Deployment, version: str) -> Forecast:
    """Return the forecast; it reads nothing of the recorded phases except their events."""
    minor = minor_of(judged_by("", version))
    manifests, cluster = _read(deployment, minor)
    usual, strict = (Options(profile=profile, kubernetes_version=minor) for profile in ("ci", "strict"))
    rulebook = Rulebook.shipped()
    events = {phase.event for phase in deployment.phases}
    wishes = SimulationOptions(
        scale=tuple(scale for phase in deployment.phases for scale in phase.scale),
        suppose=tuple(supposition for phase in deployment.phases for supposition in phase.suppose),
    )
    return Forecast(
        lambda: report_on(manifests, cluster, (), usual, rulebook),
        report_on(manifests, cluster, (), strict, rulebook),
        simulate(manifests, cluster, usual, [event for event in EVENTS if event in events], wishes=wishes),
    )


def _read(deployment: Deployment, minor: str) -> tuple[ManifestSet, Cluster]:
    """Return the manifests and the cluster before they were applied."""
    name, content = deployment.cluster()
    entries = [e for path, text in deployment.files.items() for e in documents(path, text.encode(), SHIPPED.is_read)]
    return manifest_set(entries, "default", minor), cluster_from([(name, content)], name)


def _answers(deployment: Deployment, forecast: Forecast, phase: RecordedPhase) -> Iterator[tuple[ObjectRef, Answer]]:
    for finding in forecast.errors:
        yield from _error(finding, phase)
    if phase.event == "deploy":
        yield from _refuted(forecast)
    for (ref, event), cell in forecast.cells.items():
        seen = _seen(cell, ref, phase)
        if event == phase.event and cell.verdict != NONE and seen is not None:
            for answer in _cell(cell, seen, phase):
                yield ref, answer
    ours = {ref for ref, _ in forecast.cells}
    for ref, seen in phase.workloads.items():
        if phase.concerns(ref) and (ref in ours or ref not in deployment.bystanders):
            for answer in _trouble(forecast, ref, seen, phase):
                yield ref, answer


def _seen(cell: Cell, ref: ObjectRef, phase: RecordedPhase) -> Seen | None:
    """Return the record of a workload; None if the event affected another one or differs from the cell's."""
    if not phase.concerns(ref) or (phase.size is not None and cell.wanted != phase.size):
        return None
    gone = Seen("Pod", cell.wanted, _GONE) if ref.kind == "Pod" else None
    return phase.workloads.get(ref, gone)


def _error(finding: Finding, phase: RecordedPhase) -> Iterator[tuple[ObjectRef, Answer]]:
    """Yield whether an error holds: one of its objects is in trouble and, if it counts pods, no more of them run."""
    # A proof about a CronJob is about the pods of its future Jobs.
    event = "cron" if finding.object.kind == "CronJob" else finding.evidence.event
    if event != phase.event or not phase.concerns(finding.object):
        return
    about = {ref: seen for ref, seen in phase.workloads.items() if _is_about(finding, ref)}
    if not about:
        return
    evidence = finding.evidence
    holds = any(seen.in_trouble for seen in about.values())
    counts = evidence.supply is not None and not any(seen.mixed for seen in about.values())
    if counts and evidence.demand == sum(seen.want for seen in about.values()):
        holds = holds and sum(seen.bound for seen in about.values()) <= (evidence.supply or 0)
    recorded = ", ".join(f"{ref}: {seen}" for ref, seen in about.items())
    predicted = f"error {finding.rule}: {finding.message}"
    yield finding.object, Answer("no error on what ran", holds, recorded, predicted, evidence.text)


def _refuted(forecast: Forecast) -> Iterator[tuple[ObjectRef, Answer]]:
    """Yield per proof whether an exact run of the model contradicts it: then the run or the proof is wrong."""
    question = "not beaten by our own runs"
    for finding in forecast.strict.findings:
        text = finding.evidence.text
        refuted = _REPORT in text
        if refuted or finding.severity is Severity.ERROR:
            yield finding.object, Answer(question, not refuted, None, f"{finding.rule}: {finding.message}", text)
    for (ref, event), cell in forecast.cells.items():
        refuted = any(_REPORT in what for what in cell.missing)
        if refuted or cell.proven:
            yield ref, Answer(f"{question}, {event}", not refuted, None, cell.text, "; ".join(cell.missing))


def _is_about(finding: Finding, ref: ObjectRef) -> bool:
    named = re.escape(str(ref))
    return finding.object == ref or re.search(rf"(?<!\S){named}(?![\w./-])", finding.message) is not None


def _cell(cell: Cell, seen: Seen, phase: RecordedPhase) -> Iterator[Answer]:
    predicted = f"{cell.text} ({cell.verdict}{', proven' if cell.proven else ''})"
    group = "deploy" if phase.event == "deploy" else "event"
    if phase.event == "deploy":
        yield Answer("pods wanted", cell.wanted == seen.want, seen.want, cell.wanted, cell.why)
    if cell.verdict == UNKNOWN:
        return
    inside = _is_inside(cell, seen)
    yield Answer(f"{group} inside", inside, str(seen), predicted, cell.why)
    if cell.verdict in (FINE, BAD):
        question = "proven cell holds" if cell.proven else "expected cell holds"
        yield Answer(question, seen.in_trouble == (cell.verdict == BAD), str(seen), predicted, cell.why)


def _is_inside(cell: Cell, seen: Seen) -> bool:
    """Return whether the number of missing pods is in the cell's range.

    A DaemonSet wants fewer pods after a node is gone, and its status may be older than that. One of its pods may run
    where it wants none, so a pending pod always counts as missing, except in a rollout: there it may be one too many.
    """
    waits = seen.kind == "DaemonSet" and not seen.mixed and bool(seen.pending)
    lack = max(min(seen.want, cell.wanted) - seen.bound, waits)
    if cell.verdict == BY_SCORES:  # the cell names two results and claims nothing about others
        return lack in (0, cell.wanted - cell.worst.bound if cell.worst is not None else 0)
    return cell.bound.least <= cell.wanted - lack <= cell.bound.most


def _trouble(forecast: Forecast, ref: ObjectRef, seen: Seen, phase: RecordedPhase) -> Iterator[Answer]:
    if not seen.in_trouble:
        return
    cell = forecast.cells.get((ref, phase.event))
    predicted = (cell is not None and not cell.is_harmless) or bool(forecast.warnings(ref))
    yield Answer("trouble reported", predicted, str(seen), cell.text if cell is not None else "nothing")
    if seen.failure and phase.event == "deploy":
        words = _PREFIX.sub("", seen.failure)
        texts = [cell.message, cell.why] if cell is not None else []
        texts += [text for f in forecast.warnings(ref) for text in (f.message, f.evidence.text)]
        yield Answer("failure message", any(words in text for text in texts), words, texts[0] if texts else None)


def _figures(forecast: Forecast, phase: RecordedPhase, account: Agreement) -> None:
    if phase.event == "deploy":
        for finding in forecast.errors:
            account.count("errors about the deployment", holds=finding.evidence.event == "deploy")
    for (ref, event), cell in forecast.cells.items():
        seen = _seen(cell, ref, phase)
        if event != phase.event or cell.verdict == NONE or seen is None:
            continue
        established = cell.verdict not in (UNKNOWN, LIKELY, BY_SCORES)
        if cell.verdict == LIKELY:
            account.count("likely cells ended well", holds=not seen.in_trouble)
        if cell.verdict == BY_SCORES:
            account.count("cells that hang on scores ended well", holds=not seen.in_trouble)
        account.count("cells established", holds=established)
        if established or all(what.startswith(_NO_PROOF) for what in cell.missing):
            account.count("… where all features are modelled", holds=established)
        account.count("cells proven", holds=cell.proven)
        account.count("cells of one value", holds=established and cell.bound.is_single)
        if not established:
            account.count("inside, of unknown cells", holds=_is_inside(cell, seen))
