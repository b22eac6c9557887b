"""What ``scripts/artifacts.py`` writes for PyPI, krew and GitHub, without building it."""

from __future__ import annotations

import gzip
import hashlib
import io
import re
import subprocess
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubesched_lint import Severity, lint
from kubesched_lint.version import __version__
from scripts import artifacts

ROOT = artifacts.ROOT


LICENCE = "License-Expression: Apache-2.0\nLicense-File: LICENSE\n\n"


def wheel(folder: Path, *without: str, metadata: str = LICENCE) -> Path:
    file = folder / "kubesched_lint-1.0.0-py3-none-any.whl"
    with zipfile.ZipFile(file, "w") as opened:
        opened.writestr("kubesched_lint-1.0.0.dist-info/METADATA", metadata)
        for name in (*(f"kubesched_lint/{name}" for name in artifacts._NEEDED), "kubesched_lint/rules/a.md"):
            if name not in without:
                opened.writestr(name, "")
    return file


def test_a_wheel_must_hold_cards_schemas_and_the_licence(tmp_path: Path) -> None:
    assert list(artifacts.missing_in(wheel(tmp_path), ["a.md"])) == []
    assert list(artifacts.missing_in(wheel(tmp_path, "kubesched_lint/py.typed"), ["a.md", "b.md"])) == [
        "kubesched_lint/py.typed",
        "kubesched_lint/rules/b.md",
    ]
    lines = list(artifacts.missing_in(wheel(tmp_path, metadata="Name: x\n\n"), ["a.md"]))
    assert lines == ["License-Expression: Apache-2.0", "License-File: LICENSE"]


def test_the_notes_of_a_release_are_its_section_of_the_changelog() -> None:
    text = "# Changelog\n\n## 0.2.0 (2026-11-24)\n\n- a rule\n\n### Lint\n\n- b\n\n## 0.1.0 (2026-10-01)\n\n- all\n"
    assert artifacts.notes(text, "0.2.0") == "- a rule\n\n### Lint\n\n- b\n"
    with pytest.raises(artifacts.ReleaseError, match="does not begin with"):
        artifacts.notes(text, "0.1.0")
    assert artifacts.notes((ROOT / "CHANGELOG.md").read_text(), __version__)


def test_a_tag_of_another_version_is_refused(tmp_path: Path) -> None:
    with pytest.raises(artifacts.ReleaseError, match="this is version"):
        artifacts.make(tmp_path / "dist", "v9.9.9")
    assert not (tmp_path / "dist").exists()


def manifest() -> dict[str, Any]:
    archive = artifacts.krew_archive("1.2.3")
    made: dict[str, Any] = yaml.safe_load(artifacts.krew_manifest("1.2.3", archive, "acme/lint"))
    return made


def test_the_manifest_for_krew_has_what_its_index_asks_for() -> None:
    """krew's validation: pkg/index/validation of its repository."""
    made = manifest()
    assert (made["apiVersion"], made["kind"]) == ("krew.googlecontainertools.github.com/v1alpha2", "Plugin")
    assert made["metadata"]["name"] == "schedlint"
    spec = made["spec"]
    assert spec["version"] == "v1.2.3"
    assert len(spec["shortDescription"]) <= 50
    assert not spec["shortDescription"].endswith(".")
    (platform,) = spec["platforms"]
    assert platform["sha256"] == hashlib.sha256(artifacts.krew_archive("1.2.3")).hexdigest()
    folder, name = platform["uri"].rsplit("/", 1)
    assert folder == "https://github.com/acme/lint/releases/download/v1.2.3"
    assert name == artifacts.krew_name("1.2.3")
    assert "VERSION" not in str(made)
    assert "REPOSITORY" not in str(made)


def test_the_archive_for_krew_holds_the_files_of_the_manifest() -> None:
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(artifacts.krew_archive("1.2.3")))) as archive:
        members = {member.name: member for member in archive}
        script = archive.extractfile("kubectl-schedlint").read().decode()  # type: ignore[union-attr]
    (platform,) = manifest()["spec"]["platforms"]
    assert set(members) == {file["from"] for file in platform["files"]} >= {platform["bin"], "LICENSE"}
    assert members["kubectl-schedlint"].mode == 0o755
    assert "==1.2.3'" in script
    assert "VERSION" not in script


def plugin(folder: Path, **tools: str) -> subprocess.CompletedProcess[str]:
    """Runs krew's script with nothing but these programs, each a shell script."""
    for name, script in tools.items():
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)
    command = ["/bin/sh", ROOT / "packaging/krew/kubectl-schedlint", "lint", "my manifests"]
    return subprocess.run(command, env={"PATH": str(folder)}, capture_output=True, text=True, check=False)


SHOWS = 'case "$*" in *--version) exit 0 ;; esac; for word in "$@"; do echo "$word"; done; exit 1'


@pytest.mark.parametrize(("tools", "first"), [(["uvx", "pipx"], "--quiet"), (["pipx"], "run")], ids=["uv", "pipx"])
def test_the_script_for_krew_starts_what_there_is(tmp_path: Path, tools: list[str], first: str) -> None:
    done = plugin(tmp_path, **dict.fromkeys(tools, SHOWS))
    words = done.stdout.splitlines()
    assert done.returncode == 1, "the linter's exit code is the plugin's"
    assert words[0] == first
    assert words[-4:] == ["kubesched-lint[solver,cel]==VERSION", "kubectl-schedlint", "lint", "my manifests"]


def test_the_script_for_krew_does_not_take_a_failed_installation_for_findings(tmp_path: Path) -> None:
    assert plugin(tmp_path, uvx="echo cannot resolve >&2; exit 1").returncode == 2


def test_the_script_for_krew_says_what_it_needs(tmp_path: Path) -> None:
    done = plugin(tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "needs uv" in done.stderr


def test_the_recipe_expects_what_the_readme_says_of_the_example() -> None:
    paths, cluster = artifacts.SHOP[0], artifacts.SHOP[2]
    found = lint(ROOT / paths, cluster=ROOT / cluster).findings
    counts = [sum(one.severity is severity for one in found) for severity in (Severity.ERROR, Severity.WARNING)]
    assert [int(number) for number in re.findall(r"\d+", artifacts.FOUND)][:2] == counts
    assert "It finds two errors, a warning and a note" in (ROOT / "README.md").read_text()
