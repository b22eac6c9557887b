"""The message of a PodScheduled condition, in parts that can be compared and redacted.

Mirrors FitError.Error (``pkg/scheduler/framework/types.go``) and the reasons of kube-scheduler's own plugins (v1.36).
"""

from __future__ import annotations

import re
from collections.abc import Callable

from msgspec import Struct

LEFT_OUT = "(left out)"
"""Stands in a redacted message for the words of somebody's own plugin."""

_HEAD = re.compile(r"0/(\d+) nodes are available:\s*")
_ENTRY = re.compile(r"(?:^|(?<=, ))(?=\d+ )")
_COUNTED = re.compile(r"(\d+) (.+)", re.DOTALL)
_FIXED = frozenset(
    [
        "node(s) were unschedulable",
        "node(s) didn't match the requested node name",
        "node(s) had untolerated taint(s)",
        "node(s) didn't match Pod's node affinity/selector",
        "node(s) didn't match scheduler-enforced node affinity",
        "node(s) didn't have free ports for the requested pod ports",
        "Too many pods",
        "Insufficient cpu",
        "Insufficient memory",
        "Insufficient ephemeral-storage",
        "node(s) had no available disk",
        "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode "
        "already in-use by another pod",
        "node(s) exceed max volume count",
        "node(s) didn't match PersistentVolume's node affinity",
        "node(s) had volume node affinity conflict",
        "node(s) didn't find available persistent volumes to bind",
        "node(s) did not have enough free storage",
        "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
        "node(s) had no available volume zone",
        "node(s) didn't match pod topology spread constraints",
        "node(s) didn't match pod topology spread constraints (missing required label)",
        "node(s) didn't match pod affinity rules",
        "node(s) didn't match pod anti-affinity rules",
        "node(s) didn't satisfy existing pods anti-affinity rules",
        "node(s) didn't match Pod's required features",
        "cannot allocate all claims",
        "pod affinity terms conflict",
        "pod has unbound immediate PersistentVolumeClaims",
        "Scheduling is blocked due to non-empty scheduling gates",
        "no nodes available to schedule pods",
        "no new claims to deallocate",
        "still not schedulable",
        "not found",
        "preemption: not eligible due to preemptionPolicy=Never",
        "preemption: not eligible due to placement-based pod group scheduling limitation",
        "Preemption is not helpful for scheduling",
        "No preemption victims found for incoming pod",
        "No preemption victims found for incoming pods",
    ]
)
_BETWEEN = re.compile(r"(0/\d+ nodes are available:\s*|preemption: (?=0/)|,\s+|\.\s*(?=\s|$))")
"""What stands between the reasons of a message."""
_PLUGINS = re.compile(r"node\(s\) didn't satisfy plugin\(s\) \[[A-Za-z ]+\]")
_INSUFFICIENT = re.compile(r"Insufficient (\S+)")
_NAMED = re.compile(
    r'(?:persistentvolumeclaim|persistentvolume) "([^"]*)" (?:not found|is being deleted)'
    r'|waiting for ephemeral volume controller to create the persistentvolumeclaim "([^"]*)"'
    r'|([^ ]+) CSI driver is not installed on the node|.*\(nodename "([^"]*)"\)'
)
_TAINT = re.compile(r"node\(s\) had untolerated taint \{[^}]*\}")
_OLDER = {
    "node(s) had volume node affinity conflict": "node(s) didn't match PersistentVolume's node affinity",
    "No preemption victims found for incoming pods": "No preemption victims found for incoming pod",
}
"""Reasons of older versions → that of v1.36."""


class SchedulerMessage(Struct, frozen=True):
    """What a message says, whatever the order and the version's words: ``nodes`` None if it counts none."""

    nodes: int | None
    filters: tuple[tuple[str, int], ...] = ()
    preemption: tuple[tuple[str, int], ...] = ()
    rest: str = ""


def said(message: str) -> SchedulerMessage:
    """Return a message in comparable parts."""
    filters, mark, later = message.partition("preemption: ")
    head = _HEAD.match(filters)
    if head is None:
        return SchedulerMessage(None, rest=message.strip())
    first, rest = _counts(filters[head.end() :])
    again = _HEAD.match(later)
    second, more = _counts(later[again.end() :]) if again else ((), f"{mark}{later}".strip())
    return SchedulerMessage(int(head[1]), first, second, " ".join(filter(None, (rest, more))))


def _counts(text: str) -> tuple[tuple[tuple[str, int], ...], str]:
    """Return (reason, nodes) of each reason, sorted, and the text after them."""
    counts: dict[str, int] = {}
    text, rest = text.strip(), ""
    for entry in map(str.strip, _ENTRY.split(text)):
        match = _COUNTED.fullmatch(entry.rstrip(","))
        if match is None:
            rest = entry.rstrip(" .")
            continue
        reason, _, after = match[2].partition(". ")
        rest = rest or after.rstrip(" ,.")
        reason = _TAINT.sub("node(s) had untolerated taint(s)", reason.rstrip("."))
        reason = _OLDER.get(reason, reason)
        counts[reason] = counts.get(reason, 0) + int(match[1])
    return tuple(sorted(counts.items())), rest


def is_known_reason(reason: str) -> bool:
    """Return whether a reason is one of kube-scheduler's own, without a name that users choose."""
    return reason in _FIXED or _PLUGINS.fullmatch(reason) is not None


def redacted(message: str, resource: Callable[[str], str], name: Callable[[str], str]) -> str:
    """Return a message with ``resource`` and ``name`` applied to what users name, and without unknown words."""
    pieces = _BETWEEN.split(message)
    return "".join(p if n % 2 or not p.strip() else _redacted(p, resource, name) for n, p in enumerate(pieces))


def _redacted(piece: str, resource: Callable[[str], str], name: Callable[[str], str]) -> str:
    match = _COUNTED.fullmatch(piece.strip())
    count, reason = (f"{match[1]} ", match[2]) if match else ("", piece.strip())
    if is_known_reason(reason):
        return piece
    if short := _INSUFFICIENT.fullmatch(reason):
        return f"{count}Insufficient {resource(short[1])}"
    if (named := _NAMED.fullmatch(reason)) and (word := next(filter(None, named.groups()), "")):
        return f"{count}{reason.replace(word, name(word))}"
    return f"{count}{LEFT_OUT}"
