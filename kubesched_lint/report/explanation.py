"""One decision as a table of nodes by plugins, for a terminal or a pipe, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from kubesched_lint.engine.why import Explanation, NodeVerdict, Obstacle
from kubesched_lint.report.cells import visible
from kubesched_lint.report.palette import Palette

if TYPE_CHECKING:
    from rich.table import Table

MANY = 20
"""From more nodes on, those with equal rows share one."""
_NAMED = 3
_INDENT = "  "
_UNBOUNDED = 10_000
_NARROWEST = 40


def as_text(found: Explanation, *, color: bool = False, width: int = 0, each: bool = False) -> str:
    """``width`` in cells wraps the tables, 0 does not: for a pipe. ``each`` gives every node a row of its own."""
    palette = Palette(color)
    groups = not each and len(found.nodes) > MANY
    blocks = [f"{palette.bold(visible(found.subject))} on {_count(len(found.nodes), 'node')}"]
    blocks[0] += "".join(f"\n  {palette.dim('note: ' + visible(note))}" for note in found.notes)
    fitting = found.fitting
    blocks.append(_outcome(found, palette))
    if any(node.scores for node in fitting):
        blocks.append(_rendered(_scores(found, groups), color, width))
        silent = [p for p in found.plugins if not any(node.scores.get(p) for node in fitting)]
        if silent:
            blocks[-1] += "\n" + palette.dim(f"0 for every node: {', '.join(silent)}")
    elif fitting and len(found.nodes) > 1:
        blocks.append(f"Fits on {_names([node.node for node in fitting], len(fitting))}.")
    refused = [node for node in found.nodes if not node.fits]
    if refused:
        blocks.append(f"{_count(len(refused), 'node')} {'does' if len(refused) == 1 else 'do'} not fit:")
        blocks.append(_rendered(_refusals(refused, groups), color, width))
    return "\n\n".join(blocks)


def _outcome(found: Explanation, palette: Palette) -> str:
    fitting = found.fitting
    if not fitting:
        outcome = "No node of today fits." if found.may_grow else "No node fits: the pod stays Pending."
        lines = [palette.bold(outcome), f"  {visible(found.message)}"]
        if found.nominated:
            victims = ", ".join(map(visible, found.victims))
            lines.append(f"Preemption evicts {victims} from {found.nominated}, and the pod waits for that node.")
        return "\n".join(lines)
    winners = [node.node for node in fitting if node.may_win]
    count = f"{len(fitting)} of {_count(len(found.nodes), 'node')} {'fits' if len(fitting) == 1 else 'fit'}"
    if not fitting[0].scores:
        return palette.good(f"{count}.")
    if found.sampled:
        return palette.good(f"{count}; the scheduler scores only some of them, so that any may be chosen.")
    if len(winners) == 1:
        return palette.good(f"{count}; the scheduler chooses {winners[0]}.")
    return palette.good(f"{count}; the scheduler draws one of {_names(winners)}.")


# --- the tables -----------------------------------------------------------------------------------------------------


def _scores(found: Explanation, grouped: bool) -> Table:
    from rich.text import Text

    plugins = [p for p in found.plugins if any(node.scores.get(p) for node in found.fitting)]
    table = _table("NODE", *(_broken(p) for p in plugins), "TOTAL")
    for column in table.columns[1:]:
        column.justify = "right"
    ranked = sorted(found.fitting, key=lambda node: -(node.total or 0))
    for nodes in _grouped(ranked, grouped, lambda n: (tuple(n.scores.items()), n.may_win)):
        one = nodes[0]
        best = one.may_win and not found.sampled
        table.add_row(
            Text(_names([n.node for n in nodes], 1)),
            *(str(one.scores.get(p, 0)) for p in plugins),
            str(one.total),
            style="bold green" if best else None,
        )
    return table


def _refusals(refused: Sequence[NodeVerdict], grouped: bool) -> Table:
    from rich.text import Text

    table = _table("NODE", "PLUGIN", "REASON", "MORE CLOSELY", "EVICTING PODS")
    for nodes in _grouped(refused, grouped, lambda n: tuple((o.plugin, o.reason, o.removable) for o in n.obstacles)):
        for number, obstacle in enumerate(nodes[0].obstacles):
            table.add_row(
                Text(_names([n.node for n in nodes], 1) if not number else ""),
                obstacle.plugin,
                Text(visible(obstacle.reason)),
                Text(visible(_details(nodes, number))),
                "might help" if obstacle.removable else "cannot help",
            )
    return table


def _details(nodes: Sequence[NodeVerdict], number: int) -> str:
    """What lies behind the same obstacle of several nodes, or an example where it differs."""
    details = [node.obstacles[number].detail for node in nodes]
    if len(set(details)) == 1:
        return details[0]
    at = next(i for i, text in enumerate(details) if text)
    return f"{nodes[at].node}: {details[at]}"


def _grouped(
    nodes: Iterable[NodeVerdict], grouped: bool, key: Callable[[NodeVerdict], Hashable]
) -> list[list[NodeVerdict]]:
    """Nodes with equal keys together, in the order in which the first of each comes."""
    if not grouped:
        return [[node] for node in nodes]
    found: dict[Hashable, list[NodeVerdict]] = {}
    for node in nodes:
        found.setdefault(key(node), []).append(node)
    return list(found.values())


def _table(*headers: str) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for header in headers:
        table.add_column(header, vertical="top", overflow="fold")
    return table


def _rendered(table: Table, color: bool, width: int) -> str:
    from io import StringIO

    from rich.console import Console

    out = StringIO()
    console = Console(
        file=out,
        width=max(width - len(_INDENT), _NARROWEST) if width else _UNBOUNDED,
        force_terminal=color,
        color_system="standard" if color else None,
        no_color=not color,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )
    console.print(table)
    return "\n".join(_INDENT + line.rstrip() for line in out.getvalue().rstrip("\n").splitlines())


def _broken(plugin: str) -> str:
    """A plugin's name on several lines, a word each: columns of numbers are narrow."""
    words = "".join(f"\n{c}" if c.isupper() and i else c for i, c in enumerate(plugin))
    return words.replace("Inter\nPod", "InterPod").replace("Pod\nTopology", "PodTopology")


