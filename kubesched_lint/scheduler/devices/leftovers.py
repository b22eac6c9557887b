"""What is left of a node's devices for each request of a pod, and what removed the others. The allocator decides."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from kubesched_lint.cluster.devices import Devices
from kubesched_lint.cluster.index import NodeIndex
from kubesched_lint.model.devices import ALL, Device, DeviceID, DeviceRequest
from kubesched_lint.model.pod import Pod
from kubesched_lint.record import record
from kubesched_lint.scheduler.devices.allocator import prevents
from kubesched_lint.scheduler.devices.answers import offers_of, selectors_of, taken_of
from kubesched_lint.scheduler.devices.attempt import attempt
from kubesched_lint.scheduler.devices.capacity import has_room
from kubesched_lint.scheduler.devices.failures import SelectorError
from kubesched_lint.text import many

_Seen = tuple[DeviceID, Device]


@record
class Leftover:
    """The devices of one node for one request, or for one alternative of it (``request/alternative``)."""

    request: str
    wanted: DeviceRequest
    seen: int
    """Number of devices that the node can use."""
    removed: tuple[tuple[str, tuple[str, ...]], ...]
    """(what removes devices, their names), in the order in which the allocator looks."""
    left: int

    @property
    def suffices(self) -> bool:
        return self.left >= (1 if self.wanted.mode == ALL else self.wanted.count)

    def __str__(self) -> str:
        asked = "all devices" if self.wanted.mode == ALL else many(self.wanted.count, "device")
        removed = "".join(f", {len(names)} {what}" for what, names in self.removed)
        found = (
            f"the node has {many(self.seen, 'device')}{removed}, {self.left} left" if self.seen else "the node has none"
        )
        return f"request {self.request} asks for {asked} of class {self.wanted.device_class}: {found}"


def leftovers(pod: Pod, devices: Devices, index: NodeIndex, position: int) -> Iterator[Leftover]:
    """Yield what is left for each request of the claims that must be allocated there. Raises UndecidedError."""
    offers = offers_of(devices, index)
    seen = [found for pool in offers.pools(position) for found in offers.usable(pool, position)]
    for claim in attempt(pod, devices, index).wanted_on(position):
        for request in claim.requests:
            for each in request.alternatives or (request,):
                name = f"{request.name}/{each.name}" if request.alternatives else request.name
                yield _leftover(name, each, seen, devices)


def _leftover(name: str, request: DeviceRequest, seen: Sequence[_Seen], devices: Devices) -> Leftover:
    left, removed = list(seen), []
    for what, keeps in _conditions(request, devices):
        gone = tuple(found[1].name for found in left if not keeps(found))
        if gone:
            left = [found for found in left if keeps(found)]
            removed.append((what, gone))
    return Leftover(name, request, len(seen), tuple(removed), len(left))


def _conditions(request: DeviceRequest, devices: Devices) -> Iterator[tuple[str, Callable[[_Seen], bool]]]:
    selectors, taken = selectors_of(devices), taken_of(devices)

    def selects(expression: str) -> Callable[[_Seen], bool]:
        def keeps(found: _Seen) -> bool:
            try:
                return selectors.matches(expression, found[0][0], found[1])
            except SelectorError:
                return False

        return keeps

    device_class = devices.classes.get(request.device_class)
    for expression in device_class.selectors if device_class is not None else ():
        yield f"of other classes ({expression})", selects(expression)
    for expression in request.selectors:
        yield f"not selected by {expression}", selects(expression)
    yield "tainted", lambda found: not any(prevents(taint, request) for taint in found[1].taints)
    if not request.admin_access:
        yield "allocated", lambda found: found[0] not in taken.exclusively
    yield "short of capacity", lambda found: has_room(found[1], request.capacity, taken.consumed.get(found[0], {}), {})
