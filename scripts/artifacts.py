"""Builds and tries what a release publishes: ``python scripts/artifacts.py DIST [--tag v0.2.0]``.

DIST/python gets the sdist and the wheel that is built from it, DIST/kubectl the archive and the manifest for krew, and
DIST/notes.md the version's section of CHANGELOG.md. The wheel is installed from the lock files into an empty
environment, without a compiler, and both commands lint the README's example. The container image is built and tried if
an engine runs here; otherwise a line says that it was not. ``--tag`` refuses a tag of another version.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
KREW = ROOT / "packaging" / "krew"
SHOP = ("fixtures/shop", "--cluster", "fixtures/clusters/three-zones.yaml", "--no-config")
FOUND = "2 errors, 1 warning, 1 note"
"""What README.md says that ``lint`` finds in SHOP."""
LOCKED = ROOT / "kubesched_lint" / "locked"
_NEEDED = (
    *("py.typed", "schemas/report.schema.json", "locked/core.txt", "rules/card.schema.json"),
    "workloads/rollouts.argoproj.io.md",
)
_METADATA = ("License-Expression: Apache-2.0", "License-File: LICENSE")
_NAMES = {"kubesched-lint": "kubesched-lint", "kubectl-schedlint": "kubectl schedlint"}
"""Each installed command, and the name that its help shows."""


class ReleaseError(Exception):
    """Why there is no release; ``str()`` of it is the whole message."""


def version() -> str:
    """Return the version of this checkout, such as ``0.2.0``."""
    (written_version,) = re.findall(
        r'__version__ = "(.*)"', (ROOT / "kubesched_lint" / "version.py").read_text(encoding="utf-8")
    )
    return str(written_version)


def notes(changelog: str, of: str) -> str:
    """Return the text below the heading of a version. Raises ReleaseError if the changelog does not begin with it."""
    first = re.search(r"^## (\S+)[^\n]*\n(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL)
    if first is None or first[1] != of:
        raise ReleaseError(f"CHANGELOG.md does not begin with {of}")
    return first[2].strip() + "\n"


def repository() -> str:
    """Return ``owner/name`` on GitHub: of the running workflow, else of pyproject.toml."""
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]
    (named,) = re.findall(r"^https://github\.com/([^/]+/[^/]+)/blob/", urls["Changelog"])
    return os.environ.get("GITHUB_REPOSITORY") or str(named)


def krew_archive(of: str) -> bytes:
    """Return the archive with krew's script and the licence, a .tar.gz: the same bytes at each call."""
    script = (KREW / "kubectl-schedlint").read_text(encoding="utf-8").replace("VERSION", of)
    members = {"kubectl-schedlint": (script.encode(), 0o755), "LICENSE": ((ROOT / "LICENSE").read_bytes(), 0o644)}
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, (data, mode) in members.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(data), mode
            archive.addfile(member, io.BytesIO(data))
    return gzip.compress(packed.getvalue(), mtime=0)


def krew_manifest(of: str, archive: bytes, at: str) -> str:
    """Return the manifest for krew-index of a version, whose archive is a file of the release of repository ``at``."""
    lines = (KREW / "schedlint.yaml").read_text(encoding="utf-8").splitlines(keepends=True)
    filled = {"ARCHIVE": krew_name(of), "SHA256": hashlib.sha256(archive).hexdigest(), "VERSION": of, "REPOSITORY": at}
    return re.sub("|".join(filled), lambda word: filled[word[0]], "".join(line for line in lines if line[0] != "#"))


def krew_name(of: str) -> str:
    """Return the name of krew's archive."""
    return f"kubectl-schedlint-{of}.tar.gz"


