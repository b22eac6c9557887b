"""Find devices for all claims of a pod on one node: the first complete choice, claim by claim and device by device.

Mirrors ``structured/internal/incubating/allocator_incubating.go`` (v1.36), which the default feature gates select; that
of ``experimental`` differs only in attributes that are lists (``constraints``). What upstream forgets to undo when it
turns back stays done here too, because it changes the result: counters of a device that a taint or a constraint then
refuses, and of a shared device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from kubesched_lint.engine.base import work
from kubesched_lint.engine.model.devices.devices import (
    ALL,
    EXACT_COUNT,
    RESULTS_OF_A_CLAIM,
    AllocatedDevice,
    Amounts,
    Device,
    DeviceClaim,
    DeviceClass,
    DeviceID,
    DeviceRequest,
    DeviceTaint,
    ResourceSlice,
)
from kubesched_lint.engine.scheduler.devices.constraints import Constraint, Names
from kubesched_lint.engine.scheduler.devices.failures import (
    AllocationError,
    LocalError,
    NodeError,
    SelectorError,
    UndecidedError,
)
from kubesched_lint.engine.scheduler.devices.limits import MOST_DEPTH, MOST_TRIES
from kubesched_lint.engine.scheduler.devices.pools.capacity import consumed, has_room, minus, plus
from kubesched_lint.engine.scheduler.devices.pools.counters import Counters
from kubesched_lint.engine.scheduler.devices.pools.pools import Offers, Pool, devices_of
from kubesched_lint.engine.scheduler.devices.pools.taken import Taken
from kubesched_lint.engine.scheduler.devices.selectors.selectors import Selectors

_PREVENTING = ("NoSchedule", "NoExecute")
_NOTHING: Amounts = {}


class _TooManyError(Exception):
    """The claim would get more devices than its status can hold: earlier choices cannot change that."""


class Candidate(NamedTuple):
    """A device that a node can use; ``place`` is its position among all of them."""

    id: DeviceID
    device: Device
    slice: ResourceSlice
    pool: Pool
    place: int


class Given(NamedTuple):
    """A device that a claim gets, by its place among the candidates of the node."""

    place: int
    result: AllocatedDevice


class _Ask(NamedTuple):
    """One request, or one alternative of a request: what it asks for on this node."""

    request: DeviceRequest
    names: Names
    device_class: DeviceClass
    number: int
    all_devices: Sequence[Candidate]

    @property
    def result_name(self) -> str:
        return "/".join(filter(None, self.names))


class Search:
    """One attempt on one node. ``result`` has the devices of each claim, in the order of the claims."""

    def __init__(
        self,
        position: int,
        claims: Sequence[DeviceClaim],
        classes: Callable[[str], DeviceClass | None],
        offers: Offers,
        taken: Taken,
        selectors: Selectors,
    ) -> None:
        self._position, self._claims = position, claims
        self._classes, self._offers, self._taken, self._selectors = classes, offers, taken, selectors
        self._pools = offers.pools(position)
        self._candidates = candidates(self._pools)
        self._tries = 0
        self._counters = Counters(taken)
        self._allocating: dict[DeviceID, set[int]] = {}
        self._shares: dict[DeviceID, Amounts] = {}
        self._constraints = [[Constraint(c) for c in claim.constraints] for claim in claims]
        self.result: list[list[Given]] = [[] for _ in claims]
        self._asks: list[list[Sequence[_Ask]]] = []

    def run(self) -> bool:
        """Return whether all claims got their devices. Raises AllocationError, NodeError and UndecidedError."""
        for claim in self._claims:
            self._asks.append(self._asks_of(claim))
            for i, constraint in enumerate(claim.constraints):
                if not (constraint.match_attribute or constraint.distinct_attribute):
                    what = "empty constraint (unsupported constraint type?)"
                    raise AllocationError(f"claim {_shown(claim)}, constraint #{i}: {what}")
        if self._depth() > MOST_DEPTH:
            raise UndecidedError(f"its {len(self._claims)} claims ask for too many devices to search")
        try:
            done = self._claim(0)
        except _TooManyError:
            raise AllocationError("allocation max size exceeded") from None
        if not done and any(pool.is_invalid for pool in self._pools):
            raise NodeError("invalid resource pools were encountered")
        return done

    def _depth(self) -> int:
        most = (max(ask.number for ask in asks) for each in self._asks for asks in each)
        return sum(2 * min(number, RESULTS_OF_A_CLAIM) + 2 for number in most) + len(self._claims)

    # --- what is asked for -------------------------------------------------------------------------------------------

    def _asks_of(self, claim: DeviceClaim) -> list[Sequence[_Ask]]:
        asks = [self._alternatives(claim, request) for request in claim.requests]
        least = sum(min(ask.number for ask in each) for each in asks)
        if least > RESULTS_OF_A_CLAIM:
            raise AllocationError(
                f"claim {_shown(claim)}: number of requested devices {least} "
                f"exceeds the claim limit of {RESULTS_OF_A_CLAIM}"
            )
        return asks

    def _alternatives(self, claim: DeviceClaim, request: DeviceRequest) -> Sequence[_Ask]:
        if not request.alternatives:
            return [self._ask(claim, request, (request.name, ""))]
        return [self._ask(claim, each, (request.name, each.name)) for each in request.alternatives]

    def _ask(self, claim: DeviceClaim, request: DeviceRequest, names: Names) -> _Ask:
        where = f"claim {_shown(claim)}, request {request.name}"
        for i, selector in enumerate(request.selectors):
            if not selector:
                raise AllocationError(f"{where}, selector #{i}: CEL expression empty (unsupported selector type?)")
        if not request.device_class:
            raise AllocationError(f"{where}: missing device class name (unsupported request type?)")
        device_class = self._classes(request.device_class)
        if device_class is None:
            raise AllocationError(
                f"{where}: could not retrieve device class {request.device_class}: "
                f'deviceclass.resource.k8s.io "{request.device_class}" not found'
            )
        if request.mode == EXACT_COUNT:
            return _Ask(request, names, device_class, request.count, ())
        if request.mode != ALL:
            raise AllocationError(f"{where}: unsupported count mode {request.mode}")
        devices = list(self._everything(claim, request, device_class, where))
        return _Ask(request, names, device_class, len(devices), devices)

    def _everything(
        self, claim: DeviceClaim, request: DeviceRequest, device_class: DeviceClass, where: str
    ) -> Iterator[Candidate]:
        """Yield the devices that "all" means, whether they are free or not."""
        of_pool: dict[Pool, list[Candidate]] = {}
        for candidate in self._candidates:
            of_pool.setdefault(candidate.pool, []).append(candidate)
        for pool in self._pools:
            state = "being updated" if pool.is_incomplete else "invalid" if pool.is_invalid else ""
            if state:
                raise LocalError(f"{where}: asks for all devices, but resource pool {pool} is currently {state}")
            for candidate in of_pool.get(pool, ()):
                if self._selects(claim, request, device_class, candidate) and self._has_room(request, candidate):
                    yield candidate

    def _selects(
        self, claim: DeviceClaim, request: DeviceRequest, device_class: DeviceClass, candidate: Candidate
    ) -> bool:
        if not self._matches(f"class {device_class.name}", device_class.selectors, candidate):
            return False
        if not self._matches(f"claim {_shown(claim)}", request.selectors, candidate):
            return False
        is_anywhere = not candidate.slice.is_per_device
        return is_anywhere or self._offers.can_use(candidate.device.access, self._position)

    def _matches(self, whose: str, selectors: Sequence[str], candidate: Candidate) -> bool:
        for i, expression in enumerate(selectors):
            try:
                if not self._selectors.matches(expression, candidate.id[0], candidate.device):
                    return False
            except SelectorError as error:
                raise AllocationError(f"{whose}: selector #{i}: CEL runtime error: {error}") from None
        return True

    def _has_room(self, request: DeviceRequest, candidate: Candidate) -> bool:
        allocated = self._taken.consumed.get(candidate.id, _NOTHING)
        return has_room(candidate.device, request.capacity, allocated, self._shares.get(candidate.id, _NOTHING))

    # --- the search --------------------------------------------------------------------------------------------------

    def _claim(self, c: int) -> bool:
        if c >= len(self._claims):
            return True
        return self._request(c, 0)

    def _request(self, c: int, r: int) -> bool:
        """Allocate the requests of a claim from the ``r``-th on, then the claims after it."""
        if r >= len(self._asks[c]):
            try:
                return self._claim(c + 1)
            except _TooManyError:
                return False
        asks = self._asks[c][r]
        if not asks[0].names[1]:
            return self._device(c, r, asks[0], 0, 0)
        all_too_many = True
        for ask in asks:
            try:
                done = self._device(c, r, ask, 0, 0)
            except _TooManyError:
                continue
            all_too_many = False
            if done:
                return True
        if all_too_many:
            raise _TooManyError
        return False

    def _device(self, c: int, r: int, ask: _Ask, n: int, start: int) -> bool:
        """Allocate the ``n``-th device of a request and all after it, from the ``start``-th candidate on."""
        self._spend()
        is_all = ask.request.mode == ALL
        if is_all and not ask.all_devices:
            return False
        if n >= ask.number:
            return self._request(c, r + 1)
        if len(self.result[c]) + ask.number - n > RESULTS_OF_A_CLAIM:
            raise _TooManyError
        if is_all:
            give_back = self._take(c, ask, ask.all_devices[n], must=True)
            return give_back is not None and self._go_on(c, r, ask, n, 0, give_back)
        for i in range(start, len(self._candidates)):
            self._spend()
            candidate = self._candidates[i]
            if not self._is_eligible(c, ask, candidate):
                continue
            give_back = self._take(c, ask, candidate, must=False)
            if give_back is not None and self._go_on(c, r, ask, n, i + 1, give_back):
                return True
        return False

    def _go_on(self, c: int, r: int, ask: _Ask, n: int, start: int, give_back: Callable[[], None]) -> bool:
        try:
            done = self._device(c, r, ask, n + 1, start)
        except _TooManyError:
            give_back()
            raise
        if not done:
            give_back()
        return done

    def _spend(self) -> None:
        work.spend(1)
        self._tries += 1
        if self._tries > MOST_TRIES:
            raise UndecidedError(f"the search for devices takes more than {MOST_TRIES:,} tries")

    def _is_eligible(self, c: int, ask: _Ask, candidate: Candidate) -> bool:
        if ask.request.admin_access:
            if c in self._allocating.get(candidate.id, ()):
                return False
        elif self._in_use(candidate.id):
            return False
        if not self._selects(self._claims[c], ask.request, ask.device_class, candidate):
            return False
        return self._has_room(ask.request, candidate)

    def _in_use(self, device: DeviceID) -> bool:
        return device in self._taken.exclusively or bool(self._allocating.get(device))

    def _take(self, c: int, ask: _Ask, candidate: Candidate, *, must: bool) -> Callable[[], None] | None:
        """Give a device to a claim; return how to undo it, or None if it cannot have it (allocateDevice).

        ``must``: no other device will do, so a violated constraint is an error.
        """
        device, request = candidate.device, ask.request
        if request.admin_access:
            if not device.is_shared and c in self._allocating.get(candidate.id, ()):
                return None
        elif self._in_use(candidate.id):
            return None
        has_share = device.is_shared and (candidate.id in self._taken.consumed or candidate.id in self._shares)
        if device.consumes and not has_share and not self._counters.consume(candidate.pool, device):
            return None
        if any(prevents(taint, request) for taint in device.taints):
            return None
        if not self._constrain(c, ask, candidate, must):
            return None
        holders = self._allocating.setdefault(candidate.id, set())
        if not device.is_shared:
            holders.add(c)
        if not self._has_room(request, candidate):
            return None
        share = consumed(device, request.capacity) if device.is_shared else {}
        if device.is_shared:
            self._shares[candidate.id] = plus(self._shares.get(candidate.id, _NOTHING), share)
        held = AllocatedDevice(ask.result_name, *candidate.id, request.admin_access, device.is_shared, share)
        self.result[c].append(Given(candidate.place, held))

        def give_back() -> None:
            for constraint in self._constraints[c]:
                constraint.remove(ask.names)
            holders.discard(c)
            if not device.is_shared:
                self._counters.release(candidate.pool, device)
            elif share:
                self._return_share(candidate.id, share)
            self.result[c].pop()

        return give_back

    def _constrain(self, c: int, ask: _Ask, candidate: Candidate, must: bool) -> bool:
        constraints = self._constraints[c]
        for i, constraint in enumerate(constraints):
            if constraint.add(ask.names, candidate.id[0], candidate.device):
                continue
            if must:
                raise LocalError(
                    f"claim {_shown(self._claims[c])}, request {ask.request.name}: cannot add device "
                    f"{'/'.join(candidate.id)} because a claim constraint would not be satisfied"
                )
            for added in constraints[:i]:
                added.remove(ask.names)
            return False
        return True

    def _return_share(self, device: DeviceID, share: Amounts) -> None:
        left = minus(self._shares[device], share)
        if any(left.values()):
            self._shares[device] = left
        else:
            del self._shares[device]


def candidates(pools: Sequence[Pool]) -> list[Candidate]:
    """Return the devices of the pools from which the allocator gives any, in the order in which it tries them."""
    usable = (pool for pool in pools if not (pool.is_incomplete or pool.is_invalid))
    devices = ((pool, each) for pool in usable for each in devices_of(pool.slices))
    return [Candidate(*each, pool, place) for place, (pool, each) in enumerate(devices)]


def prevents(taint: DeviceTaint, request: DeviceRequest) -> bool:
    """Return whether a taint keeps the scheduler from giving a device to a request."""
    return taint.effect in _PREVENTING and not any(t.tolerates(taint) for t in request.tolerations)


def _shown(claim: DeviceClaim) -> str:
    return f"{claim.namespace}/{claim.name}"
