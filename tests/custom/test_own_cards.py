"""A team's own cards: read from a folder and from the configuration, begun from a name or a CRD, told when invalid."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubesched_lint import load_cluster
from kubesched_lint.commands.lint.remarks import set_notes
from kubesched_lint.commands.simulate.run import simulate
from kubesched_lint.commands.why.naming import NamingError, find
from kubesched_lint.commands.workloads.new import NewCardError, card_of_crd, card_of_name, remark, write
from kubesched_lint.commands.workloads.paths import misspelt
from kubesched_lint.commands.workloads.trial import examples, failures
from kubesched_lint.custom.card import usable
from kubesched_lint.custom.kinds import SHIPPED, Kinds
from kubesched_lint.custom.own import kinds_with
from kubesched_lint.engine.events.answers.cells import Cell
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import ManifestSet, manifest_set
from kubesched_lint.sources.manifests.loader import documents
from tests.program import called

TEMPLATE: dict[str, Any] = {"properties": {"spec": {"properties": {"containers": {"type": "array"}}}}}
ADDED = ["matchLabelKeys:", "- pod-template-hash"]
WIDGET = """\
apiVersion: example.com/v1
kind: Widget
metadata: {name: w}
spec:
  template:
    spec:
      containers:
      - {name: c}
"""


def crd(spec: dict[str, Any], scale: str = "") -> bytes:
    version: dict[str, Any] = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"properties": {"spec": {"properties": spec}}}},
    }
    if scale:
        version["subresources"] = {"scale": {"specReplicasPath": scale}}
    names = {"kind": "Widget", "plural": "widgets"}
    value = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {"group": "example.com", "names": names, "versions": [version]},
    }
    return yaml.safe_dump(value).encode()


def tried(folder: Path) -> tuple[Kinds, list[str]]:
    """Return the kinds of a folder, and what is wrong with its cards and their examples."""
    cards, wrong = usable(folder)
    kinds = Kinds(tuple(kind for _, kind in cards))
    return kinds, [*map(str, wrong), *(str(f) for card, _ in cards for e in examples(card) for f in failures(e, kinds))]


def read(text: str, kinds: Kinds) -> ManifestSet:
    return manifest_set(documents("m.yaml", text.encode(), kinds.is_read), "default", kinds=kinds)


@pytest.mark.parametrize(
    ("spec", "scale", "parts"),
    [
        ({"size": {"type": "integer", "default": 3}, "pods": TEMPLATE}, ".spec.size", [(3, "")]),
        ({"replicas": {"type": "integer"}, "template": TEMPLATE}, "", [(1, "")]),
        (
            {
                "leader": {"properties": {"template": TEMPLATE}},
                "groups": {
                    "type": "array",
                    "items": {"properties": {"count": {"type": "integer"}, "template": TEMPLATE}},
                },
            },
            "",
            [(1, "a"), (1, "leader")],
        ),
    ],
)
def test_a_card_begun_from_a_crd_passes(
    tmp_path: Path, spec: dict[str, Any], scale: str, parts: list[tuple[int, str]]
) -> None:
    name, text = card_of_crd("crd.yaml", crd(spec, scale))
    assert "&id" not in text
    write(tmp_path, name, text)
    kinds, problems = tried(tmp_path)
    assert not problems
    pods = {"spec": {"containers": [{"name": "c"}]}}
    written = {
        "pods": pods,
        "template": pods,
        "leader": {"template": pods},
        "groups": [{"name": "a", "template": pods}],
    }
    used = {name: value for name, value in written.items() if name in spec}
    resource = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": used}
    found = read(yaml.safe_dump(resource), kinds).inventory.workloads
    assert [(w.replicas, w.ref.name.partition(":")[2]) for w in found] == parts
    assert [w.custom is not None and w.custom.replica_pods for w in found] == [int(bool(scale))] * len(parts)


PLACED = {"properties": {"resources": {"properties": {"requests": {}}}, "tolerations": {}, "replicas": {"default": 3}}}


@pytest.mark.parametrize(
    ("spec", "parts"),
    [
        ({"redis": PLACED, "sentinel": PLACED, "issuer": {"properties": {"name": {}}}}, ["redis", "sentinel"]),
        ({"size": {"type": "integer"}, **PLACED["properties"]}, [""]),
        ({"pools": {"items": {"properties": {**PLACED["properties"], "name": {}}}}}, ["a"]),
        ({"size": {"type": "integer"}}, [""]),
    ],
)
def test_a_card_begun_without_a_template_passes_and_says_so(
    tmp_path: Path, spec: dict[str, Any], parts: list[str]
) -> None:
    name, text = card_of_crd("crd.yaml", crd(spec))
    assert "no pod template" in remark(text)
    write(tmp_path, name, text)
    kinds, problems = tried(tmp_path)
    assert not problems
    placed = {"tolerations": [{"operator": "Exists"}], "replicas": 2}
    written = {"redis": placed, "sentinel": {}, "pools": [{"name": "a", **placed}], **placed}
    used = {name: value for name, value in written.items() if name in spec}
    resource = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": used}
    found = read(yaml.safe_dump(resource), kinds).inventory.workloads
    assert [w.ref.name.partition(":")[2] for w in found] == parts
    assert [w.replicas for w in found] == [2, 3][: len(parts)] if "size" not in spec or "tolerations" in spec else [1]
    assert found[0].pod.tolerations or spec == {"size": {"type": "integer"}}


OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


@pytest.mark.parametrize(
    ("expression", "missing"),
    [
        ("spec.size", ""),
        ("spec.sise", "spec.sise; did you mean `size`?"),
        ("spec.any.thing or spec.labels['a/b'] or spec.groups[0].size or metadata.x", ""),
        ("2 if spec.size and spec.group[0].size else spec.size.number", "spec.group; did you mean `groups`?"),
        ("spec.groups[1].sise", "spec.groups[0].sise; did you mean `size`?"),
        ("[group.sise for group in spec.groups if group.size]", "spec.groups[0].sise; did you mean `size`?"),
        ("1 if has(spec.groups, 'sise') else 2", "spec.groups[0].sise; did you mean `size`?"),
        ("item.sise", "spec.groups[0].sise; did you mean `size`?"),
        ("item.size or (spec.any or spec.labels).thing", ""),
    ],
)
def test_a_path_that_the_schema_does_not_have_is_told(tmp_path: Path, expression: str, missing: str) -> None:
    size = {"size": {"type": "integer"}}
    groups = {"groups": {"type": "array", "items": {"properties": {**size, "name": {}, "template": TEMPLATE}}}}
    data = crd({**size, **groups, "any": OPEN, "labels": {"additionalProperties": {"type": "string"}}})
    name, text = card_of_crd("crd.yaml", data)
    file = write(tmp_path, name, text.replace("spec.replicas: item.size or 1", f'spec.replicas: "{expression}"'))
    (found,) = usable(tmp_path)[0]
    told = [(e.line, e.message.partition(" has no ")[2]) for e in misspelt([found[0]], "crd.yaml", data)]
    line = 1 + file.read_text().splitlines().index(f'      spec.replicas: "{expression}"')
    assert told == ([(line, missing)] if missing else [])
    other = data.replace(b"name: v1\n", b"name: v9\n")
    assert [e.message for e in misspelt([found[0]], "f", other)] == ["versions: f has a schema of none of them"]


def test_a_card_begun_from_a_name_passes(tmp_path: Path) -> None:
    write(tmp_path, *card_of_name("Widget.example.com"))
    assert not tried(tmp_path)[1]
    with pytest.raises(NewCardError, match="is there already"):
        write(tmp_path, *card_of_name("Widget.example.com"))


@pytest.mark.parametrize(
    "name", ["9widget.example.com", "Widget", "Widget.", "../Widget.example.com", "Widget.a/b.com"]
)
def test_what_is_no_name_of_a_kind(name: str) -> None:
    with pytest.raises(NewCardError):
        card_of_name(name)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"kind: CustomResourceDefinition\napiVersion: v1\n", "no valid group"),
        (crd({}).replace(b"plural: widgets", b"plural: ../../widgets"), "no valid plural"),
        (b"kind: Pod\napiVersion: v1\n", "holds no CustomResourceDefinition"),
        (b"{", "crd.yaml:1"),
    ],
)
def test_a_crd_that_gives_no_card(data: bytes, said: str) -> None:
    with pytest.raises(NewCardError, match=said):
        card_of_crd("crd.yaml", data)


def test_a_folder_adds_its_kinds_and_replaces_shipped_ones(tmp_path: Path) -> None:
    assert not SHIPPED.is_read("example.com/v1", "Widget")
    _, text = card_of_name("Widget.example.com")
    write(tmp_path, "widgets.example.com.md", text)
    _, rollout = card_of_name("Rollout.argoproj.io")
    write(tmp_path, "rollouts.argoproj.io.md", rollout)
    kinds = kinds_with([str(tmp_path)])
    assert not kinds.faults
    assert kinds.is_read("example.com/v1", "Widget")
    assert not kinds.is_read("argoproj.io/v1alpha1", "Rollout"), "the team's card reads v1 only"
    assert [str(w) for w in read(WIDGET, kinds).inventory.workloads] == ["Widget default/w"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("spec.template: spec.template", "spec.template: __import__('os')", ":13: spec.template: only min"),
        ("spec.template: spec.template", "spec.template: other.template", "there is no `other`"),
        ("spec.template: spec.template", "template: spec.template", "is no field of a plain workload"),
        ("selects: [example.com/widget]", "selects: [a, b]", "no entry of `labels` gives the pods the label a"),
        ("as: Deployment", "as: Pod", "'Pod' is not one of"),
        ("kind: Widget", "kid: Widget", "unknown key `kid`; did you mean `kind`?"),
        ("group: example.com", "group: other.com", "must be named <plural>.other.com.md"),
        ("## What it makes", "## What it is", "there is no section `What it is`"),
        ("```yaml plain", "```yaml", "no ```yaml plain follows"),
        ("summary:", "summary: &a [*a, *a]\nx:", "nested too deeply"),
    ],
)
def test_a_fault_of_a_card_is_told_with_its_line(tmp_path: Path, old: str, new: str, said: str) -> None:
    _, text = card_of_name("Widget.example.com")
    assert old in text
    write(tmp_path, "widgets.example.com.md", text.replace(old, new, 1))
    try:
        problems = tried(tmp_path)[1]
    except Exception as error:
        problems = [str(error)]
    assert any(said in problem and "widgets.example.com.md:" in problem for problem in problems), problems


@pytest.mark.parametrize(
    ("own", "wrong"),
    [
        (" rollout=unknown", []),
        ("", ["the custom resource has no such finding: rollout-never-ends error", ", rollout: "]),
    ],
)
def test_a_plain_workload_may_have_the_finding_of_a_cell_that_the_card_calls_unknown(
    tmp_path: Path, own: str, wrong: list[str]
) -> None:
    """Two pods fill the only node, so the rollout of a Deployment waits for a third."""
    _, text = card_of_name("Widget.example.com")
    for old, new in (
        ("selects: [example.com/widget]", "selects: [example.com/widget]\n    unknown: {rollout: it decides}"),
        ('count: 3, zones: [eu-west-1a], allocatable: {cpu: "4"', 'zones: [eu-west-1a], allocatable: {cpu: "2"'),
        ("```yaml plain", f"```yaml plain{own}"),
    ):
        assert text.count(old) == 1
        text = text.replace(old, new)
    write(tmp_path, "widgets.example.com.md", text)
    problems = tried(tmp_path)[1]
    assert len(problems) == len(wrong), problems
    assert all(any(said in problem for problem in problems) for said in wrong), problems


def test_an_invalid_card_is_an_error_of_the_run(tmp_path: Path) -> None:
    (tmp_path / "widgets.example.com.md").write_text("no card")
    manifests = read(WIDGET, kinds_with([str(tmp_path), "/no/such/folder"]))
    assert len(manifests.errors) == 2
    assert "there is no such folder" in manifests.errors[1].message


def test_a_kind_without_a_card_is_named_with_its_count_and_what_to_do() -> None:
    notes = list(set_notes(read(f"{WIDGET}---\n{WIDGET}", SHIPPED)))
    assert [note for note in notes if note.startswith("2 Widget") and "workloads new Widget.example.com" in note]


@pytest.mark.parametrize(
    ("api", "spec", "is_told"),
    [
        ("databases.example.com/v1", "{redis: {replicas: 3, tolerations: [{operator: Exists}]}}", True),
        ("databases.example.com/v1", "{redis: {resources: {requests: {cpu: 1}}}}", True),
        ("flink.example.com/v1", "{taskManager: {resource: {memory: 2048m, cpu: 1}}}", True),
        ("databases.example.com/v1", "{resources: {limits: {memory: 1Gi}}}", True),
        ("databases.example.com/v1", "{numberOfInstances: 2, volume: {size: 1Gi}}", True),
        ("databases.example.com/v1", "{issuer: a, privateKey: {size: 256}, resources: [pods]}", False),
        ("infrastructure.cluster.x-k8s.io/v1", "{replicas: 3}", False),
        ("kyverno.io/v1", "{pattern: {tolerations: []}}", False),
        ("kustomize.toolkit.fluxcd.io/v1", "{patches: [{patch: 'tolerations: []', affinity: 1}]}", False),
        ("mutations.gatekeeper.sh/v1", "{parameters: {tolerations: []}}", False),
        ("apiextensions.k8s.io/v1", "{tolerations: []}", False),
    ],
)
@pytest.mark.parametrize("is_json", [False, True])
def test_a_kind_that_seems_to_make_pods_is_named_too(api: str, spec: str, is_told: bool, is_json: bool) -> None:
    text = f"apiVersion: {api}\nkind: Redis\nmetadata: {{name: r}}\nspec: {spec}\n"
    text = json.dumps(yaml.safe_load(text)) if is_json else text
    notes = [note for note in set_notes(read(f"{text}\n---\n{text}", SHIPPED)) if "workloads new Redis." in note]
    assert [note.startswith("2 Redis: seems to make pods") for note in notes] == [True] * is_told


def test_a_resource_that_its_card_cannot_read_is_named_with_the_reason(tmp_path: Path) -> None:
    write(tmp_path, *card_of_name("Widget.example.com"))
    text = WIDGET.replace("template:\n", "replicas: x\n  template:\n")
    notes = list(set_notes(read(text, kinds_with([str(tmp_path)]))))
    assert any("because spec.replicas: expected an integer" in note for note in notes)


def run(*args: str, cwd: Path) -> tuple[int, str]:
    done = called(*args, cwd=cwd, environ={"PATH": ""})
    return done.returncode, done.stdout + done.stderr


def test_the_commands_begin_test_and_use_a_card(tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text(WIDGET.replace("- {name: c}", "- {name: c}\n      nodeName: n1"))
    assert run("workloads", "new", "Widget.example.com", "--dir", "cards", cwd=tmp_path)[0] == 0
    assert run("workloads", "test", "cards", cwd=tmp_path) == (0, "1 card, 1 example: all alike\n")
    (tmp_path / "crd.yaml").write_bytes(crd({"template": TEMPLATE}))
    code, said = run("workloads", "test", "cards", "--crd", "crd.yaml", cwd=tmp_path)
    assert (code, "the schema in crd.yaml has no spec.replicas" in said) == (2, True)
    assert "Widget.example.com" in run("workloads", "list", "--workloads", "cards", cwd=tmp_path)[1]
    assert run("workloads", "explain", "Rollout", cwd=tmp_path)[1].startswith("# rollouts.argoproj.io")
    assert "did you mean `Rollout`?" in run("workloads", "explain", "Rolout", cwd=tmp_path)[1]
    assert "not read" in run("lint", "m.yaml", cwd=tmp_path)[1]
    assert "Widget default/w" in run("lint", "m.yaml", "--workloads", "cards", cwd=tmp_path)[1]
    (tmp_path / "kubesched.toml").write_text('workload-folders = ["cards"]\n')
    assert "Widget default/w" in run("lint", "m.yaml", cwd=tmp_path)[1]
    (tmp_path / "cards" / "broken.md").write_text("")
    code, said = run("lint", "m.yaml", cwd=tmp_path)
    assert (code, "cards/broken.md:1:" in said) == (2, True)


def test_explain_shows_what_a_card_reads_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text(WIDGET)
    name, text = card_of_name("Widget.example.com")
    write(tmp_path / "cards", name, text.replace("    fields:\n", "    unknown: {drain: nobody knows}\n    fields:\n"))
    code, said = run("workloads", "explain", "widget", "m.yaml", "--workloads", "cards", cwd=tmp_path)
    lines = [" ".join(line.split()) for line in said.splitlines()]
    assert (code, lines[0]) == (0, "Widget default/w (m.yaml:3) is read as Deployment default/w")
    assert "spec.replicas 1 the card, unless spec.replicas is set" in lines
    assert any(line.startswith("spec.template {") and line.endswith("spec.template (m.yaml:6)") for line in lines)
    assert 'spec.template.metadata.labels.example.com/widget "w" the card' in lines
    assert "an autoscaler scales it: 1 pod for each replica" in lines
    assert "its running pods: those of a ReplicaSet with example.com/widget=w" in lines
    assert "unknown: drain: nobody knows" in lines
    code, said = run("workloads", "explain", "widget", "--workloads", "cards", cwd=tmp_path)
    assert "- `spec.template`: `spec.template`" in said
    (tmp_path / "m.yaml").write_text(WIDGET.replace("template:", "replicas: x\n  template:"))
    assert (
        "is not read: spec.replicas"
        in run("workloads", "explain", "widget", "m.yaml", "--workloads", "cards", cwd=tmp_path)[1]
    )
    assert run("workloads", "explain", "Rollout", "m.yaml", cwd=tmp_path) == (
        2,
        "error: m.yaml: no Rollout\n",
    )


@pytest.mark.parametrize(("owner", "keys"), [("ReplicaSet", ADDED), ("Widget", [])])
def test_a_fix_adds_the_label_of_a_revision_only_if_there_is_one(tmp_path: Path, owner: str, keys: list[str]) -> None:
    name, text = card_of_name("Widget.example.com")
    write(tmp_path / "cards", name, text.replace("owner: ReplicaSet", f"owner: {owner}"))
    pods = {
        "containers": [{"name": "c", "image": "registry.example.com/c:1"}],
        "topologySpreadConstraints": [
            {
                "topologyKey": "kubernetes.io/hostname",
                "maxSkew": 1,
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"app": "w"}},
            }
        ],
    }
    spec = {"replicas": 3, "template": {"metadata": {"labels": {"app": "w"}}, "spec": pods}}
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": spec}
    (tmp_path / "m.yaml").write_text(yaml.safe_dump(widget))
    told = ("lint", "m.yaml", "--workloads", "cards", "--select", "spread-rollout-skew")
    said = run(*told, cwd=tmp_path)[1]
    assert ("spread-rollout-skew" in said, "[]" in said) == (True, False)
    added = [line[1:].strip() for line in run(*told, "--diff", cwd=tmp_path)[1].splitlines() if line.startswith("+ ")]
    assert added == keys


def test_a_resource_is_named_without_its_part(tmp_path: Path) -> None:
    name, text = card_of_name("Widget.example.com")
    write(tmp_path, name, text.replace("  - as: Deployment\n", "  - as: Deployment\n    part: \"'main'\"\n"))
    inventory = read(WIDGET, kinds_with([str(tmp_path)])).inventory
    assert {find(given, inventory, None).name for given in ("w", "w:main", "widget/w")} == {"w:main"}
    with pytest.raises(NamingError):
        find("w:other", inventory, None)


@pytest.mark.parametrize(
    ("made", "why"),
    [
        ({"as: Deployment": "as: Job", "spec.replicas:": "spec.parallelism:"}, "the linter scales no Jobs"),
        ({"    replica_pods: 1\n": ""}, "its card has no `replica_pods`: no scale subresource"),
    ],
)
def test_an_autoscaler_that_is_not_followed_is_told(tmp_path: Path, made: dict[str, str], why: str) -> None:
    name, text = card_of_name("Widget.example.com")
    for old, new in made.items():
        text = text.replace(old, new, 1)
    write(tmp_path, name, text)
    target = {"apiVersion": "example.com/v1", "kind": "Widget", "name": "w"}
    scaler = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "hpa"},
        "spec": {"scaleTargetRef": target, "maxReplicas": 9},
    }
    nodes = [{"name": "n", "allocatable": {"cpu": "4", "memory": "8Gi"}}]
    cluster = load_cluster(objects=[{"apiVersion": "kubesched-lint/v1", "kind": "ClusterSketch", "nodes": nodes}])
    kinds = kinds_with([str(tmp_path)])

    def cell(text: str) -> Cell:
        return simulate(read(text, kinds), cluster, Options(kinds=kinds), ["hpa-max"]).rows[0].cells[0]

    told = cell(f"{WIDGET}---\n{yaml.safe_dump(scaler)}")
    assert (told.verdict, told.missing) == ("unknown", (f"HorizontalPodAutoscaler hpa targets it, and {why}",))
    assert cell(WIDGET).verdict == "none"
