"""The kinds of custom resources of a run: the shipped ones, those of installed packages, and those of own folders."""

from __future__ import annotations

from collections.abc import Sequence

from kubesched_lint.custom.kinds import SHIPPED, Kinds
from kubesched_lint.rulebook.entry_points import is_any_installed


def kinds_with(folders: Sequence[str] = ()) -> Kinds:
    """Return all kinds with a valid card; ``faults`` has the faults of the other cards.

    A package that ships rules may have workload cards in ``<package>/workloads/``. No code of a card is run.
    """
    if not folders and not is_any_installed():
        return SHIPPED
    from kubesched_lint.custom.loading import joined

    return joined(folders)
