"""``lint --changed`` in the repository of a stranger: whatever its files and its configuration name, nothing is run."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from kubesched_lint.linter.options import ChangedError
from kubesched_lint.project.changed import changes_since
from tests.program import called

ROOT = Path(__file__).parents[2]
MANIFEST = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: c, image: i}]}\n"


@pytest.fixture(autouse=True)
def own_git(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()


def git(folder: Path, *args: str) -> None:
    who = ("-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *who, *args], cwd=folder, capture_output=True, check=True)


@pytest.fixture
def ran(tmp_path: Path) -> Path:
    """A file that the trap makes when somebody runs it."""
    return tmp_path / "ran"


@pytest.fixture
def trap(tmp_path: Path, ran: Path) -> str:
    script = tmp_path / "trap.sh"
    script.write_text(f"#!/bin/sh\necho ran >> {ran}\ncat\n")
    script.chmod(0o755)
    return str(script)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    (folder / "manifests").mkdir(parents=True)
    (folder / "manifests" / "a.yaml").write_text(MANIFEST)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "all")
    return folder


def lint(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return called("lint", *args, cwd=folder)


@pytest.mark.parametrize("since", ["--changed", "--changed=main"])
def test_a_folder_that_looks_like_a_repository_is_none(repository: Path, trap: str, ran: Path, since: str) -> None:
    """A pull request can bring HEAD, config, objects and refs; git would take their folder for a bare repository."""
    fake = repository / "manifests"
    for name in ("objects", "refs"):
        (fake / name).mkdir()
        (fake / name / "keep").write_text("")
    (fake / "HEAD").write_text("ref: refs/heads/main\n")
    (fake / "config").write_text(
        f'[core]\nrepositoryformatversion = 0\nbare = false\nworktree = "{fake}"\nfsmonitor = "{trap}"\n'
    )
    done = lint(repository, "manifests", since)
    assert not ran.exists()
    assert done.returncode in (0, 1), done.stderr


@pytest.mark.parametrize(
    ("settings", "attributes"),
    [
        ({"core.fsmonitor": "{trap}"}, ""),
        ({"core.hooksPath": "{folder}"}, ""),
        ({"core.pager": "{trap}", "pager.diff": "true"}, ""),
        (
            {"core.sshCommand": "{trap}", "remote.origin.url": "ssh://example.com/x", "remote.origin.promisor": "true"},
            "",
        ),
        ({"core.alternateRefsCommand": "{trap}"}, ""),
        ({"credential.helper": "{trap}"}, ""),
        ({"diff.external": "{trap}"}, ""),
        ({"diff.yaml.textconv": "{trap}"}, "*.yaml diff=yaml\n"),
        ({"diff.yaml.command": "{trap}"}, "*.yaml diff=yaml\n"),
        ({"filter.own.clean": "{trap}", "filter.own.required": "true"}, "*.yaml filter=own\n"),
        ({"filter.own.process": "{trap}"}, "*.yaml filter=own\n"),
        ({"filter.Own.Sub.clean": "{trap}"}, "*.yaml filter=Own.Sub\n"),
        ({"alias.diff": "!{trap}", "alias.rev-parse": "!{trap}"}, ""),
    ],
    ids=lambda value: next(iter(value), "") if isinstance(value, dict) else "",
)
def test_what_configuration_and_attributes_name_is_not_run(
    repository: Path, trap: str, ran: Path, settings: dict[str, str], attributes: str
) -> None:
    hooks = repository / ".git" / "own-hooks"
    hooks.mkdir()
    for name in ("post-index-change", "fsmonitor-watchman"):
        (hooks / name).symlink_to(trap)
    (repository / ".gitattributes").write_text(attributes)
    for key, value in settings.items():
        git(repository, "config", key, value.format(trap=trap, folder=hooks))
    (repository / "manifests" / "a.yaml").write_text(MANIFEST.replace("name: a", "name: b"))
    ran.unlink(missing_ok=True)
    changes = changes_since("HEAD", [str(repository / "manifests")])
    assert not ran.exists()
    assert str(repository / "manifests" / "a.yaml") in changes.lines


def test_what_an_included_configuration_names_is_not_run(repository: Path, trap: str, ran: Path) -> None:
    (repository / "more.config").write_text(f'[filter "own"]\nclean = {trap}\n[core]\nfsmonitor = {trap}\n')
    (repository / ".gitattributes").write_text("*.yaml filter=own\n")
    git(repository, "config", "include.path", "../more.config")
    (repository / "manifests" / "a.yaml").write_text(MANIFEST.replace("name: a", "name: b"))
    changes_since("HEAD", [str(repository)])
    assert not ran.exists()


def test_a_submodule_is_not_looked_into(repository: Path, tmp_path: Path, trap: str, ran: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "b.yaml").write_text(MANIFEST)
    git(other, "init", "-q", "-b", "main")
    git(other, "add", ".")
    git(other, "commit", "-q", "-m", "all")
    git(repository, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other), "sub")
    git(repository, "commit", "-q", "-m", "sub")
    git(repository / "sub", "config", "core.fsmonitor", trap)
    ran.unlink(missing_ok=True)
    (repository / "sub" / "b.yaml").write_text(MANIFEST.replace("name: a", "name: b"))
    changes_since("HEAD", [str(repository / "manifests")])
    assert not ran.exists()


def test_a_work_tree_elsewhere_is_refused(repository: Path, tmp_path: Path) -> None:
    """Else the changes of another folder would be taken for those of this one."""
    git(repository, "config", "core.worktree", str(tmp_path / "home"))
    with pytest.raises(ChangedError, match="another folder its work tree"):
        changes_since("HEAD", [str(repository)])


def test_variables_of_a_hook_name_no_other_repository(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", "false")
    (repository / "manifests" / "a.yaml").write_text(MANIFEST.replace("name: a", "name: b"))
    assert changes_since("HEAD", [str(repository)]).lines


def test_missing_objects_are_not_fetched(repository: Path, trap: str, ran: Path) -> None:
    """A partial clone fetches what it lacks, by whatever its configuration names."""
    git(repository, "config", "extensions.partialClone", "origin")
    git(repository, "config", "remote.origin.url", f"ext::{trap} %S")
    git(repository, "config", "remote.origin.promisor", "true")
    for file in (repository / ".git" / "objects").glob("??/*"):
        file.unlink()
    with pytest.raises(ChangedError):
        changes_since("main", [str(repository)])
    assert not ran.exists()
