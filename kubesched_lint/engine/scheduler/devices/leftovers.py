"""What is left of a node's devices for each request of a pod, and what removed the others. The allocator decides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct

from kubesched_lint.engine.base.text import many
from kubesched_lint.engine.cluster.devices import Devices
from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.model.devices import ALL, Device, DeviceConstraint, DeviceID, DeviceRequest
from kubesched_lint.engine.model.pod import Pod
from kubesched_lint.engine.scheduler.devices.allocator import prevents
from kubesched_lint.engine.scheduler.devices.answers import NOT_ALL, offers_of, selectors_of, taken_of
from kubesched_lint.engine.scheduler.devices.attempt import NOT_HERE, attempt
from kubesched_lint.engine.scheduler.devices.capacity import has_room
from kubesched_lint.engine.scheduler.devices.constraints import attribute_of
from kubesched_lint.engine.scheduler.devices.counters import Counters
from kubesched_lint.engine.scheduler.devices.failures import SelectorError, one_line
from kubesched_lint.engine.scheduler.devices.pools import Pool
from kubesched_lint.engine.scheduler.devices.taken import Taken

_Seen = tuple[DeviceID, Device, Pool]
_TAINTED, _ALLOCATED, _UNCOUNTED = "tainted", "allocated", "without enough counters"
"""What removes devices that a request for all devices needs."""


class Leftover(Struct, frozen=True):
    """The devices of one node for one request, or for one alternative of it (``request/alternative``)."""

    request: str
    wanted: DeviceRequest
    seen: int
    """Number of devices that the node can use."""
    removed: tuple[tuple[str, tuple[str, ...]], ...]
    """(what removes devices, their names), in the order in which the allocator looks."""
    left: int
    same: tuple[str, ...] = ()
    """The attributes that all its devices must share."""
    most: int = 0
    """The most of the left ones that share them."""
    broken: tuple[str, ...] = ()
    """Pools whose devices do not count, and why."""

    @property
    def parent(self) -> str:
        """The request whose alternative it is, or the request itself."""
        return self.request.partition("/")[0]

    @property
    def suffices(self) -> bool:
        if self.wanted.mode == ALL:
            closed = {what for what, _ in self.removed} & {_TAINTED, _ALLOCATED, _UNCOUNTED}
            return 0 < self.left == self.most and not closed
        return self.most >= self.wanted.count

    def __str__(self) -> str:
        asked = "all devices" if self.wanted.mode == ALL else many(self.wanted.count, "device")
        removed = "".join(f", {len(names)} {what}" for what, names in self.removed)
        found = (
            f"the node has {many(self.seen, 'device')}{removed}, {self.left} left" if self.seen else "the node has none"
        )
        alike = f", at most {self.most} with the same {' and '.join(self.same)}" if self.most < self.left else ""
        broken = "".join(f"; {pool}" for pool in self.broken)
        return f"request {self.request} asks for {asked} of class {self.wanted.device_class}: {found}{alike}{broken}"


def lacking_devices(pod: Pod, devices: Devices, index: NodeIndex, position: int, reason: str) -> str:
    """Return in words what a pod lacks on a node that is rejected for ``reason``; empty if that says it."""
    if reason == NOT_HERE:
        away = attempt(pod, devices, index).on(position).unavailable
        return f"the devices of claim {', '.join(claim.name for claim in away)} are elsewhere"
    if reason != NOT_ALL:
        return ""
    found = list(leftovers(pod, devices, index, position))
    met = {each.parent for each in found if each.suffices}
    return (
        "; ".join(str(each) for each in found if each.parent not in met)
        or "each request alone finds devices, but all together, their constraints or counters leave too few"
    )


def leftovers(pod: Pod, devices: Devices, index: NodeIndex, position: int) -> Iterator[Leftover]:
    """Yield what is left for each request of the claims that must be allocated there. Raises UndecidedError."""
    offers = offers_of(devices, index)
    pools = offers.pools(position)
    seen = [(*found, pool) for pool in pools for found in offers.usable(pool, position)]
    broken = tuple(f"the pool {pool} is {_state(pool)}" for pool in pools if _state(pool))
    for claim in attempt(pod, devices, index).wanted_on(position):
        for request in claim.requests:
            for each in request.alternatives or (request,):
                name = f"{request.name}/{each.name}" if request.alternatives else request.name
                alike = [c for c in claim.constraints if not c.requests or {request.name, name} & {*c.requests}]
                left, removed = _sorted(seen, _conditions(each, alike, devices))
                same = tuple(filter(None, (c.match_attribute for c in alike)))
                same = () if any(device.has_lists for _, device, _ in left) else same  # no groups: lists may overlap
                groups = Counter(tuple(attribute_of(found[1], found[0][0], key) for key in same) for found in left)
                yield Leftover(name, each, len(seen), removed, len(left), same, max(groups.values(), default=0), broken)


def _state(pool: Pool) -> str:
    return "incomplete" if pool.is_incomplete else "invalid" if pool.is_invalid else ""


def _sorted(
    seen: Sequence[_Seen], conditions: Iterable[tuple[str, Callable[[_Seen], bool]]]
) -> tuple[Sequence[_Seen], tuple[tuple[str, tuple[str, ...]], ...]]:
    """Return the devices that meet all conditions, and what removes the others, with their names."""
    left, removed = list(seen), []
    for what, keeps in conditions:
        gone = tuple(found[1].name for found in left if not keeps(found))
        if gone:
            left = [found for found in left if keeps(found)]
            removed.append((what, gone))
    return left, tuple(removed)


def _conditions(
    request: DeviceRequest, constraints: Iterable[DeviceConstraint], devices: Devices
) -> Iterator[tuple[str, Callable[[_Seen], bool]]]:
    selectors, taken = selectors_of(devices), taken_of(devices)

    def has(name: str) -> Callable[[_Seen], bool]:
        return lambda found: attribute_of(found[1], found[0][0], name) is not None

    def selects(expression: str) -> Callable[[_Seen], bool]:
        def keeps(seen: _Seen) -> bool:
            try:
                return selectors.matches(expression, seen[0][0], seen[1])
            except SelectorError:
                return False

        return keeps

    device_class = devices.classes.get(request.device_class)
    for expression in device_class.selectors if device_class is not None else ():
        yield f"of other classes ({one_line(expression)})", selects(expression)
    for expression in request.selectors:
        yield f"not selected by {one_line(expression)}", selects(expression)
    for name in (constraint.match_attribute or constraint.distinct_attribute for constraint in constraints):
        yield f"without {name}", has(name)
    yield _TAINTED, lambda found: not any(prevents(taint, request) for taint in found[1].taints)
    if not request.admin_access:
        yield _ALLOCATED, lambda found: found[0] not in taken.exclusively
    yield _UNCOUNTED, lambda found: _has_counters(found, taken)
    yield "short of capacity", lambda found: has_room(found[1], request.capacity, taken.consumed.get(found[0], {}), {})


def _has_counters(seen: _Seen, taken: Taken) -> bool:
    """Return whether the counters that others leave suffice for a device alone; a share of it needs none again."""
    device_id, device, pool = seen
    has_share = device.is_shared and device_id in taken.consumed
    return not device.consumes or has_share or Counters(taken).consume(pool, device)
