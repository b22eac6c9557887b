"""The formats by name; each has its own module, imported when it is used."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module

from kubesched_lint.findings import Report
from kubesched_lint.report.context import RenderContext
from kubesched_lint.text import closest

Renderer = Callable[[Report, RenderContext], Iterable[str]]

FORMATS = {
    "text": "kubesched_lint.report.as_text",
    "json": "kubesched_lint.report.as_json",
    "sarif": "kubesched_lint.report.as_sarif",
    "github": "kubesched_lint.report.as_github",
    "gitlab": "kubesched_lint.report.as_gitlab",
    "junit": "kubesched_lint.report.as_junit",
    "markdown": "kubesched_lint.report.as_markdown",
    "html": "kubesched_lint.report.html.page",
}


class FormatError(ValueError):
    """An invalid ``--format``; the text is a message for the user."""


def renderer(name: str) -> Renderer:
    """Return the renderer of a format. Raises FormatError for an unknown name."""
    if name not in FORMATS:
        raise FormatError(_unknown(name))
    render: Renderer = import_module(FORMATS[name]).render
    return render


def _unknown(name: str) -> str:
    near = closest(name, FORMATS)
    return f"no format is called {name!r}{f', did you mean {near}?' if near else ''} ({', '.join(FORMATS)})"
