"""Only what was meant to be applied is judged: no tests, no copied code, no snapshot of a cluster."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from kubesched_lint import lint
from kubesched_lint.commands.lint.run import Request, check, read_manifests
from kubesched_lint.findings import Report
from kubesched_lint.linter.options import Options
from kubesched_lint.report.findings import as_json
from kubesched_lint.report.findings.context import RenderContext
from kubesched_lint.report.findings.footer import footer
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.sources.clusters.read import cluster_from
from kubesched_lint.sources.manifests.document import Skipped
from kubesched_lint.sources.manifests.files import find_files
from kubesched_lint.sources.manifests.inputs import InputFile
from kubesched_lint.sources.manifests.recognizing.meant import Scope

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: c, image: i}]}\n"
SKETCH = "apiVersion: kubesched-lint/v1\nkind: ClusterSketch\nnodes:\n- {name: worker}\n"
NODES = {
    "apiVersion": "v1",
    "items": [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}, "status": {"capacity": {"cpu": "4"}}}],
    "kind": "List",
}


def write(folder: Path, *names: str, text: str = POD) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def read(*paths: Path, scope: Scope | None = None) -> list[str]:
    found = find_files([str(path) for path in paths], render=False, scope=scope or Scope())
    return [os.path.relpath(item.path, paths[0]) for item in found if isinstance(item, InputFile)]


def left_out(*paths: Path, scope: Scope | None = None) -> dict[str, int]:
    found = find_files([str(path) for path in paths], render=False, scope=scope or Scope())
    told = [item for item in found if isinstance(item, Skipped)]
    return {os.path.relpath(item.path, paths[0]): item.left_out for item in told}


def report(*paths: Path, options: Options | None = None, **more: object) -> Report:
    request = Request(tuple(map(str, paths)), render=False, **more)  # type: ignore[arg-type]
    return check(request, options or Options(), Rulebook.shipped())


@pytest.mark.parametrize(
    "folder",
    [
        "tests", "test", "Test", "src/testing", "testdata", "pkg/x/testdata", "test-data", "test_fixtures", "fixtures",
        "__fixtures__", "__snapshots__", "__tests__", "e2e", "integration-tests", "integration_test", "test-e2e",
        "golden", "goldens", "expected", "expected-output", "vendor", "node_modules", "_archived",
        "{{cookiecutter.name}}",
    ],
)  # fmt: skip
def test_a_folder_of_tests_is_told_and_not_read(tmp_path: Path, folder: str) -> None:
    write(tmp_path, "web.yaml", f"{folder}/a.yaml", f"{folder}/deep/b.json")
    assert read(tmp_path) == ["web.yaml"]
    assert left_out(tmp_path) == {folder: 2}
    assert len(read(tmp_path, scope=Scope(include_tests=True))) == 3
    assert not left_out(tmp_path, scope=Scope(include_tests=True))


@pytest.mark.parametrize(
    "folder",
    [
        "overlays/test", "envs/test", "environments/tests", "clusters/e2e", "env/testing", "apps/vendor", "apps/test",
        "namespaces/test", "latest", "contest", "attestation", "test-eu", "testkube", "shop-test", "golden-gate",
        "vendors", "expected-load-balancer", "e2e-eu", "apps/archive",
    ],
)  # fmt: skip
def test_an_environment_or_an_application_is_read(tmp_path: Path, folder: str) -> None:
    write(tmp_path, f"{folder}/a.yaml")
    assert read(tmp_path) == [f"{folder}/a.yaml"]


@pytest.mark.parametrize("neighbour", ["prod", "staging", "shop-dev", "qa-1", "pre-prod", "prod.yaml"])
def test_a_test_folder_beside_an_environment_is_one(tmp_path: Path, neighbour: str) -> None:
    write(tmp_path, "k8s/test/a.yaml", f"k8s/{neighbour}/b.yaml" if "." not in neighbour else f"k8s/{neighbour}")
    assert "k8s/test/a.yaml" in read(tmp_path)


def test_a_test_folder_with_programs_holds_tests_whatever_its_neighbours(tmp_path: Path) -> None:
    write(tmp_path, "dev/a.yaml", "test/e2e/main_test.go", "test/e2e/b.yaml")
    assert read(tmp_path) == ["dev/a.yaml"]


def test_production_is_no_neighbour_by_accident(tmp_path: Path) -> None:
    write(tmp_path, "products/a.yaml", "device/b.yaml", "test/c.yaml")
    assert left_out(tmp_path) == {"test": 1}


def test_what_the_user_names_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "tests/data/golden/a.yaml", ".git/HEAD")
    for named in ("tests", "tests/data", "tests/data/golden/a.yaml"):
        assert len(read(tmp_path / named)) == 1, named
    monkeypatch.chdir(tmp_path / "tests")
    assert len(read(Path())) == 1
    assert not left_out(tmp_path, tmp_path / "tests")


def test_a_repository_in_a_folder_named_test_is_like_any_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "test"
    write(home, "shop/.git/HEAD", "shop/web.yaml", "shop/tests/a.yaml")
    assert read(home / "shop") == ["web.yaml"]
    monkeypatch.chdir(home / "shop")
    assert left_out(Path()) == {"tests": 1}
    assert report(Path(), force_exclude=True).summary.files == 1


def test_files_that_a_hook_names_are_left_out(tmp_path: Path) -> None:
    write(tmp_path, ".git/HEAD", "web.yaml", "pkg/testdata/a.yaml", "pkg/testdata/b.yaml")
    names = [tmp_path / "web.yaml", tmp_path / "pkg/testdata/a.yaml", tmp_path / "pkg/testdata/b.yaml"]
    assert len(read(*names)) == 3
    assert len(read(*names, scope=Scope(named_too=True))) == 1
    (told,) = report(*names, force_exclude=True).summary.left_out
    assert (told.path, told.files) == (str(tmp_path / "pkg/testdata"), 2)
    assert not report(names[1], options=Options(partial=True), force_exclude=True).errors


def test_asserts_and_cases_of_kuttl_and_chainsaw_are_left_out(tmp_path: Path) -> None:
    write(tmp_path, "web.yaml", "web-assert.yaml", "a/00-install.yaml", "a/00-assert.yaml", "b/chainsaw-test.yaml")
    write(tmp_path, "b/pod.yaml", "dashboard/assertions.yaml", "dashboard/01-errors.yaml")
    assert read(tmp_path) == ["dashboard/assertions.yaml", "web-assert.yaml", "web.yaml"]
    assert left_out(tmp_path) == {"a": 2, "b": 2, "dashboard/01-errors.yaml": 1}
    assert read(tmp_path / "a") == ["00-install.yaml"]  # named, but its assert is not for the cluster


@pytest.mark.parametrize(
    "path",
    [
        "errors/500-errors.yaml", "http-404-errors.yaml", "cert_assert.yaml", "services/fixtures/web.yaml",
        "k8s/vendor/web.yaml", "k8s/test/web.yaml", "deploy/test/web.yaml",
    ],
)  # fmt: skip
def test_applications_may_have_the_names_of_tests(tmp_path: Path, path: str) -> None:
    write(tmp_path, path, "k8s/live/web.yaml", "deploy/prod/web.yaml")
    write(tmp_path, "deploy/test/files/nginx.js", text="// for a configMapGenerator")
    assert path in read(tmp_path)


MANIFEST = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: agent}
spec:
  template:
    spec:
      containers:
      - {name: agent, env: [{name: IP, valueFrom: {fieldRef: {fieldPath: status.hostIP}}}]}
"""


