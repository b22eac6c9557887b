"""Pages stay short: what a reader looks up has few words, and what is research stands in docs/research."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
GENERATED = {"facts", "reference/configuration", "calibration"}
"""Pages of tables that ``just generate`` writes: nobody reads them from the first word to the last."""
GROUPS = {
    "first hour": (6100, ("tutorial", "snapshot", "sketch", "pools", "ci", "baseline", "fixes")),
    "answers": (5300, ("proofs", "simulate", "plan", "check", "fit", "drain", "audit")),
    "reference": (6200, ("configuration", "formats", "versioning", "library", "fleet", "editors", "scheduler-config",
                         "rendering", "gitops", "README", "reference/commands", "reference/library")),
    "extend": (3000, ("own-rules", "workloads", "verify", "engine")),
    "special": (2400, ("devices", "gangs", "ci-more")),
    "trust": (1400, ("precision", "comparison")),
}  # fmt: skip
"""Group → how many words it is meant to have, and its pages."""
ALL = 23_300
"""Half of what the pages had when they were read again in November 2026."""


def words(page: str) -> int:
    return len((DOCS / f"{page}.md").read_text().split())


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_of_pages_is_short(group: str) -> None:
    most, pages = GROUPS[group]
    assert sum(map(words, pages)) <= most * 1.1


def test_all_pages_together_are_half_of_what_they_were() -> None:
    assert sum(words(page) for _, pages in GROUPS.values() for page in pages) <= ALL * 1.05


def test_every_page_is_in_one_group() -> None:
    there = [str(file.relative_to(DOCS).with_suffix("")) for file in (*DOCS.glob("*.md"), *DOCS.glob("reference/*.md"))]
    assert sorted(there) == sorted([*GENERATED, *(page for _, pages in GROUPS.values() for page in pages)])


def test_the_page_on_the_architecture_is_read_in_ten_minutes() -> None:
    assert len((ROOT / "ARCHITECTURE.md").read_text().split()) <= 1500
