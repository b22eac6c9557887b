"""What a person reads of ``why`` in a repository with several environments."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.program import called, lines_on_a_terminal

COMPANY = Path(__file__).parents[2] / "fixtures/company/repo"


def told(name: str, *more: str) -> list[str]:
    """Return the lines, each of one sentence."""
    return called("why", name, *more, cwd=COMPANY).stdout.splitlines()


def test_the_first_line_says_which_replica_fits_and_which_does_not() -> None:
    """ "Fits on 6 nodes" above "1 pod fits nowhere" was read as a contradiction, and said first, as good news."""
    first, second, third, _, of_nodes = told("web", "--env", "prod")[:5]
    whose, _, rest = first.partition(": ")
    assert whose == "Deployment shop/web (prod)"
    assert rest == (
        "replica 4 of 4 fits on none of 9 nodes: 3 node(s) had untolerated taint(s), "
        "6 node(s) didn't match pod anti-affinity rules (--replica 4 says more)."
    )
    assert second.startswith("Replica 1 fits on 6 of 9 nodes; the scheduler chooses one of ")
    assert of_nodes == "For replica 1, 3 nodes do not fit:"
    assert third.startswith("  with the nodes that pools could add: 1 of 4 pods of shop/web fits nowhere")
    assert told("web", "--env", "prod", "--replica", "4")[0].startswith(
        "replica 4 of Deployment shop/web (prod) fits on none"
    )
    assert told("web", "--env", "staging")[0].startswith("Deployment shop/web (staging) fits on 6 of 9 nodes; ")


def test_a_quota_that_lets_in_fewer_pods_stands_with_the_verdict() -> None:
    """ "Fits on 6 of 9 nodes" was all that it said of pods of which ``lint`` proves that two are not created."""
    first, second, *_ = told("etl-workers", "--env", "prod")
    assert first.startswith("Deployment data/etl-workers (prod) fits on 6 of 9 nodes")
    limit = "ResourceQuota data allows 6 of requests.cpu, and each takes 1"
    assert second == f"  but {limit.replace('allows', 'lets in at most 6 of its 8 pods: it allows')}"
    assert limit in called("lint", "data", "-c", "cluster/nodes.json", cwd=COMPANY).stdout
    assert not any("ResourceQuota" in line for line in told("postgres")), "one pod has room"


def test_answers_that_differ_in_numbers_alone_stand_once() -> None:
    lines = told("platform/kafka")
    assert lines[0].startswith("StatefulSet platform/kafka (prod, staging) fits on none of 9 nodes")
    assert lines.count("9 nodes do not fit:") == 1
    assert lines[-1] == "note: some numbers differ: those above are of prod; --each has all"
    each = told("platform/kafka", "--each")
    assert each.count("9 nodes do not fit:") == 2
    answers = json.loads("\n".join(told("platform/kafka", "--format", "json")))["answers"]
    assert [one["environment"] for one in answers] == ["prod", "staging"]


def test_answers_that_differ_stand_apart() -> None:
    assert [line.split(")")[0] for line in told("web") if line.startswith("Deployment")] == [
        "Deployment shop/web (prod",
        "Deployment shop/web (staging",
    ]


@pytest.mark.parametrize("columns", [80, 120])
def test_a_terminal_shows_the_text_of_a_pipe_in_lines_of_its_width(columns: int) -> None:
    lines = lines_on_a_terminal("why", "platform/kafka", cwd=COMPANY, columns=columns)
    assert max(map(len, lines)) <= columns
    assert " ".join(" ".join(lines).split()) == " ".join(" ".join(told("platform/kafka")).split())
