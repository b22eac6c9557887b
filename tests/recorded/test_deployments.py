"""What a real v1.36.2 control plane made of 226 sets of manifests, held against what lint and simulate said before.

``open.txt`` lists every contradiction that is known and not yet mended. The list is strict: what is mended must be
struck off, so it can only shrink. ``artefacts.txt`` lists what the recording has wrong or does not tell, with reasons.
``RECORDED=all`` judges the sets in ``LEFT_OUT``, too.
"""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kubesched_lint.commands.verify.agreement import Agreement, Disagreement
from kubesched_lint.commands.verify.deployments import _read
from kubesched_lint.commands.verify.messages import messages
from kubesched_lint.commands.verify.recorded import Deployment
from kubesched_lint.commands.verify.recordings import DEPLOYMENTS, kind_of, read_cases
from kubesched_lint.commands.verify.run import judge_of
from tests.share import some

HERE = Path(__file__).parent
FIXTURES = Path(__file__).parents[2] / "fixtures" / "conformance"
LEFT_OUT = ["made:large#4", *(f"made:mix#{number}" for number in (1040, 1057, 1083, 1103, 1108, 1119))]
"""Sets that take a quarter of the time. No branch of the package is taken by one of the six mixed ones alone, and three
by the large one, in the order of filling nodes and in affinity terms, which tests/events/test_filling.py and
tests/scheduler try."""


ALL = 226


@cache
def cases() -> list[dict[str, Any]]:
    """The recorded sets, of which CI judges every fourth."""
    return some(read_cases(str(FIXTURES / "families.jsonl.gz")), 4)


@cache
def deployments() -> Agreement:
    found = Agreement(DEPLOYMENTS)
    for case in cases():
        assert kind_of(case) == DEPLOYMENTS
        found.cases += 1
        if case["id"] in LEFT_OUT and os.environ.get("RECORDED") != "all":
            continue
        for _ in judge_of(DEPLOYMENTS)(case, found, None):
            pass
    return found


def listed(name: str) -> set[str]:
    lines = (HERE / name).read_text(encoding="utf-8").splitlines()
    return {line.partition("  # ")[0] for line in lines if line and not line.startswith("#")}


def line_of(wrong: Disagreement) -> str:
    return f"{wrong.case} {wrong.pod}: {wrong.question}"


def test_nothing_that_was_said_is_contradicted_and_no_trouble_is_unsaid() -> None:
    found = {line_of(d) for d in deployments().disagreements if not d.explained}
    judged = {case["id"] for case in cases()}
    known = {line for line in listed("open.txt") | listed("artefacts.txt") if line.partition(" ")[0] in judged}
    assert sorted(found - known) == [], "said, and contradicted by the recording"
    assert sorted(known - found) == [], "mended: strike these lines off"


@pytest.mark.thorough
def test_every_question_is_asked_often() -> None:
    asked = {question: score.asked for question, score in deployments().questions.items()}
    assert deployments().cases == ALL
    assert asked["no error on what ran"] > 120
    assert asked["deploy inside"] > 200
    assert asked["event inside"] > 100
    assert asked["proven cell holds"] > 300
    assert asked["trouble reported"] > 300
    assert asked["failure message"] == 15


def test_the_messages_of_waiting_pods_are_those_of_kube_scheduler() -> None:
    """The model has each of the others at a moment when only some of the new pods were bound."""
    score = deployments().questions["message of a waiting pod"]
    assert score.asked > 100 * len(cases()) / ALL
    assert score.agreed > 0.87 * score.asked
    assert score.open == 0


def test_a_message_that_no_moment_has_is_a_difference() -> None:
    case = next(case for case in read_cases(str(FIXTURES / "families.jsonl.gz")) if case["id"] == "made:mix#1006")
    manifests, cluster = _read(Deployment(case), "1.36")
    (true,) = (answer for ref, answer in messages(case, manifests, cluster) if ref.name == "api")
    assert (true.agrees, true.explained) == (False, True)
    assert true.because == "the model has the message when 1 of 2 new pods are bound"
    forged = json.loads(json.dumps(case).replace("2 node(s) had untolerated", "1 node(s) had untolerated"))
    (false,) = (answer for ref, answer in messages(forged, manifests, cluster) if ref.name == "api")
    assert (false.agrees, false.explained) == (False, False)


def test_an_artefact_comes_with_its_reason() -> None:
    lines = (HERE / "artefacts.txt").read_text(encoding="utf-8").splitlines()
    assert all("  # " in line for line in lines if line and not line.startswith("#"))


def test_words_of_a_ratio() -> None:
    """With the bound that the recorded snapshot lost, the words are those of the API server."""
    case = next(c for c in read_cases(str(FIXTURES / "families.jsonl.gz")) if c["id"] == "made:misc#0")
    (limits,) = case["before"]
    lost = json.dumps(limits["spec"], separators=(",", ":")).replace(',"maxLimitRequestRatio":{"cpu":"2"}', "")
    assert lost in case["snapshot"]
    whole = case["snapshot"].replace(lost, json.dumps(limits["spec"]))
    found = Agreement(DEPLOYMENTS)
    list(judge_of(DEPLOYMENTS)({**case, "snapshot": whole}, found, None))
    assert found.questions["failure message"].asked == 1
    assert found.disagreements == []
