"""Snapshots and sketches keep what decides in a configuration, and nothing that nobody should read."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from msgspec.structs import replace

from kubesched_lint.engine.base.partly_compared import same_values
from kubesched_lint.engine.cluster.cluster import Cluster, ClusterError
from kubesched_lint.engine.model.pod import SchedulerProfile
from kubesched_lint.sources.capture.snapshot import Snapshot
from kubesched_lint.sources.clusters.read import cluster_from
from kubesched_lint.sources.redaction.redact import Redactor
from kubesched_lint.sources.scheduler_config.file import schedulers_in
from kubesched_lint.sources.scheduler_config.kept import kept_of, redacted
from kubesched_lint.sources.sketches.sketching import sketch_of

CONFIGURATION = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: /home/hunter2/kubeconfig}
leaderElection: {leaderElect: true, resourceName: hunter2}
percentageOfNodesToScore: 40
profiles:
- schedulerName: payments-scheduler
  percentageOfNodesToScore: 50
  plugins:
    multiPoint: {enabled: [{name: PaymentsPlugin, weight: 3}], disabled: [{name: ImageLocality}]}
    score: {disabled: [{name: '*'}], enabled: [{name: NodeResourcesFit, weight: 7}]}
  pluginConfig:
  - {name: PaymentsPlugin, args: {token: hunter2}}
  - name: NodeResourcesFit
    args:
      ignoredResources: [payments.example.com/card]
      ignoredResourceGroups: [cards.example.com]
      scoringStrategy:
        type: RequestedToCapacityRatio
        resources: [{name: cpu, weight: 2}, {name: payments.example.com/card, weight: 5}]
        requestedToCapacityRatio: {shape: [{utilization: 0, score: 0}, {utilization: 100, score: 10}]}
  - name: NodeAffinity
    args:
      addedAffinity:
        requiredDuringSchedulingIgnoredDuringExecution:
          nodeSelectorTerms: [{matchExpressions: [{key: payments.example.com/pool, operator: In, values: [cards]}]}]
        preferredDuringSchedulingIgnoredDuringExecution:
        - {weight: 5, preference: {matchExpressions: [{key: topology.kubernetes.io/zone, operator: Exists}]}}
  - name: PodTopologySpread
    args:
      defaultingType: List
      defaultConstraints:
      - {maxSkew: 1, topologyKey: payments.example.com/rack, whenUnsatisfiable: DoNotSchedule, minDomains: 2}
  - {name: InterPodAffinity, args: {hardPodAffinityWeight: 7, ignorePreferredTermsOfExistingPods: true}}
  - {name: DefaultPreemption, args: {minCandidateNodesPercentage: 20, minCandidateNodesAbsolute: 3}}
  - {name: NodeResourcesBalancedAllocation, args: {resources: [{name: memory, weight: 1}]}}
- schedulerName: default-scheduler
extenders:
- urlPrefix: https://user:hunter2@payments.example.com/filter
  filterVerb: filter
  prioritizeVerb: score
  weight: 3
  tlsConfig: {keyData: aHVudGVyMg==, certFile: /home/hunter2/cert}
  managedResources: [{name: payments.example.com/chip, ignoredByScheduler: true}]
"""
WRITTEN: dict[str, Any] = yaml.safe_load(CONFIGURATION)
SKETCH = b"apiVersion: kubesched-lint/v1\nkind: ClusterSketch\nnodes:\n- {name: worker, count: 2}\n"


def read(configuration: dict[str, Any]) -> tuple[SchedulerProfile, ...]:
    return schedulers_in(json.loads(json.dumps(configuration)))


def nameless(profiles: tuple[SchedulerProfile, ...]) -> list[SchedulerProfile]:
    """Return the profiles without their places, and without the URL of the extender."""
    return [replace(p, origin="", unmodelled=tuple(u.rpartition("/")[2] for u in p.unmodelled)) for p in profiles]


