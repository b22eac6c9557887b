"""The kinds of custom resources of a run: the shipped ones, those of installed packages, and those of own folders."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from kubesched_lint.custom.kinds import SHIPPED, Kinds
from kubesched_lint.rulebook.entry_points import is_any_installed
from kubesched_lint.rulebook.packages import rulebook_packages

if TYPE_CHECKING:
    from pathlib import Path as File


def kinds_with(folders: Sequence[str] = ()) -> Kinds:
    """Return all kinds with a valid card; ``faults`` has the faults of the other cards.

    A package that ships rules may have workload cards in ``<package>/workloads/``. No code of a card is run.
    """
    if not folders and not is_any_installed():
        return SHIPPED
    return _joined(folders)


def _joined(folders: Sequence[str]) -> Kinds:
    from pathlib import Path as File

    from kubesched_lint.custom.card import CustomKind, card_files, usable
    from kubesched_lint.rulebook.frontmatter import CardError

    own: dict[tuple[str, str], CustomKind] = {}
    wrong: list[CardError] = []
    given = tuple(dict.fromkeys(File(folder) for folder in folders))
    for folder in (*_of_packages(), *given):
        is_there = os.path.isdir(folder)  # unlike Path.is_dir, it also accepts a name that is too long
        if folder in given and not (is_there and card_files(folder)):
            what = "holds no card" if is_there else "there is no such folder"
            wrong.append(CardError(str(folder), 0, f"{what}: no workload card was read"))
            continue
        found, faults = usable(folder)
        wrong += faults
        for card, kind in found:
            other = own.setdefault((kind.group, kind.kind), kind)
            if other is not kind:
                wrong.append(CardError(card.path, 1, f"there is a card for {kind.kind} in {other.path} as well"))
    return Kinds(tuple(own.values()), tuple(wrong))


def _of_packages() -> Iterator[File]:
    for package in rulebook_packages():
        if (folder := package.folder / "workloads").is_dir():
            yield folder
