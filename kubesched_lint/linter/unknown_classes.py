"""What an error assumes about RuntimeClasses that the cluster file does not tell of: they may tolerate more taints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from kubesched_lint.engine.model.pod import EVERY_TAINT
from kubesched_lint.engine.model.policy import RuntimeClass
from kubesched_lint.engine.placing.lacks import fits_nowhere
from kubesched_lint.engine.scenario.world import Member, World, once_per_world
from kubesched_lint.linter.applies import rests_on_nodes
from kubesched_lint.linter.rule_results import RuleResult


def members_of(error: RuleResult, world: World) -> Iterator[Member]:
    """Yield the workload that an error is about, or each workload that takes part in it."""
    if error.workload is not None:
        yield world.member(error.workload)
        return
    together = set(error.hazard.together)
    for workload in world.manifests.workloads if together else ():
        if workload.ref in together:
            yield world.member(workload)


def unknown_classes(error: RuleResult, world: World) -> Sequence[str]:
    """Return the RuntimeClasses that the pods of an error name and that the cluster file does not tell of."""
    if not rests_on_nodes(error.rule):
        return ()
    pods = (it.pod for it in members_of(error, world))
    return list(dict.fromkeys(pod.runtime_class for pod in pods if not world.admission.tells_of_class(pod)))


def if_they_add_nothing(error: RuleResult, world: World) -> str:
    names = unknown_classes(error, world)
    return f"RuntimeClass {', '.join(names)} {'add' if len(names) > 1 else 'adds'} no nodeSelector and no tolerations"


def with_other_classes(error: RuleResult, world: World) -> Sequence[World]:
    """Return the world in which unknown classes can help most: their selectors and overhead only close nodes.

    No world if closing nodes may help pods, too: a spread counts only the domains of selected nodes.
    """
    if any(c.is_hard for it in members_of(error, world) if not fits_nowhere(it) for c in it.pod.spread):
        return ()
    return (_with_tolerant_classes(world),)


@once_per_world
def _with_tolerant_classes(world: World) -> World:
    """Return the world where all unknown classes tolerate all taints."""
    pods = (w.pod for w in world.manifests.workloads)
    named = dict.fromkeys(pod.runtime_class for pod in pods if not world.admission.tells_of_class(pod))
    made = (RuntimeClass(name, tolerations=(EVERY_TAINT,)) for name in named)
    known = world.manifests.runtime_classes
    return world.with_manifests(replace(world.manifests, runtime_classes=(*known, *made)))
