"""``--fix``, killed, raced, cheated and starved: a file has its old bytes or its new ones, and never anything else."""

from __future__ import annotations

import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from kubesched_lint.commands.fix.workspace import OpenFile, WriteError, write

ROOT = Path(__file__).parents[2]
OLD = b"old\n" * 400_000
NEW = b"new!\n" * 400_000
WEB = (ROOT / "tests/fix/test_fix_command.py").read_text().partition('WEB = """\\\n')[2].partition('"""')[0]
KILLS = 60


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "web.yaml"
    file.write_bytes(OLD)
    file.chmod(0o640)
    monkeypatch.chdir(tmp_path)
    return file


def open_file(path: str = "web.yaml", data: bytes = NEW) -> OpenFile:
    return OpenFile(path, OLD, data, (), False, False)


def in_child(work: Callable[[], object]) -> int:
    """Starts work in a process of its own, and gives its number; it ends with 0 when it has ended well."""
    number = os.fork()
    if number == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return number


def left_behind(file: Path) -> None:
    """Takes away what a killed run leaves behind: one file, that nobody reads as a manifest."""
    for other in set(file.parent.iterdir()) - {file}:
        assert other.name.startswith(".kubesched-lint-")
        assert other.suffix == ""
        other.unlink()


def test_whenever_it_is_killed_the_file_is_old_or_new(file: Path) -> None:
    start = time.perf_counter()
    os.waitpid(in_child(lambda: write(open_file())), 0)
    takes = time.perf_counter() - start
    assert file.read_bytes() == NEW
    chance, seen = random.Random(7), {OLD: 0, NEW: 0}
    for _ in range(KILLS):
        file.write_bytes(OLD)
        child = in_child(lambda: write(open_file()))
        time.sleep(chance.uniform(0, 1.3 * takes))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        left = file.read_bytes()
        seen[left] += 1  # a KeyError is a mixture
        takes *= 1.3 if left == OLD else 1 / 1.3  # one slow write must not set the pace: follow the moment of the turn
        assert file.stat().st_mode & 0o777 == 0o640
        left_behind(file)
    assert all(seen.values()), f"the kills came too early or too late to tell: {list(seen.values())}"


def test_at_whatever_line_it_is_killed_the_file_is_old_or_new(file: Path) -> None:
    """No clock has a say here: the run is killed at its first line, its second, and so on to the last."""

    def killed_at(line: int) -> None:
        met = 0

        def trace(frame: FrameType, event: str, argument: Any) -> Any:
            nonlocal met
            if not frame.f_code.co_filename.endswith(("workspace.py", "writing.py")):
                return None
            met += 1
            if met == line:
                os.kill(os.getpid(), signal.SIGKILL)
            return trace

        sys.settrace(trace)
        write(open_file())

    seen, line, status = [], 0, -1
    while status != 0:
        line += 1
        file.write_bytes(OLD)
        status = os.waitpid(in_child(lambda at=line: killed_at(at)), 0)[1]  # type: ignore[misc]
        assert status in (0, signal.SIGKILL)
        seen.append({OLD: "old", NEW: "new"}[file.read_bytes()])
        left_behind(file)
    assert len(seen) > 40
    turning = seen.index("new")
    assert set(seen[:turning]) == {"old"}
    assert set(seen[turning:]) == {"new"}


def run(folder: Path, *args: str, **how: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kubesched_lint", "lint", *args, "--no-config"]
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, timeout=120, **how)


def test_the_whole_command_killed_leaves_old_or_new(tmp_path: Path) -> None:
    (tmp_path / "web.yaml").write_text(WEB)
    start = time.perf_counter()
    assert "fixed 1 of 1 finding in 1 file" in run(tmp_path, "web.yaml", "--fix").stderr
    takes = time.perf_counter() - start
    fixed = (tmp_path / "web.yaml").read_text()
    assert fixed != WEB
    command = [sys.executable, "-m", "kubesched_lint", "lint", "web.yaml", "--fix", "--no-config"]
    for part in (0.5, 0.8, 0.95):
        (tmp_path / "web.yaml").write_text(WEB)
        environ = {**os.environ, "PYTHONPATH": str(ROOT)}
        with subprocess.Popen(command, cwd=tmp_path, env=environ, stderr=subprocess.DEVNULL) as process:
            time.sleep(part * takes)
            process.kill()
        assert (tmp_path / "web.yaml").read_text() in (WEB, fixed)


def test_two_at_once_leave_one_of_the_two(file: Path) -> None:
    other = b"other\n" * 400_000
    for _ in range(20):
        file.write_bytes(OLD)
        pair = [in_child(lambda data=data: write(open_file(data=data))) for data in (NEW, other)]  # type: ignore[misc]
        codes = sorted(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in pair)
        assert codes == [0, 1], "the second one sees that the file is no longer what it has read"
        assert file.read_bytes() in (NEW, other)
        assert os.listdir(file.parent) == ["web.yaml"]


