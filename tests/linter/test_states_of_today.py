"""What rests on cordons of today neither names the cause of an error without them, nor assumes that they are over."""

from __future__ import annotations

from kubesched_lint.report.wording.premises import unless
from tests.linter.test_verdicts_and_causes import STUCK, found

NODES = """
apiVersion: kubesched-lint/v1
kind: ClusterSketch
nodes:
- {name: worker, count: 3, zones: [a], allocatable: {cpu: "4", memory: 16Gi}}
- {name: cordoned, count: 2, zones: [a], unschedulable: true, allocatable: {cpu: "4", memory: 16Gi}}
"""
PORTS = STUCK.replace("{cpu: 3}", "{cpu: 100m}}, ports: [{containerPort: 80, hostPort: 80}").replace("}}}]}", "}]}]}")
BESIDE = """
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: shop}
spec:
  replicas: 2
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      containers:
      - {name: db, image: "registry.example.com/db:1", ports: [{containerPort: 80, hostPort: 80}]}
"""


def test_a_cause_that_holds_only_today_does_not_name_that_of_an_error() -> None:
    """All five nodes are full with both, and today's three with one: the refuter called the latter a bug."""
    every = found(PORTS + BESIDE, NODES)
    assert every["rollout-never-ends"].severity.word == "error"
    assert "5 node(s) didn't have free ports" in every["rollout-never-ends"].message
    today = every["hostport-rollout-deadlock"]
    assert (today.severity.word, today.evidence.kind) == ("warning", "proof")
    assert today.evidence.assumes[-1].startswith("the transient states of today last")


def test_a_verdict_on_today_s_nodes_assumes_only_that_their_states_last() -> None:
    (finding,) = found(STUCK, NODES).values()
    assert finding.severity.word == "warning"
    assert [premise.split(":")[0] for premise in finding.evidence.assumes if "transient" in premise] == [
        "the transient states of today last"
    ]


def test_premises_that_may_be_false_say_unless() -> None:
    for premise, helps in (
        (
            "fresh pods show no other room than those of c.json (of unknown age)",
            "fresh pods show other room than those of",
        ),
        ("the transient states of today last: n1: cordoned", "the transient states of today end (n1: cordoned)"),
        ("the pools add no more nodes than planned", "the pools add more nodes than planned"),
        ("what was not read does not define it: the rest", "what was not read defines it: the rest"),
    ):
        word, text = unless(premise)
        assert (word, text.startswith(helps)) == ("unless", True), text
