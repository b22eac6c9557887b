"""One environment of a plan: both sides of it, what the change does there, and what it touches."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.commands.limits import MOST_CELLS
from kubesched_lint.commands.lint.report_extras import most_rows
from kubesched_lint.commands.plan.affected import affected
from kubesched_lint.commands.plan.changes import ObjectChange, workload_changes
from kubesched_lint.commands.plan.pools import NodeLoss, PoolChange, drift, losses, with_manifest_pools
from kubesched_lint.commands.plan.running import as_it_runs
from kubesched_lint.commands.plan.version import Version, as_far_as_read
from kubesched_lint.engine.base import work
from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.explaining.objects.refused import accepted
from kubesched_lint.linter.environments.alternatives import Alternatives
from kubesched_lint.linter.environments.environments import (
    Environment,
    Environments,
    environments_of,
    said_once,
    shared_part,
)
from kubesched_lint.linter.lint import lasting_scenario


class Side(Struct, frozen=True):
    """One version of the manifests on its cluster, with one definition of each object."""

    once: Version
    cluster: Cluster
    written: Scenario
    """The scenario of ``once``, with what the API server refuses; ``simulate`` and ``lint`` know it by now."""
    whole: Scenario
    """The scenario of the manifests of all environments; ``written`` is a part of it."""

    @property
    def scenario(self) -> Scenario:
        """The same without what the API server refuses."""
        return accepted(self.written)


class Scene(Struct, frozen=True):
    """One environment before and after the change; its name is empty if the manifests have no alternatives."""

    name: str
    before: Side
    after: Side
    subjects: frozenset[ObjectRef]
    """The workloads to answer about here."""
    changes: Mapping[ObjectRef, ObjectChange]
    touched: frozenset[ObjectRef]
    """The subjects whose cells may differ."""
    shown: frozenset[ObjectRef]
    """Those that are simulated."""
    notes: tuple[str, ...] = ()
    pools: tuple[PoolChange, ...] = ()
    """What becomes of the NodePools among the manifests."""
    losses: tuple[NodeLoss, ...] = ()
    """The workloads that may use fewer nodes than before."""

    @property
    def left_out(self) -> tuple[str, ...]:
        """A note on the touched workloads that are not among ``shown``."""
        if len(self.shown) == len(self.touched):
            return ()
        return (
            f"cells of {len(self.shown):,} of {len(self.touched):,} affected workloads were compared, "
            "changed ones first",
        )

    @property
    def sides(self) -> tuple[Side, Side]:
        return self.before, self.after

    @property
    def workloads(self) -> tuple[Mapping[ObjectRef, Workload], Mapping[ObjectRef, Workload]]:
        """The workloads of both sides."""
        return _by_ref(self.before.once.manifests.inventory), _by_ref(self.after.once.manifests.inventory)


class _Pair(Struct, frozen=True):
    name: str
    before: Version
    after: Version
    subjects: frozenset[ObjectRef]


Clusters = tuple[Cluster, Cluster]
"""The cluster before and after the change: the same one, unless the change edits its files or its pools."""


def scenes_of(
    before: Version, after: Version, clusters: Clusters, *, running: bool
) -> tuple[Sequence[Scene], tuple[str, ...]]:
    """Return the environments of both sides, and notes. Raises ValueError for a name that no environment has."""
    pairs, notes = _pairs(before, after, clusters[1], running=running)
    of_all = _OfAll(before), _OfAll(after)
    scenes = [_scene(pair, clusters, of_all, running=running) for pair in pairs]
    told = [(scene.name, scene.notes) for scene in scenes]
    return scenes, (*(said_once(told) if len(told) > 1 else told[0][1]), *notes)


# --- which environments there are -------------------------------------------------------------------------------------


def _pairs(
    before: Version, after: Version, cluster: Cluster, *, running: bool
) -> tuple[Sequence[_Pair], tuple[str, ...]]:
    if running:
        ours = _environments(after, ())
        several = len(ours.each) > 1
        pairs = [_against_running(each, before, after, cluster, several=several) for each in ours.each]
        return pairs, ours.notes
    theirs = _moved(_groups(after), after.root, before.root)
    old = _environments(before, theirs, is_required=False)
    new = _environments(after, _moved(_groups(before), before.root, after.root), is_required=not old.each)
    names = list(dict.fromkeys((*new.names, *old.names)))
    pairs = [_pair(name, old, new, before, after) for name in names or [""]]
    return pairs, tuple(dict.fromkeys((*old.notes, *new.notes)))


def _environments(side: Version, known: Sequence[Sequence[str]], *, is_required: bool = True) -> Environments:
    options = side.options
    try:
        return environments_of(side.manifests.inventory, options.together, options.environments, known)
    except ValueError:
        if is_required:
            raise
        return Environments(())


def _groups(side: Version) -> Sequence[Sequence[str]]:
    return Alternatives(side.manifests.inventory, side.options.together).groups


def _moved(groups: Sequence[Sequence[str]], root: str, other: str) -> Sequence[Sequence[str]]:
    """Return the paths of groups as they are on the other side."""
    if root == other:
        return groups
    return [[os.path.normpath(os.path.join(other, os.path.relpath(path, root))) for path in group] for group in groups]


def _pair(name: str, old: Environments, new: Environments, before: Version, after: Version) -> _Pair:
    ours, theirs = old.named(name), new.named(name)
    if not name:
        ours, theirs = old.each[0], new.each[0]
    first = ours or shared_part(before.manifests.inventory, old.groups, before.options.together)
    last = theirs or shared_part(after.manifests.inventory, new.groups, after.options.together)
    sides = _own(before, first, last), _own(after, last, first)
    return _Pair(name, *sides, first.subjects | last.subjects)


def _own(side: Version, mine: Environment, other: Environment) -> Version:
    """Return the side of an environment, without what stands in for a workload that only the other side has there."""
    foreign = mine.borrowed - mine.subjects - other.borrowed
    foreign &= other.subjects
    inventory = mine.manifests
    if foreign:
        workloads = tuple(w for w in inventory.workloads if w.ref not in foreign)
        inventory = _with_workloads(inventory, workloads)
    return replace(side, manifests=replace(side.manifests, inventory=inventory))


def _with_workloads(inventory: Inventory, workloads: tuple[Workload, ...]) -> Inventory:
    return Inventory(**{**dict(inventory.lists()), "workloads": workloads})


def _against_running(mine: Environment, before: Version, after: Version, cluster: Cluster, *, several: bool) -> _Pair:
    own_version = replace(after, manifests=replace(after.manifests, inventory=mine.manifests))
    return _Pair(mine.name, as_it_runs(own_version, cluster) if several else before, own_version, mine.subjects)


# --- what is touched there --------------------------------------------------------------------------------------------


class _OfAll:
    """The scenarios of the manifests of one side, one on each cluster."""

    def __init__(self, side: Version) -> None:
        self._side = side
        self._known: list[tuple[Cluster, Scenario]] = []

    def on(self, cluster: Cluster) -> Scenario:
        """Return the scenario that ``lint`` judges on a cluster; those that ``simulate`` uses are its parts."""
        for known, scenario in self._known:
            if known is cluster:
                return scenario
        scenario = lasting_scenario(self._side.manifests, cluster, self._side.options)
        self._known.append((cluster, scenario))
        return scenario


def _scene(pair: _Pair, clusters: Clusters, of_all: tuple[_OfAll, _OfAll], *, running: bool) -> Scene:
    versions = pair.before, pair.after
    old, new = (_by_ref(side.manifests.inventory) for side in versions)
    pools: tuple[PoolChange, ...] = ()
    told: tuple[str, ...] = ()
    if not running and all(side.is_whole for side in versions):
        ends = (side.manifests.inventory.node_pools for side in versions)
        later, pools, told = with_manifest_pools(clusters[1], *ends)
        clusters = clusters[0], later
    told += tuple(drift(clusters[0], (versions[1] if running else versions[0]).manifests.inventory.node_pools))
    own = clusters_of(*versions, clusters, running=running)
    ours, theirs = (_side(side, each, whole.on(each)) for side, each, whole in zip(versions, own, of_all, strict=True))
    own_changes = workload_changes(ours.written, theirs.written, running=running)
    subjects = pair.subjects | (frozenset() if pair.name else {*old, *new})
    changes = {c.object: as_far_as_read(c, *versions) for c in own_changes if c.object in subjects}
    everybody = frozenset({**old, **new})
    is_same = clusters[0] is clusters[1]
    reached = work.tried(lambda: affected(ours.scenario, theirs.scenario), everybody) if is_same else everybody
    touched = (reached & subjects) | changes.keys()
    lost = () if is_same else tuple(losses(ours.scenario, theirs.scenario, subjects))
    first = (changes, {loss.object for loss in lost})
    shown = _rows(touched, first, len(clusters[1].inventory.nodes))
    return Scene(pair.name, ours, theirs, subjects, changes, touched, shown, told, pools, lost)


def clusters_of(before: Version, after: Version, clusters: Clusters, *, running: bool) -> Clusters:
    """Return the cluster of each side: without the workloads that only the other side has, and their pods."""
    old, new = (_by_ref(side.manifests.inventory) for side in (before, after))
    created = [workload for ref, workload in new.items() if ref not in old]
    removed = [] if running else [workload for ref, workload in old.items() if ref not in new]
    return _without(clusters[0], created), _without(clusters[1], removed)


def _by_ref(inventory: Inventory) -> Mapping[ObjectRef, Workload]:
    return {workload.ref: workload for workload in inventory.workloads}


def _without(cluster: Cluster, workloads: Sequence[Workload]) -> Cluster:
    """Return the cluster without workloads and their pods."""
    refs, pods = {w.ref for w in workloads}, {b for w in workloads for b in cluster.running.pods_of(w)}
    inventory = cluster.inventory
    if not pods and refs.isdisjoint(w.ref for w in inventory.workloads):
        return cluster
    left = tuple(bound for bound in inventory.pods if bound not in pods)
    others = tuple(w for w in inventory.workloads if w.ref not in refs)
    return replace(cluster, inventory=replace(inventory, pods=left, workloads=others))


def _side(side: Version, cluster: Cluster, whole: Scenario) -> Side:
    """Return a side whose scenario is a part of the ``whole``, unless it is what runs, with nothing of the files."""
    if side.manifests.premises(side.options).settled(cluster) == whole.premises:
        return Side(side, cluster, whole.part(side.manifests.inventory), whole)
    return Side(side, cluster, lasting_scenario(side.manifests, cluster, side.options), whole)


def _rows(touched: Collection[ObjectRef], before: Sequence[Collection[ObjectRef]], nodes: int) -> frozenset[ObjectRef]:
    """Return the workloads to simulate: first those in the parts of ``before``, changed or on fewer nodes."""
    most = most_rows(nodes, MOST_CELLS)
    if len(touched) <= most:
        return frozenset(touched)
    return frozenset(sorted(touched, key=lambda ref: (*(ref not in part for part in before), str(ref)))[:most])
