"""A StatefulSet creates from the lowest ordinal; it deletes and updates from the highest, one at a time.

Mirrors ``pkg/controller/statefulset/stateful_set_control.go`` (v1.36), updateStatefulSet, and with the gate
MaxUnavailableStatefulSet on (v1.37) updateStatefulSetAfterInvariantEstablished. While a pod is not ready, an
OrderedReady set does nothing for higher ordinals, so a waiting pod of an old revision is never replaced.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from kubesched_lint.engine.base.quirks import STATEFUL_SET_MAX_UNAVAILABLE, STATEFUL_SET_MAX_UNAVAILABLE_AT_FIRST, has
from kubesched_lint.engine.controllers.bounds import scaled
from kubesched_lint.engine.model.pod import Pod, Volume
from kubesched_lint.engine.model.storage import Claim
from kubesched_lint.engine.model.workloads.workload import Workload


class OrdinalPod(NamedTuple):
    """The pod of one ordinal."""

    revision: int
    ready: bool
    terminating: bool = False
    """It is deleted and still there: nobody replaces it."""


class StatefulSetSync(NamedTuple):
    """The actions of one sync: ordinals to create at the newest revision, ordinals to delete."""

    create: tuple[int, ...] = ()
    delete: tuple[int, ...] = ()
    """One after the other, in any order."""
    update: tuple[int, ...] = ()
    """Deleted at once."""


class Budget(NamedTuple):
    """What limits an update while the gate MaxUnavailableStatefulSet is on."""

    most: int
    """The pods that may be unavailable, at least 1."""
    broken_first: bool
    """Old pods that are not ready are all deleted, and only the others need the budget."""


def budget(workload: Workload, replicas: int, version: str) -> Budget | None:
    """Return the limits of an update; None while the gate is off (getStatefulSetMaxUnavailable rounds down)."""
    if not has(version, STATEFUL_SET_MAX_UNAVAILABLE, STATEFUL_SET_MAX_UNAVAILABLE_AT_FIRST):
        return None
    most = max(scaled(workload.strategy.max_unavailable, replicas, up=False), 1)
    parallel = workload.pod_management == "Parallel"
    return Budget(most, parallel and has(version, STATEFUL_SET_MAX_UNAVAILABLE))


def sync(
    members: Mapping[int, OrdinalPod],
    replicas: int,
    newest: int,
    *,
    ordered: bool,
    partition: int = 0,
    on_delete: bool = False,
    budget: Budget | None = None,
) -> StatefulSetSync:
    """Return the actions of one sync.

    ``members`` maps ordinals to pods; the first ``replicas`` are wanted, those from ``partition`` on at ``newest``.
    ``budget``: see there.
    """
    missing = []
    for ordinal in range(replicas):
        member = members.get(ordinal)
        if member is None:
            if ordered:
                return StatefulSetSync(create=(ordinal,))
            missing.append(ordinal)
        elif not member.ready and ordered:
            return StatefulSetSync()
    if missing:
        return StatefulSetSync(create=tuple(missing))
    condemned = sorted((o for o in members if o >= replicas), reverse=True)
    if condemned:
        going = _condemned(members, condemned, ordered=ordered)
        return StatefulSetSync(delete=tuple(o for o in going if not members[o].terminating))
    if on_delete:
        return StatefulSetSync()
    if budget is not None:
        idle = {o for o in range(replicas) if not members[o].ready}
        old = {o for o in range(replicas) if members[o].revision != newest and not members[o].terminating}
        return StatefulSetSync(update=updated(budget, old, idle, partition))
    for ordinal in range(replicas - 1, partition - 1, -1):
        if members[ordinal].revision != newest and not members[ordinal].terminating:
            return StatefulSetSync(delete=(ordinal,))
        if not members[ordinal].ready:
            return StatefulSetSync()
    return StatefulSetSync()


def updated(budget: Budget, old: Collection[int], idle: Collection[int], partition: int) -> tuple[int, ...]:
    """Return the ordinals that one sync deletes for an update, of those that are ``old`` or not ready (``idle``)."""
    outdated = sorted((o for o in old if o >= partition), reverse=True)
    broken = [o for o in outdated if o in idle] if budget.broken_first else []
    others = [o for o in outdated if o not in broken]
    return (*broken, *others[: max(budget.most - len(idle), 0)])


def _condemned(members: Mapping[int, OrdinalPod], condemned: list[int], *, ordered: bool) -> tuple[int, ...]:
    if not ordered:
        return tuple(condemned)
    # All replicas are ready here, so the first unhealthy pod is the lowest condemned pod that is not ready.
    first_unhealthy = next((o for o in reversed(condemned) if not members[o].ready), None)
    highest = condemned[0]
    if members[highest].ready or highest == first_unhealthy:
        return (highest,)
    return ()


def claims_of(workload: Workload, ordinal: int) -> tuple[Claim, ...]:
    """Return the claims that the controller creates for pod ``ordinal``, from 0 (getPersistentVolumeClaims)."""
    home = workload.namespace
    return tuple(
        replace(t, name=claim_name(workload, t, ordinal), namespace=home, uid="") for t in workload.claim_templates
    )


def claim_name(workload: Workload, template: Claim, ordinal: int) -> str:
    """Return the name of the claim of a template for pod ``ordinal``, from 0."""
    own = _own_claims(workload, template)
    return own[ordinal] if ordinal < len(own) else f"{_stem(workload, template)}{workload.first_ordinal + ordinal}"


def makes_claim(workload: Workload, template: Claim, name: str) -> bool:
    """Return whether a claim has a name that its controller gives to claims of the template."""
    return name in _own_claims(workload, template) or name.startswith(_stem(workload, template))


class ClaimNames:
    """The names of a namespace's claims, and those that end with an ordinal by what comes before it."""

    def __init__(self, names: Iterable[str]) -> None:
        self.all = frozenset(names)
        self.ordinals: dict[str, set[int]] = {}
        """``data-web-`` → {0, 2} for ``data-web-0`` and ``data-web-2``."""
        for name in self.all:
            before, dash, end = name.rpartition("-")
            if end.isascii() and end.isdecimal() and len(end) < 11 and str(int(end)) == end:
                self.ordinals.setdefault(f"{before}{dash}", set()).add(int(end))


def ordinals_with(workload: Workload, claims: ClaimNames) -> set[int]:
    """Return the ordinals, as in names of pods, that have one of these claims."""
    ordinals: set[int] = set()
    for template in workload.claim_templates:
        own = _own_claims(workload, template)
        if own:
            ordinals |= {workload.first_ordinal + number for number, name in enumerate(own) if name in claims.all}
        else:
            ordinals |= claims.ordinals.get(_stem(workload, template), set())
    return ordinals


def _own_claims(workload: Workload, template: Claim) -> Sequence[str]:
    return () if workload.custom is None else workload.custom.claims.get(template.name, ())


def _stem(workload: Workload, template: Claim) -> str:
    return f"{template.name}-{workload.name}-"


def pod_with_claims(workload: Workload, pod: Pod, ordinal: int) -> Pod:
    """Return the pod of an ordinal: a claim template replaces the volume of the same name (updateStorage)."""
    if not workload.claim_templates:
        return pod
    names = {t.name: claim_name(workload, t, ordinal) for t in workload.claim_templates}
    own = tuple(v for v in pod.volumes if v.name not in names)
    return replace(pod, volumes=own + tuple(Volume(n, "persistentVolumeClaim", c) for n, c in names.items()))
