"""No error about pods that nobody wants now, or that run already and stay as they are."""

from __future__ import annotations

from copy import deepcopy

import pytest
import yaml
from msgspec.structs import replace

from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.findings import Finding, Severity
from kubesched_lint.linter.lint import lint
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import manifest_set
from kubesched_lint.rulebook._generated import RULES
from kubesched_lint.sources.manifests.loader import documents
from tests.events.simulated import HOSTNAME, apart, sketch, workload
from tests.events.test_adoption import with_node
from tests.events.test_what_runs_already import running

NOBODY = {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": HOSTNAME, "labelSelector": {}}]}
NEAR = deepcopy(NOBODY)
NEAR["requiredDuringSchedulingIgnoredDuringExecution"][0]["labelSelector"] = {"matchLabels": {"app": "nobody"}}
IMPOSSIBLE = [
    {"nodeSelector": {"pool": "none"}},
    {"affinity": {"podAffinity": NEAR}},
    apart("web", "absent"),
    {"containers": [{"name": "c", "image": "x:1", "resources": {"requests": {"cpu": "300"}}}]},
]


def findings(cluster, *objects: dict) -> list[Finding]:
    text = "---\n".join(yaml.safe_dump(o) for o in objects)
    found = manifest_set(documents("set.yaml", text.encode(), is_read), "default")
    return list(lint(found, cluster, Options(), RULES)[0].findings)


def written(replicas: int, conditions: dict) -> dict:
    web = workload("Deployment", "web", replicas, conditions)
    web["spec"]["template"]["spec"]["containers"][0]["image"] = "x:1"
    return web


@pytest.mark.parametrize("conditions", IMPOSSIBLE)
def test_nothing_is_wrong_where_nothing_is_wanted(conditions):
    assert [f.message for f in findings(sketch(), written(0, conditions)) if "ending" in f.message] == []
    assert [f.rule for f in findings(sketch(), written(0, conditions)) if f.severity is Severity.ERROR] == []
    assert findings(sketch(), written(2, conditions)), "with replicas there is something to say"


def test_what_the_api_server_refuses_is_refused_with_0_replicas_too():
    bad = written(0, {})
    bad["spec"]["selector"]["matchLabels"] = {"app": "db"}
    assert [f.rule for f in findings(sketch(), bad) if f.severity is Severity.ERROR] == ["api-would-reject"]


def test_pods_that_run_and_stay_are_no_error():
    """Their nodes have lost a label since: they run on, and would not be let in again."""
    web = written(2, {"nodeSelector": {"pool": "none"}})
    cluster = sketch(1, "ab", "4", "110", *running(web, "w-a", "w-b"))
    (one,) = [f for f in findings(cluster, web) if f.rule == "nodeselector-matches-nothing"]
    assert one.severity is Severity.WARNING
    assert any("the running ones stay" in a for a in one.evidence.assumes)


def test_a_changed_template_is_an_error_as_before():
    web = written(2, {"nodeSelector": {"pool": "none"}})
    cluster = sketch(1, "ab", "4", "110", *running(written(2, {}), "w-a", "w-b"))
    (one,) = [f for f in findings(cluster, web) if f.rule == "nodeselector-matches-nothing"]
    assert one.severity is Severity.ERROR


def test_a_definition_that_its_file_replaces_is_no_error():
    """``kubectl apply`` of the file leaves the last one."""
    first, last = written(2, {"nodeSelector": {"pool": "none"}}), written(2, {})
    (one,) = [f for f in findings(sketch(), first, last) if f.rule == "nodeselector-matches-nothing"]
    assert one.severity is Severity.WARNING
    assert any("the same file replaces it below" in a for a in one.evidence.assumes)
    (one,) = [f for f in findings(sketch(), last, first) if f.rule == "nodeselector-matches-nothing"]
    assert one.severity is Severity.ERROR


def test_a_daemonset_that_no_node_takes_has_no_pods_that_could_wait():
    agent = workload("DaemonSet", "agent", None, {"nodeSelector": {"pool": "none"}, "affinity": {"podAffinity": NEAR}})
    agent["spec"]["template"]["spec"]["containers"][0]["image"] = "x:1"
    rules = {f.rule for f in findings(snapshot_of(sketch()), agent)}
    assert "affinity-selector-matches-nothing" not in rules
    assert "daemonset-matches-no-node" in rules
    del agent["spec"]["template"]["spec"]["nodeSelector"]
    (one,) = [f for f in findings(snapshot_of(sketch()), agent) if f.rule == "affinity-selector-matches-nothing"]
    assert one.severity is Severity.ERROR


def snapshot_of(cluster):
    """The same where all running pods are told."""
    return replace(cluster, kinds=frozenset({*cluster.kinds, "Pod"}))


def test_pods_that_stay_take_the_room_that_they_ask_for_and_not_that_of_new_ones():
    """A LimitRange that comes with the set makes new pods larger: the two that run stay as small as they are."""
    limits = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "l"}}
    limits["spec"] = {"limits": [{"type": "Container", "default": {"cpu": "2"}}]}
    silent = {"containers": [{"name": "c", "image": "x:1"}]}
    one, two = workload("Deployment", "one", 2, silent), workload("Deployment", "two", 2, silent)
    standing = [*running(one, "w", "w"), *running(two, "w", "w")]
    assert [f for f in findings(sketch(1, "a", "4"), limits, one, two) if f.rule == "set-does-not-fit"]
    found = findings(sketch(1, "a", "4", "110", *standing), limits, one, two)
    assert not [f for f in found if f.rule == "set-does-not-fit"]


