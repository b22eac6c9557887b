"""The founding documents' claims that need the passage of time and are not in tests/events/test_simulate.py."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from kubesched_lint.commands.lint.run import read_manifests
from kubesched_lint.engine.events.search.events import Timeline
from kubesched_lint.engine.events.start.simulated_set import SimulatedSet
from kubesched_lint.engine.events.start.timelines import timeline_of
from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.engine.model.nodes.node import ZONE
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.placing.from_scenario import simulated_set_of
from kubesched_lint.engine.runs.skew import skew_of, skews
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import manifest_set
from kubesched_lint.sources.clusters.read import read_cluster
from kubesched_lint.sources.manifests.loader import documents

SEEDS = Path(__file__).parents[2] / "fixtures" / "seeds"


def setting(name: str, cluster: str) -> SimulatedSet:
    manifests = read_manifests([str(SEEDS / name)], Options())
    return simulated_set_of(Scenario(manifests.inventory, read_cluster(str(SEEDS / cluster))))


def counts(timeline: Timeline) -> set[tuple[int, ...]]:
    """Pods per zone at each of the timeline's ends."""
    zones = sorted({node.labels[ZONE] for node in timeline.nodes})
    found = set()
    for state in timeline.states:
        held = dict.fromkeys(zones, 0)
        for node, pods in zip(timeline.nodes, state.bound, strict=True):
            held[node.labels[ZONE]] += sum(count for _, count in pods)
        found.add(tuple(held.values()))
    return found


def next_apply(version: str, replicas: int) -> Workload:
    """C5's Deployment with another version label, in the template and in the constraint's selector."""
    text = (SEEDS / "C5/deployment.yaml").read_text()
    text = text.replace("version: v1", f"version: {version}").replace("replicas: 21", f"replicas: {replicas}")
    (workload,) = manifest_set(documents("next.yaml", text.encode(), is_read), "default").inventory.workloads
    return workload


def test_B11_skew_is_the_pods_above_the_least_full_domain() -> None:
    assert skew_of((3, 2, 1)) == (2, 1, 0)


def test_C3_seven_each_at_deploy_whatever_the_draw() -> None:
    (deploy,) = [s for s in skews(setting("C4/deployment.yaml", "C4/cluster.yaml").member(0)) if s.event == "deploy"]
    assert deploy.ends == (((7, 7, 7), deploy.runs),)


def test_C2_version_1_36_balances_the_deploy_and_no_scale_down() -> None:
    """The article's older version ended at 6/9/6 and 3/9/3: its zone of two nodes shrinks last in both."""
    known = replace(setting("C2/deployment.yaml", "C2/cluster.yaml"), scaled={0: (15,)})
    ends = {skew.event: [counts for counts, _ in skew.ends] for skew in skews(known.member(0))}
    assert ends["deploy"] == [(7, 7, 7)]
    assert (4, 7, 4) in ends["scale-to-15"]
    assert (5, 5, 5) not in ends["scale-to-15"]


def test_C4_a_rollout_without_a_version_ends_uneven() -> None:
    """As the article saw it: most old pods of the zone of two nodes are there while the last new ones are bound."""
    (rollout,) = [s for s in skews(setting("C4/deployment.yaml", "C4/cluster.yaml").member(0)) if s.event == "rollout"]
    assert rollout.worst >= 5
    assert (8, 4, 9) in dict(rollout.ends)
    assert {sum(ends) for ends, _ in rollout.ends} == {21}


def test_C5_a_bumped_version_stays_even_also_when_scaled_down_by_the_same_apply() -> None:
    known = setting("C5/deployment.yaml", "C5/cluster.yaml")
    for seed in range(5):
        timeline = timeline_of(known, [0], expected=True, most_states=0, runs=1, seed=seed)
        timeline.rollout(next_apply("v2", 21))
        assert counts(timeline) == {(7, 7, 7)}
        timeline.rollout(next_apply("v3", 15))
        assert counts(timeline) == {(5, 5, 5)}


def test_C6_match_label_keys_keep_every_rollout_even() -> None:
    (rollout,) = [s for s in skews(setting("C6/deployment.yaml", "C6/cluster.yaml").member(0)) if s.event == "rollout"]
    assert rollout.ends == (((7, 7, 7), rollout.runs),)
