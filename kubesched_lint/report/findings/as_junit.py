"""JUnit XML for Jenkins, GitLab and Azure: a suite per file, a case per finding.

Case names have the rule and the object but no line, so that a CI service recognises a finding in the next run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from kubesched_lint.findings import Finding, InputError, Report, Skip
from kubesched_lint.linter.results.causes import members
from kubesched_lint.printing import escaped, visible
from kubesched_lint.report.causes import by_place
from kubesched_lint.report.findings.context import RenderContext
from kubesched_lint.report.findings.footer import footer
from kubesched_lint.report.wording.words import annotated, explanation, relative

_TOOL = "kubesched-lint"
_SKIPPED = "rules that were skipped"


class _Case(Struct, frozen=True):
    """A test case. ``outcome`` is the name of its element: failure, error or skipped; empty if it passed."""

    suite: str
    name: str
    outcome: str = ""
    kind: str = ""
    message: str = ""
    text: str = ""


def render(report: Report, context: RenderContext) -> Iterator[str]:
    """Yield the document in pieces. A file without findings is a suite with one passing case."""
    cases = list(_cases(report, context)) or [_Case(_TOOL, "no findings")]  # without cases Jenkins fails the build
    suites: dict[str, list[_Case]] = {}
    for case in cases:
        suites.setdefault(case.suite, []).append(case)
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield f"<testsuites{_attributes(name=_TOOL, **_counts(cases, 'tests', 'failures', 'errors'))}>\n"
    for name, suite_cases in suites.items():
        yield from _suite(name, suite_cases)
    lines = "\n".join(f"{label}: {text}" for label, text in footer(report))
    yield f"  <testsuite{_attributes(name='summary', tests='0', failures='0', errors='0')}>\n"
    yield f"    <system-out>{_text(lines)}</system-out>\n  </testsuite>\n"
    yield "</testsuites>\n"


def _cases(report: Report, context: RenderContext) -> Iterator[_Case]:
    blamed_findings = [
        member for finding in report.findings for member in members(finding)
    ]  # a case is about one object
    blamed = (annotated(finding.location).path for finding in blamed_findings)
    paths = [*context.files(), *blamed, *(error.path for error in report.errors)]
    suites: dict[str, list[_Case]] = {relative(path, context.root): [] for path in sorted(set(paths))}
    for error in sorted(report.errors, key=lambda e: (e.path, e.line, e.column, e.message)):
        suites[relative(error.path, context.root)].append(_error(error, context))
    for finding in by_place(blamed_findings):
        suites[relative(annotated(finding.location).path, context.root)].append(_finding(finding, context))
    for path, cases in suites.items():
        yield from _with_unique_names(cases or [_Case(path, "no findings")])
    yield from _with_unique_names(map(_skip, report.skipped))


def _error(error: InputError, context: RenderContext) -> _Case:
    path = relative(error.path, context.root)
    where = f"{path}:{error.line}:{max(error.column, 1)}" if error.line else path
    return _Case(path, "can be read", "error", "input", error.message, f"{where}\n{error.message}")


def _finding(finding: Finding, context: RenderContext) -> _Case:
    where = annotated(finding.location)
    path, span = relative(where.path, context.root), where.span
    text = "\n".join(_lines(finding, f"{path}:{span.line}:{span.column}" if span.line else path))
    name, kind = f"{finding.rule}: {finding.object}", finding.severity.word
    if finding.suppressed is not None:
        why = "known from the baseline" if finding.suppressed.known else "waived"
        reason = f": {finding.suppressed.reason}" if finding.suppressed.reason else ""
        return _Case(path, name, "skipped", kind, f"{why}{reason}", text)
    fails = context.fail_on is not None and finding.severity >= context.fail_on
    return _Case(path, name, "failure" if fails else "", kind, finding.message, text)


def _lines(finding: Finding, where: str) -> Iterator[str]:
    yield where
    yield f"{finding.severity.word}: {finding.message}"
    yield from (f"{r.location.path}:{r.location.span.line}: {r.label}" for r in finding.related if r.label)
    yield from explanation(finding)


def _skip(skip: Skip) -> _Case:
    return _Case(_SKIPPED, skip.rule or "a document", "skipped", "skipped", skip.reason)


def _with_unique_names(cases: Iterable[_Case]) -> Iterator[_Case]:
    """Yield the cases with numbers after repeated names: GitLab shows one case per suite and name."""
    seen: dict[str, int] = {}
    for case in cases:
        count = seen[case.name] = seen.get(case.name, 0) + 1
        name = f"{case.name} ({count})" if count > 1 else case.name
        yield _Case(case.suite, name, case.outcome, case.kind, case.message, case.text)


def _suite(name: str, cases: list[_Case]) -> Iterator[str]:
    yield f"  <testsuite{_attributes(name=name, **_counts(cases, 'tests', 'failures', 'errors', 'skipped'))}>\n"
    for case in cases:
        yield from _case(case)
    yield "  </testsuite>\n"


def _case(case: _Case) -> Iterator[str]:
    is_file = case.suite not in (_TOOL, _SKIPPED)
    opening = f"    <testcase{_attributes(name=case.name, classname=case.suite, file=case.suite if is_file else '')}"
    if case.outcome:
        yield f"{opening}>\n      <{case.outcome}{_attributes(message=case.message, type=case.kind)}>"
        yield f"{_text(case.text)}</{case.outcome}>\n    </testcase>\n"
    elif case.text:
        yield f"{opening}>\n      <system-out>{_text(case.text)}</system-out>\n    </testcase>\n"
    else:
        yield f"{opening}/>\n"


def _counts(cases: Iterable[_Case], *which: str) -> dict[str, str]:
    outcomes = [case.outcome for case in cases]
    numbers = {
        "tests": len(outcomes),
        "failures": outcomes.count("failure"),
        "errors": outcomes.count("error"),
        "skipped": outcomes.count("skipped"),
    }
    return {name: str(numbers[name]) for name in which}


def _attributes(**values: str) -> str:
    return "".join(f' {name}="{_text(value)}"' for name, value in values.items() if value)


_NO_XML = {0xFFFE: "\ufffd", 0xFFFF: "\ufffd"}


def _text(text: str) -> str:
    """Return escaped text; characters that XML 1.0 does not allow (section 2.2) become visible marks."""
    text = text.encode("utf-8", "backslashreplace").decode()  # lone surrogates stand for bytes of odd file names
    return "\n".join(map(visible, escaped(text).split("\n"))).translate(_NO_XML)
