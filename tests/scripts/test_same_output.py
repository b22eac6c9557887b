"""``scripts/same_output.py`` finds what differs between two versions, and nothing where they are the same."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scripts import same_output
from scripts.replay_cases import GROUPS, Case, prepare

ROOT = Path(__file__).parents[2]
_SAYS = """\
import sys
from pathlib import Path
print("called with", *sys.argv[1:2], sys.argv[0])
out = next((word for word in sys.argv if word.startswith("/")), None)
if out:
    Path(out).write_text({file!r})
print({error!r}, file=sys.stderr)
sys.exit({code})
"""
AUTHOR = ("-c", "user.name=a", "-c", "user.email=a@example.com")
CASES = [Case("lint", "first", ("lint", "{out}/json")), Case("rules", "second", ("rules", "list"))]


@pytest.fixture(autouse=True)
def _two_cases(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def few(folder: Path) -> list[Case]:
        folder.mkdir()
        return CASES

    monkeypatch.setattr(same_output, "prepare", few)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def tree(folder: Path, code: int = 0, error: str = "", file: str = '{"a": 1}') -> str:
    """A version of the package that says what it is told to."""
    package = folder / "kubesched_lint"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text(_SAYS.format(code=code, error=error, file=file))
    return str(folder)


def compare(old: str, new: str, only: tuple[str, ...] = ()) -> int:
    return same_output.compare(old, new, only, quick=False, shown=9, lines=9)


def test_the_same_is_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compare(tree(tmp_path / "a"), tree(tmp_path / "b")) == 0
    assert capsys.readouterr().out == "2 same\n"


def test_exit_codes_streams_and_files_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compare(tree(tmp_path / "a"), tree(tmp_path / "b", 1, "oh", '{"a": 2}')) == 1
    output = capsys.readouterr().out
    assert "== first: exit code  (and in 1 more)\n@@ -1 +1 @@\n-0\n+1\n" in output
    assert "== first: file json\n" in output
    assert '-{"a": 1}' not in output, "JSON is laid out before it is compared"
    assert '- "a": 1\n+ "a": 2\n' in output
    assert "== first: stderr  (and in 1 more)\n" in output
    assert output.endswith("2 of 2 commands differ (lint 1, rules 1)\n")


def test_only_some_groups(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compare(tree(tmp_path / "a"), tree(tmp_path / "b", 1), ("rules",)) == 1
    assert capsys.readouterr().out.endswith("1 of 1 commands differ (rules 1)\n")


def test_a_version_that_cannot_be_run_is_said(tmp_path: Path) -> None:
    with pytest.raises(same_output.UnusableError, match="no source tree, no git revision"):
        compare("no-such-thing", tree(tmp_path / "a"))


def test_what_a_revision_answered_is_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = tmp_path / "repository"
    same = tree(repository)
    for command in (["init", "-q"], ["add", "."], [*AUTHOR, "commit", "-q", "-m", "one"], ["tag", "one"]):
        subprocess.run(["git", *command], cwd=repository, check=True)
    monkeypatch.setattr(same_output, "ROOT", repository)
    for only, kept in ((("lint",), 0), ((), 1), ((), 2)):
        assert compare("one", same, only) == 0
        assert ("answers were kept" in capsys.readouterr().err) == bool(kept)
        (file,) = (tmp_path / "cache" / "kubesched-same-output").iterdir()
        with gzip.open(file, "rt") as opened:
            assert len(json.load(opened)) == max(len(only) or 2, kept)
    shutil.rmtree(repository / "kubesched_lint")
    assert compare("one", tree(repository, code=1)) == 1


def test_the_inputs_have_every_group_and_no_key_twice(tmp_path: Path) -> None:
    cases = prepare(tmp_path / "inputs")
    assert {case.group for case in cases} == set(GROUPS)
    assert len({case.key for case in cases}) == len(cases) > 2_000


@pytest.mark.thorough
def test_this_tree_agrees_with_itself(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, ROOT / "scripts/same_output.py", ".", ".", "--only", "commands", "--quick"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stdout.endswith(" same\n")
