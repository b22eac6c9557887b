"""The report of ``fit`` as text, JSON and Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.commands.fit.run import Counts, Fit, OnPools
from kubesched_lint.engine.base.text import joined, plural
from kubesched_lint.engine.placing.growth.plan import listed
from kubesched_lint.printing import json_text, visible
from kubesched_lint.report.terminal.cells import wrapped
from kubesched_lint.report.wording.words import esc

VERSION = 1
"""The version of the format; new keys alone do not change it."""


def as_text(fit: Fit, room: int = 0) -> str:
    """Return the text for lines of ``room`` cells (0: no limit), without a newline at the end."""
    lines = list(wrapped(headline(fit), room, 2))
    for label, text in _facts(fit):
        lines += wrapped(f"  {label:<9} {text}", room, 12)
    return "\n".join(lines)


def as_markdown(fit: Fit) -> str:
    lines = [f"**{esc(headline(fit))}**", ""]
    lines += [f"- {label}: {esc(visible(text))}" for label, text in _facts(fit)]
    return "\n".join(lines)


def as_json(fit: Fit) -> str:
    value = {
        "version": VERSION,
        "pods": fit.pods,
        "more": _ends(fit.counts),
        "placedByScheduler": fit.placed,
        "running": fit.running,
        "nextOne": fit.binds,
        "groups": [{"name": name, **_ends(counts)} for name, counts in fit.by_group.items()],
        "pools": None if fit.pools is None else _pools(fit.pools),
        "assumes": list(fit.assumes),
        "leftOut": list(fit.left_out),
    }
    return json_text(value, 2)


def headline(fit: Fit) -> str:
    """Return the answer in one line."""
    beside = f", beside the {fit.running} that run" if fit.running else ""
    if not fit.counts.most:
        return f"no pod {visible(fit.pods)} fits on today's nodes{beside}"
    pods = f"{fit.counts} more {plural(fit.counts.most, 'pod')} {visible(fit.pods)} {_fit(fit.counts)}"
    if fit.counts.least == fit.counts.most:
        return f"{pods} on today's nodes{beside}: certain in every order"
    if not fit.is_known:
        most = f"at most {fit.counts.most:,} more {plural(fit.counts.most, 'pod')} {visible(fit.pods)}"
        return f"{most} {_fit(fit.counts)} on today's nodes{beside}: it is not known whether any does"
    by_order = f"{pods} on today's nodes{beside}, by the order in which they come"
    return by_order if fit.placed is None else f"{by_order}; kube-scheduler places {fit.placed:,}"


def _fit(counts: Counts) -> str:
    return plural(counts.most, "fits", "fit")


def _facts(fit: Fit) -> Iterator[tuple[str, str]]:
    if fit.binds:
        yield "then", fit.binds
    if fit.by_group:
        yield "by place", joined([f"{name} {counts}" for name, counts in fit.by_group.items()])
    if fit.pools is not None:
        yield "pools", _words(fit.pools)
    if fit.left_out:
        yield "not done", f"{joined(fit.left_out)}: the work for it has a limit"
    yield "assumes", joined(list(fit.assumes))


def _words(pools: OnPools) -> str:
    if not pools.fit:
        return f"add no room: {pools.message or 'no machine of theirs takes such a pod'}"
    nodes = listed(pools.added)
    if pools.fit < pools.asked:
        why = f"the limit of {', '.join(pools.limited)}" if pools.limited else pools.message
        return f"add room for {pools.fit:,} more on {nodes}; then {why} stops them"
    return f"add room for at least {pools.asked:,} more on {nodes}"


def _ends(counts: Counts) -> dict[str, int]:
    return {"least": counts.least, "most": counts.most}


def _pools(pools: OnPools) -> dict[str, object]:
    added = [{"pool": a.pool, "zone": a.zone, "machine": a.shape, "count": a.count} for a in pools.added]
    limits = list(pools.limited)
    return {"asked": pools.asked, "fit": pools.fit, "nodes": added, "limitedBy": limits, "message": pools.message}
