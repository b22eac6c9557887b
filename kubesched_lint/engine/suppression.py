"""From waivers in the manifests to suppressed findings, and to what is to be said of the waivers themselves."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from kubesched_lint.analysis.waiver import Waiver
from kubesched_lint.engine.linter import Judged, finding_of, numbered
from kubesched_lint.engine.options import Options
from kubesched_lint.engine.reading import ManifestSet
from kubesched_lint.engine.waivers import annotation_waivers, apply_waivers, find_waivers, owners, uses
from kubesched_lint.findings import Finding, ObjectRef, Report
from kubesched_lint.manifests.document import Document
from kubesched_lint.rulebook.library import Rule, Rulebook

_OF_WAIVERS = ("waiver-unused", "waiver-unexplained")


def suppress(
    report: Report, manifests: ManifestSet, rulebook: Rulebook, rules: Sequence[Rule], options: Options
) -> Report:
    """The report with waived findings marked as suppressed, and findings about waivers that are stale or unexplained."""
    waivers = tuple(_waivers(manifests))
    if not waivers:
        return report
    known = {rule.slug: rule.slug for rule in rulebook}
    known |= {old: rule.slug for rule in rulebook for old in rule.formerly}
    owner = owners((_ref(d, options.namespace), d) for d in manifests.documents)
    findings, used = apply_waivers(report.findings, waivers, known, owner)
    skipped = {skip.rule for skip in report.skipped}
    ran = {rule.slug for rule in rules} - skipped
    about = [
        finding
        for finding in _about(waivers, used, findings, known, ran, rules, rulebook, options)
    ]
    said, _ = apply_waivers(about, waivers, known, owner)
    both = sorted((*findings, *said), key=lambda f: (f.location.path, f.location.span, f.rule))
    return replace(report, findings=tuple(numbered(both)))


def _waivers(manifests: ManifestSet) -> Iterator[Waiver]:
    for document in manifests.documents:
        yield from find_waivers(document.text, document.path, document.line)
        annotations = document.value.get("metadata", {}).get("annotations") or {}
        if annotations:
            yield from annotation_waivers(_ref(document, ""), annotations, document)


def _about(
    waivers: Sequence[Waiver],
    used: Collection[Waiver],
    findings: Sequence[Finding],
    known: dict[str, str],
    ran: Collection[str],
    rules: Sequence[Rule],
    rulebook: Rulebook,
    options: Options,
) -> Iterator[Finding]:
    chosen = [rule for rule in rules if rule.slug in _OF_WAIVERS]
    for waiver, use in uses(waivers, used, findings, known, ran, rulebook.families):
        for rule in chosen:
            for hazard in rule.check()(waiver, use):
                severity = options.severities.get(rule.slug, rule.severity)
                yield finding_of(Judged(rule, None, hazard, severity), default=ObjectRef("", "", ""))


def _ref(document: Document, namespace: str) -> ObjectRef:
    meta = document.value.get("metadata") or {}
    kind = str(document.value.get("kind", ""))
    return ObjectRef(kind, str(meta.get("namespace") or namespace), str(meta.get("name") or ""))


