"""Messages on clouds count nodes that exist, and their help proposes nothing that is there already."""

from __future__ import annotations

from tests.clouds.cloud_worlds import report_of

MEMORY = "08-toleration-wrong-value"


def said(cloud: str, decision: str, name: str, rule: str) -> tuple[str, str, str]:
    """Return (message, proof, help) of the only finding of a rule."""
    (found,) = [f for f in report_of(cloud, decision, "mistakes", name).findings if f.rule == rule]
    return found.message, found.evidence.text, found.help


def test_nodes_that_a_group_could_add_are_not_counted() -> None:
    message, proof, _ = said("eks", "complete", MEMORY, "untolerated-taints")
    assert "every node with pool=memory has the taint dedicated=memory:NoSchedule" in message
    assert proof.startswith("3 nodes and new nodes of pool memory that match have a taint")
    message, proof, _ = said("kubeadm", "", MEMORY, "untolerated-taints")
    assert "every node with pool=memory has the taint dedicated=memory:NoSchedule" in message
    assert proof.startswith("2 nodes that match have a taint")


def test_what_the_api_server_rejects_is_said_once() -> None:
    report = report_of("eks", "complete", "mistakes", "07-affinity-without-values")
    assert [finding.rule for finding in report.findings] == ["api-would-reject"]


def test_the_help_does_not_propose_the_key_that_is_written() -> None:
    _, _, text = said("gke-autopilot", "open", "19-spread-key-of-few-nodes", "topology-key-missing-on-nodes")
    assert text == "use a topologyKey that nodes carry, or label the nodes"
