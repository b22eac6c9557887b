"""``plan`` from the command line: commits, the work tree and folders, exit codes, and what a repository cannot do."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from kubesched_lint.commands.plan import changes
from tests.plan.test_plan import ROOT, ZONES, web, with_image
from tests.program import called

COMPANY = ROOT / "fixtures/company"
SCHEMA = Draft202012Validator(json.loads((ROOT / "kubesched_lint/schemas/plan.schema.json").read_text()))


def git(folder: Path, *args: str) -> None:
    who = ("-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *who, *args], cwd=folder, capture_output=True, check=True)


def company(folder: Path) -> Path:
    """A company's repository with a pull request: a typo corrected and scaled, and a strategy that hangs."""
    shutil.copytree(COMPANY / "repo", folder)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "base")
    git(folder, "apply", str(COMPANY / "feature.patch"))
    return folder


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Three commits: ``v1``, a fourth pod and a new image (``v2``), a pod too large (``v3``)."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    copies = tmp_path / "copies"
    copies.mkdir()
    monkeypatch.setenv("TMPDIR", str(copies))
    folder = tmp_path / "shop"
    (folder / "manifests").mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    large = web(replicas=4)
    large["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "90"
    for tag, value in (("v1", web()), ("v2", with_image(web(replicas=4), "web:2")), ("v3", large)):
        (folder / "manifests/web.yaml").write_text(json.dumps(value))
        git(folder, "add", ".")
        git(folder, "commit", "-q", "-m", tag)
        git(folder, "tag", tag)
    yield folder
    assert not list(copies.iterdir()), "a copy of a commit is left over"


def run(shop: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return called("plan", "-c", ZONES, "--format", "json", "--events", "deploy,drain", *args, cwd=shop)


def found(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """The JSON, which its schema describes."""
    value: dict[str, Any] = json.loads(done.stdout)
    SCHEMA.validate(value)
    return value


def test_two_commits_are_compared(shop: Path) -> None:
    done = run(shop, "v1..v2", "manifests")
    assert done.returncode == 0, done.stderr
    (one,) = found(done)["workloads"]
    assert one["actions"] == ["rolled out", "scaled"]
    assert one["location"]["path"] == "manifests/web.yaml"
    assert run(shop, "v1..v2", "manifests", "--detailed-exitcode").returncode == 3
    assert run(shop, "v2..v2", "manifests", "--detailed-exitcode").returncode == 0


def test_what_becomes_worse_fails_the_run(shop: Path) -> None:
    done = run(shop, "v2..v3", "manifests")
    assert done.returncode == 1
    assert found(done)["isWorse"]
    assert [new["severity"]["after"] for new in found(done)["findings"]["new"]] == ["error"]
    assert run(shop, "v2..v3", "manifests", "--fail-on", "never").returncode == 0
    assert run(shop, "v3..v2", "manifests", "--fail-on", "note").returncode == 0


def test_without_a_base_the_last_commit_is_compared_with_the_work_tree(shop: Path) -> None:
    assert found(run(shop, "manifests"))["isEmpty"]
    (shop / "manifests/web.yaml").write_text(json.dumps(web(replicas=1)))
    done = run(shop, "manifests")
    assert found(done)["workloads"][0]["replicas"] == {"before": 4, "after": 1}
    since = found(run(shop / "manifests", "v1", "."))
    assert since["workloads"][0]["replicas"] == {"before": 2, "after": 1}
    assert since["workloads"][0]["location"]["path"] == "./web.yaml"


def test_a_commit_alone_is_the_base_of_the_current_folder(shop: Path) -> None:
    """As the README writes it: ``plan origin/main``, without a path and without targets."""
    alone = found(run(shop, "v1"))
    assert alone["workloads"] == found(run(shop, "v1", "."))["workloads"] != []
    (shop / "v1").mkdir()
    assert "no Kubernetes object found" in run(shop, "v1").stderr, "a path stays a path"


def test_a_folder_can_be_the_base(shop: Path, tmp_path: Path) -> None:
    old = tmp_path / "old"
    old.mkdir()
    (old / "renamed.yaml").write_text(json.dumps(web()))
    done = run(shop, str(old), "manifests")
    assert found(done)["workloads"][0]["replicas"] == {"before": 2, "after": 4}


def test_what_cannot_be_read_ends_with_two(shop: Path) -> None:
    assert "no commit `v9`" in run(shop, "v9", "manifests").stderr
    assert run(shop, "v9", "manifests").returncode == 2
    assert run(shop, "v1..v2", "nowhere").returncode == 2
    (shop / "empty").mkdir()
    assert "no Kubernetes object found" in run(shop, "empty", "empty").stderr
    assert run(shop, "--against-cluster", "empty").returncode == 2
    assert "unknown event 'deploi'" in run(shop, "manifests", "--events", "deploi").stderr
    (shop / "manifests/broken.yaml").write_text("apiVersion: v1\nkind: [")
    assert run(shop, "v1", "manifests").returncode == 2


def test_a_change_may_delete_a_whole_folder(shop: Path) -> None:
    """From a commit to the work tree as between two commits; a path that neither has is a slip."""
    git(shop, "rm", "-rq", "manifests")
    value = found(done := run(shop, "v1", "manifests"))
    assert (done.returncode, value["result"]) == (0, "this change makes nothing worse")
    assert [one["actions"] for one in value["workloads"]] == [["removed"]]
    text = called("plan", "-c", ZONES, "v1", "manifests", cwd=shop).stdout
    assert "\njudged on 6 nodes (" in text
    assert run(shop, "v1", "manifests", "mainfests").returncode == 2


@pytest.mark.parametrize(("base", "when"), [("v1..HEAD", ""), ("HEAD..v1", " before the change")])
def test_a_file_that_one_side_cannot_read_leaves_the_result_open(shop: Path, base: str, when: str) -> None:
    """ "No workload changes" stood above a file that nobody had read, and a green sign where that was before."""
    git(shop, "checkout", "-q", "v1")
    bad = b'apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: "\xff"}\n'
    (shop / "manifests/bad.yaml").write_bytes(bad)
    git(shop, "add", ".")
    git(shop, "commit", "-q", "-m", "bad")
    done = called("plan", "-c", ZONES, "--format", "markdown", "--events", "deploy", base, "manifests", cwd=shop)
    assert done.returncode == (0 if when else 2)
    head = f"### ⚠️ nothing is known to get worse; manifests/bad.yaml could not be read{when}"
    assert head in done.stdout.splitlines()


def test_a_kustomization_is_read_with_its_base_from_the_commit(shop: Path) -> None:
    (shop / "overlay").mkdir()
    (shop / "overlay/kustomization.yaml").write_text("resources: [../manifests]\nnamePrefix: eu-\n")
    (shop / "manifests/kustomization.yaml").write_text("resources: [web.yaml]\n")
    git(shop, "add", ".")
    git(shop, "commit", "-q", "-m", "overlay")
    (shop / "manifests/web.yaml").write_text(json.dumps(web(replicas=1)))
    (one,) = found(run(shop, "HEAD", "overlay"))["workloads"]
    assert one["replicas"] == {"before": 4, "after": 1}


def test_a_custom_resource_is_told_once(tmp_path: Path) -> None:
    """What the workload tells, for which it stands, is not told again of the object."""
    before, after = web("Rollout"), with_image(web("Rollout", replicas=3), "web:2")
    for name, value, step in (("before", before, 1), ("after", after, 2)):
        value["apiVersion"] = "argoproj.io/v1alpha1"
        value["spec"]["strategy"] = {"canary": {"analysis": {"startingStep": step}}}
        (tmp_path / f"{name}.json").write_text(json.dumps(value))
    value = found(run(tmp_path, "before.json", "after.json"))
    (one,), (other,) = value["workloads"], value["objects"]
    assert [f["path"] for f in one["fields"]] == ["spec.replicas", "spec.template.spec.containers[web].image"]
    assert [f["path"] for f in other["fields"]] == ["spec.strategy.canary.analysis.startingStep"]
    after["spec"]["replicas"] = "many"
    (tmp_path / "after.json").write_text(json.dumps(after))
    (one,) = found(run(tmp_path, "before.json", "after.json"))["workloads"]
    assert (one["actions"], one["remark"]) == (["unread on one side"], "it cannot be read after the change")


def test_files_of_a_submodule_are_not_taken_for_new(shop: Path) -> None:
    """No commit of the repository has them, and the work tree does."""
    other = shop / "manifests/sub"
    other.mkdir()
    (other / "web.yaml").write_text(json.dumps(web("ReplicaSet")))
    git(other, "init", "-q")
    git(other, "add", ".")
    git(other, "commit", "-q", "-m", "theirs")
    git(shop, "add", ".")
    git(shop, "commit", "-q", "-m", "submodule")
    value = found(run(shop, "HEAD", "manifests"))
    (one,) = value["workloads"]
    assert (one["actions"], one["remark"]) == (["unread on one side"], "its submodule is not read before the change")
    assert "manifests/sub is a submodule: no commit of this repository has its files" in value["notes"]
    assert value["result"] == "nothing is known to get worse; 1 changed workload is unknown (replicaset/shop/web)"


def test_what_was_not_fetched_is_not_removed(shop: Path) -> None:
    """The work tree has a pointer of Git LFS in place of a manifest of the commit."""
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12\n"
    (shop / "manifests/web.yaml").write_text(pointer)
    value = found(run(shop, "HEAD", "manifests"))
    (one,) = [each for each in value["workloads"] if each["actions"]]
    assert (one["actions"], one["remark"]) == (
        ["unread on one side"],
        "manifests/web.yaml is not read after the change",
    )
    assert value["result"].startswith("nothing is known to get worse; 1 changed workload is unknown")


def test_a_folder_that_became_a_submodule_is_an_error(shop: Path) -> None:
    """Nobody knows what changed there: not even when the work tree has the files."""
    other = shop / "manifests/sub"
    other.mkdir()
    (other / "more.yaml").write_text(json.dumps(web("ReplicaSet")))
    git(shop, "add", ".")
    git(shop, "commit", "-q", "-m", "folder")
    git(shop, "rm", "-rq", "--cached", "manifests/sub")
    git(other, "init", "-q")
    git(other, "add", ".")
    git(other, "commit", "-q", "-m", "theirs")
    git(shop, "add", ".")
    git(shop, "commit", "-q", "-m", "submodule")
    for base in ("HEAD~1", "HEAD~1..HEAD", "HEAD..HEAD~1"):
        done = run(shop, base, "manifests")
        assert done.returncode == 2
        (error,) = found(done)["errors"]
        why = "is a submodule: its files are not in this repository's history; run plan in it"
        assert (error["path"], error["message"]) == ("manifests/sub", why)
        assert not [w for w in found(done)["workloads"] if w["actions"] in (["created"], ["removed"])]


RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: NAME, namespace: shop}
spec: {chart: {spec: {chart: CHART, sourceRef: {kind: HelmRepository, name: charts}}}}
"""


def test_a_release_that_changes_and_is_not_read_is_no_unchanged_set(shop: Path) -> None:
    def releases(*names: str) -> None:
        texts = (RELEASE.replace("NAME", name).replace("CHART", f"{name} chart") for name in names)
        (shop / "manifests/releases.yaml").write_text("---\n".join(texts))

    releases("loki", "rook")
    git(shop, "add", ".")
    git(shop, "commit", "-q", "-m", "releases")
    assert found(run(shop, "HEAD", "manifests"))["result"] == "no change"
    releases("rook", "loki")
    assert found(run(shop, "HEAD", "manifests"))["result"] == "no change"
    for names, words in ((("loki", "ceph"), "1 changed HelmRelease was"), (("ceph",), "2 changed HelmReleases were")):
        releases(*names)
        value = found(run(shop, "HEAD", "manifests"))
        assert value["result"] == f"nothing is known to get worse; {words} not read"
        assert not value["isEmpty"]
        assert {one["kind"] for one in value["unread"]} == {"HelmRelease"}


@pytest.mark.parametrize("base", ["", "..", "..HEAD", "...HEAD"])
def test_an_empty_base_is_refused(shop: Path, base: str) -> None:
    """An unset variable is no wish to compare with the cluster, or HEAD with itself."""
    done = run(shop, base, "manifests")
    assert done.returncode == 2
    assert "BASE is empty, as if a variable were not set: name a commit." in done.stderr
    assert run(shop / "manifests", "HEAD", "../manifests").returncode == 0


def test_nothing_of_the_repository_is_run_or_followed(shop: Path, tmp_path: Path) -> None:
    """A filter, a hook, an attribute and a link that leaves the repository are in the commit."""
    secret, mark = tmp_path / "secret.yaml", tmp_path / "ran"
    secret.write_text(json.dumps(web(replicas=9)))
    (shop / ".gitattributes").write_text("*.yaml filter=evil export-ignore\n")
    git(shop, "config", "filter.evil.smudge", f"touch {mark}; cat")
    (shop / "manifests/link.yaml").symlink_to(os.path.relpath(secret, shop / "manifests"))
    git(shop, "add", ".")
    git(shop, "commit", "-q", "-m", "evil")
    for hook in ("post-checkout", "reference-transaction"):
        script = shop / ".git/hooks" / hook
        script.write_text(f"#!/bin/sh\ntouch {mark}\n")
        script.chmod(0o755)
    done = run(shop, "HEAD..v1", "manifests")
    assert not mark.exists()
    assert found(done)["workloads"][0]["replicas"] == {"before": 4, "after": 2}
    assert "leads out of the repository" in found(done)["errorsBefore"][0]["message"]


# --- docs/plan.md -----------------------------------------------------------------------------------------------------

PAGE = (ROOT / "docs/plan.md").read_text()


def test_the_page_shows_what_the_command_prints(tmp_path: Path) -> None:
    for name, text in re.findall(r"```yaml\n# (\S+)\n(.*?)```", PAGE, re.DOTALL):
        (tmp_path / name).write_text(f"# {name}\n{text}")
    cluster = tmp_path / "fixtures/clusters/three-zones.yaml"
    cluster.parent.mkdir(parents=True)
    shutil.copy(ZONES, cluster)
    command, shown = re.findall(r"```console\nkubesched-lint (.*?)\n```\n\n```text\n(.*?)```", PAGE, re.DOTALL)[0]
    assert called(*command.split(), cwd=tmp_path).stdout == shown


def test_the_page_explains_every_action() -> None:
    words = {value for name, value in vars(changes).items() if name.isupper() and isinstance(value, str)}
    assert len(words) == 9
    assert not [word for word in words if f"`{word}" not in PAGE]
