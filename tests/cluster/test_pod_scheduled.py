"""PodScheduled messages: what is compared, and what --redact leaves of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubesched_lint.commands.verify.recordings import read_cases
from kubesched_lint.engine.cluster.pods.pod_scheduled import LEFT_OUT, redacted, said

FAMILIES = Path(__file__).parents[2] / "fixtures" / "conformance" / "families.jsonl.gz"
NEW = "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) had untolerated taint(s). no new claims to deallocate, "
NEW += "preemption: 0/3 nodes are available: 1 No preemption victims found for incoming pod, "
NEW += "2 Preemption is not helpful for scheduling."
OLD = "0/3 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint {a: b}, "
OLD += "1 node(s) had untolerated taint {c: }. preemption: 0/3 nodes are available: "
OLD += "1 No preemption victims found for incoming pods, 2 Preemption is not helpful for scheduling."


def recorded() -> set[str]:
    found: set[str] = set()
    for case in read_cases(str(FAMILIES)):
        for seen in case["deploy"]["workloads"].values():
            found |= {message.partition(": ")[2] for message in seen.get("pending", {})}
    return found


def test_messages_of_older_versions_say_the_same() -> None:
    new, old = said(NEW), said(OLD)
    assert (new.nodes, new.filters, new.preemption) == (old.nodes, old.filters, old.preemption)
    assert new.filters == (("Insufficient cpu", 1), ("node(s) had untolerated taint(s)", 2))


def test_another_count_is_another_message() -> None:
    assert said(NEW) != said(NEW.replace("1 Insufficient cpu", "2 Insufficient cpu"))
    assert said(NEW) != said(NEW.replace("0/3", "0/4"))


def test_nothing_of_a_recorded_message_is_unknown() -> None:
    messages = recorded()
    assert len(messages) > 100
    assert [m for m in messages if redacted(m, lambda name: name, lambda name: name) != m] == []


@pytest.mark.parametrize(
    ("message", "left"),
    [
        ("1 Insufficient acme.com/gpu", "1 Insufficient R"),
        ("2 Insufficient cpu", "2 Insufficient cpu"),
        ("3 tenant apollo has no budget left", f"3 {LEFT_OUT}"),
        ("1 node(s) had untolerated taint {team: apollo}", f"1 {LEFT_OUT}"),
    ],
)
def test_redaction_keeps_counts_and_known_reasons(message: str, left: str) -> None:
    text = redacted(f"0/3 nodes are available: {message}. preemption: {message}.", lambda _: "R", lambda _: "N")
    assert text.startswith(f"0/3 nodes are available: {left}.")
    assert "apollo" not in text


def test_redaction_replaces_the_names_of_claims() -> None:
    message = '0/3 nodes are available: persistentvolumeclaim "payroll" not found. '
    assert redacted(message, lambda _: "R", lambda _: "N") == message.replace("payroll", "N")
