"""``lint --changed=BASE`` reports what is new against BASE, wherever it stands, and what stands on changed lines."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubesched_lint.cli.linting.against import against
from kubesched_lint.cli.linting.linting import linted
from kubesched_lint.cli.parsing.ordinary import call_of_lint
from kubesched_lint.cli.settings.settings import settled
from kubesched_lint.commands.lint import run
from kubesched_lint.commands.lint.run import Request, checked
from kubesched_lint.findings import Finding, Report
from kubesched_lint.linter.options import Options
from kubesched_lint.project.baseline import entry_of
from kubesched_lint.project.changed import changes_since, only_changed
from kubesched_lint.rulebook.library import Rulebook
from tests.program import called
from tests.share import first

Files = dict[str, str]
BOOK = Rulebook.shipped()


def git(folder: Path, *args: str) -> str:
    who = ("-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false")
    allowed = ("-c", "protocol.file.allow=always")
    done = subprocess.run(["git", *who, *allowed, *args], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


def workload(name: str, replicas: int = 3, near: str = "", image: str = "app:1", label: str = "") -> str:
    """A Deployment with one pod a node, near the pods of another."""
    host = "kubernetes.io/hostname"

    def term(app: str) -> list[dict[str, Any]]:
        return [{"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": host}]

    affinity: dict[str, Any] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": term(name)}}
    if near:
        affinity["podAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": term(near)}
    container = {"name": "main", "image": image, "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}}}
    template = {
        "metadata": {"labels": {"app": label or name}},
        "spec": {"affinity": affinity, "containers": [container]},
    }
    spec = {
        "replicas": replicas,
        "strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
        "selector": {"matchLabels": {"app": label or name}},
        "template": template,
    }
    metadata = {"name": name, "namespace": "shop"}
    return yaml.safe_dump({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec})


def sketch(count: int = 5) -> str:
    node = {"name": "w", "count": count, "zones": ["z1"], "allocatable": {"cpu": "4", "memory": "16Gi"}}
    return yaml.safe_dump(
        {
            "apiVersion": "kubesched-lint/v1",
            "kind": "ClusterSketch",
            "kinds": ["Pod", "Namespace", "ResourceQuota", "LimitRange", "PriorityClass", "PodDisruptionBudget"],
            "nodes": [node],
        }
    )


SHOP: Files = {
    "manifests/cache.yaml": workload("cache"),
    "manifests/front.yaml": workload("front", near="cache"),
    "cluster.yaml": sketch(),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    copies = tmp_path / "copies"
    copies.mkdir()
    monkeypatch.setenv("TMPDIR", str(copies))
    found = tmp_path / "shop"
    found.mkdir()
    git(found, "init", "-q", "-b", "main")
    return found


def write(folder: Path, files: Files) -> None:
    for old in folder.iterdir():
        if old.name != ".git":
            shutil.rmtree(old) if old.is_dir() and not old.is_symlink() else old.unlink()
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def commit(folder: Path, files: Files, branch: str = "main") -> None:
    """Make the files the only ones of a branch, which begins at the current one."""
    if git(folder, "branch", "--show-current").strip() != branch:
        git(folder, "checkout", "-q", "-b", branch)
    write(folder, files)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", branch)


def lint(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    done = called("lint", *args, cwd=folder)
    assert not list((folder.parent / "copies").iterdir()), "a copy of a commit is left over"
    return done


def report(folder: Path, *args: str) -> dict[str, Any]:
    done = lint(folder, *args, "--format", "json")
    assert done.returncode in (0, 1), done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def rules(found: dict[str, Any]) -> set[str]:
    return {one["rule"] for one in found["findings"]}


WITH = ("manifests", "-c", "cluster.yaml")


def changed(folder: Path, before: Files, after: Files, *args: str) -> dict[str, Any]:
    commit(folder, before)
    commit(folder, after, "work")
    return report(folder, *(args or WITH), "--changed=main")


# --- what a branch breaks elsewhere -----------------------------------------------------------------------------------

BROKEN: dict[str, Files] = {
    "fewer replicas of the target": {**SHOP, "manifests/cache.yaml": workload("cache", 2)},
    "another label of the target": {**SHOP, "manifests/cache.yaml": workload("cache", label="store")},
    "the target's file is deleted": {name: text for name, text in SHOP.items() if "cache" not in name},
    "fewer nodes": {**SHOP, "cluster.yaml": sketch(2)},
    "the target moves out of the folder": {
        "other/cache.yaml": SHOP["manifests/cache.yaml"],
        **{name: text for name, text in SHOP.items() if "cache" not in name},
    },
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_a_branch_breaks_in_a_file_that_it_does_not_touch(folder: Path, name: str) -> None:
    found = changed(folder, SHOP, BROKEN[name])
    assert {one["location"]["path"] for one in found["findings"]} >= {"manifests/front.yaml"}
    assert any("new, on lines that did not change" in note for note in found["summary"]["notes"])
    assert lint(folder, *WITH, "--changed=main").returncode == 1


def test_a_quota_that_shrinks(folder: Path) -> None:
    def quota(pods: int) -> str:
        meta = {"name": "q", "namespace": "shop"}
        return yaml.safe_dump(
            {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": meta, "spec": {"hard": {"pods": str(pods)}}}
        )

    found = changed(
        folder, {**SHOP, "manifests/quota.yaml": quota(20)}, {**SHOP, "manifests/quota.yaml": quota(4)}, *WITH
    )
    assert "quota-refuses-pods" in rules(found)


def test_what_was_there_before_stays_hidden(folder: Path) -> None:
    """The target had too few pods at BASE already."""
    before = {**SHOP, "manifests/cache.yaml": workload("cache", 2), "manifests/other.yaml": workload("other")}
    found = changed(folder, before, {**before, "manifests/other.yaml": workload("other", 2)})
    assert found["findings"] == []
    assert any("elsewhere not shown" in note for note in found["summary"]["notes"])


STUCK = workload("cache").replace("maxSurge: 0", "maxSurge: 1").replace("maxUnavailable: 1", "maxUnavailable: 0")


@pytest.mark.parametrize(
    ("text", "severity"),
    [
        (STUCK + "# a comment\n", "warning"),
        (STUCK.replace("maxSurge: 1", "maxSurge: 2"), "warning"),
        (STUCK.replace("app:1", "app:2"), "error"),
        (STUCK.replace("replicas: 3", "replicas: 4"), "error"),
    ],
    ids=["touched", "no-rollout", "starts", "worse"],
)
def test_a_stuck_rollout_blocks_who_starts_it_or_makes_it_worse(folder: Path, text: str, severity: str) -> None:
    """With three nodes the rollout never ended before either; a change that leaves the template starts none."""
    before = {"manifests/cache.yaml": STUCK, "cluster.yaml": sketch(3)}
    (found,) = changed(folder, before, {**before, "manifests/cache.yaml": text})["findings"]
    assert found["severity"] == severity
    assert ("this change does not start the rollout" in found["evidence"]["assumes"]) is (severity == "warning")
    assert "error" in {one["severity"] for one in report(folder, *WITH)["findings"]}


def test_a_renamed_folder_is_compared_with_the_old_one(folder: Path) -> None:
    before = {**SHOP, "manifests/cache.yaml": workload("cache", 2)}
    moved = {name.replace("manifests", "deploy"): text for name, text in before.items()}
    assert changed(folder, before, moved, "deploy", "-c", "cluster.yaml")["findings"] == []
    write(folder, {**moved, "cluster.yaml": sketch(1)})
    assert rules(report(folder, "deploy", "-c", "cluster.yaml", "--changed=main"))


def test_a_renamed_cluster_file_is_compared_with_the_old_one(folder: Path) -> None:
    after = {"nodes.yaml": sketch(2), **{name: text for name, text in SHOP.items() if name != "cluster.yaml"}}
    assert "anti-affinity-exceeds-domains" in rules(changed(folder, SHOP, after, "manifests", "-c", "nodes.yaml"))


def test_base_has_its_own_configuration(folder: Path) -> None:
    """BASE ignores a rule in kubesched.toml, and the branch does not."""
    toml = 'cluster = "cluster.yaml"\n'
    before = {
        **SHOP,
        "cluster.yaml": sketch(2),
        "kubesched.toml": toml + 'ignore = ["anti-affinity-exceeds-domains"]\n',
    }
    after = {**before, "kubesched.toml": toml}
    assert "anti-affinity-exceeds-domains" in rules(changed(folder, before, after, "manifests"))
    git(folder, "checkout", "-q", "main")
    git(folder, "checkout", "-q", "-b", "quiet")
    (folder / "README.md").write_text("words\n")
    assert report(folder, "manifests", "--changed=main")["findings"] == []


def test_a_cluster_that_git_does_not_have_is_the_same_on_both_sides(folder: Path, tmp_path: Path) -> None:
    before = {name: text for name, text in SHOP.items() if name != "cluster.yaml"} | {".gitignore": "/nodes.yaml\n"}
    commit(folder, before)
    commit(folder, {**before, "manifests/cache.yaml": workload("cache") + "# a comment\n"}, "work")
    for place in (folder / "nodes.yaml", tmp_path / "nodes.yaml"):
        place.write_text(sketch(2))
        (folder / "kubesched.toml").unlink(missing_ok=True)
        found = report(folder, "manifests", "-c", str(place), "--changed=main")
        assert {one["location"]["path"] for one in found["findings"]} == {"manifests/cache.yaml"}


def test_a_cluster_that_the_branch_adds_is_new(folder: Path) -> None:
    before = {name: text for name, text in SHOP.items() if name != "cluster.yaml"}
    found = changed(folder, before, {**SHOP, "cluster.yaml": sketch(2)})
    assert "anti-affinity-exceeds-domains" in rules(found)
    assert "main has no cluster.yaml: what is found with it is new" in found["summary"]["notes"]


def test_files_that_git_ignores_are_not_new(folder: Path) -> None:
    before = {**SHOP, "cluster.yaml": sketch(2), ".gitignore": "made.yaml\n"}
    commit(folder, before)
    commit(folder, {**before, "manifests/cache.yaml": workload("cache") + "# a comment\n"}, "work")
    (folder / "manifests/made.yaml").write_text(workload("made"))
    found = report(folder, *WITH, "--changed=main")
    assert {one["location"]["path"] for one in found["findings"]} == {"manifests/cache.yaml"}


def test_targets_are_compared_each_with_itself(folder: Path) -> None:
    toml = "".join(
        f'[[targets]]\nname = "{name}"\npaths = ["manifests"]\ncluster = "{name}.yaml"\n' for name in ("eu", "us")
    )
    before = {**SHOP, "eu.yaml": sketch(5), "us.yaml": sketch(2), "kubesched.toml": toml}
    found = changed(folder, before, {**before, "eu.yaml": sketch(1)}, "--jobs=2")
    assert found["findings"]
    assert {tuple(one.get("targets") or ()) for one in found["findings"]} == {("eu",)}
    assert report(folder, "--target=us", "--changed=main")["findings"] == []


def test_a_known_finding_is_new_once_the_baseline_loses_it(folder: Path) -> None:
    before = {**SHOP, "cluster.yaml": sketch(2)}
    write(folder, before)
    known = called("baseline", "write", *WITH, "-o", "known.json", cwd=folder)
    assert known.returncode == 0, known.stderr
    before["known.json"] = (folder / "known.json").read_text()
    with_it = (*WITH, "--baseline", "known.json")
    empty = json.dumps({**json.loads(before["known.json"]), "findings": []})
    assert changed(folder, before, {**before, "known.json": empty}, *with_it)["findings"]
    write(folder, {**before, "manifests/other.yaml": workload("cache-of-none", 1)})
    found = report(folder, *with_it, "--changed=main")["findings"]
    assert not [one for one in found if not one.get("suppressed") and one["location"]["path"].endswith("front.yaml")]


# --- submodules -------------------------------------------------------------------------------------------------------


def test_a_submodule_that_is_named_is_compared_as_the_repository_around_it_says(folder: Path, tmp_path: Path) -> None:
    """In the submodule, main is a branch of its own, which has what the branch brings."""
    (theirs := tmp_path / "theirs").mkdir()
    git(theirs, "init", "-q", "-b", "main")
    commit(theirs, {"cache.yaml": workload("cache", 1), "front.yaml": SHOP["manifests/front.yaml"]})
    commit(folder, SHOP)
    git(folder, "checkout", "-q", "-b", "work")
    git(folder, "rm", "-rq", "manifests")
    git(folder, "submodule", "add", "-q", str(theirs), "manifests")
    git(folder, "commit", "-q", "-m", "submodule")
    assert report(folder, *WITH, "--changed=main")["findings"]
    plan = called("plan", "main", *WITH, cwd=folder)
    assert (plan.returncode, "manifests: is a submodule" in plan.stdout + plan.stderr) == (2, True)
    inside = called("lint", ".", "-c", "../cluster.yaml", "--changed=main", cwd=folder / "manifests")
    assert inside.returncode == 0, inside.stdout


def test_a_submodule_in_place_of_a_folder(folder: Path, tmp_path: Path) -> None:
    commit(folder, {**SHOP, "manifests/deep/more.yaml": workload("more", near="cache")})
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    git(theirs, "init", "-q", "-b", "main")
    commit(theirs, {"more.yaml": workload("more", near="cache")})
    git(folder, "checkout", "-q", "-b", "work")
    git(folder, "rm", "-rq", "manifests/deep")
    git(folder, "submodule", "add", "-q", str(theirs), "manifests/deep")
    git(folder, "commit", "-q", "-m", "submodule")
    assert report(folder, *WITH, "--changed=main")["findings"] == []
    (folder / "manifests/deep/more.yaml").write_text(workload("more", 9, near="cache"))
    found = report(folder, *WITH, "--changed=main")
    assert {one["object"]["name"] for one in found["findings"]} == {"more"}
    git(folder, "checkout", "-q", "-b", "further")
    (folder / "manifests/cache.yaml").write_text(workload("cache") + "# a comment\n")
    assert {one["object"]["name"] for one in report(folder, *WITH, "--changed=work")["findings"]} == {"more"}


def test_a_submodule_that_is_not_checked_out(folder: Path, tmp_path: Path) -> None:
    """As the checkout of a CI leaves it: nobody knows what is in the folder, so it may have what front needs."""
    commit(folder, SHOP)
    (theirs := tmp_path / "theirs").mkdir()
    git(theirs, "init", "-q", "-b", "main")
    commit(theirs, {"cache.yaml": workload("cache", 1)})
    git(folder, "checkout", "-q", "-b", "work")
    git(folder, "rm", "-q", "manifests/cache.yaml")
    git(folder, "submodule", "add", "-q", str(theirs), "manifests/deep")
    git(folder, "commit", "-q", "-m", "submodule")
    git(tmp_path, "clone", "-q", str(folder), "clone")
    clone = tmp_path / "clone"
    assert not list((clone / "manifests/deep").iterdir())
    found = report(clone, *WITH)
    assert found["summary"]["notJudged"] == {"submodule": 1}
    assert [one["severity"] for one in found["findings"] if one["rule"] == "affinity-selector-matches-nothing"] == [
        "warning"
    ]
    done = lint(clone, *WITH, "--changed=origin/main")
    assert done.returncode == 2
    assert done.stderr == (
        "error: manifests/deep: the change brings a submodule that is not checked out (git submodule update --init)\n"
    )
    git(clone, "checkout", "-q", "-b", "further")
    (clone / "manifests/front.yaml").write_text(workload("front", 2, near="cache"))
    assert lint(clone, *WITH, "--changed=origin/work").returncode == 0
    assert lint(clone, "manifests/deep").returncode == 2
    (clone / "manifests/empty").mkdir()
    assert report(clone, *WITH)["summary"]["notJudged"] == {"submodule": 1}


def test_a_repository_that_git_does_not_track_is_new(folder: Path) -> None:
    commit(folder, {**SHOP, "cluster.yaml": sketch(2)})
    git(folder, "checkout", "-q", "-b", "work")
    inner = folder / "manifests/inner"
    inner.mkdir()
    git(inner, "init", "-q", "-b", "main")
    (inner / "deep").mkdir()
    (inner / "deep/more.yaml").write_text(workload("more", 9, near="cache"))
    found = report(folder, *WITH, "--changed=main")
    assert "more" in {one["object"]["name"] for one in found["findings"]}


# --- clones that lack something ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["lint", "plan"])
def test_a_partial_clone_is_told_what_to_fetch(folder: Path, tmp_path: Path, command: str) -> None:
    commit(folder, SHOP)
    commit(folder, BROKEN["fewer replicas of the target"], "work")
    git(folder, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "-q", "--filter=blob:none", f"file://{folder}", "partial")
    partial = tmp_path / "partial"
    words = ("lint", *WITH, "--changed=origin/main") if command == "lint" else ("plan", "origin/main", *WITH)
    done = called(*words, cwd=partial)
    assert done.returncode == 2
    assert "run `git fetch --refetch --no-filter`" in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().split("\n")) == 1
    git(partial, "fetch", "-q", "--refetch", "--no-filter")
    assert called(*words, cwd=partial).returncode == 1


def test_a_shallow_clone_without_base(folder: Path, tmp_path: Path) -> None:
    commit(folder, SHOP)
    commit(folder, BROKEN["fewer nodes"], "work")
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{folder}", "shallow")
    done = called("lint", *WITH, "--changed=origin/main", cwd=tmp_path / "shallow")
    assert done.returncode == 2
    command = "git fetch --unshallow origin main:refs/remotes/origin/main"
    assert f"or run `{command}`" in done.stderr
    git(tmp_path / "shallow", *command.split()[1:])
    assert called("lint", *WITH, "--changed=origin/main", cwd=tmp_path / "shallow").returncode == 1


def test_a_base_that_ends_as_if_a_variable_were_empty(folder: Path) -> None:
    """``origin/$TARGET``, on a push that has no target."""
    commit(folder, SHOP)
    git(folder, "remote", "add", "origin", str(folder))
    for words in (("lint", "manifests", "--changed=origin/"), ("plan", "origin/", "manifests", "-c", "cluster.yaml")):
        done = called(*words, cwd=folder)
        assert done.returncode == 2
        assert done.stderr.endswith("has no commit `origin/`: it ends with `/`, as if a variable were not set\n")


@pytest.mark.parametrize("words", [["lint", "manifests", "--changed="], ["lint", "--changed", "", "manifests"]])
def test_an_empty_base_is_no_base(folder: Path, words: list[str]) -> None:
    commit(folder, SHOP)
    done = called(*words, cwd=folder)
    assert done.returncode == 2
    assert "BASE is empty" in done.stderr


# --- a run over BASE only where it matters ----------------------------------------------------------------------------


def runs(folder: Path, monkeypatch: pytest.MonkeyPatch, *args: str) -> int:
    """How many reports the command makes."""
    count = 0
    made = run.linted

    def counted(*args: Any, **named: Any) -> Any:
        nonlocal count
        count += 1
        return made(*args, **named)

    monkeypatch.setattr(run, "linted", counted)
    monkeypatch.chdir(folder)
    linted(call_of_lint([*args, "--changed=main", "--no-cache"]))
    return count


@pytest.mark.parametrize(
    ("name", "text", "wanted"),
    [("manifests/README.md", "words\n", 1), ("src/main.py", "1\n", 1), ("manifests/new.yaml", workload("new"), 2)],
)
def test_base_is_linted_only_if_something_that_matters_changed(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str, wanted: int
) -> None:
    commit(folder, SHOP)
    commit(folder, {**SHOP, name: text}, "work")
    assert runs(folder, monkeypatch, *WITH) == wanted


# --- the property -----------------------------------------------------------------------------------------------------


def drawn(draw: random.Random) -> Files:
    files = {"cluster.yaml": sketch(draw.choice([2, 3, 5]))}
    for name, near in (("a", ""), ("b", "a"), ("c", "b"), ("d", "a")):
        if draw.random() < 0.85:
            text = workload(name, draw.choice([1, 2, 3, 4]), near, f"app:{draw.choice([1, 2])}")
            files[f"manifests/{draw.choice(['one', 'two'])}/{name}.yaml"] = text
    return files


def version(draw: random.Random, files: Files) -> Files:
    """Another version: some files are other ones."""
    other = drawn(draw)
    names = {*files, *other}
    mixed = {name: (other if draw.random() < 0.4 else files).get(name) for name in sorted(names)}
    mixed["cluster.yaml"] = mixed["cluster.yaml"] or sketch()
    return {name: text for name, text in mixed.items() if text is not None}


@pytest.mark.parametrize("seed", first(6, range(40)))
def test_findings_are_the_new_ones_and_those_of_changed_lines(
    folder: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    draw = random.Random(seed)
    before = drawn(draw)
    after = version(draw, before)
    monkeypatch.chdir(folder)
    call = call_of_lint([*WITH, "--changed=main"])
    request = Request(("manifests",), "cluster.yaml")
    commit(folder, before)
    old = checked(request, Options(), BOOK).report
    commit(folder, after, "work")
    new = checked(request, Options(), BOOK)
    with against(call, settled(call, ["manifests"]), ["manifests"]) as compared:
        found = checked(compared.of(request), Options(), BOOK).report

    def named(finding: Finding) -> tuple[object, ...]:
        return entry_of(finding).key, finding.severity.word, finding.location.path

    touched = only_changed(changes_since("main", ["manifests"]), new.report, new.manifests, "default").findings
    assert {named(one) for one in found.findings} == {*map(named, came(old, new.report)), *map(named, touched)}


def came(before: Report, after: Report) -> Iterator[Finding]:
    """Yield each finding for which BASE has none that is as severe and not the match of another one."""
    for key in {entry_of(one).key for one in after.findings}:
        ours, theirs = (
            sorted((one for one in side.findings if entry_of(one).key == key), key=lambda one: -one.severity)
            for side in (before, after)
        )
        pairs = zip_longest(ours[: len(theirs)], theirs)
        yield from (new for old, new in pairs if old is None or new.severity > old.severity)
