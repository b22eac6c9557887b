"""Apply waivers in the manifests: suppressed findings, and findings about the waivers themselves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.explaining.waivers.waiver import Waiver, WaiverUse
from kubesched_lint.findings import Finding, Report, errors_behind
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import ManifestSet, ref_of
from kubesched_lint.linter.results.rule_results import finding_of, numbered
from kubesched_lint.linter.waivers.waivers import MARKER, annotation_waivers, apply_waivers, find_waivers, owners, uses
from kubesched_lint.rulebook.library import Rule, Rulebook
from kubesched_lint.sources.manifests.document import sources_of


def suppress(
    report: Report, manifests: ManifestSet, rulebook: Rulebook, rules: Sequence[Rule], options: Options
) -> Report:
    """Return the report with waived findings suppressed, and with findings about stale and unexplained waivers."""
    if not _may_waive(manifests):
        return report
    homes = dict(_waivers(manifests, options.namespace))
    waivers = tuple(homes)
    if not waivers:
        return report
    known = {rule.slug: rule.slug for rule in rulebook}
    known |= {old: rule.slug for rule in rulebook for old in rule.formerly}
    owner = owners(
        (ref_of(d, options.namespace), source) for d in manifests.documents for source in (d, *sources_of(d))
    )
    findings, used = apply_waivers(report.findings, waivers, known, owner)
    behind, needed = apply_waivers(errors_behind(f for f in findings if f.suppressed), waivers, known, owner)
    findings, used = (*findings, *behind), used | needed
    skipped = {skip.rule for skip in report.skipped}
    ran = {rule.slug for rule in rules if rule.each != "waiver"} - skipped - _ignored_somewhere(options)
    made_of = uses(waivers, used, findings, known, ran, rulebook.families, options.today)
    about_waivers, _ = apply_waivers(_about(made_of, homes, rules, options), waivers, known, owner)
    both = sorted((*findings, *about_waivers), key=lambda f: (f.location.path, f.location.span, f.rule))
    return replace(report, findings=tuple(numbered(both)))


def _may_waive(manifests: ManifestSet) -> bool:
    """Return whether some object may have a waiver: in a comment, an annotation, or a source of rendered text."""
    return any(d.written.may_waive or d.annotations is not None or d.rendering is not None for d in manifests.documents)


def _waivers(manifests: ManifestSet, namespace: str) -> Iterator[tuple[Waiver, ObjectRef]]:
    """Every waiver and the object that it is on; items of one List share their text."""
    maybe = (document for document in manifests.documents if document.written.may_waive)
    marked = [document for document in maybe if MARKER in document.text]  # usually none
    for document in {(document.path, document.line): document for document in reversed(marked)}.values():
        for waiver in find_waivers(document.text, document.path, document.line):
            yield waiver, ref_of(document, namespace)
    yield from _in_sources(manifests, namespace)
    for document in manifests.documents:
        if isinstance(document.annotations, dict):
            ref = ref_of(document, namespace)
            for waiver in annotation_waivers(ref, document.annotations, document):
                yield waiver, ref


def _in_sources(manifests: ManifestSet, namespace: str) -> Iterator[tuple[Waiver, ObjectRef]]:
    """Waivers in the source files of rendered objects, because Kustomize drops comments."""
    homes: dict[str, ObjectRef] = {}
    texts: dict[str, str] = {}
    for document in manifests.documents:
        if document.rendering is not None:
            ref = ref_of(document, namespace)
            homes |= {source.path: ref for source in sources_of(document) if source.path not in homes}
            for file in document.rendering.files:
                homes.setdefault(file.path, ref)
                texts[file.path] = file.text
    for path, text in texts.items():
        yield from ((waiver, homes[path]) for waiver in find_waivers(text, path))


def _about(
    made_of: Iterable[tuple[Waiver, WaiverUse]],
    homes: Mapping[Waiver, ObjectRef],
    rules: Sequence[Rule],
    options: Options,
) -> Iterator[Finding]:
    chosen = [rule for rule in rules if rule.each == "waiver"]
    for waiver, use in made_of:
        for rule in chosen:
            for hazard in rule.check()(waiver, use):
                severity = options.severity(rule.slug, waiver.path) or rule.severity
                if not options.ignores(rule.slug, waiver.path):
                    yield finding_of(rule, hazard, severity, default=homes[waiver])


def _ignored_somewhere(options: Options) -> frozenset[str]:
    """Rules that an override ignores in some files; their waivers may be needed although nothing was reported."""
    return frozenset(slug for override in options.overrides for slug in override.ignore)
