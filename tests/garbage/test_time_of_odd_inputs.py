"""Four times the input costs at most eight times the work: what grew with the square of it once.

Measured within one run and as the least of three, so that a busy machine slows both sides. Work with the square of the
input would come to sixteen times.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import islice

import pytest

from kubesched_lint import lint, load_cluster, simulate
from kubesched_lint.engine.apiserver.refusals import affordable
from kubesched_lint.engine.cluster.cluster import ClusterError
from kubesched_lint.engine.controllers.replicaset import draws
from kubesched_lint.linter.reading import wrong_types
from kubesched_lint.linter.waivers.waivers import find_waivers
from kubesched_lint.sources.clusters.read import cluster_from
from tests.garbage.garbage import ZONES

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n"
SKETCH = "apiVersion: kubesched-lint/v1\nkind: ClusterSketch\nnodes:\n"


def linted(text: str) -> None:
    lint(text=text, profile="strict")


def sketched(text: str) -> None:
    try:
        cluster_from([("c.yaml", text.encode())], "c.yaml")
    except ClusterError:
        pass


CASES: dict[str, tuple[Callable[[str], object], Callable[[int], str], int]] = {
    "braces that never close, of a wrong type": (
        linted,
        lambda n: f'{POD}  priority: "{"{{" * n}\\nx"\n',
        8_000,
    ),
    "braces that never close, on the line of a wrong type": (
        linted,
        lambda n: f'{POD}  priority: "a" # {"{{" * n}\n',
        8_000,
    ),
    "waivers in a block of comments": (find_waivers, lambda n: "# kubesched: ignore[x]\n" * n, 1_500),
    "waivers behind brackets": (find_waivers, lambda n: f"# kubesched: ignore[x]\n{'[' * n}", 15_000),
    "a waiver behind quotes": (find_waivers, lambda n: "{" + '"#",' * n + "} # kubesched: ignore[x]", 3_000),
    "zones of a sketch": (
        sketched,
        lambda n: f"{SKETCH}- name: a\n  zones: [{', '.join(f'a{i}' for i in range(n))}]\n",
        2_000,
    ),
}


def spent(work: Callable[[str], object], text: str) -> float:
    """Seconds of CPU, the least of three times."""
    times = []
    for _ in range(3):
        start = time.process_time()
        work(text)
        times.append(time.process_time() - start)
    return min(times)


@pytest.mark.parametrize("name", CASES)
def test_work_grows_no_faster_than_the_input(name: str) -> None:
    work, text, size = CASES[name]
    work(text(1))  # what is imported and remembered is not counted
    least = 0.002  # below, the clock says more than the work
    assert spent(work, text(4 * size)) <= 8 * max(least, spent(work, text(size)))


def test_a_large_document_is_not_read_again_and_again_for_each_wrong_type(monkeypatch: pytest.MonkeyPatch) -> None:
    """Aliases make of 9 KiB a document of 90,000 values, all of which are wrong."""
    readings = []
    decode = wrong_types.decode_object
    monkeypatch.setattr(wrong_types, "decode_object", lambda *given: (readings.append(1), decode(*given))[1])
    wrong = ", ".join(f"a{i}: []" for i in range(300))
    limits = "  - {name: a, image: b, resources: {limits: *e}}\n" * 300
    report = lint(text=f"x: &e {{{wrong}}}\n{POD}  containers:\n{limits}", select=["pvc-missing"])
    assert len(report.errors) == 1 + len(readings) == 1 + affordable([[1] * 301] * 300)
    readings.clear()
    small = lint(text=f"{POD}  containers: [{{resources: {{limits: {{{wrong}}}}}}}]\n", select=["pvc-missing"])
    assert len(small.errors) == 1 + len(readings) == 51


def test_ways_to_delete_are_looked_at_one_by_one() -> None:
    """There are more of them than atoms: 2,000 nodes with a pod each, of which half go."""
    nodes = [(node, 1) for node in range(2_000)]
    first, second = islice(draws(nodes, 1_000), 2)
    assert first == tuple((node, 1) for node in range(1_000, 2_000))
    assert second == ((999, 1), *first[1:])


def test_all_ways_are_there_once_and_none_where_too_few_are_held() -> None:
    found = list(draws([(0, 2), (1, 1), (2, 3)], 3))
    assert len(found) == len(set(found)) == 6
    assert all(sum(here for _, here in drawn) == 3 for drawn in found)
    assert list(draws([(0, 2)], 0)) == [()]
    assert list(draws([(0, 2)], 3)) == []


BILLIONS = """\
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: a}
spec:
  replicas: 2147483647
  podManagementPolicy: POLICY
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec:
      containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]
  volumeClaimTemplates:
  - metadata: {name: d}
    spec: {accessModes: [ReadWriteOnce], storageClassName: x, resources: {requests: {storage: 1Gi}}}
"""


def test_nor_of_the_nodes_that_pools_would_add() -> None:
    cluster = load_cluster(text=f"{SKETCH}- name: x\npools:\n- {{name: q, shapes: [m5.large]}}\n")
    text = BILLIONS.replace("POLICY", "Parallel").partition("  volumeClaimTemplates")[0]
    report = lint(text=text, cluster=cluster)
    assert report.summary.workloads == 1
    assert not report.errors


@pytest.mark.parametrize("policy", ["OrderedReady", "Parallel"])
@pytest.mark.parametrize("claims", [True, False])
def test_nobody_counts_through_billions_of_replicas(policy: str, claims: bool) -> None:
    text = BILLIONS.replace("POLICY", policy)
    text = text if claims else text.partition("  volumeClaimTemplates")[0]
    cluster = load_cluster(ZONES)
    assert not lint(text=text, cluster=cluster, profile="strict").errors
    assert [o.verdict for o in simulate(text=text, cluster=cluster, events=["deploy"], states=50).outcomes] == ["bad"]
