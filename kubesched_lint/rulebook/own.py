"""The rules of a run: the shipped ones, those of installed packages, and those of the user's own folders."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path as File

from kubesched_lint.rulebook.frontmatter import CardError
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.rulebook.packages import rulebook_packages
from kubesched_lint.rulebook.rule import Rule


def rulebook_with(folders: Sequence[str] = ()) -> Rulebook:
    """All rules that can be used; its ``faults`` are what is wrong with the others. No code of theirs runs here.

    A folder holds cards with expressions; a rule with Python comes from an installed package (docs/own-rules.md).
    """
    shipped = Rulebook.shipped()
    packages = rulebook_packages()
    if not folders and not packages:
        return shipped
    from kubesched_lint.rulebook.shelf import card_files, usable

    rules: dict[str, Rule] = dict(shipped.rules)
    homes: dict[str, File] = {}
    wrong: list[CardError] = []
    given = dict.fromkeys(File(folder) for folder in folders)
    for folder in (*(package.cards for package in packages), *given):
        if folder in given and not (folder.is_dir() and card_files(folder)):
            what = "holds no card" if folder.is_dir() else "is not a folder"
            wrong.append(CardError(str(folder), 0, f"{what}: no rule was read from it"))
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
