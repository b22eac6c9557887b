"""The pictures of the pages load nothing from anywhere; tests/docs/test_generated.py draws them anew."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parent.parent.parent
PICTURES = sorted((ROOT / "docs" / "pictures").glob("*.svg"))


@pytest.mark.parametrize("picture", PICTURES, ids=lambda path: path.stem)
def test_a_picture_stands_alone(picture: Path) -> None:
    text = picture.read_text()
    root = ElementTree.fromstring(text)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert {element.tag.rpartition("}")[2] for element in root.iter()} <= {"svg", "g", "rect", "circle", "text"}
    assert text.count("http") == 1  # the namespace
    assert root.get("aria-label")


def test_every_picture_is_on_a_page() -> None:
    pages = "".join(page.read_text() for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")))
    assert len(PICTURES) >= 5
    assert [picture.name for picture in PICTURES if f"pictures/{picture.name})" not in pages] == []
