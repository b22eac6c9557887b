"""Upstream's table test of the plugin DynamicResources: the decisions of all its cases, not what it writes."""

from __future__ import annotations

from collections import Counter

import pytest
from msgspec.structs import replace

from kubesched_lint.engine.base.releases import RECORDED
from kubesched_lint.engine.cluster.devices import Devices
from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.cluster.nodeset import positions
from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.nodes.node import Node
from kubesched_lint.engine.model.pod import Container, Pod, PodClaim, SchedulerProfile
from kubesched_lint.engine.model.resources import device_class_resources
from kubesched_lint.engine.scheduler.plugins import dynamic_resources as plugin
from kubesched_lint.engine.scheduler.scores.dynamic_resources import DynamicResources
from kubesched_lint.engine.scheduler.scoring import score
from tests.devices.retold import Value, cases, claim_of, class_of, slice_of

MODELLED = {name: case for name, case in cases("plugin").items() if "unmodelled" not in case}


def pod_of(case: Value) -> Pod:
    asks: list[dict[str, int]] = case.get("asks", [])
    requests = Counter[str]()
    for each in asks:
        requests.update(each)
    return Pod(
        "default",
        {},
        containers=tuple(Container(f"c{i}", requests=each) for i, each in enumerate(asks)),
        requests=dict(requests),
        resource_claims=tuple(PodClaim(name, claim=name) for name in case.get("uses", ())),
    )


def state_of(case: Value) -> ClusterState:
    """Nodes n1, n2, … as the slices name them; n1 alone has what a device plugin offers."""
    count = max([1, *(int(each["at"][1:]) for each in case.get("slices", ()) if isinstance(each["at"], str))])
    nodes = [
        Node(f"n{i}", labels={"host": f"n{i}"}, allocatable=case.get("offers", {}) if i == 1 else {})
        for i in range(1, count + 1)
    ]
    classes = {name: class_of(name, what) for name, what in case.get("classes", {}).items()}
    index = NodeIndex(nodes, device_class_resources(classes.values(), RECORDED))
    claims = [claim_of(each) for each in case.get("claims", ())]
    state = ClusterState(index, Inventory(nodes=index.nodes))
    state.devices = Devices(
        classes,
        tuple(slice_of(each) for each in case.get("slices", ())),
        claims={(claim.namespace, claim.name): claim for claim in claims},
    )
    return state


@pytest.mark.parametrize("name", MODELLED)
def test_case(name: str) -> None:
    case, pod, state = MODELLED[name], pod_of(MODELLED[name]), state_of(MODELLED[name])
    attempt = plugin.attempt_of(pod, state)
    assert (attempt is None) == case.get("skips", False)
    if attempt is None:
        return
    assert bool(attempt.waits_for) == case.get("waits", False)
    if attempt.waits_for:
        return
    refusal = plugin.prefilter(pod, state)
    assert ("" if refusal is None else refusal.message) == case.get("refusal", "")
    if refusal is None:
        _judge_nodes(case, pod, state)
    if "post" in case:
        assert plugin.postfilter(pod, state, is_refused=refusal is not None) == case["post"]


def _judge_nodes(case: Value, pod: Pod, state: ClusterState) -> None:
    attempt, names = plugin.attempt_of(pod, state), state.index.names
    assert attempt is not None
    rejections = list(plugin.reject(pod, state, state.index.all))
    if "error" in case:
        assert [(each.reason, each.is_error) for each in rejections] == [
            (f'running "DynamicResources" filter plugin: {case["error"]}', True)
        ]
        return
    assert {names[at]: each.reason for each in rejections for at in positions(each.nodes)} == case.get("nodes", {})
    if case.get("gives") is not None:
        held = [one for claim in attempt.on(0).claims if claim.allocation for one in claim.allocation.devices]
        shown = [f"{one.request} {'/'.join(one.id)}{' admin' if one.admin_access else ''}" for one in held]
        assert shown == case["gives"]
    if "scores" in case:
        fitting = state.index.named(case["scores"])
        levels = DynamicResources(pod, state).levels(fitting)
        assert levels is not None
        assert {names[at]: points for points, nodes in levels.items() for at in positions(nodes)} == case["scores"]
        for weight, found in ((3, {name: 3 * each for name, each in case["scores"].items()}), (0, None)):
            weighed = replace(pod, profile=SchedulerProfile(weights={}, devices_weight=weight))
            assert score(weighed, state, fitting).by_plugin.get("DynamicResources") == found


def test_every_case_is_counted() -> None:
    reasons = Counter(case["unmodelled"] for case in cases("plugin").values() if "unmodelled" in case)
    assert (len(cases("plugin")), len(MODELLED)) == (86, 55)
    assert sum(n for reason, n in reasons.items() if reason.startswith("the gate ")) == 18
