"""How Karpenter treats preferences: each is first a requirement, and is dropped if the pod fits nowhere.

Mirrors ``pkg/controllers/provisioning/scheduling/preferences.go`` of kubernetes-sigs/karpenter: preferred pod affinity
goes first, then preferred pod anti-affinity, preferred node affinity, and at last ScheduleAnyway; of each kind the
heaviest first. Of preferred node affinity only the heaviest term that is left counts; it limits where the pod goes, not
the domains of its spread constraints. This is the controller's default; ``preferencePolicy`` Ignore is not assumed.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.engine.model.pod import NodeSelectorTerm, Pod, WeightedPodAffinityTerm


class PodVariant(Struct, frozen=True):
    """A variant of a pod, and the node selector term that its node must match besides; None for any node."""

    pod: Pod
    term: NodeSelectorTerm | None = None


def relaxed(pod: Pod) -> Iterator[PodVariant]:
    """Yield the pod with all preferences as requirements, then with fewer and fewer; the last one has none."""
    near = _by_weight(pod.preferred_affinity)
    far = _by_weight(pod.preferred_anti_affinity)
    nodes = sorted(pod.preferred_node_terms, key=lambda p: -p.weight)
    soft = [c for c in pod.spread if not c.is_hard]
    for left in range(len(near) + len(far) + len(nodes) + len(soft), -1, -1):
        spread = soft[len(soft) - left :] if left < len(soft) else soft
        left = max(0, left - len(soft))
        term = nodes[-left:][:1] if left else []
        left = max(0, left - len(nodes))
        apart = far[-left:] if left else []
        left = max(0, left - len(far))
        together = near[-left:] if left else []
        variant = replace(
            pod,
            required_affinity=(*pod.required_affinity, *(p.term for p in together)),
            required_anti_affinity=(*pod.required_anti_affinity, *(p.term for p in apart)),
            spread=(
                *(c for c in pod.spread if c.is_hard),
                *(replace(c, when_unsatisfiable="DoNotSchedule") for c in spread),
            ),
        )
        yield PodVariant(variant, term[0].term if term else None)


def _by_weight(terms: tuple[WeightedPodAffinityTerm, ...]) -> list[WeightedPodAffinityTerm]:
    return sorted(terms, key=lambda p: -p.weight)
