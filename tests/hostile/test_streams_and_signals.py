"""Streams that are closed, full or left by their reader, signals, and a system that gives no more: each has its end."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import cache
from itertools import product
from multiprocessing import get_start_method
from pathlib import Path

import pytest

from tests.program import called
from tests.share import every, first

ROOT = Path(__file__).parents[2]
PROGRAM = f"{sys.executable} -m kubesched_lint"
SHOP = "fixtures/shop"
ZONES = "fixtures/clusters/three-zones.yaml"
COMMANDS = {
    "lint": (f"lint {SHOP} -c {ZONES}", 1),
    "lint json": (f"lint {SHOP} -c {ZONES} -f json", 1),
    "lint html": (f"lint {SHOP} -c {ZONES} -f html", 1),
    "simulate": (f"simulate {SHOP} -c {ZONES} --events deploy", None),
    "why": (f"why shop/web {SHOP} -c {ZONES}", None),
    "fleet": (f"fleet {SHOP} --clusters fixtures/pools --executor serial", None),
    "init": (f"init {ZONES}", 0),
    "config show": ("config show", 0),
    "config schema": ("config schema", 0),
    "rules list": ("rules list", 0),
    "rules explain": ("rules explain anti-affinity-exceeds-domains", 0),
    "version": ("--version", 0),
    "help": ("--help", 0),
    "completion": ("--show-completion bash", 0),
}


def shell(line: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["bash", "-c", line], cwd=ROOT, capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload,no-any-return]


def is_quiet(said: str) -> bool:
    return not any(word in said for word in ("Traceback", "Exception ignored", "This is a bug"))


UNWRITABLE = {">&-": "Bad file descriptor", ">/dev/full": "No space left on device"}


@pytest.mark.parametrize(("name", "where"), every(9, product(COMMANDS, UNWRITABLE)))
def test_output_that_cannot_be_written_is_one_line_and_2(name: str, where: str) -> None:
    done = shell(f"{PROGRAM} {COMMANDS[name][0]} {where}")
    assert done.returncode == 2
    lines = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert lines == [f"error: standard output: {UNWRITABLE[where]}"]
    assert is_quiet(done.stderr)


@pytest.mark.parametrize("name", every(4, COMMANDS))
def test_a_reader_who_leaves_changes_no_verdict(name: str) -> None:
    command, wanted = COMMANDS[name]
    done = shell(f"{PROGRAM} {command} | head -c 1 >/dev/null; exit ${{PIPESTATUS[0]}}")
    if wanted is None:
        wanted = freely(command)
    assert done.returncode in ((wanted, 141) if name in ("help", "completion") else (wanted,))
    assert is_quiet(done.stderr)
    assert "Broken pipe" not in done.stderr


TOLD = {
    f"lint {SHOP} -c {ZONES}": 1,
    f"lint {SHOP} -c {ZONES} --quiet": 1,
    "lint missing.yaml": 2,
    "lint --no-such-option": 2,
    "why nobody -c missing.yaml": 2,
    "rules explain nobody": 2,
    "": 2,
}


@pytest.mark.parametrize(("command", "where"), every(3, product(TOLD, ["2>&-", "2>/dev/full"])))
def test_nobody_to_tell_changes_no_exit_code(command: str, where: str) -> None:
    assert shell(f"{PROGRAM} {command} {where}").returncode == TOLD[command]


READING = (f"lint - -c {ZONES}", "init -", f"simulate - -c {ZONES}", f"lint -c - {SHOP}")


@pytest.mark.parametrize(("command", "rest"), every(3, product(READING, ["", " >&-", " 2>&-", " >&- 2>&-"])))
def test_closed_input_is_said(command: str, rest: str) -> None:
    done = shell(f"{PROGRAM} {command} <&-{rest}")
    assert done.returncode == 2
    assert is_quiet(done.stderr)
    if "2>&-" not in rest:
        assert "error: " in done.stderr + done.stdout


def test_no_file_takes_the_place_of_a_closed_stream(tmp_path: Path) -> None:
    manifest = tmp_path / "pod.yaml"
    manifest.write_text((ROOT / SHOP / "web.yaml").read_text())
    before = manifest.read_bytes()
    shell(f"{PROGRAM} lint {manifest} --fix --unsafe-fixes <&- >&- 2>&-")
    shell(f"{PROGRAM} lint {manifest} -c {ZONES} <&- >&- 2>&-")
    assert b"error" not in manifest.read_bytes()
    assert before.splitlines()[0] in manifest.read_bytes()
    report = tmp_path / "report.json"
    done = shell(f"{PROGRAM} lint {manifest} --format json={report} --quiet >&-")
    assert report.read_text().startswith('{"version"')
    assert done.returncode in (0, 1)


# --- what the system gives ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Enough for a run of some seconds, and for several clusters."""
    return copies(1500, tmp_path_factory.mktemp("many"))


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Enough for an answer that a worker writes in more than one piece."""
    return copies(12, tmp_path_factory.mktemp("few"))


def copies(count: int, there: Path) -> Path:
    web = (ROOT / SHOP / "web.yaml").read_text()
    (there / "set").mkdir()
    for begin in range(0, count, 50):
        texts = (web.replace("name: web", f"name: web-{number}") for number in range(begin, min(begin + 50, count)))
        (there / "set" / f"{begin}.yaml").write_text("---\n".join(texts))
    (there / "clusters").mkdir()
    for number in range(3):
        (there / "clusters" / f"{number}.yaml").write_text((ROOT / ZONES).read_text())
    targets = (f'[[targets]]\nname = "{n}"\npaths = ["set"]\ncluster = "clusters/{n}.yaml"\n' for n in range(3))
    (there / "kubesched.toml").write_text("".join(targets))
    return there


@cache
def freely(command: str) -> int:
    """Return the exit code of the program with as many descriptors as it wants."""
    return called(*command.split(" "), cwd=ROOT).returncode


OPENING = (
    f"lint {SHOP} -c {ZONES} --no-cache",
    f"lint {SHOP} -c {ZONES} --changed",
    "lint --config examples/targets-repo/kubesched.toml --jobs 3 --no-cache",
    f"simulate {SHOP} -c {ZONES} --events deploy",
    f"fleet {SHOP} --clusters fixtures/pools",
    f"fleet {SHOP} --clusters fixtures/pools --executor threads:3",
)


@pytest.mark.parametrize(("command", "most"), every(11, product(OPENING, [8, 10, 12, 16, 24])))
def test_few_descriptors_end_in_an_answer_or_in_one_that_says_so(command: str, most: int) -> None:
    done = shell(f"ulimit -n {most}; {PROGRAM} {command}")
    assert is_quiet(done.stderr)
    if done.returncode == freely(command):
        return
    assert done.returncode == 2
    assert "many open files" in (done.stderr + done.stdout).lower()


# With 50,000 or less the interpreter fails now and then in its own library: it aborts, or hashlib logs what it lacks.
@pytest.mark.parametrize(
    ("command", "kibibytes"),
    first(1, product(["lint SET -c {zones} --no-cache", "lint SET --changed"], [70_000, 90_000, 120_000])),
)
def test_little_memory_ends_in_an_answer_or_in_one_that_says_so(command: str, kibibytes: int, many: Path) -> None:
    line = command.replace("SET", str(many / "set")).format(zones=ZONES)
    done = shell(f"ulimit -v {kibibytes}; {PROGRAM} {line}")
    gave_up = done.returncode in (1, -signal.SIGABRT) and "kubesched_lint" not in done.stderr
    if gave_up and "error" not in done.stdout:
        pytest.skip("Python itself does not start")
    assert done.returncode in (0, 1, 2)
    assert is_quiet(done.stderr), done.stderr[-2000:]
    if done.returncode == 2:
        assert done.stderr or done.stdout


# --- signals --------------------------------------------------------------------------------------------------------

LONG = {
    "lint": "lint SET -c CLUSTERS/0.yaml --no-cache",
    "targets": "lint --config CONFIG --no-cache --jobs 3",
    "diff": "lint SET -c CLUSTERS/0.yaml --no-cache --diff",
    "fleet": "fleet SET --clusters CLUSTERS --executor processes:3",
    "threads": "fleet SET --clusters CLUSTERS --executor threads:3",
    "simulate": "simulate SET -c CLUSTERS/0.yaml",
}
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def as_from_a_terminal() -> None:
    for number in SIGNALS:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def in_full(name: str, many: Path) -> list[str]:
    files = {"SET": many / "set", "CLUSTERS": many / "clusters", "CONFIG": many / "kubesched.toml"}
    line = LONG[name]
    for word, file in files.items():
        line = line.replace(word, str(file))
    return line.split(" ")


def started(name: str, many: Path, **options: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "kubesched_lint", *in_full(name, many)],
        cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        **{"preexec_fn": as_from_a_terminal, **options},
    )  # type: ignore[call-overload,no-any-return]  # fmt: skip


def until(done: Callable[[], bool], seconds: float) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if done():
            return True
        time.sleep(0.02)
    return done()


def below(pid: int) -> list[int]:
    """The processes that it has started, and theirs."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdecimal() and int((entry / "stat").read_text().rpartition(")")[2].split()[1]) == pid:
                found += [int(entry.name), *below(int(entry.name))]
        except OSError:  # it has ended
            pass
    return found


