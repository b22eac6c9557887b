"""The workloads to which required pod affinity leads, in the order in which their pods are bound."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator

from kubesched_lint.engine.bounds.competition.contenders import made_again
from kubesched_lint.engine.events.start.simulated_set import SimulatedMember


def is_led(member: SimulatedMember, known: dict[int, bool], is_bound: Callable[[int], bool]) -> bool:
    """Return whether ``is_bound`` for some workload to which affinity leads, asked after the same about its own.

    ``is_bound`` finds earlier answers in ``known``, so that a long chain is no deep recursion. In a ring the workload
    that is asked first finds nobody bound.
    """
    for leader in _leading(member):
        if leader not in known:
            followed = _followed(member.set.member(leader), known)
            known.update(dict.fromkeys(followed, False))
            for i in followed:
                known[i] = is_bound(i)
        if known[leader]:
            return True
    return False


def _leading(member: SimulatedMember) -> Iterator[int]:
    """Yield the workloads of which each bound pod is in a domain to which the workload's affinity leads."""
    terms = member.pod.required_affinity
    if terms:
        keyed = member.set.index.with_key(terms[0].topology_key)
        yield from (i for i in made_again(member, terms) if not member.set.usable[i] & ~keyed)


def _followed(member: SimulatedMember, known: Container[int]) -> list[int]:
    """Return the workloads to which affinity leads from one, except known ones; each comes after its own."""
    followed, met = list[int](), {member.number}
    path = [(member.number, _leading(member))]
    while path:
        number, further = path[-1]
        following = next((i for i in further if i not in met and i not in known), None)
        if following is None:
            followed.append(number)
            path.pop()
        else:
            met.add(following)
            path.append((following, _leading(member.set.member(following))))
    return followed
