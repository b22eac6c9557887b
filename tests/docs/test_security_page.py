"""SECURITY.md says which module keeps each promise: they are there, and so are the pages it points to."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "SECURITY.md").read_text()


def test_every_module_that_keeps_a_promise_is_there() -> None:
    named = set(re.findall(r"`(kubesched_lint/[a-z_/]+(?:\.py)?|tests/[a-z_]+)`", PAGE))
    assert len(named) > 12
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_every_page_it_points_to_has_that_heading() -> None:
    for path, heading in re.findall(r"\]\(([a-z./]+)#([a-z-]+)\)", PAGE):
        headings = re.findall(r"^#+ (.*)$", (ROOT / path).read_text(), re.MULTILINE)
        assert heading in [h.lower().replace(" ", "-") for h in headings], (path, heading)


def test_it_fits_on_a_page() -> None:
    assert len(PAGE.splitlines()) < 80