def in_session(leader: int) -> list[int]:
    """The processes of a session, those of which the parent has ended among them."""
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal() and leader == session(entry)]


def session(process: Path) -> int:
    try:
        return int((process / "stat").read_text().rpartition(")")[2].split()[3])
    except OSError:  # it has ended
        return 0


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def heeds(pid: int) -> bool:
    """Whether it has got so far as to heed SIGTERM."""
    status = Path(f"/proc/{pid}/status").read_text()
    return bool(int(status.partition("SigCgt:")[2].split()[0], 16) >> (signal.SIGTERM - 1) & 1)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="looks into /proc")
@pytest.mark.parametrize(
    ("name", "number"), every(4, product(LONG, SIGNALS)), ids=lambda part: getattr(part, "name", part)
)
def test_a_signal_ends_the_run_and_its_workers(name: str, number: signal.Signals, many: Path) -> None:
    run = started(name, many)
    assert until(lambda: heeds(run.pid), 20)
    workers: list[int] = []
    if name in ("targets", "fleet"):
        assert until(lambda: len(below(run.pid)) >= 2, 20)
        time.sleep(0.5)
        workers = below(run.pid)
    else:
        time.sleep(0.5)
    run.send_signal(number)
    _, said = run.communicate(timeout=20)
    assert (run.returncode, said) == (128 + number, "")
    assert until(lambda: not any(map(is_running, workers)), 1.0)


