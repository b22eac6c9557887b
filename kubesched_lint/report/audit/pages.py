"""The audit as Markdown and as one HTML page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kubesched_lint.commands.audit.findings import SECTIONS, Audit, AuditFinding
from kubesched_lint.engine.base.text import first_few, many, plural
from kubesched_lint.findings import Severity
from kubesched_lint.report.audit.as_text import verdict
from kubesched_lint.report.html.page import head, part
from kubesched_lint.report.limits import MOST_ROWS
from kubesched_lint.report.markdown import COMMENT_OF_GITHUB, Block, code, plain, size, within
from kubesched_lint.report.wording.words import esc

# --- Markdown ---------------------------------------------------------------------------------------------------------


def as_markdown(audit: Audit) -> str:
    """Return Markdown for one comment on GitHub or GitLab, without a newline at the end."""
    head = f"## Audit: {plain(verdict(audit))}\n\n{plain(audit.cluster)}\n"
    notes = (*(f"not followed: {text}" for text in audit.unfollowed), *audit.notes)
    tail = "\n" + "".join(f"- {plain(text)}\n" for text in notes)
    room = COMMENT_OF_GITHUB - size(head) - size(tail)
    return "".join((head, *within(_blocks(audit), room, _left_out), tail)).rstrip("\n")


def _left_out(count: int) -> str:
    return f"\n… and {many(count, 'more finding')}: `--format json` has them all\n"


def _blocks(audit: Audit) -> Iterator[Block]:
    for section, title in SECTIONS.items():
        for number, finding in enumerate(audit.of(section)):
            heading = "" if number else f"\n### {title} ({sum(1 for _ in audit.of(section)):,})\n\n"
            yield Block(heading + "".join(f"{line}\n" for line in _item(finding)), 1)


def _item(finding: AuditFinding) -> Iterator[str]:
    yield f"- **{finding.severity.word}**: {plain(finding.message)}"
    if finding.place:
        yield f"  - at {code(finding.place)}"
    for label, text in finding.details:
        yield f"  - {plain(label)}: {plain(text)}"
    if finding.others:
        yield f"  - the same: {plain(_others(finding))}"


def _others(finding: AuditFinding) -> str:
    return first_few([str(ref) for ref in finding.others])


# --- HTML -------------------------------------------------------------------------------------------------------------


def as_html(audit: Audit) -> str:
    """Return one page without scripts."""
    return "".join(_page(audit))


def _page(audit: Audit) -> Iterator[str]:
    yield from head(f"audit: {verdict(audit)}", scripted=False)
    yield '<header class="top"><strong>kubesched-lint audit</strong><nav aria-label="Sections">'
    yield from (f'<a href="#{section}">{title}</a>' for section, title in SECTIONS.items() if any(audit.of(section)))
    yield f'</nav></header>\n<main>\n<section class="summary"><h1>{esc(verdict(audit))}</h1>\n'
    yield f"<p>{esc(audit.cluster)}</p>\n"
    yield f'<ul class="tiles">{"".join(_tiles(audit))}</ul></section>\n'
    for section, title in SECTIONS.items():
        findings = list(audit.of(section))
        if findings:
            yield from part(section, f"{title} ({len(findings):,})", _articles(findings))
    yield from part("notes", "What was checked, and what was not", _notes(audit))
    yield "</main>\n</body>\n</html>"


def _tiles(audit: Audit) -> Iterator[str]:
    for severity in sorted(Severity, reverse=True):
        count = sum(finding.severity is severity for finding in audit.findings)
        yield f"<li><span><b>{count:,}</b> {plural(count, severity.word)}</span></li>"
    if audit.tally.compared:
        agree = f"<b>{audit.tally.agree:,}</b> of {many(audit.tally.compared, 'message agrees', 'messages agree')}"
        yield f"<li><span>{agree}</span></li>"


def _articles(findings: Iterable[AuditFinding]) -> Iterator[str]:
    shown = list(findings)
    for finding in shown[:MOST_ROWS]:
        word = finding.severity.word
        title = f'<span class="sev">{word}</span><h4>{esc(finding.message)}</h4>'
        yield f'<article class="finding {word}">\n<header>{title}</header>'
        rule = f'<code class="rule">{esc(finding.rule)}</code>' if finding.rule else ""
        yield f'<p class="meta">{rule}<span>{esc(finding.place)}</span></p>\n<dl class="why">'
        details = (*finding.details, *((("the same", _others(finding)),) if finding.others else ()))
        yield from (f"<dt>{esc(label)}</dt><dd>{esc(text)}</dd>" for label, text in details)
        yield "</dl>\n</article>\n"
    if len(shown) > MOST_ROWS:
        yield f'<p class="more">… and {many(len(shown) - MOST_ROWS, "more finding")}.</p>\n'


def _notes(audit: Audit) -> Iterator[str]:
    looked = f"{many(audit.workloads, 'workload')} and {many(audit.pods, 'pod')}"
    lines = [("checked", looked), *(("not followed", text) for text in audit.unfollowed)]
    lines += [("note", text) for text in audit.notes]
    yield '<dl class="notes">'
    yield from (f"<dt>{esc(label)}</dt><dd>{esc(text)}</dd>" for label, text in lines)
    yield "</dl>\n"