@pytest.mark.parametrize(
    "text",
    [
        f"apiVersion: v1\nkind: List\nitems:\n- {MANIFEST.strip().replace(chr(10), chr(10) + '  ')}\n",
        MANIFEST + "---\nkind: ConfigMap\napiVersion: v1\nmetadata: {name: c}\ndata: {a: '{\"items\": []}'}\n",
        MANIFEST + "---\n" + SKETCH,
        '{"kind": "Deployment", "env": "status.hostIP", "volumes": [{"configMap": {"items": []}}]}',
    ],
)
def test_a_file_with_a_workload_is_no_snapshot(tmp_path: Path, text: str) -> None:
    write(tmp_path, "web.yaml")
    write(tmp_path, "apps/agent.yaml", text=text)
    assert read(tmp_path) == ["apps/agent.yaml", "web.yaml"]


def test_a_folder_that_a_kustomization_joins_is_read(tmp_path: Path) -> None:
    write(tmp_path, "prod/kustomization.yaml", text="resources: [../vendor/base, ../vendor/one.yaml]\n")
    write(tmp_path, "vendor/base/kustomization.yaml", text="resources: [a.yaml, ../common]\n")
    write(tmp_path, "vendor/base/a.yaml", "vendor/common/b.yaml", "vendor/one.yaml", "vendor/two.yaml")
    assert [path for path in read(tmp_path) if "kustomization" not in path] == [
        "vendor/base/a.yaml", "vendor/common/b.yaml", "vendor/one.yaml",
    ]  # fmt: skip
    assert left_out(tmp_path) == {"vendor": 1}


