"""Devices for which requests compete, in groups: each pod takes so many of a group, each node has so many of it.

The numbers bound every allocation: a node never holds more pods than its devices allow. Where ``is_counted``, they
decide it: which device a pod gets does not matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from math import inf

from kubesched_lint.engine.cluster.devices import Devices
from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.cluster.nodeset import NodeSet, positions
from kubesched_lint.engine.model.devices.devices import (
    ALL,
    EXACT_COUNT,
    LISTS,
    READABLE,
    RESULTS_OF_A_CLAIM,
    Attribute,
    Device,
    DeviceClaim,
    DeviceClaimTemplate,
    DeviceConstraint,
    DeviceID,
    DeviceRequest,
)
from kubesched_lint.engine.model.pod import Pod, is_given_devices, profile_of
from kubesched_lint.engine.model.resources import is_ignored
from kubesched_lint.engine.scheduler.devices.allocator import prevents
from kubesched_lint.engine.scheduler.devices.answers import offers_of, selectors_of
from kubesched_lint.engine.scheduler.devices.constraints import attribute_of
from kubesched_lint.engine.scheduler.devices.extended import IN_MEMORY, extended_claim
from kubesched_lint.engine.scheduler.devices.failures import SelectorError
from kubesched_lint.engine.scheduler.devices.pools.pools import devices_of
from kubesched_lint.engine.scheduler.devices.pools.taken import Taken

Ask = tuple[str, tuple[str, ...], tuple[object, ...], str]
"""Class, selectors, tolerations and extended resource: requests that are equal in them may use the same devices."""
_NO_DEVICES: frozenset[DeviceID] = frozenset()


class DeviceGroups:
    """The groups of what ``pods`` request by templates and as extended resources, on the nodes of ``index``.

    What a device plugin offers belongs to the group of its resource: a pod that is served there takes no device.
    """

    def __init__(
        self, pods: Iterable[Pod], devices: Devices, index: NodeIndex, *, with_shared_claims: bool = False
    ) -> None:
        """``with_shared_claims``: the groups of what pods request by named claims too."""
        self._devices, self._index = devices, index
        self._pods = tuple(pods)
        self._with_shared_claims = with_shared_claims
        self._asks = {_ask(r): r for pod in self._pods for c in self._claims(pod) for r in _plain_requests(c)}
        self._failing: set[Ask] = set()
        self._known: dict[DeviceID, Device] = {}
        self._eligible = {ask: self._eligible_for(request) for ask, request in self._asks.items()}

    def _templates(self, pod: Pod) -> Iterator[DeviceClaimTemplate]:
        for reference in pod.resource_claims:
            template = self._devices.templates.get((pod.namespace, reference.template))
            if template is not None:
                yield template

    def _own_requests(self, pod: Pod) -> Iterator[DeviceRequest]:
        """Yield what a pod requests for itself; an extended resource that no filter checks may take nothing."""
        if is_given_devices(pod):
            for template in self._templates(pod):
                yield from template.requests
            yield from (r for r in self._extended(pod).requests if not is_ignored(r.resource, profile_of(pod)))

    def _extended(self, pod: Pod) -> DeviceClaim:
        """Return what a pod requests as extended resources, on a node where no device plugin offers any."""
        return extended_claim(pod, self._devices.resources_of(pod), self._devices)

    def _claims(self, pod: Pod) -> Iterator[DeviceClaimTemplate | DeviceClaim]:
        yield from self._named(pod)
        extended = self._extended(pod)
        if extended.requests:
            yield extended

    def _named(self, pod: Pod) -> Iterator[DeviceClaimTemplate | DeviceClaim]:
        yield from self._templates(pod)
        for reference in pod.resource_claims if self._with_shared_claims else ():
            claim = self._devices.claims.get((pod.namespace, reference.claim))
            if claim is not None and not reference.template:
                yield claim

    def _eligible_for(self, request: DeviceRequest) -> Sequence[frozenset[DeviceID]]:
        """Return per position the devices that a request may get, whether they are free or not."""
        offers = offers_of(self._devices, self._index)
        eligible = []
        for position in range(len(self._index)):
            on_node = set()
            for pool in offers.pools(position) if self._is_served(request.resource, position) else ():
                for device_id, device in offers.usable(pool, position):
                    self._known[device_id] = device
                    if self._selects(request, device_id, device):
                        on_node.add(device_id)
            eligible.append(frozenset(on_node))
        return eligible

    def _is_served(self, resource: str, position: int) -> bool:
        """Whether devices serve a request of a node, not its device plugin."""
        return not resource or bool(self._index.by_devices(resource) >> position & 1)

    def _selects(self, request: DeviceRequest, device_id: DeviceID, device: Device) -> bool:
        device_class = self._devices.classes.get(request.device_class)
        selectors = selectors_of(self._devices)
        try:
            return (
                device_class is not None
                and all(
                    selectors.matches(s, device_id[0], device) for s in (*device_class.selectors, *request.selectors)
                )
                and not any(prevents(taint, request) for taint in device.taints)
            )
        except SelectorError:
            self._failing.add(_ask(request))
            return False

    # --- the groups -------------------------------------------------------------------------------------------------

    @cached_property
    def _group_of(self) -> Mapping[Ask, Ask]:
        """Return ask → the ask that stands for its group: those that may use a common device."""
        parent = {ask: ask for ask in self._asks}

        def root(ask: Ask) -> Ask:
            while parent[ask] != ask:
                ask = parent[ask]
            return ask

        first: dict[DeviceID, Ask] = {}
        for ask, places in self._eligible.items():
            for device in frozenset[DeviceID]().union(*places):
                parent[root(ask)] = root(first.setdefault(device, ask))
        return {ask: root(ask) for ask in parent}

    @cached_property
    def _shared(self) -> frozenset[DeviceID]:
        """Devices that several claims may have at a time."""
        return frozenset(device_id for device_id, device, _ in devices_of(self._devices.slices) if device.is_shared)

    @cached_property
    def groups(self) -> tuple[Ask, ...]:
        """The groups whose devices belong to one claim each."""
        whole = dict.fromkeys(self._group_of.values())
        return tuple(g for g in whole if not any(self._on(g, p) & self._shared for p in range(len(self._index))))

    @cached_property
    def _members(self) -> Mapping[Ask, Sequence[Ask]]:
        """Return group → its asks."""
        members: dict[Ask, list[Ask]] = {}
        for ask, group in self._group_of.items():
            members.setdefault(group, []).append(ask)
        return members

    def _on(self, group: Ask, position: int) -> frozenset[DeviceID]:
        known = self._devices_on.get((group, position))
        if known is None:
            known = _NO_DEVICES.union(*(self._eligible[ask][position] for ask in self._members[group]))
            self._devices_on[group, position] = known
        return known

    @cached_property
    def _devices_on(self) -> dict[tuple[Ask, int], frozenset[DeviceID]]:
        """Return the cache: (group, node) → the devices of the group there."""
        return {}

    @cached_property
    def _resources(self) -> Mapping[Ask, Sequence[str]]:
        """Return group → the extended resources that it serves."""
        return {group: sorted({ask[3] for ask in asks} - {""}) for group, asks in self._members.items()}

    def _of_plugins(self, group: Ask, position: int) -> int:
        """Return how many devices of a group device plugins of a node offer."""
        served = self._resources[group]
        return sum(int(self._index.stated(r)[position]) for r in served if not self._is_served(r, position))

    def free(self, group: Ask) -> list[int]:
        """Return per position how many devices of a group no claim of a pod holds, those of device plugins included.

        A claim that no pod uses is left out: the scheduler may free its devices.
        """
        used = [claim.allocation for claim in self._devices.claims.values() if claim.reserved_for]
        taken = Taken([allocation for allocation in used if allocation is not None]).exclusively
        return [
            len(self._on(group, position) - taken) + self._of_plugins(group, position)
            for position in range(len(self._index))
        ]

    def room(self, pod: Pod, among: NodeSet) -> float:
        """Return how many pods like this one have devices on ``among`` if nobody else holds any."""
        wanted = {group: n for group, n in self.taken_by(pod).items() if n > 0}
        if not wanted:
            return inf
        return sum(
            min((len(self._on(group, p)) + self._of_plugins(group, p)) // n for group, n in wanted.items())
            for p in positions(among)
        )

    def taken_by(self, pod: Pod) -> Mapping[Ask, int]:
        """Return group → the fewest devices of it that a pod takes for itself."""
        taken: dict[Ask, int] = {}
        for request in self._own_requests(pod):
            options = request.alternatives or (request,)
            groups = {self._group_of.get(_ask(each)) for each in options}
            group = groups.pop()
            if not groups and group in self.groups and not any(each.admin_access for each in options):
                taken[group] = taken.get(group, 0) + min(_least(each) for each in options)
        return taken

    # --- whether only numbers matter --------------------------------------------------------------------------------

    @property
    def is_counted(self) -> bool:
        """Whether a node takes a pod exactly if enough devices of each group are free.

        A pod with a shared claim that is allocated needs the node of its devices besides: all its pods run there.
        """
        return (
            not self._failing
            and self._are_plain()
            and all(map(self._is_plain, self._pods))
            and self._are_alike()
            and self._are_held_as_counted()
        )

    @property
    def depend_on_the_allocator(self) -> bool:
        """Whether ``choices.every_choice`` may miss some."""
        devices = (device for each in self._devices.slices for device in each.devices)
        claims = (claim for pod in self._pods for claim in self._claims(pod) if claim.constraints)
        requests = (each for claim in claims for each in _plain_requests(claim))
        return (
            bool(self._failing)
            or any(each.consumes or each.is_shared or each.has_lists for each in devices)
            or any(each.admin_access or each.mode == ALL for each in requests)
        )

    def hindrances(self) -> Iterator[str]:
        """Yield why a state cannot tell what each pod holds."""
        for claim in (claim for pod in self._pods for claim in self._claims(pod)):
            if isinstance(claim, DeviceClaim) and not _follows_its_pods(claim):
                yield f"ResourceClaim {claim.namespace}/{claim.name} is not allocated just while pods use it"

    def _are_plain(self) -> bool:
        offers = offers_of(self._devices, self._index)
        pools = (pool for position in range(len(self._index)) for pool in offers.pools(position))
        return all(
            each.access.node_name
            and not (each.is_per_device or each.counter_sets)
            and not any(device.is_shared or device.consumes for device in each.devices)
            for each in self._devices.slices
        ) and not any(pool.is_incomplete or pool.is_invalid for pool in pools)

    def _is_plain(self, pod: Pod) -> bool:
        return len(list(self._named(pod))) == len(pod.resource_claims) and all(
            sum(map(self._most, claim.requests)) <= RESULTS_OF_A_CLAIM
            and all(map(self._is_decided, claim.requests))
            and all(self._changes_nothing(constraint, claim) for constraint in claim.constraints)
            and (isinstance(claim, DeviceClaimTemplate) or claim.name == IN_MEMORY or _follows_its_pods(claim))
            for claim in self._claims(pod)
        )

    def _most(self, request: DeviceRequest) -> int:
        """Return the most devices that a request may get, taken ones and tainted ones among them."""
        options = request.alternatives or (request,)
        return max(each.count if each.mode == EXACT_COUNT else self._most_on_a_node for each in options)

    @cached_property
    def _most_on_a_node(self) -> int:
        offers = offers_of(self._devices, self._index)
        nodes = (offers.pools(position) for position in range(len(self._index)))
        return max((sum(len(each.devices) for pool in pools for each in pool.slices) for pools in nodes), default=0)

    def _is_decided(self, request: DeviceRequest) -> bool:
        """Whether a node has the devices for one alternative of a request at most, whichever devices are free."""
        options = request.alternatives or (request,)
        if not all(map(_is_plain, options)):
            return False
        return all(
            sum(len(self._eligible[_ask(each)][position]) >= _fewest(each) for each in options) <= 1
            for position in range(len(self._index))
        )

    def _changes_nothing(self, constraint: DeviceConstraint, claim: DeviceClaimTemplate | DeviceClaim) -> bool:
        """Whether a constraint treats all devices of a node alike: they have one value of the attribute.

        For ``distinctAttribute`` also if all have different values.
        """
        asks = [_ask(each) for names, each in _named(claim) if names.intersection(constraint.requests or names)]
        name = constraint.match_attribute or constraint.distinct_attribute
        for position in range(len(self._index)):
            asked_devices = _NO_DEVICES.union(*(self._eligible[ask][position] for ask in asks))
            values = [attribute_of(self._known[device], device[0], name) for device in asked_devices]
            kinds = set(values)
            if len(kinds) > 1 and (constraint.match_attribute or len(kinds) < len(values) or not _are_readable(values)):
                return False
        return True

    def _are_held_as_counted(self) -> bool:
        """Whether pods hold devices that their requests could get now: a device may be gone or have a new taint."""
        may_get: dict[tuple[object, ...], frozenset[DeviceID]] = {}
        for ask, places in self._eligible.items():  # a written claim does not tell whether it is for a resource
            may_get[ask[:3]] = may_get.get(ask[:3], _NO_DEVICES).union(*places)
        for claim in self._devices.claims.values():
            asks = {name: _ask(each) for names, each in _named(claim) for name in names}
            for held in claim.allocation.devices if claim.allocation is not None and claim.reserved_for else ():
                if held.request not in asks or held.id not in may_get.get(asks[held.request][:3], _NO_DEVICES):
                    return False
        return True

    def _are_alike(self) -> bool:
        """Whether on each node all asks of a group that devices serve may use the same."""
        kinds: dict[tuple[Ask, int], set[frozenset[DeviceID]]] = {}
        for ask, group in self._group_of.items():
            for position in range(len(self._index)):
                if self._is_served(ask[3], position):
                    kinds.setdefault((group, position), set()).add(self._eligible[ask][position])
        return all(len(each) == 1 for each in kinds.values())


def _follows_its_pods(claim: DeviceClaim) -> bool:
    """Whether a claim is allocated exactly as long as pods use it, whichever pods they are."""
    idle = claim.allocation is not None and not claim.reserved_for
    return bool(claim.requests) and not (claim.owner or claim.deleting or idle)


def _plain_requests(claim: DeviceClaimTemplate | DeviceClaim) -> Iterator[DeviceRequest]:
    for request in claim.requests:
        yield from request.alternatives or (request,)


def _ask(request: DeviceRequest) -> Ask:
    return request.device_class, request.selectors, request.tolerations, request.resource


def _least(request: DeviceRequest) -> int:
    return request.count if request.mode == EXACT_COUNT else 1


def _fewest(request: DeviceRequest) -> int:
    """Return how many devices a node must have for a request; 0 if that is not sure."""
    return request.count if request.mode == EXACT_COUNT else 0


def _is_plain(request: DeviceRequest) -> bool:
    return request.mode in (EXACT_COUNT, ALL) and not request.capacity


def _named(claim: DeviceClaimTemplate | DeviceClaim) -> Iterator[tuple[frozenset[str], DeviceRequest]]:
    """Yield each alternative of each request, with the names by which a constraint may mean it."""
    for request in claim.requests:
        for each in request.alternatives or (request,):
            yield frozenset([request.name, f"{request.name}/{each.name}"]), each


def _are_readable(values: Iterable[Attribute | None]) -> bool:
    return all(value is not None and value[0] in READABLE - LISTS.keys() for value in values)
