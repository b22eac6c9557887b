"""Pods that lack an object of the cluster wait on every node: no autoscaler's node is a premise of that."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from kubesched_lint.findings import Finding, Severity
from kubesched_lint.linter.lint_text import lint_example
from kubesched_lint.rulebook.examples import Example, rules_for
from tests.rulebook.shipped_cards import TRIAL

RULES = ("priority-class-missing", "runtime-class-missing", "pvc-missing", "storageclass-missing")


def on_growing_nodes(slug: str) -> Iterator[tuple[Example, Finding]]:
    for example in TRIAL.examples:
        if example.slug == slug and example.cluster is not None:
            grows = replace(example, setting=replace(example.setting, elastic=True))
            report = lint_example(grows, rules_for(example, TRIAL.book), TRIAL.book)
            yield from ((example, found) for found in report.findings if found.rule == slug)


@pytest.mark.parametrize("slug", RULES)
def test_a_missing_object_is_missing_whatever_nodes_come(slug: str) -> None:
    found = list(on_growing_nodes(slug))
    assert any(finding.severity is Severity.ERROR for _, finding in found)
    for example, finding in found:
        assert "autoscaler" not in " ".join(finding.evidence.assumes), example


def test_pods_that_need_a_zone_each_are_helped_by_a_node_in_another_zone() -> None:
    for slug in ("anti-affinity-exceeds-domains", "anti-affinity-hpa-max-exceeds-domains", "rollout-surge-deadlock"):
        told = [p for _, found in on_growing_nodes(slug) for p in found.evidence.assumes if "autoscaler" in p]
        assert any(premise.startswith("no autoscaler adds a node in another zone (") for premise in told), slug
