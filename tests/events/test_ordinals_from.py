"""StatefulSets whose ordinals do not begin at 0 (``spec.ordinals.start``)."""

from __future__ import annotations

from msgspec.structs import replace

from kubesched_lint.engine.events.search.events import Timeline
from kubesched_lint.engine.model.decode.objects import decode_object, gather
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.pod import BoundPod
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.engine.scenario.storage.claim_names import known_ordinals
from tests.events.simulated import asking, other, sketch, workload

TEMPLATE = {"metadata": {"name": "data"}, "spec": {"resources": {"requests": {"storage": "1Gi"}}}}


def database(start: int, replicas: int = 2):
    written = workload(
        "StatefulSet",
        "db",
        replicas,
        asking("100m"),
        ordinals={"start": start},
        volumeClaimTemplates=[TEMPLATE],
    )
    return gather([decode_object(written, "default")]).workloads[0]


def adopted(start: int, *numbers: int) -> tuple[Timeline, set[str]]:
    """A timeline that begins with db-5 and so on, and the claims that its pods have."""
    db = database(start)
    timeline = Timeline(sketch(1, "ab").inventory.nodes, Inventory())
    timeline.adopt(db, [BoundPod(f"db-{n}", "w-a", db.pod) for n in numbers], changed=False)
    (state,) = timeline.states
    model = timeline.model()
    slots = [slot for held in state.bound for slot, _ in held]
    return timeline, {v.claim for slot in slots for v in model.pod(slot).volumes}


def test_a_pod_that_runs_has_the_claim_of_its_own_number():
    timeline, claims = adopted(5, 5, 6)
    assert claims == {"data-db-5", "data-db-6"}
    timeline.rollout(database(5))
    assert all(sum(n for held in state.bound for _, n in held) == 2 for state in timeline.states)
    assert adopted(0, 0, 1)[1] == {"data-db-0", "data-db-1"}


def test_pods_below_the_first_ordinal_go():
    """db-5 runs, and the manifest now begins at 6: db-6 and db-7 are made, and db-5 is condemned."""
    plain = replace(database(6), claim_templates=())
    timeline = Timeline(sketch(1, "ab").inventory.nodes, Inventory())
    timeline.adopt(plain, [BoundPod("db-5", "w-a", plain.pod)], changed=False)
    timeline.rollout(plain)
    ordinals = {
        tuple(sorted(timeline.pod_types.slots[slot].ordinal for held in state.bound for slot, _ in held))
        for state in timeline.states
    }
    assert ordinals == {(0, 1)}


def test_claims_are_those_of_the_numbers_that_are_wanted():
    claims = [other("PersistentVolumeClaim", f"data-db-{n}") for n in (0, 1, 5, 6, 7)]
    for claim in claims:
        claim["metadata"]["namespace"] = "default"
    db = database(5)
    held = gather([decode_object(claim, "default") for claim in claims])
    scenario = Scenario(Inventory(workloads=(db,), claims=held.claims))
    assert known_ordinals(scenario.member(db)) == [5, 6]
