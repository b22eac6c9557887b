"""Lint, simulate, why, trials and the exhaustive reference agree where pods have claims for devices.

``python -m tests.worlds.run --devices`` tries more worlds, and so do ``--shared``, ``--varied``, ``--choices``,
``--failing``, ``--partitions``, ``--shares``, ``--resources`` and ``--contested``.
"""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from kubesched_lint.engine.events.answers.cells import BAD, DEPENDS, FINE, UNKNOWN
from kubesched_lint.engine.events.start.timelines import timeline_of
from kubesched_lint.engine.events.states import device_holdings as holdings
from kubesched_lint.engine.placing.from_scenario import simulated_set_of
from kubesched_lint.engine.runs.event_outcomes import EventOutcomes
from tests.share import some
from tests.worlds.agreement import Reading, contradictions
from tests.worlds.devices import (
    with_choices,
    with_contested_resources,
    with_devices,
    with_failing_selectors,
    with_partitions,
    with_resources,
    with_shared_claims,
    with_shares,
    with_varied_claims,
)
from tests.worlds.generator import World
from tests.worlds.inventory import RESOURCE
from tests.worlds.reference import outcomes

HELD = (35, 37, 41, 77, 78, 79)
"""Worlds in which running pods hold devices."""
SHARED_BY = (3, 41, 43)
"""Worlds in which running pods share a claim."""
OLD_PODS = (52, 64)
"""Worlds in which running pods have other claims than those of the manifest: they showed a wrong bound."""
PLUGGED, CONTESTED = (18, 19, 21, 27), (3, 18, 40, 41)
"""Worlds in which some nodes have a device plugin and others have devices."""
FAILING = (18, 50, 53, 74)
"""Worlds in which a selector fails on some device of a node that other pods may take."""
PREEMPTING = (574, 1253)
"""Worlds where it matters which device a pod has, and pods preempt others."""
UNDER_A_QUOTA = (781084,)
"""A world where a quota grants all pods to those who come first, and the devices are too few for them."""
FOUND = (259,)
"""Worlds that showed a wrong answer."""


def test_what_is_said_of_a_world_with_devices_is_not_contradicted() -> None:
    found = {
        seed: contradictions(with_devices(seed), thorough=seed % 12 == 0) for seed in (*some(range(16)), *HELD, *FOUND)
    }
    assert {seed: [str(one) for one in wrong] for seed, wrong in found.items() if wrong} == {}
    assert all(with_devices(seed).objects("ResourceClaim") for seed in HELD)


def test_what_is_said_of_claims_that_pods_share_is_not_contradicted() -> None:
    found = {
        seed: contradictions(with_shared_claims(seed), thorough=seed % 4 == 0) for seed in (*some(range(3)), *SHARED_BY)
    }
    assert {seed: [str(one) for one in wrong] for seed, wrong in found.items() if wrong} == {}
    shared = [with_shared_claims(seed).objects("ResourceClaim") for seed in SHARED_BY]
    assert all(any("status" in one and "ownerReferences" not in one["metadata"] for one in each) for each in shared)


def test_what_is_said_of_constraints_alternatives_and_all_devices_is_not_contradicted() -> None:
    seeds = (*some(range(4)), *OLD_PODS, *UNDER_A_QUOTA)
    found = {seed: contradictions(with_varied_claims(seed), thorough=seed in OLD_PODS) for seed in seeds}
    assert {seed: [str(one) for one in wrong] for seed, wrong in found.items() if wrong} == {}


def test_what_is_said_where_it_matters_which_device_a_pod_has_is_not_contradicted() -> None:
    makers = {with_choices: (5, 6, 8, 9, *PREEMPTING), with_partitions: (0, 3, 930195), with_shares: (0, 3)}
    worlds = [maker(seed) for maker, seeds in makers.items() for seed in seeds]
    assert [[str(one) for one in contradictions(world)] for world in worlds] == [[]] * len(worlds)
    assert all(cell.verdict != UNKNOWN for world in worlds for cell in Reading(world).cells().values())


def test_what_is_said_where_a_selector_fails_on_a_device_is_not_contradicted() -> None:
    worlds = [with_failing_selectors(seed) for seed in FAILING]
    assert [[str(one) for one in contradictions(world, thorough=True)] for world in worlds] == [[]] * len(worlds)
    said = [cell for world in worlds for cell in Reading(world).cells().values()]
    assert any("CEL runtime error: no such key: model" in cell.message for cell in said)
    assert {cell.verdict for cell in said} == {BAD, DEPENDS, FINE}


def test_running_pods_that_share_a_device_of_the_network_are_not_tied_to_a_node() -> None:
    assert [str(one) for one in contradictions(with_choices(770020))] == []


def test_what_is_said_of_extended_resources_is_not_contradicted() -> None:
    """Some nodes have a device plugin, on the others a class serves the resource."""
    worlds = [*map(with_resources, PLUGGED), *map(with_contested_resources, CONTESTED)]
    assert [[str(one) for one in contradictions(world, thorough=True)] for world in worlds] == [[]] * len(worlds)
    assert all(_mixes_plugins_and_devices(world) for world in worlds)
    assert all(cell.verdict != UNKNOWN for world in worlds for cell in Reading(world).cells().values())


def test_a_daemonset_that_lacks_devices_may_want_no_pod_after_the_loss_of_a_zone() -> None:
    """Its nodes are in one zone: "0–1 of 2" excluded that nothing is missing without that zone."""
    assert [str(one) for one in contradictions(with_contested_resources(3200079), thorough=True)] == []


def _mixes_plugins_and_devices(world: World) -> bool:
    nodes = {node["metadata"]["name"]: RESOURCE in node["status"]["allocatable"] for node in world.objects("Node")}
    served = {each["spec"].get("nodeName") for each in world.objects("ResourceSlice")}
    asked = any(RESOURCE in json.dumps(value) for value in world.manifests)
    return asked and any(nodes.values()) and any(not nodes[name] for name in served if name)


def test_searches_with_the_allocators_own_choice_end_as_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holdings, "every_choice", holdings.own_choice)
    makers = {with_choices: (0, 9), with_partitions: (0, 3, 5), with_shares: (0, 3)}
    compared = 0
    for world in (maker(seed) for maker, seeds in makers.items() for seed in seeds):
        setting, truth = simulated_set_of(Reading(world).believed), outcomes(world)
        members = range(len(setting.workloads))
        timeline = timeline_of(setting, members, expected=False, most_states=4_000)
        found = EventOutcomes(setting, members, [timeline], ())
        for number in members:
            ends = found.ends("deploy", number)
            assert setting.names_devices
            assert ends is not None
            assert truth is not None
            here = truth.of[str(setting.workloads[number])]
            assert {end.outcome.bound for end in ends} == {end.bound for end in here.ends}
            compared += len(here.ends) > 1
    assert compared > 1


def test_devices_decide_in_many_worlds_and_most_cells_are_answered() -> None:
    decided = answered = cells = 0
    for seed in range(16):
        world = with_devices(seed)
        with_them, without = outcomes(world), outcomes(_without_claims(world))
        decided += with_them is not None and without is not None and with_them.rows != without.rows
        found = Reading(world).cells().values()
        cells += len(found)
        answered += sum(cell.verdict != UNKNOWN for cell in found)
    assert decided > 4
    assert answered > cells / 2


def _without_claims(world: World) -> World:
    manifests = json.loads(json.dumps(world.manifests))
    for value in manifests:
        spec = value.get("spec", {})
        spec.get("template", {}).get("spec", spec).pop("resourceClaims", None)
    return replace(world, manifests=manifests)
