"""One decision as a table of nodes by plugins, for a terminal or a pipe, and as JSON."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from io import StringIO

from msgspec.structs import replace
from rich.console import Console
from rich.table import Table
from rich.text import Text

from kubesched_lint.commands.why.ask import Answer
from kubesched_lint.commands.why.explain import OF_THE_VERDICT, Explanation, NodeVerdict, Obstacle
from kubesched_lint.commands.why.groups import GroupAnswer
from kubesched_lint.engine.base.text import SHOWN, first_few, many, plural
from kubesched_lint.explaining.objects.refused import Refusal
from kubesched_lint.linter.environments.environments import with_environments
from kubesched_lint.printing import json_text, visible
from kubesched_lint.report.limits import MOST_LINES
from kubesched_lint.report.terminal.cells import wrapped
from kubesched_lint.report.terminal.palette import Palette
from kubesched_lint.report.wording.words import without_preemption

_INDENT = "  "
_UNBOUNDED = 10_000


def as_text(explanation: Explanation, *, color: bool = False, width: int = 0, each: bool = False) -> str:
    """Return the text for a terminal of ``width`` cells (0: a pipe), the verdict first.

    With ``each``, every node has its own row and its scores; a table that is too wide becomes a list.
    """
    palette = Palette(color)
    blocks = [_of_group(explanation.group, palette, width)] if explanation.group is not None else []
    own = [note for note in explanation.notes if note.startswith(OF_THE_VERDICT)]
    more = (f"  {line}" for note in own for line in wrapped(note, max(width - 2, 0), 2))
    blocks.append("\n".join([_outcome(explanation, palette, width), *more]))
    whose = f"for replica {explanation.replica}, " if explanation.waits_from else ""
    blocks += _of_refused([node for node in explanation.nodes if not node.fits], whose, palette, width, each=each)
    blocks += _of_fitting(explanation, palette, width, each=each)
    if len(explanation.notes) > len(own):
        told = (note for note in explanation.notes if note not in own)
        notes = (line for note in told for line in wrapped(f"note: {note}", width, 6))
        blocks.append("\n".join(map(palette.dim, notes)))
    return "\n\n".join(blocks)


def _of_refused(
    refused: Sequence[NodeVerdict], whose: str, palette: Palette, width: int, *, each: bool
) -> Iterator[str]:
    if not refused:
        return
    title = f"{whose.capitalize()}{many(len(refused), 'node')} {plural(len(refused), 'does', 'do')} not fit:"
    table = _rendered(_refusals(refused), palette.color) if each else ""
    is_table = each and _has_room(table, width)
    yield "\n".join([title, table] if is_table else [title, *_refusal_lines(refused, each, palette, width)])


def _of_fitting(explanation: Explanation, palette: Palette, width: int, *, each: bool) -> Iterator[str]:
    """Yield the scores of the nodes that fit, or their names, and the devices that the pod would get."""
    fitting = explanation.fitting
    totals = [node.total or 0 for node in fitting if node.scores]
    if totals and not each:
        text = f"The nodes that fit score {_between(totals)}; --each shows which plugin gives how much."
        yield "\n".join(wrapped(text, width, 2))
    elif totals:
        table = _rendered(_scores(explanation), palette.color)
        scores = table if _has_room(table, width) else "\n".join(_score_lines(explanation, palette, width))
        silent = [p for p in explanation.plugins if not any(node.scores.get(p) for node in fitting)]
        yield scores
        if silent:
            yield palette.dim(f"0 for every node: {', '.join(silent)}")
    elif fitting and len(explanation.nodes) > 1:
        more = "" if each or len(fitting) <= MOST_LINES else " (--each lists them)"
        yield f"Fits on {_names([n.node for n in fitting], len(fitting) if each else MOST_LINES)}{more}."
    if any(node.devices for node in fitting):
        yield "\n".join(_devices(fitting, each, palette, width))


def _between(totals: Sequence[int]) -> str:
    least, most = min(totals), max(totals)
    return f"{least}" if least == most else f"{least} to {most}"


def _devices(fitting: Sequence[NodeVerdict], each: bool, palette: Palette, width: int) -> Iterator[str]:
    """Return the devices that the pod would get on each node."""
    yield "Devices that it would get:"
    for number, node in enumerate(fitting):
        if number == MOST_LINES and not each:
            yield palette.dim(f"{_INDENT}and so on on {many(len(fitting) - number, 'more node')} (--each lists them)")
            return
        given = (f"{held[3]} of pool {held[2]} ({name})" for name, all_ in node.devices.items() for held in all_)
        yield from (
            _INDENT + line for line in wrapped(visible(f"{node.node}: {', '.join(given)}"), max(width - 2, 0), 2)
        )


def _of_group(group: GroupAnswer, palette: Palette, width: int) -> str:
    paint = palette.bold if group.never_starts or group.course else palette.good
    lines = [_sentence(paint, group.text, width)]
    for text in group.lines:
        lines += (f"  {line}" for line in wrapped(visible(text), max(width - 2, 0), 2))
    return "\n".join([*lines, "", "For this pod alone:"])


def _outcome(explanation: Explanation, palette: Palette, width: int) -> str:
    fitting, subject = explanation.fitting, visible(explanation.subject)
    if explanation.made_for is not None:
        return _of_daemons(explanation, explanation.made_for, palette, width)
    if not fitting:
        lines = [
            _sentence(palette.bold, _negative(explanation), width),
            *(f"  {line}" for text in _reasons(explanation) for line in wrapped(text, max(width - 2, 0))),
        ]
        if explanation.nominated:
            victims = ", ".join(map(visible, explanation.victims))
            lines.append(f"Preemption evicts {victims} from {explanation.nominated}, and the pod waits for that node.")
        return "\n".join(lines)
    where = (
        f"{len(fitting)} of {many(len(explanation.nodes), 'node')}{', as far as is known' * explanation.lacks_facts}"
    )
    choice = _choice(explanation)
    if not explanation.waits_from:
        return _sentence(palette.good, f"{subject} fits on {where}{f'; {choice}' if choice else ''}.", width)
    # A count of nodes for one pod was read as an answer for all of them.
    workload = subject.removeprefix(f"replica {explanation.replica} of ")
    last = f"replica {explanation.waits_from} of {explanation.replicas} {_nowhere(explanation)}"
    why = without_preemption(visible(explanation.waits_because)).partition(" available: ")[2]
    text = f"{workload}: {last}{f': {why}' * bool(why)} (--replica {explanation.waits_from} says more)."
    own = f"Replica {explanation.replica} fits on {where}{f'; {choice}' * bool(choice)}."
    return "\n".join([_sentence(palette.bold, text, width), _sentence(palette.good, own, width)])


def _choice(explanation: Explanation) -> str:
    """Return which node the scheduler chooses; empty if only one is left, or it has no choice."""
    winners = [node.node for node in explanation.fitting if node.may_win]
    if not explanation.fitting[0].scores:
        return ""
    if explanation.sampled:
        return "the scheduler scores only some of them, so it may choose any"
    if len(winners) == 1:
        return f"the scheduler chooses {winners[0]}"
    return f"the scheduler chooses one of {_names(winners)} at random"


def _negative(explanation: Explanation) -> str:
    """Return the verdict on a pod that fits on no node, or that is never created."""
    subject = visible(explanation.subject)
    if explanation.refused:
        return f"The API server refuses {subject}: it is not applied, and makes no pods."
    if explanation.not_created:
        return f"{subject}: no pod is created, because the API server rejects it."
    fate = ": the pod stays Pending." if explanation.waits else ": the pod never runs."
    return f"{subject} {_nowhere(explanation)}{'.' if explanation.may_grow else fate}"


def _nowhere(explanation: Explanation) -> str:
    nodes, noun = len(explanation.nodes), "existing node" if explanation.may_grow else "node"
    return f"does not fit on the only {noun}" if nodes == 1 else f"fits on none of {many(nodes, noun)}"


def _reasons(explanation: Explanation) -> Sequence[str]:
    """The messages behind a negative answer, those about a refused object with their places."""
    return [visible(refusal.sentence) for refusal in explanation.refused] or [explanation.message]


def _of_daemons(explanation: Explanation, made_for: int, palette: Palette, width: int) -> str:
    waiting, subject = made_for - len(explanation.fitting), visible(explanation.subject)
    if not made_for:
        text = f"{subject}: no pod is created, because labels or taints of every node exclude it."
        return _sentence(palette.bold, text, width)
    made = f"{subject}: a pod is created for {made_for:,} of {many(len(explanation.nodes), 'node')}"
    if waiting:
        return _sentence(
            palette.bold, f"{made}; {waiting:,} of them {plural(waiting, 'stays', 'stay')} Pending.", width
        )
    return _sentence(palette.good, f"{made}; {'it fits' if made_for == 1 else 'all of them fit'}.", width)


def _sentence(paint: Callable[[str], str], text: str, width: int) -> str:
    return "\n".join(paint(line) for line in wrapped(text, width, 2))


# --- the tables -----------------------------------------------------------------------------------------------------


def _scores(explanation: Explanation) -> Table:
    plugins = [p for p in explanation.plugins if any(node.scores.get(p) for node in explanation.fitting)]
    table = _table("NODE", *(_broken(p) for p in plugins), "TOTAL")
    for column in table.columns[1:]:
        column.justify = "right"
    ranked = sorted(explanation.fitting, key=lambda node: -(node.total or 0))
    for verdict in ranked:
        best = verdict.may_win and not explanation.sampled
        table.add_row(
            Text(visible(verdict.node)),
            *(str(verdict.scores.get(p, 0)) for p in plugins),
            str(verdict.total),
            style="bold green" if best else None,
        )
    return table


def _refusals(refused: Sequence[NodeVerdict]) -> Table:
    table = _table("NODE", "PLUGIN", "REASON", "DETAIL", "EVICTING PODS")
    for node in refused:
        for number, obstacle in enumerate(node.obstacles):
            table.add_row(
                Text(visible(node.node) if not number else ""),
                obstacle.plugin,
                Text(visible(obstacle.reason)),
                Text(visible(obstacle.detail)),
                "might help" if obstacle.removable else "cannot help",
            )
    return table


def _has_room(table: str, width: int) -> bool:
    """Whether a table fits into ``width`` cells."""
    return not width or all(_cells(line) <= width for line in table.splitlines())


def _cells(line: str) -> int:
    return Text.from_ansi(line).cell_len


def _score_lines(explanation: Explanation, palette: Palette, width: int) -> Iterator[str]:
    """The scores as a list for a narrow terminal: below each node its scores."""
    ranked = sorted(explanation.fitting, key=lambda node: -(node.total or 0))
    for verdict in ranked:
        for line in wrapped(f"{visible(verdict.node)}: {verdict.total}", max(width - 2, 24)):
            yield _INDENT + (palette.good(line) if verdict.may_win and not explanation.sampled else line)
        parts = ", ".join(f"{plugin} {points}" for plugin, points in verdict.scores.items() if points)
        yield from (f"{_INDENT * 2}{text}" for text in wrapped(parts, max(width - 4, 24)))


def _refusal_lines(refused: Sequence[NodeVerdict], each: bool, palette: Palette, width: int) -> Iterator[str]:
    """The nodes that do not fit as a list, grouped by equal reasons, the most nodes first."""
    groups = _grouped(refused, not each, lambda n: tuple((o.plugin, o.reason, o.removable) for o in n.obstacles))
    for nodes in groups if each else sorted(groups, key=len, reverse=True):
        count = f"{many(len(nodes), 'node')}: " if len(nodes) > 1 else ""
        for line in wrapped(f"{count}{_names([n.node for n in nodes])}", max(width - 2, 24) if width else 0, 2):
            yield _INDENT + palette.bold(line)
        for number, obstacle in enumerate(nodes[0].obstacles):
            evicting = "evicting pods might help" if obstacle.removable else "evicting pods cannot help"
            detail = _details(nodes, number)
            text = f"{obstacle.plugin}: {obstacle.reason}{f': {detail}' if detail else ''}; {evicting}"
            room = max(width - 4, 24) if width else 0
            yield from (f"{_INDENT * 2}{line}" for line in wrapped(text, room, 2))


def _details(nodes: Sequence[NodeVerdict], number: int) -> str:
    """The detail of an obstacle that several nodes share, or an example if the details differ."""
    details = [node.obstacles[number].detail for node in nodes]
    if len(set(details)) == 1:
        return details[0]
    at = next(i for i, text in enumerate(details) if text)
    return f"for example {details[at]} ({nodes[at].node})"


def _grouped(
    nodes: Iterable[NodeVerdict], grouped: bool, key: Callable[[NodeVerdict], Hashable]
) -> list[list[NodeVerdict]]:
    """Groups of nodes with equal keys, ordered by their first nodes."""
    if not grouped:
        return [[node] for node in nodes]
    by_key: dict[Hashable, list[NodeVerdict]] = {}
    for node in nodes:
        by_key.setdefault(key(node), []).append(node)
    return list(by_key.values())


def _table(*headers: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for header in headers:
        table.add_column(header, vertical="top")
    return table


def _rendered(table: Table, color: bool) -> str:
    """The table as text, without a limit of width."""
    out = StringIO()
    console = Console(
        file=out,
        width=_UNBOUNDED,
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
    """A plugin's name with one word per line, because columns of numbers are narrow."""
    words = "".join(f"\n{c}" if c.isupper() and i else c for i, c in enumerate(plugin))
    return words.replace("Inter\nPod", "InterPod").replace("Pod\nTopology", "PodTopology")


