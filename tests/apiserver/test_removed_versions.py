"""API versions that Kubernetes no longer serves: refused in kubectl's words, and told of kinds that are not read."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubesched_lint import lint
from kubesched_lint.engine.apiserver.validate import validate
from kubesched_lint.engine.apiserver.values.removed import _GONE, removed_in
from kubesched_lint.engine.base.releases import MODELLED
from kubesched_lint.engine.model.decode.objects import READ_KINDS, is_read

OBJECT = "apiVersion: {version}\nkind: {kind}\nmetadata: {{name: d}}\n"


@pytest.mark.parametrize(
    ("version", "kind"),
    [
        ("extensions/v1beta1", "Deployment"),
        ("extensions/v1beta1", "DaemonSet"),
        ("extensions/v1beta1", "ReplicaSet"),
        ("apps/v1beta1", "StatefulSet"),
        ("apps/v1beta2", "Deployment"),
        ("batch/v1beta1", "CronJob"),
        ("policy/v1beta1", "PodDisruptionBudget"),
        ("autoscaling/v2beta2", "HorizontalPodAutoscaler"),
        ("storage.k8s.io/v1beta1", "CSIStorageCapacity"),
    ],
)
def test_a_kind_that_is_read_is_refused(version: str, kind: str) -> None:
    (found,) = lint(text=OBJECT.format(version=version, kind=kind)).findings
    assert (found.rule, found.severity.word) == ("api-would-reject", "error")
    assert found.message.endswith(f'no matches for kind "{kind}" in version "{version}"')
    assert found.location.span.line == 1


@pytest.mark.parametrize(
    ("version", "kind", "since"),
    [
        ("policy/v1beta1", "PodSecurityPolicy", "1.25"),
        ("extensions/v1beta1", "Ingress", "1.22"),
        ("rbac.authorization.k8s.io/v1beta1", "ClusterRole", "1.22"),
    ],
)
def test_a_kind_that_is_not_read_is_told(version: str, kind: str, since: str) -> None:
    text = OBJECT.format(version=version, kind=kind)
    report = lint(text=f"{text}---\n{text}")
    assert not report.findings
    (note,) = report.summary.notes
    assert note == (
        f'kubectl refuses <text>:1 and 1 more: no matches for kind "{kind}" in version "{version}", '
        f"which Kubernetes {since} removed"
    )


@pytest.mark.parametrize(("served", "first"), [("v1", "1.34"), ("v1beta2", "1.33"), ("v1beta1", "1.32")])
def test_a_version_that_a_later_kubernetes_brings_is_refused(served: str, first: str) -> None:
    """The first versions are those of APILifecycleIntroduced (``k8s.io/api/resource``)."""
    claim = {"apiVersion": f"resource.k8s.io/{served}", "kind": "ResourceClaim", "metadata": {"name": "c"}, "spec": {}}
    codes = {version: validate(claim, version=version).code for version in MODELLED}
    assert {version for version, code in codes.items() if code == 404} == set(MODELLED[: MODELLED.index(first)])


def test_what_is_served_is_not_told() -> None:
    for version, kind in [("networking.k8s.io/v1", "Ingress"), ("example.com/v1beta1", "PodSecurityPolicy")]:
        assert not lint(text=OBJECT.format(version=version, kind=kind)).summary.notes


def test_the_version_of_the_cluster_decides() -> None:
    flow = OBJECT.format(version="flowcontrol.apiserver.k8s.io/v1beta3", kind="FlowSchema")
    for version, noted in (("1.31", False), ("1.32", True)):
        notes = lint(text=flow, kubernetes_version=version).summary.notes
        assert any("Kubernetes 1.32 removed" in note for note in notes) == noted


@pytest.mark.parametrize("served", ["v1alpha2", "v1alpha3", "v1beta1"])
def test_a_pod_group_is_read_in_each_version_of_its_api(served: str) -> None:
    """scheduling.k8s.io: v1alpha2 in 1.36 only; v1alpha3 and v1beta1 from 1.37 on."""
    group = (
        OBJECT.format(version=f"scheduling.k8s.io/{served}", kind="PodGroup")
        + "spec: {schedulingPolicy: {basic: {}}}\n"
    )
    for version in ("1.36", "1.37"):
        report = lint(text=group, kubernetes_version=version)
        assert not report.errors
        refused = [f.rule for f in report.findings if f.rule == "api-would-reject"]
        assert refused == ["api-would-reject"] * ((served, version) == ("v1alpha2", "1.37"))


@pytest.mark.parametrize(
    ("version", "kind", "since"),
    [
        ("scheduling.k8s.io/v1alpha1", "Workload", "1.36"),
        ("networking.k8s.io/v1beta1", "ServiceCIDR", "1.37"),
        ("storage.k8s.io/v1beta1", "VolumeAttributesClass", "1.37"),
    ],
)
def test_versions_that_are_gone_since_1_36_or_1_37(version: str, kind: str, since: str) -> None:
    before = f"1.{int(since[2:]) - 1}"
    assert (removed_in(version, kind, before), removed_in(version, kind, f"{since}.1")) == ("", since)


def test_the_table_has_each_kind_once_and_no_version_that_a_modelled_server_serves() -> None:
    pairs = [(version, kind) for groups in _GONE.values() for version, kinds in groups.items() for kind in kinds]
    assert len(pairs) == len(set(pairs))
    for version, kind in pairs:
        since = removed_in(version, kind, MODELLED[-1])
        assert since
        assert not removed_in(version, kind, "1.15")
        if is_read(version, kind) and int(since[2:]) <= 30:
            assert validate({"apiVersion": version, "kind": kind}, version="1.30").code == 404
    assert {kind for _, kind in pairs} & READ_KINDS


DEPLOYMENT = """
apiVersion: {version}
kind: Deployment
metadata: {{name: {name}, namespace: shop}}
spec:
  replicas: {replicas}
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata: {{labels: {{app: {label}}}}}
    spec:
      containers: [{{name: c, image: i, resources: {{requests: {{cpu: "2"}}}}}}]
"""
SKETCH = """
apiVersion: kubesched-lint/v1
kind: ClusterSketch
nodes: [{name: worker, count: 2, zones: [a], allocatable: {cpu: "4", memory: 8Gi}}]
"""


def test_what_a_removed_version_would_make_is_judged_as_any_other_refused_object(tmp_path: Path) -> None:
    """Neither takes room from the others; of the object itself both say the same, because both are mended alike."""
    (tmp_path / "sketch.yaml").write_text(SKETCH)

    def found(version: str, label: str, replicas: int) -> list[tuple[str, str, str]]:
        old = DEPLOYMENT.format(name="old", version=version, label=label, replicas=replicas)
        text = old + "---" + DEPLOYMENT.format(name="web", version="apps/v1", label="web", replicas=4)
        findings = lint(text=text, cluster=str(tmp_path / "sketch.yaml")).findings
        return [(f.rule, f.object.name, f.severity.word) for f in findings if f.rule != "api-would-reject"]

    for replicas in (4, 5):
        gone, invalid = found("extensions/v1beta1", "old", replicas), found("apps/v1", "other", replicas)
        assert gone == invalid
        assert not any(severity == "error" for _, name, severity in gone if name == "web")
