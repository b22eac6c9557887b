"""What the founding documents claim: one test per row of the table, named after its id, on manifests of our own.

Rows that need the passage of time are in tests/events, rows that need an autoscaler in tests/pools.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kubesched_lint.commands.lint.run import Request, check
from kubesched_lint.findings import Finding, Report
from kubesched_lint.linter.options import Options
from kubesched_lint.rulebook.library import Rulebook

SEEDS = Path(__file__).parents[2] / "fixtures" / "seeds"


def lint(paths: str, cluster: str | None = None, **options: object) -> Report:
    """Lints blank-separated paths below fixtures/seeds under the strict profile, less what is a matter of taste."""
    options = {"profile": "strict", "ignore": ("no-spread-or-anti-affinity", "pods-without-requests"), **options}
    request = Request(tuple(str(SEEDS / p) for p in paths.split()), cluster and str(SEEDS / cluster))
    report = check(request, Options(**options), Rulebook.shipped())
    assert not report.errors
    return report


def rules(report: Report) -> set[str]:
    return {finding.rule for finding in report.findings}


def only(report: Report, rule: str) -> Finding:
    found = [f for f in report.findings if f.rule == rule]
    assert len(found) == 1, [f.message for f in report.findings]
    return found[0]


def line_of(finding: Finding) -> str:
    return Path(finding.location.path).read_text().splitlines()[finding.location.span.line - 1]


def test_A1_a_reader_whose_writer_sits_on_a_full_node_waits_for_ever() -> None:
    finding = only(lint("A1/reader.yaml", "A1/cluster.yaml"), "affinity-colocation-no-room")
    assert finding.severity.word == "error"
    assert "node-az1-1" in finding.message
    assert "cpu" in finding.message
    assert "labelSelector: {matchLabels: {app: writer}}" in line_of(finding)


def test_A2_pairs_are_silent_when_the_nodes_exist_and_hold_both() -> None:
    report = lint("A2/1-writer.yaml A2/2-reader.yaml", "A2/cluster.yaml")
    assert rules(report) <= {"node-loss-leaves-pending"}  # a strict note: pairs have no spare node


def test_A3_the_reader_before_the_writer_is_a_warning_without_a_cluster() -> None:
    finding = only(lint("A3/manifests"), "daemonset-creation-order")
    assert finding.severity.word == "warning"
    assert str(finding.object) == "Deployment pipeline/reader"
    assert "DaemonSet pipeline/writer" in finding.message


def test_A3_a_node_that_holds_only_one_of_both_gives_a_witness() -> None:
    finding = only(lint("A3/manifests", "A3/tight.yaml"), "daemonset-creation-order")
    assert finding.evidence.kind == "witness"
    assert any("Insufficient cpu" in step for step in finding.evidence.trace)


@pytest.mark.parametrize("cluster", ["A3/none.yaml", "../pools/pair-two-sizes.yaml"])
def test_A3_nodes_that_do_not_exist_yet_are_a_warning(cluster: str) -> None:
    """The two files may be applied at different times."""
    finding = only(lint("A3/manifests", cluster), "daemonset-creation-order")
    assert finding.severity.word == "warning"
    assert "may be created some time before DaemonSet pipeline/writer" in finding.message


@pytest.mark.parametrize("order", ["helm", "argocd"])
def test_A3_is_silent_where_the_tool_creates_daemonsets_first(order: str) -> None:
    assert "daemonset-creation-order" not in rules(lint("A3/manifests", "A3/tight.yaml", apply_order=order))


def test_A3_is_silent_when_every_node_holds_both_or_the_daemonset_comes_first() -> None:
    assert "daemonset-creation-order" not in rules(lint("A3/manifests", "A3/roomy.yaml"))
    assert "daemonset-creation-order" not in rules(lint("A2/1-writer.yaml A3/manifests/reader.yaml", "A3/tight.yaml"))


def test_A3_kustomize_puts_the_deployment_first_whatever_the_files_are_called() -> None:
    report = lint("A2/1-writer.yaml A3/manifests/reader.yaml", "A3/tight.yaml", apply_order="kustomize")
    assert "daemonset-creation-order" in rules(report)


def test_A4_without_labelled_nodes_the_daemonset_makes_no_pods_and_the_deployment_waits() -> None:
    report = lint("A2/1-writer.yaml A2/2-reader.yaml", "A3/none.yaml")
    assert only(report, "daemonset-matches-no-node").severity.word == "note"
    finding = only(report, "nodeselector-matches-nothing")
    assert finding.severity.word == "error"
    assert str(finding.object) == "Deployment pipeline/reader"


def test_B1_four_hostnames_are_four_domains_and_two_zones_are_two() -> None:
    finding = only(lint("B3/deployment.yaml", "B1/cluster.yaml"), "anti-affinity-exceeds-domains")
    assert finding.evidence.supply == 2
    from kubesched_lint.engine.cluster.nodes.index import NodeIndex
    from kubesched_lint.sources.clusters.read import read_cluster

    index = NodeIndex(read_cluster(str(SEEDS / "B1/cluster.yaml")).inventory.nodes)
    assert len(index.domains("kubernetes.io/hostname")) == 4
    assert {zone: nodes.bit_count() for zone, nodes in index.domains("kind.zone").items()} == {"zone-a": 2, "zone-b": 2}


def test_B2_nodes_without_the_topology_key_are_listed() -> None:
    finding = only(lint("B2/spread.yaml", "B2/partly.yaml"), "topology-key-partially-labelled")
    assert "bare" in finding.help
    assert only(lint("B2/spread.yaml", "B2/none.yaml"), "topology-key-missing-on-nodes").severity.word == "warning"


def test_B3_three_replicas_on_two_zones_leave_exactly_one_pending() -> None:
    finding = only(lint("B3/deployment.yaml", "B3/cluster.yaml"), "anti-affinity-exceeds-domains")
    assert finding.severity.word == "error"
    assert (finding.evidence.kind, finding.evidence.demand, finding.evidence.supply) == ("proof", 3, 2)
    assert finding.message.startswith("1 of 3 pods of Deployment default/web stays Pending")


def test_B3_an_autoscaler_makes_it_worse() -> None:
    finding = only(lint("B3-hpa/deployment.yaml", "B3-hpa/cluster.yaml"), "anti-affinity-hpa-max-exceeds-domains")
    assert finding.severity.word == "warning"
    assert "4 pods" in finding.message


def test_B4_preferred_anti_affinity_leaves_nothing_pending() -> None:
    assert rules(lint("B4/deployment.yaml", "B4/cluster.yaml")) == {"preferred-anti-affinity-not-enforced"}
    assert not lint("B4/deployment.yaml", "B4/cluster.yaml", profile="ci").findings


def test_B5_a_pod_that_says_nothing_is_kept_out_by_those_that_run() -> None:
    finding = only(lint("B5/2-b.yaml", "B5/a-runs.yaml"), "anti-affinity-symmetry")
    assert finding.severity.word == "error"
    assert str(finding.object) == "Deployment default/b"
    assert "didn't satisfy existing pods anti-affinity rules" in finding.evidence.text


def test_B5_whoever_comes_second_may_be_kept_out_and_the_term_is_to_blame() -> None:
    finding = only(lint("B5/1-a.yaml B5/2-b.yaml", "B5/cluster.yaml"), "anti-affinity-symmetry")
    assert finding.severity.word == "warning"
    assert str(finding.object) == "Deployment default/b"
    assert finding.location.path.endswith("1-a.yaml")
    assert finding.evidence.trace


def test_B6_affinity_to_a_label_that_nobody_has_is_proven_with_running_pods() -> None:
    finding = only(lint("B6/nobody.yaml", "B6/cluster.yaml"), "affinity-selector-matches-nothing")
    assert finding.severity.word == "error"
    assert finding.message.startswith("5 pods of Deployment default/web stay Pending")


def test_B6_a_target_in_the_same_set_is_a_wait_and_no_deadlock() -> None:
    assert not lint("B6-target/web.yaml", "B6-target/cluster.yaml").findings


def test_B7_affinity_to_itself_schedules_and_a_circle_of_two_does_not() -> None:
    assert not lint("B7-self/web.yaml", "B7-self/cluster.yaml").findings
    report = lint("B7-pair/pair.yaml", "B7-pair/cluster.yaml")
    assert [f.rule for f in report.findings] == ["affinity-deadlock-cycle"] * 2
    assert {f.severity.word for f in report.findings} == {"error"}
    without_pods = lint("B7-pair/pair.yaml")
    assert {f.severity.word for f in without_pods.findings} == {"warning"}


def test_B8_a_target_in_another_namespace_does_not_count_unless_it_is_listed() -> None:
    assert rules(lint("B8/own.yaml", "B8/cluster.yaml")) == {"affinity-selector-matches-nothing"}
    assert not lint("B8/listed.yaml", "B8/cluster.yaml").findings


def test_B9_a_rolling_update_without_a_spare_domain_is_stuck() -> None:
    finding = only(lint("B9/deployment.yaml", "B9/cluster.yaml"), "rollout-surge-deadlock")
    assert finding.severity.word == "error"
    assert "maxUnavailable is 0" in finding.message


def test_B10_node_affinity_does_not_balance() -> None:
    assert rules(lint("B10/deployment.yaml", "B10/cluster.yaml")) == {"nodeaffinity-does-not-balance"}


def test_B13_terms_that_look_like_an_intended_and_are_ored() -> None:
    assert rules(lint("B13/ored.yaml", "B13/cluster.yaml")) == {"nodeaffinity-terms-ored"}


def test_C1_six_replicas_on_three_windows_zones_leave_three_pending() -> None:
    finding = only(lint("C1/deployment.yaml", "C1/cluster.yaml"), "anti-affinity-exceeds-domains")
    assert (finding.evidence.demand, finding.evidence.supply) == (6, 3)
    assert finding.message.startswith("3 of 6 pods")


def test_C2_preferred_zone_anti_affinity_is_likely_to_balance_and_not_enforced() -> None:
    assert rules(lint("C2/deployment.yaml", "C2/cluster.yaml")) == {"preferred-anti-affinity-not-enforced"}


def test_C4_a_constraint_without_a_version_ends_uneven() -> None:
    assert rules(lint("C4/deployment.yaml", "C4/cluster.yaml")) == {"spread-rollout-skew"}


def test_C5_a_version_label_that_is_bumped_keeps_it_even() -> None:
    """The strict profile says that somebody must bump it."""
    assert rules(lint("C5/deployment.yaml", "C5/cluster.yaml")) == {"spread-version-label-by-hand"}


def test_C6_match_label_keys_is_the_modern_cure() -> None:
    assert not lint("C6/deployment.yaml", "C6/cluster.yaml").findings
    assert "matchLabelKeys: [pod-template-hash]" in only(lint("C4/deployment.yaml"), "spread-rollout-skew").help


def test_D1_requests_add_up_and_allocatable_counts() -> None:
    finding = only(lint("D1/pod.yaml", "D1/too-small.yaml"), "resource-exceeds-any-node")
    assert (finding.evidence.demand, finding.evidence.supply) == (4000, 3900)
    assert not lint("D1/pod.yaml", "D1/fits.yaml").findings


def test_D2_a_selector_that_nothing_matches_names_the_nearest_miss() -> None:
    assert not lint("D2/pod.yaml", "D2/one.yaml").findings
    finding = only(lint("D2/pod.yaml", "D2/none.yaml"), "nodeselector-matches-nothing")
    assert "1 node has colour=blue; you wrote color" in finding.message


def test_D4_caches_and_servers_pair_up_on_three_nodes_and_one_of_each_waits_on_two() -> None:
    report = lint("D4/redis-cache.yaml D4/web-server.yaml", "D4/3-nodes.yaml", profile="ci")
    # Both fit. With the default strategy a fourth pod of each must come before an old one goes, and finds no node.
    assert [(f.rule, f.severity.word) for f in report.findings] == [("rollout-surge-deadlock", "error")] * 2
    report = lint("D4/redis-cache.yaml D4/web-server.yaml", "D4/2-nodes.yaml")
    assert [(f.rule, f.evidence.demand, f.evidence.supply) for f in report.findings] == [
        ("anti-affinity-exceeds-domains", 3, 2)
    ] * 2


def test_D5_a_noexecute_toleration_does_not_open_a_noschedule_taint() -> None:
    report = lint("D5/pods.yaml", "D5/cluster.yaml")
    assert str(only(report, "untolerated-taints").object) == "Pod default/wrong-effect"


def test_E3_coredns_with_hostname_anti_affinity_is_clean() -> None:
    assert not lint("E3/coredns.yaml", "E3/cluster.yaml").findings


def test_E4_an_immediate_class_may_make_the_volume_where_the_pod_cannot_run() -> None:
    assert "pvc-immediate-multizone" in rules(lint("E4/immediate.yaml", "E4/cluster.yaml"))
    assert "pvc-immediate-multizone" not in rules(lint("E4/wait.yaml", "E4/cluster.yaml"))


def test_E5_a_volume_in_another_zone_than_the_pod_is_an_error() -> None:
    finding = only(lint("E5/pod.yaml", "E5/cluster.yaml"), "pv-zone-pinning-conflict")
    assert finding.severity.word == "error"
    assert "eu-west-1a" in finding.message


def test_E6_twenty_replicas_in_one_zone_are_noted() -> None:
    assert rules(lint("E6/statefulset.yaml", "E6/cluster.yaml")) == {"single-zone-workload"}
