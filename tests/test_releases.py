"""Which version of Kubernetes a run judges by, and the rows of what differs between versions."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from kubesched_lint import load_cluster
from kubesched_lint.cli.app import app
from kubesched_lint.engine.base import quirks as rows
from kubesched_lint.engine.base.quirks import QUIRKS, has
from kubesched_lint.engine.base.releases import MODELLED, RECORDED, is_asked_for, is_newer, judged_by, minor_of, release
from kubesched_lint.library import lint

OLDEST, NEWEST = MODELLED[0], MODELLED[-1]
NEXT = f"1.{release(NEWEST)[1] + 1}"
"""No model of it yet."""
NODES = """\
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Node
  metadata: {{name: n0, labels: {{kubernetes.io/hostname: n0}}}}
  status: {{allocatable: {{cpu: "4", memory: 8Gi, pods: "110"}}, nodeInfo: {{kubeletVersion: {0}}}}}
- apiVersion: v1
  kind: Node
  metadata: {{name: n1, labels: {{kubernetes.io/hostname: n1}}}}
  status: {{allocatable: {{cpu: "4", memory: 8Gi, pods: "110"}}, nodeInfo: {{kubeletVersion: {1}}}}}
"""
RUNNING = """\
- apiVersion: v1
  kind: Pod
  metadata: {name: other, namespace: default}
  spec: {nodeName: n0, containers: [{name: c, image: i}]}
  status: {phase: Running}
"""
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web}}
spec:
  replicas: {}
  selector: {{matchLabels: {{app: web}}}}
  template: {{metadata: {{labels: {{app: web}}}}, spec: {{containers: [{{name: c, image: i}}]}}}}
"""
FROM_ZERO = """\
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 0
  maxReplicas: 3
  metrics:
  - type: External
    external: {metric: {name: queue}, target: {type: AverageValue, averageValue: "1"}}
"""


@pytest.mark.parametrize("text", ["1.36", "v1.36", "v1.36.2", "1.36+", "v1.36.2-gke.1000", "v1.36.2+k3s1"])
def test_versions_are_read_as_people_write_them(text: str) -> None:
    assert release(text)[:2] == (1, 36)
    assert minor_of(text) == "1.36"


def test_without_a_patch_version_the_newest_patch_is_meant() -> None:
    assert release("1.36.2") == (1, 36, 2) < release("1.36")


@pytest.mark.parametrize("text", ["", "latest", "1", "one.two"])
def test_other_text_is_no_version(text: str) -> None:
    with pytest.raises(ValueError, match="not a Kubernetes version"):
        release(text)


@pytest.mark.parametrize(
    ("asked", "server", "version"),
    [
        ("", "", RECORDED),
        ("", "unknown", RECORDED),
        ("", "v1.35.2-eks-1", "1.35.2"),
        ("1.34", "v1.35.2", "1.34"),
        ("v1.35.3", "", "1.35.3"),
        ("", f"v{NEXT}.0", NEWEST),
        ("1.99", "", NEWEST),
        ("", "v1.24.9", OLDEST),
        ("2.0", "", NEWEST),
        ("1.26", "", OLDEST),
        ("1.26", "v1.35.2", OLDEST),
    ],
)
def test_the_version_asked_for_decides_then_the_cluster_then_the_recordings(asked, server, version) -> None:
    assert judged_by(asked, server) == version


def test_versions_that_are_not_modelled_may_be_asked_for() -> None:
    assert is_asked_for(NEXT)
    assert is_asked_for("1.26")
    assert is_newer(NEXT)
    assert not is_newer(f"{NEWEST}.9")
    assert is_asked_for("v1.35.3")
    assert not any(map(is_asked_for, ("1.x", "latest", "", "1.36-gke")))


