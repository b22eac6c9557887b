"""What readers of fifty-eight further repositories called wrong, or the same cause once more."""

from __future__ import annotations

import pytest

from kubesched_lint import lint, load_cluster
from kubesched_lint.findings import Finding
from kubesched_lint.linter.results.causes import one_per_cause
from kubesched_lint.sources.manifests.recognizing.meant import reason_of

NODES = """
apiVersion: kubesched-lint/v1
kind: ClusterSketch
nodeGroups: complete
nodes: [{name: worker, count: 2, zones: [a, b, c], allocatable: {cpu: "4", memory: 16Gi}}]
"""
CLAIM = """
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: NAME, namespace: shop}
spec: {accessModes: [ReadWriteOnce], storageClassName: CLASS, resources: {requests: {storage: 1Gi}}}
"""
DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME, namespace: shop}
spec:
  replicas: REPLICAS
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}}
    spec:
      SPEC
      containers: [{name: app, image: "registry.example.com/app:1.0"MOUNTS}]
      volumes: [{name: data, persistentVolumeClaim: {claimName: CLAIMED}}]
"""
MOUNTS = ", volumeMounts: [{name: data, mountPath: /data}]"
LOCAL = """
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: local}
provisioner: kubernetes.io/no-provisioner
volumeBindingMode: WaitForFirstConsumer
"""


def deployment(name: str, claimed: str = "data", *, replicas: int = 1, mounts: str = MOUNTS, spec: str = "") -> str:
    text = DEPLOYMENT.replace("NAME", name).replace("CLAIMED", claimed).replace("REPLICAS", str(replicas))
    return text.replace("MOUNTS", mounts).replace("SPEC", spec or "{}").replace("      {}\n", "")


def claim(name: str = "data", of: str = "fast") -> str:
    return CLAIM.replace("NAME", name).replace("CLASS", of)


def found(*objects: str, rule: str) -> list[Finding]:
    report = lint(text="---".join(objects), cluster=load_cluster(text=NODES))
    return [finding for finding in one_per_cause(report).findings if finding.rule == rule]


@pytest.mark.parametrize(
    ("mounts", "findings"), [(MOUNTS, 1), (", volumeDevices: [{name: data, devicePath: /dev/x}]", 1), ("", 0)]
)
def test_a_volume_that_no_container_mounts_holds_up_no_pod(mounts: str, findings: int) -> None:
    assert len(found(claim(), deployment("web", mounts=mounts), rule="claim-shared-by-replicas")) == findings


def test_workloads_that_share_one_claim_have_one_cause() -> None:
    (one,) = found(claim(), deployment("web", replicas=3), deployment("job"), rule="claim-shared-by-replicas")
    assert {other.object.name for other in one.also if other.rule == one.rule} == {"job"}


def test_nothing_is_said_of_claims_where_the_server_refuses_the_pods() -> None:
    refused = deployment("web").replace("apps/v1", "extensions/v1beta1")
    assert found(claim(), refused, rule="claim-shared-by-replicas") == []
    assert found(claim(), refused, rule="api-would-reject")


def test_a_class_without_volumes_is_one_cause() -> None:
    names = ("web", "db", "queue")
    objects = [text for name in names for text in (claim(name, "local"), deployment(name, name))]
    (one,) = found(LOCAL, *objects, rule="pods-stay-pending")
    assert len([other for other in one.also if other.rule == one.rule]) == 2
    both = found(LOCAL, LOCAL.replace("local", "other"), *objects[:3], claim("x", "other"), deployment("x", "x"),
                 rule="pods-stay-pending")  # fmt: skip
    assert len(both) == 2


def test_whoever_never_runs_repels_nobody() -> None:
    def affinity(key: str) -> str:
        return f"""affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - topologyKey: topology.kubernetes.io/zone
            labelSelector: {{matchExpressions: [{{key: app, operator: Exists}}]}}
        podAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - {{topologyKey: {key}, labelSelector: {{matchLabels: {{app: holder}}}}}}"""

    victim = deployment("victim", "other")
    for key, findings in (("topology.kubernetes.io/zone", 1), ("example.com/rack", 0)):
        holder = deployment("holder", replicas=3, spec=affinity(key))
        assert len(found(holder, victim, rule="anti-affinity-symmetry")) == findings


@pytest.mark.parametrize(
    ("key", "severity"),
    [
        ("beta.kubernetes.io/instance-type", "note"),
        ("failure-domain.beta.kubernetes.io/zone", "warning"),  # the sketch has the label that replaces it
        ("topology.kubernetes.io/hostname", "warning"),
    ],
)
def test_a_deprecated_key_of_a_preference_is_a_note_where_a_sketch_need_not_write_it(key: str, severity: str) -> None:
    item = f"{{weight: 1, podAffinityTerm: {{topologyKey: {key}, labelSelector: {{matchLabels: {{app: web}}}}}}}}"
    spec = f"affinity: {{podAntiAffinity: {{preferredDuringSchedulingIgnoredDuringExecution: [{item}]}}}}"
    (one,) = found(deployment("web", spec=spec), rule="topology-key-typo-deprecated")
    assert one.severity.word == severity


def test_daemonsets_that_lack_one_label_have_one_cause() -> None:
    daemon = """
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: NAME, namespace: shop}
spec:
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}}
    spec:
      nodeSelector: {example.com/bgp: "true"}
      containers: [{name: app, image: "registry.example.com/app:1.0"}]
"""
    (one,) = found(daemon.replace("NAME", "a"), daemon.replace("NAME", "b"), rule="daemonset-matches-no-node")
    assert [other.object.name for other in one.also] == ["b"]


def test_a_word_between_underscores_is_filled_in() -> None:
    assert (
        found(deployment("web").replace("namespace: shop", "namespace: __NAMESPACE__"), rule="api-would-reject") == []
    )


def test_what_is_disabled_is_not_applied() -> None:
    assert reason_of("disabled", "apps") == "disabled files"
    assert reason_of("disabled-users", "apps") == ""


def test_a_label_that_no_node_has_is_one_cause_whatever_its_value() -> None:
    def asking(name: str, expression: str) -> str:
        terms = f"{{nodeSelectorTerms: [{{matchExpressions: [{expression}]}}]}}"
        required = f"requiredDuringSchedulingIgnoredDuringExecution: {terms}"
        return deployment(name, spec=f"affinity: {{nodeAffinity: {{{required}}}}}")

    any_gpu, one_gpu = "{key: gpu, operator: Exists}", "{key: gpu, operator: In, values: [a100]}"
    (one,) = found(asking("a", any_gpu), asking("b", one_gpu), rule="nodeselector-matches-nothing")
    assert "b" in {other.object.name for other in one.also if other.rule == one.rule}
    elsewhere = "{key: topology.kubernetes.io/zone, operator: In, values: [far]}"
    assert len(found(asking("a", any_gpu), asking("b", elsewhere), rule="nodeselector-matches-nothing")) == 2
