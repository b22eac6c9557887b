"""Nodes that look alike get one search: every node must get what a search of its own would give."""

from __future__ import annotations

import random
from typing import Any

import pytest
from msgspec.structs import replace

from kubesched_lint.engine.base.work import OutOfWorkError, within
from kubesched_lint.engine.cluster.devices import Devices
from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.cluster.nodeset import positions
from kubesched_lint.engine.model.devices.devices import DeviceClass
from kubesched_lint.engine.model.nodes.node import Node
from kubesched_lint.engine.model.pod import Pod, PodClaim
from kubesched_lint.engine.scheduler.devices import allocator, answers
from kubesched_lint.engine.scheduler.devices.allocator import Search, candidates
from kubesched_lint.engine.scheduler.devices.answers import NOT_ALL
from kubesched_lint.engine.scheduler.devices.attempt import Attempt
from kubesched_lint.engine.scheduler.devices.failures import AllocationError, NodeError, UndecidedError
from kubesched_lint.engine.scheduler.devices.pools.pools import Offers, Pool
from kubesched_lint.engine.scheduler.devices.pools.taken import Taken
from kubesched_lint.engine.scheduler.devices.selectors.selectors import Selectors
from tests.devices.inventories import DRIVER, GPU, Value, ask, claim_of, slice_of

NODES = 8
READS_ALL = f'device.attributes["{DRIVER}"].exists(name, name == "odd")'
EXPRESSIONS = [
    f'device.attributes["{DRIVER}"].model == "a"',
    f'has(device.attributes["{DRIVER}"].odd)',
    f'device.attributes["{DRIVER}"].numa == 1',  # fails where a device has none
    READS_ALL,
]


def device(draw: random.Random, name: str) -> Value:
    found: Value = {"name": name, "attributes": {"uuid": {"string": str(draw.random())}}}
    found["attributes"]["model"] = {"string": draw.choice("ab")}
    if draw.random() < 0.9:
        found["attributes"]["numa"] = {"int": draw.randrange(2)}
    if draw.random() < 0.1:
        found["attributes"]["odd"] = {"bool": True}
    if draw.random() < 0.15:
        found["taints"] = [{"key": "k", "effect": "NoSchedule"}]
    if draw.random() < 0.3:
        found["capacity"] = {"bw": {"value": str(draw.randrange(1, 3))}}
        found["allowMultipleAllocations"] = draw.random() < 0.5
    return found


def network(draw: random.Random) -> Value:
    place = draw.choice(["all", "label", "device"])
    if place == "all":
        return {"allNodes": True}
    if place == "device":
        return {"perDeviceNodeSelection": True}
    term = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["z0"]}]}
    return {"nodeSelector": {"nodeSelectorTerms": [term]}}


def inventory(draw: random.Random) -> list[Any]:
    found = []
    for n in range(NODES):
        counted = draw.random() < 0.5
        pool = {"name": draw.choice(["p", f"p{n}"]) if draw.random() < 0.2 else f"p{n}"}
        pool["resourceSliceCount"] = 2 if counted or draw.random() < 0.05 else 1
        devices = [device(draw, f"d{i}" if draw.random() < 0.5 else f"d{i}-{n}") for i in range(draw.randrange(1, 3))]
        if counted:
            for each in devices:
                amount = {"units": {"value": str(draw.randrange(1, 3))}}
                each["consumesCounters"] = [{"counterSet": "set", "counters": amount}]
            sets = [{"name": "set", "counters": {"units": {"value": "3"}}}]
            found.append(slice_of([], f"c{n}", pool=pool, nodeName=f"n{n}", sharedCounters=sets))
        found.append(slice_of(devices, f"s{n}", pool=pool, nodeName=f"n{n}"))
    if draw.random() < 0.6:
        place, devices = network(draw), [device(draw, f"x{i}") for i in range(2)]
        if "perDeviceNodeSelection" in place:
            devices = [{**each, "nodeName": f"n{draw.randrange(NODES)}"} for each in devices]
        found.append(slice_of(devices, "net", pool={"name": "net"}, **place))
    return found


def request(draw: random.Random, name: str) -> Value:
    more: Value = {}
    if draw.random() < 0.4:
        more["selectors"] = [{"cel": {"expression": draw.choice(EXPRESSIONS)}}]
    if draw.random() < 0.3:
        more["tolerations"] = [{"operator": "Exists"}]
    if draw.random() < 0.15:
        return ask(name, allocationMode="All", count=None, **more)
    return ask(name, count=draw.randrange(1, 3), **more)


