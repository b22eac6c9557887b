"""A set of manifests whose rules have run and whose waivers apply: what reports tell, and where fixes begin."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.findings import Report
from kubesched_lint.linter.lint import lasting_scenario, lint
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import ManifestSet
from kubesched_lint.linter.results.rule_results import RuleResult
from kubesched_lint.linter.waivers.suppression import suppress
from kubesched_lint.rulebook.library import Rule, Rulebook


class Linted(Struct, frozen=True):
    """The report of some rules, with waived findings suppressed, and what it was made from."""

    report: Report
    results: tuple[RuleResult, ...]
    """The findings before waivers, with their rules and hazards."""
    scenario: Scenario
    """The manifests on the cluster without its transient states: it knows what rules have computed."""

    @property
    def is_cut(self) -> bool:
        """Whether the limit of work ended a rule early."""
        return any(skip.cut for skip in self.report.skipped)


def linted(
    manifests: ManifestSet,
    cluster: Cluster | None,
    options: Options,
    rulebook: Rulebook,
    rules: Sequence[Rule],
    costs: dict[str, float] | None = None,
    *,
    is_refuting: bool = True,
    scenario: Scenario | None = None,
) -> Linted:
    """Run ``rules`` and apply the waivers; ``costs``, ``is_refuting`` and ``scenario`` as for ``lint``."""
    scenario = scenario or lasting_scenario(manifests, cluster, options)
    report, results = lint(manifests, cluster, options, rules, costs, is_refuting=is_refuting, scenario=scenario)
    return Linted(suppress(report, manifests, rulebook, rules, options), results, scenario)
