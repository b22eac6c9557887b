"""Notes for the footer: what a set leaves out, and what a user may do next, such as fixes or a baseline."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from msgspec.structs import replace

from kubesched_lint.commands.lint.merging import merged_findings
from kubesched_lint.commands.lint.unjudged import may_make_pods, rendering_command
from kubesched_lint.engine.base.releases import RECORDED, judged_by, minor_of, not_modelled
from kubesched_lint.engine.base.text import first_few, many
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.scenario.settings.user_settings import Premises
from kubesched_lint.findings import Report, Skip
from kubesched_lint.linter.options import BaselineError, Options
from kubesched_lint.linter.reading.manifest_set import ManifestSet
from kubesched_lint.linter.results.causes import number_of
from kubesched_lint.project.baseline import held_against, read_baseline
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.sources.manifests.document import Skipped
from kubesched_lint.sources.manifests.kustomize.tools import kustomizer
from kubesched_lint.sources.manifests.recognizing.classify import HELM

BASELINE = "kubesched-baseline.json"
"""The file that ``baseline write`` writes unless the user names another one."""


def with_unused_baseline(report: Report, rulebook: Rulebook, parts: Mapping[str, Report] | None = None) -> Report:
    """Return the report with a note if the working folder has a baseline that lists some of the open findings.

    ``parts`` are the reports of the targets that it merges, by name.
    """
    if not report.findings or not os.path.isfile(BASELINE):
        return report
    try:
        entries = read_baseline(BASELINE, rulebook)
    except BaselineError:  # the user has not asked for it
        return report
    held = {name: held_against(part, entries).report for name, part in (parts or {"": report}).items()}
    known = number_of(f for f in merged_findings(held) if f.suppressed and f.suppressed.known)
    if not known:
        return report
    listed = f"{BASELINE} lists {many(known, 'finding')} of this run, but the run does not use it"
    advice = f"{listed}: --baseline {BASELINE}, or `baseline` in kubesched.toml, does"
    return replace(report, summary=replace(report.summary, advice=advice))


def with_notes(report: Report, *notes: str) -> Report:
    return replace(report, summary=replace(report.summary, notes=(*report.summary.notes, *notes)))


def notes_on(cluster: Cluster | None, options: Options, premises: Premises) -> Iterator[str]:
    """Yield what must be said of a cluster, and whether kube-scheduler says of its waiting pods what the model says."""
    yield from version_notes(options, cluster)
    yield from cluster.notes if cluster is not None else ()
    if cluster is not None and cluster.has_messages:
        from kubesched_lint.explaining.pending import agreement

        yield from agreement(cluster, premises)


def version_notes(options: Options, cluster: Cluster | None) -> Iterator[str]:
    """Yield what must be said of the version that the run judges by."""
    server = cluster.server_version if cluster else ""
    version = judged_by(options.kubernetes_version, server)
    if minor_of(version) == RECORDED:
        return
    (what,) = not_modelled(options.kubernetes_version, server) or (f"judged as Kubernetes {version}",)
    yield f"{what}: recordings test {RECORDED}, and what differs is taken from the source code of Kubernetes"


def set_notes(manifests: ManifestSet) -> Iterator[str]:
    wrapping = Counter((u.kind, u.api_version, u.why) for u in manifests.unread if u.wraps_pod_template)
    overlays = [u.path for u in manifests.unread if u.kind == "Kustomization" and "fluxcd" not in u.api_version]
    if overlays:
        where = overlays[0].rpartition("/")[0] or "."
        why = "" if kustomizer() else " (neither kubectl nor kustomize is on PATH)"
        yield (
            f"{len(overlays)} Kustomization: read without rendering{why}; to lint the applied objects: "
            f"kubectl kustomize {where} | kubesched-lint lint -"
        )
    rendered = tuple(dict.fromkeys(d.rendering.how for d in manifests.documents if d.rendering is not None))
    if rendered:
        yield f"rendered with {first_few(rendered)}; lines that are in no file are marked (rendered)"
    yield from _rendered_elsewhere(manifests)
    for (kind, version, why), count in wrapping.items():
        what = f"{count} {kind}: has a pod template that is not checked"
        yield f"{count} {kind}: its pods are not checked, because {why}" if why else _without_card(what, kind, version)
    yield from _may_make_pods(manifests)


def _without_card(what: str, kind: str, version: str) -> str:
    begin = f"kubesched-lint workloads new {kind}.{version.rpartition('/')[0]} begins one"
    return f"{what}, because no workload card describes {version} {kind}; {begin}"


def _may_make_pods(manifests: ManifestSet) -> Iterator[str]:
    """Yield a note for each kind of custom resource without a template whose operator seems to make pods of fields."""
    counts = Counter((u.kind, u.api_version) for u in manifests.unread if may_make_pods(u))
    for (kind, version), count in counts.items():
        yield _without_card(f"{count} {kind}: seems to make pods, which are not checked", kind, version)


def _rendered_elsewhere(manifests: ManifestSet) -> Iterator[str]:
    """Yield for each kind that a controller renders how many there are, where the first one is, and what to run."""
    places: dict[tuple[str, str], list[str]] = {}
    for unread in manifests.delivering:
        if command := rendering_command(unread):
            places.setdefault((unread.kind, command), []).append(f"{unread.path}:{unread.line}")
    for (kind, command), where in places.items():
        yield (
            f"{many(len(where), kind)} ({first_few(where, most=1)}): not rendered, so what the cluster gets from there "
            f"is not checked; to lint it: {command} | kubesched-lint lint -"
        )


def skipped_documents(manifests: ManifestSet) -> Iterator[Skip]:
    """A skip for each document that was read but not checked."""
    for skipped in _with_one_for_templates(manifests.skipped):
        place = "".join(f":{number}" for number in (skipped.line, skipped.column) if number)
        yield Skip("", f"{skipped.path}{place}: {skipped.reason}")


def _with_one_for_templates(items: Iterable[Skipped]) -> Iterator[Skipped]:
    """Yield the items, and one instead of all templates of a folder."""
    templates: dict[str, list[Skipped]] = {}
    for item in items:
        if item.reason == HELM:
            templates.setdefault(os.path.dirname(item.path), []).append(item)
        else:
            yield item
    for folder, (first, *others) in templates.items():
        yield replace(first, path=f"{folder or os.curdir} ({1 + len(others)} files)", line=0) if others else first
