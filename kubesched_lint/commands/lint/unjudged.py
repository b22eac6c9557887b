"""What makes pods and was not judged: objects that a controller renders, charts, templates, kinds without a card."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from msgspec.structs import replace

from kubesched_lint.commands.lint.request import Request
from kubesched_lint.custom.kinds import is_release
from kubesched_lint.findings import InputError, LeftOut, Report, Summary
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import ManifestSet
from kubesched_lint.project.config.keys import Given
from kubesched_lint.sources.manifests.document import (
    CHART,
    ENCRYPTED,
    REMOTE_APPLICATION,
    REMOTE_KUSTOMIZATION,
    Unread,
)
from kubesched_lint.sources.manifests.recognizing.classify import HELM, TERRAFORM, YTT

_HELM = "helm template NAME CHART --repo URL --version VERSION --values FILE"
_RENDERED_ELSEWHERE = {
    ("helm.toolkit.fluxcd.io", "HelmRelease"): _HELM,
    ("helm.cattle.io", "HelmChart"): _HELM,
    ("argoproj.io", "Application"): "argocd app manifests NAME",
    ("argoproj.io", "ApplicationSet"): "argocd app manifests NAME",
    ("fluxcd.controlplane.io", "ResourceSet"): "flux-operator build rset -f FILE",
}
"""(API group, kind) of an object that a controller renders in the cluster → the command that prints the result."""
_DELIVERED = {kind for _, kind in _RENDERED_ELSEWHERE} | {ENCRYPTED}
_NO_OPERATOR = (
    *("kyverno.io", "gatekeeper.sh", "fluxcd.io", "crossplane.io", "open-cluster-management.io"),
    *("cluster.x-k8s.io", "machine.openshift.io", "cnrm.cloud.google.com", "services.k8s.aws", "azure.com"),
    "cilium.io",
)
"""Ends of API groups whose objects make no pods of such fields: patterns, patches, values, machines, networks."""
_NO_PODS = ("Policy", "Queue", "Topic")
"""Ends of kinds whose objects make no pods of such fields: what they select or count is made by others."""
_OF_A_SET = {CHART, REMOTE_APPLICATION, REMOTE_KUSTOMIZATION}
"""What a GitOps controller applies beside what was read."""
_TEMPLATES = {HELM: "Helm template", YTT: "ytt template", TERRAFORM: "Terraform template"}


def rendering_command(unread: Unread) -> str:
    """Return the command that prints what a controller makes of an object; empty if no controller renders it."""
    return _RENDERED_ELSEWHERE.get((unread.api_version.partition("/")[0], unread.kind), "")


def may_make_pods(unread: Unread) -> bool:
    """Return whether it is a custom resource without a pod template, of which an operator seems to make pods."""
    if not unread.places_pods or unread.wraps_pod_template or rendering_command(unread):
        return False
    return not (unread.api_version.rpartition("/")[0].endswith(_NO_OPERATOR) or unread.kind.endswith(_NO_PODS))


def with_what_is_not_judged(summary: Summary, manifests: ManifestSet) -> Summary:
    """Return the summary with what nobody applies, and with what makes pods and was not judged."""
    left_out = tuple(LeftOut(item.path, item.left_out, item.reason) for item in manifests.left_out)
    return replace(summary, left_out=left_out, unjudged=_unjudged(manifests), releases=manifests.releases)


def _unjudged(manifests: ManifestSet) -> Mapping[str, int]:
    """Return how many there are of each kind of thing that makes pods and was not judged."""
    counts: dict[str, int] = {}
    delivering = set(manifests.delivering)
    for release in manifests.releases:
        if release.why:
            counts[release.kind] = counts.get(release.kind, 0) + 1
    for unread in manifests.unread:
        if is_release(unread.api_version, unread.kind) or (rendering_command(unread) and unread not in delivering):
            continue
        if rendering_command(unread) or unread.wraps_pod_template or unread.why or may_make_pods(unread):
            counts[unread.kind] = counts.get(unread.kind, 0) + 1
    skipped = {(item.path, item.unrendered or _TEMPLATES.get(item.reason, "")) for item in manifests.skipped}
    for _, kind in skipped:
        if kind:
            counts[kind] = counts.get(kind, 0) + 1
    return counts


def requiring_workloads(report: Report, request: Request, options: Options) -> Report:
    """Return the report with an error if no workload was read beside what makes pods and was not judged.

    Beside releases and Applications it is always one, and in what a GitOps controller applies; else beside charts and
    templates, which may be no part of the set, if the user asks for it. Another error says already that the run is no
    answer. The files of a commit (``partial``) can be left out of a hook.
    """
    summary, partial = report.summary, options.partial
    delivered = _DELIVERED | (_OF_A_SET if options.applied else set())
    error = not_judged(summary, request.paths, delivered, is_asked=request.require_workloads, partial=partial)
    return report if error is None or report.errors else replace(report, errors=(error,))


def nothing_judged(manifests: ManifestSet, paths: Sequence[str]) -> InputError | None:
    """Return the error that a set has only releases and Applications; None if it has a workload or none of these."""
    summary = Summary(workloads=len(manifests.inventory.workloads))
    return not_judged(with_what_is_not_judged(summary, manifests), paths, _DELIVERED, is_asked=False, partial=False)


def not_judged(
    summary: Summary, paths: Sequence[str], delivered: Collection[str], *, is_asked: bool, partial: bool
) -> InputError | None:
    """Return the error of ``requiring_workloads``; ``delivered`` are the kinds beside which it is always one."""
    is_set = not partial and not summary.unjudged.keys().isdisjoint(delivered)
    if summary.workloads or not summary.unjudged or not (is_asked or is_set):
        return None
    words = (
        f"not judged: no workload was read, and {summary.gaps}. Render them and pipe the output "
        "(helm template NAME CHART | kubesched-lint lint -), name the folder of a chart, which --render "
        "renders with helm, or pull the charts of releases (kubesched-lint charts pull)"
    ) + (". A hook for single files passes without such files: name them in its `exclude`" if partial else "")
    return InputError(paths[0] if paths else "<no input>", words)


def covering(report: Report, least: Given | None) -> Report:
    """Return the report with an error if a smaller share of what installs charts was read than ``min-read`` says."""
    summary = report.summary
    left = sum(summary.unjudged.values())
    read = len(summary.releases) - len(summary.unread_releases)
    if least is None or not left or read * 100 >= int(str(least.value)) * (read + left):
        return report
    words = f"min-read = {least.value}: only {read * 100 // (read + left)} % was read; {summary.gaps}"
    path, _, line = ("--min-read", "", "") if least.is_flag else least.origin.rpartition(":")
    return replace(report, errors=(*report.errors, InputError(path, words, int(line or 0))))
