"""The cluster as SVG: zones, nodes and pods. The page's script highlights the nodes of a finding."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from kubesched_lint.commands.lint.cluster_diagram import (
    FULL,
    TAINTED,
    UNMATCHED,
    USABLE,
    ClusterDiagram,
    Highlight,
    NodeGroup,
)
from kubesched_lint.engine.base.text import SHOWN, and_more, distinct_names, many, plural, shared_start, shortened
from kubesched_lint.engine.model.nodes.node import HOSTNAME, ZONE, domain_word
from kubesched_lint.report.limits import MOST_FULL, MOST_LINES
from kubesched_lint.report.wording.words import esc, key_name

_WIDTH = 460
_GAP = 10
_BOX = 62
_HEAD = 26
_PAD = 8
_DOT = 10
_HUES = 8
_LETTERS = {USABLE: "u", FULL: "f", TAINTED: "t", UNMATCHED: "x"}


class _Domain(Struct, frozen=True):
    name: str
    groups: tuple[tuple[int, NodeGroup], ...]
    """(index in the diagram, group)."""

    @property
    def nodes(self) -> int:
        return sum(group.count for _, group in self.groups)


def picture(diagram: ClusterDiagram) -> Iterator[str]:
    """Yield the drawing, its legend and the pending pods."""
    zones = _zones(diagram)
    columns = min(len(zones), 3)
    across = (_WIDTH - _GAP * (columns - 1)) // max(columns, 1)
    boxes = {1: 3, 2: 2, 3: 1}.get(columns, 1)
    y, drawn = 0, []
    for start in range(0, len(zones), columns or 1):
        band = zones[start : start + columns]
        tall = max(_HEAD + _PAD + -(-len(zone.groups) // boxes) * (_BOX + _PAD) for zone in band)
        for i, zone in enumerate(band):
            drawn.append("".join(_zone(zone, i * (across + _GAP), y, across, tall, boxes, diagram)))
        y += tall + _GAP
    title = f"{many(diagram.nodes, 'node')} in {_counted(diagram.key, len(zones))}"
    yield (
        f'<svg class="topology" viewBox="0 0 {_WIDTH} {max(y - _GAP, 1)}" role="img" aria-label="{title}">'
        '<defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
        '<line x1="0" y1="0" x2="0" y2="6"/></pattern></defs>'
    )
    yield from drawn
    yield "</svg>\n"
    if diagram.key != ZONE:
        yield f'<p class="remark">Nodes by <code>{esc(diagram.key)}</code>.</p>\n'
    if any(group.count == 1 for group in diagram.groups):
        yield from _legend(diagram)
    waits = list(_waiting(diagram))
    yield "".join(waits[:SHOWN])
    if waits[SHOWN:]:
        more = f"{len(waits) - SHOWN:,} more workloads with Pending pods"
        yield f"<details><summary>{more}</summary>{''.join(waits[SHOWN:MOST_FULL])}</details>\n"
    yield "".join(f'<p class="remark">{esc(note)}.</p>\n' for note in diagram.notes)


def _waiting(diagram: ClusterDiagram) -> Iterator[str]:
    for waiting in diagram.waiting:
        who = f"{esc(str(diagram.workloads[waiting.workload]))} {plural(waiting.pods, 'stays', 'stay')} Pending"
        yield (
            f'<p class="waiting" data-w="{waiting.workload}"><b>{many(waiting.pods, "pod")}</b> of '
            f"{who} <small>{esc(waiting.message)}</small></p>\n"
        )


def _zones(diagram: ClusterDiagram) -> list[_Domain]:
    domains: dict[str, list[tuple[int, NodeGroup]]] = {}
    for place, group in enumerate(diagram.groups):
        domains.setdefault(group.domain, []).append((place, group))
    return [_Domain(name, tuple(groups)) for name, groups in domains.items()]


def _counted(key: str, domains: int) -> str:
    return f"{domains:,} {esc(domain_word(key, domains))}"


def _room(wide: int) -> int:
    """Return the number of characters in a box of this width."""
    return int((wide - 14) / 6.5)


def _zone(zone: _Domain, x: int, y: int, across: int, tall: int, boxes: int, diagram: ClusterDiagram) -> Iterator[str]:
    name = zone.name or f"no {key_name(diagram.key)}"
    yield f'<g class="zone" data-zone="{esc(zone.name)}"><rect class="frame" x="{x + 0.5}" y="{y + 0.5}" '
    yield f'width="{across - 1}" height="{tall - 1}" rx="10"/>'
    yield f'<text class="zname" x="{x + 10}" y="{y + 18}">{esc(shortened(name, (across - 52) // 7))}</text>'
    yield f'<text class="zcount" x="{x + across - 10}" y="{y + 18}" text-anchor="end">{zone.nodes:,}</text>'
    wide = (across - _PAD * (boxes + 1)) // boxes
    labels = distinct_names([group.names[0] for group in diagram.groups if group.count == 1], _room(wide))
    for i, (place, group) in enumerate(zone.groups):
        left = x + _PAD + (i % boxes) * (wide + _PAD)
        top = y + _HEAD + _PAD // 2 + (i // boxes) * (_BOX + _PAD)
        yield from _node(group, place, left, top, wide, diagram, labels)
    yield "</g>\n"


def _node(
    group: NodeGroup, place: int, x: int, y: int, wide: int, diagram: ClusterDiagram, labels: Mapping[str, str]
) -> Iterator[str]:
    room = _room(wide)
    label = labels[group.names[0]] if group.count == 1 else shortened(f"{group.count:,} × {_stem(group)}", room)
    kind = "node transient" if group.mark else "node"
    yield f'<g class="{kind}" data-g="{place}"><title>{esc(_tooltip(group, diagram))}</title>'
    yield f'<rect class="box" x="{x + 0.5}" y="{y + 0.5}" width="{wide - 1}" height="{_BOX - 1}" rx="6"/>'
    yield f'<text class="nname" x="{x + 8}" y="{y + 16}">{esc(label)}</text>'
    below = " · ".join(filter(None, (group.mark, group.capacity)))
    yield f'<text class="ncap" x="{x + 8}" y="{y + 29}">{esc(shortened(below, int(room * 1.15)))}</text>'
    yield from _pods(group, x + 8, y + 41, wide - 16)
    yield "</g>"


def _pods(group: NodeGroup, x: int, y: int, wide: int) -> Iterator[str]:
    """Yield a dot per pod in two rows; the number of pods if there are too many."""
    across = max(1, wide // _DOT)
    total = sum(count for _, count in group.pods)
    if total > across * 2 or group.count > 1:
        others = f", {group.others:,} of others" if group.others else ""
        if total or others:
            yield f'<text class="npods" x="{x}" y="{y + 5}">{many(total, "pod")}{others}</text>'
        yield f'<text class="mine" x="{x}" y="{y + 16}"></text>'
        return
    dots = [number for number, count in group.pods for _ in range(count)]
    for i, number in enumerate(dots):
        cx, cy = x + 4 + (i % across) * _DOT, y + (i // across) * _DOT
        yield f'<circle class="pod p{number % _HUES}" data-w="{number}" cx="{cx}" cy="{cy}" r="3.6"/>'
    if group.others and len(dots) <= across:
        yield f'<text class="npods" x="{x}" y="{y + 15}">{group.others:,} of others</text>'


def _stem(group: NodeGroup) -> str:
    """Return the common start of the nodes' names, without the zone, which the drawing has above them."""
    same = shared_start(group.names)
    if group.domain and group.domain in same:
        same = same.partition(group.domain)[0].rstrip("-._")
    return same if len(same) >= 2 else f"{group.names[0]} …"


