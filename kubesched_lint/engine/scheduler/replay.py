"""Decide recorded cases again: predict each pod's result without reading the recorded answers.

A case is one JSON object of the conformance recordings (docs/research/recordings.md): a cluster, and pods in order of
arrival.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from kubesched_lint.engine.admission.admission import Admission
from kubesched_lint.engine.base.releases import judged_by
from kubesched_lint.engine.cluster.devices import Devices
from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.cluster.profiles.read import profiles_of
from kubesched_lint.engine.cluster.state import NAMESPACE_NAME, ClusterState
from kubesched_lint.engine.model.decode.devices import decode_device_claim
from kubesched_lint.engine.model.decode.nodes import decode_bound_pod, decode_node, decode_pod_object
from kubesched_lint.engine.model.decode.objects import decode_object, gather, is_read
from kubesched_lint.engine.model.decode.policy import decode_namespace
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.pod import BoundPod, Pod
from kubesched_lint.engine.model.policy import Namespace
from kubesched_lint.engine.model.resources import device_class_resources
from kubesched_lint.engine.scheduler.binding import bind
from kubesched_lint.engine.scheduler.devices.failures import UndecidedError
from kubesched_lint.engine.scheduler.devices.life import (
    after_binding,
    after_failure,
    allocations,
    binding_error,
    is_evicted,
    with_made_claims,
)
from kubesched_lint.engine.scheduler.framework import Diagnosis, diagnose, message
from kubesched_lint.engine.scheduler.plugins.dynamic_resources import attempt_of
from kubesched_lint.engine.scheduler.preemption.preemption import Candidate, Preemption, preempt
from kubesched_lint.engine.scheduler.scoring import score
from kubesched_lint.engine.scheduler.tolerance import first_untolerated

Case = Mapping[str, Any]


class Prediction(Struct, frozen=True):
    """One line of ``--predictions``. ``scores`` and ``total`` are set only if two or more nodes are feasible."""

    case: str
    pod: str
    rejected: bool = False
    feasible: tuple[str, ...] = ()
    scores: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    total: Mapping[str, int] = field(default_factory=dict)
    message: str | None = None
    nominated: str | None = None
    victims: tuple[str, ...] = ()
    equals: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """(node, victims) of every result that upstream may choose as well, because all its criteria are equal."""
    diagnosis: Diagnosis | None = None
    devices: Mapping[str, Mapping[str, list[list[str]]]] = field(default_factory=dict)
    """Feasible node → reference of the pod → [request, driver, pool, device], for pods that need devices."""
    evicting: tuple[str, ...] = ()
    """Those of them where a device's taint evicts the pod as soon as it is bound."""
    unknown: str = ""
    """Why nothing is predicted."""
    index: NodeIndex | None = None
    """The index for explaining the prediction; None for a rejected pod."""

    def reasons(self, node: str) -> tuple[str, ...]:
        """Return why the model rejected a node, each reason with its plugin; empty if it did not."""
        if self.diagnosis is None or self.index is None or node not in self.index.positions:
            return ()
        if self.diagnosis.refusal is not None:
            return (f"{self.diagnosis.refusal.plugin}: {self.diagnosis.refusal.message}",)
        position = self.index.position(node)
        if self.diagnosis.outside >> position & 1:
            return (f"not looked at, by {' '.join(self.diagnosis.pinned_by)}",)
        return tuple(f"{r.plugin}: {r.reason}" for r in self.diagnosis.reasons(position))

    def as_json(self) -> dict[str, object]:
        shown: dict[str, object] = {
            "case": self.case,
            "pod": self.pod,
            "rejected": self.rejected,
            "feasible": list(self.feasible),
        }
        if self.total:
            shown["scores"] = {plugin: dict(nodes) for plugin, nodes in self.scores.items()}
            shown["total"] = dict(self.total)
        if self.devices:
            shown["devices"] = dict(self.devices)
        if self.unknown:
            shown["unknown"] = self.unknown
        return {**shown, "message": self.message, "nominated": self.nominated, "victims": list(self.victims)}


Refuse = Callable[[Mapping[str, Any]], str]
"""Returns the API server's refusal of a pod as applied, ``Pod "p4" is invalid: …``; empty if it accepts the pod."""


