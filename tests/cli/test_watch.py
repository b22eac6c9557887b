"""``lint --watch``: what went and what came after each change."""

from __future__ import annotations

import os
import re
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest

from kubesched_lint.linter.linted import linted
from kubesched_lint.session import watch
from kubesched_lint.session.watch import Watch
from tests.program import called
from tests.served import become, import_all

ROOT = Path(__file__).parents[2]
GONE = r"gone: error\[anti-affinity-exceeds-domains\]: 3 of 6 pods of Deployment shop/cache stay Pending"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    for name in ("cache.yaml", "db.yaml"):
        shutil.copy(ROOT / "fixtures/shop" / name, tmp_path)
    shutil.copy(ROOT / "fixtures/clusters/three-zones.yaml", tmp_path / "cluster.yaml")
    (tmp_path / "kubesched.toml").write_text('node-groups = "complete"\ncluster = "cluster.yaml"\n')
    return tmp_path


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def until(stream: IO[str], pattern: str) -> str:
    """Return what is printed up to a line that the pattern matches."""
    lines = []
    for line in stream:
        lines.append(line)
        if re.match(pattern, line):
            return "".join(lines)
    raise AssertionError("".join(lines))


@contextmanager
def watching(*args: str, folder: Path) -> Iterator[IO[str]]:
    """Yield what ``lint --watch`` prints; at the end somebody presses Ctrl-C."""
    import_all()
    ours, its = os.pipe()
    child = os.fork()
    if not child:
        os.close(ours)
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it for what runs in the background
        watch.PAUSE = 0.02
        become(["lint", *args, "--watch"], folder, None, [os.open(os.devnull, os.O_RDONLY), its, its])
    os.close(its)
    try:
        with open(ours) as stream:
            yield stream
            os.kill(child, signal.SIGINT)
            assert "Traceback" not in stream.read()
    finally:
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code == 130


def test_changes_are_told(shop: Path) -> None:
    with watching(".", folder=shop) as stream:
        assert "error[anti-affinity-exceeds-domains]" in until(stream, "watching: Ctrl-C ends it")
        edit(shop / "cache.yaml", "replicas: 6", "replicas: 3")
        said = until(stream, r"1 error$")
        assert re.search(rf"^changed: cache.yaml\n{GONE}", said, re.MULTILINE)
        assert "error[rollout-surge-deadlock]" in said
        assert re.search(r"^shop/cache +ok +stuck! ", said, re.MULTILINE)
        assert "shop/db" not in said
        (shop / "db.yaml").rename(shop / "gone.txt")
        edit(shop / "cache.yaml", "replicas: 3", "replicas: [")
        said = until(stream, r"no findings, 1 problem with the input$")
        assert "not judged now: error[rollout-surge-deadlock]" in said
        assert "error: not YAML" in said
        edit(shop / "cache.yaml", "replicas: [", "replicas: 3")
        until(stream, r"1 error$")
        edit(shop / "kubesched.toml", "cluster", "clutter")
        until(stream, r"error: kubesched.toml:2:1: unknown key `clutter`")
        (shop / "kubesched.toml").write_text("")
        assert "gone: error[rollout-surge-deadlock]" in until(stream, "1 warning$"), "no cluster any more"


def test_each_target_has_a_matrix(shop: Path) -> None:
    target = '[[targets]]\nname = "{}"\npaths = ["."]\ncluster = "cluster.yaml"\n'
    (shop / "kubesched.toml").write_text(target.format("eu") + target.format("us"))
    with watching("--target", "eu", "--target", "us", folder=shop) as stream:
        until(stream, "watching")
        edit(shop / "db.yaml", "replicas: 3", "replicas: 2")
        said = until(stream, r"1 error$")
        assert re.search(r"^eu:\n.*\n.*\nshop/db +ok.*\n\nus:\n.*\n.*\nshop/db", said, re.MULTILINE)


@pytest.mark.parametrize("targets", [(), ("eu",), ("eu", "us")])
def test_a_start_judges_once_and_a_change_of_nothing_tells_nothing(
    targets: tuple[str, ...], shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the first report says is what a session would say: nothing of it goes or comes with an edited comment."""

    def told(*args: Any, **more: Any) -> Any:
        with open(shop / "judged.txt", "a") as file:
            file.write("again\n")
        return linted(*args, **more)

    monkeypatch.setattr("kubesched_lint.commands.lint.run.linted", told)
    target = '[[targets]]\nname = "{}"\npaths = ["."]\ncluster = "cluster.yaml"\n'
    if targets:
        (shop / "kubesched.toml").write_text("".join(map(target.format, targets)))
    with watching("--no-cache", *([] if targets else ["."]), folder=shop) as stream:
        assert "error[anti-affinity-exceeds-domains]" in until(stream, "watching: Ctrl-C ends it")
        assert len((shop / "judged.txt").read_text().splitlines()) == max(len(targets), 1)
        edit(shop / "cache.yaml", "replicas: 6", "replicas: 6  # as many as before")
        said = until(stream, r"\d+ error")
        assert not re.search("gone:|not judged|^error", said, re.MULTILINE), said


@pytest.mark.parametrize("more", [["--fix"], ["--diff"], ["--changed"], ["--format", "json"], ["-"]])
def test_what_cannot_be_watched_is_refused(more: list[str], shop: Path) -> None:
    done = called("lint", "cache.yaml", "--watch", *more, cwd=shop)
    assert (done.returncode, done.stdout) == (2, "")
    assert "'--watch'" in done.stderr


def test_a_change_is_told_once_nothing_goes_on_changing(tmp_path: Path) -> None:
    folder, other = tmp_path / "a", tmp_path / "b.txt"
    (folder / ".git").mkdir(parents=True)
    happens = iter(
        [
            lambda: (folder / ".git/index").touch(),
            lambda: (folder / "x.yaml").write_text("1"),
            lambda: (folder / "x.yaml").write_text("12"),
            lambda: other.touch(),
            lambda: None,
            lambda: other.unlink(),
            lambda: None,
        ]
    )
    watched = Watch(lambda: [str(folder), str(other)], lambda _: next(happens)())
    assert watched.wait() == [str(folder / "x.yaml"), str(other)]
    assert watched.wait() == [str(other)]
