"""Of many cases CI tries a share, and ``just test-all`` tries all."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from tests import share

ROOT = Path(__file__).parents[1]


def thorough(cases: list[object]) -> list[bool]:
    return [bool(getattr(case, "marks", ())) for case in cases]


def test_what_is_left_is_marked() -> None:
    assert thorough(share.first(2, "abc")) == [False, False, True]
    assert thorough(share.every(2, [(1, 2), (3, 4), (5, 6)])) == [False, True, False]
    assert share.every(2, [(1, 2), (3, 4)])[1].values == (3, 4)


@pytest.mark.parametrize(("is_part", "cases", "count"), [(True, [0, 6], 2), (False, [*range(10)], 10)])
def test_loops_and_draws_try_a_sixth_in_ci(
    is_part: bool, cases: list[int], count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(share, "is_part", is_part)
    monkeypatch.delenv("EXAMPLES", raising=False)
    assert (share.some(range(10)), share.examples(10)) == (cases, count)


def test_the_command_of_the_readme_leaves_out_what_is_thorough_and_test_all_does_not() -> None:
    options = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    assert options["addopts"].endswith(" -m 'not thorough'")
    command = "python -m pytest -n 2"
    assert f"&& {command}\n" in (ROOT / "README.md").read_text()
    assert f"\n{command} #" in (ROOT / ".ci/run").read_text()
    assert f"\n    {command} -m '' {{{{args}}}}\n" in (ROOT / "justfile").read_text()


def test_every_module_keeps_a_test_in_ci(request: pytest.FixtureRequest) -> None:
    if request.config.option.keyword or request.config.option.deselect or not share.is_part:
        pytest.skip("other tests are left out, or none")
    left = {item.path for item in request.config.stash.get(share.LEFT, [])}
    assert left - {item.path for item in request.session.items} == set()