def claim(draw: random.Random, name: str) -> Any:
    wanted = [request(draw, f"r{i}") for i in range(draw.randrange(1, 3))]
    if draw.random() < 0.3:
        each = [request(draw, f"s{i}") for i in range(2)]
        wanted.append({"name": "f", "firstAvailable": [{**one["exactly"], "name": one["name"]} for one in each]})
    rules = [{draw.choice(["matchAttribute", "distinctAttribute"]): f"{DRIVER}/numa"}] if draw.random() < 0.4 else []
    return claim_of(*wanted, name=name, constraints=rules)


def by_itself(devices: Devices, index: NodeIndex, position: int, name: str) -> str:
    """The answer of one node by a search of its own, with nothing remembered."""
    offers, wanted = Offers(devices.slices, index), [devices.claims["default", name]]
    search = Search(
        position,
        wanted,
        devices.classes.get,
        offers,
        Taken([c.allocation for c in devices.claims.values() if c.allocation]),
        Selectors(),
    )
    try:
        if not search.run():
            return NOT_ALL
    except AllocationError as error:
        return f'running "DynamicResources" filter plugin: {error}'
    except NodeError as error:
        return str(error)
    found = candidates(offers.pools(position))
    return str([[(given.result.request, found[given.place].id) for given in each] for each in search.result])


def answer_of(attempt: Attempt, position: int) -> str:
    found = attempt.on(position)
    if found.reason:
        return found.reason
    held = [claim.allocation.devices if claim.allocation else () for claim in found.claims]
    return str([[(each.request, each.id) for each in devices] for devices in held])


@pytest.mark.parametrize("seed", range(80))
def test_every_node_gets_what_a_search_of_its_own_gives(seed: int) -> None:
    """Five claims are allocated one after another, and some are freed, so that other devices are taken in between."""
    draw = random.Random(seed)
    index = NodeIndex([Node(f"n{n}", labels={"zone": f"z{n % 2}"}) for n in range(NODES)])
    claims = [claim(draw, f"c{i}") for i in range(5)]
    devices = Devices({"gpu": GPU}, tuple(inventory(draw)), claims={(c.namespace, c.name): c for c in claims})
    for each in claims:
        attempt = Attempt(Pod("default", {}, resource_claims=(PodClaim("x", claim=each.name),)), devices, index)
        expected = [by_itself(devices, index, position, each.name) for position in range(NODES)]
        groups = list(attempt.groups(index.all))
        assert sum(nodes.bit_count() for nodes, _ in groups) == NODES
        for nodes, found in groups:
            for position in positions(nodes):
                assert (found.reason or "given") == (expected[position] if found.reason else "given")
        assert [answer_of(attempt, position) for position in range(NODES)] == expected
        given = [position for position in range(NODES) if attempt.on(position).is_given]
        if given:
            devices = devices.with_claims(attempt.on(draw.choice(given)).claims)
        if draw.random() < 0.3:
            freed = devices.claims["default", draw.choice(claims).name]
            devices = devices.with_claims([replace(freed, allocation=None)])


def counted(node: str, units: int = 4, driver: str = DRIVER, pool: str = "p") -> list[Any]:
    """A pool with one device that takes 3 of its counter."""
    whole = {"name": pool, "resourceSliceCount": 2}
    used = [{"counterSet": "set", "counters": {"units": {"value": "3"}}}]
    sets = [{"name": "set", "counters": {"units": {"value": str(units)}}}]
    more = {"pool": whole, "nodeName": node, "driver": driver}
    devices = [{"name": "d", "consumesCounters": used}]
    return [slice_of([], f"{node}{driver}c", sharedCounters=sets, **more), slice_of(devices, f"{node}{driver}", **more)]


@pytest.mark.parametrize(
    ("slices", "count"),
    [
        ([*counted("n0"), *counted("n1", units=2, pool="q")], 1),
        # Pools of one name share an account of counters.
        (
            [
                *counted("n0", pool="q"),
                *counted("n0", driver="e"),
                *counted("n1", pool="r"),
                *counted("n1", 4, "e", "r"),
            ],
            2,
        ),
        (
            [
                slice_of([{"name": "d", "allowMultipleAllocations": True}], "a", pool={"name": "q"}, nodeName="n0"),
                slice_of([{"name": "d"}], "b", nodeName="n1"),
            ],
            2,
        ),
    ],
    ids=["counters", "names of pools", "shared"],
)
def test_only_the_first_node_gives(slices: list[Any], count: int) -> None:
    index = NodeIndex([Node("n0"), Node("n1")])
    claims = [claim_of(*(ask(f"r{i}") for i in range(count)), name="c")]
    devices = Devices({"gpu": DeviceClass("gpu")}, tuple(slices), claims={("default", "c"): claims[0]})
    found = Attempt(Pod("default", {}, resource_claims=(PodClaim("x", claim="c"),)), devices, index)
    assert {nodes: given.is_given for nodes, given in found.groups(index.all)} == {1: True, 2: False}


