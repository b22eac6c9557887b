"""The assumptions of proofs about a scenario, as sentences; and sets of nodes in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kubesched_lint.engine.base.errors import UncheckedError
from kubesched_lint.engine.base.text import first_few, many, plural
from kubesched_lint.engine.cluster.nodeset import NodeSet
from kubesched_lint.engine.model.labels import Selector
from kubesched_lint.engine.model.pod import profile_of
from kubesched_lint.engine.model.workloads.workload import Workload, service_account
from kubesched_lint.engine.scenario.nodes.new_nodes import named, pools_adding, pools_in_words
from kubesched_lint.engine.scenario.others.neighbours import others_selected
from kubesched_lint.engine.scenario.others.staying import staying
from kubesched_lint.engine.scenario.pods.pod_labels import is_revision_label
from kubesched_lint.engine.scenario.scenario import Member, Scenario, once_per_scenario

if TYPE_CHECKING:
    from kubesched_lint.engine.model.nodes.node import NodePool


HOSTS_STAY = "the pods that it must be near stay where they are once placed"
SET_PREMISES = ("no other pods are made than those of the manifests and the snapshot",)
"""The assumptions of a proof about other pods."""


def proves_absence(scenario: Scenario) -> bool:
    """Return whether the absence of a matching pod is proven: all running pods and all manifests are known."""
    return scenario.knows_running_pods and scenario.premises.set_is_complete


def unless_defined(scenario: Scenario) -> str:
    """Return the assumption of a rule that claims that the set lacks something; empty if the whole set was read.

    Raises UncheckedError if a part of the set could not be read: what it defines is not absent.
    """
    not_read = scenario.premises.not_read
    if not_read.broken:
        places = first_few(not_read.broken)
        raise UncheckedError(f"{places} could not be read, and may define what seems to be absent")
    return defined_elsewhere(scenario)


def may_be_released(scenario: Scenario, namespace: str) -> str:
    """Return which unread releases may make an object there, in words; empty if none does.

    ``namespace`` is empty for an object of the cluster, which any of them may make.
    """
    unread = [
        release.name
        for release in scenario.premises.not_read.releases
        if release.namespace == namespace or not namespace
    ]
    return f"{many(len(unread), 'release')} ({first_few(unread)})" if unread else ""


def defined_elsewhere(scenario: Scenario) -> str:
    """Return the same assumption for a verdict, also if a part of the set could not be read."""
    unread = _unread(scenario)
    return f"what was not read does not define it: {unread}" if unread else ""


def spread_alone(it: Member) -> str:
    """Return the assumption that the hard spread of a workload counts no pod of what was not read; else empty.

    More pods in its fullest domains raise the minimum, so more of its own fit. A spread that selects by the workload's
    own selector, or within one revision, counts no pods of others: their controllers would dispute them.
    """
    unread, own = _unread(it.scenario), it.workload.selector
    for selector in (c.selector for c in it.pod.spread if unread and c.is_hard and c.selector is not None):
        is_own = own is not None and set(own.requirements) <= set(selector.requirements)
        if not is_own and not any(is_revision_label(r.key) for r in selector.requirements):
            return f"its spread counts no pods of what was not read: {unread}"
    return ""


def _unread(scenario: Scenario) -> str:
    not_read = scenario.premises.not_read
    return first_few((*not_read.broken, *not_read.others))


def assumed_account(scenario: Scenario, workload: Workload) -> str:
    """Return the ServiceAccount of a workload's pods if the set does not create it, as namespace/name; else empty."""
    name = service_account(workload)
    created = {(account.namespace, account.name) for account in scenario.manifests.service_accounts if name}
    return f"{workload.namespace}/{name}" if name and (workload.namespace, name) not in created else ""


def groups_premise(groups: Sequence[NodePool]) -> str:
    """Return the assumption of a proof that holds for any number of nodes of these node groups."""
    seen = named([group.name for group in groups], "node group")
    subject = f"the {seen}" if seen else "these nodes"
    return f'there are no others than {subject} (node-groups = "complete" states that)'


