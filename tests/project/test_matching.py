"""Patterns of the configuration: what they match, and what a hostile repository cannot make of them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from glob import glob
from pathlib import Path

import pytest

from kubesched_lint.project.config import matching
from kubesched_lint.project.config.file import read_config
from kubesched_lint.project.config.keys import ConfigError
from kubesched_lint.rulebook.library import Rulebook

_FILES = (
    "teams/a/prod/web.yaml",
    "teams/b/prod/x/web.yaml",
    "teams/.c/prod/web.yaml",
    "teams/b/dev/web.yaml",
    "z.yaml",
)


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "repo"
    for name in (".git/x", *_FILES):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("")
    monkeypatch.chdir(root)
    return root


def paths(*patterns: str) -> Sequence[str]:
    listed = ", ".join(f'"{one}"' for one in patterns)
    Path("kubesched.toml").write_text(f'[[targets]]\nname = "t"\npaths = [{listed}]\n')
    return read_config("kubesched.toml", Rulebook.shipped()).targets[0].paths


@pytest.mark.parametrize(
    "pattern",
    [
        "teams/*/prod",
        "teams/**",
        "**/web.yaml",
        "*",
        "**/**/prod/**/*.yaml",
        "teams/.*/prod",
        "./*s/[ab]/*",
        "teams/?/**",
    ],
)
def test_patterns_match_as_those_of_glob(repo: Path, pattern: str) -> None:
    assert paths(pattern) == tuple(sorted({os.path.normpath(found) for found in glob(pattern, recursive=True)}))
    assert paths(str(repo / pattern))


def test_links_that_loop_and_parts_that_repeat_cost_little(repo: Path) -> None:
    """``glob`` needs more than a minute for each of these."""
    for name in ("a", "b"):
        (repo / f"teams/{name}/loop").symlink_to("..")
        (repo / f"teams/{name}/again").symlink_to("..")
    assert "teams/a/loop" in paths("teams/**")
    assert len(paths("teams/**")) < 20
    assert "z.yaml" in paths("**/" * 400 + "*.yaml")
    with pytest.raises(ConfigError, match="nothing matches"):
        paths("teams" + "/*" * 300)


def test_no_link_is_followed_out_of_the_repository(repo: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret/of-others").write_text("")
    (repo / "out").symlink_to(tmp_path / "secret")
    for pattern in ("o*/*", "o*/**", "**/of-*"):
        with pytest.raises(ConfigError) as error:
            paths(pattern)
        assert "of-others" not in str(error.value)


def test_a_pattern_with_too_much_to_compare_is_one_problem(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "MOST_COMPARED", 10)
    with pytest.raises(ConfigError, match=r"^kubesched.toml:3:9: .*more than .* to compare") as error:
        paths("teams/**", "**/x", "*/a")
    assert len(str(error.value).splitlines()) == 1


def test_a_pattern_with_an_empty_part_has_places(repo: Path) -> None:
    assert paths("teams//*/prod/") == ("teams/a/prod", "teams/b/prod")
