"""The report as one HTML page. Its content security policy forbids network access and all scripts but its own."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterable, Iterator
from functools import lru_cache
from hashlib import sha256

from msgspec.structs import replace

from kubesched_lint.commands.lint.report_extras import ReportExtras
from kubesched_lint.engine.base.data import shipped
from kubesched_lint.engine.base.identity import ByIdentity
from kubesched_lint.engine.base.text import plural
from kubesched_lint.findings import Report, Severity
from kubesched_lint.printing import safe_json
from kubesched_lint.report.findings.context import RenderContext
from kubesched_lint.report.findings.footer import (
    counts,
    footer,
    objects_with_errors,
    open_findings,
    outcome,
    softened,
    standing_premises,
    verdict,
)
from kubesched_lint.report.findings.footer import suppressed as suppressed_counts
from kubesched_lint.report.html.findings import NumberedCauses, errors, numbered, sections, suppressed
from kubesched_lint.report.html.matrix import table
from kubesched_lint.report.html.prose import as_html
from kubesched_lint.report.html.topology import picture, view
from kubesched_lint.report.words import esc

_KEYS = (
    ("j  k", "next and previous finding"),
    ("Enter", "read about the rule of the finding"),
    ("/", "search"),
    ("m", "go to the matrix; arrows move in it, Enter opens a cell"),
    ("t", "light, dark, or as the system says"),
    ("Esc", "leave the search, close what is open"),
    ("?", "this list"),
)


def render(report: Report, context: RenderContext) -> Iterator[str]:
    """Yield the page in pieces."""
    context = replace(context, sources=lru_cache(maxsize=8)(context.sources))
    seen = context.extras()
    this = numbered(report)
    yield from head(verdict(report))
    yield from _masthead()
    yield "<main>\n"
    yield from _summary(report)
    if report.errors:
        items = sorted(report.errors, key=lambda e: (e.path, e.line, e.column, e.message))
        yield from part("errors", "Could not be read", errors(items, context))
    if seen is not None:
        yield from part("matrix", "What happens when", _matrix(seen, report))
    drawn = seen is not None and bool(seen.diagram.groups)
    yield f'<div class="{"split" if drawn else "whole"}">\n'
    if seen is not None and drawn:
        status = '<p id="status" aria-live="polite"></p><ul id="chips"></ul>'
        yield from part("cluster", "The cluster", (f"{status}\n", *picture(seen.diagram)), tag="aside")
    missing = f" {esc(report.summary.gaps)}." if report.summary.gaps else ""
    nothing = f'<p class="calm">No findings: nothing that was checked keeps a pod from a node.{missing}</p>'
    yield from part("findings", "Findings", sections(this, context) if this.causes else [nothing])
    yield "</div>\n"
    rows = "".join(suppressed(report))
    if rows:
        yield from part("waived", "Waived and known", [f'<div class="brief" role="list">{rows}</div>'])
    yield from part("notes", "What was checked, and what was not", _footer(report))
    yield from _rules(this, context)
    yield "</main>\n"
    yield from _foot(report, this, seen, context)


def head(title: str, *, scripted: bool = True) -> Iterator[str]:
    """Yield the beginning of a page, up to its body; nothing but the styles and the script may come from elsewhere."""
    style = _file("page.css")
    script = f"script-src '{_hash(_file('page.js'))}'; " if scripted else ""
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; {script}img-src data:; base-uri 'none'; form-action 'none'"
    )
    yield (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<meta name="referrer" content="no-referrer">\n'
        f'<title>kubesched-lint: {esc(title)}</title>\n<link rel="icon" href="data:,">\n'
        f"<style>{style}</style>\n</head>\n<body>\n"
    )


def _masthead() -> Iterator[str]:
    yield (
        '<a class="skip" href="#findings">Skip to the findings</a>\n'
        '<header class="top"><strong>kubesched-lint</strong><nav aria-label="Sections" id="nav"></nav>'
        '<div class="tools"><label><span class="hidden">Search findings</span>'
        '<input id="search" type="search" placeholder="Search findings" autocomplete="off" spellcheck="false">'
        '<kbd>/</kbd></label><button type="button" id="theme" title="Light or dark (t)">Auto</button>'
        '<button type="button" id="help" title="Keys (?)" aria-label="Keys">?</button></div></header>\n'
    )


def _summary(report: Report) -> Iterator[str]:
    lines = dict(footer(report))
    found = counts(open_findings(report))
    waived, known = suppressed_counts(report)
    yield f'<section class="summary"><h1>{esc(outcome(report))}</h1>\n'
    yield f"<p>{esc(lines['checked'])}</p>"
    yield from (f"<p>{esc(f'{label}: {text}')}</p>" for label, text in footer(report) if label in ("cluster", "target"))
    if turned := softened(report):
        yield f"<p>{esc(f'decide: {turned}')}</p>"
    yield "\n"
    yield '<ul class="tiles">'
    for severity in (Severity.ERROR, Severity.WARNING, Severity.NOTE):
        word, count = severity.word, found[severity]
        pressed = f'type="button" class="{word}" data-filter="{word}" aria-pressed="true"{"" if count else " disabled"}'
        yield f"<li><button {pressed}><b>{count:,}</b> {plural(count, word)}</button></li>"
    for count, words in ((waived, "waived"), (known, "known"), (len(report.skipped), "skipped")):
        if count:
            yield f"<li><span><b>{count:,}</b> {words}</span></li>"
    yield "</ul></section>\n"


def part(name: str, title: str, content: Iterable[str], tag: str = "section") -> Iterator[str]:
    yield f'<{tag} id="{name}" class="part" aria-labelledby="h-{name}"><h2 id="h-{name}">{esc(title)}</h2>\n'
    yield from content
    yield f"</{tag}>\n"


def _matrix(seen: ReportExtras, report: Report) -> Iterator[str]:
    if seen.simulation is not None and seen.simulation.rows:
        yield from table(seen.simulation, objects_with_errors(report))
    yield from (f'<p class="remark">{esc(note)}.</p>\n' for note in seen.notes)
    if seen.simulation is not None:
        yield from (f'<p class="remark">{esc(note)}.</p>\n' for note in seen.simulation.notes)


def _footer(report: Report) -> Iterator[str]:
    yield '<dl class="notes">'
    previous = ""
    for label, text in (*standing_premises(report), *footer(report)):
        yield f"<dt>{esc(label) if label != previous else ''}</dt><dd>{esc(text)}</dd>"
        previous = label
    yield "</dl>\n"


def _rules(this: NumberedCauses, context: RenderContext) -> Iterator[str]:
    """Yield the card of each rule that has findings on the page."""
    slugs = sorted({cause.first.rule for cause in this.causes if cause.first in this.numbers})
    if not slugs:
        return
    yield '<section id="rules" class="part" aria-labelledby="h-rules"><h2 id="h-rules">The rules</h2>\n'
    for slug in slugs:
        card = context.cards(slug)
        summary = f" <span>{esc(card.summary)}</span>" if card else ""
        yield f'<details class="card" id="rule-{esc(slug)}"><summary><code>{esc(slug)}</code>{summary}</summary>'
        yield f'<div class="prose">{as_html(card.markdown) if card else ""}'
        links = [link for link in (card.references if card else ()) if link.startswith("https://")]
        if links:
            items = "".join(f'<li><a href="{esc(link)}" rel="noreferrer">{esc(link)}</a></li>' for link in links)
            yield f"<h4>References</h4><ul>{items}</ul>"
        yield "</div></details>\n"
    yield "</section>\n"


def _foot(report: Report, this: NumberedCauses, seen: ReportExtras | None, context: RenderContext) -> Iterator[str]:
    shown = "".join(f"<dt><kbd>{esc(keys)}</kbd></dt><dd>{esc(words)}</dd>" for keys, words in _KEYS)
    yield f'<dialog id="keys" aria-label="Keys"><h2>Keys</h2><dl>{shown}</dl>'
    yield '<form method="dialog"><button>Close</button></form></dialog>\n'
    yield f'<footer>kubesched-lint {esc(context.version)}</footer>\n<p id="none" hidden>Nothing matches.</p>\n'
    if seen is not None and seen.diagram.groups:
        yield f'<script type="application/json" id="view">{_data(_view(report, this, seen))}</script>\n'
    yield f"<script>{_file('page.js')}</script>\n</body>\n</html>\n"


def _view(report: Report, this: NumberedCauses, seen: ReportExtras) -> object:
    focus = ByIdentity(zip(report.findings, seen.diagram.focuses, strict=True))
    return view(seen.diagram, [focus.get(key) for key in this.numbers])


def _data(value: object) -> str:
    """Return JSON for a ``<script type="application/json">`` without any character that could end the element."""
    text = safe_json(json.dumps(value, separators=(",", ":")))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _file(name: str) -> str:
    return shipped(__file__, name).decode()


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"
