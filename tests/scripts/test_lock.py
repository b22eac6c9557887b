"""The lock files of ``scripts/lock.py`` have what pyproject.toml asks for, and a hash for everything."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from scripts import lock

PROJECT = tomllib.loads((lock.ROOT / "pyproject.toml").read_text())
ASKED = {
    "core": PROJECT["project"]["dependencies"],
    "build": PROJECT["build-system"]["requires"],
    **{extra: PROJECT["project"]["optional-dependencies"][extra] for extra in lock.EXTRAS},
}


def pinned(name: str) -> dict[str, list[str]]:
    """The versions of each package in a lock file."""
    blocks = lock.by_name((lock.LOCKED / f"{name}.txt").read_text())
    return {package: re.findall(r"^[\w.-]+==([\w.]+)", lines, re.MULTILINE) for package, lines in blocks.items()}


def test_there_is_a_file_for_each_part() -> None:
    assert {file.stem for file in lock.LOCKED.iterdir()} == set(ASKED)


@pytest.mark.parametrize("name", ASKED)
def test_every_version_has_hashes_and_pip_needs_nothing_else(name: str) -> None:
    for line in (lock.LOCKED / f"{name}.txt").read_text().splitlines():
        assert re.fullmatch(
            r"# .*|[a-z0-9.-]+==[\w.]+( ; [\w ><='.]+)? \\|    --hash=sha256:[0-9a-f]{64}( \\)?", line
        ), line
    for package, lines in lock.by_name((lock.LOCKED / f"{name}.txt").read_text()).items():
        versions = re.split(r"^(?=\S)", lines, flags=re.MULTILINE)[1:]
        assert versions
        assert all("--hash=" in version for version in versions), package


@pytest.mark.parametrize("name", ASKED)
def test_what_pyproject_asks_for_is_locked(name: str) -> None:
    versions = pinned(name)
    for asked in map(Requirement, ASKED[name]):
        found = versions.get(canonicalize_name(asked.name))
        assert found, f"{asked}: just lock"
        assert all(asked.specifier.contains(one) for one in found), f"{asked}: just lock"


@pytest.mark.parametrize("name", [name for name in ASKED if name != "build"])
def test_what_the_locked_packages_need_is_locked(name: str) -> None:
    """As far as the tests have these packages: pip is told not to look for what they need."""
    known = {**pinned("core"), **pinned(name)}
    missing = {needed for asked in ASKED[name] for needed in needs(canonicalize_name(Requirement(asked).name))}
    assert missing - set(known) == set(), "just lock"


def needs(name: str) -> Iterator[str]:
    for requirement in map(Requirement, distribution(name).requires or ()):
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            yield canonicalize_name(requirement.name)


def test_no_two_files_have_one_package() -> None:
    names = [name for part in ASKED if part != "build" for name in pinned(part)]
    assert len(set(names)) == len(names)


def test_a_package_with_two_versions_is_one() -> None:
    text = "# a\na==1 ; b \\\n    --hash=sha256:0\na==2 \\\n    --hash=sha256:1\nc==3 \\\n    --hash=sha256:2\n"
    assert lock.by_name(text) == {
        "a": "a==1 ; b \\\n    --hash=sha256:0\na==2 \\\n    --hash=sha256:1\n",
        "c": "c==3 \\\n    --hash=sha256:2\n",
    }


def test_without_uv_it_says_what_it_needs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(lock.LockError, match="pip install uv"):
        lock.resolved(["a"], "3.11")
