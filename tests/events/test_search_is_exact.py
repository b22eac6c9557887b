"""The search with all its reductions finds the very outcome sets of a tiny explorer that has none."""

from __future__ import annotations

from hypothesis import HealthCheck, assume, settings

from kubesched_lint.engine.answers.cells import outcome as counted
from kubesched_lint.engine.base.releases import RECORDED
from kubesched_lint.engine.events.search.events import Timeline
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.runs.event_outcomes import with_new_template
from tests import drawn as st
from tests.drawn import given
from tests.events import tiny_explorer
from tests.events.made_sets import nodes, workload
from tests.share import examples

thorough = settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])


@thorough
@given(
    nodes(),
    workload("web"),
    workload("db", most=2),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.sampled_from(["no", "no", "deploy", "rollout"]),
    st.sampled_from(["1.35.3", RECORDED, "1.37"]),
)
def test_outcome_sets_are_those_of_an_explorer_without_reductions(
    cluster, web, db, both, together, expected, unready_from, version
):
    workloads = [web, db] if both else [web]
    assume(sum(w.replicas for w in workloads) <= 5)
    # Missed wake-ups are for the search alone: the tiny explorer's scheduler tries every pod at any time.
    assume(not any(w.pod.required_affinity or len(w.pod.required_anti_affinity) > 1 for w in workloads))
    never_ready = [] if unready_from == "no" else [web.ref]
    timeline = Timeline(
        cluster,
        Inventory(),
        foreseen=workloads,
        expected=expected,
        never_ready=never_ready,
        kubernetes_version=version,
    )
    if unready_from == "deploy":
        timeline.from_now_unready()
    timeline.deploy(workloads, together=together)

    pods = [[timeline.admitted(w, 0)] for w in workloads]
    tiny = tiny_explorer.TinyExplorer(cluster, workloads, pods, expected=expected, version=version)
    if unready_from == "deploy":
        tiny.unready = {0}
    ends = {frozenset()}
    sizes = [0] * len(workloads)
    for i, w in enumerate(workloads):
        sizes[i] = w.replicas
        if not together or i == len(workloads) - 1:
            ends = tiny.ends(ends, [0] * len(workloads), sizes)
    assert _sets(timeline) == {_outcome(e, [0] * len(workloads)) for e in ends}

    pods[0].append(timeline.admitted(web, 1))
    if unready_from == "rollout":
        timeline.from_now_unready()
        tiny.unready = {0}
    timeline.rollout(with_new_template(web))
    newest = [1] + [0] * (len(workloads) - 1)
    ends = tiny.ends(ends, newest, sizes)
    assert _sets(timeline) == {_outcome(e, newest) for e in ends}


def _sets(timeline: Timeline):
    transitions = timeline.phases[-1].transitions
    found = set()
    for state in timeline.states:
        ends = [counted(transitions, desired, transitions.counts(state)) for desired in transitions.desired_states]
        found.add(tuple((e.bound, e.pending, e.new, e.unready) for e in ends))
    return found


def _outcome(end, newest):
    return tuple(tiny_explorer.outcome(end, number, revision) for number, revision in enumerate(newest))
