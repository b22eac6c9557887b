"""The site shows every page once, generates the reference from the code, and links to what it does not show.

.ci/run builds it, where Sphinx reports each link that leads nowhere.
"""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

import kubesched_lint
from kubesched_lint.project.config.keys import KEYS
from kubesched_lint.rulebook.library import Rulebook

ROOT = Path(__file__).parents[2]
SITE = ROOT / "scripts" / "site"


@pytest.fixture(scope="module")
def conf() -> dict[str, Any]:
    before = sys.path[:]
    found = runpy.run_path(str(SITE / "conf.py"))
    sys.path[:] = before
    return found


def shown(conf: dict[str, Any], page: str) -> str:
    """The Markdown that the site shows for a page."""
    source = [(ROOT / f"{page}.md").read_text()]
    conf["read"](None, page, source)
    return source[0]


def test_the_navigation_has_every_page_once(conf: dict[str, Any]) -> None:
    start = shown(conf, "docs/README")
    listed = re.findall(r"^.+ <(.+)>$", start, re.MULTILINE)
    folder = ROOT / "docs"
    pages = [(folder / f"{page}.md").resolve() for page in listed]
    assert len(set(pages)) == len(pages)
    wanted = {*ROOT.glob("*.md"), *folder.glob("*.md"), *folder.glob("reference/*.md")} - {folder / "README.md"}
    wanted |= {ROOT / kind / name for kind in ("rules", "workloads") for name in ("README.md", "CARDS.md")}
    assert set(pages) == wanted | {folder / "decisions" / "README.md"}
    assert re.findall(r"^:caption: (.+)$", start, re.MULTILINE) == re.findall(r"^## (.+)$", start, re.MULTILINE)[:5]


def test_the_reference_has_every_command_key_and_name(conf: dict[str, Any]) -> None:
    commands = shown(conf, "docs/reference/commands")
    assert {"## kubesched-lint lint", "## kubesched-lint rules explain"} <= set(commands.splitlines())
    assert "--unsafe-fixes" in commands
    keys = shown(conf, "docs/reference/configuration")
    assert [key.name for key in KEYS if f"| `{key.name}` |" not in keys] == []
    assert [rule.slug for rule in Rulebook.shipped() if rule.params and f"| [{rule.slug}](" not in keys] == []
    names = shown(conf, "docs/reference/library")
    public = {name for name in kubesched_lint.__all__ if not name.startswith("_")}
    sections = re.split(r"^## ", names, flags=re.MULTILINE)[1:]
    assert {section.split("\n")[0] for section in sections} == public
    assert [section for section in sections if len(section.split()) < 5] == [], "every name says what it is"
    assert "- `fingerprint`: `str`" in names


def test_cards_are_shown_as_explain_prints_them(conf: dict[str, Any]) -> None:
    rule = shown(conf, "rules/untolerated-taints")
    assert rule.startswith("---\norphan: true\n---\n# untolerated-taints\n")
    assert "- **Severity:** error" in rule
    kind = shown(conf, "workloads/rayjobs.ray.io")
    assert "- **Kind:** RayJob of ray.io" in kind
    assert "## How its fields are read" in kind
    assert shown(conf, "rules/CARDS") == (ROOT / "rules" / "CARDS.md").read_text().replace(
        "(card.schema.json)", f"({conf['REPOSITORY']}/blob/main/rules/card.schema.json)"
    )


def test_a_link_to_what_is_no_page_leads_to_the_repository(conf: dict[str, Any]) -> None:
    address, repository = conf["address"], conf["REPOSITORY"]
    assert address("docs/ci", "pools.md", "#minimum-sizes") == "pools.md#minimum-sizes"
    assert address("docs/ci", "../rules/README.md", "") == "../rules/README.md"
    assert address("docs/ci", "../examples/shop-repo", "") == f"{repository}/tree/main/examples/shop-repo"
    assert address("README", "LICENSE", "") == f"{repository}/blob/main/LICENSE"
    assert address("docs/proofs", "pictures/proof.svg", "") == "pictures/proof.svg"
    assert address("docs/ci", "nowhere.md", "") == "nowhere.md", "Sphinx reports it"
    code = "```yaml\na: [b](LICENSE)\n```\n[b](LICENSE)"
    assert list(conf["outward"]("README", code))[1:3] == ["a: [b](LICENSE)", "```"]
    assert list(conf["outward"]("README", code))[3] == f"[b]({repository}/blob/main/LICENSE)"


@pytest.mark.parametrize(
    ("text", "is_refused"),
    [
        ('<script src="https://cdn.example.com/a.js"></script>', True),
        ("<link rel='stylesheet' href='//fonts.example.com/css'>", True),
        ("a { background: url(https://example.com/a.png) }", True),
        ('<a href="https://example.com/a.js">a</a><script src="_static/a.js"></script>', False),
    ],
)
def test_the_site_loads_nothing_from_other_hosts(
    conf: dict[str, Any], text: str, is_refused: bool, tmp_path: Path
) -> None:
    class App:
        outdir = tmp_path

    (tmp_path / ("a.css" if "{" in text else "a.html")).write_text(text)
    if is_refused:
        with pytest.raises(SystemExit):
            conf["check"](App, None)
    else:
        conf["check"](App, None)


def test_ci_builds_it_and_takes_no_warning() -> None:
    run = (ROOT / ".ci" / "run").read_text()
    assert " python -m sphinx -q -W --keep-going -c scripts/site . " in run
    assert '\ntypes_and_site >"$made/beside.txt" 2>&1 &\nbeside=$!\n' in run, "beside the tests"
    assert '\nwait "$beside" && passed=0 || passed=$?\n' in run
    assert run.endswith('\nexit "$passed"\n'), "a warning of it fails the run"