def _names(names: Sequence[str], most: int = SHOWN) -> str:
    return first_few([visible(name) for name in names], most=most)


# --- JSON -----------------------------------------------------------------------------------------------------------


def as_json(explanation: Explanation, environment: str = "") -> str:
    """``{"subject", "fits": [node…], "mayWin": [node…], "sampled", "message", "nominated", "victims", "nodes": […]}``.

    A node has ``obstacles``, or ``scores`` and ``total`` if several nodes fit, and ``devices`` if the pod needs any.
    The pod of a gang has ``group``, and a workload that the API server refuses has ``refused``: [{code, message, at}…].
    """
    return json_text(_value(explanation, environment), 2)


def all_as_json(answers: Sequence[Answer]) -> str:
    """Return one answer as ``as_json``; several as ``{"answers": […]}``, each with its ``environment``."""
    each = [(answer.explanation, name) for answer in answers for name in answer.environments or [""]]
    if len(answers) == 1:
        return as_json(answers[0].explanation, each[0][1] if len(each) == 1 else "")
    return json_text({"answers": [_value(*named_answer) for named_answer in each]}, 2)


def all_as_text(answers: Sequence[Answer], *, color: bool = False, width: int = 0, each: bool = False) -> str:
    """Return the text of all answers, each with the environments that it holds in."""
    texts = (
        as_text(
            replace(answer.explanation, subject=with_environments(answer.explanation.subject, answer.environments)),
            color=color,
            width=width,
            each=each,
        )
        for answer in (answers if each else _alike_once(answers))
    )
    return "\n\n\n".join(texts)


