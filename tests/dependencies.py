"""The packages that this one needs, as links to those of the tests: what installs it has nothing to fetch."""

from __future__ import annotations

import tomllib
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

_PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"


def linked(folder: Path) -> Path:
    """Link what ``dependencies`` of pyproject.toml asks for, and no other package, into a folder to import from."""
    asked = tomllib.loads(_PYPROJECT.read_text(encoding="utf-8"))["project"]["dependencies"]
    names: set[str] = set()
    files: dict[str, Path] = {}
    while asked:
        wanted = Requirement(asked.pop())
        name = canonicalize_name(wanted.name)
        if name not in names and (wanted.marker is None or wanted.marker.evaluate({"extra": ""})):
            names.add(name)
            found = distribution(name)
            asked += found.requires or ()
            tops = {file.parts[0] for file in found.files or ()} - {"..", "__pycache__"}
            files |= {top: Path(str(found.locate_file(top))) for top in tops}  # some share the folder of a namespace
    folder.mkdir(parents=True)
    for top, file in files.items():
        (folder / top).symlink_to(file)
    return folder
