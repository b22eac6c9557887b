"""No report is green on what was not read, and hooks fail if nothing else was there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kubesched_lint.commands.lint.run import Request, check
from kubesched_lint.findings import Report, Summary
from kubesched_lint.linter.options import Options
from kubesched_lint.report.findings import as_github, as_json, as_markdown, as_sarif, as_text
from kubesched_lint.report.findings.context import RenderContext
from kubesched_lint.report.findings.footer import verdict
from kubesched_lint.report.html import page
from kubesched_lint.rulebook.library import Rulebook
from tests.program import called

RELEASE = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: r{0}}}\n"
APPLICATION = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a}\n"
CLUSTER = {
    "apiVersion": "kubesched-lint/v1",
    "kind": "ClusterSketch",
    "nodes": [{"name": "worker", "count": 3, "allocatable": {"cpu": "4", "memory": "16Gi"}}],
    "objects": [
        {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "uploads", "namespace": "other"}},
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "critical"}, "value": 1},
    ],
}
CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n"
WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "web:1", resources: {requests: {cpu: 100m}}}]}
"""


def write(folder: Path, **texts: str) -> Path:
    for name, text in texts.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_name(f"{path.name}.yaml").write_text(text)
    return folder


def judged(folder: Path, **more: object) -> Report:
    return check(Request((str(folder),), **more), Options(), Rulebook.shipped())  # type: ignore[arg-type]


def test_the_verdict_says_what_was_not_read(tmp_path: Path) -> None:
    releases = "---\n".join(RELEASE.format(n) for n in range(3))
    report = judged(write(tmp_path, web=WEB, releases=releases, app=APPLICATION))
    words = "no findings in the 1 workload read; 3 of 3 releases not read (r0, r1, r2); 1 Application was not read"
    assert verdict(report) == words
    context = RenderContext()
    for render in (as_text.render, as_markdown.render, as_github.render, page.render):
        assert words in "".join(render(report, context))
    summary = json.loads("".join(as_json.render(report, context)))["summary"]
    assert (summary["workloads"], summary["notJudged"]) == (1, {"HelmRelease": 3, "Application": 1})
    assert (summary["releases"]["total"], summary["releases"]["read"]) == (3, 0)
    first = summary["releases"]["notRead"][0]
    assert (first["name"], first["path"], first["line"]) == ("r0", str(tmp_path / "releases.yaml"), 1)
    (run,) = json.loads("".join(as_sarif.render(report, context)))["runs"]
    (told,) = run["invocations"][0]["toolExecutionNotifications"]
    assert told["message"]["text"] == "3 of 3 releases not read (r0, r1, r2); 1 Application was not read"


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (
            {"chart__Chart": "name: c\n", "chart__templates__web": WEB},
            "no findings in the 1 workload read; 1 Helm chart was",
        ),
        (
            {"chart__Chart": "name: c\n", "chart__values": "a: 1\n"},
            "no findings in the 1 workload read; 1 Helm chart was",
        ),
        ({"web": "{{ if x }}\n" + WEB}, "no findings in the 1 workload read; 1 Helm template was"),
        ({"more": CONFIG}, "no findings"),
        (
            {"a": WEB.replace("replicas", "x").replace("cpu: 100m", "cpu: -1"), "r": RELEASE.format(1)},
            "1 error; 1 of 1 release not read (r1)",
        ),
    ],
)
def test_charts_and_templates_are_not_read_either(tmp_path: Path, texts: dict[str, str], words: str) -> None:
    report = judged(write(tmp_path, z_other=WEB.replace("web", "other"), **texts))
    assert verdict(report).startswith(words)
    assert bool(report.summary.unjudged) == ("not read" in verdict(report))


@pytest.mark.parametrize(
    ("version", "kind", "makes_pods"),
    [
        ("example.com/v1", "Redis", True),
        ("kafka.strimzi.io/v1beta2", "KafkaTopic", False),
        ("rabbitmq.com/v1beta1", "Queue", False),
        ("example.com/v1", "EgressPolicy", False),
        ("cilium.io/v2", "CiliumBGPClusterConfig", False),
    ],
)
def test_queues_topics_policies_and_networks_make_no_pods(
    tmp_path: Path, version: str, kind: str, makes_pods: bool
) -> None:
    other = (
        f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: x}}\nspec: {{nodeSelector: {{a: b}}, replicas: 3}}\n"
    )
    assert (judged(write(tmp_path, web=WEB, x=other)).summary.unjudged == {kind: 1}) == makes_pods


@pytest.mark.parametrize(
    ("unjudged", "words"),
    [
        ({"Redis": 2}, "no workload was read; 2 Redis were not read"),
        (
            {"A": 1, "B": 4, "C": 3, "D": 1, "E": 1},
            "no workload was read; 4 Bs, 3 Cs, 1 A and 2 more kinds were not read",
        ),
    ],
)
def test_the_words_name_a_few_kinds(unjudged: dict[str, int], words: str) -> None:
    assert verdict(Report(summary=Summary(unjudged=unjudged))) == words


