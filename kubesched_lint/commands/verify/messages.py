"""Compare the messages of pods that were left waiting with the model's, as ``audit`` does on a live cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from kubesched_lint.commands.verify.agreement import Answer
from kubesched_lint.commands.verify.earlier import moment_of
from kubesched_lint.commands.verify.recorded import ref_named
from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.cluster.state import ClusterState, Placement
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.pod import BoundPod, Owner, Unscheduled
from kubesched_lint.engine.scenario.devices.devices import needs_devices
from kubesched_lint.engine.scenario.others.running import all_running_pods
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.explaining.pending import AGREES, UNTESTED, Waiting, waiting_pods
from kubesched_lint.linter.reading.manifest_set import ManifestSet


def messages(case: Mapping[str, Any], manifests: ManifestSet, cluster: Cluster) -> Iterator[tuple[ObjectRef, Answer]]:
    """Yield per group of pods that the recorded deployment left waiting whether the model has the same message."""
    after = after_deployment(case, Scenario(manifests.inventory, cluster))
    if after is None:
        return
    scenario = Scenario(Inventory(), after)
    waiting = waiting_pods(scenario) or ()
    before = set(cluster.inventory.pods)
    state = all_running_pods(scenario).state
    made = [there for there in state.placements() if there.bound not in before]
    for waiting_pod in waiting:
        if waiting_pod.verdict != UNTESTED:
            yield _ref(waiting_pod), _answer(waiting_pod, state, made)


def _ref(waiting_pod: Waiting) -> ObjectRef:
    first = waiting_pod.pods[0]
    kind, name = (first.owner.kind, first.owner.name) if first.owner else ("Pod", first.name)
    return ObjectRef(kind, first.namespace, name)


def _answer(waiting_pod: Waiting, state: ClusterState, made: Sequence[Placement]) -> Answer:
    """All pods were made at one moment: kube-scheduler may have written a message before it bound the last of them."""
    agrees, ours = waiting_pod.verdict == AGREES, waiting_pod.ours or "a node fits"
    then = None if agrees else moment_of(waiting_pod.theirs, waiting_pod.pods[0].pod, state, made)
    why = "" if then is None else f"the model has the message when {then} of {len(made)} new pods are bound"
    return Answer("message of a waiting pod", agrees, waiting_pod.theirs, ours, why, explained=then is not None)


def after_deployment(case: Mapping[str, Any], scenario: Scenario) -> Cluster | None:
    """Return the cluster with the pods where the record of a deployment has them, and with the messages of the others.

    None if there is no record, if the cluster had not settled, or if pods have claims: a record does not tell which
    volumes were bound. Nor does it tell for which nodes pods of a DaemonSet wait, so these are left out.
    """
    assert scenario.cluster is not None
    deploy, live = case.get("deploy"), scenario.cluster.inventory
    if deploy is None or deploy.get("quiet"):
        return None
    recorded = {ref_named(name): seen for name, seen in deploy["workloads"].items()}
    ours = {workload.ref: scenario.member(workload) for workload in scenario.manifests.workloads}
    if any(
        m.pod.volumes or needs_devices(m.workload.pod, scenario) or m.workload.claim_templates for m in ours.values()
    ):
        return None
    kept = [bound for bound in live.pods if bound.owner or bound.terminating or _is_still_there(bound, recorded)]
    made = [bound for ref in ours.keys() & recorded.keys() for bound in _pods(ours[ref].pod, ref, recorded[ref])]
    names = {(bound.namespace, bound.name) for bound in made}
    pods = (*(bound for bound in kept if (bound.namespace, bound.name) not in names), *made)
    workloads = (*(w for w in live.workloads if w.ref not in ours), *scenario.manifests.workloads)
    return replace(scenario.cluster, inventory=replace(live, pods=pods, workloads=workloads))


def _is_still_there(bound: BoundPod, recorded: Mapping[ObjectRef, Mapping[str, Any]]) -> bool:
    """Whether a bare pod was left: one that was preempted has no record, or one without a node."""
    seen = recorded.get(ObjectRef("Pod", bound.namespace, bound.name))
    return seen is not None and bool(seen["bound"] or seen.get("pending"))


def _pods(pod: Any, ref: ObjectRef, seen: Mapping[str, Any]) -> Iterator[BoundPod]:
    owner = None if ref.kind == "Pod" else Owner(ref.kind, ref.name)
    number = 0
    for node, count in seen.get("on", {}).items():
        for _ in range(count):
            yield BoundPod(f"{ref.name}-{number}" if owner else ref.name, node, pod, owner)
            number += 1
    for text, count in seen.get("pending", {}).items() if ref.kind != "DaemonSet" else ():
        reason, _, message = text.partition(": ")
        for _ in range(count):
            said = Unscheduled(reason, message)
            yield BoundPod(f"{ref.name}-{number}" if owner else ref.name, "", pod, owner, unscheduled=said)
            number += 1
