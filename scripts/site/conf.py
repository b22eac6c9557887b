"""The site of the documentation, for Sphinx: ``sphinx-build -W --keep-going -c scripts/site . build/site``.

The pages stay as they are in the repository. When Sphinx reads one, a card shows its facts, the reference gets its
generated parts, and links to other files lead to the repository.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]

from reference import filled  # noqa: E402

from kubesched_lint.commands.workloads.explained import explained  # noqa: E402
from kubesched_lint.custom.kinds import SHIPPED  # noqa: E402
from kubesched_lint.rulebook.cards.card import as_markdown, read_card  # noqa: E402
from kubesched_lint.rulebook.library import Rulebook  # noqa: E402
from kubesched_lint.version import __version__  # noqa: E402

project = "kubesched-lint"
release = version = __version__
extensions = ["myst_parser"]
myst_heading_anchors = 6
suppress_warnings = ["myst.header"]  # rules/README.md goes from its title to families at the third level
root_doc = "docs/README"
include_patterns = [
    "*.md",
    "docs/*.md",
    "docs/decisions/*.md",
    "docs/reference/*.md",
    "rules/*.md",
    "workloads/*.md",
]
smartquotes = False  # would make a dash of --
html_theme = "furo"
html_title = f"kubesched-lint {release}"
html_extra_path = ["index.html"]
html_copy_source = False
html_show_sphinx = False

CHANGELOG = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]["Changelog"]
ELSEWHERE = re.compile(rb"""(?:\bsrc=|<link[^>]*\bhref=|url\(|@import )["']?(?:https?:)?//""")
REPOSITORY = CHANGELOG.partition("/blob/")[0]
LINK = re.compile(r"(?<=\]\()(?!https?:|mailto:|#)([^)#\s]+)(#[^)\s]*)?(?=\))")


def setup(app: Any) -> None:
    app.connect("source-read", read)
    app.connect("build-finished", check)


def read(app: Any, page: str, source: list[str]) -> None:
    """Replace the text of a page by what the site shows."""
    text = source[0]
    if page == root_doc:
        text += "".join(navigation(text))
    elif page in ("docs/reference/commands", "docs/reference/library"):
        text = filled(page, text)
    elif page == "docs/decisions/README":
        text += "\n```{toctree}\n:hidden:\n:glob:\n\n0*\n```\n"
    elif text.startswith("---\n"):
        text = "---\norphan: true\n---\n" + card(page)
    source[0] = "\n".join(outward(page, text))


def navigation(text: str) -> Iterator[str]:
    """Yield a hidden table of contents for each section of the start page that lists pages."""
    for section in text.split("\n## ")[1:]:
        links = re.findall(r"^- \[(.+)\]\((.+)\.md\)$", section, re.MULTILINE)
        if links:
            title, lines = section.split("\n")[0], "\n".join(f"{words} <{target}>" for words, target in links)
            yield f"\n```{{toctree}}\n:hidden:\n:titlesonly:\n:caption: {title}\n\n{lines}\n```\n"


def card(page: str) -> str:
    """Return the card of a rule or of a kind as ``explain`` prints it."""
    folder, slug = page.split("/")
    if folder == "workloads":
        return next(explained(kind) for kind in SHIPPED if kind.slug == slug)
    rule_card = read_card(ROOT / f"{page}.md")
    return as_markdown(Rulebook.shipped().get(slug), rule_card)


def outward(page: str, text: str) -> Iterator[str]:
    """Yield the lines; a link to a file that is no page, such as a schema, leads to the repository."""
    is_code = False
    for line in text.split("\n"):
        is_code ^= line.lstrip().startswith("```")
        yield line if is_code else LINK.sub(lambda match: address(page, match[1], match[2] or ""), line)


def address(page: str, target: str, anchor: str) -> str:
    """Return a link as it is, if it leads to a page, a picture or nowhere, which Sphinx reports."""
    path = (ROOT / page).parent.joinpath(target).resolve()
    name = path.relative_to(ROOT).as_posix()
    if path.suffix == ".svg" or is_page(name) or not path.exists():
        return f"{target}{anchor}"
    return f"{REPOSITORY}/{'tree' if path.is_dir() else 'blob'}/main/{name}{anchor}"


def is_page(name: str) -> bool:
    folder, _, file = name.rpartition("/")
    return file.endswith(".md") and f"{folder}/*.md".lstrip("/") in include_patterns


def check(app: Any, error: Exception | None) -> None:
    """Raise SystemExit if a file of the site loads a font, a script or a picture from another host."""
    for file in () if error else Path(app.outdir).rglob("*"):
        if file.suffix in (".html", ".css") and ELSEWHERE.search(file.read_bytes()):
            raise SystemExit(f"{file} loads something from another host")
