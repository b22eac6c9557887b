"""End a run with an answer (exit code 0 or 1), or with one error line and another exit code.

1 is a negative answer, never a failure. 2 is a failure. 128 + n means the end by signal n.
"""

from __future__ import annotations

import _thread
import os
import signal
import sys
from collections.abc import Callable
from errno import EBADF, EDQUOT, EFBIG, EIO, ENOSPC
from io import BufferedReader, RawIOBase, StringIO, TextIOWrapper
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

from kubesched_lint.engine.base.limits import LONGEST_REASON
from kubesched_lint.printing import OutputError, forget, tell, visible
from kubesched_lint.version import __version__

if TYPE_CHECKING:
    import threading

FAILED = 2
TRACEBACK = "KUBESCHED_LINT_TRACEBACK"
"""The environment variable that makes failures print a traceback."""
_BROKEN_PIPE = 128 + 13
_NO_ROOM = ("can't start new thread", "can't allocate lock", "failed to map segment", "Cannot allocate memory")
"""Parts of Python's messages for too little memory in errors other than MemoryError."""
_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")
_SOON = 0.01
"""Seconds after which a signal that was swallowed is raised again."""


class Interrupted(BaseException):
    """A signal that ends the run; the argument is its number."""


def ended_by(command: Callable[[], int]) -> NoReturn:
    """Run the command and exit the process with its exit code, or with the code of its failure or signal."""
    _open_closed_streams()
    try:
        _handle_signals()
        _handle_what_nobody_catches()
        code = _outcome(command)
        # os._exit saves the time to free objects and to join threads.
        os._exit(code if _is_flushed() else FAILED)
    except Interrupted as signal:
        os._exit(128 + int(signal.args[0]))


def _outcome(command: Callable[[], int]) -> int:
    try:
        return _answer(command)
    except OutputError as error:
        return _failed(error, str(error))
    except BrokenPipeError:  # the reader has closed the pipe
        forget(sys.stdout)
        return _BROKEN_PIPE
    except MemoryError as error:
        return _failed(error, "not enough memory")
    except OSError as error:
        return _failed(error, _system_message(error))
    except Exception as error:
        _raise_signal_behind(error)
        if isinstance(error.__cause__, EOFError):  # the parser takes EOFError for an aborted prompt
            error = error.__cause__
        if hasattr(error, "format_message"):  # a usage error of the parser
            return _usage(error)
        if isinstance(error, (RuntimeError, ImportError)) and any(words in str(error) for words in _NO_ROOM):
            return _failed(error, "not enough memory")
        return _failed(error, _bug(error))


def _answer(command: Callable[[], int]) -> int:
    try:
        return command()
    except KeyboardInterrupt:
        raise Interrupted(2) from None
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):  # the parser turns it into SystemExit
            raise end.__context__ from None
        if isinstance(end.code, str):
            tell(f"error: {end.code}")
        return end.code if isinstance(end.code, int) else FAILED if end.code else 0


def _raise_signal_behind(error: BaseException) -> None:
    """Raise the signal that became another error: Python before 3.12 wraps what __set_name__ raises."""
    behind: BaseException | None = error
    while behind is not None and not isinstance(behind, Interrupted):
        behind = behind.__cause__ or behind.__context__
    if behind is not None:
        raise behind from None


def _failed(error: BaseException, message: str) -> int:
    if os.environ.get(TRACEBACK):
        from traceback import format_exception  # only a bug needs it

        for line in "".join(format_exception(error)).rstrip("\n").split("\n"):
            tell(line)
    tell(f"error: {message}")
    return FAILED


def _system_message(error: OSError) -> str:
    words = error.strerror or str(error) or type(error).__name__
    if error.filename is not None:
        return f"{os.fsdecode(error.filename)}: {words}"
    if error.errno not in (EBADF, EDQUOT, EFBIG, EIO, ENOSPC):
        return words
    forget(sys.stdout)
    return f"standard output: {words}"


def _bug(error: BaseException) -> str:
    text = f"{type(error).__name__}: {error}".removesuffix(": ")
    if len(text) > LONGEST_REASON:
        text = f"{text[:LONGEST_REASON]}…"
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    where = f" ({os.path.basename(place.tb_frame.f_code.co_filename)}:{place.tb_lineno})" if place else ""
    return (
        f"kubesched-lint {__version__} failed: {text}{where}. This is a bug. Please report it with the input and "
        f"the traceback; set {TRACEBACK}=1 in the environment to print it"
    )


