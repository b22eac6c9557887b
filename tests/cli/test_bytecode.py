"""The file that keeps the bytecode of our modules saves time and changes nothing else."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kubesched_lint.cli.bytecode import QuietModule

ROOT = Path(__file__).parents[2]
STATED = """
import json, os, sys
leave = os._exit
def tell(code):
    ours = {name: module for name, module in sys.modules.items() if name.startswith("kubesched_lint.")}
    ours.pop("kubesched_lint.writing", None)  # what writes the bundle
    bundled = [name for name, module in ours.items() if type(module.__loader__).__name__ == "_Loader"]
    quiet = [name for name, module in ours.items() if type(module).__name__ == "QuietModule"]
    stated = {"code": code, "modules": len(ours), "bundled": len(bundled), "quiet": len(quiet)}
    print(json.dumps(stated), file=sys.stderr)
    leave(code)
os._exit = tell
from kubesched_lint.cli import main
main()
"""
"""Run the command, then say how many modules it imported, and how many of them from the bundle."""
FIRST = 3
"""Modules that are imported before the bundle is: ``hints``, ``cli`` and ``cli.bytecode``."""


class Installation:
    """A copy of the package and of what it lints, with bytecode in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.package = folder / "kubesched_lint"
        self.folder = folder
        self.bytecode = folder / "bytecode"
        shutil.copytree(ROOT / "kubesched_lint", self.package, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copytree(ROOT / "fixtures" / "shop", folder / "fixtures" / "shop")

    def take_modules(self, other: Installation) -> None:
        """Take what Python compiled there, ours and its own, in one file each; not the bundle."""
        ours = other.bytecode / other.package.relative_to("/")
        shutil.copytree(other.bytecode, self.bytecode, ignore=lambda at, names: names if Path(at) == ours else ())
        shutil.copytree(ours, self.bytecode / self.package.relative_to("/"), ignore=shutil.ignore_patterns("*.bundle"))

    @property
    def bundle(self) -> Path:
        found = list(self.bytecode.rglob("*.bundle"))
        assert len(found) <= 1
        return found[0] if found else self.folder / "none"

    def run(self, *args: str, **environ: str) -> tuple[str, dict[str, int]]:
        """Return the output, and what STATED says."""
        args = args or ("lint", "fixtures/shop/web.yaml", "--no-config", "--no-cache")
        own = {"PYTHONPATH": str(self.folder), "PYTHONPYCACHEPREFIX": str(self.bytecode)}
        inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        ended = subprocess.run(
            [sys.executable, "-c", STATED, *args],
            cwd=self.folder,
            env={**inherited, **own, **environ},
            capture_output=True,
            text=True,
            timeout=120,
        )
        *rest, stated = ended.stderr.splitlines()
        assert not rest
        return ended.stdout, json.loads(stated)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """Compiles once what the tests run: that takes ten times as long as to run it."""
    installed = Installation(tmp_path_factory.mktemp("compiled"))
    installed.run()
    installed.run("rules", "list")
    return installed


@pytest.fixture
def installed(tmp_path: Path, compiled: Installation) -> Installation:
    """As after a first run of Python's, which knew nothing of a bundle."""
    own = Installation(tmp_path)
    own.take_modules(compiled)
    return own


def test_the_second_run_imports_all_modules_from_one_file_and_says_the_same(installed: Installation) -> None:
    first, stated = installed.run()
    assert stated["bundled"] == 0
    second, again = installed.run()
    assert (second, again["code"], again["modules"]) == (first, stated["code"], stated["modules"])
    assert again["bundled"] == again["modules"] - FIRST
    assert (again["quiet"] > again["bundled"] / 2) == (sys.version_info < (3, 12))
    # A run that needs more adds it, and the next has both.
    _, other = installed.run("rules", "list")
    assert 0 < other["bundled"] < other["modules"] - FIRST
    _, other = installed.run("rules", "list")
    assert other["bundled"] == other["modules"] - FIRST
    assert installed.run()[1] == again


@pytest.mark.parametrize("change", ["time", "size", "removed"])
def test_a_module_whose_source_changes_is_compiled_again(installed: Installation, change: str) -> None:
    installed.run()
    text = installed.package / "text.py"
    before = text.stat()
    if change == "time":
        os.utime(text, ns=(before.st_atime_ns, before.st_mtime_ns + 1_000_000_000))
    elif change == "size":
        text.write_text(text.read_text() + "\n")
        os.utime(text, ns=(before.st_atime_ns, before.st_mtime_ns))
    else:
        (installed.package / "text").mkdir()
        text.rename(installed.package / "text" / "__init__.py")
    _, stated = installed.run()
    assert stated["bundled"] == stated["modules"] - FIRST - 1
    _, again = installed.run()
    assert again["bundled"] == stated["modules"] - FIRST


def test_a_changed_message_is_seen(installed: Installation) -> None:
    installed.run()
    installed.run()
    footer = installed.package / "report" / "footer.py"
    old = footer.read_text()
    assert "checked" in old
    footer.write_text(old.replace("checked", "CHECKED"))
    assert "CHECKED  1 file" in installed.run()[0]
    assert "CHECKED  1 file" in installed.run()[0]


def test_a_quiet_module_lacks_attributes_like_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    module = QuietModule("quiet")
    module.known = 1  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "quiet", module)
    assert __import__("quiet", fromlist=["known"]).known == 1
    assert not hasattr(module, "unknown")
    with pytest.raises(ImportError, match="cannot import name 'unknown' from 'quiet'"):
        exec("from quiet import unknown")


