"""``fit`` equals ``why`` asked for one pod after another, ``simulate --scale``, and what real control planes did."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from hypothesis import assume
from msgspec.structs import replace

from kubesched_lint.commands.fit.run import Fit, fit
from kubesched_lint.commands.simulate.run import simulate
from kubesched_lint.commands.simulate.simulation_options import SimulationOptions
from kubesched_lint.commands.verify.deployments import _read
from kubesched_lint.commands.verify.recorded import Deployment
from kubesched_lint.commands.verify.recordings import read_cases
from kubesched_lint.commands.why.ask import Question, answer
from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.events.answers.cells import FINE, UNKNOWN
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.runs.courses import Effort
from kubesched_lint.engine.scenario.settings.user_settings import Premises
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import ManifestSet
from tests.drawn import given
from tests.events.enclosed import thorough
from tests.events.made_sets import nodes, workload

CONFORMANCE = Path(__file__).parents[2] / "fixtures" / "conformance"
FEW = 12


def told(found, own: Workload) -> Fit:
    answered = fit(own, "", Inventory(), cluster_of(found), Premises())
    assume(answered.counts.most < FEW)
    return answered


def cluster_of(found) -> Cluster:
    return Cluster(Inventory(nodes=found), kinds=frozenset({"Node", "Pod"}), node_groups="complete")


@thorough
@given(nodes(most=3), workload("web", kinds=("Deployment",), most=1))
def test_why_finds_a_node_for_as_many_pods_one_after_another(found, own) -> None:
    """And it refuses the next one with the same words."""
    counted = told(found, own)
    one_more = replace(own, replicas=counted.placed + 1)
    inventory = Inventory(workloads=(one_more,))
    for number in range(1, counted.placed + 2):
        explained = answer(Question(own.name, replica=number), inventory, cluster_of(found))
        assert bool(explained.fitting) == (number <= counted.placed), number
    assert explained.message.startswith(counted.binds.removesuffix(".")), (explained.message, counted.binds)


@thorough
@given(nodes(most=3), workload("web", kinds=("Deployment",), most=1))
def test_simulate_scaled_to_one_more_has_the_same_ends(found, own) -> None:
    counted = told(found, own)
    manifests = ManifestSet(Inventory(workloads=(replace(own, replicas=1),)))
    counts = counted.counts
    for size in {counts.least, counts.most, counts.most + 1} - {0, 1}:  # the set has one
        wishes = SimulationOptions(scale=(f"{own.name}={size}",))
        matrix = simulate(manifests, cluster_of(found), Options(), (), Effort(), wishes=wishes)
        ((cell,),) = (row.cells for row in matrix.rows)
        assume(cell.verdict != UNKNOWN)
        assert min(size, counts.least) <= cell.bound.least <= cell.bound.most <= min(size, counts.most), cell
        # What the default scheduler alone does is no proof: another one may place fewer.
        assert (cell.verdict == FINE and cell.proven) == (size <= counts.least), cell


# --- recorded ---------------------------------------------------------------------------------------------------------


def recorded() -> Iterator[tuple[str, int, int, Fit]]:
    """Yield (name, wanted, bound, answer) of each recorded deploy of one ReplicaSet or Deployment on its own."""
    for file in ("deployments", "families"):
        for case in read_cases(str(CONFORMANCE / f"{file}.jsonl.gz")):
            deployment = Deployment(case)
            deploy = next((phase for phase in deployment.phases if phase.event == "deploy" and phase.stable), None)
            manifests, cluster = _read(deployment, "1.36")
            workloads = manifests.inventory.workloads
            if deploy is None or len(workloads) != 1 or cluster.inventory.workloads:
                continue
            seen = deploy.workloads.get(ObjectRef("Deployment", workloads[0].namespace, workloads[0].name))
            if seen is None or seen.failure or seen.bound > FEW:
                continue
            try:
                answered = fit(workloads[0], "", manifests.inventory, cluster, Premises())
            except ValueError:  # the API server refuses such pods
                continue
            yield deployment.name, seen.want, seen.bound, answered


def test_what_real_schedulers_placed_is_between_both_ends() -> None:
    asked = short = 0
    for name, wanted, bound, answered in recorded():
        asked, short = asked + 1, short + (bound < wanted)
        assert bound <= answered.counts.most, name
        assert bound == wanted or answered.counts.least <= bound, name
    assert (asked > 20, short > 5) == (True, True), (asked, short)