def _tooltip(group: NodeGroup, diagram: ClusterDiagram) -> str:
    names = ", ".join(group.names) + (and_more(group.count - len(group.names)) if group.count > 3 else "")
    pods = ", ".join(f"{count:,} × {diagram.workloads[number]}" for number, count in group.pods)
    parts = (names, group.capacity, group.mark, *(f"taint {taint}" for taint in group.taints), pods)
    return " · ".join(filter(None, parts))


def _legend(diagram: ClusterDiagram) -> Iterator[str]:
    there = sorted({number for group in diagram.groups for number, _ in group.pods})
    if not there:
        return
    items = "".join(
        f'<li data-w="{number}"><i class="pod p{number % _HUES}"></i>{esc(diagram.workloads[number].title)}</li>'
        for number in there[:MOST_LINES]
    )
    more = f"<li>and {len(there) - MOST_LINES:,} more workloads</li>" if there[MOST_LINES:] else ""
    yield f'<ul class="legend">{items}{more}</ul>\n'


# --- data for the page's script ---------------------------------------------------------------------------------------


def view(diagram: ClusterDiagram, focuses: Sequence[Highlight | None]) -> dict[str, Any]:
    """Return the data; ``focuses`` are those of the findings on the page, in the page's order.

    ``reach``: workload → a letter per group; ``say``: workload → a sentence about its nodes; ``at``: per finding the
    index of its focus, or -1; ``focus``: workload, zones to highlight, and chips of domains.
    """
    different = list(dict.fromkeys(focus for focus in focuses if focus is not None))
    place = {focus: i for i, focus in enumerate(different)}
    used = {focus.workload for focus in different}
    return {
        "reach": {number: "".join(_LETTERS[level] for level in diagram.reach[number]) for number in used},
        "name": {number: shortened(diagram.workloads[number].name, 16) for number in used},
        "say": {number: _about_nodes(diagram, number) for number in used},
        "pods": [dict(group.pods) for group in diagram.groups],
        "folded": [int(group.count > 1) for group in diagram.groups],
        "at": [-1 if focus is None else place[focus] for focus in focuses],
        "focus": [_focus(diagram, focus) for focus in different],
    }


def _about_nodes(diagram: ClusterDiagram, number: int) -> str:
    counts = diagram.counts[number]
    parts = [f"{diagram.workloads[number]} can use {counts[USABLE]:,} of {many(sum(counts.values()), 'node')}"]
    for level, singular, more in (
        (TAINTED, "has a taint that it does not tolerate", "have a taint that it does not tolerate"),
        (UNMATCHED, "does not match its node selector or affinity", "do not match its node selector or affinity"),
        (FULL, "is cordoned or too small", "are cordoned or too small"),
    ):
        if counts[level]:
            parts.append(f"{counts[level]:,} {plural(counts[level], singular, more)}")
    return "; ".join(parts) + "."


def _focus(diagram: ClusterDiagram, focus: Highlight) -> dict[str, Any]:
    domains = diagram.domains.get(focus, ())
    usable = [domain for domain in domains if domain.usable and domain.value]
    shown: dict[str, Any] = {"w": focus.workload, "key": focus.key}
    if focus.key == diagram.key:
        shown["zones"] = [domain.value for domain in usable]
    if focus.key == HOSTNAME:
        shown["text"] = f"{many(len(usable), 'node')} that it can use"
    elif focus.key:
        shown["chips"] = [[domain.value, domain.usable, domain.nodes] for domain in domains if domain.value][:40]
        lacking = sum(domain.nodes for domain in domains if not domain.value)
        without = f"; {many(lacking, 'node')} without this label" if lacking else ""
        places = many(len(usable), "zone" if focus.key == ZONE else "value")  # the key stands before it
        shown["text"] = f"{places} that it can use{without}"
    return shown