def test_no_module_answers_for_attributes_itself() -> None:
    """A quiet module would not ask its ``__getattr__``; a package is none."""
    modules = [path for path in (ROOT / "kubesched_lint").rglob("*.py") if path.name != "__init__.py"]
    assert modules
    assert [path for path in modules if "\ndef __getattr__(" in path.read_text()] == []


def test_a_damaged_or_foreign_file_is_replaced(installed: Installation) -> None:
    said, _ = installed.run()
    whole = installed.bundle.read_bytes()
    modules = installed.run()[1]["bundled"]
    foreign = whole.replace(sys.version.encode(), sys.version.encode().swapcase())
    assert foreign != whole
    for data in (b"", b"\0" * 8, b"\xff" * 40, whole[:200], whole[: len(whole) // 2], foreign):
        installed.bundle.write_bytes(data)
        assert installed.run()[0] == said
        assert installed.run()[1]["bundled"] == modules


def test_a_moved_installation_compiles_its_own(installed: Installation, tmp_path: Path) -> None:
    said, stated = installed.run()
    moved = Installation(tmp_path / "moved")
    there = moved.bytecode / moved.package.relative_to("/")
    there.mkdir(parents=True)
    shutil.copy(installed.bundle, there / installed.bundle.name)
    assert moved.run() == (said, stated)
    assert moved.run()[1]["bundled"] > 0


@pytest.mark.parametrize("closed", [0, 2])
def test_the_bundle_does_not_take_the_place_of_a_closed_stream(installed: Installation, closed: int) -> None:
    """A file takes the lowest free descriptor, and ``cli.ending`` puts the null device there."""
    installed.run()
    program = f"""
import os, sys
os.close({closed})
from kubesched_lint.cli.bytecode import bundle
bundle()
try:
    os.fstat({closed})
except OSError:
    print("still closed")
"""
    environ = {"PYTHONPATH": str(installed.folder), "PYTHONPYCACHEPREFIX": str(installed.bytecode)}
    command, environ = [sys.executable, "-c", program], {**os.environ, **environ}
    ended = subprocess.run(command, cwd=installed.folder, env=environ, stdout=subprocess.PIPE, check=True)
    assert ended.stdout == b"still closed\n"


def test_nothing_is_written_where_python_writes_no_bytecode(installed: Installation) -> None:
    said, stated = installed.run(PYTHONDONTWRITEBYTECODE="1")
    assert not installed.bundle.exists()
    assert installed.run(PYTHONPYCACHEPREFIX="/dev/null") == (said, stated)
