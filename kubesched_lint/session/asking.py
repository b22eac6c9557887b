"""What somebody asks a warm session about one workload or one finding."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator

from kubesched_lint.commands.fix.search import fix_of_one
from kubesched_lint.commands.limits import MOST_WORKLOADS
from kubesched_lint.commands.lint.report_extras import effort_for, most_rows
from kubesched_lint.commands.simulate.run import simulate
from kubesched_lint.commands.simulate.simulation_report import SimulationReport
from kubesched_lint.commands.why.ask import Question, answer
from kubesched_lint.commands.why.explain import Explanation
from kubesched_lint.engine.base import work
from kubesched_lint.engine.base.limits import MOST_STEPS
from kubesched_lint.engine.base.places import Location
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.findings import Finding, Fix
from kubesched_lint.session.session import Session
from kubesched_lint.sources.manifests.document import RENDERED, location_of


def explained(session: Session, workload: Workload) -> Explanation | None:
    """Return what ``why`` says of the first replica; None without nodes.

    Raises ValueError if its name is ambiguous, and OutOfWorkError beyond the limit of work.
    """
    cluster, options = session.cluster, session.options
    if cluster is None or not cluster.knows_nodes:
        return None
    kind, namespace, name = workload.key
    question = Question(
        f"{kind.lower()}/{namespace}/{name}",
        apply_order=options.apply_order,
        kubernetes_version=options.kubernetes_version,
        together=options.together,
        feature_gates=options.feature_gates,
    )
    with work.within(MOST_STEPS // 4):
        return answer(question, session.manifests.inventory, cluster)


def matrix(session: Session, workloads: Collection[Workload]) -> SimulationReport | None:
    """Return the rows of these workloads in the matrix of ``simulate``; None without nodes, or if the set is too large.

    Of more workloads than a page shows, the first have rows.
    """
    cluster = session.cluster
    wanted = list(dict.fromkeys(workload.ref for workload in workloads if workload.kind != "CronJob"))
    if cluster is None or not cluster.knows_nodes or not wanted:
        return None
    if len(session.manifests.inventory.workloads) > MOST_WORKLOADS:
        return None
    rows = wanted[: most_rows(len(cluster.inventory.nodes))]
    return simulate(session.manifests, cluster, session.options, effort=effort_for(len(rows)), only=rows)


def mended(session: Session, finding: Finding) -> Fix | None:
    """Return a fix that was tried for this finding, as an edit of the texts as they are now; None if there is none."""
    rule = session.rulebook.rules.get(finding.rule)
    if rule is None or not rule.fix:
        return None
    buffers = session.files.buffers()
    return fix_of_one(session.manifests, session.cluster, session.options, session.rulebook, finding, buffers)


def workloads_in(session: Session, files: Collection[str]) -> Iterator[tuple[Workload, Location]]:
    """Yield (workload, place of its kind) for those that were written in one of the files, named without links.

    The place is in the text that could last be read.
    """
    for workload in session.manifests.inventory.workloads:
        source = workload.source
        if source is None:
            continue
        if source.path.endswith(RENDERED) or os.path.realpath(source.path) in files:
            place = location_of(source, ("kind",))
            if os.path.realpath(place.path) in files:
                yield workload, place
