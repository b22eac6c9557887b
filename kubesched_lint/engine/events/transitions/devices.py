"""How the placement model follows devices: by numbers alone, or by what each pod holds."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import TYPE_CHECKING

from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.events.states.states import Held, PodTypes, State
from kubesched_lint.engine.model.pod import Pod

if TYPE_CHECKING:
    from kubesched_lint.engine.events.states.device_holdings import Holdings

_NO_CLAIMS: frozenset[tuple[str, str]] = frozenset()


class CountedDevices:
    """Numbers of devices decide, or there are none: beside counts, only the place of shared claims matters."""

    are_counted = True
    are_apart = True
    """Whether pods elsewhere have no part in who gets the devices of a node."""

    def __init__(self, cluster: ClusterState, pod: Callable[[int], Pod]) -> None:
        self._cluster, self._pod = cluster, pod
        self._shown_away = _NO_CLAIMS
        self._claims: dict[Held, frozenset[tuple[str, str]]] = {}
        """Pods of a node → the claims that they share."""

    def show_none_away(self) -> None:
        """Show all claims where they are, before pods come or go."""
        self._show_away(_NO_CLAIMS)

    def show(self, state: State) -> None:
        """Show the devices of a state, whose pods are shown."""
        self._show_away(self._claims_away(state))

    def beside_counts(self, state: State) -> Hashable:
        """Return what a decision about devices depends on beside the numbers of pods."""
        return self._claims_away(state)

    def announced(self, position: int) -> Hashable:
        """Return what must be equal on two nodes that look alike."""
        devices = self._cluster.devices
        return None if devices is None else devices.on_node(self._cluster.index.names[position])

    def settled(self, state: State) -> Iterator[State]:
        """Yield the state with devices for pods that came, and without those of pods that went, each way it may be."""
        return iter((state,))

    def _claims_away(self, state: State) -> frozenset[tuple[str, str]]:
        """Return the shared claims for devices, (namespace, name), whose devices are on a lost node.

        They stay allocated until the last of its pods is deleted.
        """
        if not state.leaving:
            return _NO_CLAIMS
        claims = self._shared_claims(state.leaving)
        return claims.difference(*map(self._shared_claims, state.bound)) if claims else claims

    def _shared_claims(self, held: Held) -> frozenset[tuple[str, str]]:
        claims = self._claims.get(held)
        if claims is None:
            pods = (self._pod(slot) for slot, _ in held)
            claims = frozenset((p.namespace, c.claim) for p in pods for c in p.resource_claims if not c.template)
            self._claims[held] = claims
        return claims

    def _show_away(self, claims: frozenset[tuple[str, str]]) -> None:
        devices = self._cluster.devices
        if claims != self._shown_away and devices is not None:
            self._cluster.devices = devices.with_nowhere(claims, freed=self._shown_away - claims)
            self._shown_away = claims


class NamedDevices(CountedDevices):
    """States tell which devices each pod holds."""

    are_counted = False

    def __init__(self, cluster: ClusterState, pod: Callable[[int], Pod], holdings: Holdings) -> None:
        super().__init__(cluster, pod)
        self._holdings = holdings
        self.are_apart = holdings.are_apart

    def show_none_away(self) -> None:
        """Do nothing: the pods that hold a claim say where it is."""

    def show(self, state: State) -> None:
        self._cluster.devices = self._holdings.devices(state)

    def beside_counts(self, state: State) -> Hashable:
        return state.holds, state.lost_holds

    def settled(self, state: State) -> Iterator[State]:
        return self._holdings.settled(state)


def followed(cluster: ClusterState, pod_types: PodTypes, pod: Callable[[int], Pod], *, every: bool) -> CountedDevices:
    """Return how to follow the devices of a cluster. ``every``: by all choices that any allocator might make."""
    devices = cluster.devices
    if devices is None or devices.is_counted:
        return CountedDevices(cluster, pod)
    from kubesched_lint.engine.events.states.device_holdings import Holdings

    return NamedDevices(cluster, pod, Holdings(pod_types, cluster.index, devices, pod, every=every))