def test_only_the_verdict_on_all_is_green(tmp_path: Path) -> None:
    context = RenderContext(color=True)
    green = "\x1b[1;32m"
    clean = "".join(as_text.render(judged(write(tmp_path, web=WEB)), context)).splitlines()[0]
    assert clean.startswith(f"{green}no findings")
    assert green not in "".join(as_text.render(judged(write(tmp_path, r=RELEASE.format(1))), context))


@pytest.mark.parametrize(
    ("kustomization", "code", "words"),
    [
        ("foo: bar", 0, "no findings in the 1 workload read; 1 kustomization was not read"),
        ("patches: [{path: ../../../../../../outside.yaml}]", 2, "1 problem with the input"),
        ("resources: [b.yaml, ../../../../../../outside.yaml]", 2, "1 problem with the input"),
        ("resources: [b.yaml, '../../../../../../{{ outside }}.yaml']", 0, "1 kustomization was not read"),
    ],
)
def test_what_a_kustomization_hides_that_is_not_built_is_no_clean_bill(
    tmp_path: Path, kustomization: str, code: int, words: str
) -> None:
    """None of its files is judged: a change of its own could hide them so."""
    write(tmp_path, web=WEB, k__b=WEB.replace("web", "b"))
    (tmp_path / ".git").mkdir()
    text = kustomization if "resources" in kustomization else f"resources: [b.yaml]\n{kustomization}"
    (tmp_path / "k" / "kustomization.yaml").write_text(f"{text}\n")
    done = called("lint", ".", "--no-config", cwd=tmp_path)
    assert done.returncode == code, done.stdout
    assert words in [line for line in done.stdout.splitlines() if line][-3], "the verdict is the first of three lines"


@pytest.mark.parametrize(
    ("texts", "code", "code_of_set"),
    [
        ({"r": RELEASE.format(1)}, 2, 2),
        ({"r": APPLICATION, "c": CONFIG}, 2, 2),
        ({"chart__Chart": "name: c\n", "c": CONFIG}, 2, 0),
        ({"r": RELEASE.format(1), "web": WEB}, 0, 0),
        ({"c": CONFIG}, 0, 0),
    ],
)
def test_it_is_an_error_that_nothing_was_judged(
    tmp_path: Path, texts: dict[str, str], code: int, code_of_set: int
) -> None:
    """In a hook for any file; of a set beside releases, which are surely a part of it."""
    write(tmp_path, **texts)
    done = called("lint", ".", "--no-config", "--require-workloads", cwd=tmp_path)
    assert done.returncode == code, done.stdout
    assert ("error: .: not judged: no workload was read, and 1 " in done.stderr) == (code == 2)
    assert ("kubesched-lint lint -" in done.stderr) >= (code == 2)
    assert called("lint", ".", "--no-config", cwd=tmp_path).returncode == code_of_set
    assert called("lint", ".", "--no-config", "--partial", cwd=tmp_path).returncode == 0


def test_a_gate_of_coverage_names_its_line(tmp_path: Path) -> None:
    write(tmp_path, r=RELEASE.format(1), web=WEB)
    (tmp_path / "kubesched.toml").write_text('namespace = "shop"\nmin-read = 1\n')
    done = called("lint", ".", cwd=tmp_path)
    assert (done.returncode, "kubesched.toml:2" in done.stdout) == (2, True)
    assert "min-read = 1: only 0 % was read; 1 of 1 release not read (r1)" in done.stdout
    assert called("lint", ".", "--min-read", "0", cwd=tmp_path).returncode == 0
    done = called("lint", ".", "--no-config", "--min-read", "80", cwd=tmp_path)
    assert (done.returncode, "--min-read" in done.stderr) == (2, True)


CLAIM = """\
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop}
spec:
  priorityClassName: high
  volumes: [{name: data, persistentVolumeClaim: {claimName: web}}]
  containers: [{name: web, image: "web:1", resources: {requests: {cpu: 100m}}}]
"""


@pytest.mark.parametrize(
    ("namespace", "rules"),
    [("", {"priority-class-missing", "pvc-missing"}), ("other", {"pvc-missing"}), ("shop", set())],
)
def test_what_an_unread_release_may_make_is_not_called_absent(tmp_path: Path, namespace: str, rules: set[str]) -> None:
    release = {"r": RELEASE.format(1).replace("{name:", f"{{namespace: {namespace}, name:")} if namespace else {}
    (tmp_path / "cluster.yaml").write_text(json.dumps(CLUSTER))
    write(tmp_path, web=CLAIM, **release)
    report = judged(tmp_path, cluster=str(tmp_path / "cluster.yaml"))
    absent = {"priority-class-missing", "pvc-missing"}
    assert {finding.rule for finding in report.findings} & absent == rules
    quiet = {skip.rule for skip in report.skipped if "1 release (r1) not read may make" in skip.reason}
    assert quiet == absent - rules
