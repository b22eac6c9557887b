"""Which files are found, in which order, and what is said of those that are not read."""

from __future__ import annotations

import io
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.findings import InputError
from kubesched_lint.linter.globs import Globs
from kubesched_lint.sources.manifests.document import Document, Skipped
from kubesched_lint.sources.manifests.files import find_files
from kubesched_lint.sources.manifests.inputs import LARGEST, InputFile
from kubesched_lint.sources.manifests.loader import Entry, documents, documents_of, source_lines

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: c, image: i}]}\n"
PARTIAL = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {replicas: 3}\n"


def write(folder: Path, *names: str, text: str = POD) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def found(folder: Path, *, excludes: tuple[str, ...] = ()) -> list[str]:
    entries = find_files([str(folder)], Globs(excludes, str(folder)).covers)
    return [os.path.relpath(entry.path, folder) for entry in entries if isinstance(entry, InputFile)]


def entries(*paths: Path) -> list[Entry]:
    result: list[Entry] = []
    for file in find_files([str(path) for path in paths], render=False):
        result += documents_of(file, is_read) if isinstance(file, InputFile) else [file]
    return result


def test_names_are_ordered_as_filepath_walk_does(tmp_path: Path) -> None:
    # A folder sorts by its bare name: "a" before "a-b.yaml" before "a.yaml", capitals first, 10 before 9.
    write(tmp_path, "a/x.yaml", "a.yaml", "a-b.yaml", "B.yaml", "b/c/d.yml", "b/c.json", "10.yaml", "9.yaml", "é.yaml")
    assert found(tmp_path) == [
        "10.yaml", "9.yaml", "B.yaml", "a/x.yaml", "a-b.yaml", "a.yaml", "b/c/d.yml", "b/c.json", "é.yaml",
    ]  # fmt: skip


def test_paths_are_shown_as_they_were_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "m/a.yaml")
    monkeypatch.chdir(tmp_path)
    assert [f.path for f in find_files(["m"])] == ["m/a.yaml"]
    assert [f.path for f in find_files(["./m/", "m/../m/a.yaml"])] == ["./m/a.yaml"]
    assert [f.path for f in find_files(["m/a.yaml"])] == ["m/a.yaml"]


def test_a_named_file_needs_no_suffix_and_others_are_passed_over(tmp_path: Path) -> None:
    write(tmp_path, "pod.txt", "pod.yaml.bak", "a.yaml")
    assert found(tmp_path) == ["a.yaml"]
    assert [type(e) for e in entries(tmp_path / "pod.txt")] == [Document]


def test_what_is_excluded_is_named_anywhere_or_by_its_place(tmp_path: Path) -> None:
    write(tmp_path, "a.yaml", "b.yaml", "vendor/c.yaml", "d/e.yaml")
    assert found(tmp_path, excludes=("b.*", "vendor", "d/e.yaml")) == ["a.yaml"]


def test_links_to_files_inside_are_followed_and_links_to_folders_told(tmp_path: Path) -> None:
    write(tmp_path, "real/a.yaml", "real/.elsewhere/b.yaml")
    root = tmp_path / "real"
    (root / "b.yaml").symlink_to(root / ".elsewhere/b.yaml")
    (root / "again.yaml").symlink_to(root / "a.yaml")
    (root / "folder").symlink_to(root / ".elsewhere")
    (root / "gone").symlink_to(root / "nowhere")
    (root / "gone.yaml").symlink_to(root / "nowhere.yaml")
    by_name = {os.path.basename(e.path): e for e in entries(root)}
    assert set(by_name) == {".elsewhere", "a.yaml", "b.yaml", "folder", "gone.yaml"}  # again.yaml is a.yaml
    assert isinstance(by_name["folder"], Skipped)
    assert isinstance(by_name["b.yaml"], Document)
    assert by_name["gone.yaml"] == InputError(str(root / "gone.yaml"), "no such file or folder")