def test_one_search_serves_all_nodes_that_look_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ids that nobody reads do not tell devices apart; those that a selector may read do."""
    searched: list[int] = []

    class Noting(Search):
        def run(self) -> bool:
            searched.append(self._position)
            return super().run()

    monkeypatch.setattr(answers, "Search", Noting)
    index = NodeIndex([Node(f"n{n}") for n in range(20)])
    slices = tuple(
        slice_of([{"name": f"gpu-{n}", "attributes": {"uuid": {"int": n}, "model": {"string": "a"}}}], f"s{n}",
                 pool={"name": f"p{n}"}, nodeName=f"n{n}")
        for n in range(20)
    )  # fmt: skip
    selectors = {"model": EXPRESSIONS[0], "all": READS_ALL}
    claims = [claim_of(ask(selectors=[{"cel": {"expression": text}}]), name=name) for name, text in selectors.items()]
    devices = Devices({"gpu": GPU}, slices, claims={(c.namespace, c.name): c for c in claims})

    def searches(name: str, devices: Devices) -> int:
        searched.clear()
        attempt = Attempt(Pod("default", {}, resource_claims=(PodClaim("x", claim=name),)), devices, index)
        assert sum(nodes.bit_count() for nodes, _ in attempt.groups(index.all)) == 20
        return len(searched)

    assert searches("model", devices) == 1
    assert searches("model", devices) == 0
    assert searches("all", devices) == 1, "all devices have the same outcome"


def test_work_that_runs_out_leaves_nothing_behind() -> None:
    """A search that ends for lack of steps is not remembered; one that is undecided is."""
    index = NodeIndex([Node("n0")])
    wanted = claim_of(ask(count=8), ask("s", selectors=[{"cel": {"expression": 'device.driver == "none"'}}]))
    slices = (slice_of([{"name": f"d{i}"} for i in range(12)]),)
    devices = Devices({"gpu": GPU}, slices, claims={("default", "c"): wanted})
    pod = Pod("default", {}, resource_claims=(PodClaim("x", claim="c"),))
    with pytest.raises(OutOfWorkError), within(500):
        Attempt(pod, devices, index).on(0)
    assert Attempt(pod, devices, index).on(0).reason == NOT_ALL


def test_an_undecided_search_runs_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allocator, "MOST_TRIES", 200)
    index = NodeIndex([Node("n0"), Node("n1")])
    wanted = claim_of(ask(count=8), ask("s", selectors=[{"cel": {"expression": 'device.driver == "none"'}}]))
    slices = tuple(
        slice_of([{"name": f"d{i}"} for i in range(30)], f"s{n}", pool={"name": f"p{n}"}, nodeName=f"n{n}")
        for n in range(2)
    )
    devices = Devices({"gpu": GPU}, slices, claims={("default", "c"): wanted})
    pod = Pod("default", {}, resource_claims=(PodClaim("x", claim="c"),))
    with pytest.raises(UndecidedError, match="takes more than 200 tries"):
        Attempt(pod, devices, index).on(0)
    monkeypatch.setattr(answers, "Search", None)
    with pytest.raises(UndecidedError, match="takes more than 200 tries"):
        Attempt(pod, devices, index).on(1)


def test_what_is_taken_of_a_pool_is_not_told_of_another_at_its_address() -> None:
    """Other nodes make other pools of the same name, while the claims stay."""
    allocation = claim_of(
        ask(), status={"allocation": {"devices": {"results": [{"driver": DRIVER, "pool": "p", "device": "d1"}]}}}
    ).allocation
    assert allocation is not None
    taken = Taken([allocation])
    for i in range(50):
        pool = Pool(DRIVER, "p", (slice_of([{"name": f"d{j}"} for j in range(i % 3, 4)]),))
        assert taken.in_pool(pool) == Taken([allocation]).in_pool(pool)
        del pool
