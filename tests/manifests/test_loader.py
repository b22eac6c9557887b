"""Files become documents: each for itself, with its place, and what is no manifest is told apart."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from kubesched_lint.engine.base.places import Span
from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.findings import InputError
from kubesched_lint.sources.manifests.document import Document, Skipped, Unread
from kubesched_lint.sources.manifests.files import find_files
from kubesched_lint.sources.manifests.inputs import LARGEST, InputFile
from kubesched_lint.sources.manifests.loader import Entry, documents, documents_of

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: c, image: i}]}\n"


def read(text: str | bytes, path: str = "m.yaml", **flags: bool) -> list[Entry]:
    return list(documents(path, text.encode() if isinstance(text, str) else text, is_read, **flags))


def test_markers_part_documents_and_lines_count_through_the_file() -> None:
    found = read(f"# head\n---\n{POD}---\n# only a comment\n---\n{POD}")
    assert [type(d) for d in found] == [Document, Document]
    lines = [d.span(("kind",)).line for d in found if isinstance(d, Document)]
    assert lines == [4, 11]


def test_a_marker_inside_a_block_scalar_with_indentation_parts_nothing() -> None:
    text = "apiVersion: v1\nkind: Pod\nmetadata:\n  annotations:\n    text: |\n      ---\n      more\nspec: {}\n"
    (found,) = read(text)
    assert isinstance(found, Document)
    assert found.value["metadata"]["annotations"]["text"] == "---\nmore\n"


def test_a_broken_document_hides_no_other() -> None:
    found = read(f"{POD}---\nkind: Pod\napiVersion: v1\n  bad: [\n---\n{POD}")
    assert [type(d) for d in found] == [Document, InputError, Document]
    broken = found[1]
    assert isinstance(broken, InputError)
    assert (broken.line, broken.path) == (8, "m.yaml")


def test_items_of_lists_are_documents_with_their_own_places() -> None:
    text = "apiVersion: v1\nkind: List\nitems:\n- " + POD.strip().replace("\n", "\n  ") + "\n"
    (found,) = read(text)
    assert isinstance(found, Document)
    assert found.kind == "Pod"
    assert found.span(("metadata", "name")) == Span(6, 20, 6, 21)


def test_typed_lists_lend_their_kind_to_their_items() -> None:
    (found,) = read('{"apiVersion": "v1", "kind": "PodList", "items": [{"metadata": {"name": "a"}}]}', "m.json")
    assert isinstance(found, Document)
    assert (found.kind, found.api_version) == ("Pod", "v1")


def test_kinds_we_do_not_read_are_counted_and_a_rollout_gets_a_hint() -> None:
    rollout = "apiVersion: argoproj.io/v1alpha1\nkind: Rollout\nspec:\n  template:\n    spec:\n      containers: []\n"
    found = read(f"apiVersion: v1\nkind: ConfigMap\ndata: {{a: [*x]}}\n---\n{rollout}---\nhello: world\n")
    assert [(d.kind, d.wraps_pod_template) for d in found if isinstance(d, Unread)] == [
        ("ConfigMap", False),  # that no anchor has the name is never met: no values are made
        ("Rollout", True),
        ("", False),
    ]


def test_an_object_without_half_of_its_type_is_an_error() -> None:
    found = read("# head\nkind: Pod\nmetadata: {name: a}\n---\napiVersion: v1\nkind: 5\nmetadata: {name: a}\n")
    words = "although it has metadata: kubectl refuses such an object"
    assert found == [
        InputError("m.yaml", f"no apiVersion, {words}", 2, 1),
        InputError("m.yaml", f"no kind, {words}", 5, 1),
    ]
    chart, workflow = read("apiVersion: v2\nname: chart\n---\nmetadata: {x: y}\nname: workflow\n")
    assert isinstance(chart, Unread)
    assert isinstance(workflow, Unread)


def test_a_kind_of_another_group_is_not_ours() -> None:
    (found,) = read("apiVersion: serving.knative.dev/v1\nkind: Service\nmetadata: {name: a}\n")
    assert isinstance(found, Unread)


@pytest.mark.parametrize("data", [POD.encode("utf-8-sig"), POD.encode("utf-16"), POD.replace("\n", "\r\n").encode()])
def test_byte_order_marks_and_carriage_returns_change_nothing(data: bytes) -> None:
    (found,) = read(data)
    assert isinstance(found, Document)
    assert found.value["metadata"] == {"name": "a"}


def test_invalid_utf8_is_one_message_with_its_place() -> None:
    (found,) = read(b"kind: Pod\nname: \xff\n")
    assert found == InputError("m.yaml", "not UTF-8: byte 0xff", 2, 7)


def test_json_with_tabs_has_places_and_broken_json_a_message() -> None:
    (found,) = read(
        '{\n\t"apiVersion": "v1",\n\t"kind": "Pod",\n\t"metadata": {"name": "a\\ud83d\\ude00"}\n}', "m.json"
    )
    assert isinstance(found, Document)
    (found,) = read('{\n\t"apiVersion": "v1",\n\t"kind": "Pod",\n\t"metadata": {"name": "a"}\n}', "m.json")
    assert isinstance(found, Document)
    assert found.span(("metadata", "name")) == Span(4, 23, 4, 26)
    (broken,) = read('{"a": 1,}', "m.json")
    assert isinstance(broken, InputError)
    (twice,) = read('{"a": 1, "a": 2}', "m.json")
    assert isinstance(twice, InputError)
    assert "twice" in twice.message
    (deep,) = read("[" * 100_000, "m.json")
    assert isinstance(deep, InputError)


def test_helm_sources_are_one_line_and_quoted_braces_are_data() -> None:
    found = read(
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: {{ .Release.Name }}\n{{- if .x }}\n---\nkind: {{ .y }}\n"
    )
    assert [type(d) for d in found] == [Skipped]
    (quoted,) = read(POD.replace("name: a", 'name: "{{ workflow.name }}"'))
    assert isinstance(quoted, Document)


def test_patches_are_told_from_manifests() -> None:
    (ops,) = read("- {op: replace, path: /spec/replicas, value: 3}\n")
    (directive,) = read("apiVersion: apps/v1\nkind: Deployment\nspec: {template: {spec: {$patch: replace}}}\n")
    partial = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {replicas: 3}\n"
    (beside,) = read(partial, in_kustomization=True)
    (alone,) = read(partial)
    assert [type(x) for x in (ops, directive, beside, alone)] == [Skipped, Skipped, Skipped, Document]


def test_files_come_in_the_order_of_their_names_and_once(tmp_path: Path) -> None:
    for name in ("b.yaml", "a/z.yml", "a.json", "c.txt", "a.yaml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("{}")
    found = [f.path for f in find_files([str(tmp_path), str(tmp_path / "b.yaml")]) if isinstance(f, InputFile)]
    assert [os.path.relpath(f, tmp_path) for f in found] == ["a/z.yml", "a.json", "a.yaml", "b.yaml"]


def test_what_cannot_be_read_is_one_error_each_and_the_rest_is_read(tmp_path: Path) -> None:
    (tmp_path / "good.yaml").write_text(POD)
    (tmp_path / "dir.yaml").mkdir()
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "self.yaml").symlink_to(tmp_path / "self.yaml")
    (tmp_path / "huge.yaml").write_bytes(POD.encode() + b"#" * (LARGEST + 1))
    found = list(find_files([str(tmp_path), str(tmp_path / "missing.yaml")]))
    assert [f.path for f in found if isinstance(f, InputFile)] == [str(tmp_path / "good.yaml")]
    messages = {os.path.basename(f.path): f.message for f in found if isinstance(f, InputError)}
    assert set(messages) == {"huge.yaml", "loop", "self.yaml", "missing.yaml"}
    assert "never end" in messages["loop"]
    assert messages["missing.yaml"] == "no such file or folder"
    assert "16 MiB" in messages["huge.yaml"]


def test_a_file_that_may_not_be_opened_is_one_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.yaml").write_text(POD)

    def refuse(name: str, flags: int) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("os.open", refuse)
    (found,) = find_files([str(tmp_path / "a.yaml")])
    assert found == InputError(str(tmp_path / "a.yaml"), "permission denied")


def test_patches_that_a_kustomization_lists_and_chart_templates_are_skipped(tmp_path: Path) -> None:
    (tmp_path / "overlay").mkdir()
    (tmp_path / "overlay/kustomization.yaml").write_text(
        "patches: [{path: ../patch.yaml}]\npatchesStrategicMerge: [set.yaml]\n"
    )
    for name in ("patch.yaml", "overlay/set.yaml"):
        (tmp_path / name).write_text(POD)
    chart = tmp_path / "chart"
    (chart / "templates").mkdir(parents=True)
    for name in ("Chart.yaml", "values.yaml", "templates/a.yaml"):
        (chart / name).write_text("a: 1\n")
    entries: list[Entry] = []
    for found in find_files([str(tmp_path)], render=False):
        entries += documents_of(found, is_read) if isinstance(found, InputFile) else [found]
    skipped = [os.path.relpath(e.path, tmp_path) for e in entries if isinstance(e, Skipped)]
    assert skipped == ["chart/templates", "overlay/set.yaml", "patch.yaml"]
    assert not [e for e in entries if isinstance(e, Document)]


def test_spans_of_values_keys_and_missing_parents() -> None:
    text = 'apiVersion: v1\nkind: Pod\nmetadata:\n  name: "ä€𝄞b"  # c\n'
    text += "spec:\n  containers:\n  - name: c\n    args: [a,\n      b]\n  x: |\n    one\n\n"
    (found,) = read(text)
    assert isinstance(found, Document)
    assert found.span(("metadata", "name")) == Span(4, 9, 4, 15)
    assert found.span(("metadata", "name"), key=True) == Span(4, 3, 4, 7)
    assert found.span(("spec", "containers", 0, "args")) == Span(8, 11, 9, 9)
    assert found.span(("spec", "containers")) == Span(7, 3, 9, 9)
    assert found.span(("spec", "x")) == Span(10, 6, 11, 8)
    assert found.span(("spec", "nodeSelector", "a")) == found.span(("spec",))


def test_the_value_behind_an_alias_is_placed_where_it_is_used() -> None:
    (found,) = read("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nx: &x {q: 1}\nspec: *x\n")
    assert isinstance(found, Document)
    assert found.span(("spec",)) == Span(5, 7, 5, 9)
    assert found.span(("spec", "q")).line == 4


def test_json_and_yaml_of_one_object_have_one_value() -> None:
    value = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a", "labels": {"x": "1"}},
        "spec": {"a": [1, None]},
    }
    (as_json,) = read(json.dumps(value), "m.json")
    (as_yaml,) = read(json.dumps(value), "m.yaml")
    assert isinstance(as_json, Document)
    assert isinstance(as_yaml, Document)
    assert as_json.value == as_yaml.value == value
