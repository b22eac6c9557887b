"""Folders that Flux applies are read as Flux builds them, with the variables that it fills in."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from kubesched_lint.commands.lint.run import Request, check, read_manifests
from kubesched_lint.findings import Report
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import ManifestSet
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.sources.manifests.filling import Filling, Variables
from kubesched_lint.sources.manifests.flux import flux_repository
from kubesched_lint.sources.manifests.loader import documents

has_kubectl = pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not on PATH")

WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: ${NAME:-web}
spec:
  replicas: ${REPLICAS:=3}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      nodeSelector:
        disk: ssd
      containers:
      - {name: web, image: "web:1", resources: {requests: {cpu: 100m}}}
"""
SKETCH = """\
apiVersion: kubesched-lint/v1
kind: ClusterSketch
nodes:
- {name: worker, count: 2, zones: [a, b, c], allocatable: {cpu: "4", memory: 16Gi}}
"""


def flux(path: str, post_build: str = "{}", name: str = "web") -> str:
    return (
        f"apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: {name}}}\n"
        f"spec: {{path: {path}, postBuild: {post_build}}}\n"
    )


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return write(tmp_path, {".git/HEAD": "ref: refs/heads/main\n", "cluster.yaml": SKETCH})


def read(folder: Path, path: str = ".") -> ManifestSet:
    return read_manifests([str(folder / path)], Options(), cluster=str(folder / "cluster.yaml"))


def lint(folder: Path, path: str = ".") -> Report:
    request = Request((str(folder / path),), str(folder / "cluster.yaml"))
    return check(request, Options(), Rulebook.shipped())


# --- building -------------------------------------------------------------------------------------------------------


@has_kubectl
@pytest.mark.parametrize("path", [".", "cr"])
def test_a_folder_that_flux_applies_may_list_files_beside_it(repository: Path, path: str) -> None:
    files = {"app/web.yaml": WEB.replace("${NAME:-web}", "web").replace("${REPLICAS:=3}", "2")}
    write(repository, {**files, "cr/kustomization.yaml": "resources: [../app/web.yaml]\n"})
    assert "is not in or below" in read(repository, path).errors[0].message
    write(repository, {"clusters/web.yaml": flux("./cr")})
    found = read(repository, path)
    assert not found.errors
    assert [workload.name for workload in found.inventory.workloads] == ["web"]


@has_kubectl
def test_a_folder_that_flux_does_not_name_is_built_with_the_restrictor(repository: Path) -> None:
    write(repository, {"app/web.yaml": WEB, "cr/kustomization.yaml": "resources: [../app/web.yaml]\n"})
    write(repository, {"flux.yaml": flux("./c"), "c/note.yaml": "a: b\n", "out.yaml": flux("../../..")})
    (error,) = read(repository).errors
    assert error.message.startswith("it lists ../app/web.yaml, which is not in or below its folder: kubectl kustomize")
    assert (error.line, error.column) == (1, 13)


# --- variables ------------------------------------------------------------------------------------------------------


COMPONENT = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [web.yaml]\n"
WITH_COMPONENT = flux("./app").replace("{path:", "{components: [../parts/web, ../parts/absent], path:")
PATCHED = """\
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [config.yaml]
patches:
- patch: '{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 5}}'
"""


@has_kubectl
def test_components_of_flux_are_part_of_what_it_builds(repository: Path) -> None:
    config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: config}\n"
    files = {"app/kustomization.yaml": PATCHED, "app/config.yaml": config, "parts/web/kustomization.yaml": COMPONENT}
    web = WEB.replace("${NAME:-web}", "web").replace("${REPLICAS:=3}", "3")
    found = read(write(repository, {"flux.yaml": WITH_COMPONENT, "parts/web/web.yaml": web, **files}))
    assert not found.errors
    assert [(one.ref.name, one.replicas) for one in found.inventory.workloads] == [("web", 5)]
    (error,) = read(write(repository, {"flux.yaml": flux("./app")})).errors
    assert "no resource matches strategic merge patch" in error.message


def test_names_that_no_folder_can_have_are_no_folders(tmp_path: Path) -> None:
    text = 'spec: {path: "./web\\0"}', 'spec: {path: web, components: ["../a\\0b", "../other"]}'
    head = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: web}\n"
    for folder in ("web", "other"):
        (tmp_path / folder).mkdir()
    (tmp_path / "flux.yaml").write_text("---\n".join(f"{head}{one}\n" for one in text))
    (found,) = flux_repository(str(tmp_path)).kustomizations
    assert found.components == (str(tmp_path / "other"),)


def test_two_kustomizations_with_other_components_add_none(repository: Path) -> None:
    app = str(repository / "app")
    write(repository, {"flux.yaml": WITH_COMPONENT, "parts/web/kustomization.yaml": COMPONENT, "app/web.yaml": WEB})
    assert flux_repository(str(repository)).components(app) == (str(repository / "parts/web"),)
    write(repository, {"other.yaml": flux("./app", name="other")})
    assert flux_repository(str(repository)).components(app) == ()


@has_kubectl
@pytest.mark.parametrize("is_rendered", [True, False], ids=["rendered", "plain files"])
def test_defaults_are_values_and_findings_stand_at_their_lines(repository: Path, is_rendered: bool) -> None:
    write(repository, {"apps/web.yaml": WEB, "flux.yaml": flux("apps", "{substitute: {OTHER: x}}")})
    if is_rendered:
        write(repository, {"apps/kustomization.yaml": "resources: [web.yaml]\n"})
    (workload,) = read(repository).inventory.workloads
    assert (workload.name, workload.replicas) == ("web", 3)
    assert workload.source is not None
    (document,) = (d for d in read(repository).documents if d.kind == "Deployment")
    place = document.location(("spec", "replicas"))
    assert (os.path.relpath(place.path, repository), place.span.line, place.span.column) == ("apps/web.yaml", 6, 13)
    (error,) = (f for f in lint(repository).findings if f.rule == "nodeselector-matches-nothing")
    assert (os.path.relpath(error.location.path, repository), error.location.span.line) == ("apps/web.yaml", 12)
    assert error.severity.word == "error"


