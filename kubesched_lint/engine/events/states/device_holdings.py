"""Which devices each bound pod holds, for states where numbers do not decide who fits where.

A state counts its bound pods by slot, and beside that their holdings by number. The moves of scheduler and controllers
change only the first; ``settled`` then makes the second fit: any pod of a slot may be the one that went, and a pod that
came holds what the allocator gave it. With ``every``, it holds what any allocator might have given it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from kubesched_lint.engine.cluster.devices import Devices
from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.events.states.states import LEAVING, Held, HeldClaim, Holding, PodTypes, State, with_hold
from kubesched_lint.engine.model.devices.devices import AllocatedDevice, Allocation, DeviceClaim
from kubesched_lint.engine.model.labels import Requirement
from kubesched_lint.engine.model.pod import BoundPod, NodeSelectorTerm, Pod, is_given_devices
from kubesched_lint.engine.scheduler.devices.choices import every_choice, own_choice


class Holdings:
    """What pods hold on one set of nodes. Results depend on the arguments only."""

    def __init__(
        self, pod_types: PodTypes, index: NodeIndex, devices: Devices, pod: Callable[[int], Pod], *, every: bool
    ) -> None:
        """``devices`` have the claims of the pods that stay where they are; ``pod`` returns the pod of a slot."""
        self._pod_types, self._index, self._devices, self._pod = pod_types, index, devices, pod
        self._choices = every_choice if every else own_choice
        self._shown: dict[tuple[tuple[Held, ...], Held], Devices] = {}
        self._changes: dict[tuple[Held, Held], tuple[int, int]] = {}
        self._given: dict[tuple[tuple[Held, ...], int, int], tuple[int, ...]] = {}
        self.are_apart = all(each.access.node_name for each in devices.slices)
        """Whether each device belongs to one node, so that pods elsewhere have no part in who gets it."""

    def devices(self, state: State) -> Devices:
        """Return the devices with the claims of all pods of a state."""
        key = state.holds, state.lost_holds
        devices = self._shown.get(key)
        if devices is None:
            devices = self._shown[key] = self._devices.with_claims(self._claims(state))
        return devices

    def settled(self, state: State) -> Iterator[State]:
        """Yield the states with the same bound pods in which each of them holds its devices."""
        seen, left = {state}, [state]
        while left:
            known = left.pop()
            changed = self._changed(known)
            if changed is None:
                yield known
            else:
                left += (after for after in changed if after not in seen)
                seen.update(left)

    def _changed(self, state: State) -> Sequence[State] | None:
        """Return the states after one pod more lost or got its devices, losses first; None if all pods have theirs."""
        come = -1, -1
        for position, held, holds in (
            *zip(range(len(state.bound)), state.bound, state.holds, strict=True),
            (LEAVING, state.leaving, state.lost_holds),
        ):
            lost, got = self._difference(held, holds)
            if lost >= 0:
                mine = (number for number, _ in holds if self._pod_types.holdings[number].slot == lost)
                without = [(number, with_hold(state, position, number, -1)) for number in mine]
                if not self._are_kin(lost, got):
                    return [after for _, after in without]
                return [with_hold(after, position, self._renamed(number, got), 1) for number, after in without]
            come = (position, got) if got >= 0 else come
        position, slot = come
        if slot < 0:
            return None
        return [with_hold(state, position, number, 1) for number in self._got(state, slot, position)]

    def _difference(self, held: Held, holds: Held) -> tuple[int, int]:
        """Return a slot with fewer pods than holdings, and one with more, if there is one of its kin; -1 for none."""
        lost_and_got = self._changes.get((held, holds))
        if lost_and_got is None:
            lack = {slot: count for slot, count in held if self._devices.may_serve(self._pod(slot))}
            for number, count in holds:
                slot = self._pod_types.holdings[number].slot
                lack[slot] = lack.get(slot, 0) - count
            lost = next((slot for slot, count in lack.items() if count < 0), -1)
            more = [slot for slot, count in lack.items() if count > 0 and self._gets_devices(slot)]
            got = next((slot for slot in more if self._are_kin(lost, slot)), more[0] if more else -1)
            lost_and_got = self._changes[held, holds] = lost, got
        return lost_and_got

    def _gets_devices(self, slot: int) -> bool:
        return is_given_devices(self._pod(slot))

    def _are_kin(self, slot: int, other: int) -> bool:
        """Whether pods pass from one to the other while they are bound: as other ordinals of a StatefulSet are left.

        So they do, too, when their node is unreachable.
        """
        slots, ends = self._pod_types.slots, self._pod_types.ended
        if min(slot, other) < 0 or slots[slot][:2] != slots[other][:2]:
            return False
        return slots[slot].ordinal != slots[other].ordinal or ends[slot] != ends[other]

    def _renamed(self, number: int, slot: int) -> int:
        return self._pod_types.holding(self._pod_types.holdings[number]._replace(slot=slot))

    def _got(self, state: State, slot: int, position: int) -> tuple[int, ...]:
        """Return the numbers of the holdings that a pod may get on a node."""
        around = (state.holds[position],) if self.are_apart else (*state.holds, state.lost_holds)
        key = around, slot, position
        holdings = self._given.get(key)
        if holdings is None:
            node = self._index.names[position]
            choices = self._choices(self._pod(slot), self.devices(state), self._index, position)
            made = (holding_of(slot, claims, node, self._devices) for claims in choices)
            holdings = self._given[key] = tuple(dict.fromkeys(map(self._pod_types.holding, made)))
            assert holdings, "a pod is bound only where it gets its devices"
        return holdings

    def _claims(self, state: State) -> Iterable[DeviceClaim]:
        """Return the allocated claims of all pods; one that they share is reserved for each of them."""
        claims_by_name: dict[tuple[str, str], DeviceClaim] = {}
        for position, holds in (*enumerate(state.holds), (LEAVING, state.lost_holds)):
            node = self._index.names[position] if position >= 0 else ""
            for number, count in holds:
                slot, claims = self._pod_types.holdings[number]
                namespace = self._pod(slot).namespace
                for pod in (f"{number}/{position}/{i}" for i in range(count)):
                    for i, held in enumerate(claims):
                        key = namespace, held.shared or f"{pod}/{i}"
                        known = claims_by_name.get(key) or self._devices.claims.get(key) or DeviceClaim(*key, owner=pod)
                        allocation = known.allocation or _allocation(held, node, self._devices)
                        claims_by_name[key] = replace(
                            known, allocation=allocation, reserved_for=(*known.reserved_for, pod)
                        )
        return claims_by_name.values()


def _allocation(held: HeldClaim, node: str, devices: Devices) -> Allocation:
    """Return the devices of a claim on a node; ``node`` is empty if the pod has left it."""
    pools = {f"#{i}": pool for i, pool in enumerate(_pools_of(node, devices))}
    results = tuple(
        AllocatedDevice(request, driver, pools.get(pool, pool), device, watches, shares, dict(consumed))
        for request, driver, pool, device, watches, shares, consumed in held.devices
    )
    return Allocation(results, (_only(node) if node else ()) if held.is_local else held.terms)


def holding_of(slot: int, claims: Iterable[DeviceClaim], node: str, devices: Devices) -> Holding:
    """Return what a pod with these allocated claims holds on a node."""
    return Holding(slot, tuple(_held(claim, claim.allocation, node, devices) for claim in claims if claim.allocation))


def _held(claim: DeviceClaim, allocation: Allocation, node: str, devices: Devices) -> HeldClaim:
    ranks = {pool: f"#{i}" for i, pool in enumerate(_pools_of(node, devices))}
    results = tuple(
        (
            each.request,
            each.driver,
            ranks.get(each.pool, each.pool),
            each.device,
            each.admin_access,
            each.is_share,
            tuple(sorted(each.consumed.items())),
        )
        for each in allocation.devices
    )
    is_local = allocation.terms == _only(node) or any(each.pool in ranks for each in allocation.devices)
    return HeldClaim("" if claim.owner else claim.name, results, None if is_local else allocation.terms, is_local)


def held_by(bound: BoundPod, slot: int, devices: Devices) -> Holding:
    """Return what a running pod holds."""
    claims = devices.claims_of(bound.namespace, bound.name)
    return holding_of(slot, claims, bound.node, devices)


def _only(node: str) -> tuple[NodeSelectorTerm, ...]:
    return (NodeSelectorTerm((), (Requirement("metadata.name", "In", (node,)),)),)


def _pools_of(node: str, devices: Devices) -> Sequence[str]:
    """Return the pools that only one node can use, in order."""
    return pools_by_node(devices).get(node, ())


def pools_by_node(devices: Devices) -> Mapping[str, Sequence[str]]:
    """Return node → the names of the pools that only it can use, in order."""
    known: dict[str, Sequence[str]] | None = devices.lasting.get("pools by node")
    if known is None:
        users: dict[str, set[str]] = {}
        for each in devices.slices:
            users.setdefault(each.pool, set()).add("" if each.is_per_device else each.access.node_name)
        own: dict[str, Sequence[str]] = {}
        for pool, nodes in sorted(users.items()):
            if len(nodes) == 1:
                own[next(iter(nodes))] = (*own.get(next(iter(nodes)), ()), pool)
        own.pop("", None)
        known = devices.lasting["pools by node"] = own
    return known
