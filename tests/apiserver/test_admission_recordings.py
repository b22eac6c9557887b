"""Recorded answers of a real v1.36.2 API server: our verdicts, fields and whole messages are the same."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from kubesched_lint.commands.verify.admission import predict, recorded_fields, verify_admission
from kubesched_lint.commands.verify.agreement import Agreement
from kubesched_lint.engine.apiserver.validate import validate

RECORDINGS = Path(__file__).parents[2] / "fixtures" / "conformance"


def lines(name):
    with gzip.open(RECORDINGS / name, "rt", encoding="utf-8") as file:
        return file.read().splitlines()


@pytest.fixture(scope="module")
def records():
    return [json.loads(line) for line in lines("admission.jsonl.gz")]


def account_of(cases):
    account = Agreement("admission")
    for case in cases:
        account.cases += 1
        list(verify_admission(case, account))
    return account


def test_every_recorded_verdict_field_and_message_is_ours(records):
    account = account_of(records)
    assert account.cases == account.questions["accepted"].agreed == 200
    assert account.disagreements == []
    assert {f"{what} of a {code}" for code in (400, 403, 422) for what in ("fields", "message")} < set(
        account.questions
    )
    assert sum(score.asked for name, score in account.questions.items() if name.startswith("fields")) > 100


def test_messages_agree_to_the_letter_and_causes_in_order(records):
    for record in records:
        if record.get("code") == 422:
            verdict = validate(record["manifest"])
            assert verdict.message == record["message"]
            ours = [{"field": c.field, "reason": c.reason, "message": c.message} for c in verdict.causes]
            assert ours == record["causes"]


def test_pods_that_the_recorded_scheduler_never_saw_are_refused_with_the_whole_message():
    refused = [json.loads(line) for line in lines("admission-rejected-pods.jsonl.gz")]
    assert len(refused) == 24
    for record in refused:
        assert validate({"apiVersion": "v1", "kind": "Pod", **record["pod"]}).message == record["rejected"]


def test_an_accepted_pod_has_no_message(records):
    accepted = next(r["manifest"] for r in records if r["accepted"] and r["manifest"]["kind"] == "Pod")
    assert validate(accepted).message == ""


def test_every_path_of_a_refusal_leads_into_the_manifest_or_to_what_is_missing(records):
    for record in records:
        for cause in validate(record["manifest"]).causes:
            value = record["manifest"]
            for depth, step in enumerate(cause.path):
                if (isinstance(value, dict) and step in value) or (
                    isinstance(value, list) and isinstance(step, int) and step < len(value)
                ):
                    value = value[step]
                else:
                    missing = len(cause.path) - depth
                    assert missing <= 2, f"{record['id']}: {cause.path}"
                    break


def test_predictions_have_the_asked_for_shape(records):
    refused = next(r for r in records if r.get("code") == 422)
    prediction = predict(refused)
    assert prediction["case"] == refused["id"]
    assert prediction["accepted"] is False
    assert {c["field"] for c in prediction["causes"]} == recorded_fields(refused)
    assert json.loads(json.dumps(prediction)) == prediction


def test_a_prediction_names_the_field_of_a_decoding_error_and_none_for_a_quantity(records):
    unknown = next(r for r in records if "unknown field" in r.get("message", ""))
    assert {c["field"] for c in predict(unknown)["causes"]} == recorded_fields(unknown) != set()
    quantity = next(r for r in records if "quantity" in r.get("message", "") and r["code"] == 400)
    assert predict(quantity)["causes"] == []


def test_a_wrong_prediction_is_reported_with_both_sides(records):
    refused = next(r for r in records if r.get("code") == 422)
    (wrong,) = account_of([refused | {"accepted": True}]).disagreements
    assert wrong.question == "accepted"
    (wrong,) = account_of([refused | {"causes": [{"field": "spec.elsewhere", "message": ""}]}]).disagreements
    assert wrong.recorded == "['spec.elsewhere']"
    (wrong,) = account_of([refused | {"message": "something else"}]).disagreements
    assert wrong.recorded == "something else"
