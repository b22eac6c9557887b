"""Many quotas in one namespace: those with the same users are looked at together, and no answer is found twice."""

from __future__ import annotations

from random import Random

import pytest
import yaml

from kubesched_lint.engine.admission.quotas import Charged, Use
from kubesched_lint.engine.events.start import quotas
from kubesched_lint.engine.events.start.simulated_set import SimulatedSet
from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.engine.model.pod import Pod
from kubesched_lint.engine.model.policy import ResourceQuota
from kubesched_lint.engine.model.storage import Claim
from kubesched_lint.engine.placing.from_scenario import simulated_set_of
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.linter.reading.manifest_set import manifest_set
from kubesched_lint.sources.manifests.loader import documents
from tests.events.simulated import Value, other, report_of, sketch, workload

CLASSES = ("a", "b")


def some_set(random: Random) -> list[Value]:
    """Workloads that some of several quotas count, by their priority class or for what they request."""
    made: list[Value] = [other("PriorityClass", name, "scheduling.k8s.io/v1", value=5) for name in CLASSES]
    for number in range(random.randint(2, 5)):
        requests = {"cpu": f"{random.choice((100, 300))}m", "memory": random.choice(("64Mi", "1Gi"))}
        spec = {"containers": [{"name": "c", "resources": {"requests": requests, "limits": requests}}]}
        if random.random() < 0.5:
            spec["priorityClassName"] = random.choice(CLASSES)
        kind = random.choice(("Deployment", "StatefulSet"))
        more = {}
        if kind == "StatefulSet" and random.random() < 0.5:
            claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
            more["volumeClaimTemplates"] = [{"metadata": {"name": "data"}, "spec": claim}]
        made.append(workload(kind, f"w{number}", random.randint(1, 4), spec, **more))
    for number in range(random.randint(1, 6)):
        hard = {
            name: amount
            for name, amount in (
                ("pods", str(random.randint(1, 12))),
                ("requests.cpu", f"{random.randint(1, 20)}00m"),
                ("limits.memory", f"{random.randint(1, 8)}Gi"),
                ("requests.storage", f"{random.randint(1, 6)}Gi"),
            )
            if random.random() < 0.6
        }
        spec = {"hard": hard or {"pods": "3"}}
        if number and random.random() < 0.4:
            chosen = {"scopeName": "PriorityClass", "operator": "In", "values": [random.choice(CLASSES)]}
            spec["scopeSelector"] = {"matchExpressions": [chosen]}
        made.append(other("ResourceQuota", f"q{number}", spec=spec))
    return made


def set_of(*manifests: Value) -> SimulatedSet:
    text = yaml.safe_dump_all(manifests)
    found = manifest_set(documents("set.yaml", text.encode(), is_read), "default")
    setting = simulated_set_of(Scenario(found.inventory, sketch()))
    assert any(setting.quotas)
    return setting


def one_quota_at_a_time(setting: SimulatedSet, order: list[int]) -> dict[int, int]:
    """What the API server does: each quota counts each pod."""
    found: dict[int, int] = {}
    used: dict[tuple[ResourceQuota, str], int] = {}
    for number in order:
        found[number] = 0
        entries = [(q, *entry) for q in setting.quotas[number] for entry in quotas._entries(setting.member(number), q)]
        while found[number] < setting.member(number).wanted and all(
            there.most + used.get((q, resource), 0) + each <= q.hard[resource] for q, resource, each, there in entries
        ):
            found[number] += 1
            for q, resource, each, _ in entries:
                used[q, resource] = used.get((q, resource), 0) + each
    return found


@pytest.mark.parametrize("seed", range(40))
def test_quotas_with_the_same_users_grant_what_each_of_them_grants(seed: int) -> None:
    random = Random(seed)
    setting = set_of(*some_set(random))
    numbers = list(range(len(setting.pods)))
    assert numbers
    for _ in range(4):
        random.shuffle(numbers)
        assert quotas.granted_in_turn(setting, numbers).pods == one_quota_at_a_time(setting, numbers)
    everybody = list(range(len(setting.pods)))
    for number in everybody:
        rest = [i for i in everybody if i != number]
        least = min(one_quota_at_a_time(setting, [*order, number])[number] for order in (rest, rest[::-1]))
        assert quotas.surely_granted(setting.member(number), "deploy") <= least
        both = one_quota_at_a_time(setting, [number])[number], one_quota_at_a_time(setting, [*rest, number])[number]
        assert quotas.goes_both_ways(setting.member(number)) == (both[0] >= setting.member(number).wanted > both[1])


@pytest.mark.parametrize("seed", range(40))
def test_the_tightest_quota_is_the_first_that_allows_the_fewest_pods(seed: int) -> None:
    setting = set_of(*some_set(Random(seed)))
    for number in range(len(setting.pods)):
        allowed = [
            (max((q.hard[resource] - used.least) // each, 0), q, resource)
            for q in setting.quotas[number]
            for resource, each, used in quotas._entries(setting.member(number), q)
        ]
        found = quotas.cap(setting.member(number))
        least = min(allowed, key=lambda one: one[0]) if allowed else None
        assert (found and (found.pods, found.quota, found.resource)) == least


def test_an_entry_of_a_quota_is_asked_once_for_all_workloads(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    real = quotas.asked_with_claims, Charged.use

    def counted(pod: Pod, claims: tuple[Claim, ...], entry: str) -> int:
        asked.append(entry)
        return real[0](pod, claims, entry)

    def used(charged: Charged, quota: ResourceQuota, entry: str) -> Use:
        asked.append(entry)
        return real[1](charged, quota, entry)

    monkeypatch.setattr(quotas, "asked_with_claims", counted)
    monkeypatch.setattr(Charged, "use", used)

    def questions(count: int) -> int:
        asked.clear()
        hard = [{"requests.cpu": str(200 + i), "pods": str(200 - i)} for i in range(count)]
        limits = [other("ResourceQuota", f"q{i:02}", spec={"hard": entries}) for i, entries in enumerate(hard)]
        requests = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}
        setting = set_of(*(workload("Deployment", f"w{i}", 3, requests) for i in range(12)), *limits)
        for number in range(12):
            assert quotas.cap(setting.member(number))
            assert quotas.cap_in_rollout(setting.member(number))
            assert quotas.surely_granted(setting.member(number))
        return len(asked)

    few, many = 10, 60
    assert 0 < questions(many) - questions(few) <= 2 * (many - few)


def test_no_answer_about_quotas_is_found_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    count = 12
    asked: list[int] = []
    real = quotas.granted_in_turn

    def counted(setting: SimulatedSet, order: object) -> quotas.Grants:
        asked.append(1)
        return real(setting, order)

    monkeypatch.setattr(quotas, "granted_in_turn", counted)
    both = [workload("Deployment", f"w{i}", 3) for i in range(count)]
    limits = [other("ResourceQuota", f"q{i}", spec={"hard": {"pods": str(30 + i)}}) for i in range(count)]
    report_of(sketch(), *both, *limits)
    # Each workload as the first, as the last, and as the last again for its message; all in the order of the manifests.
    assert 0 < len(asked) <= 3 * count + 1