def test_a_signal_while_a_class_is_made_ends_the_run() -> None:
    """Python 3.11 makes a RuntimeError of what __set_name__ raises."""
    made = (
        "class Field:\n    def __set_name__(self, owner, name): signal.raise_signal(signal.SIGINT)\n"
        "def run():\n    class Owner: field = Field()\n    return 0\n"
    )
    # A shell starts its background jobs with this signal ignored, and so the tests that one of them runs.
    heard = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
    code = f"{heard}from kubesched_lint.cli.ending import ended_by\n{made}ended_by(run)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=20, check=False)
    assert (done.returncode, done.stderr) == (130, "")


SWALLOWED = {
    "finalizer": """
class Made:
    def __del__(self): interrupt()
def swallow(): Made()
""",
    "weak reference": """
import weakref
class Made: pass
made = [Made()]
held = weakref.ref(made[0], interrupt)
def swallow(): made.clear()
""",
    "fork": """
os.register_at_fork(after_in_parent=interrupt)
def swallow():
    if not os.fork(): os._exit(0)
""",
}
"""Where Python calls code, and only reports what this raises."""


@pytest.mark.parametrize("where", SWALLOWED)
def test_a_signal_that_python_swallows_ends_the_run_in_order(where: str) -> None:
    code = f"""
import os, signal, time
signal.signal(signal.SIGINT, signal.default_int_handler)
from kubesched_lint.cli.ending import ended_by
def interrupt(*_): signal.raise_signal(signal.SIGINT)
{SWALLOWED[where]}
def run():
    try:
        swallow()
        time.sleep(10)
    finally:
        print("tidied up", flush=True)
    return 0
ended_by(run)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=20, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "tidied up\n", "")


AT_FORK = """
import os, signal
os.register_at_fork(after_in_parent=lambda: os.killpg(0, signal.SIGINT))
from kubesched_lint.cli import main
main()
"""
"""Each fork of a worker is interrupted before the worker is known to its parent."""


@pytest.mark.skipif(get_start_method() != "fork" or not Path("/proc/self/stat").exists(), reason="forks no workers")
@pytest.mark.parametrize("name", ["targets", "fleet"])
def test_ctrl_c_while_a_worker_is_forked_ends_the_run(name: str, few: Path) -> None:
    run = subprocess.Popen(
        [sys.executable, "-c", AT_FORK, *in_full(name, few)],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=as_from_a_terminal, start_new_session=True,
    )  # fmt: skip
    said = run.communicate(timeout=20)
    assert (run.returncode, said) == (130, ("", ""))
    assert until(lambda: not any(map(is_running, in_session(run.pid))), 1.0)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="looks into /proc")
@pytest.mark.parametrize("delay", every(20, range(40)))
def test_ctrl_c_under_load_is_never_lost(delay: int, few: Path) -> None:
    """Within these 20 milliseconds after the first fork the other workers are forked."""
    burning = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    try:
        run = started("fleet", few, start_new_session=True)
        assert until(lambda: bool(below(run.pid)), 20)
        time.sleep(delay / 2000)
        workers = below(run.pid)
        os.killpg(run.pid, signal.SIGINT)
        _, said = run.communicate(timeout=20)
    finally:
        for each in burning:
            each.kill()
            each.wait()
    assert (run.returncode, said) == (130, "")
    assert until(lambda: not any(map(is_running, workers)), 1.0)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="looks into /proc")
@pytest.mark.parametrize("name", ["targets", "fleet"])
def test_ctrl_c_at_a_terminal_reaches_all_of_them(name: str, many: Path) -> None:
    run = started(name, many, start_new_session=True)
    assert until(lambda: len(below(run.pid)) >= 2, 20)
    workers = below(run.pid)
    os.killpg(run.pid, signal.SIGINT)
    _, said = run.communicate(timeout=20)
    assert run.returncode == 130
    assert is_quiet(said)
    assert until(lambda: not any(map(is_running, workers)), 1.0)


KILLED = """
import os, signal, struct, sys
from multiprocessing.connection import Connection

