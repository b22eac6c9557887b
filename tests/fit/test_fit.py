"""How many more pods fit: both ends against every order, and what the command prints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import assume
from msgspec.structs import replace

from kubesched_lint.commands.fit.asked import Amounts
from kubesched_lint.commands.fit.run import Counts, fit
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.events.start.simulated_set import SimulatedSet
from kubesched_lint.engine.events.start.timelines import timeline_of
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.runs.event_outcomes import EventOutcomes
from kubesched_lint.engine.scenario.settings.user_settings import Premises
from kubesched_lint.library import fit as library_fit
from kubesched_lint.library import load_cluster
from tests.drawn import given
from tests.events import simulated
from tests.events.enclosed import thorough
from tests.events.made_sets import nodes, workload
from tests.program import called

ROOT = Path(__file__).parents[2]
ZONES = ROOT / "fixtures" / "clusters" / "three-zones.yaml"
SKETCH = """\
apiVersion: kubesched-lint/v1
kind: ClusterSketch
nodes:
- {{name: node, count: 2, zones: [a, b], allocatable: {{cpu: "4", memory: 16Gi}}}}
{pools}"""


def cluster(text: str) -> Cluster:
    return load_cluster(text=text)


def answer(amounts: Amounts, given_cluster: Cluster):
    return fit(amounts.workload("default"), str(amounts), Inventory(), given_cluster, Premises())


@pytest.mark.parametrize(
    ("amounts", "least", "most"),
    [
        (Amounts({"cpu": "3"}), 4, 4),
        (Amounts({"cpu": "1", "memory": "5Gi"}), 12, 12),
        (Amounts({"cpu": "5"}), 0, 0),
        (Amounts({"cpu": "1"}, apart="zone"), 2, 2),
        (Amounts({"cpu": "1"}, apart="node"), 4, 4),
        (Amounts({"cpu": "1"}, spread="zone"), 16, 16),
        (Amounts({"cpu": "1"}, spread="example.com/rack"), 0, 0),
    ],
)
def test_both_ends_are_counted(amounts: Amounts, least: int, most: int) -> None:
    found = answer(amounts, cluster(SKETCH.format(pools="")))
    assert found.counts == Counts(least, most)
    assert found.placed == most
    assert found.binds.startswith("0/4 nodes are available: ")
    assert list(found.by_group) == ["zone a", "zone b"]


PINNED = """\
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {{name: zonal}}
provisioner: ebs.csi.aws.com
volumeBindingMode: {mode}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {{name: data}}
spec: {{accessModes: [ReadWriteOnce], storageClassName: zonal, resources: {{requests: {{storage: 1Gi}}}}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: db}}
spec:
  selector: {{matchLabels: {{app: db}}}}
  template:
    metadata: {{labels: {{app: db}}}}
    spec:
      nodeName: worker-eu-west-1a-1
      containers: [{{name: c, image: nginx, resources: {{requests: {{cpu: "1"}}}}}}]
      volumes: [{{name: data, persistentVolumeClaim: {{claimName: data}}}}]
"""


@pytest.mark.parametrize(("mode", "told"), [
    ("WaitForFirstConsumer", "no pod like Deployment default/db fits on today's nodes"),
    ("Immediate", "at most 3 more pods like Deployment default/db fit on today's nodes: it is not known whether {}"),
])  # fmt: skip
def test_of_pods_that_bypass_the_scheduler_it_claims_no_order(mode: str, told: str, tmp_path: Path) -> None:
    """ "0 to 3 more pods, by the order in which they come", of pods that never start whatever the order."""
    (tmp_path / "db.yaml").write_text(PINNED.format(mode=mode))
    done = called("fit", "--like", "db", "db.yaml", "-c", str(ZONES), cwd=tmp_path)
    headline, then, *_ = done.stdout.splitlines()
    assert headline == told.format("any does")
    assert ("claim data waits until the scheduler has chosen a node" in then) is (mode != "Immediate")
    assert "by the order" not in done.stdout


def test_pools_add_room_until_their_limit() -> None:
    pool = """\
