"""Colours, words and exit codes of one run agree, and names that differ look different."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import kubesched_lint
from kubesched_lint.commands.simulate.run import simulate
from kubesched_lint.commands.simulate.simulation_report import SimulationReport
from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.engine.base.text import distinct_names
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import manifest_set
from kubesched_lint.report.html.matrix import table
from kubesched_lint.report.simulation.report import as_text
from kubesched_lint.report.wording.verdict_words import event_title
from kubesched_lint.sources.clusters.read import cluster_from
from kubesched_lint.sources.manifests.loader import documents

PACKAGE = Path(kubesched_lint.__file__).parent
GONE = re.compile(r"\b(domains?|forever|not established|not proven|would be an error|always bad|counting leaves)\b")
"""Words of earlier versions; what has spaces around them is read by people: *zone*, *node* or the key say more."""
QUOTES = (
    "engine/scheduler/pod_groups/pod_groups.py",
    "commands/verify/gangs.py",
    "engine/apiserver/",
    "rulebook/",
    "engine/scheduler/devices/selectors/cel.py",
)
"""Where the words are those of Kubernetes or of CEL."""
SKETCH = """\
apiVersion: kubesched-lint/v1
kind: ClusterSketch
nodes: [{name: w, count: 2, zones: [a], allocatable: {cpu: "2", memory: 4Gi, pods: "10"}}]
"""
WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: x, resources: {requests: {cpu: 1500m}}}]}
"""
WEB_REF = ObjectRef("Deployment", "shop", "web")


def cluster(elastic: bool) -> Cluster:
    return cluster_from([("c.yaml", SKETCH.encode())], "c.yaml", elastic=elastic)


def simulated(elastic: bool) -> SimulationReport:
    manifests = manifest_set(documents("web.yaml", WEB.encode(), is_read), "default")
    return simulate(manifests, cluster(elastic), Options(), ("deploy", "hpa-max"))


@pytest.mark.parametrize("elastic", [True, False])
def test_fails_is_said_exactly_where_the_exit_code_is_one(elastic: bool) -> None:
    result = simulated(elastic)
    text = as_text(result)
    assert result.is_bad is not elastic
    assert ("\nfails (!)\n  shop/web: " in text) is result.is_bad
    assert ("\nfails here, unless an autoscaler adds a node\n  shop/web: " in text) is not result.is_bad
    assert ("unless an autoscaler adds a node" in text) is not result.is_bad
    assert ("2/3!" in text) is result.is_bad
    assert "deploy 2/3" in as_text(result, verbose=True)


@pytest.mark.parametrize(("elastic", "errors", "color"), [
    (False, {WEB_REF}, "bad"), (False, set(), "bad-here"), (True, {WEB_REF}, "bad-here"),
])  # fmt: skip
def test_only_a_proven_cell_of_a_workload_with_an_error_is_red(
    elastic: bool, errors: set[ObjectRef], color: str
) -> None:
    page = "".join(table(simulated(elastic), errors))
    cells = re.findall(r'<td class="([a-z-]+)"><button', page)
    assert cells == [color]
    assert ("</b> fails: every order" in page) is (color == "bad")
    assert ("</b> fails here: ends badly with these files and nodes" in page) is (color == "bad-here")


def test_an_autoscaler_is_spelt_alike_in_text_and_page() -> None:
    assert event_title("hpa-max") == "HPA max"
    assert as_text(simulated(False)).startswith("                  HPA\n          deploy  max\n")
    assert "HPA max" in "".join(table(simulated(False), ()))


@pytest.mark.parametrize("names", [
    ["ip-10-0-1-17.eu-west-1.compute.internal", "ip-10-0-1-203.eu-west-1.compute.internal"],
    ["gke-prod-default-pool-a1b2c3d4-x7kq", "gke-prod-default-pool-a1b2c3d4-y7kq"],
    ["a-long-start-of-a-node-1-and-a-long-end-of-it", "a-long-start-of-a-node-2-and-a-long-end-of-it"],
    ["worker-1", "worker-11"],
])  # fmt: skip
def test_names_that_are_cut_stay_different(names: list[str]) -> None:
    cut = distinct_names(names, 17)
    assert len(set(cut.values())) == len(names)
    assert all(len(text) <= 17 for text in cut.values())


def test_the_domain_that_all_nodes_share_goes_first() -> None:
    names = ["ip-10-0-1-17.eu-west-1.compute.internal", "ip-10-0-1-203.eu-west-1.compute.internal"]
    assert list(distinct_names(names, 17).values()) == ["ip-10-0-1-17", "ip-10-0-1-203"]
    assert distinct_names(["alone.example.com"], 40) == {"alone.example.com": "alone.example.com"}


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the strings of a module with their lines, but for docstrings."""
    tree = ast.parse(path.read_text())
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node.lineno, node.value


def test_no_text_of_the_package_has_a_word_that_is_gone() -> None:
    found = [
        f"{path.relative_to(PACKAGE)}:{line}: {text}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if not str(path.relative_to(PACKAGE)).startswith(QUOTES)
        for line, text in texts(path)
        if " " in text and GONE.search(text)
    ]
    assert not found
