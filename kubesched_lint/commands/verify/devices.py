"""Compare the devices of recorded claims, and messages that name a claim with a generated name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from kubesched_lint.commands.verify.agreement import Answer
from kubesched_lint.engine.scheduler.devices.attempt import ANY
from kubesched_lint.engine.scheduler.devices.extended import ANNOTATION, IN_MEMORY
from kubesched_lint.engine.scheduler.replay import Prediction

Recorded = Mapping[str, Any]

_REFERENCE = "resource.kubernetes.io/pod-claim-name"


def is_message(predicted: str | None, recorded: str | None) -> bool:
    """Return whether two messages are equal; ``*`` in ours stands for characters that the API server draws."""
    if predicted is None or recorded is None or ANY not in predicted:
        return predicted == recorded
    return re.fullmatch(re.escape(predicted).replace(re.escape(ANY), "[0-9a-z-]+"), recorded) is not None


def of_another_node(prediction: Prediction, recorded: str | None) -> str:
    """Return why a message may differ although the model is right; empty if it may not.

    Nodes are tried at the same time, and the first error ends the attempt.
    """
    errors = {r.reason for r in prediction.diagnosis.rejections if r.is_error} if prediction.diagnosis else set()
    others = [error for error in errors - {prediction.message} if is_message(error, recorded)]
    return "several nodes fail, each with its own error: the first one ends the attempt" if others else ""


def device_answers(record: Recorded, prediction: Prediction) -> Iterator[Answer]:
    """Yield one answer about the devices of all claims of a bound pod that needs devices."""
    node = record.get("node")
    if node is None or "claims_after" not in record:
        return
    theirs = _recorded(record)
    if node in prediction.evicting and not any(theirs.values()):
        return  # it was evicted before its claims were read
    ours = {reference: sorted(held) for reference, held in prediction.devices.get(node, {}).items()}
    if theirs or ours:
        yield Answer("devices", theirs == ours, theirs, ours)


def _recorded(record: Recorded) -> dict[str, list[list[str]]]:
    """Return reference of the pod → its devices."""
    claims = {reference: claim for claim in record["claims_after"] for reference in _references(claim, record["pod"])}
    return {reference: sorted(_results(claim)) for reference, claim in claims.items()}


def _references(claim: Recorded, pod: Recorded) -> Iterator[str]:
    """Yield the names by which a pod refers to a claim."""
    metadata = claim["metadata"]
    if metadata.get("namespace", "default") != pod["metadata"].get("namespace", "default"):
        return
    for reference in pod["spec"].get("resourceClaims", ()):
        if reference.get("resourceClaimName") == metadata["name"]:
            yield reference["name"]
    owners = [owner["name"] for owner in metadata.get("ownerReferences", ()) if owner["kind"] == "Pod"]
    if pod["metadata"]["name"] in owners:
        annotations = metadata.get("annotations", {})
        if ANNOTATION in annotations:
            yield IN_MEMORY
        elif _REFERENCE in annotations:
            yield annotations[_REFERENCE]


def _results(claim: Recorded) -> list[list[str]]:
    allocation = claim.get("status", {}).get("allocation", {})
    results = allocation.get("devices", {}).get("results", ())
    return [[held[key] for key in ("request", "driver", "pool", "device")] for held in results]
