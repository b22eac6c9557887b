"""What docs/fixes.md says, done: its commands print what it shows."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from tests.program import called

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/fixes.md").read_text()


def fences(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_the_commands_of_the_page_do_what_it_shows(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "fixtures/shop", tmp_path / "fixtures/shop")
    (tmp_path / "fixtures/clusters").mkdir()
    shutil.copy2(ROOT / "fixtures/clusters/three-zones.yaml", tmp_path / "fixtures/clusters")
    said = []
    commands = [line for fence in fences("console") for line in fence.splitlines()]
    assert len(commands) == 4
    shown = ""
    for command in sorted(commands, key=lambda c: "--fix" in c):  # the report of the page is of the files as they were
        name, *arguments = command.split()
        assert name == "kubesched-lint"
        done = called(*arguments, cwd=tmp_path)
        assert done.returncode == 1, done.stderr
        said += done.stderr.splitlines()
        shown += done.stdout
    (diff,) = fences("diff")
    assert diff in shown
    for text in fences("text"):
        for line in text.splitlines():
            assert line in said
    assert '"fixes"' in (tmp_path / "out.sarif").read_text()


def test_the_code_of_the_page_on_cards_is_that_of_the_fix_it_describes() -> None:
    (code,) = re.findall(
        r"^```python\n(def fix.*?)^```$", (ROOT / "rules/CARDS.md").read_text(), re.MULTILINE | re.DOTALL
    )
    assert 'Append((*hazard.at, "matchLabelKeys"), "pod-template-hash"' in code
    described = (ROOT / "kubesched_lint/explaining/remedies/rollouts.py").read_text()
    assert 'Append((*term, "matchLabelKeys"), label, after=("labelSelector",))' in described


def test_the_hook_of_the_page_is_there() -> None:
    assert "- id: kubesched-lint-fix" in PAGE
    assert "- id: kubesched-lint-fix" in (ROOT / ".pre-commit-hooks.yaml").read_text()
