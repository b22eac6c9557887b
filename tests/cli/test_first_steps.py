"""What a new user types in the first hour, and what the tool says when it is not quite right."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.program import called

SKETCH = "apiVersion: kubesched-lint/v1\nkind: ClusterSketch\nnodes:\n- {name: worker}\n"
WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: web}]}}
"""


def run(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return called(*args, cwd=folder, environ={**os.environ, "COLUMNS": "100"})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "cluster.yaml").write_text(SKETCH)
    (tmp_path / "web.yaml").write_text(WEB)
    return tmp_path


def test_explaining_a_family_lists_its_rules(folder: Path) -> None:
    done = run(folder, "rules", "explain", "spread")
    assert done.returncode == 0
    assert done.stdout.startswith("`spread` is a family; ")
    assert "spread-unsatisfiable" in done.stdout
    assert "untolerated-taints" not in done.stdout


def test_own_rules_are_listed_and_explained_where_they_are_named(folder: Path) -> None:
    assert run(folder, "rules", "new", "my-rule").returncode == 0
    assert "my-rule" in run(folder, "rules", "list", "--rules", "ops/rules").stdout
    assert run(folder, "rules", "explain", "my-rule", "--rules", "ops/rules").stdout.startswith("# my-rule")
    unknown = run(folder, "rules", "explain", "my-rule")
    assert (unknown.returncode, "(rules of your own: --rules DIR)" in unknown.stderr) == (2, True)


def test_a_broken_card_is_no_success(folder: Path) -> None:
    run(folder, "rules", "new", "my-rule")
    card = folder / "ops" / "rules" / "my-rule.md"
    text = card.read_text()
    card.write_text("\n".join(line for line in text.split("\n") if not line.startswith("summary:")))
    done = run(folder, "rules", "test", "ops/rules")
    assert done.returncode == 2
    assert done.stderr == "1 card cannot be used\n"
    assert "all as marked" not in done.stdout
    (folder / "ops" / "rules" / "my-other-rule.md").write_text(text.replace("my-rule", "my-other-rule"))
    mixed = run(folder, "rules", "test", "ops/rules")
    assert mixed.returncode == 2
    assert mixed.stderr.endswith(": all as marked; 1 card cannot be used\n")


def test_why_looks_into_the_current_folder_for_what_the_cluster_does_not_have(folder: Path) -> None:
    """As lint and simulate do; before, it said that no manifests were given."""
    alone, named = (run(folder, "why", "web", *paths, "-c", "cluster.yaml") for paths in ((), ("web.yaml",)))
    assert (alone.returncode, alone.stdout) == (0, named.stdout)
    nowhere = run(folder, "why", "wbe", "-c", "cluster.yaml")
    assert (nowhere.returncode, "nothing is named 'wbe'; did you mean default/web?" in nowhere.stderr) == (2, True)


def test_why_without_a_name_lists_what_there_is(folder: Path) -> None:
    done = run(folder, "why")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: name a workload or a pod; there is default/web\n"


def test_where_nothing_is_known_a_wrong_name_gets_the_next_step(folder: Path) -> None:
    """``fit --like shop/web -c nodes.json`` reads no manifests, and its answer did not say so."""
    done = run(folder, "fit", "--like", "web", "-c", "cluster.yaml")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: nothing is named 'web'; neither the cluster nor a manifest ")
    assert done.stderr.endswith("name the path of manifests\n")
    assert "nothing is named" not in run(folder, "fit", "--like", "web", "web.yaml", "-c", "cluster.yaml").stderr


def test_why_says_where_objects_without_a_namespace_are(folder: Path) -> None:
    done = run(folder, "why", "shop/web", "web.yaml", "-c", "cluster.yaml")
    assert done.returncode == 2
    assert "objects that name no namespace are in default: -n shop puts them there" in done.stderr
    assert run(folder, "why", "shop/web", "web.yaml", "-c", "cluster.yaml", "-n", "shop").returncode == 0
    assert "-n shop" not in run(folder, "why", "shop/other", "web.yaml", "-c", "cluster.yaml").stderr
    assert "puts them there" not in run(folder, "why", "sts/web", "web.yaml", "-c", "cluster.yaml").stderr


def test_the_fleet_can_be_told_not_to_render(folder: Path) -> None:
    (folder / "clusters").mkdir()
    (folder / "clusters" / "eu.yaml").write_text(SKETCH)
    (folder / "base").mkdir()
    (folder / "base" / "web.yaml").write_text(WEB)
    (folder / "base" / "kustomization.yaml").write_text("resources: [web.yaml, absent.yaml]\n")
    fleet = ("fleet", "base", "--clusters", "clusters", "--executor", "serial", "--format", "json")
    assert "absent.yaml" not in run(folder, *fleet, "--no-render").stdout
    short = run(folder, "fleet", "base", "-c", "clusters")
    assert (short.returncode, "No such option: -c" in short.stderr) == (2, True)


def test_an_unclosed_quote_is_named_as_such(folder: Path) -> None:
    for text, words in (
        ('a = "x\n', "kubesched.toml:1:7: not TOML: a quote opens on this line"),
        ("a = 'x", "a quote is"),
    ):
        (folder / "kubesched.toml").write_text(text)
        done = run(folder, "lint", "web.yaml")
        assert (done.returncode, words in done.stderr) == (2, True)
        assert "Illegal character" not in done.stderr


def test_what_is_no_cluster_is_named_in_words(folder: Path) -> None:
    (folder / "settings.toml").write_text("a = 1\n")
    assert "holds no nodes (1 without a kind)" in run(folder, "lint", "web.yaml", "-c", "settings.toml").stderr


@pytest.mark.parametrize(
    ("written", "line"),
    [("  nodeSelector: {pool: gpu}\n", 5), ("  tolerations: [{key: a, operator: Exists}]\n", 5), ("", 4)],
)
def test_an_untolerated_taint_is_one_line(folder: Path, written: str, line: int) -> None:
    (folder / "gpu.yaml").write_text(
        f"{SKETCH[: SKETCH.index('- {')]}- {{name: a, labels: {{pool: gpu}}, taints: [b=c:NoSchedule]}}\n"
    )
    pod = (
        f"apiVersion: v1\nkind: Pod\nmetadata: {{name: a}}\nspec:\n{written}  containers:\n  - {{name: a, image: b}}\n"
    )
    (folder / "pod.yaml").write_text(pod)
    done = run(folder, "lint", "pod.yaml", "-c", "gpu.yaml", "--select", "untolerated-taints", "--format", "json")
    (finding,) = json.loads(done.stdout)["findings"]
    assert (finding["location"]["line"], finding["location"]["endLine"]) == (line, line)
