"""Kustomizations are read as what they are applied as, and findings stand in the files that people wrote.

The real kubectl renders; tests that cannot do without it are skipped where it is missing.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from kubesched_lint.commands.lint.run import Request, check, read_manifests
from kubesched_lint.engine.base.places import Location
from kubesched_lint.findings import Finding, Report
from kubesched_lint.linter.options import Options
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.sources.manifests.document import Document, Skipped
from kubesched_lint.sources.manifests.files import find_files
from kubesched_lint.sources.manifests.inputs import InputFile
from tests.program import called

has_kubectl = pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not on PATH")

BASE = """\
# The shop's front.
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - topologyKey: topology.kubernetes.io/zone
            labelSelector: {matchLabels: {app: web}}
      containers:
      - {name: web, image: "web:1", resources: {requests: {cpu: 100m}}}
      - {name: side, image: "side:1"}
"""
SKETCH = """\
apiVersion: kubesched-lint/v1
kind: ClusterSketch
nodes:
- {name: worker, count: 2, zones: [a, b, c], labels: {pool: general}, allocatable: {cpu: "4", memory: 16Gi}}
"""


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def shop(folder: Path, overlay: str, **more: str) -> Path:
    files = {"base/kustomization.yaml": "resources: [web.yaml]\n", "base/web.yaml": BASE, "cluster.yaml": SKETCH}
    files["prod/kustomization.yaml"] = f"resources: [../base]\n{overlay}"
    return write(folder, files | {name.replace("__", "/") + ".yaml": text for name, text in more.items()})


def lint(folder: Path, *paths: str, render: bool = True) -> Report:
    where = tuple(str(folder / path) for path in paths)
    return check(Request(where, str(folder / "cluster.yaml"), render=render), Options(), Rulebook.shipped())


def only(report: Report, rule: str) -> Finding:
    (found,) = (finding for finding in report.findings if finding.rule == rule)
    return found


def at(location: Location, folder: Path) -> str:
    return f"{os.path.relpath(location.path, folder)}:{location.span.line}:{location.span.column}"


@has_kubectl
def test_a_value_of_the_base_is_blamed_in_the_base(tmp_path: Path) -> None:
    shop(tmp_path, "namespace: shop\nnamePrefix: prod-\nreplicas: [{name: web, count: 5}]\n")
    report = lint(tmp_path, "prod")
    found = only(report, "anti-affinity-exceeds-domains")
    assert str(found.object) == "Deployment shop/prod-web"
    assert at(found.location, tmp_path) == "base/web.yaml:14:13"
    assert [at(r.location, tmp_path) for r in found.related] == ["prod/kustomization.yaml:4:31"]
    assert not report.errors
    assert report.summary.workloads == 1


@has_kubectl
@pytest.mark.parametrize(
    ("overlay", "patch", "place"),
    [
        ("patches: [{path: pool.yaml}]\n", "smp", "prod/pool.yaml:3:47"),
        ("patches: [{path: pool.yaml, target: {kind: Deployment, name: w.b}}]\n", "json", "prod/pool.yaml:3:17"),
        ("patchesStrategicMerge: [pool.yaml]\n", "smp", "prod/pool.yaml:3:47"),
        (
            "patches:\n- target: {kind: Deployment}\n  patch: |-\n    - op: add\n"
            "      path: /spec/template/spec/nodeSelector\n      value:\n        pool: gpu\n",
            "",
            "prod/kustomization.yaml:8:15",
        ),
        (
            "patches:\n- patch: |\n    apiVersion: apps/v1\n    kind: Deployment\n    metadata:\n      name: web\n"
            "    spec:\n      template:\n        spec:\n          nodeSelector:\n            pool: gpu\n",
            "",
            "prod/kustomization.yaml:12:19",
        ),
    ],
    ids=["strategic merge", "JSON patch", "the old list of patches", "inline JSON patch", "inline strategic merge"],
)
def test_what_a_patch_adds_is_blamed_in_the_patch(tmp_path: Path, overlay: str, patch: str, place: str) -> None:
    texts = {
        "smp": "apiVersion: apps/v1\nkind: Deployment\nspec: {template: {spec: {nodeSelector: {pool: gpu}}}}\n"
        "metadata: {name: web}\n",
        "json": "- op: add\n  path: /spec/template/spec/nodeSelector\n  value: {pool: gpu}\n",
    }
    more = {"prod__pool": texts[patch]} if patch else {}
    shop(tmp_path, overlay, **more)
    assert at(only(lint(tmp_path, "prod"), "nodeselector-matches-nothing").location, tmp_path) == place


@has_kubectl
def test_a_line_that_no_file_has_is_shown_as_rendered_and_near_its_file(tmp_path: Path) -> None:
    # A replacement copies the pool from a ConfigMap: no file holds it where it is applied.
    overlay = (
        "configMapGenerator: [{name: pools, literals: [pool=gpu]}]\n"
        "replacements:\n- source: {kind: ConfigMap, name: pools, fieldPath: data.pool}\n  targets:\n"
        "  - select: {kind: Deployment}\n    fieldPaths: [spec.template.spec.nodeSelector.pool]\n"
        "    options: {create: true}\n"
    )
    shop(tmp_path, overlay)
    found = only(lint(tmp_path, "prod"), "nodeselector-matches-nothing")
    assert found.location.path == f"{tmp_path}/prod (rendered)"
    assert found.location.near is not None
    assert at(found.location.near, tmp_path).startswith("base/web.yaml:")
    shown = called("lint", "prod", "-c", "cluster.yaml", "-v", cwd=tmp_path).stdout
    line = found.location.span.line
    assert f"--> prod (rendered):{line}:" in shown
    assert f"{line} |         pool: gpu" in shown
    assert "= from: base/web.yaml:" in shown
    assert "rendered with kubectl kustomize prod" in shown


@has_kubectl
def test_services_that_annotate_files_are_pointed_to_files(tmp_path: Path) -> None:
    overlay = (
        "configMapGenerator: [{name: pools, literals: [pool=gpu]}]\n"
        "replacements:\n- source: {kind: ConfigMap, name: pools, fieldPath: data.pool}\n  targets:\n"
        "  - select: {kind: Deployment}\n    fieldPaths: [spec.template.spec.nodeSelector.pool]\n"
        "    options: {create: true}\n"
    )
    shop(tmp_path, overlay)
    for name in ("github", "sarif", "gitlab"):
        shown = called("lint", "prod", "-c", "cluster.yaml", "--format", name, cwd=tmp_path).stdout
        assert "base/web.yaml" in shown
        assert "in the rendered text" in shown or name == "gitlab"
        assert "file=prod (rendered)" not in shown
        assert "prod%20%28rendered%29" not in shown


@has_kubectl
def test_overlays_of_a_tree_are_rendered_and_plain_files_read(tmp_path: Path) -> None:
    shop(tmp_path, "nameSuffix: -prod\n")
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: lone}\nspec: {containers: [{name: c, image: 'i:1'}]}\n"
    write(tmp_path, {"stage/kustomization.yml": "resources: [../base]\nnameSuffix: -stage\n", "plain/pod.yaml": pod})
    manifests = read_manifests([str(tmp_path)], Options())
    assert sorted(w.name for w in manifests.inventory.workloads) == ["lone", "web-prod", "web-stage"]
    assert not manifests.errors


@has_kubectl
def test_components_and_nested_bases_belong_to_who_lists_them(tmp_path: Path) -> None:
    shop(tmp_path, "components: [../spread]\n")
    component = (
        "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches:\n- path: pool.yaml\n"
        "  target: {kind: Deployment}\n"
    )
    patch = "- op: add\n  path: /spec/template/spec/nodeSelector\n  value: {pool: gpu}\n"
    write(tmp_path, {"spread/kustomization.yaml": component, "spread/pool.yaml": patch})
    report = lint(tmp_path, ".")
    assert at(only(report, "nodeselector-matches-nothing").location, tmp_path) == "spread/pool.yaml:3:17"
    assert report.summary.workloads == 1
    assert not report.errors


@has_kubectl
def test_a_manifest_that_the_kustomization_does_not_list_is_told_and_not_read(tmp_path: Path) -> None:
    shop(tmp_path, "", base__old=BASE.replace("name: web}", "name: old}"))
    manifests = read_manifests([str(tmp_path / "base"), str(tmp_path / "prod")], Options())
    assert [w.name for w in manifests.inventory.workloads] == ["web", "web"]
    (left_out,) = manifests.skipped
    assert (os.path.basename(left_out.path), "does not list it" in left_out.reason) == ("old.yaml", True)


@has_kubectl
def test_comments_and_annotations_waive_what_is_rendered(tmp_path: Path) -> None:
    shop(tmp_path, "replicas: [{name: web, count: 5}]\n")
    waived = (
        "- topologyKey: topology.kubernetes.io/zone  # kubesched: ignore[anti-affinity-exceeds-domains] scaled by hand"
    )
    (tmp_path / "base/web.yaml").write_text(BASE.replace("- topologyKey: topology.kubernetes.io/zone", waived))
    found = only(lint(tmp_path, "prod"), "anti-affinity-exceeds-domains")
    assert found.suppressed is not None
    assert found.suppressed.reason == "scaled by hand"
    annotated = "metadata: {name: web, annotations: {ignore.kubesched-lint.io/anti-affinity-exceeds-domains: by hand}}"
    (tmp_path / "base/web.yaml").write_text(BASE.replace("metadata: {name: web}", annotated))
    write(tmp_path, {"small/kustomization.yaml": "resources: [../base]\nnamespace: small\n"})
    report = lint(tmp_path, "prod", "small")
    suppressed = only(report, "anti-affinity-exceeds-domains").suppressed
    assert suppressed is not None
    assert suppressed.location is not None
    assert at(suppressed.location, tmp_path) == "base/web.yaml:4:37"
    # The overlay `small` does not need the annotation of its base, but prod does.
    assert not [finding.rule for finding in report.findings if finding.rule.startswith("waiver-")]


@has_kubectl
def test_the_rendered_text_is_what_kubectl_prints(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    overlay = "commonAnnotations: {team: shop}\nsortOptions: {order: fifo}\n"
    overlay += "configMapGenerator: [{name: c, literals: [a=b]}]\n"
    shop(tmp_path, overlay)
    (file,) = (f for f in find_files([str(tmp_path / "prod")]) if isinstance(f, InputFile))
    printed = subprocess.run(["kubectl", "kustomize", str(tmp_path / "prod")], capture_output=True, check=True).stdout
    assert file.data == printed
    assert b"config.kubernetes.io/origin" not in file.data


def test_without_rendering_files_are_read_as_they_stand(tmp_path: Path) -> None:
    shop(tmp_path, "replicas: [{name: web, count: 5}]\n")
    report = lint(tmp_path, ".", render=False)
    assert report.summary.workloads == 1
    assert not [f for f in report.findings if f.rule == "anti-affinity-exceeds-domains"]
    assert any("2 Kustomization: read without rendering; to lint" in n for n in report.summary.notes)


def test_without_kubectl_one_line_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shop(tmp_path, "")
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    report = lint(tmp_path, "prod", "base")
    assert [n for n in report.summary.notes if "neither kubectl nor kustomize is on PATH" in n]
    assert report.summary.workloads == 1


# --- what is never done, and what goes wrong --------------------------------------------------------------------------


def stand_in(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """A kubectl of ours, alone on PATH but for the shell's own."""
    tool = folder / "bin" / "kubectl"
    tool.parent.mkdir()
    tool.write_text(f"#!/bin/sh\n{script}\n")
    tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tool.parent}:/usr/bin:/bin")


