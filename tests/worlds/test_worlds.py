"""Lint, simulate, why, trials and the exhaustive reference must not contradict each other on generated worlds.

``open.txt`` lists what still does, world by world: what is not listed fails, and so does a line that is no longer true.
"""

from __future__ import annotations

from itertools import islice

import pytest
from hypothesis import HealthCheck, Phase, event, given, settings

from kubesched_lint.engine.base.partly_compared import same_values
from kubesched_lint.engine.model.pod import BoundPod
from tests.scheduler import plain_engine
from tests.share import examples, first
from tests.worlds import known
from tests.worlds.admission import NotCoveredError
from tests.worlds.agreement import Reading, contradictions, of_cell, rulebook
from tests.worlds.classes import with_classes
from tests.worlds.clusters import HOST, REQUIRED, item
from tests.worlds.controllers import WAITS
from tests.worlds.courses import Courses
from tests.worlds.filters import FITS
from tests.worlds.generator import FEATURES, World, seeded, worlds
from tests.worlds.reference import outcomes, walked

BLOCK = 50
CLASSES = (8, 18, 19, 20, 34, 41, 43, 47)
BESIDE_POOLS = (910820, 916560)
NOWHERE = (780007,)
"""Worlds that showed a wrong answer."""


@pytest.mark.parametrize("start", first(1, range(0, known.SEEDS, BLOCK)))
def test_what_is_said_of_a_world_is_not_contradicted(start: int) -> None:
    seeds = range(start, start + BLOCK)
    now = known.found(seeds)
    listed = {line for line in known.listed() if line[0] in seeds}
    assert not now - listed, "new contradictions: python -m tests.worlds.shrink SEED KIND shows them"
    assert not listed - now, "closed contradictions: python -m tests.worlds.known takes them off the list"


def test_what_is_said_of_pods_with_a_runtime_class_is_not_contradicted() -> None:
    """Controllers of DaemonSets know nothing of it; in some worlds nobody tells what it adds."""
    worlds = {seed: with_classes(seed) for seed in CLASSES}
    assert {seed: contradictions(world, thorough=seed == CLASSES[0]) for seed, world in worlds.items()} == {
        seed: [] for seed in CLASSES
    }


@pytest.mark.parametrize("seed", BESIDE_POOLS)
def test_a_daemonset_wants_as_many_pods_with_little_effort_and_with_much(seed: int) -> None:
    """Pools may add nodes during an event; those that do not come ask for no pod of it."""
    assert contradictions(seeded(seed), thorough=True) == []


@pytest.mark.parametrize("seed", NOWHERE)
def test_what_no_node_is_large_enough_for_is_proven_whatever_is_missing(seed: int) -> None:
    assert contradictions(seeded(seed)) == []


@settings(
    max_examples=examples(50),
    deadline=None,
    derandomize=True,
    phases=[Phase.generate],  # worlds.shrink makes them small, and faster
    suppress_health_check=list(HealthCheck),
)
@given(worlds())
def test_worlds_that_hypothesis_makes_show_no_other_kind(world: World) -> None:
    event("covered" if outcomes(world) is not None else "not covered")
    kinds = known.open_kinds()
    assert not [c for c in contradictions(world) if c.kind not in kinds]


def test_a_seed_makes_one_world_and_every_feature_comes_up() -> None:
    made = [seeded(seed) for seed in range(400)]
    assert same_values(made, [seeded(seed) for seed in range(400)])
    assert {feature for world in made for feature in world.features} == set(FEATURES)


def test_the_reference_covers_most_worlds_and_both_answers() -> None:
    answers = [outcomes(seeded(seed)) for seed in range(150)]
    covered = [found for found in answers if found is not None]
    assert len(covered) > 100
    ends = [e for found in covered for e in found.of.values()]
    assert any(e.may_be_whole and not e.may_lack for e in ends)
    assert any(e.may_lack and not e.may_be_whole for e in ends)
    assert any(e.may_lack and e.may_be_whole for e in ends)


def test_a_wrong_answer_is_found() -> None:
    """Three replicas that repel each other on two nodes: a cell that knows of three nodes is contradicted."""
    term = {"labelSelector": {"matchLabels": {"app": "a"}}, "topologyKey": HOST}
    spec = {"containers": [{"name": "c", "image": "i"}], "affinity": {"podAntiAffinity": {REQUIRED: [term]}}}
    template = {"metadata": {"labels": {"app": "a"}}, "spec": spec}
    deployment = {"replicas": 3, "selector": {"matchLabels": {"app": "a"}}, "template": template}
    manifests = [item("Deployment", "a", "default", "apps/v1", spec=deployment)]
    nodes = [
        item("Node", f"n{i}", meta={"labels": {HOST: f"n{i}"}}, status={"allocatable": {"cpu": "4", "pods": "9"}})
        for i in range(3)
    ]
    world, believed = World(manifests, nodes[:2]), World(manifests, nodes)
    assert contradictions(world, thorough=True) == []
    truth = outcomes(world)
    assert truth is not None
    assert truth.fewest_lacking(truth.names) == 1
    cell = Reading(believed).cells()["Deployment default/a", "deploy"]
    assert [c.kind for c in of_cell("Deployment default/a", cell, truth.of["Deployment default/a"])] == [
        "deploy cell of a Deployment: fine, proven"
    ]


def test_the_references_filters_are_those_of_the_plain_engine() -> None:
    """Two readings of the Go sources, written apart, on the first states of worlds without volumes."""
    compared = 0
    for seed in range(90):
        world = seeded(seed)
        if not set(world.features) & {"claims", "ephemeral"}:
            compared += _compared(world, most_states=12)
    assert compared > 200


def _compared(world: World, most_states: int) -> int:
    """How many decisions of both were found equal."""
    try:
        courses = Courses(world)
        states = list(islice(walked(courses), most_states))
    except NotCoveredError:
        return 0
    filters, compared = courses.filters, 0
    for state in states:
        placed = [one for one in state.pods if one[1] != WAITS]
        for number, position in dict.fromkeys(state.pods):
            kind = filters.kinds[number]
            if position == WAITS and (kind.slot == "" or isinstance(kind.slot, int)):
                codes = filters.codes(number, placed, state.disks)
                fits = {n.name for n, code in zip(filters.nodes, codes, strict=True) if code == FITS}
                assert fits == set(plain_engine.attempt(kind.pod, _plain(courses, placed)).feasible)
                compared += 1
    return compared


def _plain(courses: Courses, placed: list[tuple[int, int]]) -> plain_engine.Cluster:
    filters = courses.filters
    bound = [
        BoundPod(str(i), filters.nodes[p].name, filters.kinds[k].pod, terminating=filters.kinds[k].terminating)
        for i, (k, p) in enumerate(placed)
    ]
    return plain_engine.Cluster.of(filters.nodes, bound, filters.namespaces)


def test_a_check_finds_nothing_in_constraints_and_terms_that_its_card_does_not_look_at() -> None:
    """``looks_at: [hard_spread]`` saves the import of a check, and must not hide a hazard."""
    parts = {"hard_spread", "min_domains", "spread_label_keys", "namespace_selector"}
    rules = [rule for rule in rulebook().select("strict") if parts & set(rule.features)]
    asked = 0
    for seed in range(40):
        world = Reading(seeded(seed)).believed
        for rule in rules:
            carriers = set(rule.among(world.manifests.workloads))
            for workload in world.manifests.workloads:
                if workload not in carriers and not workload.pod.node_name:
                    asked += 1
                    assert not list(rule.check()(world.member(workload), **rule.params)), (rule.slug, seed)
    assert asked > 200
