"""The rules of a run: the shipped ones, those of installed packages, and those of the user's own folders."""

from __future__ import annotations

from collections.abc import Sequence

from kubesched_lint.rulebook.entry_points import is_any_installed
from kubesched_lint.rulebook.library import Rulebook


def rulebook_with(folders: Sequence[str] = ()) -> Rulebook:
    """All valid rules; ``faults`` has the faults of the others. None of their code runs here.

    A folder holds cards with expressions; a Python rule comes from an installed package (docs/own-rules.md).
    """
    if not folders and not is_any_installed():
        return Rulebook.shipped()
    from kubesched_lint.rulebook.loading import joined

    return joined(folders)
