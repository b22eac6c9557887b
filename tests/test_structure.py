"""Files are as long as what they are about; import circles are a contract of ``lint-imports`` (pyproject.toml)."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "kubesched_lint"
SHORT = {"__main__.py", "admission/reach.py", "extras.py", "version.py", "scheduler/devices/failures.py"}
"""The only files under 30 lines that are neither the face of a package nor a check."""


def is_small_by_nature(name: str) -> bool:
    """Faces of packages, and one rule a module."""
    file = Path(name)
    return file.name == "__init__.py" or file.parent.name == "checks"


def test_no_file_is_too_long_or_too_short() -> None:
    generated = {"_generated.py", "_index.py", "_lint_options.py"}
    files = (file for file in PACKAGE.rglob("*.py") if file.name not in generated)
    lines = {str(file.relative_to(PACKAGE)): len(file.read_bytes().splitlines()) for file in files}
    assert len(lines) > 200
    long = {name for name, count in lines.items() if count > 400}
    assert not long, f"over 400 lines: {long}; move one idea to a module of its own"
    short = {name for name, count in lines.items() if count < 30 and not is_small_by_nature(name)} - SHORT
    assert not short, f"under 30 lines: {short}; move the code to the module that uses it, or add the name to SHORT"
