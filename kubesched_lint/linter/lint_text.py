"""Lint texts in memory: for examples of cards and for tests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from kubesched_lint.custom.kinds import SHIPPED
from kubesched_lint.engine.cluster.cluster import Cluster, ClusterError
from kubesched_lint.findings import InputError, Report
from kubesched_lint.linter.lint import lint
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import ManifestSet, manifest_set
from kubesched_lint.linter.waivers.suppression import suppress
from kubesched_lint.rulebook.examples import CLUSTER, MANIFEST, Example
from kubesched_lint.rulebook.library import Rule, Rulebook
from kubesched_lint.sources.clusters.read import cluster_from
from kubesched_lint.sources.manifests.document import Delivery, Document
from kubesched_lint.sources.manifests.loader import Entry, documents

DAY = "2026-06-01"
"""The day on which the examples of cards are linted."""


def lint_example(example: Example, rules: Sequence[Rule], book: Rulebook) -> Report:
    """Return the report for an example of a card; its files are ``MANIFEST`` and ``CLUSTER``. See ``examples.Lint``."""
    setting = example.setting
    options = Options(
        profile=setting.profile,
        namespace=setting.namespace,
        apply_order=setting.apply_order,
        kubernetes_version=setting.kubernetes_version,
        params={example.slug: setting.params},
        today=DAY,
    )
    cluster: Cluster | None = None
    if example.cluster is not None:
        try:
            cluster = cluster_from([(CLUSTER, example.cluster.encode())], CLUSTER, elastic=setting.elastic)
        except ClusterError as error:
            return Report(errors=(InputError(CLUSTER, error.message, error.line, error.column),))
    manifests = manifests_of(example)
    report, _ = lint(manifests, cluster, options, rules)
    return suppress(report, manifests, book, rules, options)


def manifests_of(example: Example) -> ManifestSet:
    """Return the manifests of an example, compared with those before the change if it has some."""
    texts = (example.manifest, example.before or "")
    after, before = (manifest_set(_documents(example, text), example.setting.namespace) for text in texts)
    return after if example.before is None else replace(after, before=before.inventory)


def _documents(example: Example, text: str) -> Iterator[Entry]:
    """Yield the documents of a text, as delivered as the example says."""
    titles = (f"Kustomization flux-system/{name}" for name in ("first", "second", "third"))
    for entry in documents(MANIFEST, text.encode(), SHIPPED.is_read):
        is_delivered = example.setting.flux and isinstance(entry, Document)
        yield replace(entry, delivered_by=Delivery(next(titles))) if is_delivered else entry
