"""Which rules can run, and which of their hazards count: none about missing inputs or about pods that nobody wants."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from kubesched_lint.engine.admission.schedulers import with_added_terms
from kubesched_lint.engine.base.identity import ByIdentity
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.placing.rollout import stays
from kubesched_lint.engine.placing.wanted import pods_wanted
from kubesched_lint.engine.scenario.premises.premises import node_premise
from kubesched_lint.engine.scenario.scenario import Member, Scenario, once_per_scenario
from kubesched_lint.findings import Hazard
from kubesched_lint.linter.results.rule_results import RuleResult
from kubesched_lint.rulebook.library import Rule
from kubesched_lint.rulebook.rule import FEATURES

_OF_FILTERS = ("affinity", "anti-affinity", "node-affinity", "spread", "taints", "topology")
"""Families of rules about filters of the scheduler."""
_OF_OBJECTS = ("api", "waivers")
"""Families of rules about the objects themselves, with or without pods."""


_ADDED = ("spread", "hard_spread", "min_domains", "spread_label_keys", "required_node_affinity")
"""Features that the profile of a scheduler may add to pods."""


class WorkloadsByFeature:
    """The workloads that rules report on; rules with equal kinds and features share the search."""

    def __init__(self, workloads: Sequence[Workload]) -> None:
        self._workloads = workloads
        self._found: dict[tuple[tuple[str, ...], tuple[str, ...], bool], Sequence[Workload]] = {}
        self._having: dict[bool, dict[str, Sequence[Workload]]] = {False: {}}

    def of(self, rule: Rule, scenario: Scenario) -> Sequence[Workload]:
        """Return the workloads with the kinds and features of a rule; an own rule reads what is written."""
        configured = bool(scenario.objects.schedulers) and rule.code is None
        key = (rule.kinds, rule.features, configured)
        workloads = self._found.get(key)
        if workloads is None:
            if configured not in self._having:
                self._having[configured] = self._having_added(scenario)
            workloads = self._found[key] = rule.among(self._workloads, self._having[configured])
        return workloads

    def members(self, rule: Rule, scenario: Scenario) -> Sequence[Member]:
        """Return these workloads in a scenario; a rule asks each of thousands once, so that finding them counts."""
        workloads = self.of(rule, scenario)
        known = _members_of(scenario)
        if workloads not in known:
            known[workloads] = tuple(map(scenario.member, workloads))
        return known[workloads]

    def _having_added(self, scenario: Scenario) -> dict[str, Sequence[Workload]]:
        """Return the workloads with the features that a profile may add to their pods."""
        seen = [(w, replace(w, pod=with_added_terms(w.pod, scenario.member(w).pod))) for w in self._workloads]
        return {name: tuple(w for w, as_seen in seen if FEATURES[name](as_seen)) for name in _ADDED}


@once_per_scenario
def _members_of(scenario: Scenario) -> ByIdentity[Sequence[Workload], Sequence[Member]]:
    """A cache: workloads → their members."""
    return ByIdentity()


def rests_on_nodes(rule: Rule) -> bool:
    return "nodes" in rule.needs or "nodes" in rule.uses


def is_left_out(rule: Rule, member: Member, hazard: Hazard, unreported: dict[str, set[object]]) -> bool:
    """Whether nobody needs to hear of a hazard; ``unreported`` counts those that rest on a disabled filter."""
    if is_past_scheduler(rule, member.workload, hazard) or concerns_nobody(rule, member, hazard):
        return True
    if not member.scenario.objects.schedulers:
        return False
    from kubesched_lint.linter.results.configured import disabled_filter, is_about_text

    filters = disabled_filter(rule, member, hazard)
    if filters:
        unreported.setdefault(f"about {filters}", set()).add((rule.slug, member.workload, hazard.at))
    return bool(filters) or is_about_text(rule, hazard)


def is_past_scheduler(rule: Rule, workload: Workload, hazard: Hazard) -> bool:
    """Whether a hazard is about filters of the scheduler although the pod has ``nodeName`` and skips the scheduler.

    The rule nodename-bypass covers such pods, and the table of verdicts knows what their kubelet refuses.
    """
    if rule.about == "verdict":
        return False
    argues = hazard.evidence.kind in ("proof", "witness") and hazard.victim in (None, workload.ref)
    if not workload.pod.node_name or not argues or "node_name" in rule.features:
        return False
    return rests_on_nodes(rule) or rule.family in _OF_FILTERS


def is_cut_short(hazard: Hazard, scenario: Scenario) -> bool:
    """Whether a proof counts nodes of pools that could add more nodes than were examined."""
    if hazard.evidence.kind != "proof" or not scenario.pools or scenario.potential.complete:
        return False
    return node_premise(scenario) in hazard.evidence.assumes


def argues_of_pods(rule: Rule, judged: RuleResult) -> bool:
    """Whether a finding is about the fate of pods, not about the text of an object."""
    return rule.family not in _OF_OBJECTS and judged.finding.evidence.kind in ("proof", "witness")


def concerns_nobody(rule: Rule, member: Member, hazard: Hazard) -> bool:
    """Whether a hazard is about pods of a workload that wants no pods."""
    if rule.family in _OF_OBJECTS or hazard.victim not in (None, member.workload.ref):
        return False
    if member.workload.kind == "DaemonSet":
        return hazard.evidence.kind in ("proof", "witness") and _has_no_target(member)
    argues = hazard.evidence.kind in ("proof", "witness") or 0 in (
        hazard.values.get("pods"),
        hazard.values.get("replicas"),
    )
    return argues and not member.replicas


def _has_no_target(it: Member) -> bool:
    """Whether no known node takes a pod of the DaemonSet; the rule daemonset-matches-no-node reports this."""
    if it.scenario.cluster is None or not it.scenario.cluster.knows_nodes:
        return False
    return not pods_wanted(it)


def stands_already(rule: Rule, member: Member, hazard: Hazard) -> bool:
    """Whether a proof about a first deploy is about a workload whose pods already run and may stay."""
    if member.scenario.cluster is None or rule.family in _OF_OBJECTS or hazard.evidence.event != "deploy":
        return False
    running = member.running_pods
    if not running:
        return False
    return stays(member, running)


def lacking(rule: Rule, scenario: Scenario) -> str:
    """Why a rule cannot run: the input that it needs and that is missing. Empty when it can run."""
    if {"nodes", "pods", "storage", "pools"} & set(rule.needs) and scenario.cluster is None:
        return "needs a cluster (--cluster)"
    if "nodes" in rule.needs and scenario.cluster is not None:
        if not scenario.cluster.knows_nodes:
            return "needs nodes, which the snapshot does not hold"
        if not scenario.cluster.inventory.nodes and not scenario.pools:
            return "needs nodes, and the cluster has none"
    if "pools" in rule.needs and not scenario.pools:
        return "needs node pools (pools in a sketch, NodeGroups, or Karpenter's NodePool objects)"
    if "pods" in rule.needs and not scenario.knows_running_pods:
        return "needs running pods, which the snapshot does not hold"
    if "revision" in rule.needs and scenario.premises.before is None and not scenario.knows_running_pods:
        return "needs what is replaced: running pods in the cluster file, or a change (--changed=BASE, plan)"
    if "storage" in rule.needs and not (
        scenario.cluster_has("PersistentVolumeClaim") or _brings_storage(scenario.manifests)
    ):
        return "needs claims (kubectl get pvc -A), which the snapshot does not hold"
    return ""


def _brings_storage(manifests: Inventory) -> bool:
    """Whether the manifests have claims or volumes; they count like those of the snapshot."""
    return bool(manifests.claims or manifests.volumes) or any(w.claim_templates for w in manifests.workloads)
