"""The rows of the founding documents that need an autoscaler: one test per row, named after its id."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from kubesched_lint.engine.placing.growth.plan import GROWN, NEVER, TODAY, Plan
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.findings import Finding

FIXTURES = Path(__file__).parents[2] / "fixtures"
Findings = Callable[..., dict[str, Finding]]
Planner = Callable[[str, str], Plan]
Writer = Callable[..., str]
ZONE = "topology.kubernetes.io/zone"


def seed(*names: str) -> str:
    return "\n---\n".join((FIXTURES / "seeds" / name).read_text() for name in names)


def pools(name: str) -> str:
    return (FIXTURES / "pools" / f"{name}.yaml").read_text()


PAIR = ("A2/1-writer.yaml", "A2/2-reader.yaml")
READER_FIRST = ("A3/manifests/reader.yaml", "A3/manifests/writer.yaml")


def near(app: str) -> str:
    return (
        "affinity:\n  podAffinity:\n    requiredDuringSchedulingIgnoredDuringExecution:\n"
        f"    - {{labelSelector: {{matchLabels: {{app: {app}}}}}, topologyKey: {ZONE}}}"
    )


def test_A2_autopilot_makes_a_node_for_each_pair(plan_of: Planner) -> None:
    plan = plan_of(seed(*PAIR), pools("autopilot"))
    (verdict,) = plan.verdicts
    assert (verdict.kind, verdict.grown) == (GROWN, 3)
    assert len(plan.nodes) == 3
    assert {node.labels["group"] for node in plan.nodes} == {"read_writer_pair"}
    assert {str(taint) for node in plan.nodes for taint in node.taints} == {"group=read_writer_pair:NoSchedule"}


def test_A2_pairs_are_silent_when_a_pool_makes_their_nodes(findings_of: Findings) -> None:
    assert not findings_of(seed(*PAIR), pools("pair-large"))


LATER = ("metadata: {name: writer,", "metadata: {annotations: {argocd.argoproj.io/sync-wave: '1'}, name: writer,")


def test_A3_a_node_that_is_sized_before_the_daemonset_is_there_may_be_too_small(findings_of: Findings) -> None:
    finding = findings_of(seed(*READER_FIRST).replace(*LATER), pools("pair-two-sizes"))["daemonset-creation-order"]
    assert finding.severity.word == "warning"
    assert "some time before" in finding.message
    assert str(finding.object) == "Deployment pipeline/reader"
    assert "small of pool pairs" in finding.evidence.text
    assert "too little cpu" in finding.evidence.text


def test_A3_one_apply_is_over_before_an_autoscaler_sizes_a_node(findings_of: Findings) -> None:
    finding = findings_of(seed(*READER_FIRST), pools("pair-two-sizes"))["daemonset-creation-order"]
    assert finding.severity.word == "note"
    assert "milliseconds" in finding.message


def test_A3_is_silent_when_every_machine_of_the_pool_holds_both(findings_of: Findings) -> None:
    assert "daemonset-creation-order" not in findings_of(seed(*READER_FIRST), pools("pair-large"))
    assert "daemonset-creation-order" not in findings_of(seed(*READER_FIRST).replace(*LATER), pools("pair-large"))
    assert "daemonset-creation-order" not in findings_of(
        seed(*READER_FIRST), pools("pair-two-sizes"), apply_order="helm"
    )


def test_A3_a_machine_that_holds_both_is_no_comfort_when_enough_readers_come_first_to_fill_it(
    findings_of: Findings,
) -> None:
    alone = seed(*READER_FIRST)
    crowd = re.sub(r"      affinity:\n.*?(?=      containers:)", "", alone, count=1, flags=re.DOTALL)
    assert crowd != alone
    crowd = crowd.replace('cpu: "3"', 'cpu: "4"')
    finding = findings_of(crowd, pools("pair-large"))["daemonset-creation-order"]
    assert "2 pods leave it no place" in finding.evidence.text
    one = crowd.replace("replicas: 3", "replicas: 1")
    assert "daemonset-creation-order" not in findings_of(one, pools("pair-large"))


def test_A3_warns_when_the_size_of_what_the_pool_makes_is_unknown(findings_of: Findings) -> None:
    unknown = pools("pair-large").replace('{name: large, allocatable: {cpu: "8", memory: 16Gi}}', "z9.huge")
    finding = findings_of(seed(*READER_FIRST).replace(*LATER), unknown)["daemonset-creation-order"]
    assert finding.severity.word == "warning"
    assert "what a new z9.huge of pool pairs offers is unknown" in finding.evidence.text


def test_A3_nodes_of_today_that_hold_both_do_not_speak_for_those_to_come(findings_of: Findings) -> None:
    today = "- {name: pair, zones: [az1], labels: {group: read_writer_pair}, allocatable: {cpu: 8, memory: 16Gi}}\n"
    sizes = pools("pair-two-sizes").replace("nodes:\n", f"nodes:\n{today}")
    finding = findings_of(seed(*READER_FIRST), sizes)["daemonset-creation-order"]
    assert "small of pool pairs" in finding.evidence.text
    large = pools("pair-large").replace("nodes:\n", f"nodes:\n{today}")
    assert "daemonset-creation-order" not in findings_of(seed(*READER_FIRST), large)


def test_A4_a_pool_that_sets_the_label_makes_it_schedulable(findings_of: Findings, plan_of: Planner) -> None:
    assert "nodeselector-matches-nothing" in findings_of(seed(*PAIR), seed("A3/none.yaml"))
    assert not findings_of(seed(*PAIR), pools("pair-large"))
    assert str(plan_of(seed(*PAIR), pools("pair-large")).verdicts[0]) == (
        "fits after adding 3 × large in az1 (pool pairs)"
    )


def test_A4_a_pool_without_the_label_does_not(findings_of: Findings) -> None:
    found = findings_of(seed(*PAIR), pools("pair-unlabelled"), profile="strict")
    finding = found["pool-cannot-provide-label"]
    assert finding.severity.word == "error"
    assert "no node has group=read_writer_pair, and no pool can make one" in finding.message
    assert "pairs sets no group=read_writer_pair" in finding.evidence.text
    assert "nodeselector-matches-nothing" not in found
    assert found["daemonset-matches-no-node"].severity.word == "note"


def test_A5_the_daemonset_is_reserved_on_every_new_node(facts_of: Callable[[str, str], Scenario]) -> None:
    scenario = facts_of(seed(*PAIR), pools("pair-large"))
    (offer,) = scenario.potential.offers
    assert offer.template.shape.allocatable == {"cpu": 8000, "memory": 16 << 30, "pods": 110}
    assert offer.room is not None
    assert {**offer.room, "ephemeral-storage": 0} == {
        "cpu": 6000,
        "memory": 14 << 30,
        "pods": 109,
        "ephemeral-storage": 0,
    }


def test_E1_nobody_waits_when_a_pool_adds_nodes_in_the_zone(
    findings_of: Findings, plan_of: Planner, deployment: Writer
) -> None:
    manifests = deployment(replicas=8, pod=near("cache-a"))
    plain = findings_of(manifests, pools("two-zones-no-pool"))
    assert plain["affinity-colocation-no-room"].severity.word == "error"
    assert not findings_of(manifests, pools("two-zones"))
    (verdict,) = plan_of(manifests, pools("two-zones")).verdicts
    assert str(verdict) == "fits after adding 8 × m6i.large in eu-west-1a (pool general)"


def test_E1_all_wait_when_the_pools_do_not_serve_the_zone(
    findings_of: Findings, plan_of: Planner, deployment: Writer
) -> None:
    manifests = deployment(replicas=8, pod=near("cache-c"))
    finding = findings_of(manifests, pools("two-zones"))["affinity-zone-outside-pools"]
    assert finding.message.startswith("8 pods of Deployment shop/web stay Pending: its affinity leads to eu-west-1c, ")
    assert (finding.evidence.kind, finding.evidence.demand, finding.evidence.supply) == ("proof", 8, 0)
    assert finding.severity.word == "error"
    assert plan_of(manifests, pools("two-zones")).verdicts[0].kind == NEVER


def test_E2_preferred_zone_anti_affinity_never_blocks(
    findings_of: Findings, plan_of: Planner, deployment: Writer
) -> None:
    pod = (
        "affinity:\n  podAntiAffinity:\n    preferredDuringSchedulingIgnoredDuringExecution:\n"
        "    - {weight: 100, podAffinityTerm: {labelSelector: {matchLabels: {app: web}}, "
        f"topologyKey: {ZONE}}}}}"
    )
    manifests = deployment(replicas=5, pod=pod)
    assert not any(f.severity.word == "error" for f in findings_of(manifests, pools("two-zones")).values())
    (verdict,) = plan_of(manifests, pools("two-zones")).verdicts
    assert (verdict.kind, verdict.left) == (GROWN, 0)


def test_E3_coredns_is_clean_on_a_pool(findings_of: Findings, plan_of: Planner) -> None:
    assert not findings_of(seed("E3/coredns.yaml"), pools("two-zones"))
    (verdict,) = plan_of(seed("E3/coredns.yaml"), pools("two-zones")).verdicts
    assert (verdict.kind, verdict.left) == (TODAY, 0)


def test_E4_an_immediate_class_stays_a_hazard_on_pools(findings_of: Findings) -> None:
    assert "pvc-immediate-multizone" in findings_of(seed("E4/immediate.yaml"), pools("two-zones"))
    assert "pvc-immediate-multizone" not in findings_of(seed("E4/wait.yaml"), pools("two-zones"))


def test_E5_no_pool_mends_a_volume_in_another_zone_than_the_pod(findings_of: Findings, plan_of: Planner) -> None:
    finding = findings_of(seed("E5/pod.yaml"), pools("volume-pool"))["pv-zone-pinning-conflict"]
    assert finding.severity.word == "error"
    assert "eu-west-1a" in finding.message
    assert plan_of(seed("E5/pod.yaml"), pools("volume-pool")).verdicts[0].kind == NEVER


def test_E6_twenty_replicas_in_one_zone_fit_when_a_pool_allows_it(findings_of: Findings, plan_of: Planner) -> None:
    found = findings_of(seed("E6/statefulset.yaml"), pools("two-zones"), profile="strict")
    assert found["single-zone-workload"].severity.word == "note"
    assert not any(f.severity.word != "note" for f in found.values())
    (verdict,) = plan_of(seed("E6/statefulset.yaml"), pools("two-zones")).verdicts
    assert str(verdict) == "fits after adding 7 × m6i.large in eu-west-1a (pool general)"


def test_E6_without_the_pool_they_do_not_fit(findings_of: Findings, plan_of: Planner) -> None:
    assert findings_of(seed("E6/statefulset.yaml"), pools("two-zones-no-pool"))["resource-insufficient-free"]
    assert not plan_of(seed("E6/statefulset.yaml"), pools("two-zones-no-pool")).verdicts


def test_what_fits_today_needs_no_node(plan_of: Planner, deployment: Writer) -> None:
    plan = plan_of(deployment(replicas=1), pools("autopilot"))
    assert [v.kind for v in plan.verdicts] == [TODAY]
    assert str(plan.verdicts[0]) == "fits today"