@pytest.mark.parametrize(
    "entry",
    [
        "https://example.com/base.yaml",
        "github.com/example/shop//base?ref=v1",
        "git@github.com:example/shop.git",
        "example.com/shop/base",
        "git::https://example.com/shop",
    ],
)
@pytest.mark.parametrize("listed", ["resources: [web.yaml, {}]\n", "resources: [web.yaml]\ncomponents: ['{}']\n"])
def test_nothing_is_fetched_from_the_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entry: str, listed: str
) -> None:
    shop(tmp_path, "")
    (tmp_path / "base/kustomization.yaml").write_text(listed.format(entry))
    stand_in(tmp_path, monkeypatch, f"touch {tmp_path}/was-run")
    manifests = read_manifests([str(tmp_path)], Options())
    assert not (tmp_path / "was-run").exists()
    assert [w.name for w in manifests.inventory.workloads] == ["web"]
    (left_out,) = (skip for skip in manifests.skipped if "network" in skip.reason)
    line = 2 if "components" in listed else 1
    assert (os.path.relpath(left_out.path, tmp_path), left_out.line) == ("base/kustomization.yaml", line)
    assert f"{entry} would have to be fetched" in left_out.reason
    assert not manifests.is_complete


@pytest.mark.parametrize(
    "field", ["patches: [{path: 'https://example.com/p.yaml'}]", "crds: ['https://example.com/c']"]
)
def test_nor_what_stands_in_a_field_where_addresses_are_rare(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, field: str
) -> None:
    shop(tmp_path, f"{field}\n")
    stand_in(tmp_path, monkeypatch, f"touch {tmp_path}/was-run")
    manifests = read_manifests([str(tmp_path)], Options())
    assert not (tmp_path / "was-run").exists()
    assert ["network" in skip.reason for skip in manifests.skipped] == [True]


