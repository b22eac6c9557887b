"""The things that a rule with expressions can check: workloads, parts of their pods, and other objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from kubesched_lint.engine.base.places import ObjectRef, Path, Source, Span
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.rulebook.cel.facts import Term, affinity_terms, anti_affinity_terms, containers
from kubesched_lint.rulebook.cel.structs import Each, ItemPlace, View


class _WholeFile:
    """The place of a thing without a line: the cluster's file itself."""

    def __init__(self, path: str) -> None:
        self.path = path

    def span(self, path: Path, *, key: bool = False) -> Span:
        return Span(1, 1, 1, 1)


@lru_cache(maxsize=16)
def _whole_file(path: str) -> _WholeFile:
    """One object per file, because findings are distinguished by their source."""
    return _WholeFile(path)


def _workload(view: View) -> Iterator[ItemPlace]:
    yield ItemPlace(_of(view), ())


def _pod(view: View) -> Iterator[ItemPlace]:
    yield ItemPlace(_of(view), _of(view).pod.path)


def _affinity(view: View) -> Iterator[ItemPlace]:
    yield from _terms(affinity_terms(_of(view)))


def _anti_affinity(view: View) -> Iterator[ItemPlace]:
    yield from _terms(anti_affinity_terms(_of(view)))


def _terms(terms: Iterator[Term]) -> Iterator[ItemPlace]:
    for term in terms:
        yield ItemPlace(term, term.term.path)


def _spread(view: View) -> Iterator[ItemPlace]:
    yield from (ItemPlace(constraint, constraint.path) for constraint in _of(view).pod.spread)


def _tolerations(view: View) -> Iterator[ItemPlace]:
    yield from (ItemPlace(toleration, toleration.path) for toleration in _of(view).pod.tolerations)


def _containers(view: View) -> Iterator[ItemPlace]:
    yield from (ItemPlace(held, held.container.path) for held in containers(_of(view)))


def _host_ports(view: View) -> Iterator[ItemPlace]:
    yield from (ItemPlace(port, port.path) for port in _of(view).pod.host_ports)


def _volumes(view: View) -> Iterator[ItemPlace]:
    yield from (ItemPlace(volume, volume.path) for volume in _of(view).pod.volumes)


def _budgets(view: View) -> Iterator[ItemPlace]:
    for budget in view.scenario.manifests.budgets:
        ref = ObjectRef("PodDisruptionBudget", budget.namespace, budget.name)
        yield ItemPlace(budget, ("metadata", "name"), budget.source, ref)


def _autoscalers(view: View) -> Iterator[ItemPlace]:
    for scaler in view.scenario.manifests.autoscalers:
        yield ItemPlace(scaler, ("metadata", "name"), scaler.source, scaler.ref)


def _nodes(view: View) -> Iterator[ItemPlace]:
    """Yield the nodes: those of a sketch at their lines, those of kubectl's output at the whole file."""
    cluster = view.scenario.cluster
    if cluster is not None:
        source: Source = cluster.source or _whole_file(cluster.path)
        for node in cluster.inventory.nodes:
            at = node.path if cluster.source else (node.name,)
            yield ItemPlace(node, at, source, ObjectRef("Node", "", node.name))


def _of(view: View) -> Workload:
    assert view.workload is not None
    return view.workload


_VIEWS = (
    Each("workload", "Workload", "workload", "every workload", _workload),
    Each("pod", "Pod", "pod", "the pod template of every workload", _pod),
    Each("affinity_term", "AffinityTerm", "term", "every term of pod affinity", _affinity),
    Each("anti_affinity_term", "AffinityTerm", "term", "every term of pod anti-affinity", _anti_affinity),
    Each("spread_constraint", "SpreadConstraint", "spread", "every topology spread constraint", _spread),
    Each("toleration", "Toleration", "toleration", "every toleration that is written", _tolerations),
    Each("container", "Container", "container", "every container and init container", _containers),
    Each("host_port", "HostPort", "port", "every port taken on the node", _host_ports),
    Each("volume", "Volume", "volume", "every volume that scheduling looks at", _volumes),
    Each(
        "disruption_budget",
        "DisruptionBudget",
        "budget",
        "every PodDisruptionBudget of the manifests",
        _budgets,
        True,
        "set",
    ),
    Each(
        "autoscaler",
        "Autoscaler",
        "autoscaler",
        "every HorizontalPodAutoscaler and ScaledObject (KEDA) of the manifests",
        _autoscalers,
        True,
        "set",
    ),
    Each("node", "Node", "node", "every node of the cluster", _nodes, True, "nodes"),
)
EACH: Mapping[str, Each] = {each.name: each for each in _VIEWS}


def variables(each: Each) -> Mapping[str, str]:
    """Variable → struct for the expressions of such a rule; ``params.…`` is available too."""
    around = {} if each.by_set else {"workload": "Workload"}
    return {**around, each.variable: each.struct, "cluster": "Cluster"}
