"""What ``-h`` prints: one page with the usual options. ``--help`` prints all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import Any

USUAL = {
    "lint": (
        *("cluster", "formats", "changed", "diff", "fix", "unsafe_fixes", "select", "ignore", "fail_on", "baseline"),
        *("profile", "watch", "quiet", "verbose"),
    ),
    "simulate": ("cluster", "explain", "events", "lose", "scale", "env", "target", "output", "verbose"),
    "plan": ("cluster", "env", "target", "gate", "output", "verbose"),
    "check": ("cluster", "env", "target", "gate", "break_glass", "rbac", "output"),
    "why": ("cluster", "replica", "alone", "each", "env", "target", "output"),
    "fit": ("cluster", "name", "cpu", "memory", "gpu", "spread", "apart", "env", "target", "output"),
    "drain": ("cluster", "pool", "nodes", "surge", "target", "output", "verbose"),
    "audit": ("cluster", "target", "fail_on", "output", "verbose"),
}
"""Command → the options that most people need; the other commands have few."""

ROOT = """\
Usage: {program} COMMAND [PATH…]                PATH is . if left out

  Before you deploy: does every pod find a node, and if not, which line is to
  blame?

Check    lint      Report what will not be scheduled, and the lines to blame.
         simulate  Show how deploys, rollouts and losses end.
         plan      Show what a branch changes.
         check     Judge what applying to a live cluster starts.
         why       Explain where one pod can go, node by node.
Cluster  init, snapshot (save nodes for --cluster), audit (what is wrong now),
         fit (how many more pods fit), drain (plan an upgrade)
Project  baseline, config, rules, workloads, targets, charts, fleet, lsp,
         verify

Exit codes: 0 no problem, 1 findings, 2 invalid input (drain: 3 unknown).
`COMMAND -h` shows the usual options, `COMMAND --help` all of them.
"""
MARKS = """\
Cells    ok, ok~   every order of events ends well; so does every simulated one
         3/6       so many of its pods run in the end; ≤2/3: two or fewer
         2–3/3     from two to three, by the order of events
         stuck     the rollout never ends; blocked: a budget stops the drain
         !         behind these: proven for every order, an error of lint
         u         behind these: while lost nodes are only unreachable
         ?, ·      unknown, with the reason below; the event does not concern it
"""
"""What the page of ``simulate`` says of its matrix."""
_HANG, _WIDTH = 29, 80


def page(ctx: Any, about: str, examples: Sequence[str], options: Sequence[Any]) -> Iterator[str]:
    """Yield the lines of the page of a command: its usual options, and two examples."""
    yield from (line for line in ctx.get_usage().split("\n"))
    yield ""
    yield from wrap(about.partition("\n\n")[0], _WIDTH - 2, initial_indent="  ", subsequent_indent="  ")
    yield ""
    by_name = {option.name: option for option in options}
    usual = [by_name[name] for name in USUAL.get(ctx.info_name, ())]
    for option in usual or [o for o in options if o.param_type_name == "option" and o.name != "help"]:
        record = option.get_help_record(ctx)
        if record is not None:
            yield from _row(record[0], _first_sentence(record[1]))
    if ctx.info_name == "simulate":
        yield ""
        yield from MARKS.splitlines()
    if examples:
        yield ""
        yield from (f"  {example}" for example in examples[:2])
    yield ""
    yield f"`{ctx.command_path} --help` lists all {len(options)} options and arguments."


def _row(names: str, text: str) -> Iterator[str]:
    """Yield an option and what it does, side by side if the names are short."""
    first, *others = wrap(text, _WIDTH - _HANG)
    if len(names) + 4 > _HANG:
        yield f"  {names}"
        others = [first, *others]
    else:
        yield f"  {names:<{_HANG - 2}}{first}"
    yield from (f"{'':<{_HANG}}{line}" for line in others)


def _first_sentence(text: str) -> str:
    end = text.find(". ")
    return text if end < 0 else text[: end + 1]
