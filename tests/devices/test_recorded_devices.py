"""Recorded decisions about pods with device claims: nodes, messages, scores and devices agree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kubesched_lint.commands.verify.agreement import Agreement
from kubesched_lint.commands.verify.decisions import verify_decisions
from kubesched_lint.engine.scheduler.devices.selectors import selectors
from kubesched_lint.engine.scheduler.replay import replay
from tests.scheduler.test_recorded_decisions import cases


def account() -> Agreement:
    found = Agreement("decisions")
    for case in cases("dra"):
        for _ in verify_decisions(case, found):
            pass
    return found


def test_every_decision_agrees() -> None:
    found = account()
    assert [d for d in found.disagreements if not d.explained] == []
    assert found.questions["devices"].asked == 15
    assert found.questions["message"].explained == 2, "several nodes fail, and the first one to fail is told"


def without_answers(case: dict[str, Any]) -> dict[str, Any]:
    return {
        **case,
        "decisions": [{"pod": record["pod"]} for record in case["decisions"]],
    }


def lines(case: dict[str, Any]) -> Iterator[dict[str, object]]:
    return (prediction.as_json() for _, prediction in replay(case))


def test_predictions_need_no_answers_and_name_devices() -> None:
    """Until the first pod is bound, the cluster is the same with and without answers."""
    compared = 0
    for case in cases("dra"):
        with_answers, alone = list(lines(case)), list(lines(without_answers(case)))
        for record, ours, theirs in zip(case["decisions"], with_answers, alone, strict=True):
            assert ours == theirs
            compared += "devices" in ours
            if record["node"] is not None:
                break
    assert compared >= 9


def test_our_own_bindings_hold_their_devices() -> None:
    """Without answers, the n-th pod of a case never gets a device that an earlier one took, unless it is shared."""
    seen = 0
    for case in cases("dra"):
        taken: set[tuple[str, ...]] = set()
        for line, record in zip(lines(without_answers(case)), case["decisions"], strict=True):
            feasible: list[str] = line["feasible"]  # type: ignore[assignment]
            total: dict[str, int] = line.get("total", {})  # type: ignore[assignment]
            if not feasible or "template" not in str(record["pod"]["spec"]).lower():
                continue
            chosen = max(total, key=lambda node: total[node]) if total else feasible[0]
            given: dict[str, list[list[str]]] = line["devices"][chosen]  # type: ignore[index]
            named = {r["name"] for r in record["pod"]["spec"]["resourceClaims"] if "resourceClaimTemplateName" in r}
            held = {tuple(one[1:]) for name in named for one in given[name] if not is_shared(case, one)}
            assert not held & taken, case["id"]
            taken |= held
            seen += len(held)
    assert seen > 10


def is_shared(case: dict[str, Any], held: list[str]) -> bool:
    """Whether several claims may have a device, or a taint evicts its pod at once."""
    for value in case["objects"]:
        spec = value["spec"]
        if value["kind"] == "ResourceSlice" and [spec["driver"], spec["pool"]["name"]] == held[1:3]:
            for device in spec["devices"]:
                if device["name"] == held[3]:
                    return "allowMultipleAllocations" in device or "NoExecute" in str(device.get("taints"))
    return False


def test_without_the_library_nothing_is_satisfied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selectors, "has_cel", lambda: False)
    unknown = [line for case in cases("dra") for line in lines(case) if "unknown" in line]
    assert len(unknown) > 20
    assert all(not line["feasible"] and "needs the extra" in str(line["unknown"]) for line in unknown)


def test_a_pod_that_is_undecided_leaves_later_pods_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without answers it may hold any device; with ``node`` alone the next pods go on from there."""
    monkeypatch.setattr(selectors, "has_cel", lambda: False)
    seen = 0
    for case in cases("dra"):
        alone = list(lines(without_answers(case)))
        first = next((i for i, line in enumerate(alone) if "unknown" in line), len(alone))
        assert not any("devices" in line for line in alone[first:])
        seen += len(alone) - first
        bound = [{"pod": record["pod"], "node": record["node"]} for record in case["decisions"]]
        assert len(list(lines({**case, "decisions": bound}))) == len(alone)
    assert seen > 20