@pytest.mark.parametrize(
    ("versions", "judged"),
    [
        (("v1.37.1", "v1.37.1"), "1.37"),
        (("v1.37.1", "v1.35.0"), "1.37"),  # kubelets are never newer than the API server
        (("v1.36.0", "v1.36.2"), ""),
        ((f"v{NEXT}.0", f"v{NEXT}.0"), NEWEST),
        (('""', '""'), ""),
    ],
)
def test_the_version_is_read_from_the_nodes(versions: tuple[str, str], judged: str) -> None:
    cluster = load_cluster(text=NODES.format(*versions))
    report = lint(text=FROM_ZERO, cluster=cluster)
    refused = [f for f in report.findings if f.rule == "api-would-reject"]
    assert bool(refused) == (not judged)
    notes = [note for note in report.summary.notes if "judged as" in note]
    assert [f"judged as Kubernetes {judged}: " in note for note in notes] == [True] * bool(judged)
    assert any(f"{NEXT} is newer than {NEWEST}" in note for note in notes) == (versions[0] == f"v{NEXT}.0")


def test_what_users_ask_for_overrides_the_nodes() -> None:
    cluster = load_cluster(text=NODES.format("v1.37.1", "v1.37.1"))
    (refused,) = (
        f for f in lint(text=FROM_ZERO, cluster=cluster, kubernetes_version="1.36").findings if f.rule[0:4] == "api-"
    )
    assert "must be greater than or equal to 1" in refused.message


def test_a_version_before_the_oldest_is_judged_as_the_oldest_and_said_once() -> None:
    cluster = load_cluster(text=NODES.format("v1.21.3", "v1.21.3"))
    for report in (lint(text=FROM_ZERO, cluster=cluster), lint(text=FROM_ZERO, kubernetes_version="1.26")):
        (note,) = (note for note in report.summary.notes if "1.30" in note)
        assert "is older than 1.30, the oldest version that is modelled: judged as Kubernetes 1.30" in note


