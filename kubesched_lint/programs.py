"""The only module that starts other programs: git, kubectl, kustomize and helm.

A program may run code from an untrusted folder. So no program gets our standard input or a network, every program gets
a time limit and an output limit, and it is ended together with its child processes. git ignores every program that a
repository's configuration names.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from shutil import which
from tempfile import TemporaryFile
from threading import Thread
from time import monotonic
from typing import IO

from msgspec import Struct

from kubesched_lint.limits import LARGEST_OUTPUT, LARGEST_SETTINGS

TIMEOUT = 60.0
"""Seconds that a program may take."""
_PIECE = 1 << 16

OFFLINE: Mapping[str, str] = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_TERMINAL_PROMPT": "0",
    "HTTP_PROXY": "http://127.0.0.1:9",
    "HTTPS_PROXY": "http://127.0.0.1:9",
    "http_proxy": "http://127.0.0.1:9",
    "https_proxy": "http://127.0.0.1:9",
    "NO_PROXY": "",
    "no_proxy": "",
}
"""Kustomize fetches with git and with Go's HTTP client: these settings stop both."""


_HELMS_FOLDERS = (
    *("HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME", "HELM_PLUGINS"),
    *("HELM_REPOSITORY_CACHE", "HELM_REPOSITORY_CONFIG", "HELM_REGISTRY_CONFIG"),
)


class ProgramError(Exception):
    """A program did not run to its end; ``str()`` is the whole message."""


class SlowProgramError(ProgramError):
    """The program took longer than it may."""


class NotInstalledError(ProgramError):
    """The program does not exist."""


class NoWorkTreeError(ProgramError):
    """The path is in no git work tree."""


class Done(Struct, frozen=True):
    """The result of a program."""

    code: int
    out: bytes
    error: str


def run(
    command: Sequence[str],
    *,
    name: str,
    environ: Mapping[str, str] | None = None,
    timeout: float = TIMEOUT,
    largest: int = 0,
    given: bytes = b"",
) -> Done:
    """Run a program to its end; ``environ`` replaces the environment, ``name`` is the program's name in messages.

    ``given`` is its standard input.

    Raises NotInstalledError, and ProgramError if it cannot be started, takes longer than ``timeout`` seconds or writes
    more than ``largest`` bytes (``LARGEST_OUTPUT`` if 0).
    """
    largest = largest or LARGEST_OUTPUT
    try:
        process = subprocess.Popen(
            command,
            stdin=_holding(given) if given else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environ,
            start_new_session=True,
        )
    except FileNotFoundError:
        raise NotInstalledError(f"{name} is not installed") from None
    except OSError as error:
        raise ProgramError(f"{name} cannot be run: {(error.strerror or str(error)).lower()}") from None
    assert process.stdout is not None
    assert process.stderr is not None
    outputs: list[bytes] = [b"", b""]
    short: list[BaseException] = []

    def read(number: int, stream: IO[bytes], most: int) -> None:
        pieces = []
        size = 0
        try:
            while size <= most and (piece := stream.read(min(_PIECE, most + 1 - size))):
                pieces.append(piece)
                size += len(piece)
            outputs[number] = b"".join(pieces)
        except MemoryError as error:
            short.append(error)
        if size > most or short:
            _end(process.pid)

    readers = [
        Thread(target=read, args=(0, process.stdout, largest), daemon=True),
        Thread(target=read, args=(1, process.stderr, LARGEST_SETTINGS), daemon=True),
    ]
    deadline = monotonic() + timeout
    try:
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join(max(0.0, deadline - monotonic()))
        code = process.wait(max(0.1, deadline - monotonic()))
    except subprocess.TimeoutExpired:
        raise SlowProgramError(f"{name} took longer than {timeout:g} seconds and was stopped") from None
    except RuntimeError:  # no further thread can be started
        raise ProgramError(f"{name} cannot be run: there is not enough memory") from None
    finally:
        if process.poll() is None:
            _end(process.pid)
            process.wait()
    if short:
        raise ProgramError(f"{name} writes more than the memory can hold")
    if len(outputs[0]) > largest:
        raise ProgramError(f"{name} writes more than {largest // 1024**2} MiB")
    return Done(code, outputs[0], outputs[1].decode("utf-8", "replace"))


def _holding(data: bytes) -> IO[bytes]:
    """Return an unnamed file: unlike a pipe, it needs nobody who fills it while the program writes."""
    file = TemporaryFile()  # noqa: SIM115 - the program reads it after this call
    file.write(data)
    file.seek(0)
    return file


def run_offline(command: Sequence[str], *, name: str, timeout: float = TIMEOUT, home: str = "") -> Done:
    """Run a program that needs no network, like ``run``; without network access if the system supports that.

    ``home`` is an empty folder that it gets as its home, and for all that Helm keeps; empty for the user's own.
    """
    environ = {**environment(), **OFFLINE, "KUBECONFIG": os.devnull, **_settings_in(home)}
    return run((*_alone(), *command), name=name, environ=environ, timeout=timeout)