def replay(
    case: Case, *, refuse: Refuse = lambda pod: "", kubernetes_version: str | None = None
) -> Iterator[tuple[Mapping[str, Any], Prediction]]:
    """Yield every decision record of a case with our prediction, in order.

    A prediction reads only ``pod`` of its record; ``node``, ``victims``, ``volumes_after`` and ``started`` only set the
    state for the next record. If ``node`` is missing, our own choice is used. Raises DecodeError, and ValueError for an
    invalid version.
    """
    version = judged_by(kubernetes_version or str(case.get("kubernetes") or ""), "")
    state, started = _state(case, version)
    admission = Admission(state.objects, version)
    waiting: BoundPod | None = None
    doubt = ""
    node: str | None
    for recorded in case["decisions"]:
        started.update(recorded.get("started") or {})
        if waiting is not None:
            start = started.get(waiting.name, "")
            bind(replace(waiting, start_time=start), state.index.position(waiting.node), state, allocates=False)
            waiting = None
        name = recorded["pod"]["metadata"].get("name", "")
        shown = f"{recorded['pod']['metadata'].get('namespace', 'default')}/{name}"
        complaint = refuse(recorded["pod"])
        if complaint:
            yield recorded, Prediction(str(case.get("id", "")), shown, rejected=True, message=complaint)
            continue
        pod = admission.stored(decode_pod_object(recorded["pod"]))
        if state.devices is not None:
            pod, state.devices = with_made_claims(pod, name, state.devices)
        prediction = predict(pod, state, case=str(case.get("id", "")), name=shown)
        if doubt and (prediction.devices or prediction.unknown):
            prediction = Prediction(str(case.get("id", "")), shown, unknown=doubt)
        yield recorded, prediction
        if "rejected" in recorded:
            continue  # the API server refused a pod that we would admit: there is no pod to continue with
        node = recorded["node"] if "node" in recorded else _own_choice(prediction)
        _evict(recorded, prediction, state)
        if node is not None and node not in prediction.evicting:
            waiting = BoundPod(name, node, pod)
        _renew_volumes(recorded, state)
        if prediction.unknown and "node" not in recorded:
            doubt = doubt or f"{shown} may hold devices: {prediction.unknown}"
        is_held = not prediction.unknown and node not in prediction.evicting
        _renew_devices(recorded, pod, name, node if is_held else None, state)


def predict(pod: Pod, state: ClusterState, *, case: str = "", name: str = "") -> Prediction:
    """Return the scheduler's first answer for one admitted pod."""
    attempt = attempt_of(pod, state)
    if attempt is None:
        return _predict(pod, state, case, name)
    if attempt.waits_for:
        return Prediction(case, name)
    try:
        prediction = _predict(pod, state, case, name)
    except UndecidedError as error:
        return Prediction(case, name, unknown=str(error))
    if not prediction.feasible:
        return prediction
    failure = binding_error(attempt)
    if failure:
        return Prediction(case, name, message=failure, diagnosis=prediction.diagnosis, index=prediction.index)
    at = {node: state.index.position(node) for node in prediction.feasible}
    devices = state.devices or Devices()
    return replace(
        prediction,
        devices={node: allocations(attempt, position) for node, position in at.items()},
        evicting=tuple(node for node, position in at.items() if is_evicted(attempt, position, devices)),
    )


def _predict(pod: Pod, state: ClusterState, case: str, name: str) -> Prediction:
    diagnosis = diagnose(pod, state)
    names = state.index.names
    if diagnosis.feasible:
        feasible = tuple(state.index.names_of(diagnosis.feasible))
        if len(feasible) == 1:
            return Prediction(case, name, feasible=feasible, diagnosis=diagnosis, index=state.index)
        scores = score(pod, state, diagnosis.feasible)
        return Prediction(
            case,
            name,
            feasible=feasible,
            scores=scores.by_plugin,
            total=scores.total,
            diagnosis=diagnosis,
            index=state.index,
        )
    preemption: Preemption = preempt(pod, diagnosis, state)
    text = message(diagnosis, preemption.message)
    if preemption.chosen is None:
        return Prediction(case, name, message=text, diagnosis=diagnosis, index=state.index)
    return Prediction(
        case,
        name,
        message=text,
        nominated=names[preemption.chosen.position],
        victims=_names(preemption.chosen),
        equals=tuple((names[c.position], _names(c)) for c in preemption.equals),
        diagnosis=diagnosis,
        index=state.index,
    )