def test_a_chart_in_a_kustomization_is_not_inflated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shop(tmp_path, "helmCharts: [{name: redis, repo: 'https://example.com'}]\n")
    stand_in(tmp_path, monkeypatch, f"touch {tmp_path}/was-run")
    (left_out,) = read_manifests([str(tmp_path / "prod")], Options()).skipped
    assert "it inflates a Helm chart" in left_out.reason
    assert not (tmp_path / "was-run").exists()


@has_kubectl
def test_a_plugin_is_not_run(tmp_path: Path) -> None:
    generator = (
        "apiVersion: x.example.com/v1\nkind: Maker\nmetadata:\n  name: m\n  annotations:\n"
        f"    config.kubernetes.io/function: |\n      exec: {{path: {tmp_path}/maker}}\n"
    )
    shop(tmp_path, "generators: [maker.yaml]\n", prod__maker=generator)
    (tmp_path / "maker").write_text(f"#!/bin/sh\ntouch {tmp_path}/was-run\n")
    (tmp_path / "maker").chmod(0o755)
    manifests = read_manifests([str(tmp_path / "prod")], Options())
    assert not (tmp_path / "was-run").exists()
    skips = [
        entry.reason if isinstance(entry, Skipped) else entry.message
        for entry in (*manifests.skipped, *manifests.errors)
    ]
    assert any("plugin" in words for words in skips)


