"""Manifests on a cluster, as a user brings them: what ``lint`` and ``simulate`` are asked about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from msgspec import Struct, field
from msgspec.structs import replace

from kubesched_lint.commands.lint.run import read_manifests
from kubesched_lint.commands.simulate import run
from kubesched_lint.commands.simulate.simulation_report import SimulationReport
from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.cluster.nodes.elastic import COMPLETE, OPEN, ClusterOptions
from kubesched_lint.engine.events.answers.cells import Cell
from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.runs.courses import Effort
from kubesched_lint.explaining.ends import bad_ends
from kubesched_lint.findings import Finding, Report, Severity
from kubesched_lint.linter.lint import lint
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import ManifestSet, manifest_set
from kubesched_lint.linter.results.rule_results import RuleResult
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.sources.clusters.read import cluster_from, stated
from kubesched_lint.sources.manifests.loader import documents
from scripts.cloud_fixtures import FOLDER as CLOUDS
from tests.clouds.cloud_worlds import CLOUDS as WORDS
from tests.clouds.cloud_worlds import templates, text_for
from tests.one_answer import ordinary
from tests.rulebook.shipped_cards import TRIAL
from tests.worlds.generator import World, seeded

FIXTURES = Path(__file__).parents[2] / "fixtures"
BOOK = Rulebook.shipped()
RULES = [rule for rule in BOOK.select() if rule.about == "refusal" or "proof" in rule.evidence]
"""All that can prove anything, and what refuses objects."""
COUNTING = Effort(states=1, runs=0, nodes=0)
"""Cells are counted and hardly searched."""
DEPLOYED = ("deploy", "rollout")
"""Events whose proven bad ends are errors."""
SIZED = ("hpa-max", "scale-down")
"""Events whose proven bad ends are warnings."""


class Scene(Struct, frozen=True, dict=True):
    name: str
    manifests: ManifestSet
    cluster: Cluster
    options: Options = field(default_factory=Options)
    effort: Effort = bad_ends.EFFORT
    events: tuple[str, ...] = (*DEPLOYED, *SIZED)

    @property
    def searched(self) -> Scene:
        """The same, with cells that are searched as far as ``lint`` does."""
        return replace(self, effort=bad_ends.EFFORT)

    @cached_property
    def linted(self) -> tuple[Report, tuple[RuleResult, ...]]:
        before, bad_ends.EFFORT = bad_ends.EFFORT, self.effort
        try:
            return lint(self.manifests, self.cluster, self.options, RULES)
        finally:
            bad_ends.EFFORT = before

    @cached_property
    def simulated(self) -> SimulationReport:
        """Every event that ``lint`` asks about; ``cells`` has them by workload."""
        with patch.object(run, "MOST_SKEWED", -1):  # no verdict, and half of the time
            return run.simulate(self.manifests, self.cluster, self.options, self.events, self.effort)

    @cached_property
    def is_bad(self) -> bool:
        """Whether ``simulate --events deploy,rollout`` exits with 1."""
        whole = self.simulated
        rows = (replace(row, cells=tuple(c for c in row.cells if c.event in DEPLOYED)) for row in whole.rows)
        short = (one for one in whole.shortages if one.evidence.event in DEPLOYED)
        return replace(whole, rows=tuple(rows), shortages=tuple(short)).is_bad

    @cached_property
    def cells(self) -> dict[tuple[ObjectRef, str], Cell]:
        report = self.simulated
        return {(report.workloads[row.number].ref, cell.event): cell for row in report.rows for cell in row.cells}

    @cached_property
    def findings(self) -> Sequence[tuple[Finding, tuple[ObjectRef, ...]]]:
        """The findings about placement, each with the workloads whose pods it counts."""
        return [(one.finding, _counted(one)) for one in self.linted[1] if one.rule.about in ("placement", "verdict")]

    @property
    def errors(self) -> Sequence[tuple[Finding, tuple[ObjectRef, ...]]]:
        return [one for one in self.findings if one[0].severity is Severity.ERROR]

    @cached_property
    def refused(self) -> Sequence[ObjectRef]:
        """What the API server refuses."""
        of = [one.finding for one in self.linted[1] if one.rule.about == "refusal"]
        return [finding.object for finding in of if finding.severity is Severity.ERROR]


def _counted(one: RuleResult) -> tuple[ObjectRef, ...]:
    return tuple(dict.fromkeys(one.hazard.together)) or (one.finding.object,)


def _read(texts: Iterable[tuple[str, bytes]], namespace: str = "default") -> ManifestSet:
    return manifest_set((one for name, data in texts for one in documents(name, data, is_read)), namespace)


def _stated(cluster: Cluster, groups: str = "", *, elastic: bool | None = None) -> Cluster:
    return stated(cluster, ClusterOptions(elastic, groups))


# --- fixtures -------------------------------------------------------------------------------------------------------


def of_fixtures() -> Iterator[Scene]:
    """The shop and the company as their repositories have them."""
    shop = read_manifests([str(FIXTURES / "shop")], Options())
    for name in ("three-zones.yaml", "mixed-pools.yaml"):
        file = FIXTURES / "clusters" / name
        yield Scene(f"shop {name}", shop, _stated(cluster_from([(name, file.read_bytes())], name)))
    yield from of_company()


def of_clouds(clouds: Iterable[str] = tuple(WORDS)) -> Iterator[Scene]:
    """All that is healthy together, and each mistake alone: they share their names."""
    for cloud in clouds:
        nodes = cluster_from([("nodes.json", (CLOUDS / cloud / "nodes.json").read_bytes())], "nodes.json")
        for groups in (COMPLETE, OPEN):
            cluster = _stated(nodes, groups)
            healthy = [(f"{name}.yaml", text_for(cloud, "healthy", name).encode()) for name in templates("healthy")]
            yield Scene(f"{cloud} {groups} healthy", _read(healthy), cluster, effort=COUNTING)
            for name in templates("mistakes"):
                text = text_for(cloud, "mistakes", name).encode()
                yield Scene(f"{cloud} {groups} {name}", _read([(f"{name}.yaml", text)]), cluster, effort=COUNTING)


def of_company() -> Iterator[Scene]:
    """The company's nodes alone, and with everything that runs."""
    folder = FIXTURES / "company"
    for overlay in ("prod", "staging"):
        paths = [str(folder / "repo" / part) for part in (f"apps/shop/overlays/{overlay}", "data", "platform")]
        manifests = read_manifests(paths, Options())
        for name in ("repo/cluster/nodes.json", "cluster.json"):
            cluster = cluster_from([(name, (folder / name).read_bytes())], name)
            yield Scene(f"company {overlay} {Path(name).stem}", manifests, _stated(cluster, COMPLETE), effort=COUNTING)


