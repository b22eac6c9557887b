"""The tutorial, read from the top: each command prints what the page shows."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from tests.docs.test_commands import ROOT, Fence, commands, fences, is_left_out, programs

PAGE = ROOT / "docs" / "tutorial.md"
LEFT_OUT = "…"


def shown(fence: Fence) -> str:
    """The output below the command of a fence; "" if it has none."""
    return "\n".join(line for line in fence.text.split("\n") if not line.startswith("$ "))


def is_as_shown(printed: str, page: str) -> bool:
    """Whether lines that hold only ``…`` are all that the page leaves out."""
    parts = re.split(rf"(?:^|\n){LEFT_OUT}(?:\n|$)", page)
    return re.fullmatch("(?s:.*)".join(map(re.escape, parts)), printed.rstrip("\n")) is not None


def test_a_newcomer_sees_what_the_page_shows(tmp_path: Path, program: Path) -> None:
    programs(tmp_path / "bin", program)
    (tmp_path / "fixtures").symlink_to(ROOT / "fixtures")
    environ = {**os.environ, "PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "200"}
    compared = 0
    for fence in fences(PAGE):
        named = re.match(r"# (tutorial/[\w.]+)\n", fence.text)
        if named:
            (tmp_path / named[1]).write_text(f"{fence.text}\n")
        for command in commands(fence):
            if is_left_out(command):
                continue
            done = subprocess.run(
                ["bash", "-c", command], cwd=tmp_path, env=environ, capture_output=True, text=True, check=False
            )
            assert "Traceback" not in done.stderr
            if shown(fence) and fence.text.startswith("$ "):
                compared += 1
                assert is_as_shown(done.stdout, shown(fence)), f"{command}\n{done.stdout}{done.stderr}"
    assert compared == 6


def test_what_the_page_leaves_out_is_marked() -> None:
    assert is_as_shown("a\nb\nc\n", "a\n…\nc")
    assert is_as_shown("a\nb\n", "a\n…")
    assert not is_as_shown("a\nb\nc\n", "a\nc")
    assert not is_as_shown("a\nb\n", "a")
    assert not is_as_shown("a.\n", "ab")
