"""What the whole set lacks after a loss, in words: one line for nodes and one for zones."""

from __future__ import annotations

from collections.abc import Iterator, Set

from msgspec import Struct

from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.engine.base.text import SHOWN, first_few, many, plural
from kubesched_lint.engine.placing.together.after_losses import Short, short_after_losses
from kubesched_lint.engine.scenario.premises.device_premises import set_premises
from kubesched_lint.engine.scenario.scenario import Scenario

_WHAT = {"node-loss": "node", "zone-loss": "zone"}


class ShortAfterLoss(Struct, frozen=True):
    """Pods that surely wait after a loss, of which the order decides whose they are."""

    event: str
    message: str
    because: str
    """The proof."""
    lost: tuple[str, ...]
    """The nodes or zones: the loss of any of them is enough."""
    waiting: int
    """The least number of pods that wait."""
    workloads: tuple[ObjectRef, ...]
    """Those whose pods may be the ones."""
    assumes: tuple[str, ...]
    is_elastic: bool
    """Whether an autoscaler may add nodes, so that they wait only until then."""
    environments: tuple[str, ...] = ()
    """Where it holds, if not in all environments that were judged."""


def short_sets(scenario: Scenario, events: Set[str]) -> Iterator[ShortAfterLoss]:
    """Yield what these events leave short, for every scheduler and every order."""
    for short in short_after_losses(scenario) if events & _WHAT.keys() else ():
        if short.event in events:
            placed = short.wanted - short.waiting
            yield ShortAfterLoss(
                short.event,
                _message(short),
                f"{short.wanted} pods > {placed}, the most by {short.because} without {short.mildest}",
                short.lost,
                short.waiting,
                tuple(demand.workload.ref for demand in short.demands),
                tuple(_premises(short, scenario)),
                scenario.is_elastic,
            )


def _message(short: Short) -> str:
    what, number = _WHAT[short.event], len(short.lost)
    if number == short.of > 1:
        theirs = "" if short.is_whole_cluster else " that they may use"
        when = f"whichever of the {short.of} {what}s{theirs} is lost"
    elif number <= SHOWN:
        when = f"after {what} {first_few(short.lost, ' or ')} is lost"
    else:
        when = f"after any of {number} {what}s is lost ({first_few(short.lost)})"
    of = f"the {many(short.wanted, 'pod')} of {many(len(short.demands), 'workload')}"
    wait = plural(short.waiting, "waits", "wait")
    return f"{when}, at least {short.waiting} of {of} {wait} for {short.because}; the order decides which"


def _premises(short: Short, scenario: Scenario) -> Iterator[str]:
    yield from set_premises([demand.workload.pod for demand in short.demands], scenario)
    if scenario.is_elastic and scenario.cluster is not None:
        yield scenario.cluster.elastic_premise
