"""The shipped workload cards are sound and indexed, and each custom resource gives what its plain workloads give."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from kubesched_lint.commands.workloads.trial import Example, examples, failures
from kubesched_lint.custom import build
from kubesched_lint.custom.card import cards_folder, usable
from kubesched_lint.custom.kinds import SHIPPED

CARDS, WRONG = usable(cards_folder())
EXAMPLES = [example for card, _ in CARDS for example in examples(card)]


def test_no_card_has_a_fault() -> None:
    assert not WRONG


def test_the_index_is_current() -> None:
    assert build.main(["--check"]) == 0


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_a_custom_resource_gives_what_the_plain_workloads_give(example: Example) -> None:
    wrong = [str(failure) for failure in failures(example, SHIPPED)]
    assert not wrong, "\n" + "\n".join(wrong)


def test_every_card_has_an_example_with_a_marked_finding_or_a_verdict() -> None:
    assert {card.path for card, _ in CARDS} == {example.card for example in EXAMPLES}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("maxUnavailable: 0", "maxUnavailable: 1", "has no such finding: rollout-surge-deadlock"),
        ("maxReplicas: 5", "maxReplicas: 4", "hpa-max:"),
        ("# finding: rollout-surge-deadlock", "# finding: pvc-missing", "no finding of pvc-missing here"),
    ],
)
def test_an_example_that_differs_is_told(old: str, new: str, said: str) -> None:
    first = next(example for example in EXAMPLES if "rollouts" in str(example))
    resource = first.resource
    changed = type(resource)(resource.info, resource.text.replace(old, new), resource.line)
    example = type(first)(first.card, changed, first.plain, first.cluster, first.own)
    assert any(said in str(failure) for failure in failures(example, SHIPPED))


def test_only_a_cell_that_the_card_calls_bad_has_a_finding_of_its_own() -> None:
    """The pods of a blue-green rollout all stay until the new ones are there, which those of no Deployment do."""
    its = next(example for example in EXAMPLES if example.own == {"rollout": "bad"})
    wrong = [str(failure) for failure in failures(replace(its, own={}), SHIPPED)]
    assert any("the plain workload has no such finding: rollout-never-ends error" in one for one in wrong), wrong
    unlike = [str(failure) for failure in failures(replace(its, own={"drain": "bad"}), SHIPPED)]
    assert any("rollout-never-ends" in one for one in unlike), "the finding is about another event"
