"""The engine for tools of your own: objects of Kubernetes → where pods go, and what each event leaves.

Objects are plain values as ``kubectl get -o json`` prints them. Nothing is read, printed or sent. ``docs/engine.md``
shows every function at work; ``docs/versioning.md`` promises their names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.engine.apiserver.validate import validate
from kubesched_lint.engine.base import work
from kubesched_lint.engine.base.limits import MOST_STEPS
from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.cluster.collecting.collect import Collector
from kubesched_lint.engine.cluster.nodeset import positions
from kubesched_lint.engine.events.answers.cells import Cell
from kubesched_lint.engine.model.decode.objects import decode_object, gather, is_read
from kubesched_lint.engine.placing.coming import Coming
from kubesched_lint.engine.placing.scenarios import without_transient
from kubesched_lint.engine.placing.trial import at_rest, tried_and_placed
from kubesched_lint.engine.runs.courses import Effort
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.engine.scenario.settings.user_settings import Premises
from kubesched_lint.engine.scheduler.framework import Diagnosis, diagnose, message
from kubesched_lint.engine.verdicts.matrix import EVENTS
from kubesched_lint.engine.verdicts.table import Table

Objects = Iterable[Mapping[str, Any]]


class Candidates(Struct, frozen=True):
    """Where one more pod of a workload fits beside the pods that run."""

    nodes: tuple[str, ...]
    message: str
    """The message of a FailedScheduling event; empty if a node fits."""
    reasons: Mapping[str, tuple[str, ...]]
    """Each other node → kube-scheduler's reasons, ``PLUGIN: REASON``."""


class Placed(Struct, frozen=True):
    """The end of one deployment of a whole set, of many that may happen."""

    nodes: Mapping[ObjectRef, Mapping[str, int]]
    """Workload → node → its new pods there."""
    pending: Mapping[ObjectRef, tuple[int, str]]
    """Workload → its pods that find no node, and the scheduler's message about the last of them."""


class Verdict(Struct, frozen=True):
    """What one event leaves of one workload, in every order in which it may happen."""

    workload: ObjectRef
    event: str
    """``deploy``, ``rollout``, ``hpa-max``, ``scale-down``, ``node-loss``, ``zone-loss`` or ``drain``."""
    verdict: str
    """``fine``, ``likely``, ``bad``, ``depends``, ``by-scores``, ``unknown``, ``refused`` or ``none``."""
    is_proven: bool
    """Whether it holds for every scheduler that respects the filters."""
    least: int
    """Pods that run in the worst end."""
    most: int
    wanted: int
    why: str
    """The proof, or what is known, in one sentence with its numbers."""
    assumes: tuple[str, ...]
    missing: tuple[str, ...]
    """The facts that would decide it."""
    trace: tuple[str, ...]
    """A course of events that ends badly, if one was found."""


def cluster_of(objects: Objects, *, version: str = "") -> Cluster:
    """Return a cluster of nodes, pods and all else that is read; a kind that occurs is known completely.

    ``version``: of its API server, ``v1.36.2``. Pods that have finished take no room. Cordons and taints that
    controllers remove by themselves count as over. Raises DecodeError for a field of a wrong type, with its path, and
    ClusterError for more nodes or objects than a cluster has.
    """
    collector = Collector(path="the cluster")
    for value in objects:
        collector.value(dict(value))
    return without_transient(replace(collector.cluster("the cluster"), version=version))


def scenario_of(manifests: Objects, cluster: Cluster, *, version: str = "", apply_order: str = "kubectl") -> Scenario:
    """Return the manifests laid over a cluster; objects of kinds that are not read are left out.

    ``apply_order``: the tool that applies them: ``kubectl``, ``helm`` or ``argocd``. Raises DecodeError for a field of
    a wrong type, and ValueError, with the API server's words, for an object that it refuses.
    """
    read = [dict(value) for value in manifests if is_read(value.get("apiVersion"), value.get("kind"))]
    inventory = gather(decode_object(value, "default", None, number) for number, value in enumerate(read))
    scenario = Scenario(inventory, cluster, Premises(apply_order=apply_order, kubernetes_version=version))
    for value in read:
        answer = validate(value, version=scenario.premises.kubernetes_version)
        if not answer.accepted:
            name = (value.get("metadata") or {}).get("name")
            raise ValueError(f"the API server refuses {value['kind']} {name}: {answer.causes[0]}")
    return scenario


def candidates(scenario: Scenario, kind: str, namespace: str, name: str) -> Candidates:
    """Return where one more pod of a workload fits today. Raises KeyError if the set has no such workload."""
    workload = {workload.ref: workload for workload in scenario.manifests.workloads}[ObjectRef(kind, namespace, name)]
    diagnosis = diagnose(scenario.member(workload).pod, at_rest(scenario).state)
    names = scenario.index.names
    left = {names[n]: tuple(_reasons(diagnosis, n)) for n in positions(scenario.index.all & ~diagnosis.feasible)}
    return Candidates(tuple(scenario.names(diagnosis.feasible)), "" if diagnosis.feasible else message(diagnosis), left)


def _reasons(diagnosis: Diagnosis, position: int) -> Iterator[str]:
    return (f"{rejection.plugin}: {rejection.reason}" for rejection in diagnosis.reasons(position))


def placed(scenario: Scenario, *, seed: int = 1) -> Placed:
    """Deploy the whole set once, by the filters and scores of the default scheduler, and return the end.

    ``seed`` decides what kube-scheduler decides by chance. Running pods may be preempted, as in a cluster.
    """
    names = scenario.index.names
    end, counts = tried_and_placed(scenario, Coming(seed))
    nodes = {each.ref: {names[n]: counts[each][n] for n in sorted(counts[each])} for each in counts}
    return Placed(nodes, {workload.ref: left for workload, left in end.left.items()})


def verdicts(scenario: Scenario, events: Sequence[str] = EVENTS, *, steps: int = MOST_STEPS) -> tuple[Verdict, ...]:
    """Return a verdict on every event of every workload, those of a workload together, in the order of the events.

    A verdict is about finding a node. What pods meet later, such as a disk that is attached elsewhere, and what rules
    prove of several workloads together, only the linter tells.

    ``steps``: the work that may be done, about a microsecond each; what it leaves undecided is ``unknown``, and
    ``missing`` says so. Raises OutOfWorkError if nothing could be decided, ValueError for an unknown event.
    """
    unknown = [event for event in events if event not in EVENTS]
    if unknown:
        raise ValueError(f"there is no event {unknown[0]}; there are {', '.join(EVENTS)}")
    cluster = scenario.cluster
    assert cluster is not None, "a scenario has a cluster"
    with work.within(steps):
        table = Table(scenario, cluster, Effort(), lambda simulated: simulated, None)
        rows = table.scored(table.weighed(events))
    workloads = table.simulated.workloads
    return tuple(_verdict(workloads[row.number].ref, cell) for row in rows for cell in row.cells)


def _verdict(workload: ObjectRef, cell: Cell) -> Verdict:
    least, most = cell.bound.least, cell.bound.most
    trace = cell.worst.lines if cell.worst is not None else ()
    return Verdict(
        workload,
        cell.event,
        cell.verdict,
        cell.proven,
        least,
        most,
        cell.wanted,
        cell.why or cell.text,
        cell.assumes,
        cell.missing,
        trace,
    )