def _usage(error: Any) -> int:
    """Print the parser's usage, hint and error. Return the exit code."""
    text = StringIO()
    if type(error).__name__ != "NoArgsIsHelpError":  # its message is the help
        message = visible(error.format_message())
        error.format_message = lambda: message
    error.show(file=text)
    for line in text.getvalue().rstrip("\n").split("\n"):
        tell(line)
    return FAILED


def _handle_what_nobody_catches() -> None:
    """Hide tracebacks of threads and finalizers unless KUBESCHED_LINT_TRACEBACK is set; lose no signal with them."""

    def hook(ended: threading.ExceptHookArgs) -> None:
        if ended.exc_value is not None and os.environ.get(TRACEBACK):
            _failed(ended.exc_value, _bug(ended.exc_value))

    if "threading" in sys.modules:
        sys.modules["threading"].excepthook = hook  # type: ignore[attr-defined]
    else:
        _thread._excepthook = hook  # threading takes it from there when a thread is needed

    def unraisable(swallowed: sys.UnraisableHookArgs) -> None:
        if isinstance(swallowed.exc_value, Interrupted):
            _raise_soon(swallowed.exc_value)
        elif os.environ.get(TRACEBACK):
            sys.__unraisablehook__(swallowed)

    sys.unraisablehook = unraisable


# --- streams --------------------------------------------------------------------------------------------------------


def _open_closed_streams() -> None:
    """Reopen closed standard streams, so that no other file gets their descriptors; using them still fails."""
    if sys.stdin is not None and sys.stdout is not None and sys.stderr is not None:
        return
    for number, (name, way) in enumerate([("stdin", os.O_WRONLY), ("stdout", os.O_RDONLY), ("stderr", os.O_WRONLY)]):
        if getattr(sys, name) is None:
            descriptor = os.open(os.devnull, way)
            if descriptor != number:
                os.dup2(descriptor, number)
                os.close(descriptor)
            setattr(sys, name, _unreadable() if not number else open(number, "w", closefd=False))  # noqa: SIM115


def _unreadable() -> TextIO:
    class Closed(RawIOBase):
        def readable(self) -> bool:
            return True

        def readinto(self, _: object) -> int:
            raise OSError(EBADF, "is closed", "standard input")

    return TextIOWrapper(BufferedReader(Closed()))


def _is_flushed() -> bool:
    """Return whether stdout could be flushed; a closed pipe counts as flushed."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        forget(sys.stdout)
    except (OSError, ValueError) as error:
        forget(sys.stdout)
        tell(f"error: {_system_message(error) if isinstance(error, OSError) else error}")
        return False
    try:
        sys.stderr.flush()
    except (OSError, ValueError):
        pass
    return True


# --- signals --------------------------------------------------------------------------------------------------------


def _handle_signals() -> None:
    """Make signals unwind the run, so that it removes temporary files, and kill worker processes at once."""
    own_process = os.getpid()
    handled: list[int] = []

    def end(number: int, _: object) -> None:
        for each in handled:
            signal.signal(each, signal.SIG_DFL)  # a second signal ends the process at once
        if os.getpid() != own_process:
            os._exit(128 + number)
        _end_workers()
        raise Interrupted(number)

    for name in _SIGNALS:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:  # nohup
            signal.signal(number, end)
            handled.append(number)


def _raise_soon(interrupted: Interrupted) -> None:
    """Raise once more the signal that Python has swallowed, because it was raised in a finalizer or after a fork.

    A hook cannot raise: Python would swallow that, too. So the alarm raises it where the run goes on.
    """
    number = int(interrupted.args[0])
    if not hasattr(signal, "setitimer"):  # Windows
        os._exit(128 + number)

    def again(*_: object) -> NoReturn:
        raise Interrupted(number)

    signal.signal(signal.SIGALRM, again)
    signal.setitimer(signal.ITIMER_REAL, _SOON)


def _end_workers() -> None:
    processes = sys.modules.get("multiprocessing.process")
    for worker in processes.active_children() if processes else ():
        worker.kill()
