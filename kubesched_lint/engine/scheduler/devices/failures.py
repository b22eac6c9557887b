"""Why no devices were allocated, other than that too few are left, and selectors in messages."""

from __future__ import annotations

from kubesched_lint.engine.base.limits import LONGEST_VALUE
from kubesched_lint.engine.base.work import OutOfWorkError


def one_line(expression: str) -> str:
    """Return a CEL expression on one line, cut if it is long."""
    line = " ".join(expression.split())
    return line if len(line) <= LONGEST_VALUE else f"{line[:LONGEST_VALUE]}…"


class AllocationError(Exception):
    """An error in a claim, a class or a pool: it ends the scheduling attempt on every node, with this message."""


class LocalError(AllocationError):
    """An error that names a pool or a device of the node."""


class NodeError(Exception):
    """An error that concerns one node: the message is the reason of its rejection."""


class UndecidedError(OutOfWorkError):
    """It is not known what the scheduler does, because we cannot evaluate a selector or would search for too long."""


class SelectorError(Exception):
    """A selector fails on a device; the message is cel-go's.

    Upstream ends the attempt on all nodes: a selector that reads an attribute which some device lacks stops the pod
    everywhere. ``Search`` says whose selector it is.
    """
