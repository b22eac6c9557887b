"""Which workloads of a setting stay as they run while others are deployed or changed."""

from __future__ import annotations

from kubesched_lint.engine.events.start.setting import Setting, once_per_setting
from kubesched_lint.engine.model.pod import BoundPod
from kubesched_lint.engine.scheduler.tolerance import leaves


@once_per_setting
def quiet(setting: Setting) -> frozenset[int]:
    """Return the workloads that applying the manifests leaves alone: all their pods run, and none is to change.

    One without pods is not among them: nothing of it stands.
    """
    return frozenset(i for i in range(len(setting.workloads)) if _is_quiet(setting, i))


def _is_quiet(setting: Setting, number: int) -> bool:
    running, workload, wanted = setting.running.get(number, ()), setting.workloads[number], setting.wanted(number)
    if not running or len(running) != wanted or workload.suspended or setting.sizes.get(number, wanted) != wanted:
        return False
    if setting.changes.get(number, True) is not False or not setting.is_settled(number):
        return False
    return setting.keeps(number) == wanted and all(_stays(setting, bound) for bound in running)


def _stays(setting: Setting, bound: BoundPod) -> bool:
    node = setting.nodes[setting.index.positions[bound.node]]
    return not any(leaves(bound.pod.tolerations, taint) for taint in node.taints)
