"""The worked example of the page on gangs is true."""

from __future__ import annotations

import re
from pathlib import Path

from kubesched_lint.findings import Finding
from kubesched_lint.library import lint, load_cluster, simulate

PAGE = (Path(__file__).parents[2] / "docs" / "gangs.md").read_text()
SKETCH, MANIFESTS = re.findall(r"```yaml\n(.*?)```", PAGE, flags=re.S)
LEAD = "---\napiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: lead}\nvalue: 10\n"


def about_gangs(manifests: str, sketch: str = SKETCH) -> list[Finding]:
    found = lint(text=manifests, cluster=load_cluster(text=sketch)).findings
    return [finding for finding in found if "gang" in finding.rule or "podgroup" in finding.rule]


def test_the_gang_fits_and_may_hang_where_the_page_says() -> None:
    [missed] = about_gangs(MANIFESTS)
    assert missed.rule == "gang-may-miss"
    placement, _, tried, end = missed.evidence.trace
    assert re.fullmatch(r"a placement: train-\d and train-\d on gpu-\S+; leader-0 on gpu-\S+", placement)
    assert len(set(re.findall(r"on (gpu-\S+?)(?:;|$)", tried))) == 2, "the second worker takes the emptier node"
    assert end.startswith("leader-0 finds no room: 0/2 nodes are available: 2 Insufficient cpu.")
    cells = simulate(text=MANIFESTS, cluster=load_cluster(text=SKETCH), events=["deploy"]).outcomes
    assert {cell.verdict for cell in cells} == {"depends"}


def test_a_higher_priority_of_the_leader_makes_it_certain() -> None:
    first = MANIFESTS.replace(
        'containers:\n      - {name: c, image: "registry.example.com/shop/leader',
        'priorityClassName: lead\n      containers:\n      - {name: c, image: "registry.example.com/shop/leader',
    )
    assert first != MANIFESTS
    assert about_gangs(first + LEAD) == []


def test_without_the_gates_the_group_is_said_to_be_ignored() -> None:
    found = about_gangs(MANIFESTS, re.sub(r"featureGates: .*\n", "", SKETCH))
    assert [finding.rule for finding in found] == ["podgroup-ignored"]


def test_the_page_names_every_rule_about_gangs() -> None:
    rules = {card.stem for card in (Path(__file__).parents[2] / "rules").glob("*.md")}
    ours = {rule for rule in rules if re.search(r"gang|podgroup|groups-block|workload-min", rule)}
    assert {rule for rule in ours if f"`{rule}`" not in PAGE} == set()