@pytest.mark.parametrize(("priority", "pending"), [(0, 2), (-10, 1)])
def test_a_quota_counts_pods_that_none_of_the_set_evicts(priority, pending):
    """Whoever makes room on a node makes room in the quota too."""
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "default"}}
    quota["spec"] = {"hard": {"pods": "3"}}
    guest = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "guest", "namespace": "default"}}
    guest["spec"] = {"nodeName": "w", "priority": priority, "containers": [{"name": "c", "image": "x:1"}]}
    cluster = sketch(1, "a", "4", "110", quota, guest)
    one, two = (workload("Deployment", name, 2, {"containers": [{"name": "c", "image": "x:1"}]}) for name in ("a", "b"))
    (found,) = [f for f in findings(cluster, one, two) if f.rule == "quota-refuses-pods"]
    assert f"at least {pending} pod" in found.message


@pytest.mark.parametrize(("stands", "said"), [("w", True), ("t", False)])
def test_an_old_pod_in_a_domain_that_is_closed_counts_as_long_as_it_stands(stands, said):
    """Two new ones go beside it, then it is deleted: no domain is empty until nobody needs another one."""
    selector = {"labelSelector": {"matchLabels": {"app": "web"}}}
    constraint = {"maxSkew": 1, "topologyKey": HOSTNAME, "whenUnsatisfiable": "DoNotSchedule", **selector}
    web = written(2, {"topologySpreadConstraints": [constraint]})
    tainted = {"name": "t", "zones": ["b"], "allocatable": {"cpu": "4", "pods": "110"}, "taints": ["x=y:NoSchedule"]}
    cluster = with_node(sketch(1, "a", "4", "110", *running(written(2, {}), stands)), tainted)
    assert ("spread-tainted-domain-blocks" in {f.rule for f in findings(cluster, web)}) == said


def test_a_quota_that_grants_no_pod_beats_no_claim_about_an_update_of_pods_that_run():
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "default"}}
    quota["spec"] = {"hard": {"pods": "0"}}
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}}
    claim["spec"] = {"accessModes": ["ReadWriteOncePod"], "resources": {"requests": {"storage": "1Gi"}}}
    web = written(1, {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]})
    storage = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "disk"}}
    storage |= {"provisioner": "disk.example.com", "volumeBindingMode": "WaitForFirstConsumer"}
    claim["spec"]["storageClassName"] = "disk"
    found = findings(sketch(1, "a", "4", "110", quota, storage), claim, web)
    (one,) = [f for f in found if f.rule == "claim-shared-by-replicas"]
    assert one.severity is Severity.ERROR


@pytest.mark.parametrize(("keys", "said"), [({}, True), ({"mismatchLabelKeys": ["tier"]}, False)])
def test_a_term_that_its_label_keys_turn_away_from_its_own_pods_stops_no_rollout(keys, said):
    term = {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": HOSTNAME, **keys}
    web = written(1, {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}})
    web["spec"]["template"]["metadata"]["labels"]["tier"] = "x"
    assert ("rollout-surge-deadlock" in {f.rule for f in findings(sketch(1, "a"), web)}) == said


def test_running_pods_of_the_set_that_leave_keep_no_run_away():
    """One of two pods leaves, so the runs of a Job find its node, one after another."""
    large = {"containers": [{"name": "c", "image": "x:1", "resources": {"requests": {"cpu": "3"}}}]}
    cluster = sketch(1, "ab", "4", "110", *running(workload("Deployment", "web", 2, large), "w-a", "w-b"))
    asking = {"containers": [{"name": "c", "image": "x:1", "resources": {"requests": {"cpu": "3500m"}}}]}
    job = {"parallelism": 3, "completions": 3, "template": {"spec": {"restartPolicy": "Never", **asking}}}
    cron = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "run"}}
    cron["spec"] = {"schedule": "0 3 * * *", "jobTemplate": {"spec": job}}
    small = workload("Deployment", "web", 1, large)
    assert [f.message for f in findings(cluster, small, cron) if f.severity is Severity.ERROR] == []
