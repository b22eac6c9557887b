"""``audit``: look at a cluster as it runs, without manifests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec.structs import replace

from kubesched_lint.commands.audit.budgets import blocking, unknown_budgets
from kubesched_lint.commands.audit.drift import drifted
from kubesched_lint.commands.audit.findings import (
    DRAINS,
    DRIFT,
    FACT,
    GATED,
    LOSS,
    PENDING,
    RETURN,
    RULES,
    SECTIONS,
    SKEW,
    Audit,
    AuditFinding,
    one_per_cause,
)
from kubesched_lint.commands.audit.linted import findings, lint_report
from kubesched_lint.commands.audit.losses import Losses
from kubesched_lint.commands.audit.returning import not_returning
from kubesched_lint.commands.audit.running_cluster import RunningCluster
from kubesched_lint.commands.audit.spread import uneven
from kubesched_lint.commands.audit.waiting import gated, pending
from kubesched_lint.engine.base import work
from kubesched_lint.engine.base.limits import MOST_STEPS, STEPS_EACH
from kubesched_lint.engine.base.releases import not_modelled
from kubesched_lint.engine.base.steps import at
from kubesched_lint.engine.base.text import first_few, many
from kubesched_lint.engine.cluster.cluster import Cluster, ClusterError
from kubesched_lint.explaining.pending import DIFFERS, OLDER, in_words, tally, waiting_pods
from kubesched_lint.findings import Skip
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.running_set import running_set
from kubesched_lint.rulebook.library import Rulebook

_SYMPTOM = "symptom"
"""The role of a rule that names no cause: a finding about the same pods says more."""


def audit(cluster: Cluster, options: Options, rulebook: Rulebook, described: str = "") -> Audit:
    """Return what is wrong in a cluster. Raises ClusterError if its nodes or its pods are unknown."""
    for kind in ("Node", "Pod"):
        if not (cluster.knows_nodes and cluster.has(kind)):
            raise ClusterError(cluster.path, 0, 0, f"holds no {kind}s: audit looks at running pods on their nodes")
    with work.within(MOST_STEPS + STEPS_EACH * len(cluster.inventory.pods)):
        return _audited(cluster, options, rulebook, described)


def _audited(cluster: Cluster, options: Options, rulebook: Rulebook, described: str) -> Audit:
    running = running_set(cluster)
    now = RunningCluster(cluster, running, running.premises(options))
    waiting = waiting_pods(now.today)
    losses = Losses(now)
    unfollowed: list[str] = []
    report, rules = lint_report(now, options, rulebook)

    def all_of(what: str, make: Callable[[], Iterable[AuditFinding]]) -> Iterator[AuditFinding]:
        at(what)
        try:
            with work.within(work.share(0, 2)):
                yield from make()
        except work.OutOfWorkError:
            unfollowed.append(f"{what}: only a part, because {work.WHY}")

    audit_findings = [
        *pending(now, waiting or (), may_grow=now.today.is_elastic),
        *all_of(SECTIONS[RETURN], lambda: not_returning(now)),
        *all_of(SECTIONS[DRAINS], lambda: blocking(now)),
        *all_of(SECTIONS[LOSS], losses.findings),
        *all_of(SECTIONS[DRIFT], lambda: drifted(now)),
        *all_of(SECTIONS[SKEW], lambda: uneven(now)),
        *gated(now),
        *findings(now, report, rules),
    ]
    if waiting is None:
        unfollowed.append(f"{SECTIONS[PENDING]}: {work.WHY}")
    count = tally(waiting or ())
    version = not_modelled(options.kubernetes_version, cluster.server_version)
    return Audit(
        tuple(one_per_cause(_explained(audit_findings))),
        tuple(group for group in waiting or () if group.verdict in (DIFFERS, OLDER)),
        count,
        described,
        len(running.inventory.workloads),
        len(cluster.inventory.pods),
        (
            *unfollowed,
            *losses.unfollowed,
            *now.unfollowed,
            *unknown_budgets(now),
            *_skipped(report.skipped),
            *(e.message for e in report.errors),
            *(s.reason for s in running.skipped),
        ),
        (*version, *cluster.notes, *([in_words(count, "--verbose")] if count.compared else [])),
    )


def _skipped(skips: Sequence[Skip]) -> Iterator[str]:
    cut = [skip.rule for skip in skips if skip.cut]
    if cut:
        yield f"{many(len(cut), 'rule')} of lint ({first_few(cut)}), because {work.WHY}"


# --- One finding per cause: the most important one has what the others say ------------------------------------------


def _explained(audited: Sequence[AuditFinding]) -> Iterator[AuditFinding]:
    """Yield findings without those that an earlier one covers."""
    about: dict[object, list[AuditFinding]] = {}
    for finding in audited:
        for key in {finding.object, (finding.section, finding.place)}:
            about.setdefault(key, []).append(finding)
    gone: set[AuditFinding] = set()
    for finding in audited:
        if finding in gone:
            continue
        near = dict.fromkeys(
            f for key in (finding.object, (finding.section, finding.place)) for f in about[key] if f is not finding
        )
        beside = [f for f in near if f not in gone and _covers(finding, f)]
        gone.update(beside)
        yield _with(finding, beside)


def _covers(finding: AuditFinding, other: AuditFinding) -> bool:
    """Whether another finding, about the same object or at the same place, follows from this one or names its cause."""
    if finding.section == DRAINS:
        return not finding.rule and bool(other.rule) and other.section == DRAINS and other.place == finding.place != ""
    if other.object != finding.object:
        return False
    if finding.section == GATED:
        return other.role == "gates"
    if finding.section == RETURN and finding.rule:
        return other.section == RETURN
    if finding.section not in (PENDING, RETURN):
        return False
    if other.section == LOSS:
        return other.evidence != FACT
    return other.section in (DRIFT, RETURN) or (other.section == RULES and other.evidence != FACT)


def _with(first: AuditFinding, beside: Sequence[AuditFinding]) -> AuditFinding:
    best = None if first.rule else next((f for f in beside if f.rule and f.role != _SYMPTOM), None)
    details = list(first.details)
    if best is not None:
        details += [("lint", f"{best.rule}: {best.message}"), *(d for d in best.details if d[0] == "help")]
    details += [("also", f.message) for f in beside if f is not best and f.role != _SYMPTOM]
    place = best.place if best is not None else first.place
    return replace(first, place=place, rule=best.rule if best is not None else first.rule, details=tuple(details))
