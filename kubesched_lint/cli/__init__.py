"""The command line: one parser, whose commands load when they are called."""

from __future__ import annotations

import gc
import os
import sys

COMPLETE = "_KUBESCHED_LINT_COMPLETE"
"""The variable by which a shell asks what may follow; ``--show-completion`` tells it to."""


def main() -> None:
    """Entry point of ``kubesched-lint``. Exit codes: 0 clean, 1 findings, 2 usage or input errors, 130 interrupted."""
    if sys.argv[1:] == ["--version"]:  # answered before the parser's 60 ms of imports
        from kubesched_lint.version import __version__

        print(f"kubesched-lint {__version__}")
        return
    gc.disable()  # what is imported stays, and `lint` makes no cycles of any size: looking for them is a third of a run
    from kubesched_lint.cli.app import app

    if COMPLETE in os.environ:
        from typer._completion_classes import completion_init

        completion_init()
    try:
        app(complete_var=COMPLETE)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:  # the reader of our pipe has seen enough
        sys.stderr.close()
        sys.exit(141)
    except OSError as error:
        from errno import EDQUOT, EFBIG, EIO, ENOSPC

        if error.errno not in (EDQUOT, EFBIG, EIO, ENOSPC):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left to be written has no place
        sys.stderr.write(f"error: the output cannot be written: {error.strerror}\n")
        sys.exit(2)
    except SystemExit as end:
        if sys.argv[1:2] == ["lint"] and isinstance(end.code, int):
            _leave(end.code)
        raise


def _leave(code: int) -> None:
    """Ends the process without taking apart what it has read: nothing of ``lint`` waits to be closed."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:  # the interpreter's own end knows what to do
        return
    os._exit(code)
