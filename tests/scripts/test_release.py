"""What ``scripts/release.py`` refuses before it changes anything."""

from __future__ import annotations

import datetime
import re

import pytest

from kubesched_lint.version import __version__
from scripts import release

CARDS = [card for card in (release.ROOT / "rules").glob("*.md") if card.read_text().startswith("---")]
DAY = datetime.date(2026, 11, 22)


@pytest.mark.parametrize(
    ("version", "why"),
    [("0.2", "no version"), ("v0.2.0", "no version"), ("0.10.0", "not later than 0.10.0"), ("0.9.9", "not later")],
)
def test_a_version_must_be_later_than_all_others(version: str, why: str) -> None:
    with pytest.raises(release.ReleaseError, match=why):
        release.must_be_new(version, ["v0.9.0", "v0.10.0", "notes"])


def test_later_versions_may_be() -> None:
    release.must_be_new("0.10.1", ["v0.9.0", "v0.10.0"])
    release.must_be_new("0.1.0", [])


def test_the_changelog_gets_its_date() -> None:
    text = "# Changelog\n\n## 0.2.0 (unreleased)\n\n- a rule\n\n## 0.1.0 (2026-10-01)\n\n- all\n"
    assert release.dated(text, "0.2.0", DAY) == text.replace("(unreleased)", "(2026-11-22)")


@pytest.mark.parametrize("name", release.NAMING)
def test_every_file_names_the_version_that_is_released(name: str) -> None:
    text = (release.ROOT / name).read_text()
    assert release.naming(text, release.NAMING[name], __version__) == text
    assert "9.8.7" in release.naming(text, release.NAMING[name], "9.8.7")


def test_every_page_with_recipes_names_it_wherever_it_names_one() -> None:
    files = (*(release.ROOT / "docs").glob("*.md"), *(release.ROOT / "examples" / "deploy-gates").iterdir())
    pages = {str(file.relative_to(release.ROOT)): file.read_text() for file in files}
    recipes = {name: text for name, text in pages.items() if "/kubesched-lint:" in text}
    assert recipes.keys() == {name for name in release.NAMING if name.startswith(("docs/", "examples/"))}
    for name, text in recipes.items():
        assert __version__ not in release.naming(text, release.NAMING[name], "9.8.7")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("# Changelog\n\n## 0.1.0 (2026-10-01)\n\n- all\n", "must begin with"),
        ("# Changelog\n\n## 0.2.0 (2026-10-01)\n\n- all\n", "must begin with"),
        ("# Changelog\n\n## 0.2.0 (unreleased)\n\n## 0.1.0 (2026-10-01)\n\n- all\n", "tells nothing"),
    ],
)
def test_a_changelog_that_tells_nothing_is_refused(text: str, why: str) -> None:
    with pytest.raises(release.ReleaseError, match=why):
        release.dated(text, "0.2.0", DAY)


def test_our_changelog_can_be_released() -> None:
    text = (release.ROOT / "CHANGELOG.md").read_text()
    version = text.split("## ", 1)[1].split(" ")[0]
    assert release.dated(text, version, DAY) != text


def test_the_version_is_the_one_that_the_changelog_begins_with() -> None:
    text = (release.ROOT / "CHANGELOG.md").read_text()
    assert text.split("\n## ", 1)[1].split(" ")[0] == __version__


def test_no_rule_is_of_a_later_version() -> None:
    dates = {card.name: re.search(r"^since: (\S+)$", card.read_text(), re.MULTILINE) for card in CARDS}
    assert {date[1] for date in dates.values() if date} <= {"0.1.0", __version__}
    assert all(dates.values())


def test_no_rule_in_preview_is_of_the_first_version() -> None:
    """It had none; ``baseline update`` tells by ``since`` which findings are of new rules."""
    previews = [card.read_text() for card in CARDS if "\npreview: true\n" in card.read_text()]
    assert previews
    assert not [text for text in previews if "\nsince: 0.1.0\n" in text]