@has_kubectl
def test_what_kubectl_refuses_is_one_error_and_the_rest_is_checked(tmp_path: Path) -> None:
    shop(tmp_path, "patches: [{path: none.yaml}]\n")
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: lone}\nspec: {containers: [{name: c, image: 'i:1'}]}\n"
    write(tmp_path, {"plain/pod.yaml": pod})
    manifests = read_manifests([str(tmp_path)], Options())
    (error,) = manifests.errors
    assert os.path.relpath(error.path, tmp_path) == "prod/kustomization.yaml"
    assert (error.line, error.column) == (2, 18)
    assert error.message.startswith("it lists none.yaml, and there is no such file: its files are not checked")
    assert "lone" in [w.name for w in manifests.inventory.workloads]


@has_kubectl
def test_what_kubectl_says_in_several_lines_is_told_without_its_log(tmp_path: Path) -> None:
    shop(tmp_path, "patches: [{patch: 'a: [', target: {kind: Deployment}}]\n")
    (error,) = read_manifests([str(tmp_path / "prod")], Options()).errors
    assert error.message.startswith("kubectl kustomize: trouble configuring builtin PatchTransformer")
    assert "run.go" not in error.message


def test_a_resource_that_is_not_there_is_told_at_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shop(tmp_path, "")
    (tmp_path / "base/kustomization.yaml").write_text("resources:\n- web.yaml\n- db.yaml\n")
    stand_in(tmp_path, monkeypatch, "exit 3")
    (error,) = read_manifests([str(tmp_path / "prod")], Options()).errors
    assert (os.path.relpath(error.path, tmp_path), error.line) == ("base/kustomization.yaml", 3)
    assert "db.yaml" in error.message


