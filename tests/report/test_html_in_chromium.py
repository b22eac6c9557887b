"""The page in a real browser: keys, focus, the lit picture, themes, paper, and that nothing hostile ever runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from kubesched_lint.commands.lint.run import LintRun, Request, checked
from kubesched_lint.engine.base.places import Location, ObjectRef, Span
from kubesched_lint.findings import Finding, Related, Report, Severity, pattern
from kubesched_lint.linter.options import Options
from kubesched_lint.report.findings.context import CardView, RenderContext
from kubesched_lint.report.html.page import render
from kubesched_lint.rulebook.library import Rulebook
from tests.report.browser import NAMES, Browser, find

ROOT = Path(__file__).parent.parent.parent
PROGRAM = find()
# Where CI promises a browser, a missing one is a failure.
pytestmark = pytest.mark.skipif(
    PROGRAM is None and not os.environ.get("KUBESCHED_NEEDS_CHROMIUM"), reason=f"none of {', '.join(NAMES)} is on PATH"
)

NOW = "document.querySelector('article.finding.now')?.id"
LIT = "[...document.querySelectorAll('.zone.lit')].map((zone) => zone.dataset.zone)"

CLUSTER = """apiVersion: kubesched-lint/v1
kind: ClusterSketch
nodes:
- {name: worker, count: 2, zones: [zone-a, zone-b], allocatable: {cpu: "4", memory: 16Gi}}
- {name: gpu, count: 1, zones: [zone-c], taints: ["gpu=true:NoSchedule"], allocatable: {cpu: "4", memory: 16Gi}}
"""
WEB = """apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 4
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - labelSelector: {matchLabels: {app: web}}
            topologyKey: topology.kubernetes.io/zone
      containers: [{name: c, image: "web:1", resources: {requests: {cpu: 100m}}}]
"""
GPU = """apiVersion: v1
kind: Pod
metadata: {name: train, namespace: shop}
spec:
  nodeSelector: {topology.kubernetes.io/zone: zone-c}
  containers: [{name: c, image: "train:1", resources: {requests: {cpu: 100m}}}]
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    assert PROGRAM is not None, "KUBESCHED_NEEDS_CHROMIUM is set, and there is none"
    started = Browser(PROGRAM)
    started.size(1400, 900)
    yield started
    started.close()


def page_of(run: LintRun, file: Path) -> Path:
    def lines(path: str) -> list[str]:
        return Path(path).read_text().split("\n")

    def card(slug: str) -> CardView:
        return CardView(
            slug, "what it is about", Severity.ERROR, f"# {slug}\n\n## What it finds\n\nThe prose of {slug}.\n"
        )

    file.write_text("".join(render(run.report, RenderContext(lines, card, extras=run.extras))))
    return file


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two errors on a cluster of five nodes: one lights two zones, the other's nodes are tainted."""
    folder = tmp_path_factory.mktemp("page")
    (folder / "cluster.yaml").write_text(CLUSTER)
    for name, text in (("a-train.yaml", GPU), ("b-web.yaml", WEB)):
        (folder / "set").mkdir(exist_ok=True)
        (folder / "set" / name).write_text(text)
    rules = ("anti-affinity-exceeds-domains", "untolerated-taints")
    request = Request((str(folder / "set"),), str(folder / "cluster.yaml"))
    run = checked(request, Options(select=rules), Rulebook.shipped())
    assert [f.rule for f in run.report.findings] == ["untolerated-taints", "anti-affinity-exceeds-domains"]
    return page_of(run, folder / "page.html")


@pytest.fixture
def opened(browser: Browser, page: Path) -> Iterator[Browser]:
    browser.media("light")
    browser.open(page)
    browser.run("try { localStorage.clear() } catch {}")
    yield browser
    assert browser.complaints == []
    assert browser.requests == [page.as_uri()], "a page asks for nothing but itself"


