"""The workloads to which required pod affinity leads, in the order in which their pods are bound."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator

from kubesched_lint.lifecycle.contenders import made_again
from kubesched_lint.lifecycle.setting import Setting


def leading(setting: Setting, number: int) -> Iterator[int]:
    """Yield the workloads of which each bound pod is in a domain to which the workload's affinity leads."""
    terms = setting.pods[number].required_affinity
    if terms:
        keyed = setting.index.with_key(terms[0].topology_key)
        yield from (i for i in made_again(setting, number, terms) if not setting.usable[i] & ~keyed)


def is_sure(setting: Setting, number: int, known: dict[int, bool], is_bound: Callable[[int], bool]) -> bool:
    """Return ``is_bound(number)``, asked after the same about each workload to which affinity leads, step by step.

    ``is_bound`` finds those answers in ``known``, so that a long chain is no deep recursion. In a ring the workload
    that is asked first finds nobody bound.
    """
    if number not in known:
        followed = _followed(setting, number, known)
        known.update(dict.fromkeys(followed, False))
        for i in followed:
            known[i] = is_bound(i)
    return known[number]


def _followed(setting: Setting, number: int, known: Container[int]) -> list[int]:
    """Return the workloads to which affinity leads from one, except known ones; each comes after its own."""
    found, met = list[int](), {number}
    path = [(number, leading(setting, number))]
    while path:
        here, further = path[-1]
        following = next((i for i in further if i not in met and i not in known), None)
        if following is None:
            found.append(here)
            path.pop()
        else:
            met.add(following)
            path.append((following, leading(setting, following)))
    return found
