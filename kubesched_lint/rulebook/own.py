"""The rules of a run: the shipped ones, those of installed packages, and those of the user's own folders."""

from __future__ import annotations

import os
from collections.abc import Sequence

from kubesched_lint.rulebook.entry_points import is_any_installed
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.rulebook.packages import rulebook_packages
from kubesched_lint.rulebook.rule import Rule


def rulebook_with(folders: Sequence[str] = ()) -> Rulebook:
    """All valid rules; ``faults`` has the faults of the others. None of their code runs here.

    A folder holds cards with expressions; a Python rule comes from an installed package (docs/own-rules.md).
    """
    if not folders and not is_any_installed():
        return Rulebook.shipped()
    return _joined(folders)


def _joined(folders: Sequence[str]) -> Rulebook:
    """The shipped rules, those of installed packages and those of ``folders``."""
    from pathlib import Path as File

    from kubesched_lint.rulebook.frontmatter import CardError
    from kubesched_lint.rulebook.loading import card_files, usable

    rules: dict[str, Rule] = dict(Rulebook.shipped().rules)
    homes: dict[str, File] = {}
    wrong: list[CardError] = []
    given = dict.fromkeys(File(folder) for folder in folders)
    for folder in (*(package.cards for package in rulebook_packages()), *given):
        is_there = os.path.isdir(folder)  # unlike Path.is_dir, it also accepts a name that is too long
        if folder in given and not (is_there and card_files(folder)):
            what = "holds no card" if is_there else "there is no such folder"
            wrong.append(CardError(str(folder), 0, f"{what}: no rule was read"))
            continue
        found, faults = usable(folder)
        wrong.extend(faults)
        for card, rule in found:
            if rule.slug in homes and homes[rule.slug].resolve() != folder.resolve():
                wrong.append(CardError(card.path, 1, f"there is a rule `{rule.slug}` in {homes[rule.slug]} as well"))
            else:
                rules[rule.slug] = rule
                homes[rule.slug] = folder
    return Rulebook(rules, homes, tuple(wrong), tuple(folders))
