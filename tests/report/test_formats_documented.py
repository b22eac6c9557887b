"""docs/formats.md: what it shows is what is printed. ``pytest --update-golden`` writes the page anew."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

from kubesched_lint.report.findings.formats import FORMATS
from tests.program import called

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs" / "formats.md"
SHOP, SKETCH = "fixtures/shop", "fixtures/clusters/three-zones.yaml"
RULE = ("--select", "anti-affinity-exceeds-domains")


def shown() -> dict[str, str]:
    """``name`` → text of the fences whose info is ``shows=name``."""
    found = re.finditer(r"^```\w+ shows=(\S+)\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    return {fence[1]: fence[2] for fence in found}


def lint(folder: Path, *arguments: str) -> str:
    shutil.copytree(ROOT / SHOP, folder / SHOP, dirs_exist_ok=True)
    (folder / SKETCH).parent.mkdir(exist_ok=True)
    shutil.copy(ROOT / SKETCH, folder / SKETCH)
    done = called("lint", *arguments, cwd=folder, environ={**os.environ, "COLUMNS": "100"})
    assert done.returncode == 1, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", sorted(shown()))
def test_the_page_shows_what_is_printed(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    printed = lint(tmp_path, SHOP, "-c", SKETCH, *RULE, "--format", name)
    if request.config.getoption("--update-golden"):
        fence = re.compile(rf"^(```\w+ shows={name}\n).*?^```$", re.MULTILINE | re.DOTALL)
        PAGE.write_text(fence.sub(lambda found: f"{found[1]}{printed}```", PAGE.read_text()))
    assert shown()[name] == printed, "if that is meant, run pytest --update-golden"


def test_every_command_of_the_page_runs(tmp_path: Path) -> None:
    commands = re.findall(r"^kubesched-lint lint (.+)$", PAGE.read_text(), re.MULTILINE)
    assert len(commands) == 2
    for command in commands:
        lint(tmp_path, *command.split())
    assert (tmp_path / "lint.sarif").is_file()
    assert "</html>" in (tmp_path / "lint.html").read_text()


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("file", ["README.md", "ARCHITECTURE.md", "kubesched_lint/cli/parsing/options.py"])
def test_every_list_of_formats_has_it(file: str, name: str) -> None:
    lists = [line for line in (ROOT / file).read_text().lower().splitlines() if "sarif" in line and "github" in line]
    assert any(re.search(rf"\b{name}\b", line) for line in lists), f"{file} lists the formats without {name}"


def test_the_page_has_every_format() -> None:
    assert set(re.findall(r"^## (\w+)$", PAGE.read_text(), re.MULTILINE)) == set(FORMATS)
    assert set(re.findall(r"^\| `(\w+)` \|", PAGE.read_text(), re.MULTILINE)) == set(FORMATS)
