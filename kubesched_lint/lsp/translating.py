"""Findings, problems and fixes in the words of the protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from lsprotocol import types

from kubesched_lint.engine.base.places import Location, Span
from kubesched_lint.findings import Finding, Fix, InputError, Severity
from kubesched_lint.linter.limits import MOST_RELATED
from kubesched_lint.linter.results.causes import members
from kubesched_lint.lsp.positions import Positions
from kubesched_lint.printing import visible
from kubesched_lint.report.findings.context import CardView
from kubesched_lint.report.wording.words import annotated, explanation, subject, utf8

NAME = "kubesched-lint"
_SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.NOTE: types.DiagnosticSeverity.Information,
}
_UNSAFE = "unsafe: it may change where pods run, or weaken a guarantee"


class Translator:
    """``lines`` gives the lines of a file as findings see it, ``uri`` the name that the client has for it."""

    def __init__(
        self,
        positions: Positions,
        lines: Callable[[str], Sequence[str]],
        uri: Callable[[str], str],
        cards: Callable[[str], CardView | None],
    ) -> None:
        self._positions = positions
        self._lines = lines
        self._uri = uri
        self._cards = cards

    def finding(self, finding: Finding) -> types.Diagnostic:
        text = "\n".join((finding.message, *explanation(finding)))
        card = self._cards(finding.rule)
        address = card.address if card is not None else ""
        return types.Diagnostic(
            self._range(annotated(finding.location)),
            _plain(text),
            severity=_SEVERITIES[finding.severity],
            code=finding.rule,
            code_description=types.CodeDescription(address) if address.startswith("https://") else None,
            source=NAME,
            related_information=list(self._related(finding)) or None,
        )

    def _related(self, finding: Finding) -> Iterator[types.DiagnosticRelatedInformation]:
        others = members(finding)[1:]
        labelled = [(related.location, related.label) for related in finding.related]
        labelled += ((other.location, f"the same cause: {subject(other, finding)}") for other in others[:MOST_RELATED])
        for location, label in labelled:
            where = annotated(location)
            yield types.DiagnosticRelatedInformation(
                types.Location(self._uri(where.path), self._range(where)), _plain(label or "related")
            )

    def problem(self, error: InputError) -> types.Diagnostic:
        """Return what could not be read, from its place to the end of the line."""
        lines = self._lines(error.path)
        line = max(error.line, 1)
        end = len(lines[line - 1]) + 1 if line <= len(lines) else 1
        column = min(max(error.column, 1), end)
        where = self._positions.range(lines, Span(line, column, line, end))
        return types.Diagnostic(where, _plain(error.message), severity=types.DiagnosticSeverity.Error, source=NAME)

    def _range(self, location: Location) -> types.Range:
        return self._positions.range(self._lines(location.path), location.span)

    def action(self, finding: Finding, fix: Fix, version: Callable[[str], int | None] | None) -> types.CodeAction:
        """Return a fix as a quick fix; ``version`` of an open file by its path, None for a client without versions."""
        edits: dict[str, list[types.TextEdit]] = {}
        for edit in fix.edits:
            where = self._positions.range(self._lines(edit.path), edit.span)
            edits.setdefault(edit.path, []).append(types.TextEdit(where, edit.text))
        if version is None:
            change = types.WorkspaceEdit({self._uri(path): text_edits for path, text_edits in edits.items()})
        else:
            files = {
                path: types.OptionalVersionedTextDocumentIdentifier(self._uri(path), version(path)) for path in edits
            }
            change = types.WorkspaceEdit(
                document_changes=[
                    types.TextDocumentEdit(files[path], list(text_edits)) for path, text_edits in edits.items()
                ]
            )
        return types.CodeAction(
            _plain(fix.title if fix.safe else f"{fix.title} ({_UNSAFE})"),
            kind=types.CodeActionKind.QuickFix,
            diagnostics=[self.finding(finding)],
            is_preferred=fix.safe,
            edit=change,
        )

    def lens(self, location: Location, title: str) -> types.CodeLens:
        where = annotated(location)
        start = self._positions.position(self._lines(where.path), where.span.line, 1)
        # an empty command is shown and does nothing
        return types.CodeLens(types.Range(start, start), types.Command(_plain(title), ""))


def _plain(text: str) -> str:
    """Return the text without characters that hide or reorder it; JSON decoders refuse lone surrogates."""
    return "\n".join(visible(utf8(line)) for line in text.split("\n"))
