"""The line on a terminal that says what a long command does: shown late, taken back, and never in a pipe."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import termios
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from pathlib import Path
from threading import Thread

import pytest

from kubesched_lint import progress
from kubesched_lint.engine.base import steps, work
from kubesched_lint.engine.base.steps import at
from kubesched_lint.printing import say, tell, visible
from kubesched_lint.progress import shown, titled
from tests.events.simulated import report_of, sketch, workload
from tests.program import become, called

ROOT = Path(__file__).parents[2]
ERASE, END = "\r\x1b[K", b"<end>"
COLUMNS = 60
EVIL = "evil\x1b[2J\n\u202e"
DRAIN = ["drain", str(ROOT / "fixtures/drain/shop"), "-c", str(ROOT / "fixtures/drain/cluster.yaml"), "--no-config"]
QUEUE = f"{DRAIN[1]}/queue.yaml"
COMMANDS = {
    "planning the drain of 4 nodes: wave 1": DRAIN,
    "auditing 4 nodes": ["audit", *DRAIN[2:]],
    "simulating 1 workload: deploy for StatefulSet": ["simulate", QUEUE, *DRAIN[2:], "--events", "deploy"],
    "linting: rule ": ["lint", *DRAIN[1:], "--no-cache"],
    "simulating 2 workloads of ": ["plan", f"{DRAIN[1]}/web.yaml", QUEUE, *DRAIN[2:], "--events", "deploy"],
}


class Terminal:
    """A terminal of 60 columns. ``its`` is what a program writes to."""

    def __init__(self) -> None:
        self._ours, self.its = pty.openpty()
        fcntl.ioctl(self.its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
        self._found = b""
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        while not self._found.endswith(END):
            self._found += os.read(self._ours, 1 << 16)

    @contextmanager
    def as_stderr(self) -> Iterator[None]:
        """While this runs, standard error is the terminal: pytest has its own before a test."""
        with os.fdopen(os.dup(self.its), "w") as stream, redirect_stderr(stream):
            yield

    def said(self) -> list[str]:
        """Return what came to stand on the line, one after another; the first stood there before any was erased."""
        os.write(self.its, END)
        self._reader.join(20)
        os.close(self._ours)
        os.close(self.its)
        return self._found.removesuffix(END).decode().split(ERASE)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    found = Terminal()
    monkeypatch.setattr(progress, "AFTER", 0.0)
    monkeypatch.setattr(progress, "_PAUSE", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    return found


def test_the_line_says_how_far_it_is_and_is_taken_back(terminal: Terminal) -> None:
    with terminal.as_stderr(), shown("planning"):
        titled("planning the drain of 9 nodes")
        at("wave 3")
        at("Deployment shop/web", 1_005, 2_200)
    assert terminal.said()[1:] == [
        "planning the drain of 9 nodes, 0 s",
        "planning the drain of 9 nodes: wave 3, 0 s",
        "planning the drain of 9 nodes: Deployment shop/web (1…, 0 s",
        "",
    ]


def test_the_seconds_go_on_with_the_counted_work(terminal: Terminal) -> None:
    with terminal.as_stderr(), shown("searching"):
        work.spend()
    assert terminal.said()[1:] == ["searching, 0 s", ""]
    work.spend(10**9)


def test_names_of_strangers_control_no_terminal(terminal: Terminal) -> None:
    with terminal.as_stderr(), shown("simulating"):
        at(EVIL)
    (line, _) = terminal.said()[1:]
    assert line == f"simulating: {visible(EVIL)}, 0 s"
    assert line.isprintable()


def test_wide_characters_count_twice(terminal: Terminal) -> None:
    with terminal.as_stderr(), shown("界" * 40):
        at("")
    assert terminal.said()[1] == "界" * 26 + "…, 0 s"


def test_a_message_takes_the_line_back_first(terminal: Terminal, capsys: pytest.CaptureFixture[str]) -> None:
    with terminal.as_stderr(), shown("linting"):
        at("x")
        tell("error: y")
        at("z")
        say("report")
        assert capsys.readouterr().out == "report\n"
    assert terminal.said()[1:] == ["linting: x, 0 s", "error: y\r\n", "linting: z, 0 s", ""]


def test_a_failure_takes_the_line_back(terminal: Terminal) -> None:
    def fail() -> None:
        with terminal.as_stderr(), shown("linting"):
            at("x")
            raise ValueError("bad")

    with pytest.raises(ValueError, match="bad"):
        fail()
    assert terminal.said()[-1] == ""
    assert progress._line is None


def test_a_short_run_shows_nothing(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "AFTER", 60.0)
    with terminal.as_stderr(), shown("linting"):
        at("x")
    assert terminal.said()[1:] == []


@pytest.mark.parametrize("term", ["", "dumb"])
def test_a_terminal_that_cannot_take_it_back_shows_nothing(
    terminal: Terminal, term: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", term)
    with terminal.as_stderr(), shown("linting"):
        at("x")
    assert terminal.said()[1:] == []


@pytest.mark.parametrize("begins", COMMANDS)
def test_each_long_command_shows_its_line_on_a_terminal_and_nothing_else(begins: str, tmp_path: Path) -> None:
    args = COMMANDS[begins]
    terminal, report = Terminal(), tmp_path / "report"
    child = os.fork()
    if not child:
        progress.AFTER = progress._PAUSE = 0.0
        out = os.open(report, os.O_WRONLY | os.O_CREAT)
        become(args, ROOT, {**os.environ, "TERM": "xterm"}, [os.open(os.devnull, os.O_RDONLY), out, terminal.its])
    os.waitpid(child, 0)
    shown_lines = terminal.said()
    piped = called(*args, cwd=ROOT)
    assert piped.stderr == ""
    assert report.read_text() == piped.stdout
    assert any(line.startswith(begins) for line in shown_lines), shown_lines[:9]
    assert all(re.fullmatch(r"[^\r\n]{1,59}, \d+ s", line) for line in shown_lines[1:-1])
    assert shown_lines[0] == shown_lines[-1] == ""


def test_simulate_says_when_it_has_judged_the_last_workload(monkeypatch: pytest.MonkeyPatch) -> None:
    """The line named the last job for the four seconds of traces with other scores."""
    told: list[str] = []
    monkeypatch.setattr(steps, "listener", told.append)
    report_of(sketch(1, "abc", "2"), workload("Deployment", "web", 2))
    last = max(number for number, line in enumerate(told) if " for Deployment default/web (1 of 1)" in line)
    assert "traces with other scores" in told[last + 1 :]
