"""What the API server would refuse is never ok, fits or fine: whichever command looks at it."""

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec.structs import replace

from kubesched_lint import load_cluster
from kubesched_lint.commands.drain.run import drain
from kubesched_lint.commands.lint.run import read_manifests
from kubesched_lint.commands.plan.run import plan
from kubesched_lint.commands.plan.version import Version
from kubesched_lint.commands.simulate.run import simulate
from kubesched_lint.commands.simulate.simulation_report import SimulationReport
from kubesched_lint.commands.why.ask import Question, answer
from kubesched_lint.engine.apiserver.validate import validate
from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.explaining.objects.refused import refused_objects
from kubesched_lint.linter.lint import lint
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import ManifestSet
from kubesched_lint.report.findings import explanation
from kubesched_lint.report.html import matrix
from kubesched_lint.report.plan import as_markdown as plan_markdown
from kubesched_lint.report.plan import as_text as plan_text
from kubesched_lint.report.simulation import report as simulation_report
from kubesched_lint.rulebook.library import Rulebook
from tests.share import every

Step = tuple[Any, ...]
CLUSTER = load_cluster(Path(__file__).parents[2] / "fixtures/clusters/three-zones.yaml", elastic=False)
OPTIONS = Options()
EVENTS = ("deploy", "node-loss")
SEEDS = range(60)
OK = re.compile(r"\bok\b|\bfits?\b|\bfine\b|✓|✅")
JUNK = (None, "", "Equals", -1, 0, 1.5, True, [], {}, ["x"], {"a": 1}, "Bad Name!", "x" * 300, "100000", "5m")
POD = {
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [{"key": "kubernetes.io/os", "operator": "Exists"}]}]
            }
        },
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "web"}}}
            ]
        },
    },
    "topologySpreadConstraints": [
        {
            "maxSkew": 1,
            "topologyKey": "topology.kubernetes.io/zone",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "web"}},
        }
    ],
    "tolerations": [{"key": "dedicated", "operator": "Equal", "value": "web", "effect": "NoSchedule"}],
    "containers": [
        {
            "name": "web",
            "image": "registry.example.com/shop/web:1.0",
            "resources": {"requests": {"cpu": "100m"}, "limits": {"cpu": "1"}},
            "ports": [{"containerPort": 80, "hostPort": 8080}],
        }
    ],
}
BESIDE = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: other, namespace: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: other}}
  template:
    metadata: {labels: {app: other}}
    spec:
      containers: [{name: other, image: "registry.example.com/shop/other:1.0", resources: {requests: {cpu: 100m}}}]
"""


def deployment() -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop", "labels": {"app": "web"}},
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": {"app": "web"}},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": copy.deepcopy(POD)},
        },
    }


def places(value: Any, path: Step = ()) -> Iterator[Step]:
    if path:
        yield path
    for step, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(item, (*path, step))


def broken(seed: int) -> dict[str, Any]:
    """A Deployment that the API server refuses, because one value is wrong or a field is unknown."""
    rng = random.Random(seed)
    while True:
        value = deployment()
        *way, last = ("spec", *rng.choice(list(places(value["spec"]))))
        home = value
        for step in way:
            home = home[step]
        if isinstance(home, dict) and rng.random() < 0.2:
            home[f"{last}s"] = home.pop(last)
        else:
            home[last] = rng.choice(JUNK)
        if not validate(value).accepted and not _is_a_part(value):
            return value


def _is_a_part(value: dict[str, Any]) -> bool:
    """Whether an operator may complete it, as one without any image: lint has a note about it then."""
    found = value["spec"].get("template") or {}
    found = (found.get("spec") if isinstance(found, dict) else None) or {}
    found = found.get("containers") if isinstance(found, dict) else None
    return isinstance(found, list) and not any(isinstance(each, dict) and each.get("image") for each in found)


def read(folder: Path, *texts: str) -> ManifestSet:
    folder.mkdir(exist_ok=True)
    (folder / "app.yaml").write_text("\n---\n".join(texts))
    return read_manifests([str(folder)], OPTIONS)


@pytest.mark.parametrize("seed", every(3, SEEDS))
def test_no_command_calls_a_refused_object_ok(tmp_path: Path, seed: int) -> None:
    text = yaml.dump(broken(seed), Dumper=yaml.CSafeDumper)
    manifests = read(tmp_path / "after", text, BESIDE)
    if "web" not in {workload.name for workload in manifests.inventory.workloads}:
        assert manifests.errors, "nothing of it is judged, which is an error of its own"
        return
    simulation = simulate(manifests, CLUSTER, OPTIONS, EVENTS)
    web, other = cells_of(simulation)
    assert {cell["verdict"] for cell in web} == {"refused"}
    assert all(cell["message"] and cell["at"]["line"] for cell in web)
    assert simulation.is_bad
    alone = simulate(read(tmp_path / "alone", BESIDE), CLUSTER, OPTIONS, EVENTS)
    assert other == cells_of(alone)[0], "the others are judged without it"

    row = replace(simulation, rows=tuple(r for r in simulation.rows if simulation.workloads[r.number].name == "web"))
    shown = (simulation_report.as_text(row), simulation_report.as_html_fragment(row), "".join(matrix.table(row, ())))
    for page in shown:
        assert "refused" in page
        assert not OK.search(page)

    why = answer(Question("shop/web"), manifests.inventory, CLUSTER)
    assert (why.is_negative, why.fitting) == (True, ())
    assert "The API server refuses Deployment shop/web" in explanation.as_text(why)
    assert json.loads(explanation.as_json(why))["refused"][0]["at"]["line"]

    before = Version("before", read(tmp_path / "before", BESIDE), OPTIONS)
    found = plan(before, Version("after", manifests, OPTIONS), CLUSTER, Rulebook.shipped(), EVENTS)
    assert found.is_worse
    for page in (plan_text.as_text(found), plan_markdown.as_markdown(found)):
        assert "refused" in page
        assert not OK.search(page)

    notes = drain(manifests, CLUSTER, OPTIONS, pool="").notes
    assert any("the API server refuses Deployment shop/web" in note for note in notes)


def cells_of(simulation: SimulationReport) -> list[list[dict[str, Any]]]:
    found = json.loads(simulation_report.as_json(simulation))["workloads"]
    return [
        [{**cell, "at": cell["at"] and {**cell["at"], "path": ""}} for cell in workload["cells"]] for workload in found
    ]


@pytest.mark.parametrize("seed", every(3, SEEDS))
def test_no_other_rule_speaks_of_a_refused_field(tmp_path: Path, seed: int) -> None:
    manifests = read(tmp_path / "app", yaml.dump(broken(seed), Dumper=yaml.CSafeDumper))
    book = Rulebook.shipped()
    report, _ = lint(manifests, CLUSTER, OPTIONS, book.select("all", (), ()))
    scenario = Scenario(manifests.inventory, CLUSTER, manifests.premises(OPTIONS))
    paths = [refusal.cause.path for found in refused_objects(scenario).values() for refusal in found]
    web = ObjectRef("Deployment", "shop", "web")
    others = [f for f in report.findings if f.rule != "api-would-reject" and f.object == web]
    assert not [(f.rule, f.at) for f in others for path in paths if f.at[: len(path)] == path]