def missing_in(wheel: Path, cards: Iterable[str]) -> Iterator[str]:
    """Yield what a run needs and the wheel lacks, and what the wheel must not have."""
    with zipfile.ZipFile(wheel) as opened:
        names = set(opened.namelist())
        (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        lines = opened.read(metadata).decode().split("\n\n", 1)[0].split("\n")
    needed = (f"kubesched_lint/{name}" for name in (*_NEEDED, *(f"rules/{card}" for card in cards)))
    yield from (name for name in needed if name not in names)
    yield from (line for line in _METADATA if line not in lines)
    yield from (f"no {name} belongs into it" for name in sorted(names) if name.startswith(("tests/", "scripts/")))


def build_python(into: Path) -> Path:
    """Build sdist and wheel, check both, and return the wheel. Raises ReleaseError."""
    with tempfile.TemporaryDirectory() as made:
        python = _environment(made, "build", "twine")
        _install(python, *_locked("build"))
        _run(python, "-I", "-m", "build", "--no-isolation", "--outdir", str(into), str(ROOT))
        _run(python, "-I", "-m", "twine", "check", "--strict", *map(str, sorted(into.iterdir())))
    (wheel,) = into.glob("*.whl")
    if missing := list(missing_in(wheel, (card.name for card in (ROOT / "rules").glob("*.md")))):
        raise ReleaseError(f"{wheel.name}: missing {', '.join(missing)}")
    return wheel


def must_lint(wheel: Path, of: str) -> None:
    """Install the wheel as CI does, into an empty environment, and run both commands. Raises ReleaseError."""
    with tempfile.TemporaryDirectory() as made:
        python = _environment(made, *_locked("core", "solver", "cel"))
        _install(python, "--no-deps", str(wheel))
        _run(python, "-I", "-m", "pip", "check")
        for name, shown in _NAMES.items():
            command = f"{made}/bin/{name}"
            _must_say(0, f"kubesched-lint {of}\n", command, "--version")
            _must_say(0, f"Usage: {shown} lint ", command, "lint", "--help")
            _must_say(1, FOUND, command, "lint", *SHOP)


def build_image(of: str) -> str:
    """Build the container image and lint with it. Return what was done. Raises ReleaseError."""
    engine = next((name for name in ("podman", "docker") if _runs(name)), None)
    if engine is None:
        return "image: not built, because neither podman nor docker runs here"
    name = f"kubesched-lint:{of}"
    _run(engine, "build", "--tag", name, "--file", "Containerfile", ".")
    _must_say(1, FOUND, engine, "run", "--rm", "--volume", f"{ROOT}:/work:ro", name, "lint", *SHOP)
    return f"image: {name}, built with {engine}"


def _runs(engine: str) -> bool:
    return shutil.which(engine) is not None and subprocess.run([engine, "info"], capture_output=True).returncode == 0


def _environment(folder: str, *packages: str) -> str:
    """Make a virtual environment with packages. Return its Python."""
    _run(sys.executable, "-I", "-m", "venv", folder)
    python = f"{folder}/bin/python"
    _install(python, *packages)
    return python


def _install(python: str, *packages: str) -> None:
    """Install packages that need no compiler."""
    options = ("--quiet", "--disable-pip-version-check", "--only-binary", ":all:")
    _run(python, "-I", "-m", "pip", "install", *options, *packages)


def _locked(*names: str) -> Iterator[str]:
    """Yield pip's options for what lock files list."""
    yield from ("--no-deps", "--require-hashes")
    for name in names:
        yield from ("--requirement", str(LOCKED / f"{name}.txt"))


def _must_say(code: int, words: str, *command: str) -> None:
    done = subprocess.run(command, cwd=ROOT, env=_clean(), capture_output=True, text=True, check=False)
    if done.returncode != code or words not in done.stdout:
        said = f"{done.stdout}{done.stderr}"
        raise ReleaseError(
            f"{' '.join(command)}: expected exit code {code} and {words!r}, got {done.returncode}:\n{said}"
        )


def _run(*command: str) -> None:
    print("$", *command, file=sys.stderr, flush=True)
    if subprocess.run(command, cwd=ROOT, env=_clean(), check=False).returncode:
        raise ReleaseError(f"failed: {' '.join(command)}")


def _clean() -> dict[str, str]:
    """Return the environment without what would let this checkout stand in for the installed package."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}


def make(into: Path, tag: str = "") -> None:
    """Build and try everything. Raises ReleaseError at the first failed check."""
    of = version()
    if tag not in ("", f"v{of}"):
        raise ReleaseError(f"the tag is {tag}, and this is version {of}")
    told = notes((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), of)
    for name in ("python", "kubectl"):
        shutil.rmtree(into / name, ignore_errors=True)
        (into / name).mkdir(parents=True)
    must_lint(build_python(into / "python"), of)
    archive = krew_archive(of)
    (into / "kubectl" / krew_name(of)).write_bytes(archive)
    (into / "kubectl" / "schedlint.yaml").write_text(krew_manifest(of, archive, repository()), encoding="utf-8")
    (into / "notes.md").write_text(told, encoding="utf-8")
    print(build_image(of))
    print("\n".join(f"{file.relative_to(into)}  {file.stat().st_size} bytes" for file in sorted(into.glob("*/*"))))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dist", type=Path, help="the folder to write; replaces what an earlier run wrote")
    parser.add_argument("--tag", default="", help="the tag that is being released")
    chosen = parser.parse_args()
    try:
        make(chosen.dist.absolute(), chosen.tag)
    except ReleaseError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
