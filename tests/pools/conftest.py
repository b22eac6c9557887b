"""Sets and clusters from text, and what a plan adds as counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from textwrap import dedent

import pytest

from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.engine.placing.growth.growth import growth_plan
from kubesched_lint.engine.placing.growth.plan import Plan
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.findings import Finding
from kubesched_lint.linter.lint import lint
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import ManifestSet, manifest_set
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.sources.clusters.read import cluster_from
from kubesched_lint.sources.manifests.loader import documents


def read_set(text: str) -> ManifestSet:
    found = manifest_set(documents("set.yaml", dedent(text).encode(), is_read), "default")
    assert not found.errors
    return found


@pytest.fixture
def facts_of() -> Callable[[str, str], Scenario]:
    def make(manifests: str, cluster: str) -> Scenario:
        known = cluster_from([("cluster.yaml", dedent(cluster).encode())], "cluster.yaml")
        return Scenario(read_set(manifests).inventory, known)

    return make


@pytest.fixture
def plan_of(facts_of: Callable[[str, str], Scenario]) -> Callable[[str, str], Plan]:
    return lambda manifests, cluster: growth_plan(facts_of(manifests, cluster))


@pytest.fixture
def findings_of() -> Callable[..., dict[str, Finding]]:
    """Rule → finding under the default profile; a rule speaks at most once in these tests."""

    def find(manifests: str, cluster: str, **options: object) -> dict[str, Finding]:
        known = cluster_from([("cluster.yaml", dedent(cluster).encode())], "cluster.yaml")
        chosen = Options(**options)  # type: ignore[arg-type]
        rules = Rulebook.shipped().select(chosen.profile, chosen.select, chosen.ignore)
        report, _ = lint(read_set(manifests), known, chosen, rules)
        assert not report.errors, report.errors
        return {finding.rule: finding for finding in report.findings}

    return find


@pytest.fixture
def deployment() -> Callable[..., str]:
    """A Deployment as YAML; ``pod`` are further lines of its pod spec."""

    def write(name: str = "web", replicas: int = 1, cpu: str = "1", pod: str = "") -> str:
        return "\n".join(_lines(name, replicas, cpu, pod))

    return write


def _lines(name: str, replicas: int, cpu: str, pod: str) -> Iterator[str]:
    yield "---"
    yield "apiVersion: apps/v1"
    yield "kind: Deployment"
    yield f"metadata: {{name: {name}, namespace: shop}}"
    yield "spec:"
    yield f"  replicas: {replicas}"
    yield f"  selector: {{matchLabels: {{app: {name}}}}}"
    yield "  template:"
    yield f"    metadata: {{labels: {{app: {name}}}}}"
    yield "    spec:"
    yield from (f"      {line}" for line in dedent(pod).strip("\n").splitlines())
    yield "      containers:"
    yield f'      - {{name: main, image: "registry.example.com/main:1", resources: {{requests: {{cpu: "{cpu}"}}}}}}'