def test_a_kustomization_in_tests_joins_nothing(tmp_path: Path) -> None:
    write(tmp_path, "web.yaml")
    write(tmp_path, "tests/kustomization.yaml", text="resources: [a.yaml]\n")
    write(tmp_path, "tests/a.yaml")
    assert left_out(tmp_path) == {"tests": 2}


def test_folders_of_templates_are_one_line_and_leave_the_set_incomplete(tmp_path: Path) -> None:
    write(tmp_path, "web.yaml", "deploy/templates/plain.yaml", "plain/templates/a.yaml")
    write(tmp_path, "deploy/templates/b.yaml", text="{{- if .Values.on }}\n" + POD + "{{- end }}\n")
    write(tmp_path, "deploy/templates/deep/c.yaml", text=POD.replace("image: i", "image: 'i:{{ version }}'"))
    assert read(tmp_path) == ["deploy/templates/plain.yaml", "plain/templates/a.yaml", "web.yaml"]
    assert left_out(tmp_path) == {"deploy/templates": 0}
    assert not read_manifests([str(tmp_path)], Options()).is_complete


def test_broken_files_and_links_in_tests_are_no_errors(tmp_path: Path) -> None:
    write(tmp_path, "web.yaml", "tests/a.yaml")
    write(tmp_path, "tests/broken.yaml", text="kind: [\n")
    (tmp_path / "tests/gone.yaml").symlink_to(tmp_path / "nowhere.yaml")
    assert not report(tmp_path).errors


def test_tests_without_manifests_are_not_told(tmp_path: Path) -> None:
    write(tmp_path, "web.yaml")
    write(tmp_path, "tests/config.yaml", "node_modules/a/package.json", text="{}\n")
    assert not left_out(tmp_path)


def test_what_is_left_out_is_in_every_report_and_proves_nothing(tmp_path: Path) -> None:
    write(tmp_path, "web.yaml", "tests/a.yaml", "tests/b.yaml", "vendor/c.yaml")
    found = report(tmp_path)
    lines = [text for label, text in footer(found) if label == "left out"]
    assert lines == [
        f"{tmp_path}/tests (2 files): tests; --include-tests judges them",
        f"{tmp_path}/vendor: copied code; --include-tests judges them",
    ]
    assert not found.skipped or all(skip.rule for skip in found.skipped)
    summary = json.loads("".join(as_json.render(found, RenderContext())))["summary"]
    assert [(item["path"], item["files"]) for item in summary["leftOut"]] == [
        (f"{tmp_path}/tests", 2), (f"{tmp_path}/vendor", 1),
    ]  # fmt: skip
    assert read_manifests([str(tmp_path)], Options()).is_complete


def test_many_folders_are_a_few_lines(tmp_path: Path) -> None:
    write(tmp_path, "web.yaml", *(f"pkg/{number:02}/testdata/a.yaml" for number in range(12)))
    found = report(tmp_path)
    lines = [text for label, text in footer(found) if label == "left out"]
    assert (len(lines), lines[-1]) == (7, "6 more folders (--verbose names them)")
    assert sum(label == "left out" for label, _ in footer(found, 50)) == 12


def test_only_tests_are_nothing_to_check(tmp_path: Path) -> None:
    write(tmp_path, "tests/a.yaml")
    (error,) = report(tmp_path).errors
    assert error.message == "no manifests, only tests; --include-tests judges them: nothing was checked"
    assert not report(tmp_path, options=Options(include_tests=True)).errors
    assert lint(tmp_path, include_tests=True).summary.workloads == 1
    assert lint(tmp_path).summary.workloads == 0


@pytest.mark.parametrize(
    "text",
    [
        SKETCH,
        json.dumps(NODES),
        json.dumps(NODES, indent=4),
        json.dumps({"kind": "ClusterSnapshot", "apiVersion": "kubesched-lint/v1", "items": []}),
        "apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Node\n  status:\n    capacity: {cpu: 4}\n",
        "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n  status: {hostIP: 10.0.0.1}\n",
    ],
)
def test_snapshots_and_sketches_below_the_path_are_never_judged(tmp_path: Path, text: str) -> None:
    write(tmp_path, "web.yaml")
    write(tmp_path, "clusters/eu.yaml", text=text)
    assert read(tmp_path) == ["web.yaml"]
    assert left_out(tmp_path) == {"clusters/eu.yaml": 1}
    assert not report(tmp_path, options=Options(include_tests=True)).findings