def _alike_once(answers: Sequence[Answer]) -> Iterator[Answer]:
    """Yield the answers; of those that differ in numbers only, the first with all environments."""
    alike: dict[Hashable, list[Answer]] = {}
    for answer in answers:
        alike.setdefault(_seen(answer.explanation), []).append(answer)
    for first, *others in alike.values():
        names = tuple(name for answer in (first, *others) for name in answer.environments)
        if any(answer.explanation != first.explanation for answer in others):
            note = f"some numbers differ: those above are of {first_few(first.environments)}; --each has all"
            first = replace(first, explanation=replace(first.explanation, notes=(*first.explanation.notes, note)))
        yield replace(first, environments=names)


def _seen(explanation: Explanation) -> Hashable:
    """Return what a reader compares: which nodes fit, which may win, and why others do not, without details."""
    nodes = ((n.node, n.may_win, *((o.plugin, o.reason, o.removable) for o in n.obstacles)) for n in explanation.nodes)
    notes = {note for note in explanation.notes if note.startswith(("not known", *OF_THE_VERDICT))}
    ends = (
        explanation.message,
        explanation.refusal,
        explanation.nominated,
        explanation.not_created,
        explanation.made_for,
        explanation.waits_from,
    )
    return explanation.subject, ends, explanation.refused, str(explanation.group), tuple(nodes), frozenset(notes)


