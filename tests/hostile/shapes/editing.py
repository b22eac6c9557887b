"""What an editor and ``--watch`` ask of a warm session, one thing after another, with the CPU that each takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import process_time
from typing import Any

from kubesched_lint.commands.lint.run import Request
from kubesched_lint.linter.options import Options
from kubesched_lint.lsp.project import Project
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.session.session import Session
from kubesched_lint.session.several import Sessions

_MOST_FIXES = 3
_FIRST, _LAST = (1, 0), (1 << 30, 0)


def edited(manifests: str, cluster: str | None) -> Iterator[tuple[str, float]]:
    """Yield each thing that was done with a file, and its seconds of CPU."""
    request = Request(paths=(manifests,), cluster=cluster)
    project = Project(manifests, lambda _: Sessions({"": Session(request, Options(), Rulebook.shipped())}, ()))
    with open(manifests, encoding="utf-8", newline="") as file:
        text = file.read()

    def timed(what: str, do: Callable[[], Any]) -> tuple[str, float]:
        begun = process_time()
        do()
        return what, process_time() - begun

    path = project.root
    yield timed("open", lambda: project.open({path: text}))
    yield timed("at once", project.judge_at_once)
    yield timed("whole", lambda: project.judge(lambda: False))
    yield timed("matrix", lambda: project.look_ahead({path}, lambda: False))
    yield timed("edit", lambda: project.put(path, f"{text}# edited\n"))
    yield timed("at once after an edit", project.judge_at_once)
    yield timed("whole after an edit", lambda: project.judge(lambda: False))
    line = next((p.span.line for _, _, _, p in project._defined({path})), 1)
    yield timed("hover", lambda: list(project.explanations(path, line)))
    fixable = [one for one in project.findings_at(path, _FIRST, _LAST) if project.may_fix(one)]
    for finding in {one.rule: one for one in fixable}.values():
        yield timed(f"fix of {finding.rule}", lambda finding=finding: project.fix(finding))
