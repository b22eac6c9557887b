"""The page without a browser: one file, a policy that binds it, and nothing from a manifest that becomes markup."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable
from hashlib import sha256
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from string import ascii_lowercase

import pytest
from msgspec.structs import replace

from kubesched_lint.commands.lint.run import LintRun, Request, checked
from kubesched_lint.engine.base.places import Location, ObjectRef, Span
from kubesched_lint.findings import (
    Edit,
    Finding,
    Fix,
    InputError,
    Related,
    Report,
    Severity,
    Skip,
    Suppression,
    pattern,
    witness,
)
from kubesched_lint.linter.options import Options
from kubesched_lint.report.findings.context import CardView, RenderContext
from kubesched_lint.report.html.page import render
from kubesched_lint.report.html.prose import as_html
from kubesched_lint.rulebook.library import Rulebook

ROOT = Path(__file__).parent.parent.parent
REPORTS = ("hazards", "crowd", "hostile", "troubled", "waived", "clean")
EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)> \"'><svg onload=alert(3)> --> ]]> &lt; \u202e"

Context = Callable[..., RenderContext]


class Page(HTMLParser):
    """The elements of a page, as a browser's tokenizer sees them."""

    void = frozenset({"meta", "link", "input", "br", "wbr", "line", "rect", "circle"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.scripts: list[str] = []
        self.styles: list[str] = []
        self.text: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in self.void:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        inside = self.open[-1] if self.open else ""
        {"script": self.scripts, "style": self.styles}.get(inside, self.text).append(data)

    def has(self, tag: str, **attributes: str) -> list[dict[str, str]]:
        found = (attrs for name, attrs in self.elements if name == tag)
        return [attrs for attrs in found if all(attrs.get(key) == value for key, value in attributes.items())]


def page(report: Report, context: RenderContext) -> Page:
    return Page("".join(render(report, context)))


def run_on(folder: Path, cluster: Path) -> LintRun:
    return checked(Request((str(folder),), str(cluster)), Options(), Rulebook.shipped())


def digest(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


@pytest.mark.parametrize("name", REPORTS)
def test_elements_are_closed_and_ids_are_unique(name: str, reports: dict[str, Report], context: Context) -> None:
    found = page(reports[name], context())
    assert found.open == []
    ids = [attrs["id"] for _, attrs in found.elements if "id" in attrs]
    assert len(set(ids)) == len(ids)
    for _, attrs in found.elements:
        for reference in (*attrs.get("aria-labelledby", "").split(), *attrs.get("aria-controls", "").split()):
            assert reference in ids
        if attrs.get("href", "").startswith("#"):
            assert attrs["href"][1:] in ids


@pytest.mark.parametrize("name", REPORTS)
def test_the_policy_lets_in_nothing_but_the_pages_own_script_and_style(
    name: str, reports: dict[str, Report], context: Context
) -> None:
    found = page(reports[name], context())
    (policy,) = [m["content"] for m in found.has("meta") if m.get("http-equiv") == "Content-Security-Policy"]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    (style,) = found.styles
    assert rules["style-src"] == digest(style)
    assert rules["script-src"] == digest(found.scripts[-1])
    assert "unsafe" not in policy
    assert "http" not in policy


@pytest.mark.parametrize("name", REPORTS)
def test_nothing_is_loaded_from_anywhere(name: str, reports: dict[str, Report], context: Context) -> None:
    found = page(reports[name], context())
    for tag, attrs in found.elements:
        assert "src" not in attrs
        assert "style" not in attrs
        assert not [key for key in attrs if key.startswith("on")], attrs
        if tag != "a":
            assert not attrs.get("href", "").startswith("http")
    assert "url(http" not in found.styles[0]
    assert "@import" not in found.styles[0]
    assert not re.search(r"\b(fetch|XMLHttpRequest|import)\s*\(|innerHTML", found.scripts[-1])


def hostile_report() -> Report:
    where = Location(f"{EVIL}.yaml", Span(1, 1, 1, 9))
    one = Finding(
        "some-rule",
        Severity.ERROR,
        EVIL,
        EVIL,
        witness(EVIL, trace=(EVIL,), assumes=(EVIL,)),
        ObjectRef(EVIL, EVIL, EVIL),
        where,
        (Related(where, EVIL), Related(Location(f"other{EVIL}", Span(1, 2, 1, 4)), EVIL)),
        (Fix(EVIL, True),),
    )
    like = tuple(replace(one, object=ObjectRef("Pod", EVIL, f"{EVIL}{i}")) for i in range(4))
    waived = replace(one, suppressed=Suppression(EVIL, where))
    return Report((one, *like, waived), (Skip(EVIL, EVIL),), (InputError(EVIL, EVIL, 1, 1),))


def test_what_a_manifest_holds_never_becomes_markup(context: Context) -> None:
    card = CardView(
        "some-rule", EVIL, Severity.ERROR, f"## {EVIL}\n\n{EVIL} `{EVIL}`\n\n```yaml\n{EVIL}\n```\n", references=(EVIL,)
    )
    given = replace(context(), sources=lambda path: [EVIL, EVIL], cards=lambda slug: card)
    found = page(hostile_report(), given)
    assert len(found.has("script")) == 1
    assert found.has("img") == []
    assert found.has("svg") == []
    assert not [attrs for _, attrs in found.elements if any(key.startswith("on") for key in attrs)]
    assert "\u202e" not in "".join(found.text), "what turns text round is made visible"
    assert "alert(1)" in "".join(found.text), "and what was written is still told"


def test_names_of_a_real_run_never_become_markup(tmp_path: Path, context: Context) -> None:
    evil = "</script><script>alert(1)</script>"
    (tmp_path / "web.yaml").write_text(
        f"""apiVersion: apps/v1
kind: Deployment
metadata: {{name: "{evil}", namespace: "{evil}"}}
spec:
  replicas: 9
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec:
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - labelSelector: {{matchLabels: {{app: web}}}}
            topologyKey: rack
      containers: [{{name: c, image: a}}]
"""
    )
    labels = f'kubernetes.io/hostname: node-1, topology.kubernetes.io/zone: "{evil}", rack: "{evil}"'
    cluster = tmp_path / "nodes.yaml"
    cluster.write_text(
        f"""{{apiVersion: v1, kind: List, items: [
        {{apiVersion: v1, kind: Node, metadata: {{name: "{evil}", labels: {{{labels}}}}},
          status: {{allocatable: {{cpu: "4", memory: 8Gi, pods: "110"}}}}}}]}}"""
    )
    run = run_on(tmp_path / "web.yaml", cluster)
    assert run.cluster is not None, run.report.errors
    found = page(run.report, replace(context(), extras=run.extras))
    assert any(f.rule == "anti-affinity-exceeds-domains" for f in run.report.findings)
    assert [attrs.get("type", "") for attrs in found.has("script")] == ["application/json", ""]
    assert found.has("g", **{"data-zone": evil})
    assert len(found.scripts) == 2
    assert "<" not in found.scripts[0]


def test_the_underlined_source_is_the_span_of_the_finding(reports: dict[str, Report], context: Context) -> None:
    exceeds = next(f for f in reports["hazards"].findings if f.severity is Severity.ERROR)
    text = "".join(render(Report((exceeds,)), context()))
    rows = re.findall(r'<span class="row hit"><span class="no">(\d+)</span>(.*?)</span></span>', text)
    span = exceeds.location.span
    lines = context().sources(exceeds.location.path)
    number, row = rows[0]
    assert int(number) == span.line
    marked = unescape(re.sub(r"<[^>]+>", "", "".join(re.findall(r'<b class="u">(.*?)</b>', row))))
    assert marked == lines[span.line - 1][span.column - 1 :]
    assert re.search(r'<span class="label">6 replicas</span>', text)


def test_a_fix_shows_which_lines_go_and_which_come(context: Context) -> None:
    lines = ["spec:", "  topologySpreadConstraints:", "  - maxSkew: 1", "    topologyKey: zone", "  containers: []"]
    edits = (
        Edit("a.yaml", Span(4, 22, 4, 22), "\n    matchLabelKeys: [pod-template-hash]"),
        Edit("a.yaml", Span(3, 14, 3, 15), "2"),
    )
    place = Location("a.yaml", Span(3, 5, 3, 12))
    one = Finding(
        "r", Severity.NOTE, "m", "", pattern(), ObjectRef("Pod", "s", "p"), place, fixes=(Fix("mend", True, edits),)
    )
    text = "".join(render(Report((one,)), replace(context(), sources=lambda path: lines)))
    diff = re.findall(r'<span class="no">([-+ ])</span><span class="code">(.*?)</span>', text)
    assert diff == [
        ("-", "  - maxSkew: 1"),
        ("+", "  - maxSkew: 2"),
        (" ", "    topologyKey: zone"),
        ("+", "    matchLabelKeys: [pod-template-hash]"),
    ]


def test_every_finding_with_its_reasons_is_on_the_page(reports: dict[str, Report], context: Context) -> None:
    for name in ("hazards", "waived", "troubled"):
        report = reports[name]
        text = " ".join("".join(page(report, context()).text).split())
        for one in report.findings:
            assert " ".join(one.message.split()) in text
            if one.suppressed is None:
                assert one.help in text
                assert all(event in text for event in one.evidence.trace)
        for error in report.errors:
            assert error.message in text
        for skip in report.skipped:
            assert skip.reason.removeprefix("needs ") in text


def apart(count: int) -> Report:
    """Findings none of which is like another."""
    words = ["".join(ascii_lowercase[(i // 26**k) % 26] for k in range(4)) for i in range(count)]
    subject = ObjectRef("Deployment", "shop", "web")
    return Report(
        tuple(
            Finding(
                "r",
                Severity.WARNING,
                f"about {word}",
                "help " * 20,
                pattern("why " * 30),
                subject,
                Location("agent.yaml", Span(9, 3, 9, 9)),
            )
            for word in words
        )
    )


def test_five_thousand_findings_make_a_page_that_a_browser_can_hold(context: Context) -> None:
    text = "".join(render(apart(5_000), context()))
    assert len(text.encode()) < 6_000_000
    assert text.count("<article") == 1_000
    assert text.count("about ") >= 5_000, "the others have a line each"
    beyond = "".join(render(apart(7_000), context()))
    assert "… and 1,000 more findings" in beyond


def test_the_rules_text_is_there_once_however_many_findings_it_has(context: Context) -> None:
    text = "".join(render(apart(50), context()))
    assert text.count('id="rule-r"') == 1
    assert text.count("A hazard, with <code>code</code>.") == 1


def test_a_cards_markdown_is_laid_out_and_leads_to_the_web_only() -> None:
    shown = as_html(
        "# title\n\n## What *it* finds\n\nA `<b>` and [a page](https://kubernetes.io/a?b=1&c), [near](other.md),\n"
        "[bad](javascript:alert(1)).\n\n- one\n  and more\n- **two**\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
        "\n```yaml\nkind: Pod\n```\n"
    )
    assert "title" not in shown
    assert "<h4>What <em>it</em> finds</h4>" in shown
    assert "<code>&lt;b&gt;</code>" in shown
    assert '<a href="https://kubernetes.io/a?b=1&amp;c" rel="noreferrer">a page</a>' in shown
    assert "javascript" not in re.sub(r">[^<]*<", "><", shown)
    assert "<ul><li>one and more</li><li><strong>two</strong></li></ul>" in shown
    assert "<tr><td>1</td><td>2</td></tr>" in shown
    assert '<i class="k">kind</i>: Pod' in shown
