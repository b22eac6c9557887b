"""Who of a set may drive out whom by its priority, and whether a search can follow what comes of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf
from typing import NamedTuple

from kubesched_lint import work
from kubesched_lint.lifecycle.guests import guests_of
from kubesched_lint.lifecycle.hints import is_blind
from kubesched_lint.lifecycle.setting import Setting, once_per_setting
from kubesched_lint.model.pod import BoundPod
from kubesched_lint.model.workload import Workload


class Contest(NamedTuple):
    """Of one group of workloads that can get into each other's way."""

    strong: str = ""
    """A workload that may drive out others; empty: nobody does."""
    open_: str = ""
    """Why no search can follow it; empty: one can."""
    uncounted: bool = False
    """Whether even what counting proves to be bad may end well: it takes pods for what they may not be."""


NONE = Contest()


def contest(setting: Setting, members: Sequence[int]) -> Contest:
    """Whether priorities decide anything among ``members``, and what stands in the way of following it."""
    why = next(_uncounted(setting, members), "")
    if why:
        return Contest("", why, uncounted=True)
    pairs = _outranked(setting, members)
    guest = next(guests_of(setting).weaker(members), None)
    if not pairs and guest is None:
        return Contest("", blind) if (blind := _blind(setting, members)) else NONE
    strong = setting.workloads[pairs[0][0] if pairs else guest.member if guest is not None else 0]
    return Contest(str(strong), _hindrance(setting, members, pairs, strong) or _blind(setting, members))


def _uncounted(setting: Setting, members: Sequence[int]) -> Iterator[str]:
    for i, name in _missed(setting, members):
        yield f"pod {name} terminates: whether pods of {setting.workloads[i]}, which must be near it, come in time"
    for i in members:
        if _is_made_otherwise(setting, i):
            yield f"new pods of {setting.workloads[i]} get other requests from a LimitRange than those that run"
        name = next((f"{b.namespace}/{b.name}" for b in setting.going if _concerns(setting, i, b)), "")
        if name:
            yield f"pod {name}, of a workload whose new pods the API server refuses, may be taken away"


def _is_made_otherwise(setting: Setting, number: int) -> bool:
    """Whether a LimitRange that came later gives new pods of the template that runs what those that run lack."""
    running = setting.running.get(number, ())
    if not running or setting.changes.get(number, True) is True:
        return False
    written, newest = setting.workloads[number].pod.requests, running[-1].pod.requests
    return written == newest != setting.pods[number].requests


def _concerns(setting: Setting, number: int, bound: BoundPod) -> bool:
    """Whether a workload meets a pod: on a node, in a quota, or it asks where other pods are."""
    pod, at = setting.pods[number], setting.index.positions.get(bound.node, -1)
    looks = pod.required_affinity or pod.required_anti_affinity or any(c.is_hard for c in pod.spread)
    shares = bool(setting.quotas[number]) and bound.namespace == pod.namespace
    return bool(looks) or shares or (at >= 0 and bool(setting.reach[number] >> at & 1))


def _missed(setting: Setting, members: Sequence[int]) -> Iterator[tuple[int, str]]:
    """Members that must be near a pod that terminates, and this pod: how they end depends on who is quicker."""
    for bound in setting.leaving:
        for i in members:
            pod = setting.pods[i]
            if pod.required_affinity and all(setting.selects(t, pod, bound.pod) for t in pod.required_affinity):
                yield i, f"{bound.namespace}/{bound.name}"


def _blind(setting: Setting, members: Sequence[int]) -> str:
    """Why it is not known whether pods come near others in time: a search follows no hint that a binding gives."""
    found = (setting.workloads[i] for i in members if is_blind(setting.pods[i].required_affinity, setting.cluster))
    waiting = next(found, None)
    return "" if waiting is None else f"pods of {waiting} may overlook that one of a labelled namespace has come"


def _outranked(setting: Setting, members: Sequence[int]) -> list[tuple[int, int]]:
    """Who may drive out whom."""
    if len({rank for i in members for rank in _ranks(setting, i)}) < 2:
        return []
    work.spend(len(members) ** 2 // 4)
    return [(i, j) for i in members for j in members if outranks(setting, i, j)]


def outranks(setting: Setting, strong: int, weak: int) -> bool:
    """Whether pods of one workload may drive out those of another, or its own of another template."""
    eager = (p.priority or 0 for p in setting.kinds[strong] if p.preemption_policy != "Never" and not p.node_name)
    return max(eager, default=-inf) > min(_ranks(setting, weak)) and bool(setting.reach[strong] & setting.reach[weak])


@once_per_setting
def drivers(setting: Setting) -> frozenset[int]:
    """Workloads whose pods may drive out others, as far as priorities tell."""
    lowest = min((rank for i in range(len(setting.pods)) for rank in _ranks(setting, i)), default=inf)
    lowest = min(lowest, guests_of(setting).weakest)
    eager = (i for i, pod in enumerate(setting.pods) if pod.preemption_policy != "Never" and not pod.node_name)
    return frozenset(i for i in eager if max(_ranks(setting, i)) > lowest)


def _ranks(setting: Setting, number: int) -> Iterator[int]:
    return (pod.priority or 0 for pod in setting.kinds[number])


def _hindrance(setting: Setting, members: Sequence[int], pairs: Sequence[tuple[int, int]], strong: Workload) -> str:
    pods, workloads = setting.pods, setting.workloads
    followed = {id(bound): guest.workload for guest in guests_of(setting).hosted for bound in guest.pods}
    lost = next((w for w in guests_of(setting).weaker(members) if id(w.bound) not in followed), None)
    if lost is not None:
        i, bound = lost.member, lost.bound
        return (
            f"preemption: {workloads[i]} (priority {pods[i].priority or 0}) may drive out pod {bound.namespace}/"
            f"{bound.name} (priority {lost.rank}), which is not of the set: where that goes then is not known"
        )
    for i, j in pairs:
        guard = next(iter(setting.guards(j)), None)
        if guard is not None:
            return (
                f"preemption: {workloads[i]} may drive out {workloads[j]}, which PDB {guard.name} guards: whom it "
                "spares depends on the budget's state at that moment"
            )
        if workloads[j].kind == "Pod":
            return f"preemption: {workloads[i]} may drive out {workloads[j]}, which nobody makes again"
    ranks = {rank for pair in pairs for i in pair for rank in _ranks(setting, i)}
    for weaker in guests_of(setting).weaker(members):
        ranks.add(pods[weaker.member].priority or 0)
        if followed[id(weaker.bound)].kind != "Pod":  # nobody makes a bare pod again, so that it never waits
            ranks.add(weaker.rank)
    if len(ranks) > 2:
        listed = ", ".join(map(str, sorted(ranks)))
        return (
            f"preemption: pods of {len(ranks)} priorities ({listed}) meet, and a third may take a place that was freed"
        )
    return ""