@pytest.mark.parametrize("target", ["loop", ".", "../up"])
def test_a_folder_that_links_to_itself_is_one_error(tmp_path: Path, target: str) -> None:
    write(tmp_path, "up/a.yaml")
    (tmp_path / "up" / "loop").symlink_to(target)
    found = entries(tmp_path / "up")
    assert [type(e) for e in found] == [Document, InputError]
    assert [type(e) for e in entries(tmp_path / "up" / "loop")] in ([InputError], [Document, InputError])


def test_pipes_and_folders_with_a_suffix_do_not_stop_us(tmp_path: Path) -> None:
    write(tmp_path, "a.yaml", "b.yaml/c.yaml")
    os.mkfifo(tmp_path / "pipe.yaml")
    read_entries = entries(tmp_path)
    assert [type(e) for e in read_entries] == [Document, Document, InputError]
    assert read_entries[-1] == InputError(str(tmp_path / "pipe.yaml"), "not a regular file")


def test_a_folder_that_may_not_be_listed_is_one_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "a.yaml", "closed/b.yaml", "z.yaml")
    scandir = os.scandir

    def refuse(path: str) -> object:
        if path.endswith("closed"):
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr("os.scandir", refuse)
    assert [type(e) for e in entries(tmp_path)] == [Document, InputError, Document]


@pytest.mark.parametrize("name", ["\0", "x" * 5000, "", "a.yaml/b"])
def test_paths_that_cannot_be_are_one_error(tmp_path: Path, name: str) -> None:
    write(tmp_path, "a.yaml")
    (entry,) = find_files([f"{tmp_path}/{name}" if name else ""])
    assert isinstance(entry, InputError)


def test_standard_input_is_a_file_like_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(POD.encode())))
    (file,) = find_files(["-"])
    assert isinstance(file, InputFile)
    (document,) = documents_of(file, is_read)
    assert (document.path, type(document)) == ("<stdin>", Document)
    assert source_lines("<stdin>")[1] == "kind: Pod"


def test_standard_input_may_not_be_endless(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b"#" * (LARGEST + 5))))
    (entry,) = find_files(["-"])
    assert isinstance(entry, InputError)