def of_cards() -> Iterator[Scene]:
    """Every example of a card that has a cluster."""
    for example in TRIAL.examples:
        if example.cluster is not None:
            setting = example.setting
            cluster = cluster_from([("c.yaml", example.cluster.encode())], "c.yaml", elastic=setting.elastic)
            options = Options(
                namespace=setting.namespace,
                apply_order=setting.apply_order,
                kubernetes_version=setting.kubernetes_version,
            )
            manifests = _read([("m.yaml", example.manifest.encode())], setting.namespace)
            yield Scene(f"card {example}", manifests, cluster, options)


# --- ordinary companies ---------------------------------------------------------------------------------------------


def of_ordinary(seed: int, kind: str, mistakes: int) -> Iterator[Scene]:
    """One company, with the nodes as they are, and with nodes that an autoscaler may add."""
    with TemporaryDirectory() as folder:
        ordinary.write(seed, Path(folder), mistakes, kind, False)
        texts = [(path.name, path.read_bytes()) for path in sorted(Path(folder, "manifests").iterdir())]
        data = Path(folder, "cluster.json").read_bytes()
    manifests = _read(texts)
    for said, elastic in (("fixed", False), ("open", None)):
        cluster = cluster_from([("cluster.json", data)], "cluster.json", elastic=elastic)
        events = (*DEPLOYED, *SIZED) if mistakes and said == "fixed" else DEPLOYED
        name = f"ordinary {seed} {kind} {mistakes} {said}"
        yield Scene(name, manifests, _stated(cluster), effort=COUNTING, events=events)


# --- random worlds --------------------------------------------------------------------------------------------------


def of_scenario(seed: int) -> Scene:
    return in_scenario(f"world {seed}", seeded(seed))


def in_scenario(name: str, world: World) -> Scene:
    cluster = cluster_from([("cluster.json", world.cluster_json())], "cluster.json")
    return Scene(name, _read([("manifests.yaml", world.manifests_json())]), cluster)


def beside_strangers(scene: Scene) -> Scene:
    """The scene, and a namespace of somebody else with a quota, a budget and a workload whose pods fit nowhere."""
    strangers = _read([("strangers.yaml", STRANGERS)]).inventory
    ours = dict(scene.manifests.inventory.lists())
    both = {name: (*ours[name], *items) for name, items in strangers.lists()}
    manifests = replace(scene.manifests, inventory=Inventory(**both))
    return replace(scene, name=f"{scene.name} beside strangers", manifests=manifests)


STRANGERS = b"""\
{apiVersion: v1, kind: ResourceQuota, metadata: {name: q, namespace: elsewhere}, spec: {hard: {pods: 1}}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: b, namespace: elsewhere}
spec: {maxUnavailable: 0, selector: {matchLabels: {app: stranger}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: stranger, namespace: elsewhere}
spec:
  replicas: 2
  selector: {matchLabels: {app: stranger}}
  template:
    metadata: {labels: {app: stranger}}
    spec:
      nodeSelector: {nobody: has-this}
      containers: [{name: c, image: i, resources: {requests: {cpu: 1m}}}]
"""


def with_pods(world: World, *, of_others: bool) -> World:
    """The world before its own workloads ran: with nothing that runs, or only with pods of others."""
    made = {"ReplicaSet", "Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob"}
    kept = (one for one in world.cluster if one["kind"] not in made)
    cluster = [
        one for one in kept if one["kind"] != "Pod" or (of_others and one["metadata"]["name"].startswith("guest"))
    ]
    return replace(world, cluster=cluster)
