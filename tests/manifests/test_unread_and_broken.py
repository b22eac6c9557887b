"""kubectl refuses a file with broken YAML whatever its kind, so it is told where nobody reads the kind, too."""

from __future__ import annotations

import subprocess
import sys

import pytest

from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.findings import InputError
from kubesched_lint.sources.manifests import loader
from kubesched_lint.sources.manifests.document import Document, Skipped, Unread
from kubesched_lint.sources.manifests.loader import documents, is_sound

MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: d}\n"
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: x}]}\n"
BROKEN = [
    "data:\n  a: b\n c: d\n",
    "data:\n\ta: b\n",
    'data: {a: "b}\n',
    "data: [a\n",
    "data:\n  a: b: c\n",
    "<<<<<<< HEAD\n",
]


def read(text: str) -> list[object]:
    return list(documents("a.yaml", text.encode(), is_read))


@pytest.mark.parametrize("rest", BROKEN)
def test_a_broken_document_of_a_kind_that_is_counted_is_an_error_at_its_place(rest: str) -> None:
    broken, after = read(f"{MAP}{rest}---\n{POD}")
    assert isinstance(broken, InputError)
    assert broken.message.startswith("not YAML")
    assert broken.line > 3
    assert isinstance(after, Document)


@pytest.mark.parametrize(
    "rest",
    [
        "",
        "data: {a: b}\n",
        "data:\n  a: |\n    <<<<<<<\n    b: c: d\n",
        "...\n",
        "data: &x {a: b}\nmore: *x\n",
        "# end",
    ],
)
def test_a_sound_one_is_counted(rest: str) -> None:
    found = read(MAP + rest)
    assert [type(one) for one in found] == [Unread]


def test_an_open_template_is_no_broken_yaml() -> None:
    assert not any(isinstance(one, InputError) for one in read(MAP + "data: {{ .Values.data }}\n"))


def test_a_plain_one_does_not_cost_the_import_of_a_parser() -> None:
    code = (
        "import sys; from kubesched_lint.sources.manifests.loader import is_sound; "
        f"assert is_sound({MAP!r}); assert 'yaml' not in sys.modules"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    assert is_sound(MAP)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('#@ load("@ytt:data", "data")\n' + POD, "ytt template"),
        (POD.replace("{name: p}", "\n  name: #@ data.values.name"), "ytt template"),
        (POD.replace("kind", "#@data/values\nkind"), "ytt template"),
        (POD.replace("kind", "%{ if can(team) }\nkind"), "Terraform template"),
        (POD.replace("{name: p}", "\n  name: p\n  labels:\n%{~ for name in names }\n    ${name}: x\n%{ endfor ~}"),
         "Terraform template"),
        (POD.replace("{name: p}", "\n  name: p\n  annotations:\n    a: b\n    <ISSUER_ANNOTATION_2>"),
         "a template: not YAML before somebody fills in <ISSUER_ANNOTATION_2>"),
        (POD.replace("{name: p}", "\n  name: p\n  annotations:\n    log: |\n      %{ if one }"), ""),
        (POD.replace("kind", "#@team-x asked for it\nkind"), ""),
        (POD + "#  mail@example.com #1 #a@b\n", ""),
        ("apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: d}\nspec:\n  template:\n    spec:\n"
         "      containers:\n      - {name: c, args: [-v]}\n", "a partial object without selector and images"),
        ("apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: d}\nspec:\n  template:\n    spec:\n"
         "      containers:\n      - {name: c, image: x}\n", ""),
    ],
)  # fmt: skip
def test_what_a_tool_completes_is_skipped_with_the_reason(text: str, reason: str) -> None:
    (entry,) = read(text)
    assert isinstance(entry, Skipped) == bool(reason)
    assert not reason or entry.reason.startswith(reason)


@pytest.mark.parametrize(
    ("kind", "spec", "complete"),
    [
        ("Service", "ipFamilyPolicy: PreferDualStack", "ports: [{port: 80}]"),
        ("PersistentVolumeClaim", "resources: {requests: {storage: 9Gi}}", "accessModes: [ReadWriteOnce]"),
    ],
)
def test_a_file_called_patch_holds_patches_of_services_and_claims(kind: str, spec: str, complete: str) -> None:
    text = "apiVersion: v1\nkind: {}\nmetadata: {{name: s}}\nspec: {{{}}}\n"
    (patch,) = documents("x-patch.yaml", text.format(kind, spec).encode(), is_read)
    (whole,) = documents("x-patch.yaml", text.format(kind, f"{spec}, {complete}").encode(), is_read)
    assert (type(patch), type(whole)) == (Skipped, Document)


def test_only_custom_resources_are_searched_for_what_places_pods(monkeypatch: pytest.MonkeyPatch) -> None:
    """Searching every ConfigMap took a seventh of a run over thousands of files."""
    searched: list[str] = []
    monkeypatch.setattr(loader, "places_pods", lambda text: not searched.append(text))
    config, custom = read(
        f"{MAP}data: {{a: 'replicas: 2'}}\n---\n{MAP.replace('v1', 'example.com/v1', 1)}replicas: 2\n"
    )
    assert isinstance(config, Unread)
    assert isinstance(custom, Unread)
    assert (config.places_pods, custom.places_pods, len(searched)) == (False, True, 1)