@pytest.mark.parametrize("version", ["the cluster's", "--kubernetes-version"])
@pytest.mark.parametrize(
    "command",
    [
        "lint m.yaml",
        "simulate m.yaml",
        "plan old.yaml m.yaml",
        "plan m.yaml m.yaml",
        "why web m.yaml",
        "drain",
        "audit",
        "fit --like web m.yaml",
    ],
)
def test_every_command_says_once_that_it_judges_as_another_version(
    command: str, version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    runs = "v1.21.3" if version == "the cluster's" else "v1.34.1"
    Path("c.yaml").write_text(NODES.format(runs, runs) + RUNNING, "utf-8")
    Path("m.yaml").write_text(DEPLOYMENT.format(2), "utf-8")
    Path("old.yaml").write_text(DEPLOYMENT.format(1), "utf-8")
    words = [] if version == "the cluster's" else [version, "1.26"]
    for shown in ("text", "json"):
        out = CliRunner().invoke(app, [*command.split(), "-c", "c.yaml", "--no-config", "-f", shown, *words]).stdout
        given = "1.26" if words else "1.21"
        assert out.count(f"Kubernetes {given} is older than 1.30") == 1
        assert "judged as Kubernetes 1.30" in " ".join(out.split())


def test_every_row_names_its_source_and_has_a_beginning() -> None:
    assert len({row.name for row in QUIRKS}) == len(QUIRKS)
    assert set(QUIRKS) == {row for row in vars(rows).values() if isinstance(row, rows.Quirk)}
    for row in QUIRKS:
        assert row.issue.startswith("kubernetes/")
        major, minor, *_ = row.since
        assert has(f"{major}.{minor}.0", row)
        assert not has(f"{major}.{minor - 1}", row)


@pytest.mark.parametrize(
    ("version", "late", "early"),
    [
        ("1.34", False, False),
        ("1.35.0", False, True),
        ("v1.35.3", False, True),
        ("1.35.4", False, False),
        ("1.35", False, False),
        ("1.36.1", False, False),
        ("1.37.0", True, False),
        ("1.37", True, False),
    ],
)
def test_max_unavailable_was_on_in_the_first_patches_of_1_35(version: str, late: bool, early: bool) -> None:
    """kubernetes/website, feature-gates/MaxUnavailableStatefulSet.md: 1.35.0 to 1.35.3, and from 1.37 on."""
    assert has(version, rows.STATEFUL_SET_MAX_UNAVAILABLE) == late
    assert has(version, rows.STATEFUL_SET_MAX_UNAVAILABLE_AT_FIRST) == early


GANG = """\
apiVersion: scheduling.k8s.io/{0}
kind: PodGroup
metadata: {{name: workers}}
spec: {{schedulingPolicy: {{gang: {{minCount: 2}}}}}}
"""


@pytest.mark.parametrize(
    ("version", "served", "gates", "off"),
    [
        ("1.36", "v1alpha2", "", "GenericWorkload=true,GangScheduling=true"),
        ("1.36", "v1alpha2", "GenericWorkload=true", "GenericWorkload=true,GangScheduling=true"),
        ("1.36", "v1alpha2", "GenericWorkload=true,GangScheduling=true", ""),
        ("1.37", "v1beta1", "", "GenericWorkload=true"),
        ("1.37", "v1beta1", "GenericWorkload=true", ""),
    ],
)
def test_gangs_need_one_gate_from_1_37_on(version: str, served: str, gates: str, off: str) -> None:
    """kubernetes#139520; GenericWorkload is beta and off in 1.37 (pkg/features/kube_features.go)."""
    report = lint(
        text=GANG.format(served), kubernetes_version=version, feature_gates=gates, select=["podgroup-ignored"]
    )
    helps = [finding.help for finding in report.findings]
    assert len(helps) == bool(off)
    assert all(f"--feature-gates {off}" in text and ("Gang" in text) == ("Gang" in off) for text in helps)


ZONES = """\
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Node
  metadata: {name: n0, labels: {kubernetes.io/hostname: n0, topology.kubernetes.io/zone: a}}
  status: {allocatable: {cpu: "4", memory: 8Gi, pods: "110"}}
- apiVersion: v1
  kind: Node
  metadata: {name: n1, labels: {kubernetes.io/hostname: n1, topology.kubernetes.io/zone: b}}
  spec: {taints: [{key: dedicated, effect: NoSchedule}]}
  status: {allocatable: {cpu: "4", memory: 8Gi, pods: "110"}}
- apiVersion: v1
  kind: Namespace
  metadata: {name: default}
"""
SPREAD = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: c, image: i, resources: {requests: {cpu: 100m}}}]
      topologySpreadConstraints:
      - topologyKey: topology.kubernetes.io/zone
        maxSkew: 1
        whenUnsatisfiable: DoNotSchedule
        labelSelector: {matchLabels: {app: web}}
"""


@pytest.mark.parametrize("policy", ["", "Ignore", "Honor"])
@pytest.mark.parametrize("version", ["1.36", "1.37"])
@pytest.mark.parametrize(
    ("command", "bad"),
    [
        ("lint", "error[spread-tainted-domain-blocks]"),
        ("simulate --events deploy", "1/3"),
        ("plan none.yaml", "2 pods stay Pending"),
        ("why web --replica 2", "the pod stays Pending"),
    ],
)
def test_a_row_changes_a_default_for_every_command(
    command: str, bad: str, version: str, policy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if spread left tainted domains out by default from 1.37 on: only what nobody wrote changes its meaning."""
    row = rows.Quirk("n", (1, 37), None, "kubernetes/kubernetes#1", "t", unwritten=(("node_taints_policy", "Honor"),))
    monkeypatch.setattr(rows, "QUIRKS", (*QUIRKS, row))
    monkeypatch.chdir(tmp_path)
    Path("c.yaml").write_text(ZONES, "utf-8")
    Path("none.yaml").write_text("", "utf-8")
    Path("m.yaml").write_text(SPREAD + (f"        nodeTaintsPolicy: {policy}\n" if policy else ""), "utf-8")
    words = [*command.split(), "m.yaml", "-c", "c.yaml", "--no-config", "--kubernetes-version", version]
    honors = policy == "Honor" or (not policy and version == "1.37")
    assert (bad in CliRunner().invoke(app, words).output) == (not honors)