def test_what_is_kept_sets_up_the_same_profiles() -> None:
    kept = kept_of(WRITTEN)
    assert same_values(nameless(read(kept)), nameless(read(WRITTEN)))
    assert "hunter2" not in json.dumps(kept)
    assert "aHVudGVyMg" not in json.dumps(kept)
    assert read(kept)[0].unmodelled[0] == "the extender https://payments.example.com/filter"


def test_pseudonyms_leave_no_name_and_decide_the_same() -> None:
    redactor = Redactor(b"of the tests")
    hidden = redacted(kept_of(WRITTEN), redactor)
    text = json.dumps(hidden).lower()
    assert not [word for word in ("payments", "card", "rack", "chip", "example", "hunter2") if word in text]
    ours, theirs = read(hidden)[0], read(WRITTEN)[0]
    assert ours.name == redactor.name(theirs.name)
    assert read(hidden)[1].name == "default-scheduler"
    assert ours.ignored_resources == {redactor.resource(name) for name in theirs.ignored_resources}
    card = redactor.resource("cards.example.com/gold")
    assert ours.ignored_resource_groups == {card.rpartition("/")[0]}
    assert ours.strategy.resources == {redactor.resource(name): n for name, n in theirs.strategy.resources.items()}
    assert (ours.filters, ours.weights, ours.strategy.type) == (theirs.filters, theirs.weights, theirs.strategy.type)
    assert ours.added_node_terms is not None
    assert ours.added_node_terms[0].expressions[0].key == redactor.label_key("payments.example.com/pool")
    assert ours.default_spread is not None
    assert ours.default_spread[0].topology_key == redactor.label_key("payments.example.com/rack")
    assert len(ours.unmodelled) == len(theirs.unmodelled)


def snapshot(configuration: object) -> bytes:
    metadata = {"kinds": ["Node"], "gaps": [], "schedulerConfiguration": configuration}
    return b"".join(Snapshot(metadata, (), {}).pieces())


def names(cluster: Cluster) -> list[tuple[str, str]]:
    return [(one.name, one.origin) for one in cluster.inventory.schedulers]


def test_a_snapshot_brings_its_scheduler() -> None:
    cluster = cluster_from([("c.json", snapshot(kept_of(WRITTEN)))], "c.json")
    assert names(cluster) == [("payments-scheduler", "c.json"), ("default-scheduler", "c.json")]
    assert cluster.description.what.endswith("scheduled as c.json configures")
    assert names(cluster_from([("c.json", snapshot(None))], "c.json")) == []


def test_a_wrong_configuration_in_a_snapshot_has_its_place() -> None:
    wrong = {**kept_of(WRITTEN), "percentageOfNodesToScore": 101}
    with pytest.raises(ClusterError) as refused:
        cluster_from([("c.json", snapshot(wrong))], "c.json")
    assert refused.value.column > 1
    assert refused.value.message == "percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]"


@pytest.mark.parametrize("order", [1, -1])
def test_a_snapshot_and_a_file_with_one_each_are_refused(order: int) -> None:
    files = [("c.json", snapshot(kept_of(WRITTEN))), ("scheduler.yaml", CONFIGURATION.encode())]
    with pytest.raises(ClusterError) as refused:
        cluster_from(files[::order], "folder")
    assert refused.value.message == "a second KubeSchedulerConfiguration: expected one"


@pytest.mark.parametrize("other", [("scheduler.yaml", CONFIGURATION.encode()), ("c.json", snapshot(kept_of(WRITTEN)))])
def test_a_sketch_keeps_the_scheduler(other: tuple[str, bytes]) -> None:
    cluster = cluster_from([("nodes.yaml", SKETCH), other], "folder")
    sketch = sketch_of(cluster)
    assert "hunter2" not in sketch
    again = cluster_from([("sketch.yaml", sketch.encode())], "sketch.yaml")
    assert same_values(nameless(again.inventory.schedulers), nameless(read(WRITTEN)))
    assert len(again.inventory.nodes) == 2
