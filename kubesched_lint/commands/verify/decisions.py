"""Compare our predictions with recorded decisions: one answer per question that a record answers.

``engine.scheduler.replay`` makes the predictions before this module reads the recorded answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kubesched_lint.commands.verify.agreement import Agreement, Answer
from kubesched_lint.commands.verify.devices import device_answers, is_message, of_another_node
from kubesched_lint.engine.apiserver.validate import validate
from kubesched_lint.engine.scheduler.replay import Prediction, replay

Recorded = Mapping[str, Any]

# No shared recording has these features: they follow the v1.36 sources, and table tests cite them.
SOURCE_ONLY = (
    "clusters of 100 nodes and more, where the scheduler samples",
    "pods nominated to a node, seen by other pods",
    "NodeVolumeLimits, VolumeZone, inline disks and storage capacity",
    "volumes bound from a pool of free ones",
    "disruption budgets of owned pods",
    "default spread constraints of owned pods",
    "NodeDeclaredFeatures",
    "devices with admin access, devices with nodes of their own, pools that contradict themselves",
    "tolerations with Gt and Lt (gated off)",
)


def verify_decisions(
    case: Mapping[str, Any], account: Agreement, version: str | None = None
) -> Iterator[dict[str, object]]:
    """Yield a prediction for every pod of a case of decisions or preemptions, and add the answers to ``account``."""
    for recorded, prediction in replay(case, refuse=_refusal, kubernetes_version=version):
        account.pods += 1
        yield prediction.as_json()
        for answer in judge(recorded, prediction):
            account.note(answer, prediction.case, prediction.pod)


def _refusal(pod: Mapping[str, Any]) -> str:
    """Return the API server's refusal verbatim; empty if it accepts the pod."""
    return validate({"apiVersion": "v1", "kind": "Pod", **pod}).message


def judge(record: Recorded, prediction: Prediction) -> Iterator[Answer]:
    """Yield one answer per question that the record answers."""
    if "rejected" in record or prediction.rejected:
        yield _rejection(record, prediction)
        return
    if "admitted" in record or "feasible" in record:
        yield Answer("rejected", True)
    if _is_undecided(record):
        return
    if prediction.unknown:
        yield Answer("decided", False, record.get("message") or record.get("node"), None, prediction.unknown)
        return
    filters = list(_filter_answers(record, prediction))
    yield from filters
    yield from _per_filter(prediction, all(a.agrees or a.explained for a in filters)) if filters else ()
    yield from _score_answers(record, prediction)
    yield from _preemption_answers(record, prediction)
    yield from device_answers(record, prediction)


def _rejection(record: Recorded, prediction: Prediction) -> Answer:
    recorded = record.get("rejected")
    same = recorded == prediction.message if isinstance(recorded, str) else bool(recorded) == prediction.rejected
    return Answer("rejected", same, recorded, prediction.message)


def _is_undecided(record: Recorded) -> bool:
    """Return whether no scheduler has decided yet: whoever fits nowhere gets a message."""
    return not (record.get("feasible", True) or record.get("node") or record.get("message", True))


def _filter_answers(record: Recorded, prediction: Prediction) -> Iterator[Answer]:
    if "feasible" in record:
        ours, theirs = set(prediction.feasible), set(record["feasible"])
        because = "; ".join(
            [f"we reject {node}: {', '.join(prediction.reasons(node))}" for node in sorted(theirs - ours)]
            + [f"we accept {node}" for node in sorted(ours - theirs)]
        )
        yield Answer("feasible", ours == theirs, sorted(theirs), sorted(ours), because)
    if "message" in record:
        same = is_message(prediction.message, record["message"])
        because = "" if same else of_another_node(prediction, record["message"])
        yield Answer("message", same, record["message"], prediction.message, because, bool(because))


def _per_filter(prediction: Prediction, agrees: bool) -> Iterator[Answer]:
    """Yield an answer per plugin that rejected nodes; it agrees if the whole outcome does."""
    diagnosis = prediction.diagnosis
    if diagnosis is None:
        return
    plugins = {r.plugin for r in diagnosis.rejections} | set(diagnosis.pinned_by)
    if diagnosis.refusal is not None:
        plugins.add(diagnosis.refusal.plugin)
    for plugin in sorted(plugins):
        yield Answer(f"filter {plugin}", agrees, because="see feasible and message of the same pod")


def _score_answers(record: Recorded, prediction: Prediction) -> Iterator[Answer]:
    if "scores" in record:
        # A plugin that skipped the pod is absent, which is the same as zeros.
        for plugin in sorted({*record["scores"], *prediction.scores}):
            theirs, ours = record["scores"].get(plugin, {}), prediction.scores.get(plugin, {})
            nodes = sorted({*theirs, *ours})
            wrong = [n for n in nodes if theirs.get(n, 0) != ours.get(n, 0)]
            yield Answer(
                f"score {plugin}", not wrong, {n: theirs.get(n, 0) for n in wrong}, {n: ours.get(n, 0) for n in wrong}
            )
    if "total" in record:
        yield Answer("total", record["total"] == dict(prediction.total), record["total"], dict(prediction.total))
    if record.get("node") and prediction.total:
        best = max(prediction.total.values())
        chosen = prediction.total.get(record["node"], -1)
        yield Answer("node is among the best", chosen == best, record["node"], f"{chosen} of {best} points")


def _preemption_answers(record: Recorded, prediction: Prediction) -> Iterator[Answer]:
    if "nominated" not in record and "victims" not in record:
        return
    nominated, victims = record.get("nominated"), tuple(sorted(record.get("victims", ())))
    equal = any(node == nominated and tuple(sorted(gone)) == victims for node, gone in prediction.equals)
    because = ""
    if equal:
        alike = ", ".join(f"{node} without {' '.join(gone)}" for node, gone in prediction.equals)
        because = f"equal by every criterion, so kube-scheduler may choose any: {alike}"
    if "nominated" in record:
        same = nominated == prediction.nominated
        yield Answer("nominated", same, nominated, prediction.nominated, because, equal)
    if "victims" in record:
        ours = tuple(sorted(prediction.victims))
        yield Answer("victims", victims == ours, list(victims), list(ours), because, equal)