@pytest.mark.parametrize(
    "text",
    [
        POD.replace("{name: a}", "{name: a, labels: {items: Node}}"),
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  sketch: |\n    apiVersion: kubesched-lint/v1\n",
        "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata: {name: capacity}\n",
    ],
)
def test_manifests_are_no_snapshot(tmp_path: Path, text: str) -> None:
    write(tmp_path, "web.yaml", text=text)
    assert read(tmp_path) == ["web.yaml"]


def test_the_cluster_is_known_by_its_path(tmp_path: Path) -> None:
    write(tmp_path, "web.yaml", "snapshot/pods.yaml", "snapshot/more/claims.yaml")
    (tmp_path / "link.yaml").symlink_to(tmp_path / "snapshot/pods.yaml")
    scope = Scope(clusters={str(tmp_path / "snapshot"): "snapshot"})
    assert read(tmp_path, scope=scope) == ["web.yaml"]
    assert list(left_out(tmp_path, scope=scope).values()) == [2]
    everything = Scope(clusters={str(tmp_path): "."})
    assert len(read(tmp_path, scope=everything)) == 3  # a cluster folder that holds the manifests says nothing


SHOWING = {
    "sketch": {"apiVersion": "kubesched-lint/v1", "kind": "ClusterSketch", "nodes": [{"name": "worker"}]},
    "snapshot": {
        "apiVersion": "kubesched-lint/v1",
        "kind": "ClusterSnapshot",
        "metadata": {"kinds": ["Node"]},
        "items": NODES["items"],
    },
    "groups": {
        "apiVersion": "kubesched-lint/v1",
        "kind": "NodeGroups",
        "groups": [{"name": "gpu", "max": 3, "shape": "m6i.large"}],
    },
    "nodes": NODES,
}


WRITTEN: dict[str, Callable[[object], bytes]] = {
    "JSON": lambda value: json.dumps(value).encode(),
    "JSON of PowerShell": lambda value: json.dumps(value, indent=1).replace('":', '" :').encode("utf-16"),
    "YAML": lambda value: yaml.safe_dump(value).encode(),
}


@pytest.mark.parametrize("how", WRITTEN)
@pytest.mark.parametrize("kind", SHOWING)
def test_all_readers_agree_that_a_file_shows_a_cluster(tmp_path: Path, kind: str, how: str) -> None:
    data = WRITTEN[how](SHOWING[kind])
    (tmp_path / "c.yaml").write_bytes(data)
    cluster_from([("c.yaml", data)], "c.yaml")  # raises if it is none
    assert "only a cluster" in report(tmp_path / "c.yaml").errors[0].message
    shown = "a dump of a cluster" if kind == "nodes" else "a snapshot or sketch of a cluster"
    assert f"no manifests, only {shown}" in report(tmp_path).errors[0].message


def test_one_line_tells_of_the_cluster(tmp_path: Path) -> None:
    write(tmp_path, "web.yaml")
    write(tmp_path, "cluster.yaml", "other.yaml", text=SKETCH)
    found = report(tmp_path, cluster=str(tmp_path / "cluster.yaml"))
    assert [(os.path.basename(item.path), item.reason) for item in found.summary.left_out] == [
        ("cluster.yaml", "the cluster (--cluster)"),
        ("other.yaml", "a snapshot or sketch of a cluster"),
    ]


def test_templates_outside_of_a_chart_are_one_line_for_a_folder(tmp_path: Path) -> None:
    source = POD.replace("{name: a}", "{name: '{{ .Values.name }}'}")
    write(tmp_path, "web.yaml")
    write(tmp_path, "k8s/a.yaml", "k8s/b.yaml", "one.yaml", text=source)
    lines = [skip.reason.partition(": ")[0] for skip in report(tmp_path).skipped if not skip.rule]
    assert lines == [f"{tmp_path}/k8s (2 files)", f"{tmp_path}/one.yaml:1"]


def test_text_with_actions_is_no_template(tmp_path: Path) -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  x: |\n    {{if .app}}\n    name: {{.app}}\n"
    write(tmp_path, "catalog/templates/a.yaml", text=text)
    assert read(tmp_path) == ["catalog/templates/a.yaml"]
