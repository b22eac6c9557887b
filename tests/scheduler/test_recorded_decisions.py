"""Recorded decisions of a real Kubernetes v1.36.2 control plane cannot be told from ours."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kubesched_lint.commands.verify.agreement import Agreement
from kubesched_lint.commands.verify.decisions import verify_decisions
from kubesched_lint.commands.verify.recordings import kind_of, read_cases
from kubesched_lint.engine.admission.mutating import admit
from kubesched_lint.engine.base.partly_compared import same_values
from kubesched_lint.engine.model.decode.nodes import decode_pod_object
from kubesched_lint.engine.scheduler.replay import replay

FIXTURES = Path(__file__).parents[2] / "fixtures" / "conformance"
ANSWERS = ("feasible", "scores", "total", "message", "reason", "admitted", "rejected", "nominated")


@cache
def cases(kind: str) -> list[dict[str, Any]]:
    return list(read_cases(str(FIXTURES / f"{kind}.jsonl.gz")))


def account_of(kind: str) -> Agreement:
    account = Agreement(kind)
    for case in cases(kind):
        assert kind_of(case) == kind
        for _ in verify_decisions(case, account):
            pass
    return account


def test_every_decision_agrees_in_nodes_message_and_scores() -> None:
    account = account_of("decisions")
    assert [d for d in account.disagreements if not d.explained] == []
    asked = {question: score.asked for question, score in account.questions.items()}
    assert asked["feasible"] > 400
    assert asked["message"] > 150
    assert asked["total"] > 200
    assert asked["node is among the best"] > 200
    assert asked["rejected"] == account.pods


def test_every_preemption_agrees_but_for_draws_among_equals() -> None:
    account = account_of("preemption")
    assert [d for d in account.disagreements if not d.explained] == []
    assert account.questions["message"].agreed == account.questions["message"].asked > 80
    for question in ("nominated", "victims"):
        score = account.questions[question]
        assert score.agreed >= 0.97 * score.asked


def test_what_we_admit_is_what_the_api_server_stored() -> None:
    seen = 0
    for case in cases("decisions"):
        for decision in case["decisions"]:
            if "admitted" in decision:
                admitted = admit(decode_pod_object(decision["pod"]))
                assert same_values(admitted, decode_pod_object(decision["admitted"]))
                assert same_values(admit(admitted), admitted)
                seen += 1
    assert seen > 400


@pytest.mark.parametrize("kind", ["decisions", "preemption"])
def test_predictions_do_not_read_the_recorded_answers(kind: str) -> None:
    """A record without its answers is predicted alike; ``node``, victims and volumes only serve to go on."""
    for case in cases(kind):
        bare = {**case, "decisions": [without(d, *ANSWERS) for d in case["decisions"]]}
        assert predictions(bare) == predictions(case)


def test_a_record_that_lacks_even_the_node_goes_on_with_our_own_choice() -> None:
    case = cases("preemption")[0]
    bare = {**case, "decisions": [{"pod": d["pod"]} for d in case["decisions"]]}
    ours = predictions(bare)
    assert len(ours) == len(case["decisions"])
    assert json.loads(ours[0]) == json.loads(predictions(case)[0])


def predictions(case: Mapping[str, Any]) -> list[str]:
    return [json.dumps(prediction.as_json()) for _, prediction in replay(case, refuse=_refuse)]


def _refuse(pod: Mapping[str, Any]) -> str:
    from kubesched_lint.engine.apiserver.validate import validate

    return validate({"apiVersion": "v1", "kind": "Pod", **pod}).message


def without(record: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in record.items() if key not in keys}


def test_a_prediction_line_has_the_agreed_form() -> None:
    first = json.loads(predictions(cases("decisions")[0])[0])
    assert list(first)[:4] == ["case", "pod", "rejected", "feasible"]
    assert {"message", "nominated", "victims"} <= set(first)
    for case in cases("decisions"):
        for line in map(json.loads, predictions(case)):
            assert ("total" in line) == ("scores" in line) == (len(line["feasible"]) >= 2)
            assert (line["message"] is None) == bool(line["feasible"])
            if "total" in line:
                summed = {n: sum(s.get(n, 0) for s in line["scores"].values()) for n in line["feasible"]}
                assert summed == line["total"]


def test_namespace_labels_count_only_where_the_api_server_stored_them() -> None:
    """An object without kubernetes.io/metadata.name was never read back; in the recordings nobody saw its labels."""

    def feasible(labels: dict[str, str]) -> tuple[str, ...]:
        term = {
            "labelSelector": {"matchLabels": {"app": "web"}},
            "namespaceSelector": {"matchLabels": {"env": "prod"}},
            "topologyKey": "kubernetes.io/hostname",
        }
        anti = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        case = {
            "namespaces": [{"metadata": {"name": "shop", "labels": labels}}],
            "nodes": [
                {
                    "metadata": {"name": n, "labels": {"kubernetes.io/hostname": n}},
                    "status": {"allocatable": {"pods": "9"}},
                }
                for n in ("n0", "n1")
            ],
            "pods": [
                {
                    "metadata": {"name": "b0", "namespace": "shop", "labels": {"app": "web"}},
                    "spec": {"nodeName": "n0", "containers": [{"name": "c"}]},
                }
            ],
            "decisions": [
                {"pod": {"metadata": {"name": "p0"}, "spec": {"affinity": anti, "containers": [{"name": "c"}]}}}
            ],
        }
        return next(replay(case))[1].feasible

    assert feasible({"env": "prod"}) == ("n0", "n1")
    assert feasible({"env": "prod", "kubernetes.io/metadata.name": "shop"}) == ("n1",)
