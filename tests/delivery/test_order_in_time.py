"""A DaemonSet that something else applies than the workload with which it shares nodes: any time may pass between."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.delivery.test_flux_sets import WEB, flux, write
from tests.program import called

pytestmark = pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not on PATH")

AGENT = """\
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, namespace: default}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec:
      nodeSelector: {group: pair}
      containers: [{name: agent, image: "agent:1", resources: {requests: {cpu: 100m}}}]
"""
LARGE = """\
apiVersion: kubesched-lint/v1
kind: ClusterSketch
nodes: []
pools:
- name: pairs
  zones: [a]
  labels: {group: pair}
  shapes:
  - {name: large, allocatable: {cpu: "2", memory: 1Gi}}
"""
POOLS = LARGE + "  - {name: small, allocatable: {cpu: 150m, memory: 1Gi}}\n"
SELECTING = WEB + "      nodeSelector: {group: pair}\n"
APPLICATION = """\
---
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: NAME}
spec: {destination: {namespace: shop}, source: {repoURL: "https://github.com/example/own.git", path: NAME}}
"""


def found(folder: Path, cluster: str) -> list[tuple[str, str]]:
    """Return severity and message of what ``lint`` says of the order."""
    write(folder, {".git/HEAD": "ref: refs/heads/main\n", "ops/cluster.yaml": cluster})
    done = called("lint", "--no-config", "-c", "ops/cluster.yaml", "--format", "json", cwd=folder)
    report = json.loads(done.stdout)
    assert not report["errors"], done.stdout
    findings = [one for one in report["findings"] if one["rule"] == "daemonset-creation-order"]
    return [(one["severity"], one["message"]) for one in findings]


def in_flux(
    folder: Path, apps: str = "", agents: str = "", more: str = "", cluster: str = POOLS
) -> list[tuple[str, str]]:
    """``apps`` and ``agents`` are further fields of the Kustomizations of the workload and of the DaemonSet."""
    cluster_of = {"clusters/prod/flux-system/gotk-sync.yaml": flux("flux-system", "./clusters/prod")}
    own = flux("apps", "./apps", apps) + flux("agents", "./agents", agents) + more
    write(folder, {**cluster_of, "clusters/prod/all.yaml": own})
    write(
        folder, {"apps/web.yaml": SELECTING, "agents/agent.yaml": AGENT, "crds/none.yaml": AGENT.replace("pair", "x")}
    )
    return found(folder, cluster)


def test_two_kustomizations_have_no_order(tmp_path: Path) -> None:
    ((severity, message),) = in_flux(tmp_path)
    assert severity == "warning"
    apart = "Kustomization flux-system/agents is applied apart from Kustomization flux-system/apps"
    assert f"is created some time before DaemonSet default/agent ({apart})" in message


def test_a_kustomization_that_waits_comes_later(tmp_path: Path) -> None:
    ((severity, message),) = in_flux(tmp_path, agents="  dependsOn: [{name: apps}]\n")
    assert severity == "warning"
    assert "Kustomization flux-system/agents waits for Kustomization flux-system/apps" in message


@pytest.mark.parametrize("depth", [1, 2])
def test_nothing_comes_before_what_it_waits_for(tmp_path: Path, depth: int) -> None:
    between = flux("crds", "./crds", "  dependsOn: [{name: agents, namespace: flux-system}]\n")
    first = "agents" if depth == 1 else "crds"
    assert in_flux(tmp_path, apps=f"  dependsOn: [{{name: {first}}}]\n", more=between if depth == 2 else "") == []


def test_what_a_kustomization_applies_itself_is_there_before_its_children(tmp_path: Path) -> None:
    write(tmp_path, {"clusters/prod/agent.yaml": AGENT.replace("name: agent, n", "name: first, n")})
    in_flux(tmp_path)
    (tmp_path / "agents/agent.yaml").write_text(AGENT.replace("pair", "other"))
    assert found(tmp_path, POOLS) == []


def test_machines_that_hold_both_are_made_in_any_order(tmp_path: Path) -> None:
    assert in_flux(tmp_path, cluster=LARGE) == []


def test_one_kustomization_is_one_apply(tmp_path: Path) -> None:
    write(tmp_path, {"clusters/prod/flux-system/gotk-sync.yaml": flux("flux-system", "./clusters/prod")})
    write(tmp_path, {"clusters/prod/web.yaml": SELECTING, "clusters/prod/writer.yaml": AGENT})
    ((severity, message),) = found(tmp_path, POOLS)
    assert severity == "note"
    assert "milliseconds" in message


def test_two_applications_have_no_order(tmp_path: Path) -> None:
    applications = APPLICATION.replace("NAME", "apps") + APPLICATION.replace("NAME", "agents")
    web, agent = (text.replace("namespace: default", "namespace: shop") for text in (SELECTING, AGENT))
    write(tmp_path, {"argo/all.yaml": applications, "apps/web.yaml": web, "agents/agent.yaml": agent})
    ((severity, message),) = found(tmp_path, POOLS)
    assert severity == "warning"
    assert (
        "some time before DaemonSet shop/agent (Application agents is applied apart from Application apps)" in message
    )
