"""What compares drawn worlds, asked on the command line about more seeds than the tests try."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable


def asked_seeds(description: str | None) -> range:
    """Return the seeds that ``--seed`` and ``--count`` ask for."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    return range(args.seed, args.seed + args.count)


def tell_differences(description: str | None, differing: Callable[[int], Iterable[str]]) -> None:
    """Print what ``differing`` yields for each seed."""
    for seed in asked_seeds(description):
        for words in differing(seed):
            print(seed, words)