def _settings_in(home: str) -> Mapping[str, str]:
    """Return the variables by which a program finds neither settings nor plugins of the user."""
    if not home:
        return {}
    folders = {name: os.path.join(home, name.lower()) for name in _HELMS_FOLDERS}
    return {**folders, "HELM_NO_PLUGINS": "1", "HOME": home, "USERPROFILE": home, "XDG_CONFIG_HOME": home}


def run_as_user(command: Sequence[str], *, name: str, timeout: float = TIMEOUT) -> Done:
    """Run a program as the user would, with the network, settings and credentials; raises like ``run``.

    Only for what a user asks to fetch.
    """
    return run(command, name=name, timeout=timeout)


@cache
def _alone() -> tuple[str, ...]:
    """Return the command prefix that starts a program without any network, not even loopback; empty if unavailable.

    Linux lets every user do this unless the container or the administrator forbids it; the check takes some
    milliseconds and runs once.
    """
    unshare = which("unshare", path="/usr/bin:/bin")
    if unshare is None:
        return ()
    command = (unshare, "--net", "--map-root-user", "--")
    try:
        return () if run((*command, "true"), name="unshare", environ=environment(), timeout=5).code else command
    except ProgramError:
        return ()


def _end(process: int) -> None:
    """End the process and its child processes, which share a session."""
    try:
        os.killpg(process, signal.SIGKILL)
    except (OSError, AttributeError):
        try:
            os.kill(process, signal.SIGTERM)
        except OSError:
            pass


# --- git ------------------------------------------------------------------------------------------------------------

# Settings by which a repository names programs, each with a value that names none. See ``git help config``.
_HARMLESS = {
    "safe.bareRepository": "explicit",
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.pager": "cat",
    "core.editor": "false",
    "core.askPass": "",
    "core.sshCommand": "false",
    "core.gitProxy": "",
    "core.alternateRefsCommand": "false",
    "credential.helper": "",
    "diff.external": "",
    "protocol.allow": "never",
    "submodule.recurse": "false",
    "core.quotePath": "false",
}
_PASSED_ON = ("PATH", "HOME", "USERPROFILE", "XDG_CONFIG_HOME", "SYSTEMROOT", "TMPDIR", "TEMP", "TMP")
_NEUTRAL = {"clean": "", "smudge": "", "process": "", "required": "false", "textconv": "", "command": ""}
"""Programs that a section ``filter.NAME`` or ``diff.NAME`` can run; an empty value runs nothing."""


class WorkTree:
    """A git work tree: the folder that holds ``.git``; a bare repository is not accepted.

    Raises NoWorkTreeError for a path outside any work tree.
    """

    def __init__(self, path: str) -> None:
        folder = path if os.path.isdir(path) else os.path.dirname(path) or "."
        top = os.path.realpath(folder if os.path.isdir(folder) else ".")
        while not os.path.lexists(os.path.join(top, ".git")):
            above = os.path.dirname(top)
            if above == top:
                raise NoWorkTreeError(f"{path} is in no git repository")
            top = above
        self.top = top
        self._harmless: tuple[str, ...] | None = None

    def git(self, *arguments: str, given: bytes = b"") -> Done:
        """Run git here, with standard input ``given``.

        Raises ProgramError, also if the repository's work tree is another folder.
        """
        if self._harmless is None:
            self._harmless = tuple(_options(_HARMLESS))  # reading the configuration runs nothing
            self._harmless += tuple(_options(dict(self._named())))
            toplevel = self._run("rev-parse", "--show-toplevel")
            named = toplevel.out.decode("utf-8", "surrogateescape").rstrip("\n")
            if not toplevel.code and os.path.realpath(named) != self.top:
                raise ProgramError(f"the repository in {self.top} calls another folder its work tree: {named}")
        return self._run(*arguments, given=given)

    def _run(self, *arguments: str, given: bytes = b"") -> Done:
        command = ["git", "--no-pager", "--no-optional-locks", *(self._harmless or ()), "-C", self.top, *arguments]
        environ = {**environment(), **OFFLINE, "LC_ALL": "C", "GIT_NO_LAZY_FETCH": "1"}
        return run(command, name="git", environ=environ, given=given)

    def _named(self) -> Iterator[tuple[str, str]]:
        """Yield the programs that the configuration names for filters and file types, each set to none."""
        listed = self._run("config", "--null", "--name-only", "--get-regexp", r"^(filter|diff)\..*\.")
        for key in listed.out.decode("utf-8", "surrogateescape").split("\0"):
            section, _, variable = key.rpartition(".")
            if variable in _NEUTRAL and "=" not in section:
                yield key, _NEUTRAL[variable]
            elif variable in _NEUTRAL:
                raise ProgramError(f"the configuration of the repository in {self.top} has an odd section: {section}")


def _options(settings: Mapping[str, str]) -> Iterator[str]:
    for key, value in settings.items():
        yield "-c"
        yield f"{key}={value}"


def environment() -> Mapping[str, str]:
    """Return the environment without git's variables: a git hook that runs us may name another repository."""
    return {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
