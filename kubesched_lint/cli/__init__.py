"""The command line: one parser that imports a command when the user calls it."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Sequence

from kubesched_lint.printing import say
from kubesched_lint.version import __version__

COMPLETE = "_KUBESCHED_LINT_COMPLETE"
"""The environment variable that a shell sets to ask for completions; ``--show-completion`` prints the script."""


def main() -> None:
    """Entry point of ``kubesched-lint``. Exit codes: 0 all is well, 1 findings, 2 failure, 128 + n after signal n."""
    _start(_run)


def kubectl_plugin() -> None:
    """Entry point of ``kubectl-schedlint``, which kubectl starts for ``kubectl schedlint``; otherwise like main()."""
    _start(lambda: _run("kubectl schedlint"))


def _start(run: Callable[[], int]) -> None:
    gc.disable()  # `lint` makes almost no reference cycles, and garbage collection takes a third of a run
    from kubesched_lint.cli.ending import ended_by

    ended_by(run)


def _run(program: str | None = None) -> int:
    """Return the exit code. Help names ``program``; by default the name of the started file."""
    if sys.argv[1:] == ["--version"]:  # answered before the parser's 60 ms of imports
        say(f"kubesched-lint {__version__}")
        return 0
    if sys.argv[1:2] == ["lint"] and COMPLETE not in os.environ:
        code = _linted(sys.argv[2:])
        if code is not None:
            return code
    from kubesched_lint.cli.app import app

    if COMPLETE in os.environ:
        from typer._completion_classes import completion_init

        completion_init()
    code = app(complete_var=COMPLETE, standalone_mode=False, prog_name=program)
    return code if isinstance(code, int) else 0


def _linted(arguments: Sequence[str]) -> int | None:
    """Return the exit code of ``lint``; None if Typer has to read the arguments, for help or to say what is wrong."""
    from kubesched_lint.cli.linting.linting import linted
    from kubesched_lint.cli.parsing.ordinary import Mistake, call_of_lint

    try:
        return linted(call_of_lint(arguments))
    except Exception as error:
        if isinstance(error, Mistake) or hasattr(error, "format_message"):  # a usage error of the parser
            return None
        raise
