"""Whom a term selects is looked up by label: no question walks all pods, and none is asked twice."""

from __future__ import annotations

from typing import Any

import pytest

import kubesched_lint
from kubesched_lint.commands.simulate.run import simulate
from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.cluster.selecting.postings import HeldTerms
from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.events.start import coupling, simulated_set
from kubesched_lint.engine.events.start.coupling import PodSelection, selecting_terms
from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.labels import Requirement, Selector
from kubesched_lint.engine.model.pod import Pod, PodAffinityTerm
from kubesched_lint.engine.scheduler.plugins.inter_pod_affinity import selects_pod
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import manifest_set
from kubesched_lint.sources.manifests.loader import documents
from tests.hostile.shapes import SHAPES


class Counting:
    """``selects_pod``, and how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, *args: Any) -> bool:
        self.asked += 1
        return selects_pod(*args)


def asked_in_a_simulation(monkeypatch: pytest.MonkeyPatch, shape: str, size: int) -> int:
    files, counting = SHAPES[shape].make(size), Counting()
    for module in (coupling, simulated_set):
        monkeypatch.setattr(module, "selects_pod", counting)
    cluster = kubesched_lint.load_cluster(text={"c.yaml": files.cluster})
    simulate(manifest_set(documents("m.yaml", files.manifests.encode(), is_read), "default"), cluster, Options())
    return counting.asked


@pytest.mark.parametrize("shape", ["ring", "star"])
def test_twice_as_many_workloads_ask_about_twice_as_many_pairs(monkeypatch, shape):
    small, large = (asked_in_a_simulation(monkeypatch, shape, size) for size in (4, 8))
    assert large < 2.7 * small


def test_what_is_found_by_label_is_what_asking_each_finds():
    requirements = [
        Requirement("app", "In", ("a",)),
        Requirement("app", "In", ("a", "b")),
        Requirement("app", "NotIn", ("a",)),
        Requirement("tier", "Exists", ()),
    ]
    terms = [PodAffinityTerm("zone", Selector((one, *more))) for one in requirements for more in ((), requirements[:1])]
    labels = [{"app": "a"}, {"app": "b", "tier": "x"}, {"tier": "x"}, {"app": "a", "tier": "y"}, {}]
    pods = [
        Pod(namespace=namespace, labels=own, required_anti_affinity=(terms[i], terms[-1 - i], terms[i]))
        for i, own in enumerate(labels)
        for namespace in ("n", "m")
    ]
    state = ClusterState(NodeIndex(()), Inventory(), kubernetes_version="1.36")
    selection, held = PodSelection(pods, state), HeldTerms[int]()
    for number, pod in enumerate(pods):
        held.add(number, pod)
    for term in terms:
        assert selection.of(term, "n") == tuple(i for i, p in enumerate(pods) if selects_pod(term, "n", p, state))
        both = [i for i in selection.of(term, "m") if i in selection.of(terms[1], "m")]
        assert list(selection.of_all([term, terms[1]], "m")) == both
    for pod in pods:
        found = sorted((i, str(t)) for t, holders in selecting_terms(held, pod, state) for i in holders)
        asked = [(i, t) for i, holder in enumerate(pods) for t in dict.fromkeys(holder.required_anti_affinity)]
        assert found == sorted((i, str(t)) for i, t in asked if selects_pod(t, pods[i].namespace, pod, state))
