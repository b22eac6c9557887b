"""A plan of runs: pairs of a set of manifests and a cluster. Each is judged like a run of ``lint`` of its own."""

from __future__ import annotations

import os
from collections import Counter

from msgspec import Struct

from kubesched_lint.commands.lint.request import Request
from kubesched_lint.linter.options import Options
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.sources.clusters.read import SUFFIXES, files_inside


class Pair(Struct, frozen=True):
    """A set, which is ``request.paths`` read by ``options``, and the cluster that it is judged on, ``request.cluster``.

    ``name`` is that of a target or of a cluster.
    """

    name: str
    request: Request
    options: Options


class FleetPlan(Struct, frozen=True):
    """Pairs with different names, at least one, and the rules that judge them."""

    pairs: tuple[Pair, ...]
    rulebook: Rulebook
    noun: str = "target"
    """What the names are names of: ``target`` or ``cluster``."""
    are_all: bool = True
    """No other pair uses the baseline, so that these can tell which of its entries are gone."""
    names_files: bool = False
    """Whether a report names all files, also those without findings."""


class FleetError(Exception):
    """The plan cannot be made or judged at all; the message is for the user."""


def clusters_in(folder: str) -> tuple[tuple[str, str], ...]:
    """Return (name, path) of the clusters of a folder: each file, and each folder with files. Raises FleetError."""
    try:
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except OSError as error:
        raise FleetError(f"{folder}: cannot be listed: {error.strerror or error}") from None
    clusters = [entry for entry in entries if not entry.name.startswith(".") and _is_cluster(entry)]
    if not clusters:
        raise FleetError(f"{folder}: no cluster found: it has no .json, .yaml or .gz file, and no folder with one")
    # a.json, a.yaml and a.yaml.gz are three clusters; only their whole file names differ for certain.
    taken = Counter(name for entry in clusters for name in {entry.name, _stem(entry.name)})
    return tuple((stem if taken[stem := _stem(e.name)] == 1 else e.name, e.path) for e in clusters)


def _stem(name: str) -> str:
    return next((name[: -len(s)] for s in sorted(SUFFIXES, key=len, reverse=True) if name.lower().endswith(s)), name)


def _is_cluster(entry: os.DirEntry[str]) -> bool:
    if not entry.is_dir():
        return entry.name.lower().endswith(SUFFIXES)
    return any(True for _ in files_inside(entry.path))