def _names(candidate: Candidate) -> tuple[str, ...]:
    return tuple(p.bound.name if p.bound is not None else "" for p in candidate.victims)


def _state(case: Case, version: str) -> tuple[ClusterState, dict[str, str]]:
    objects = gather(
        decode_object(value, value.get("metadata", {}).get("namespace") or "default")
        for value in case.get("objects", ())
        if is_read(value.get("apiVersion"), value.get("kind"))
    )
    nodes = tuple(decode_node(value) for value in case["nodes"])
    first: Mapping[str, Any] = next(iter(case["decisions"]), {})
    started: dict[str, str] = dict(first.get("started") or {})
    taints = {node.name: [t for t in node.taints if t.effect == "NoExecute"] for node in nodes}
    pods = tuple(
        replace(pod, start_time=pod.start_time or started.get(pod.name, ""))
        for pod in map(decode_bound_pod, case.get("pods", ()))
        # The taint manager evicts pods that do not tolerate NoExecute before the first decision; what terminates stays.
        if pod.terminating or first_untolerated(pod.pod.tolerations, taints.get(pod.node, ())) is None
    )
    schedulers = tuple(profiles_of({"profiles": case.get("schedulerProfiles") or []}).values())
    objects = replace(objects, nodes=nodes, pods=pods, namespaces=tuple(_namespaces(case)), schedulers=schedulers)
    state = ClusterState(
        NodeIndex(nodes, device_class_resources(objects.device_classes, version)), objects, kubernetes_version=version
    )
    if objects.device_classes or objects.resource_slices or objects.device_claims or objects.device_claim_templates:
        state.devices = Devices.of(objects, version)
    return state, started


def _namespaces(case: Case) -> Iterator[Namespace]:
    """Yield namespaces with the labels that the scheduler saw.

    The API server sets the label kubernetes.io/metadata.name on every namespace. An object without it is what a user
    applied, not what the API server stored, and its labels prove nothing: none of the 6,074 decisions in the shared
    recordings depends on the labels written there, on either side of a term (docs/research/recordings.md counts them).
    """
    for value in case.get("namespaces", ()):
        namespace = decode_namespace(value, "", None)
        stored = NAMESPACE_NAME in value["metadata"].get("labels", {})
        yield namespace if stored else Namespace(namespace.name, {NAMESPACE_NAME: namespace.name})


def _own_choice(prediction: Prediction) -> str | None:
    """Return the best node, the first of equals; a nominated node counts as reached."""
    if prediction.total:
        return max(prediction.total, key=lambda node: prediction.total[node])
    return prediction.feasible[0] if prediction.feasible else prediction.nominated


def _evict(record: Mapping[str, Any], prediction: Prediction, state: ClusterState) -> None:
    gone = record.get("victims", prediction.victims if "node" not in record else ())
    for name in gone:
        for placement in [p for p in state.placements() if p.bound is not None and p.bound.name == name]:
            state.remove(placement)


def _renew_volumes(record: Mapping[str, Any], state: ClusterState) -> None:
    """Update claims and volumes to their state after the binding."""
    after = record.get("volumes_after")
    if after:
        renewed: Inventory = gather(
            decode_object(value, value.get("metadata", {}).get("namespace") or "default") for value in after
        )
        state.storage = state.storage.with_objects(renewed.claims, renewed.volumes)


def _renew_devices(record: Mapping[str, Any], pod: Pod, name: str, node: str | None, state: ClusterState) -> None:
    """Update claims for devices to their state after the decision."""
    if state.devices is None:
        return
    after = record.get("claims_after")
    if after is not None:
        claims = (decode_device_claim(value, "default", None) for value in after)
        state.devices = replace(state.devices, claims={(c.namespace, c.name): c for c in claims})
        return
    attempt = attempt_of(pod, state)
    if attempt is not None:
        position = None if node is None else state.index.position(node)
        if position is None or not attempt.on(position).is_given:
            state.devices = after_failure(attempt, state.devices)
        else:
            state.devices = after_binding(attempt, name, position, state.devices)