def half(self, answer, whole=Connection.send_bytes, here=os.getpid(), killed=sys.argv.pop(1)):
    if os.getpid() == here or len(answer) < 500 or os.path.exists(killed):
        return whole(self, answer)
    open(killed, "w").close()
    os.write(self.fileno(), struct.pack("!i", len(answer)) + answer[:400])
    os.kill(os.getpid(), signal.SIGKILL)

Connection.send_bytes = half
from kubesched_lint.cli import main
main()
"""
"""The first worker with an answer is killed when half of it is written; the others live."""


@pytest.mark.parametrize("name", ["targets", "fleet"])
def test_a_worker_that_is_killed_with_half_an_answer_given_is_not_waited_for(
    name: str, few: Path, tmp_path: Path
) -> None:
    line = in_full(name, few)
    alone = line[:-1] + (["serial"] if name == "fleet" else ["1"])
    wanted = subprocess.run([sys.executable, "-m", "kubesched_lint", *alone], cwd=ROOT, capture_output=True, text=True)
    killed = tmp_path / "killed"
    command = [sys.executable, "-c", KILLED, str(killed), *line]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert killed.exists()
    assert (done.returncode, done.stdout) == (wanted.returncode, wanted.stdout)
    assert is_quiet(done.stderr)
    assert done.stderr.count("a worker died") == 1


def test_what_is_ignored_stays_ignored(many: Path) -> None:
    run = started("lint", many, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    assert until(lambda: heeds(run.pid), 20)
    run.send_signal(signal.SIGHUP)
    time.sleep(0.5)
    assert run.poll() is None
    run.send_signal(signal.SIGTERM)
    assert run.wait(20) == 143
    assert run.stderr is not None
    run.stderr.close()


def test_a_report_that_was_begun_leaves_no_temporary_file(many: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    report.write_text("old")
    for wait in (0.2, 1.2):
        run = subprocess.Popen(
            [sys.executable, "-m", "kubesched_lint", "lint", str(many / "set"), "--format", f"json={report}"],
            cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        time.sleep(wait)
        run.terminate()
        run.wait(20)
        assert os.listdir(tmp_path) == ["report.json"]
        assert report.read_text() == "old" or report.read_text().endswith("}\n")
