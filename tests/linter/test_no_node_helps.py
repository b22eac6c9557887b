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
