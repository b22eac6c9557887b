"""Exact runs of a deployment that try to beat a proof: pods are created, bound and preempted as Kubernetes does it.

A run is one order that Kubernetes may take: controllers create pods as far as quotas let them, the scheduler binds each
to some node that passes every filter, or lets it preempt pods of lower priority. A proof holds for every order, so
one run with a better end refutes it. A run proves nothing about what is not modelled.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from random import Random
from typing import TYPE_CHECKING

from kubesched_lint.engine.cluster.nodeset import NodeSet, lowest, nth
from kubesched_lint.engine.placing.coming import Queued, first_pods, followed_pod, queued_pods
from kubesched_lint.engine.placing.placing import Choose, Placing
from kubesched_lint.engine.scenario.devices.devices import lacks_devices, needs_devices
from kubesched_lint.engine.scenario.others.running import lasting_state
from kubesched_lint.engine.scenario.quotas import granted
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.engine.scenario.storage.claims import modelled_templates, without_unknown_storage

if TYPE_CHECKING:
    from kubesched_lint.engine.model.workloads.workload import Workload
    from kubesched_lint.engine.scenario.scenario import Scenario

raising = False
"""Set by tests, where a refuted proof is a failure."""


class RefutedError(AssertionError):
    """A run of the model contradicts a proof."""


def is_modelled(it: Member) -> bool:
    """Whether a run can follow its pods and the pods stay."""
    return (it.workload.stays or it.workload.kind == "DaemonSet") and is_followed(it)


def is_followed(it: Member) -> bool:
    """Whether a run can follow its pods: who binds them is known, and so are their storage and devices."""
    if it.workload.kind == "CronJob" or (it.workload.kind == "Job" and it.workload.suspended):
        return False
    if it.scenario.admission.decision(it.workload).unknown:
        return False
    if followed_pod(it) is None or lacks_devices(it.workload.pod, it.scenario):
        return False
    if it.pod.node_name and (it.pod.volumes or it.workload.claim_templates or needs_devices(it.pod, it.scenario)):
        return False  # the kubelet may fail to mount a claim that no scheduler has bound, or lack a device
    volumes = without_unknown_storage(it).pod.volumes
    return volumes == it.workload.pod.volumes and modelled_templates(it) == it.workload.claim_templates


def pods_left(scenario: Scenario, members: Sequence[Workload], choose: Choose) -> dict[Workload, int] | None:
    """Return workload → number of its pods that do not run at the end of one run; None after too many preemptions.

    All ``members`` must be modelled. The scheduler takes them in the given order.
    """
    state = lasting_state(scenario)
    with state.undone():
        pods = [list(_pods(scenario.member(workload))) for workload in members]
        wanted = [sum(queued.left for queued in own) for own in pods]
        created = granted(list(zip(members, wanted, strict=True)), scenario)
        queue = [queued for own, count in zip(pods, created, strict=True) for queued in first_pods(own, count)]
        run = Placing(queue, state, choose=choose, preempts=True).run()
        if run.cut:
            return None
        return {
            workload: most - count + sum(queued.left for queued in own)
            for workload, own, most, count in zip(members, pods, wanted, created, strict=True)
        }


def _pods(it: Member) -> Iterator[Queued]:
    """Yield the pods of a workload; those of a Job end."""
    if it.workload.kind == "Job":
        yield Queued(it.workload, it.pod, None, it.replicas, ends=True)
    else:
        yield from queued_pods(it)


# --- orders ---------------------------------------------------------------------------------------------------------


class Drawing:
    """Choices at random. The runs of a small set often ask for none, and ``random`` takes time to import."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    @cached_property
    def random(self) -> Random:
        return Random(self._seed)

    def any_fit(self, nodes: NodeSet) -> int:
        return nth(nodes, self.random.randrange(nodes.bit_count()))


def order(members: Sequence[Workload], favoured: Iterable[Workload], seed: int) -> tuple[Sequence[Workload], Choose]:
    """Return one order: favoured members first (seed 0, on the first feasible node), last (1), else at random.

    From seed 1 on, each pod takes any node that it fits.
    """
    drawing = Drawing(seed)
    chosen = set(favoured)
    first = [w for w in members if w in chosen]
    rest = [w for w in members if w not in chosen]
    ordered = [*first, *rest] if seed % 2 == 0 else [*rest, *first]
    if seed > 1 and len(ordered) > 1:
        drawing.random.shuffle(ordered)
    return ordered, drawing.any_fit if seed else lowest
