"""``simulate`` and ``why`` tell of one scenario: of what is defined twice, one definition, and say which."""

from __future__ import annotations

from pathlib import Path as File

from kubesched_lint.commands.simulate.run import simulate
from kubesched_lint.commands.simulate.simulation_report import SimulationReport
from kubesched_lint.commands.why.ask import Question, answer, answers
from kubesched_lint.engine.cluster.cluster import Cluster
from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.linter.environments.duplicate_definitions import one_of_each
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import ManifestSet, manifest_set
from kubesched_lint.sources.clusters.read import cluster_from
from kubesched_lint.sources.manifests.loader import documents

SKETCH = File(__file__).parent.parent.parent / "fixtures" / "clusters" / "three-zones.yaml"


def three_zones() -> Cluster:
    return cluster_from([(SKETCH.name, SKETCH.read_bytes())], SKETCH.name)


def deployment(replicas: int, zone: str = "", name: str = "web") -> str:
    where = f"\n      nodeSelector: {{topology.kubernetes.io/zone: {zone}}}" if zone else ""
    return f"""apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}, namespace: shop}}
spec:
  replicas: {replicas}
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata: {{labels: {{app: {name}}}}}
    spec:{where}
      containers: [{{name: web, image: "registry.example.com/web:1"}}]
"""


SCALER = """apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: shop}
spec:
  minReplicas: 7
  maxReplicas: 9
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
"""


MORE = {f"a/{name}.yaml": deployment(1, name=name) for name in ("api", "db")}
"""Files that make the folder ``a`` more than an alternative to a folder with one of its workloads."""


def read(files: dict[str, str]) -> ManifestSet:
    found = manifest_set([d for p, text in files.items() for d in documents(p, text.encode(), is_read)], "default")
    assert not found.errors
    return found


def report_of(files: dict[str, str]) -> SimulationReport:
    return simulate(read(files), three_zones(), Options(), ("deploy",))


def texts(result: SimulationReport) -> list[tuple[str, str]]:
    return [(result.workloads[r.number].name, r.cells[0].text) for r in result.rows]


def test_a_workload_that_is_defined_twice_has_one_row_and_a_note() -> None:
    found = report_of({"a/web.yaml": deployment(2), "b/web.yaml": deployment(3), **MORE})
    assert ("web", "3/3 ok") in texts(found)
    assert len(found.rows) == 3
    assert found.notes[0] == (
        "Deployment shop/web is defined more than once, and differently: uses b/web.yaml:3, not a/web.yaml:3"
    )


def test_of_two_folders_that_define_the_same_workloads_each_is_simulated_and_named() -> None:
    found = report_of(
        {"a/web.yaml": deployment(2), "a/api.yaml": deployment(1, name="api"), "b/web.yaml": deployment(3)}
    )
    assert [found.named(row, text[0]) for row, text in zip(found.rows, texts(found), strict=True)] == [
        "web (a)",
        "web (b)",
        "api (a)",
    ]
    assert texts(found) == [("web", "2/2 ok"), ("web", "3/3 ok"), ("api", "1/1 ok")]
    assert "judged apart, because they define the same workloads: a and b" in found.notes


def test_in_one_file_the_later_definition_replaces_the_earlier() -> None:
    found = report_of({"web.yaml": f"{deployment(3)}---\n{deployment(2)}"})
    assert texts(found) == [("web", "2/2 ok")]
    assert "uses web.yaml:14, not web.yaml:3" in found.notes[0]


def test_of_two_that_say_the_same_nothing_is_said() -> None:
    found = report_of({"a/web.yaml": deployment(2), "b/web.yaml": deployment(2)})
    assert texts(found) == [("web", "2/2 ok")]
    assert not any("more than once" in note for note in found.notes)


def test_the_autoscaler_of_a_definition_that_is_not_taken_is_left_out_and_named() -> None:
    found = report_of({"a/web.yaml": f"{deployment(2)}---\n{SCALER}", "b/web.yaml": deployment(3), **MORE})
    assert ("web", "3/3 ok") in texts(found)
    assert "not used: autoscalers of other definitions: shop/web" in found.notes
    for folder in ("b", "c"):
        found = report_of({"b/web.yaml": deployment(3), f"{folder}/web.yaml": f"{deployment(2)}---\n{SCALER}"})
        assert texts(found)[-1] == ("web", "7/7 ok")


def test_objects_of_one_folder_are_taken_together() -> None:
    budget = """apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: keep, namespace: shop}
spec: {minAvailable: N, selector: {matchLabels: {app: web}}}
"""
    manifests = read(
        {
            "a/keep.yaml": budget.replace("N", "1"),
            "b/keep.yaml": budget.replace("N", "2"),
            "a/web.yaml": deployment(1),
            "b/web.yaml": deployment(2),
            "c/keep.yaml": budget.replace("N", "3"),
        }
    ).inventory
    found, notes = one_of_each(manifests)
    assert [w.source.path for w in found.workloads if w.source] == ["b/web.yaml"]
    assert [b.source.path for b in found.budgets if b.source] == ["b/keep.yaml"]
    assert len(notes) == 2
    seen = manifests.workloads[0].source
    assert [b.source.path for b in one_of_each(manifests, seen)[0].budgets if b.source] == ["a/keep.yaml"]


def test_why_answers_for_a_name_that_is_defined_twice_and_says_for_which() -> None:
    files = {"a/web.yaml": deployment(2, "eu-west-1a"), "b/web.yaml": deployment(2, "eu-west-1b")}
    first, second = answers(Question("web"), read(files).inventory, three_zones())
    assert (first.environments, second.environments) == (("a",), ("b",))
    found = answer(Question("web"), read(files).inventory, three_zones())
    zones = {n.labels["topology.kubernetes.io/zone"] for n in three_zones().inventory.nodes}
    assert len(zones) == 3
    fitting = {n.node for n in found.fitting}
    assert {n.labels["topology.kubernetes.io/zone"] for n in three_zones().inventory.nodes if n.name in fitting} == {
        "eu-west-1b"
    }
    assert "in b; the answer differs in a" in found.notes
    assert [
        one.environments for one in answers(Question("web", environments=("a",)), read(files).inventory, three_zones())
    ] == [("a",)]


def test_why_sees_the_rest_of_the_set_from_the_file_of_what_was_asked() -> None:
    files = {
        "a/web.yaml": deployment(2),
        "a/api.yaml": deployment(1, name="api"),
        "b/web.yaml": deployment(3),
    }
    (only,) = answers(Question("api"), read(files).inventory, three_zones())
    assert only.environments == ("a",), "b has no such workload"
    found = only.explanation
    assert "1 pod of the other manifests" not in " ".join(found.notes)


def test_a_set_without_namesakes_is_left_as_it_is() -> None:
    manifests = read({"a/web.yaml": deployment(2), "b/api.yaml": deployment(2, name="api")}).inventory
    assert one_of_each(manifests) == (manifests, ())
