"""Makes a release: ``python scripts/release.py VERSION [--dry-run]``. It pushes nothing.

It does this in order and stops at the first failure: check that the tree is clean, that the version is new and that
CHANGELOG.md describes it; write the version and its date; run ``.ci/run`` and the gate of instruction counts, if there
is one; build a wheel, check its files, install it into a fresh environment and lint with it; commit and tag. A dry run
does all checks that change nothing, and builds the wheel of the current version.
"""

from __future__ import annotations

import argparse
import datetime
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_UNRELEASED = "unreleased"
_HELD = tuple(f"kubesched_lint/{name}" for name in ("py.typed", "schemas/report.schema.json", "rules/card.schema.json"))
_METADATA = ("License-Expression: Apache-2.0", "License-File: LICENSE")


class ReleaseError(Exception):
    """Why there is no release; ``str()`` of it is the whole message."""


def must_be_new(version: str, tags: Iterable[str]) -> None:
    """Raises ReleaseError if it is no version, or not later than all tagged ones."""
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        raise ReleaseError(f"{version} is no version: write MAJOR.MINOR.PATCH")
    released = [tag.removeprefix("v") for tag in tags if re.fullmatch(r"v\d+\.\d+\.\d+", tag)]
    latest = max(released, key=_parts, default="0.0.0")
    if _parts(version) <= _parts(latest):
        raise ReleaseError(f"{version} is not later than {latest}, which is tagged")


def _parts(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def dated(changelog: str, version: str, day: datetime.date) -> str:
    """The changelog with the date of the version. Raises ReleaseError if it does not describe the version."""
    first = re.search(r"^## (\S+)(?: \((.*)\))?\n+((?:(?!## ).*\n)*)", changelog, re.MULTILINE)
    if first is None or first[1] != version or first[2] != _UNRELEASED:
        raise ReleaseError(f"CHANGELOG.md must begin with `## {version} ({_UNRELEASED})`")
    if not re.search(r"^- ", first[3], re.MULTILINE):
        raise ReleaseError(f"CHANGELOG.md tells nothing of {version}")
    return changelog.replace(f"## {version} ({_UNRELEASED})", f"## {version} ({day.isoformat()})", 1)


def missing_in(wheel: Path, cards: Iterable[str]) -> Iterator[str]:
    """Files that a run needs and the wheel lacks."""
    with zipfile.ZipFile(wheel) as opened:
        names = set(opened.namelist())
        (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        lines = opened.read(metadata).decode().split("\n\n", 1)[0].split("\n")
    yield from (name for name in (*_HELD, *(f"kubesched_lint/rules/{card}" for card in cards)) if name not in names)
    yield from (line for line in _METADATA if line not in lines)
    yield from (f"no {name} belongs into it" for name in sorted(names) if name.startswith(("tests/", "scripts/")))


def build(into: Path) -> Path:
    """Builds and checks the wheel."""
    _run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(into), str(ROOT))
    (wheel,) = into.glob("*.whl")
    if missing := list(missing_in(wheel, (card.name for card in (ROOT / "rules").glob("*.md")))):
        raise ReleaseError(f"{wheel.name}: missing {', '.join(missing)}")
    return wheel


def must_lint(wheel: Path, version: str) -> None:
    """Installs the wheel into a fresh environment and lints the README's example with it."""
    with tempfile.TemporaryDirectory() as made:
        _run(sys.executable, "-m", "venv", made)
        _run(f"{made}/bin/python", "-m", "pip", "install", "--quiet", str(wheel))
        command = f"{made}/bin/kubesched-lint"
        said = subprocess.run([command, "--version"], capture_output=True, text=True, check=True).stdout
        if said.strip() != f"kubesched-lint {version}":
            raise ReleaseError(f"the wheel says it is {said.strip()}")
        shop = ["fixtures/shop", "--cluster", "fixtures/clusters/three-zones.yaml", "--no-config"]
        done = subprocess.run([command, "lint", *shop], cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode != 1 or "2 errors, 2 warnings" not in done.stdout:
            raise ReleaseError(f"the installed wheel does not find what README.md says:\n{done.stdout}{done.stderr}")


def _run(*command: str) -> None:
    print("$", *command, file=sys.stderr, flush=True)
    if subprocess.run(command, cwd=ROOT, check=False).returncode:
        raise ReleaseError(f"failed: {' '.join(command)}")


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def release(version: str, dry: bool) -> None:
    """Raises ReleaseError at the first failed check."""
    if _git("status", "--porcelain") and not dry:
        raise ReleaseError("there are changes that are not committed")
    must_be_new(version, _git("tag", "--list").split())
    changelog = ROOT / "CHANGELOG.md"
    dated_text = dated(changelog.read_text(encoding="utf-8"), version, datetime.date.today())
    source = ROOT / "kubesched_lint" / "version.py"
    if not dry:
        changelog.write_text(dated_text, encoding="utf-8")
        text = re.sub(r'__version__ = ".*"', f'__version__ = "{version}"', source.read_text(encoding="utf-8"))
        source.write_text(text, encoding="utf-8")
        _run(".ci/run")
        _run(sys.executable, "benchmarks/gate.py")
    (built,) = re.findall(r'__version__ = "(.*)"', source.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as made:
        must_lint(build(Path(made)), built)
    if not dry:
        _run("git", "commit", "--quiet", "--all", "--message", f"release: {version}")
        _run("git", "tag", "--annotate", f"v{version}", "--message", f"kubesched-lint {version}")
        print(f"tagged v{version}; `git push --follow-tags` publishes it")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("version")
    parser.add_argument("--dry-run", action="store_true", help="change nothing, tag nothing, skip .ci/run")
    chosen = parser.parse_args()
    try:
        release(chosen.version, chosen.dry_run)
    except ReleaseError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
