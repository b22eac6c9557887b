"""Folders of workload cards: those of installed packages and those that the user names."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path as File

from kubesched_lint.custom.card import CustomKind, card_files, usable
from kubesched_lint.custom.kinds import Kinds
from kubesched_lint.rulebook.cards.frontmatter import CardError
from kubesched_lint.rulebook.packages import rulebook_packages


def joined(folders: Sequence[str]) -> Kinds:
    """The kinds of installed packages and of ``folders``, beside the shipped ones."""
    own: dict[tuple[str, str], CustomKind] = {}
    wrong: list[CardError] = []
    given = tuple(dict.fromkeys(File(folder) for folder in folders))
    for folder in (*map(File, _of_packages()), *given):
        is_there = os.path.isdir(folder)  # unlike Path.is_dir, it also accepts a name that is too long
        if folder in given and not (is_there and card_files(folder)):
            what = "holds no card" if is_there else "there is no such folder"
            wrong.append(CardError(str(folder), 0, f"{what}: no workload card was read"))
            continue
        cards, faults = usable(folder)
        wrong += faults
        for card, kind in cards:
            other = own.setdefault((kind.group, kind.kind), kind)
            if other is not kind:
                wrong.append(CardError(card.path, 1, f"there is a card for {kind.kind} in {other.path} as well"))
    return Kinds(tuple(own.values()), tuple(wrong))


def _of_packages() -> Iterator[str]:
    folders = (os.path.join(package.folder, "workloads") for package in rulebook_packages())
    return filter(os.path.isdir, folders)