def _names(names: Sequence[str], most: int = _NAMED) -> str:
    if len(names) <= most:
        return ", ".join(map(visible, names))
    return f"{', '.join(map(visible, names[:most]))} and {len(names) - most} more"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


# --- JSON -----------------------------------------------------------------------------------------------------------


def as_json(found: Explanation) -> str:
    """``{"subject", "fits": [node…], "mayWin": [node…], "sampled", "message", "nominated", "victims", "nodes": […]}``.

    A node has ``obstacles`` or ``scores`` and ``total``; the scores are absent where there is nothing to choose.
    """
    return json.dumps(
        {
            "subject": found.subject,
            "fits": [node.node for node in found.fitting],
            "mayWin": [node.node for node in found.nodes if node.may_win],
            "sampled": found.sampled,
            "message": found.message or None,
            "nominated": found.nominated or None,
            "victims": list(found.victims),
            "notes": list(found.notes),
            "nodes": [_node(node) for node in found.nodes],
        },
        indent=2,
    )


def _node(node: NodeVerdict) -> dict[str, object]:
    shown: dict[str, object] = {"node": node.node, "fits": node.fits}
    if node.obstacles:
        shown["obstacles"] = [dict(_obstacle(o)) for o in node.obstacles]
    if node.scores:
        shown["scores"] = dict(node.scores)
        shown["total"] = node.total
    return shown


def _obstacle(obstacle: Obstacle) -> Iterator[tuple[str, object]]:
    yield "plugin", obstacle.plugin
    yield "reason", obstacle.reason
    if obstacle.detail:
        yield "detail", obstacle.detail
    yield "evictionMightHelp", obstacle.removable