def test_j_and_k_move_the_focus_from_finding_to_finding(opened: Browser) -> None:
    focus = "document.activeElement.id"
    opened.press("j")
    assert opened.run(focus) == "f1"
    opened.press("j")
    assert opened.run(focus) == "f2"
    opened.press("j")
    assert opened.run(focus) == "f2", "at the end it stays"
    opened.press("k")
    assert opened.run(focus) == "f1"
    opened.press("j")
    top = opened.run("document.activeElement.getBoundingClientRect().top")
    assert 0 <= top < 900, "and in sight"


def test_the_finding_in_focus_has_a_ring_and_is_named_for_readers(opened: Browser) -> None:
    opened.press("j")
    assert opened.run("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    label = "document.getElementById(document.activeElement.getAttribute('aria-labelledby')).textContent"
    assert "taint" in opened.run(label)


def test_the_picture_lights_the_domains_of_the_finding_in_focus(opened: Browser) -> None:
    nodes = "Object.fromEntries(['u','f','t','x'].map((c) => [c, document.querySelectorAll(`.node.${c}`).length]))"
    opened.press("j")
    assert opened.run(NOW) == "f1"
    assert opened.run(nodes) == {"u": 0, "f": 0, "t": 1, "x": 4}
    assert opened.run(LIT) == []
    assert "1 has a taint that it does not tolerate" in opened.run("document.querySelector('#status').textContent")
    opened.press("j")
    assert opened.run(nodes) == {"u": 4, "f": 0, "t": 1, "x": 0}
    assert opened.run(LIT) == ["zone-a", "zone-b"]
    assert opened.run("[...document.querySelectorAll('#chips .lit')].map((chip) => chip.textContent)") == [
        "zone-a · 2",
        "zone-b · 2",
    ]
    assert opened.run("document.querySelectorAll('circle.pod.mine').length") == 2, "of its 4 pods 2 found a zone"
    assert "2 pods" in opened.run("document.querySelector('.waiting.now').textContent")


def test_tab_and_mouse_light_the_picture_too(opened: Browser) -> None:
    opened.run("document.querySelector('#f1').focus()")
    at = "document.activeElement.closest('article')?.id"
    seen = [opened.run(at)]
    while seen[-1] == "f1" and len(seen) < 20:
        opened.press("Tab")
        seen.append(opened.run(at))
    assert seen[-1] == opened.run(NOW) == "f2", "Tab goes through what can be opened and on to the next"
    opened.run("document.querySelector('#f1').click()")
    assert opened.run(NOW) == "f1"


def test_enter_tells_of_the_rule(opened: Browser) -> None:
    opened.press("j", "Enter")
    assert opened.run("document.querySelector('#f1 .about').open") is True
    wait = "new Promise((done) => setTimeout(() => done(document.querySelector('#f1 .about').textContent), 50))"
    assert "The prose of untolerated-taints." in opened.run(wait)
    opened.press("Enter")
    assert opened.run("document.querySelector('#f1 .about').open") is False


def test_slash_searches_and_escape_leaves(opened: Browser) -> None:
    shown = "[...document.querySelectorAll('article.finding')].filter((a) => a.offsetParent).map((a) => a.id)"
    later = f"new Promise((done) => setTimeout(() => done({shown}), 60))"
    opened.press("/")
    assert opened.run("document.activeElement.id") == "search"
    opened.press(*"exceeds")
    assert opened.run(later) == ["f2"]
    assert opened.run("document.querySelectorAll('.file:not(.filtered)').length") == 1
    opened.press("Enter")
    assert opened.run("document.activeElement.id") == "f2", "Enter goes to the first that matches"
    opened.press("/", *"qqq")
    assert opened.run(later) == []
    assert opened.run("document.querySelector('#none').hidden") is False
    opened.press("Escape")
    assert opened.run(later) == ["f1", "f2"]
    assert opened.run("document.activeElement.id") != "search"


def test_severities_are_turned_off_and_on(opened: Browser) -> None:
    shown = "[...document.querySelectorAll('article.finding')].filter((a) => a.offsetParent).length"
    tile = "document.querySelector('[data-filter=error]')"
    opened.run(f"{tile}.click()")
    assert opened.run(shown) == 0
    assert opened.run(f"{tile}.getAttribute('aria-pressed')") == "false"
    opened.run(f"{tile}.click()")
    assert opened.run(shown) == 2


def test_a_question_mark_opens_the_list_of_keys_and_escape_closes_it(opened: Browser) -> None:
    opened.press("?")
    assert opened.run("document.querySelector('#keys').open") is True
    opened.press("j")
    assert opened.run("Boolean(document.activeElement.closest('article'))") is False, "keys rest behind a dialog"
    opened.press("Escape")
    assert opened.run("document.querySelector('#keys').open") is False


def test_cells_of_the_matrix_open_and_arrows_move_between_them(opened: Browser) -> None:
    cell = "document.activeElement.parentElement.cellIndex"
    opened.press("m")
    assert opened.run(cell) == 1
    opened.press("Enter")
    assert opened.run("document.activeElement.getAttribute('aria-expanded')") == "true"
    detail = "document.getElementById(document.activeElement.getAttribute('aria-controls'))"
    assert opened.run(f"{detail}.offsetHeight > 20") is True
    assert "because" in opened.run(f"{detail}.textContent")
    opened.press("ArrowRight")
    assert opened.run(cell) > 1
    opened.press("Enter")
    assert opened.run("document.querySelectorAll('.behind:not([hidden])').length") == 1, "one of a row is open"
    opened.press("Escape")
    assert opened.run("document.querySelectorAll('.behind:not([hidden])').length") == 0
    opened.press("m", "ArrowDown")
    assert opened.run("document.activeElement.closest('tr').rowIndex") > 1


def test_the_theme_follows_the_system_until_somebody_chooses(opened: Browser) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    light = opened.run(ground)
    opened.media("dark")
    dark = opened.run(ground)
    assert dark != light
    opened.press("t")
    assert opened.run("document.querySelector('#theme').textContent") == "Light"
    assert opened.run(ground) == light
    opened.media("light")
    opened.press("t")
    assert opened.run("document.documentElement.dataset.theme") == "dark"
    assert opened.run(ground) == dark
    opened.press("t")
    assert opened.run(ground) == light


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_stands_out_from_its_ground(opened: Browser, theme: str) -> None:
    """By as much as WCAG asks of small text."""
    opened.media(theme)
    ratio = """(selector) => {
      const parse = (text) => text.match(/[\\d.]+/g).map(Number);
      const over = (element) => {
        for (let at = element; at; at = at.parentElement) {
          const c = parse(getComputedStyle(at).backgroundColor);
          if (c.length < 4 || c[3] > 0.99) return c;
        }
        return [255, 255, 255];
      };
      const light = (c) => c.slice(0, 3).map((v) => v / 255)
        .map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
        .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
      const element = document.querySelector(selector);
      const [a, b] = [light(parse(getComputedStyle(element).color)), light(over(element))].sort((x, y) => y - x);
      return (a + 0.05) / (b + 0.05);
    }"""
    small = (".meta", ".why dd", ".why dt", ".row .k", ".row .no", ".bad > button", ".remark", ".matrix thead th")
    for selector in (".summary h1", ".summary p", ".finding h4", ".finding .sev", *small):
        assert opened.run(f"({ratio})({selector!r})") >= 4.5, selector


def test_on_a_narrow_screen_nothing_runs_over_the_side(opened: Browser) -> None:
    opened.size(390, 800)
    try:
        assert opened.run("document.documentElement.scrollWidth") <= 390
    finally:
        opened.size(1400, 900)


def test_on_paper_there_is_no_toolbar(opened: Browser) -> None:
    opened.media("dark", "print")
    assert opened.run("getComputedStyle(document.querySelector('.top')).display") == "none"
    assert opened.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    opened.media("light")
    assert opened.printed().startswith(b"%PDF-")


def test_a_link_to_a_finding_lights_it(browser: Browser, page: Path) -> None:
    browser.open(page, "f2")
    assert browser.run(NOW) == "f2"
    browser.run("location.hash = 'rule-untolerated-taints'")
    opened = (
        "new Promise((done) => setTimeout(() => done(document.getElementById('rule-untolerated-taints').open), 50))"
    )
    assert browser.run(opened) is True


EVIL = (
    "</script><script>window.hacked=1</script><img src=x onerror=window.hacked=2>"
    "<svg onload=window.hacked=3></svg>\" onfocus=window.hacked=4 autofocus x='"
)


def test_nothing_that_a_manifest_holds_runs(browser: Browser, tmp_path: Path) -> None:
    evil = EVIL.replace('"', "'").replace("'", "")
    manifest, cluster = tmp_path / "web.yaml", tmp_path / "cluster.yaml"
    manifest.write_text(WEB.replace("name: web,", f'name: "{evil}",').replace("app: web", f'app: "{evil}"'))
    cluster.write_text(CLUSTER.replace("zone-a", f'"{evil}"'))
    run = checked(Request((str(manifest),), str(cluster)), Options(), Rulebook.shipped())
    assert run.report.findings
    where = Location(str(manifest), Span(4, 1, 4, 9))
    more = Finding(
        EVIL, Severity.NOTE, EVIL, EVIL, pattern(EVIL), ObjectRef(EVIL, EVIL, EVIL), where, (Related(where, EVIL),)
    )
    run = replace(run, report=replace(run.report, findings=(*run.report.findings, more)))
    browser.open(page_of(run, tmp_path / "page.html"))
    browser.press("j", "Enter", "j", "m", "Enter", "?", "Escape")
    assert browser.run("typeof window.hacked") == "undefined"
    assert browser.run("document.querySelectorAll('img').length") == 0
    assert browser.run("document.scripts.length") == 2
    assert browser.complaints == []
    assert len(browser.requests) == 1
    browser.run("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=window.hacked=5>')")
    wait = "new Promise((done) => setTimeout(() => done(typeof window.hacked), 100))"
    assert browser.run(wait) == "undefined", "even if something had slipped through, the policy would not let it run"


def test_five_thousand_findings_are_quick_to_move_through(
    browser: Browser, tmp_path: Path, context: Callable[..., RenderContext]
) -> None:
    subject = ObjectRef("Deployment", "shop", "web")
    words = ["".join(chr(97 + (i // 26**k) % 26) for k in range(3)) for i in range(5_000)]
    place = Location("agent.yaml", Span(9, 3, 9, 9))
    many = tuple(
        Finding(f"rule-{word}", Severity.WARNING, f"about {word}", "", pattern(), subject, place) for word in words
    )
    file = tmp_path / "page.html"
    file.write_text("".join(render(Report(many), context())))
    browser.open(file)
    took = "(() => { const t = performance.now(); document.body.offsetHeight; return performance.now() - t })()"
    browser.press(*"jjjjj")
    assert browser.run("document.activeElement.id") == "f5"
    assert browser.run(took) < 2_000
    browser.press("/", *f"rule-{words[4_000]}")
    left = "document.querySelectorAll('#findings .brief > div:not(.filtered)').length"
    later = f"new Promise((done) => setTimeout(() => done({left}), 600))"
    assert browser.run(later) == 1
    assert browser.complaints == []


def test_a_report_without_a_cluster_has_no_picture_and_no_complaint(
    browser: Browser, tmp_path: Path, reports: dict[str, Report], context: Callable[..., RenderContext]
) -> None:
    for name, report in reports.items():
        file = tmp_path / f"{name}.html"
        file.write_bytes("".join(render(report, context())).encode("utf-8", "backslashreplace"))
        browser.open(file)
        browser.press("j", "m", "Enter", "t")
        assert browser.run("document.querySelector('svg.topology')") is None
        assert browser.complaints == [], name
