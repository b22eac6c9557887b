"""Makes a release: ``python scripts/release.py VERSION [--dry-run]``. It pushes nothing.

It does this in order and stops at the first failure: check that the tree is clean, that the version is new and that
CHANGELOG.md describes it; write the version and its date; run ``.ci/run``, all tests and the gate of instruction
counts, if there is one; build and try what will be published (``scripts/artifacts.py``); commit and tag. A dry run does
all checks that change nothing, and builds the current version. Who pushes the tag starts
.github/workflows/release.yml, which builds the same again and publishes it.
"""

from __future__ import annotations

import argparse
import datetime
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from scripts.artifacts import ReleaseError, make  # noqa: E402

_UNRELEASED = "unreleased"
_BEFORE = (
    *("kubesched-lint==", "kubesched-lint[solver,cel]==", "kubesched_lint-"),  # packages
    *("kubectl-schedlint-", "/kubesched-lint:", "/kubesched-lint/lint@"),  # archives, images, components
)
_PUBLISHED = "|".join(rf"(?<={re.escape(before)})\d+\.\d+\.\d+" for before in _BEFORE)
NAMING = {
    "kubesched_lint/version.py": r'(?<=__version__ = ")[^"]+',
    "editors/vscode/package.json": r'(?<=^  "version": ")[^"]+',
    "templates/gitlab-ci.yml": _PUBLISHED,
    "templates/lint/template.yml": _PUBLISHED,
    "packaging/mega-linter-plugin-kubesched/kubesched.megalinter-descriptor.yml": _PUBLISHED,
    "docs/ci.md": _PUBLISHED,
    "docs/ci-more.md": _PUBLISHED,
    "examples/deploy-gates/argocd-presync.yaml": _PUBLISHED,
    "examples/deploy-gates/github-actions.yml": _PUBLISHED,
    "examples/deploy-gates/gitlab-ci.yml": _PUBLISHED,
}
"""The files that name the version, and where: recipes install the version that they were tried with."""


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


def naming(text: str, pattern: str, version: str) -> str:
    """The text of a file of ``NAMING`` with another version."""
    return re.sub(pattern, version, text, flags=re.MULTILINE)


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
    if not dry:
        changelog.write_text(dated_text, encoding="utf-8")
        for name, pattern in NAMING.items():
            file = ROOT / name
            file.write_text(naming(file.read_text(encoding="utf-8"), pattern, version), encoding="utf-8")
        _run(".ci/run")
        _run(sys.executable, "-m", "pytest", "-n", "2", "-m", "")  # also what CI leaves out
        _run(sys.executable, "benchmarks/gate.py")
    make(ROOT / "dist")
    if not dry:
        _run("git", "commit", "--quiet", "--all", "--message", f"release: {version}")
        _run("git", "tag", "--annotate", f"v{version}", "--message", f"kubesched-lint {version}")
        print(f"tagged v{version}; `git push --follow-tags` publishes it")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("version")
    parser.add_argument("--dry-run", action="store_true", help="change nothing, tag nothing, skip all tests")
    chosen = parser.parse_args()
    try:
        release(chosen.version, chosen.dry_run)
    except ReleaseError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
