"""Every report in every format, held against what people have read and found good."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kubesched_lint.findings import Report
from kubesched_lint.report.findings.context import RenderContext
from kubesched_lint.report.findings.formats import FORMATS, renderer

# A page changes with every touch of its style; what it must hold is told by test_report_html.py.
LINES = tuple(name for name in FORMATS if name != "html")
REPORTS = ("hazards", "crowd", "hostile", "troubled", "waived", "clean")


@pytest.mark.parametrize("name", REPORTS)
@pytest.mark.parametrize("format_name", LINES)
def test_a_report_is_rendered_as_it_was_approved(
    name: str,
    format_name: str,
    reports: dict[str, Report],
    context: Callable[..., RenderContext],
    golden: Callable[[str, str], None],
) -> None:
    text = "".join(renderer(format_name)(reports[name], context()))
    golden(f"{name}.{format_name}.txt", text)


@pytest.mark.parametrize("name", REPORTS)
@pytest.mark.parametrize("width", [80, 120])
def test_text_fits_the_terminal_as_it_was_approved(
    name: str,
    width: int,
    reports: dict[str, Report],
    context: Callable[..., RenderContext],
    golden: Callable[[str, str], None],
) -> None:
    golden(f"{name}.text.{width}.txt", "".join(renderer("text")(reports[name], context(width))))


def test_colours_are_as_they_were_approved(
    reports: dict[str, Report], context: Callable[..., RenderContext], golden: Callable[[str, str], None]
) -> None:
    golden("hazards.text.80.ansi", "".join(renderer("text")(reports["hazards"], context(80, color=True))))
