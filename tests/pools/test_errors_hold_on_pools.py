"""No error on pods that some growth of the pools can place: sets and pools drawn at random, held against a plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

import pytest

from kubesched_lint.engine.placing.growth.growth import growth_plan
from kubesched_lint.engine.placing.growth.plan import NEVER
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.findings import Finding
from tests.share import first

BLOCK = 50
Writer = Callable[..., str]
ZONE = "topology.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"
# What is stuck in a rollout, a drain or a loss may well be placed at first.
_LATER = ("rollout", "hpa", "pdb", "loss", "drain", "statefulset")


def made_cluster(random: Random) -> Iterator[str]:
    zones = ["a", "b", "c"][: random.randint(1, 3)]
    yield "apiVersion: kubesched-lint/v1\nkind: ClusterSketch\nkinds: [Pod]\nnodes:"
    for number in range(random.randint(0, 3)):
        labels = random.choice(["{}", "{team: x}"])
        yield (
            f"- {{name: n{number}, zones: [{random.choice(zones)}], labels: {labels}, "
            f"allocatable: {{cpu: {random.randint(1, 4)}, memory: 8Gi}}}}"
        )
    yield "pools:"
    for number in range(random.randint(1, 2)):
        taints = random.choice(["[]", "[]", "[own=yes:NoSchedule]"])
        team = random.choice(["{}", "{team: x}", "{team: z}"])
        served = random.sample(zones, random.randint(1, len(zones)))
        maker = random.choice(["", "autoscaler: karpenter, "])
        yield (
            f"- {{name: p{number}, {maker}zones: [{', '.join(served)}], labels: {team}, taints: {taints}, "
            f"shapes: [{{name: s, allocatable: {{cpu: {random.randint(1, 4)}, memory: 8Gi}}}}]}}"
        )


def made_set(random: Random, deployment: Writer) -> str:
    return "\n".join(
        deployment(f"w{number}", random.randint(1, 4), str(random.randint(1, 3)), "\n".join(made_pod(random, number)))
        for number in range(random.randint(1, 2))
    )


def made_pod(random: Random, number: int) -> Iterator[str]:
    key = random.choice([ZONE, HOSTNAME])
    other = random.choice([number, 1 - number])
    if random.random() < 0.3:
        yield random.choice(["nodeSelector: {team: x}", f"nodeSelector: {{{ZONE}: b}}"])
    if random.random() < 0.3:
        yield "tolerations: [{key: own, operator: Exists}]"
    if random.random() < 0.4:
        least = random.choice(["", "minDomains: 2, "])
        yield (
            f"topologySpreadConstraints: [{{maxSkew: 1, {least}topologyKey: {key}, whenUnsatisfiable: DoNotSchedule, "
            f"labelSelector: {{matchLabels: {{app: w{number}}}}}}}]"
        )
    elif random.random() < 0.5:
        kind = random.choice(["podAffinity", "podAntiAffinity"])
        yield (
            f"affinity: {{{kind}: {{requiredDuringSchedulingIgnoredDuringExecution: [{{topologyKey: {key}, "
            f"labelSelector: {{matchLabels: {{app: w{other}}}}}}}]}}}}"
        )


@pytest.mark.parametrize("begin", first(1, range(0, 150, BLOCK)))
def test_no_error_says_that_pods_wait_which_a_growth_places(
    begin: int,
    facts_of: Callable[[str, str], Scenario],
    findings_of: Callable[..., dict[str, Finding]],
    deployment: Writer,
) -> None:
    errors = waiting = 0
    for seed in range(begin, begin + BLOCK):
        random = Random(seed)
        cluster, manifests = "\n".join(made_cluster(random)), made_set(random, deployment)
        found = [f for f in findings_of(manifests, cluster).values() if f.severity.word == "error"]
        verdicts = {str(v.workload): v for v in growth_plan(facts_of(manifests, cluster)).verdicts}
        waiting += any(v.kind == NEVER for v in verdicts.values())
        for finding in found:
            if any(word in finding.rule for word in _LATER):
                continue
            errors += 1
            left = sum(v.left for v in verdicts.values())
            if finding.rule != "set-does-not-fit":
                left = verdicts[str(finding.object)].left
            assert left, f"seed {seed}: {finding.rule}: {finding.message}\n{cluster}\n{manifests}"
    assert errors > 10  # the draw is worth its time
    assert waiting > 10