@pytest.mark.parametrize(
    ("post_build", "replicas"),
    [
        ("{substitute: {REPLICAS: '5'}}", 5),
        ("{substitute: {REPLICAS: '', OTHER: x}}", 3),
        ("{substituteFrom: [{kind: Secret, name: s}], substitute: {REPLICAS: '4'}}", 4),
    ],
)
def test_a_given_value_wins_over_the_default(repository: Path, post_build: str, replicas: int) -> None:
    write(repository, {"apps/web.yaml": WEB, "flux.yaml": flux("apps", post_build)})
    assert [workload.replicas for workload in read(repository).inventory.workloads] == [replicas]


@pytest.mark.parametrize("post_build", ["{}", "{substitute: {}}", "{substituteFrom: []}"])
def test_without_a_variable_flux_fills_in_nothing(repository: Path, post_build: str) -> None:
    write(repository, {"apps/web.yaml": WEB, "flux.yaml": flux("apps", post_build)})
    found = read(repository)
    assert not found.inventory.workloads
    assert any("${REPLICAS:=3} is a placeholder" in skip.reason for skip in found.skipped)


def test_an_error_says_that_a_secret_may_define_the_variable(repository: Path) -> None:
    post_build = "{substituteFrom: [{kind: Secret, name: vars}]}"
    write(repository, {"apps/web.yaml": WEB.replace("ssd", "${DISK:=ssd}"), "flux.yaml": flux("apps", post_build)})
    (found,) = (f for f in lint(repository).findings if f.rule == "nodeselector-matches-nothing")
    assert found.severity.word == "warning"
    assert "Secret vars does not define DISK" in " ".join(found.evidence.assumes)


def test_two_kustomizations_must_agree_on_a_value(repository: Path) -> None:
    both = flux("apps", "{substitute: {NAME: a}}", "a"), flux("apps", "{substitute: {NAME: b}}", "b")
    write(repository, {"apps/web.yaml": WEB, "flux.yaml": "---\n".join(both)})
    (workload,) = read(repository).inventory.workloads
    assert (workload.name, workload.replicas) == ("${NAME:-web}", 3)


def test_the_nearest_kustomization_decides(repository: Path) -> None:
    files = {"all.yaml": flux(".", "{substitute: {NAME: a}}"), "one.yaml": flux("apps", "{substitute: {NAME: b}}")}
    write(repository, {"apps/web.yaml": WEB, **files})
    assert [workload.name for workload in read(repository).inventory.workloads] == ["b"]


def filled(text: str, others: str = "", **values: str) -> object:
    (document,) = documents("a.yaml", f"apiVersion: v1\nkind: Pod\n{text}".encode(), lambda *_: True)
    return Filling((Variables(tuple(values.items()), others),)).filled(document).value  # type: ignore[arg-type,union-attr]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("${A:=3}", 3),
        ('"${A:-3}"', 3),
        ("${A}", "${A}"),
        ("${B}", "b"),
        ("$${B}", "${B}"),
        ("x-${B}-${C:=d}", "x-b-d"),
        ("${A:=${B}}", "b"),
        ("${A:=true}", True),
        ("${A:=}", None),
        ("'- ${N}'", "- 7"),
        ("${N}", 7),
        ("x${N}", "x7"),
        ("$B", "$B"),
        ("${B^^}", "${B^^}"),
        ("'${A:=[x, z]}'", ["x", "z"]),
        ("'${A:=[x}'", "${A:=[x}"),
        ("|-\n  ${N}\n  ${N}", "7\n7"),
    ],
)
def test_a_value_is_what_the_filled_in_text_is_in_yaml(written: str, value: object) -> None:
    found = filled(f"metadata: {{name: a}}\nv: {written}\n", B="b", N="7")
    assert isinstance(found, dict)
    assert found["v"] == value
    assert type(found["v"]) is type(value)


def test_values_do_not_grow_out_of_bounds() -> None:
    text = "metadata: {name: a}\nv: ${V}${V}\n"
    assert filled(text, V="${V}" * 1000)["v"] == "${V}" * 2000  # type: ignore[index]
    assert filled(text, V="x" * (1 << 24))["v"] == "${V}${V}"  # type: ignore[index]


@pytest.mark.parametrize("mark", ["annotations", "labels"])
def test_an_object_may_be_left_as_it_is(mark: str) -> None:
    text = f"metadata: {{name: a, {mark}: {{kustomize.toolkit.fluxcd.io/substitute: disabled}}}}\nv: ${{B}}\n"
    found = filled(text, B="b")
    assert isinstance(found, dict)
    assert found["v"] == "${B}"


def test_a_file_with_variables_is_not_changed_by_fixes(repository: Path) -> None:
    write(repository, {"apps/web.yaml": WEB, "flux.yaml": flux("apps", "{substitute: {OTHER: x}}")})
    from kubesched_lint.commands.fix.workspace import Workspace
    from kubesched_lint.sources.manifests.changes import ChangeError

    found = read(repository)
    with pytest.raises(ChangeError, match="Flux fills in variables"):
        Workspace(found).open(found.documents[0])
