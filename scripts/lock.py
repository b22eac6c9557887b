"""Renews the lock files, from which CI installs: ``python scripts/lock.py``. Needs uv, and asks PyPI.

``kubesched_lint/locked/core.txt`` has what ``dependencies`` of pyproject.toml need, a file for each of ``EXTRAS`` what
that adds, and ``build.txt`` what builds the package. Each version stands there with the hashes of all its files, so
that one file serves every Python and platform, and pip installs nothing else (``--require-hashes``). The files are part
of the package, because a GitLab job, for example, has nothing but that.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]
LOCKED = ROOT / "kubesched_lint" / "locked"
EXTRAS = ("solver", "cel")
"""The extras that CI can ask for."""
_HEAD = "# Written by `just lock`; do not edit. scripts/lock.py says what is in it.\n"
_OPTIONS = ("--universal", "--generate-hashes", "--no-config", "--no-annotate", "--no-header", "--quiet")


class LockError(Exception):
    """Why nothing was written; ``str()`` is the whole message."""


def resolved(requirements: Sequence[str], python: str, within: str = "") -> Mapping[str, str]:
    """Return what requirements need: name → its lines of a lock file; ``within`` is a lock file to agree with.

    Raises LockError.
    """
    with TemporaryDirectory() as folder:
        constraints = Path(folder) / "constraints.txt"
        constraints.write_text(within, encoding="utf-8")
        command = ["uv", "pip", "compile", "-", *_OPTIONS, "--python-version", python, "--constraints", constraints]
        try:
            done = subprocess.run(
                command, cwd=folder, input="\n".join(requirements), capture_output=True, text=True, check=False
            )
        except FileNotFoundError:
            raise LockError("uv is not installed: pip install uv") from None
    if done.returncode:
        raise LockError(f"uv cannot resolve {', '.join(requirements)}:\n{done.stderr.strip()}")
    return by_name(done.stdout)


def by_name(lock: str) -> Mapping[str, str]:
    """Return the lines of a lock file by package; one that has several versions, for several Pythons, has all."""
    blocks: dict[str, str] = {}
    for block in re.findall(r"^[^\s#].*\n(?:    .*\n)*", lock, re.MULTILINE):
        name = block.partition("==")[0]
        blocks[name] = blocks.get(name, "") + block
    return blocks


def locks() -> Mapping[str, str]:
    """Return the text of each lock file, by its name without ending. Raises LockError."""
    written = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project = written["project"]
    python = project["requires-python"].removeprefix(">=")
    asked = {"core": project["dependencies"], **{extra: project["optional-dependencies"][extra] for extra in EXTRAS}}
    # One environment has one version of a package, so everything is resolved together before it is parted.
    together = "".join(resolved([requirement for each in asked.values() for requirement in each], python).values())
    needed_by: dict[str, Mapping[str, str]] = {}
    for name, requirements in asked.items():
        needed = resolved(requirements, python, together)
        needed_by[name] = {
            package: lines for package, lines in needed.items() if name == "core" or package not in needed_by["core"]
        }
    needed_by["build"] = resolved(written["build-system"]["requires"], python, together)
    return {name: _HEAD + "".join(packages.values()) for name, packages in needed_by.items()}


def main() -> int:
    try:
        texts = locks()
    except LockError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    LOCKED.mkdir(exist_ok=True)
    for name, text in texts.items():
        (LOCKED / f"{name}.txt").write_text(text, encoding="utf-8")
        print(f"{name}.txt: {len(by_name(text))} packages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