def _value(explanation: Explanation, environment: str) -> dict[str, object]:
    return {
        "subject": explanation.subject,
        **({"environment": environment} if environment else {}),
        "fits": [node.node for node in explanation.fitting],
        "mayWin": [node.node for node in explanation.nodes if node.may_win],
        "sampled": explanation.sampled,
        "message": explanation.message or None,
        "nominated": explanation.nominated or None,
        "victims": list(explanation.victims),
        "notes": list(explanation.notes),
        **({} if explanation.group is None else {"group": _group(explanation.group)}),
        **({} if explanation.made_for is None else {"madeFor": explanation.made_for}),
        **({"created": False} if explanation.not_created else {}),
        **({"refused": [_refusal(refusal) for refusal in explanation.refused]} if explanation.refused else {}),
        "nodes": [_node(node) for node in explanation.nodes],
    }


def _refusal(refusal: Refusal) -> dict[str, object]:
    place = refusal.location
    at = {"path": place.path, "line": place.span.line, "column": place.span.column}
    return {"code": refusal.answer.code, "message": refusal.text, "at": at}


def _group(group: GroupAnswer) -> dict[str, object]:
    return {
        "name": group.group,
        "verdict": group.verdict,
        "neverStarts": group.never_starts,
        "text": group.text,
        "placement": [{"pod": pod, "node": node} for pod, node in group.placement],
        "course": list(group.course),
    }


def _node(node: NodeVerdict) -> dict[str, object]:
    shown: dict[str, object] = {"node": node.node, "fits": node.fits}
    if node.obstacles:
        shown["obstacles"] = [dict(_obstacle(o)) for o in node.obstacles]
    if node.scores:
        shown["scores"] = dict(node.scores)
        shown["total"] = node.total
    if node.devices:
        shown["devices"] = dict(node.devices)
    return shown


def _obstacle(obstacle: Obstacle) -> Iterator[tuple[str, object]]:
    yield "plugin", obstacle.plugin
    yield "reason", obstacle.reason
    if obstacle.detail:
        yield "detail", obstacle.detail
    yield "evictionMightHelp", obstacle.removable