@once_per_scenario
def node_premise(scenario: Scenario) -> str:
    """Return the assumption about nodes in every proof that counts nodes."""
    if scenario.pools:
        from kubesched_lint.engine.cluster.nodepools.templates import is_open

        makers = pools_in_words(scenario.pools)
        room = " (their DaemonSets deducted)" if any(o.daemons for o in scenario.potential.offers) else ""
        size = ", on no larger machines than their cloud sells" if any(map(is_open, scenario.pools)) else ""
        unsaid = any(pool.inferred or pool.zones is None for pool in scenario.pools)
        where = ", in the zones of the cluster" if unsaid else ""
        return f"the nodes of the snapshot stay, and others come only from the {makers}{where}{room}{size}"
    return "the nodes stay as in the snapshot"


def node_premises(it: Member) -> tuple[str, ...]:
    """Return the assumptions of a proof about the nodes of a workload."""
    return (node_premise(it.scenario),)


def running_premises(it: Member) -> tuple[str, ...]:
    """Return the assumptions of a proof about free room."""
    premises = node_premises(it)
    stay = staying(it).pods
    if not stay:
        return premises
    if any(bound.kept_by_finalizers for bound in stay):
        premises = (*premises, "nothing removes the finalizers that hold terminating pods")
    if len(stay) == len(it.scenario.other_pods):
        return (*premises, "the running pods of others stay where they are")
    return (*premises, "the running pods of others stay that it cannot preempt and that do not terminate")


def service_premises(it: Member) -> tuple[str, ...]:
    """Return the assumption about Services of a pod that the scheduler's default constraints may spread.

    A further Service makes its selector stricter. All pods of the workload match that too, so it matters only if the
    selector selects other pods as well, or if no selector is known.
    """
    scenario = it.scenario
    if scenario.cluster_has("Service") or it.workload.pod.spread or not profile_of(it.pod).default_spread:
        return ()
    selector = next((c.selector for c in it.pod.spread if c.selector is not None), None)
    return (
        () if selector is not None and _selects_only_its_own(it, selector) else ("no further Service selects its pods",)
    )


def _selects_only_its_own(it: Member, selector: Selector) -> bool:
    others = (b.pod for b in it.scenario.other_pods if b.namespace == it.workload.namespace)
    return not any(others_selected(it, selector)) and not any(selector.matches(pod.labels) for pod in others)


# --- nodes in words ---------------------------------------------------------------------------------------------------


def count_existing(scenario: Scenario, nodes: NodeSet) -> int:
    """Return how many of ``nodes`` exist."""
    return (nodes & scenario.today).bit_count()


def none_of_nodes(scenario: Scenario, nodes: NodeSet) -> str:
    """Return ``none of 3 nodes``, ``none of 3 nodes and no new node of pool general``, or the latter alone."""
    count, pools = count_existing(scenario, nodes), _pools_in_words(scenario, nodes)
    none = f"none of {many(count, 'node')}" if count else ""
    return " and ".join(filter(None, (none, pools and f"no new node of {pools}")))


def nodes_in_words(scenario: Scenario, nodes: NodeSet) -> str:
    """Return ``3 nodes``, ``3 nodes and new nodes of pool general``, or ``new nodes of pool general``."""
    count, pools = count_existing(scenario, nodes), _pools_in_words(scenario, nodes)
    existing = many(count, "node")
    new = pools and f"new nodes of {pools}"
    return " and ".join(filter(None, (existing if count or not pools else "", new)))


def _pools_in_words(scenario: Scenario, nodes: NodeSet) -> str:
    """Return ``pools general, gpu``, whose new nodes are among ``nodes``; empty if none of these are new."""
    if not nodes & ~scenario.today:
        return ""
    names = [pool.name for pool in pools_adding(nodes, scenario)]
    return f"{plural(len(names), 'pool')} {first_few(names)}"
