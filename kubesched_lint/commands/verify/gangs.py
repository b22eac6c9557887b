"""Compare our predictions with recorded pod groups: how many pods are bound, and what the others are told."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from kubesched_lint.commands.verify.agreement import Agreement, Answer
from kubesched_lint.engine.admission.admission import Admission
from kubesched_lint.engine.base.quirks import ONE_GATE_FOR_GANGS, has
from kubesched_lint.engine.base.releases import judged_by
from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.events.transitions.gangs import Outcomes, outcomes
from kubesched_lint.engine.model.decode.nodes import decode_bound_pod, decode_node
from kubesched_lint.engine.model.decode.policy import decode_pod_group
from kubesched_lint.engine.model.feature_gates import completed, enabled
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.pod import BoundPod, Pod

Case = Mapping[str, Any]


def verify_gang(case: Case, account: Agreement, version: str | None = None) -> Iterator[dict[str, object]]:
    """Yield the prediction for a recorded group, made without its ``runs``, and add the answers of each run."""
    predicted = predict(case, version)
    yield {"case": case["id"], "bound": {"min": predicted.least, "max": predicted.most}}
    account.pods += len(case["queue"])
    account.excuse = "because the scheduler still counted a deleted pod"
    account.count("searched to the end", holds=not predicted.is_cut)
    account.count("one value", holds=predicted.least == predicted.most)
    for run in case.get("runs", ()):
        account.leftovers.update(_leftovers(case, run))
        answers = list(_answers(case, run, predicted))
        if not all(a.agrees for a in answers):
            answers = [_explained(case, run, answer, account, version) for answer in answers]
        for answer in answers:
            account.note(answer, str(case["id"]), str(case["group"]["metadata"]["name"]))


def predict(case: Case, version: str | None = None, leftovers: Sequence[BoundPod] = ()) -> Outcomes:
    """Return what may become of a recorded group. Raises DecodeError, and ValueError for an invalid version.

    ``leftovers``: deleted pods that the scheduler still counts for the group.
    """
    version = judged_by(version or str(case.get("kubernetes") or ""), "")
    nodes = tuple(decode_node(value) for value in case["nodes"])
    group = decode_pod_group(case["group"], "default", None)
    everyone = tuple(decode_bound_pod(value) for value in case.get("pods", ()))
    objects = Inventory(nodes=nodes, pods=everyone)
    admission = Admission(objects, version)
    queue = [replace(bound, pod=admission.stored(bound.pod)) for bound in map(decode_bound_pod, case["queue"])]
    ours = [b for b in everyone if (b.namespace, b.pod.group) == (group.namespace, group.name)]
    return outcomes(
        group,
        [*(b for b in ours if not b.node), *queue],
        ClusterState(NodeIndex(nodes), objects, kubernetes_version=version),
        enabled(completed(dict.fromkeys(case.get("gates", ()), True), one_gate=has(version, ONE_GATE_FOR_GANGS))),
        members=[*(b for b in ours if b.node), *leftovers],
    )


def _answers(case: Case, run: Mapping[str, Any], predicted: Outcomes) -> Iterator[Answer]:
    bound = len(run["bound"])
    span = f"{predicted.least} to {predicted.most}"
    yield Answer("pods bound, inside the range", predicted.least <= bound <= predicted.most, bound, span)
    if predicted.is_cut:
        return
    kinds = {pod["metadata"]["name"]: _kind(pod) for pod in (*case.get("pods", ()), *case["queue"])}
    ends = [rest.messages for rest in predicted.rests if len(rest.on) == bound]
    told = {(kinds[pod], text) for messages in ends for pod, text in messages}
    # Pods are told one by one, after every attempt: their messages may come from different ones.
    for pod, text in run["pending"].items():
        ours = sorted(other for kind, other in told if kind == kinds[pod])
        yield Answer("message", (kinds[pod], text or "") in told, text, " or ".join(ours))


def _kind(pod: Mapping[str, Any]) -> str:
    """Return what equal pods have in common: the scheduler may treat each of them as any other."""
    return json.dumps([pod["metadata"].get("labels"), pod["spec"]], sort_keys=True)


# --- deleted pods that the recording's scheduler still counted --------------------------------------------------------

_LEFTOVER = re.compile(
    r"(?:getting node|no topology domain found) for pod (?P<namespace>[^/ ]+)/(?P<name>[^: ]+)"
    r'(?:: nodeinfo not found for node name "(?P<node>[^"]+)")?'
)


def _leftovers(case: Case, run: Mapping[str, Any]) -> Iterator[tuple[tuple[str, str], BoundPod]]:
    """Yield (group, pod) for each pod that a message calls scheduled although the record does not have it.

    The cache of kube-scheduler (``backend/cache/podgroupstate.go``, v1.36) can keep a pod whose deletion it missed, and
    then counts it for every later group of that name.
    """
    group = case["group"]["metadata"]["name"]
    running = {p["metadata"]["name"] for p in case.get("pods", ()) if p["spec"].get("nodeName")}
    for text in {text for text in run["pending"].values() if text}:
        match = _LEFTOVER.search(text)
        if match is not None and match["name"] not in running:
            pod = Pod(namespace=match["namespace"], labels={}, group=group)
            yield (match["namespace"], group), BoundPod(match["name"], match["node"] or _unlabelled(case), pod)


def _unlabelled(case: Case) -> str:
    """Return a node without the group's topology label: where a pod is that has no topology domain."""
    key = decode_pod_group(case["group"], "default", None).topology_key
    return next(str(n["metadata"]["name"]) for n in case["nodes"] if key not in n["metadata"].get("labels", {}))


def _explained(case: Case, run: Mapping[str, Any], answer: Answer, account: Agreement, version: str | None) -> Answer:
    """Return the answer, explained if a pod that the scheduler still counted leads to what was recorded."""
    meta = case["group"]["metadata"]
    leftover = account.leftovers.get((meta.get("namespace") or "default", meta["name"]))
    if answer.agrees or leftover is None:
        return answer
    predicted = predict(case, version, [leftover])
    agrees = any(
        (other.question, other.recorded) == (answer.question, answer.recorded) and other.agrees
        for other in _answers(case, run, predicted)
    )
    because = f"the scheduler still counted {leftover.namespace}/{leftover.name} on {leftover.node}, a deleted pod"
    return replace(answer, because=because, explained=True) if agrees else answer