pools:
- {name: general, zones: [a, b], shapes: [{name: m6i, allocatable: {cpu: "4", memory: 16Gi}}], limits: {nodes: 6}}
"""
    text = SKETCH.format(pools=pool)
    found = answer(Amounts({"cpu": "3"}), cluster(text))
    assert found.counts == Counts(4, 4)
    assert found.pools is not None
    assert 0 < found.pools.fit < found.pools.asked
    assert found.pools.limited == ("general",)


@thorough
@given(nodes(most=3), workload("web", kinds=("Deployment",), most=1))
def test_no_order_places_fewer_or_more(found, own) -> None:
    """Against every end of a deploy of one pod more than fit, in which pods come one after another."""
    inventory = Inventory(nodes=found)
    told = fit(own, "", Inventory(), Cluster(inventory, kinds=frozenset({"Node", "Pod"})), Premises())
    assume(told.counts.most < 12)
    more = replace(own, replicas=told.counts.most + 1)
    setting = SimulatedSet(found, Inventory(), (more,))
    timeline = timeline_of(setting, [0], expected=False, most_states=4000, preempting=False)
    assume(timeline.sound)
    ends = EventOutcomes(setting, [0], [timeline], [n.name for n in found]).ends("deploy", 0)
    placed = {end.outcome.bound for end in ends}
    assert told.counts.least <= min(placed)
    assert max(placed) <= told.counts.most
    assert told.placed in range(told.counts.least, told.counts.most + 1)


def test_the_command_prints_text_json_and_markdown(tmp_path: Path) -> None:
    done = called("fit", "--cpu", "3", "--spread", "zone", "-c", str(ZONES), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0].endswith("fit on today's nodes: certain in every order")
    value = json.loads(called("fit", "--cpu", "3", "-c", str(ZONES), "-f", "json", cwd=tmp_path).stdout)
    assert value["more"] == {"least": 6, "most": 6}
    assert called("fit", "--cpu", "3", "-c", str(ZONES), "-f", "markdown", cwd=tmp_path).stdout.startswith("**6 more")


def test_pods_like_those_of_a_workload(tmp_path: Path) -> None:
    (tmp_path / "web.yaml").write_text((ROOT / "fixtures" / "seeds" / "D4" / "web-server.yaml").read_text())
    done = called("fit", "--like", "web-server", "web.yaml", "-c", str(ZONES), cwd=tmp_path)
    assert done.returncode in (0, 1), done.stderr
    assert "like Deployment default/web-server" in done.stdout.splitlines()[0]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "name a workload with --like"),
        (("--like", "web", "--cpu", "1"), "name a workload with --like"),
        (("--like", "nobody"), "nothing is named 'nobody'"),
        (("--cpu", "much"), "quantities must match"),
        (("--request", "gpu"), "--request gpu: it takes RESOURCE=AMOUNT"),
    ],
)
def test_a_wrong_question_is_one_line_and_exit_2(tmp_path: Path, arguments: tuple[str, ...], words: str) -> None:
    done = called("fit", *arguments, "-c", str(ZONES), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_what_cannot_be_read_is_exit_2(tmp_path: Path) -> None:
    """It may have a quota."""
    (tmp_path / "broken.yaml").write_text("apiVersion: v1\nkind: ResourceQuota\nspec: [\n")
    done = called("fit", "--cpu", "1", "broken.yaml", "-c", str(ZONES), cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("error: broken.yaml:4:1: ")
    assert "more pods with cpu 1 fit" in done.stdout


def test_none_fits_is_exit_1(tmp_path: Path) -> None:
    done = called("fit", "--cpu", "900", "-c", str(ZONES), cwd=tmp_path)
    assert (done.returncode, done.stdout.splitlines()[0]) == (1, "no pod with cpu 900 fits on today's nodes")


OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-a1", "uid": "1", "controller": True}
DEPLOYMENT = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "2", "controller": True}
HASHED = {"app": "web", "pod-template-hash": "a1"}
REPLICA_SET = {
    "apiVersion": "apps/v1",
    "kind": "ReplicaSet",
    "metadata": {
        "name": "web-a1",
        "namespace": "default",
        "uid": "1",
        "labels": HASHED,
        "ownerReferences": [DEPLOYMENT],
    },
    "spec": {"selector": {"matchLabels": HASHED}},
}


def node(name: str) -> dict:
    labels = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": f"z{name}"}
    status = {"allocatable": {"cpu": "4", "memory": "16Gi", "pods": "110"}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}, "status": status}


def running(name: str, on: str, spec: dict, **meta: object) -> dict:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", **meta},
        "spec": {**spec, "nodeName": on},
        "status": {"phase": "Running"},
    }


def test_pods_that_run_stay_and_new_ones_count_as_their_revision() -> None:
    """Two run on a and b. With those counted, c may take two more than the others have room for."""
    constraint = {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule"}
    constraint |= {"labelSelector": {"matchLabels": {"app": "web"}}, "matchLabelKeys": ["pod-template-hash"]}
    spec = {**simulated.asking("3"), "topologySpreadConstraints": [constraint]}
    pods = [running(f"web-{on}", on, spec, labels=HASHED, ownerReferences=[OWNER]) for on in ("a", "b")]
    web = simulated.workload("Deployment", "web", 2, spec)
    known = load_cluster(objects=[*map(node, "abc"), REPLICA_SET, *pods])
    told = library_fit(objects=[web], cluster=known, like="web")
    assert (told.running, told.counts) == (2, Counts(1, 1))


def test_a_quota_stops_the_next_pod() -> None:
    hard = {"hard": {"pods": "3"}}
    meta = {"name": "q", "namespace": "default"}
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": meta, "spec": hard, "status": hard}
    told = library_fit(cluster=load_cluster(objects=[node("a"), quota]), requests={"cpu": "1"})
    assert (told.counts, told.placed) == (Counts(3, 3), 3)
    assert "ResourceQuota default/q" in told.binds


def test_nothing_fits_of_what_the_api_server_refuses(tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text("""\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: wep}}
    spec: {containers: [{name: c, image: "registry.example.com/web:1"}]}
