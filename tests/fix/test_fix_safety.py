"""What may be done unseen: never what moves or stops pods, nor what the API server refuses to change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from kubesched_lint.cli.app import app
from kubesched_lint.commands.fix import search
from kubesched_lint.commands.fix.search import Mended, mend
from kubesched_lint.engine.base.text import is_slip
from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.engine.verdicts.refuting import Refuter
from kubesched_lint.explaining.remedies.remedy import is_fixed
from kubesched_lint.linter import linted
from kubesched_lint.linter.lint import lint
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import ManifestSet, manifest_set
from kubesched_lint.linter.waivers.suppression import suppress
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.sources.clusters.read import cluster_from
from kubesched_lint.sources.manifests.changes import Append, Change, Put, Remove
from kubesched_lint.sources.manifests.loader import documents

BOOK = Rulebook.shipped()
CLUSTER = """\
apiVersion: kubesched-lint/v1
kind: ClusterSketch
nodes:
- {name: worker, count: 3, zones: [eu-west-1a], labels: {disktype: ssd}}
"""
BODY = "spec: {nodeSelector: {diskType: ssd}, restartPolicy: Never, containers: [{name: a, image: 'a:1'}]}"
POD = f"apiVersion: v1\nkind: Pod\nmetadata: {{name: a, namespace: shop}}\n{BODY}\n"
JOB = f"apiVersion: batch/v1\nkind: Job\nmetadata: {{name: a, namespace: shop}}\nspec:\n  template:\n    {BODY}\n"
CRON = (
    "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a, namespace: shop}\nspec:\n  schedule: '@daily'\n"
    f"  jobTemplate:\n    spec:\n      template:\n        {BODY}\n"
)
WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 3
  strategy: {rollingUpdate: {maxSurge: 1%s}}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - labelSelector: {matchLabels: {app: web}}
            topologyKey: kubernetes.io/hostname
      containers:
      - {name: web, image: "registry.example.com/shop/web:1.0"}
"""


def mended(text: str, folder: Path, *, unsafe: bool) -> Mended:
    file = folder / "x.yaml"
    file.write_text(text)
    options, rules = Options(), BOOK.select()
    cluster = cluster_from([("cluster.yaml", CLUSTER.encode())], "cluster.yaml", elastic=None)
    manifests = manifest_set(documents(str(file), text.encode(), is_read), "default")
    report = suppress(lint(manifests, cluster, options, rules)[0], manifests, BOOK, rules, options)
    return mend(manifests, cluster, options, BOOK, report, unsafe=unsafe)


@pytest.mark.parametrize(("text", "kind"), [(POD, "Pod"), (JOB, "Job")])
def test_a_field_that_cannot_be_changed_is_left_and_the_title_says_why(text: str, kind: str, tmp_path: Path) -> None:
    safe = mended(text, tmp_path, unsafe=False)
    assert (safe.open_files, safe.unsafe) == ((), 1)
    every = mended(text, tmp_path, unsafe=True)
    (fix,) = every.fixes.values()
    assert not fix.safe
    assert fix.title.endswith(f"(the API server refuses this for an existing {kind}: delete that one first)")


def test_the_same_in_a_cron_job_is_safe(tmp_path: Path) -> None:
    (fix,) = mended(CRON, tmp_path, unsafe=False).fixes.values()
    assert fix.title == "write disktype: ssd, as nodes have it"
    assert fix.safe


def test_an_object_that_is_refused_as_it_is_has_nothing_to_be_deleted(tmp_path: Path) -> None:
    text = POD.replace("diskType: ssd", "disktype: ssd").replace("restartPolicy", "restartpolicy")
    (fix,) = mended(text, tmp_path, unsafe=False).fixes.values()
    assert fix.safe
    assert "exists" not in fix.title


def test_who_has_written_that_no_pod_may_go_is_asked(tmp_path: Path) -> None:
    assert mended(WEB % "", tmp_path, unsafe=False).fixed == 1
    assert mended(WEB % ", maxUnavailable: 0", tmp_path, unsafe=False).open_files == ()
    assert mended(WEB % ", maxUnavailable: 0%", tmp_path, unsafe=False).open_files == ()
    assert mended(WEB % ", maxUnavailable: 0", tmp_path, unsafe=True).fixed == 1


