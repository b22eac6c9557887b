"""How many pods of a workload the devices of nodes suffice for, and which request of theirs is the tightest.

Upper bounds: they count devices that meet a request, not how other pods or counters of partitionable devices use them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from kubesched_lint.engine.base.errors import UncheckedError
from kubesched_lint.engine.cluster.nodeset import EMPTY, NodeSet, of, positions
from kubesched_lint.engine.model.devices.devices import DeviceID
from kubesched_lint.engine.scenario.devices.devices import needs_devices
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.devices.requests import Wanted, asked_of, must_know_devices, open_claims

if TYPE_CHECKING:
    from kubesched_lint.explaining.devices.survey import Survey

UNLIMITED = 1 << 30


class Request(Struct, frozen=True, eq=False):
    """A request of a workload's pods: its alternatives with the devices for each. Most requests have one."""

    wanted: Wanted
    options: tuple[Survey, ...]

    @property
    def main(self) -> Survey:
        """The alternative with the most devices; if there are none, the one that a device comes closest to."""
        return max(self.options, key=lambda survey: (len(survey.all_left), survey.nearest.order))

    @property
    def is_alone(self) -> bool:
        return len(self.options) == 1


class DeviceRoom:
    """The devices of some nodes for all requests of a workload's pods."""

    def __init__(self, requests: Sequence[Request], among: NodeSet) -> None:
        self.requests, self.among = requests, among
        self._demands: dict[tuple[Request, Survey], int] = {}

    def pods_on(self, request: Request, position: int) -> int:
        """Return for how many pods the devices of one node suffice, as far as one request goes; at most UNLIMITED."""
        return min(sum(self._pods(request, survey, survey.left[position]) for survey in request.options), UNLIMITED)

    def pods(self, request: Request, enough: int = UNLIMITED) -> int:
        """Return for how many pods at the same time the devices of all the nodes suffice; at most ``enough``."""
        pods = 0
        for survey in request.options:
            # A device of several nodes counts once; a pod that takes all of a node shares that node with no other.
            is_by_node = survey.is_local or survey.takes_all
            for devices in survey.left.values() if is_by_node else (survey.all_left,):
                pods += self._pods(request, survey, devices)
                if pods >= enough:
                    return enough
        return pods

    def tightest(self, wanted: int) -> tuple[Request, int] | None:
        """Return the request whose devices suffice for the fewest pods, and for how many.

        None if they suffice for none, or for all that are ``wanted``.
        """
        request = min(self.requests, key=lambda request: self.pods(request, wanted), default=None)
        most = 0 if request is None else self.pods(request, wanted)
        return (request, most) if request is not None and 0 < most < wanted else None

    def _pods(self, request: Request, survey: Survey, devices: frozenset[DeviceID]) -> int:
        if survey.takes_all:
            return 0 if not devices else UNLIMITED if _is_reusable(survey, devices) else 1
        demand = self.demand(request, survey)
        if _is_reusable(survey, devices):
            return UNLIMITED if max(survey.sizes(devices), default=0) >= survey.asked.request.count else 0
        return sum(size // demand for size in survey.sizes(devices))

    def demand(self, request: Request, survey: Survey) -> int:
        """Return how many of the devices for a request each pod takes: other requests may need the same devices."""
        if (request, survey) not in self._demands:
            beside = sum(self._taken_beside(request, survey))
            self._demands[request, survey] = max(1, beside)  # the API server refuses less
        return self._demands[request, survey]

    def needed(self, request: Request, survey: Survey) -> int:
        """Return how many devices of a node each pod needs, for a request and those that compete with it."""
        is_reusable = _is_reusable(survey, survey.all_left)
        return survey.asked.request.count if is_reusable else self.demand(request, survey)

    def _taken_beside(self, request: Request, survey: Survey) -> Iterator[int]:
        yield survey.asked.request.count
        for other in self.requests:
            if other is not request and request.is_alone and other.is_alone and _competes(other.main, survey):
                yield other.main.asked.request.count


def _is_reusable(survey: Survey, devices: frozenset[DeviceID]) -> bool:
    """Whether other claims may have the same devices."""
    return survey.asked.request.admin_access or not survey.shared.isdisjoint(devices)


def _competes(other: Survey, survey: Survey) -> bool:
    """Whether another request takes its devices out of those of ``survey`` for certain."""
    if other.takes_all or other.asked.request.admin_access or survey.asked.request.admin_access:
        return False
    if survey.asked.constraints:
        same = other.asked.wanted == survey.asked.wanted and other.asked.constraints == survey.asked.constraints
        return same and other.all_left <= survey.all_left
    return other.all_left <= survey.all_left


def room_for(it: Member, claims: Sequence[Wanted], among: NodeSet) -> DeviceRoom | None:
    """Return the devices of some nodes for the requests of these claims; None if a class is unknown.

    Raises UncheckedError.
    """
    from kubesched_lint.explaining.devices.survey import surveyed

    requests: list[Request] = []
    for wanted in claims:
        for options in asked_of(wanted):
            surveys = [surveyed(asked, among, it.scenario) for asked in options]
            if None in surveys:
                _must_know_classes(it)
                return None
            requests.append(Request(wanted, tuple(survey for survey in surveys if survey is not None)))
    return DeviceRoom(requests, among)


def _must_know_classes(it: Member) -> None:
    """Raises UncheckedError unless all classes are known: then device-class-missing says which one is not there."""
    if not it.scenario.cluster_has("DeviceClass"):
        raise UncheckedError("needs device classes (kubectl get deviceclasses), which no snapshot holds")


# --- why no node has devices for a request ----------------------------------------------------------------------------

FAILS, BROKEN, TAINTED, NO_MATCH, SHORT = "fails", "broken", "tainted", "no match", "too few"


def shortcoming(request: Request, room: DeviceRoom) -> str:
    """Return why no node has devices for a request, the cause to mend first; empty if some node has."""
    if request.is_alone and request.main.takes_all and request.main.broken_pools:
        return BROKEN  # on one node, it ends the attempt on all
    if any(room.pods_on(request, position) for position in positions(room.among)):
        return ""
    if any(survey.errors for survey in request.options):
        return FAILS
    if any(survey.broken_pools for survey in request.options):
        return BROKEN
    if any(_has_closed(survey, room.demand(request, survey)) for survey in request.options):
        return TAINTED
    return SHORT if any(survey.all_left for survey in request.options) else NO_MATCH


def _has_closed(survey: Survey, demand: int) -> bool:
    """Whether a node had enough devices if the request tolerated their taints."""
    if survey.takes_all:
        return any(survey.closed.values())
    return any(
        closed and max(survey.sizes(survey.left[position] | closed), default=0) >= demand
        for position, closed in survey.closed.items()
    )


def short_of(it: Member, why: str) -> Iterator[tuple[DeviceRoom, Request]]:
    """Yield each request of a workload's pods that no node has devices for because of ``why``, with all devices.

    Raises UncheckedError.
    """
    room = room_of(it)
    if room is not None:
        yield from ((room, request) for request in room.requests if shortcoming(request, room) == why)


def room_of(it: Member) -> DeviceRoom | None:
    """Return the devices for all claims of a workload's pods; None without such claims, nodes or a known class.

    Raises UncheckedError.
    """
    if not needs_devices(it.workload.pod, it.scenario):
        return None
    must_know_devices(it)
    claims = open_claims(it)
    among = nodes_for(it) if claims else EMPTY
    return room_for(it, claims, among) if among else None


def room_for_copies(it: Member) -> DeviceRoom | None:
    """Return the devices for the claims that each pod of a workload has for itself, if pools add no node with more.

    None also without such claims. Raises UncheckedError.
    """
    if not needs_devices(it.workload.pod, it.scenario):
        return None
    must_know_devices(it)
    own = [wanted for wanted in open_claims(it) if not wanted.is_shared]
    among = nodes_for(it) if own else EMPTY
    return room_for(it, own, among) if among and not among & ~it.scenario.today else None


def nodes_with_devices(it: Member) -> NodeSet:
    """Return the usable nodes that have devices for each request of the pods; none if nobody knows which have."""
    try:
        room = room_of(it)
    except UncheckedError:
        return EMPTY
    if room is None:
        return it.usable
    return of(p for p in positions(room.among) if all(room.pods_on(request, p) for request in room.requests))


def nodes_for(it: Member) -> NodeSet:
    """Return the nodes that the pods may use, and one of each kind that pools could add."""
    return it.daemon_nodes if it.workload.kind == "DaemonSet" else it.usable & it.scenario.distinct