""")
    done = called("fit", "--like", "web", "m.yaml", "-c", str(ZONES), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "the API server refuses Deployment shop/web" in done.stderr
    assert "`selector` does not match template `labels`" in done.stderr


def test_a_cron_job_has_pods_too() -> None:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "2"}}}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    spec = {"schedule": "0 3 * * *", "jobTemplate": {"spec": {"template": template}}}
    cron = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "nightly"}, "spec": spec}
    told = library_fit(objects=[cron], cluster=load_cluster(objects=[node("a")]), like="nightly")
    assert (told.pods, told.counts) == ("like CronJob default/nightly", Counts(2, 2))


def test_a_class_of_the_manifests_is_known_and_nobody_is_evicted() -> None:
    high = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000}
    web = simulated.workload("Deployment", "web", 1, {**simulated.asking("3"), "priorityClassName": "high"})
    weak = running("weak", "a", simulated.asking("3"))
    known = load_cluster(objects=[node("a"), node("b"), weak])
    assert library_fit(objects=[web, high], cluster=known, like="web").counts == Counts(1, 1)
    other = {**high, "metadata": {"name": "low"}}
    with pytest.raises(ValueError, match=r"the API server refuses such pods: .*no PriorityClass with name high"):
        library_fit(objects=[web], cluster=load_cluster(objects=[node("a"), other]), like="web")


def test_of_several_environments_one_must_be_chosen(tmp_path: Path) -> None:
    text = (ROOT / "fixtures" / "seeds" / "D4" / "web-server.yaml").read_text()
    for name in ("prod", "staging"):
        (tmp_path / "overlays" / name).mkdir(parents=True)
        (tmp_path / "overlays" / name / "web.yaml").write_text(text)
    command = ("fit", "--like", "web-server", "overlays", "-c", str(ZONES))
    done = called(*command, cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "--env chooses one of prod, staging" in done.stderr
    assert called(*command, "--env", "prod", cwd=tmp_path).returncode < 2


def test_a_pod_without_a_controller_is_none_of_the_new_ones() -> None:
    """A ReplicaSet would adopt it: the node is full, and one more pod 'ran' all the same."""
    bare = running("web-0", "a", simulated.asking("3"), labels={"app": "web"})
    web = simulated.workload("Deployment", "web", 1, simulated.asking("3"))
    told = library_fit(objects=[web], cluster=load_cluster(objects=[node("a"), bare]), like="web")
    assert (told.counts, told.placed) == (Counts(0, 0), 0)