def test_in_a_tree_an_overlay_without_its_base_is_told_as_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop(tmp_path, "")
    write(tmp_path, {"templates/cluster/kustomization.yaml": "resources: ['../{{ ring }}']\n"})
    stand_in(tmp_path, monkeypatch, 'cat "$2/../base/web.yaml"')
    manifests = read_manifests([str(tmp_path)], Options())
    assert not manifests.errors
    (left_out,) = manifests.skipped
    assert "not rendered because it lists ../{{ ring }}, and there is no such file or folder" in left_out.reason
    assert read_manifests([str(tmp_path / "templates" / "cluster")], Options()).errors


@pytest.mark.parametrize(
    ("files", "place", "words"),
    [
        ({"prod": "resources:\n- ../base\n- gone.yaml\n"}, "3:3", "gone.yaml"),
        ({"prod": "components:\n- ../gone\n"}, "2:3", "../gone"),
        ({"prod": "patches:\n- path: gone.yaml\n"}, "2:9", "gone.yaml"),
        ({"void/inner": "resources: []\n", "prod": "resources: [../void]\n"}, "1:13", "void"),
        ({"prod": "# nothing yet\n"}, "1:1", "is empty"),
        ({"void": "", "prod": "resources: [../void]\n"}, "1:13", "is empty"),
    ],
)
@pytest.mark.parametrize("path", [".", "prod"])
def test_an_entry_that_names_nothing_is_an_error_from_the_root_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, files: dict[str, str], place: str, words: str
) -> None:
    shop(tmp_path, "")
    write(tmp_path, {f"{folder}/kustomization.yaml": text for folder, text in files.items()})
    stand_in(tmp_path, monkeypatch, "exit 3")
    errors = read_manifests([str(tmp_path / path)], Options()).errors
    found = {f"{os.path.relpath(e.path, tmp_path)}:{e.line}:{e.column}": e.message for e in errors}
    assert words in found[f"prod/kustomization.yaml:{place}"]


def test_overlays_that_share_what_is_missing_tell_it_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shop(tmp_path, "", dev__kustomization="resources: [../base]\n")
    (tmp_path / "base/kustomization.yaml").write_text("resources: [web.yaml, gone.yaml]\n")
    stand_in(tmp_path, monkeypatch, "exit 3")
    found = read_manifests([str(tmp_path)], Options())
    assert len(found.errors) == 1
    assert not found.inventory.workloads


def test_of_kustomizations_in_a_circle_one_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is the base of another one: nothing of them would be read, and the run would be green."""
    names = ["a", "b", "c"]
    for name, other in zip(names, [*names[1:], names[0]], strict=True):
        write(
            tmp_path, {f"{name}/kustomization.yaml": f"resources: [../{other}, app.yaml]\n", f"{name}/app.yaml": BASE}
        )
    stand_in(tmp_path, monkeypatch, "echo error: cycle detected >&2; exit 1")
    (error,) = read_manifests([str(tmp_path)], Options()).errors
    assert "cycle detected" in error.message
    assert os.path.relpath(error.path, tmp_path) == "a/kustomization.yaml"


def test_a_folder_that_is_listed_again_and_again_is_not_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kustomize builds it anew each time: two in each of fifteen levels would take minutes of CPU."""
    for level in range(15):
        both = [f"../{level + 1}-{side}" for side in "ab"] if level < 14 else ["app.yaml"]
        for side in "ab":
            write(tmp_path, {f"{level}-{side}/kustomization.yaml": f"resources: [{', '.join(both)}]\n"})
            write(tmp_path, {f"{level}-{side}/app.yaml": BASE})
    stand_in(tmp_path, monkeypatch, f"touch {tmp_path}/was-run")
    (error,) = read_manifests([str(tmp_path / "0-a")], Options()).errors
    assert "builds on more than 2,000 folders, each counted as often as it is listed" in error.message
    assert not (tmp_path / "was-run").exists()


