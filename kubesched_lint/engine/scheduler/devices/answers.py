"""What nodes give to the claims that must be allocated there: one search for all nodes that look alike."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from kubesched_lint.engine.cluster.devices import Devices
from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.cluster.nodeset import NodeSet, lowest, only, positions
from kubesched_lint.engine.model.devices.devices import AllocatedDevice, Device, DeviceClaim, ResourceSlice
from kubesched_lint.engine.model.pod import DEVICES_PLUGIN
from kubesched_lint.engine.scheduler.devices.alike import Look, Looks, claims_key
from kubesched_lint.engine.scheduler.devices.allocator import Given, Search, candidates
from kubesched_lint.engine.scheduler.devices.failures import AllocationError, LocalError, NodeError, UndecidedError
from kubesched_lint.engine.scheduler.devices.pools.pools import Offers
from kubesched_lint.engine.scheduler.devices.pools.taken import Taken
from kubesched_lint.engine.scheduler.devices.selectors.selectors import Selectors

NOT_ALL = "cannot allocate all claims"


class Answer(NamedTuple):
    """The devices of each claim, or the reason why a node gives none; an ``is_error`` ends the attempt."""

    reason: str = ""
    is_error: bool = False
    given: tuple[tuple[Given, ...], ...] = ()


class Placed(NamedTuple):
    """A device that a claim gets on a certain node, and where it is announced."""

    result: AllocatedDevice
    device: Device
    slice: ResourceSlice


_Shapes = dict[Hashable, tuple[Looks, dict[Look, Answer | UndecidedError]]]


class Answers:
    """What each node gives to some claims in one state of the devices."""

    def __init__(self, claims: Sequence[DeviceClaim], devices: Devices, index: NodeIndex) -> None:
        self.claims, self._classes = claims, devices.classes.get
        self._offers, self._selectors, self._taken = offers_of(devices, index), selectors_of(devices), taken_of(devices)
        known, key = _known(devices, index), claims_key(claims, self._classes)
        if key not in known:
            known[key] = Looks(claims, self._classes, self._offers, self._selectors), {}
        self._looks, self._known = known[key]
        self._errors: dict[Look, Answer | None] = {}
        """These name the claims; None if they name the node's devices, too."""

    def on(self, position: int) -> Answer:
        """Return what one node gives. Raises UndecidedError."""
        if not self.claims:
            return Answer()
        return self._answer(self._looks.look(position, self._taken), position) or self._searched(position)

    def groups(self, among: NodeSet) -> Iterator[tuple[NodeSet, Answer]]:
        """Yield nodes with the same answer. Raises UndecidedError."""
        if not self.claims:
            yield among, Answer()
            return
        for nodes, look in self._looks.groups(among, self._taken):
            answer = self._answer(look, lowest(nodes))
            if answer is not None:
                yield nodes, answer
            else:
                yield from ((only(position), self._searched(position)) for position in positions(nodes))

    def placed(self, answer: Answer, position: int) -> list[list[Placed]]:
        """Return the devices of an answer for each claim on a node that gives it."""
        in_order = candidates(self._offers.pools(position))
        return [
            [_placed(in_order[given.place].id, *in_order[given.place][1:3], given) for given in each]
            for each in answer.given
        ]

    def _answer(self, look: Look, position: int) -> Answer | None:
        """Return the answer of all nodes with this look; None if each has its own."""
        known = self._known.get(look)
        if known is None:
            if look in self._errors:
                return self._errors[look]
            try:
                known = self._known[look] = self._search(position)
            except LocalError:
                self._errors[look] = None
                return None
            except AllocationError as error:
                failure = self._errors[look] = _failed(error)
                return failure
            except UndecidedError as error:
                known = self._known[look] = error
        if isinstance(known, UndecidedError):
            raise known.with_traceback(None)
        return known

    def _searched(self, position: int) -> Answer:
        try:
            return self._search(position)
        except AllocationError as error:
            return _failed(error)

    def _search(self, position: int) -> Answer:
        search = Search(position, self.claims, self._classes, self._offers, self._taken, self._selectors)
        try:
            if search.run():
                return Answer(given=tuple(map(tuple, search.result)))
        except NodeError as error:
            return Answer(str(error))
        return Answer(NOT_ALL)


def _failed(error: AllocationError) -> Answer:
    return Answer(f'running "{DEVICES_PLUGIN}" filter plugin: {error}', is_error=True)


def _placed(at: tuple[str, str, str], device: Device, each: ResourceSlice, given: Given) -> Placed:
    driver, pool, name = at
    return Placed(replace(given.result, driver=driver, pool=pool, device=name), device, each)


def offers_of(devices: Devices, index: NodeIndex) -> Offers:
    """Return what each node can use; kept as long as slices and nodes are the same."""
    known = devices.lasting.get("offers")
    if known is None or known[0] is not index or known[1].slices is not devices.slices:
        known = devices.lasting["offers"] = (index, Offers(devices.slices, index), {})
    offers: Offers = known[1]
    return offers


def _known(devices: Devices, index: NodeIndex) -> _Shapes:
    """Return key of claims → how nodes look to them, and the answer for each look."""
    offers_of(devices, index)
    shapes: _Shapes = devices.lasting["offers"][2]
    return shapes


def selectors_of(devices: Devices) -> Selectors:
    selectors: Selectors = devices.lasting.setdefault("selectors", Selectors())
    return selectors


def taken_of(devices: Devices) -> Taken:
    """Return what the claims hold; the last answer is extended if it only lacks some of them."""
    if "taken" not in devices.answers:
        allocations = [claim.allocation for claim in devices.claims.values() if claim.allocation is not None]
        last: Taken = devices.lasting.get("taken") or Taken(())
        devices.answers["taken"] = devices.lasting["taken"] = last.with_all(allocations)
    taken: Taken = devices.answers["taken"]
    return taken
