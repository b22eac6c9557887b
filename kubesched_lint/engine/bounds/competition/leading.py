"""The workloads to which required pod affinity leads, in the order in which their pods are bound."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator

from kubesched_lint.engine.bounds.competition.contenders import made_again
from kubesched_lint.engine.events.start.setting import Setting


def is_led(setting: Setting, number: int, known: dict[int, bool], is_bound: Callable[[int], bool]) -> bool:
    """Return whether ``is_bound`` for some workload to which affinity leads, asked after the same about its own.

    ``is_bound`` finds earlier answers in ``known``, so that a long chain is no deep recursion. In a ring the workload
    that is asked first finds nobody bound.
    """
    for leader in _leading(setting, number):
        if leader not in known:
            followed = _followed(setting, leader, known)
            known.update(dict.fromkeys(followed, False))
            for i in followed:
                known[i] = is_bound(i)
        if known[leader]:
            return True
    return False


def _leading(setting: Setting, number: int) -> Iterator[int]:
    """Yield the workloads of which each bound pod is in a domain to which the workload's affinity leads."""
    terms = setting.pods[number].required_affinity
    if terms:
        keyed = setting.index.with_key(terms[0].topology_key)
        yield from (i for i in made_again(setting, number, terms) if not setting.usable[i] & ~keyed)


def _followed(setting: Setting, number: int, known: Container[int]) -> list[int]:
    """Return the workloads to which affinity leads from one, except known ones; each comes after its own."""
    found, met = list[int](), {number}
    path = [(number, _leading(setting, number))]
    while path:
        here, further = path[-1]
        following = next((i for i in further if i not in met and i not in known), None)
        if following is None:
            found.append(here)
            path.pop()
        else:
            met.add(following)
            path.append((following, _leading(setting, following)))
    return found