def test_a_tool_that_hangs_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from kubesched_lint.sources.manifests.kustomize import rendering, tools

    stand_in(tmp_path, monkeypatch, "sleep 60 & sleep 60")
    tool = tools.kustomizer()
    assert tool is not None
    with pytest.raises(rendering.RenderError, match="took longer than"):
        rendering.render(tool, str(tmp_path), timeout=0.3)


def test_a_tool_that_writes_without_end_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from kubesched_lint import programs
    from kubesched_lint.sources.manifests.kustomize import rendering, tools

    monkeypatch.setattr(programs, "LARGEST_OUTPUT", 1 << 16)
    stand_in(tmp_path, monkeypatch, "yes")
    tool = tools.kustomizer()
    assert tool is not None
    with pytest.raises(rendering.RenderError, match="writes more than"):
        rendering.render(tool, str(tmp_path), timeout=20)


def test_the_network_is_closed_to_the_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shop(tmp_path, "")
    stand_in(tmp_path, monkeypatch, 'echo "# $HTTPS_PROXY $GIT_ALLOW_PROTOCOL"')
    (file,) = (f for f in find_files([str(tmp_path / "prod")]) if isinstance(f, InputFile))
    assert file.data == b"# http://127.0.0.1:9 none\n"


def test_a_kubectl_that_knows_no_origins_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shop(tmp_path, "")
    refuse = 'case "$2" in */prod) cat "$2/../base/web.yaml";; *) echo "unknown field buildMetadata" >&2; exit 1;; esac'
    stand_in(tmp_path, monkeypatch, refuse)
    (document,) = (d for d in read_manifests([str(tmp_path / "prod")], Options()).documents if isinstance(d, Document))
    found = document.location(("spec", "replicas"))
    assert found.path == f"{tmp_path}/prod (rendered)"
    assert found.near is not None
    assert at(found.near, tmp_path) == "prod/kustomization.yaml:1:1"


def test_files_of_other_tools_with_that_name_are_no_kustomizations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flux = (
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: shop}\nspec: {path: ./x}\n"
    )
    write(tmp_path, {"kustomization.yaml": flux})
    stand_in(tmp_path, monkeypatch, f"touch {tmp_path}/was-run")
    manifests = read_manifests([str(tmp_path)], Options())
    assert not (tmp_path / "was-run").exists()
    assert [u.kind for u in manifests.unread] == ["Kustomization"]


def test_nothing_is_imported_for_rendering_unless_a_kustomization_is_found(tmp_path: Path) -> None:
    write(tmp_path, {"web.yaml": BASE})
    code = (
        "import sys\nfrom kubesched_lint.sources.manifests.loader import find_files\n"
        f"assert list(find_files([{str(tmp_path)!r}]))\n"
        "names = ('subprocess', 'kubesched_lint.sources.manifests.kustomize.rendering',\n"
        "    'kubesched_lint.sources.manifests.kustomize.overlays')\n"
        "assert not [name for name in names if name in sys.modules]\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@has_kubectl
@pytest.mark.parametrize("paths", [("prod",), ("prod", "test")])
def test_a_finding_names_its_overlay_if_the_run_renders_several(tmp_path: Path, paths: tuple[str, ...]) -> None:
    shop(tmp_path, "replicas: [{name: web, count: 9}]\n")
    write(tmp_path, {"test/kustomization.yaml": "resources: [../base]\n"})
    found = only(lint(tmp_path, *paths), "anti-affinity-exceeds-domains")
    assert found.rendered == (str(tmp_path / "prod") if len(paths) > 1 else "")
