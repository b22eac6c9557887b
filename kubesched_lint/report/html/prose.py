"""The Markdown of cards as HTML: headings, paragraphs, lists, tables, fences, code and links."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kubesched_lint.report.html.source import plain_row
from kubesched_lint.report.wording.words import esc

_INLINE = re.compile(
    r"(?P<ticks>`+)(?P<code>.+?)(?P=ticks)|\[(?P<text>[^\]]+)\]\((?P<link>[^)\s]+)\)"
    r"|\*\*(?P<strong>[^*]+)\*\*|(?<![\w*])\*(?P<em>[^*\s][^*]*)\*|<(?P<auto>https://[^>\s]+)>"
)
_ITEM = re.compile(r"\s*(?:[-*]|\d+\.)\s+(.*)")


def as_html(markdown: str) -> str:
    """Return the blocks of a card without its title; HTML in it is displayed as text."""
    return "\n".join(_blocks(markdown.split("\n")))


def _blocks(lines: list[str]) -> Iterator[str]:
    at = 0
    while at < len(lines):
        line = lines[at]
        if line.startswith("```"):
            ticks = line[: len(line) - len(line.lstrip("`"))]
            end = next((n for n in range(at + 1, len(lines)) if lines[n].rstrip() == ticks), len(lines))
            yield f'<pre class="src">{"".join(map(plain_row, lines[at + 1 : end]))}</pre>'
            at = end + 1
        elif line.startswith("#"):
            title = line.lstrip("#")
            if len(line) - len(title) > 1:
                yield f"<h4>{inline(title.strip())}</h4>"
            at += 1
        elif not line.strip():
            at += 1
        else:
            inside = range(at, len(lines))
            end = next((n for n in inside if not lines[n].strip() or lines[n].startswith("```")), len(lines))
            yield from _paragraph(lines[at:end])
            at = end


def _paragraph(lines: list[str]) -> Iterator[str]:
    if lines[0].startswith("|"):
        yield f"<table>{''.join(_table_row(line) for line in lines if not set(line) <= set('|-: '))}</table>"
        return
    items: list[list[str]] = []
    for line in lines:
        match = _ITEM.fullmatch(line)
        if match:
            items.append([match.group(1)])
        elif items:
            items[-1].append(line.strip())
    if items and _ITEM.fullmatch(lines[0]):
        rows = (f"<li>{inline(' '.join(item))}</li>" for item in items)
        yield f"<ul>{''.join(rows)}</ul>"
    else:
        yield f"<p>{inline(' '.join(map(str.strip, lines)))}</p>"


def _table_row(line: str) -> str:
    cells = (cell.strip() for cell in line.strip().strip("|").split("|"))
    return f"<tr>{''.join(f'<td>{inline(cell)}</td>' for cell in cells)}</tr>"


def inline(text: str) -> str:
    shown, at = [], 0
    for match in _INLINE.finditer(text):
        shown.append(esc(text[at : match.start()]))
        shown.append(_span(match))
        at = match.end()
    shown.append(esc(text[at:]))
    return "".join(shown)


def _span(match: re.Match[str]) -> str:
    if match["code"] is not None:
        return f"<code>{esc(match['code'].strip())}</code>"
    if match["strong"] is not None:
        return f"<strong>{inline(match['strong'])}</strong>"
    if match["em"] is not None:
        return f"<em>{esc(match['em'])}</em>"
    address = match["auto"] or match["link"]
    text = esc(match["auto"] or match["text"])
    if not address.startswith("https://"):  # a relative link of the documentation has no target here
        return text
    return f'<a href="{esc(address)}" rel="noreferrer">{text}</a>'
