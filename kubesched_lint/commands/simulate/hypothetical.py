"""Parse hypotheses such as ``--lose zone=a``: what a user supposes happens to the deployed set."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from kubesched_lint.commands.limits import MOST_ADDED
from kubesched_lint.commands.simulate.choosing_nodes import FORMS, chosen, copies, label_key
from kubesched_lint.engine.base.text import did_you_mean
from kubesched_lint.engine.events.search.hypotheses import Hypothesis, NodeChange, made_unreachable, together
from kubesched_lint.engine.events.start.simulated_set import SimulatedSet
from kubesched_lint.engine.model.nodes.node import Taint

Asked = tuple[str, str]
"""(option, its value), as ``("lose", "zone=a")``; the value of a flag is empty."""
AT_ONCE = "all at once"
"""The event of all hypotheses together."""
ENDS = ("deleted", "unreachable")
"""What becomes of the Node objects of lost nodes; the first, if nothing is said."""
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def hypotheses(asked: Sequence[Asked], simulated: SimulatedSet) -> tuple[Hypothesis, ...]:
    """Return one hypothesis for each that is asked, then all at once, if there are several. Raises ValueError.

    The last one also has the numbers of replicas of ``--scale``; two numbers for one workload exclude it.
    """
    by_event = {
        hypothesis.event: hypothesis for hypothesis in (_hypothesis(*each, simulated) for each in dict.fromkeys(asked))
    }
    parts = [*by_event.values(), *_scaled(simulated)]
    if not by_event or len(parts) < 2 or any(len(sizes) > 1 for sizes in simulated.scaled.values()):
        return tuple(by_event.values())
    return (*by_event.values(), together(AT_ONCE, parts, simulated.nodes))


def remarks(asked: Sequence[Asked], simulated: SimulatedSet) -> Iterator[str]:
    """Yield what a user may overlook in the columns of hypotheses."""
    options = {option for option, _ in asked}
    still = [event_of(*each) for each in asked if each[0] == "unlabel" or each[1].endswith(":NoSchedule")]
    if still and options.isdisjoint(("upgrade", "image-change")):
        yield f"{still[0]} moves no running pod; --upgrade and --image-change show what happens when pods are replaced"
    if asked and any(len(sizes) > 1 for sizes in simulated.scaled.values()):
        yield f"no column `{AT_ONCE}`: --scale gives a workload two numbers of replicas"


def _scaled(simulated: SimulatedSet) -> Iterator[Hypothesis]:
    for number, sizes in simulated.scaled.items():
        yield Hypothesis("scale", sizes={number: sizes[0]})


def event_of(option: str, text: str) -> str:
    """Return the name of the event that a hypothesis adds."""
    return f"{option} {text}" if text else option


def _hypothesis(option: str, text: str, simulated: SimulatedSet) -> Hypothesis:
    try:
        return _MEANING[option](event_of(option, text), text, simulated)
    except ValueError as error:
        raise ValueError(f"--{option}: {error}") from None


def _lose(event: str, text: str, simulated: SimulatedSet) -> Hypothesis:
    selector, colon, end = text.partition(":")
    if colon and end not in ENDS:
        raise ValueError(f"{text!r} is no loss: write NODES[:{'|'.join(ENDS)}]{did_you_mean(end, ENDS)}")
    names = chosen(selector, simulated.index)
    change = made_unreachable(names, simulated.nodes) if end == ENDS[1] else NodeChange(lost=names)
    return Hypothesis(event, change)


def _taint(event: str, text: str, simulated: SimulatedSet) -> Hypothesis:
    selector, colon, rest = text.partition(":") if text.count(":") == 2 else ("", "", text)
    left, _, effect = rest.partition(":")
    key, _, value = left.partition("=")
    if not key or effect not in EFFECTS or (colon and not selector):
        hint = did_you_mean(effect, EFFECTS) if effect and effect not in EFFECTS else ""
        raise ValueError(f"{text!r} is no taint: write [NODES:]KEY[=VALUE]:EFFECT, with NODES as {FORMS}{hint}")
    names = chosen(selector, simulated.index) if selector else frozenset(simulated.index.names)
    return Hypothesis(event, NodeChange(tainted=((names, Taint(key, value, effect)),)))


def _unlabel(event: str, text: str, simulated: SimulatedSet) -> Hypothesis:
    selector, colon, key = text.rpartition(":")
    if not key or (colon and not selector):
        raise ValueError(f"{text!r} is no label: write [NODES:]KEY, with NODES as {FORMS}")
    names = chosen(selector, simulated.index) if selector else frozenset(simulated.index.names)
    return Hypothesis(event, NodeChange(unlabelled=((names, label_key(key, simulated.index)),)))


def _add(event: str, text: str, simulated: SimulatedSet) -> Hypothesis:
    like, _, size = text.rpartition("=")
    if not like or not size.isascii() or not size.isdigit() or not 1 <= int(size) <= MOST_ADDED:
        raise ValueError(f"{text!r} is no number of nodes: write NODES=N, with N from 1 to {MOST_ADDED}")
    return Hypothesis(event, NodeChange(added=copies(like, int(size), simulated.index, simulated.objects)))


def _upgrade(event: str, text: str, simulated: SimulatedSet) -> Hypothesis:
    names = chosen(text, simulated.index) if text else frozenset(simulated.index.names)
    return Hypothesis(event, upgraded=tuple(name for name in simulated.index.names if name in names))


def _image_change(event: str, text: str, simulated: SimulatedSet) -> Hypothesis:
    return Hypothesis(event, rolls=True)


_MEANING: Mapping[str, Callable[[str, str, SimulatedSet], Hypothesis]] = {
    "lose": _lose,
    "taint": _taint,
    "unlabel": _unlabel,
    "add": _add,
    "upgrade": _upgrade,
    "image-change": _image_change,
}