def test_a_file_that_another_program_holds_is_left_alone(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl

    monkeypatch.setattr("kubesched_lint.commands.fix.workspace._TRIES", 2)
    with file.open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(WriteError, match="another program has locked it"):
            write(open_file())
    assert file.read_bytes() == OLD
    write(open_file())
    assert file.read_bytes() == NEW


@pytest.mark.parametrize("changed", [b"", OLD + b"#", OLD[:-1], NEW])
def test_a_file_that_has_changed_since_it_was_read_is_left_alone(file: Path, changed: bytes) -> None:
    file.write_bytes(changed)
    with pytest.raises(WriteError, match="has changed since it was read"):
        write(open_file())
    assert file.read_bytes() == changed
    assert os.listdir(file.parent) == ["web.yaml"]


def test_a_file_that_is_replaced_while_we_write_is_left_alone(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the same bytes even: it is another file, and may have other permissions."""
    from kubesched_lint.commands.fix import workspace

    kept = workspace.kept

    def meanwhile(new: Any) -> None:
        kept(new)
        (file.parent / "other").write_bytes(OLD)
        os.replace(file.parent / "other", file)

    monkeypatch.setattr("kubesched_lint.commands.fix.workspace.kept", meanwhile)
    with pytest.raises(WriteError, match="has changed since it was read"):
        write(open_file())
    assert file.read_bytes() == OLD


def test_a_file_that_is_gone_stays_gone(file: Path) -> None:
    file.unlink()
    with pytest.raises(WriteError, match="no such file"):
        write(open_file())
    assert os.listdir(file.parent) == []


def test_a_full_disk_leaves_the_old_file(file: Path) -> None:
    """The limit on the size of a file fails in the middle of the bytes, as a full disk does."""

    def starved() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(NEW) // 2, len(NEW) // 2))
        with pytest.raises(WriteError, match=r"web\.yaml cannot be written: file too large"):
            write(open_file())

    assert os.waitpid(in_child(starved), 0)[1] == 0
    assert file.read_bytes() == OLD
    assert os.listdir(file.parent) == ["web.yaml"], "half a file is not left behind"


@pytest.mark.parametrize("step", ["fsync", "replace", "fchmod", "open"])
def test_whatever_fails_leaves_the_old_file(file: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    real = getattr(os, step)

    def full(*args: Any, **how: Any) -> Any:
        if step == "open" and not args[1] & os.O_CREAT:
            return real(*args, **how)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, step, full)
    with pytest.raises(WriteError, match="cannot be written: no space left on device"):
        write(open_file())
    monkeypatch.undo()
    assert file.read_bytes() == OLD
    assert os.listdir(file.parent) == ["web.yaml"]


@pytest.mark.parametrize("mode", [0o444, 0o400, 0o555])
def test_a_read_only_file_is_left_alone_by_everybody(file: Path, mode: int) -> None:
    file.chmod(mode)
    with pytest.raises(WriteError, match="it is read-only"):
        write(open_file())
    assert file.read_bytes() == OLD
    assert file.stat().st_mode & 0o777 == mode
    assert os.listdir(file.parent) == ["web.yaml"]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o755, 0o4755])
def test_permissions_stay(file: Path, mode: int) -> None:
    file.chmod(mode)
    write(open_file())
    assert file.read_bytes() == NEW
    assert file.stat().st_mode & 0o7777 == mode


@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.parametrize("way", ["link.yaml", "folder/web.yaml"])
def test_nothing_is_written_through_a_link(tmp_path: Path, inside: bool, way: str) -> None:
    repository = tmp_path / "repository"
    (repository / ".git").mkdir(parents=True)
    home = repository / "real" if inside else tmp_path / "outside"
    home.mkdir()
    (home / "web.yaml").write_text(WEB)
    (repository / "link.yaml").symlink_to(home / "web.yaml")
    (repository / "folder").symlink_to(home)
    done = run(repository, way, "--fix")
    assert done.returncode == 2
    assert (home / "web.yaml").read_text() == WEB
    said = f"{way} is behind a link" if inside else "a link that leads out of the repository"
    assert said in done.stdout + done.stderr
    assert sorted(os.listdir(repository)) == sorted([".git", "folder", "link.yaml", *(["real"] if inside else [])])


def test_a_link_that_takes_the_place_of_the_file_is_not_followed(file: Path) -> None:
    (file.parent / "precious").write_bytes(OLD)
    file.unlink()
    file.symlink_to("precious")
    with pytest.raises(WriteError, match="is behind a link"):
        write(open_file())
    assert (file.parent / "precious").read_bytes() == OLD
    assert file.is_symlink()
