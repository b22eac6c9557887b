"""The page on the configuration speaks of every key, and what it shows can be followed."""

from __future__ import annotations

import re
from pathlib import Path

from kubesched_lint.project.config.file import read_config
from kubesched_lint.project.config.keys import KEYS, OVERRIDE_KEYS, TABLES, TARGET_KEYS, TARGET_SETTINGS
from kubesched_lint.rulebook.library import Rulebook

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "configuration.md").read_text()
REFERENCE = (DOCS / "reference" / "configuration.md").read_text()


def test_every_key_is_in_the_table() -> None:
    for key in KEYS:
        (row,) = re.findall(rf"^\| `{key.name}` \|.*$", REFERENCE, re.MULTILINE)
        assert all(f"`{choice}`" in row for choice in key.choices)
    for name in (*TABLES, *OVERRIDE_KEYS, *TARGET_KEYS, *TARGET_SETTINGS):
        assert name in PAGE


def test_what_the_page_shows_is_a_configuration(tmp_path: Path) -> None:
    shown = [re.sub("^   ", "", text, flags=re.MULTILINE) for text in re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)]
    assert len(shown) == 3
    for text in shown:
        file = tmp_path / ("pyproject.toml" if "[tool." in text else "kubesched.toml")
        file.write_text(text)
        config = read_config(str(file), Rulebook.shipped())
        assert all(one["cluster"].value for one in (*(t.values for t in config.targets), config.values) if one)
        assert config.targets or config.values["cluster"].value