def test_no_run_tries_to_refute_what_a_trial_proves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody reads it; who reports the file with its fixes tries to refute all that it tells."""
    refuted: list[str] = []
    before_trials: list[int] = []

    def noted(*args: Any, **options: Any) -> linted.Linted:
        before_trials.append(len(refuted))
        return linted.linted(*args, **options)

    monkeypatch.setattr(Refuter, "doubt", lambda self, claim: refuted.append(claim.event) or "")
    monkeypatch.setattr(search, "linted", noted)
    four = (WEB % "").replace("web", "large").replace("replicas: 3", "replicas: 4")
    assert mended("---\n".join((WEB % "", four)), tmp_path, unsafe=True).fixed == 2
    assert len(before_trials) > 1
    assert {*before_trials, len(refuted)} == {before_trials[0]} != {0}


@pytest.mark.parametrize(
    ("kind", "change", "answer"),
    [
        ("StatefulSet", Put(("spec", "volumeClaimTemplates", 0, "spec", "storageClassName"), "gp3"), True),
        ("StatefulSet", Put(("spec", "template", "spec", "nodeName"), "a"), False),
        ("Deployment", Put(("spec", "selector", "matchLabels", "app"), "a"), True),
        ("Job", Put(("spec", "template", "spec", "nodeName"), "a"), True),
        ("Job", Put(("spec", "parallelism"), 2), False),
        ("CronJob", Put(("spec", "jobTemplate", "spec", "template", "spec", "nodeName"), "a"), False),
        ("Service", Remove(("spec", "clusterIP")), True),
        ("PersistentVolumeClaim", Put(("spec", "storageClassName"), "gp3"), True),
        ("PersistentVolumeClaim", Put(("spec", "resources", "requests", "storage"), "2Gi"), False),
        ("StorageClass", Put(("volumeBindingMode",), "WaitForFirstConsumer"), True),
        ("StorageClass", Put(("allowVolumeExpansion",), True), False),
        ("Pod", Append(("spec", "tolerations"), {"operator": "Exists"}), False),
        ("Pod", Put(("spec", "tolerations", 0, "key"), "a"), True),
        ("Pod", Put(("spec", "containers", 0, "image"), "a:2"), False),
        ("Pod", Put(("metadata", "labels", "image"), "a"), False),
    ],
)
def test_what_the_api_server_lets_nobody_change(kind: str, change: Change, answer: bool) -> None:
    assert is_fixed(kind, change) is answer


def test_a_slip_is_what_nobody_can_have_meant() -> None:
    for wrong, right in (("disk-type", "diskType"), ("tcp", "TCP"), ("workers", "worker"), ("bussiness", "business")):
        assert is_slip(wrong, right)
        assert is_slip(right, wrong)
    for wrong, right in (
        ("eu-west-1", "eu-west-1a"),
        ("eu-west-1a", "eu-west-1b"),
        ("worker-a", "worker"),
        ("worker-a", "worker-b"),
        ("pool1", "pool2"),
        ("ssd", "ssds"),
    ):
        assert not is_slip(wrong, right)
        assert not is_slip(right, wrong)


SCALER = """\
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: shop}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: %d
  maxReplicas: 3
  metrics:
  - {type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}
"""


@pytest.mark.parametrize(("least", "fixed"), [(1, 0), (2, 1)])
def test_one_pod_that_an_autoscaler_may_leave_is_not_taken_away(least: int, fixed: int, tmp_path: Path) -> None:
    text = WEB % "" + SCALER % least
    slugs = {rule for rule, _, _ in mended(text, tmp_path, unsafe=False).fixes}
    assert ("rollout-surge-deadlock" in slugs) == bool(fixed)
    assert "rollout-surge-deadlock" in {rule for rule, _, _ in mended(text, tmp_path, unsafe=True).fixes}


def test_a_renamed_key_of_anti_affinity_is_safe_only_where_nodes_carry_the_old_one(tmp_path: Path) -> None:
    text = (WEB % "").replace("kubernetes.io/hostname", "failure-domain.beta.kubernetes.io/zone")
    found = mended(text, tmp_path, unsafe=False)
    assert "topology-key-typo-deprecated" not in {rule for rule, _, _ in found.fixes}


ZONES = CLUSTER.replace("zones: [eu-west-1a]", "zones: [eu-west-1a, eu-west-1b, eu-west-1c]")
UP_TO_NINE = """\
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: shop}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 3
  maxReplicas: 9
"""


def test_what_only_the_anti_affinity_asked_for_is_not_added_where_it_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{__name__}.CLUSTER", ZONES)
    text = WEB.replace("  strategy: {rollingUpdate: {maxSurge: 1%s}}\n", "")
    text = text.replace("kubernetes.io/hostname", "topology.kubernetes.io/zone") + UP_TO_NINE
    (open_file,) = mended(text, tmp_path, unsafe=True).open_files
    assert b"topologySpreadConstraints" in open_file.data
    assert b"podAntiAffinity" not in open_file.data
    assert b"maxSurge" not in open_file.data
    (safe,) = mended(text, tmp_path, unsafe=False).open_files
    assert b"maxSurge: 0" in safe.data


def test_a_constraint_is_not_bent_to_labels_that_the_api_server_refuses(tmp_path: Path) -> None:
    """Selector and constraint say edge, the template edeg: the template is what is misspelt."""
    text = (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: edge, namespace: shop}\nspec:\n"
        "  selector: {matchLabels: {app: edge}}\n  template:\n    metadata: {labels: {app: edeg}}\n    spec:\n"
        "      topologySpreadConstraints:\n      - maxSkew: 1\n        topologyKey: kubernetes.io/hostname\n"
        "        whenUnsatisfiable: DoNotSchedule\n        labelSelector: {matchLabels: {app: edge}}\n"
        "      containers:\n      - {name: c, image: 'c:1'}\n"
    )
    assert mended(text, tmp_path, unsafe=True).open_files == ()


@pytest.mark.parametrize(
    ("args", "sets"), [(("lint", "--diff", "--unsafe-fixes", "new.yaml"), 2), (("plan", "old.yaml", "new.yaml"), 3)]
)
def test_no_set_is_linted_twice(
    args: tuple[str, ...], sets: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The search for an edit began with the findings that had just been reported, and computed them again."""
    judged: list[tuple[str, ...]] = []

    def noted(manifests: ManifestSet, *given: Any, **named: Any) -> Any:
        judged.append(tuple(document.text for document in manifests.documents))
        return lint(manifests, *given, **named)

    monkeypatch.setattr(linted, "lint", noted)
    monkeypatch.chdir(tmp_path)
    for name, further in (("old.yaml", ", maxUnavailable: 1"), ("new.yaml", ", maxUnavailable: 0")):
        (tmp_path / name).write_text(WEB % further)
    (tmp_path / "c.yaml").write_text(CLUSTER)
    done = CliRunner().invoke(app, [*args, "-c", "c.yaml"])
    assert "maxSurge: 0" in done.stdout
    assert len(judged) == len(set(judged)) == sets