def test_lines_for_frames_are_parted_as_the_reader_parts_them(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes(b"\xef\xbb\xbfa: \xff\r\nb: x\x0cy\rc: 1\n")
    assert source_lines(str(tmp_path / "a.yaml")) == ["a: \udcff", "b: x\x0cy", "c: 1", ""]
    assert source_lines(str(tmp_path / "none.yaml")) == ()


def test_a_patch_is_known_by_the_kustomization_above_even_when_named_alone(tmp_path: Path) -> None:
    write(tmp_path, "overlay/kustomization.yaml", text="patches:\n- path: patches/more.yaml\n")
    write(tmp_path, "overlay/patches/more.yaml")
    (entry,) = entries(tmp_path / "overlay/patches/more.yaml")
    assert isinstance(entry, Skipped)
    assert "listed in" in entry.reason


def test_a_partial_object_is_a_patch_only_beside_a_kustomization_that_does_not_list_it(tmp_path: Path) -> None:
    write(tmp_path, "k/kustomization.yaml", text="resources: [part.yaml]\n")
    write(tmp_path, "k/part.yaml", "k/other.yaml", "plain/dispatch.yaml", "plain/memory-patch.yaml", text=PARTIAL)
    kinds_of = {os.path.basename(e.path): type(e) for e in entries(tmp_path) if "kustom" not in e.path}
    assert kinds_of == {
        "part.yaml": Document,
        "other.yaml": Skipped,
        "dispatch.yaml": Document,
        "memory-patch.yaml": Skipped,
    }


def test_a_broken_kustomization_is_told_and_hides_nothing(tmp_path: Path) -> None:
    write(tmp_path, "kustomization.yaml", text="resources: [\n")
    write(tmp_path, "pod.yaml")
    assert [type(e) for e in entries(tmp_path)] == [InputError, Document]


def test_helm_sources_are_one_line_a_file(tmp_path: Path) -> None:
    source = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: {{ .Values.name }}\n---\n" + POD
    source += "---\napiVersion: v1\nkind: ConfigMap\ndata:\n  {{- toYaml .Values.data | nindent 2 }}\n"
    write(tmp_path, "a.yaml", text=source)
    write(tmp_path, "b.yaml", text=POD.replace("name: a", 'name: "{{ .Release.Name }}-a"'))
    write(tmp_path, "c.yaml", text="{{- if .Values.enabled }}\n" + POD + "{{- end }}\n")
    skips = entries(tmp_path)
    assert [type(e) for e in skips] == [Skipped, Skipped, Skipped]
    assert all(isinstance(e, Skipped) and "helm template" in e.reason for e in skips)


def test_braces_in_valid_yaml_are_data(tmp_path: Path) -> None:
    workflow = (
        "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nspec:\n  templates:\n  - args: ['{{inputs.x}}']\n"
        "    script: |\n      {{inputs.y}}\n---\n"
    )
    write(tmp_path, "a.yaml", text=workflow + POD.replace("image: i", "image: 'i:{{x}}'"))
    assert [type(e).__name__ for e in entries(tmp_path)] == ["Unread", "Document"]


def test_a_mistake_in_a_file_with_quoted_braces_is_still_a_mistake() -> None:
    text = POD + "note: '{{ quoted }}'\nbroken: [\n"
    (document,) = documents("m.yaml", text.encode(), is_read)
    assert isinstance(document, InputError)


def test_text_behind_the_end_marker_is_told() -> None:
    document = list(documents("m.yaml", (POD + "...\n" + POD).encode(), is_read))
    assert [type(e) for e in document] == [Document, Skipped]
    assert document[1].line == 6


@pytest.mark.parametrize(
    ("text", "kind", "wraps"),
    [
        ("apiVersion: a.io/v1\nkind: Rollout\nspec:\n  template:\n    spec:\n      containers: []\n", "Rollout", True),
        (
            "kind: JobSet\napiVersion: jobset.x-k8s.io/v1\nspec:\n  replicatedJobs:\n  - name: a\n    template:\n"
            "      spec:\n        template:\n          spec:\n            containers:\n            - name: c\n",
            "JobSet",
            True,
        ),
        ("{apiVersion: x/v1, kind: X, spec: {template: {spec: {containers: [{name: c}]}}}}", "X", True),
        (
            "apiVersion: v1\nkind: ConfigMap\ndata:\n  x: |\n    spec:\n      template:\n        spec:\n"
            "          containers: []\n",
            "ConfigMap",
            False,
        ),
        ("apiVersion: a/v1\nkind: SealedSecret\nspec:\n  template:\n    data: 'containers:'\n", "SealedSecret", False),
    ],
)  # fmt: skip
def test_a_pod_template_in_an_unread_kind_is_noticed(text: str, kind: str, wraps: bool) -> None:
    (document,) = documents("m.yaml", text.encode(), is_read)
    assert (getattr(document, "kind", ""), getattr(document, "wraps_pod_template", None)) == (kind, wraps)


@pytest.mark.parametrize(
    "text",
    [
        "apiVersion: v1\nkind: ConfigMap\ndata: *nowhere\n",
        "# head\n---\n# more\nkind: \"ConfigMap\" # c\napiVersion: 'v1'\ndata: *nowhere\n",
    ],
)
def test_of_documents_of_no_interest_no_values_are_made(text: str) -> None:
    (document,) = documents("m.yaml", text.encode(), is_read)
    assert getattr(document, "kind", "") == "ConfigMap"


@pytest.mark.parametrize(
    "text",
    [
        "metadata:\n  name: |\n    x\nkind: ConfigMap\napiVersion: v1\nbad: [\n",  # neither is the first line
        "apiVersion: v1\nkind: ConfigMap\nkind: Pod\n",
        "apiVersion: v1\nkind: &k ConfigMap\nbad: [\n",
        "{\napiVersion: v1,\nkind: ConfigMap,\nbad: [\n}",
    ],
)
def test_a_kind_in_doubt_is_parsed(text: str) -> None:
    (document,) = documents("m.yaml", text.encode(), is_read)
    assert isinstance(document, InputError)


def test_broken_json_is_an_error_at_its_place() -> None:
    (document,) = documents("m.json", b'{"apiVersion": "v1",\n "kind": Pod}', is_read)
    assert document == InputError("m.json", "not JSON: Expecting value", 2, 10)
