"""Which taint a toleration is meant for, and what is said where several taints are in the way."""

from __future__ import annotations

from typing import Any

import pytest

from kubesched_lint import lint, load_cluster
from kubesched_lint.engine.model.nodes.node import Taint
from kubesched_lint.engine.model.pod import Toleration
from kubesched_lint.explaining.near_misses.meant_taints import KnownTaints
from kubesched_lint.findings import Report

TEAM_B, GPU, GPU_EVICTS = Taint("team", "b"), Taint("dedicated", "gpu"), Taint("dedicated", "gpu", "NoExecute")


@pytest.mark.parametrize(
    ("toleration", "taints", "meant"),
    [
        (Toleration("team", "Equal", "a"), (TEAM_B,), None),
        (Toleration("dedicated", "Equal", "gpu-1"), (Taint("dedicated", "gpu-2"),), None),
        (Toleration("dedicated", "Equal", "gpus"), (TEAM_B, GPU), GPU),
        (Toleration("dedicated", "Equal", ""), (GPU,), GPU),
        (Toleration("dedcated", "Equal", "gpu"), (GPU,), GPU),
        (Toleration("dedicated", "Equal", "gpu", "NoExecute"), (Taint("dedicated", "gpus"), GPU), GPU),
        (Toleration("dedicated", "Equal", "gpus", "NoExecute"), (GPU, GPU_EVICTS), GPU_EVICTS),
        (Toleration("dedicated", "Equal", "gpu"), (GPU, GPU_EVICTS), None),
        (Toleration("dedicated", "Exists", "", "NoExecute"), (GPU,), None),
    ],
)
def test_the_taint_that_is_meant(toleration: Toleration, taints: tuple[Taint, ...], meant: Taint | None) -> None:
    assert KnownTaints(taints).meant_by(toleration) == meant


def report(*tolerations: dict[str, str], taints: tuple[str, ...], rule: str) -> Report:
    sketch = {"apiVersion": "kubesched-lint/v1", "kind": "ClusterSketch", "nodes": [{"name": "n", "taints": [*taints]}]}
    spec: dict[str, Any] = {"tolerations": [*tolerations], "containers": [{"name": "c", "image": "x:1"}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
    return lint(objects=[pod], cluster=load_cluster(objects=[sketch]), select=[rule])


def test_two_taints_of_a_node_are_both_named() -> None:
    both = ("dedicated=gpu:NoSchedule", "team=b:NoSchedule")
    (found,) = report(taints=both, rule="untolerated-taints").findings
    assert "dedicated=gpu:NoSchedule and team=b:NoSchedule" in found.message
    gpus = {"key": "dedicated", "value": "gpus"}
    (misspelt,) = report(gpus, taints=both, rule="untolerated-taints").findings
    assert misspelt.help.endswith("dedicated=gpu:NoSchedule, and tolerate team=b:NoSchedule")


def test_a_toleration_is_not_misspelt_if_the_pod_tolerates_the_taint_as_well() -> None:
    gpus, gpu = {"key": "dedicated", "value": "gpus"}, {"key": "dedicated", "value": "gpu"}
    taints, rule = ("dedicated=gpu:NoSchedule",), "toleration-matches-no-taint"
    assert len(report(gpus, taints=taints, rule=rule).findings) == 1
    assert report(gpus, gpu, taints=taints, rule=rule).findings == ()
