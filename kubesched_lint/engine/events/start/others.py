"""The pods outside the set that selectors of its pods select, in groups of equal ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kubesched_lint.engine.cluster.nodeset import EMPTY, NodeSet, of
from kubesched_lint.engine.cluster.pods.alike import Alike
from kubesched_lint.engine.events.start.coupling import PodSelection
from kubesched_lint.engine.events.start.simulated_set import SimulatedMember, SimulatedSet, once_per_set
from kubesched_lint.engine.model.labels import Selector


def selected_by(simulated: SimulatedSet, selector: Selector, namespace: str) -> Iterator[Alike]:
    """Yield the groups that the selector of a spread of a pod in ``namespace`` counts."""
    return map(simulated.others.__getitem__, _selection(simulated).of(selector, namespace))


def drawing(member: SimulatedMember) -> Iterator[Alike]:
    """Yield the groups that all required affinity of a workload selects; it must have some."""
    pod = member.pod
    return map(member.set.others.__getitem__, _selection(member.set).of_all(pod.required_affinity, pod.namespace))


def where(groups: Iterable[Alike]) -> NodeSet:
    """Return the nodes where pods of some groups are."""
    nodes = EMPTY
    for group in groups:
        nodes |= group.nodes
    return nodes


def staying(simulated: SimulatedSet, group: Alike) -> NodeSet:
    """Return the nodes with a pod of a group that does not terminate, and that no controller of the set deletes."""
    if group.terminating or not simulated.to_be_deleted:
        return EMPTY if group.terminating else group.nodes
    going, pairs = frozenset(simulated.to_be_deleted), zip(group.bound, group.positions, strict=True)
    return of([position for bound, position in pairs if bound not in going])


@once_per_set
def _selection(simulated: SimulatedSet) -> PodSelection:
    return PodSelection([group.pod for group in simulated.others], simulated.cluster)
