"""Kustomizations of strangers: nothing that they name is fetched, run, or read from outside the repository.

Where a tool must not be started at all, a recording one stands in for kubectl; where it is, the real one is asked.
"""

from __future__ import annotations

import http.server
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from kubesched_lint import programs
from kubesched_lint.commands.lint.run import read_manifests
from kubesched_lint.linter.options import Options
from kubesched_lint.sources.manifests.document import Skipped
from kubesched_lint.sources.manifests.files import find_files
from kubesched_lint.sources.manifests.flux import flux_repository
from kubesched_lint.sources.manifests.inputs import InputFile
from kubesched_lint.sources.manifests.kustomize.tree import as_json
from kubesched_lint.sources.manifests.recognizing.kustomization import is_address

has_kubectl = pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not on PATH")
has_own_network = pytest.mark.skipif(not programs._alone(), reason="no network namespaces here")

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: c, image: 'i:1'}]}\n"
URL = "http://127.0.0.1:9/x"
HOSTS = [
    URL,
    "HTTP://127.0.0.1:9/x.yaml",
    "http:127.0.0.1",
    "https://example.com/base?ref=v1",
    "alice@host:org/repo",
    "alice@host/org/repo",
    "git@github.com:org/repo.git",
    "git::alice@host:org/repo",
    "git::https://example.com/org/repo",
    "GIT::https://example.com/org/repo",
    "ssh://host/org/repo",
    "SSH://host/org/repo",
    "file:///etc",
    "github.com/org/repo",
    "GitHub.com/org/repo//base",
    "github.com:org/repo",
    "www.github.com/org/repo",
    "gh:org/repo",
    "bitbucket.org/org/repo",
    "s3.amazonaws.com/bucket/x",
    "dev.example.com/org/_git/repo/base",
    "host/repo?ref=main",
    "s3::https://s3.amazonaws.com/bucket",
    " http://127.0.0.1:9/x",
    "[::1]:80/x",
]
BUILTIN = "apiVersion: builtin\nkind: {}\nmetadata: {{name: n}}\n{}\n"
PLUGGED = {
    "PatchTransformer": f"path: {URL}",
    "PatchJson6902Transformer": f"target: {{kind: Pod}}\nPath: {URL}",
    "PatchStrategicMergeTransformer": f"paths: ['{URL}']",
    "ReplacementTransformer": f"replacements: [{{path: '{URL}'}}]",
    "ValueAddTransformer": f"value: a\ntargetFilePath: {URL}",
    "ConfigMapGenerator": f"files: ['a={URL}']",
    "SecretGenerator": f"ENVS: ['{URL}']",
    "HelmChartInflationGenerator": f"repo: {URL}",
}
NAMED_IN = {
    "resources": "resources: [{}]",
    "bases": "bases: [{}]",
    "components": "components: [{}]",
    "crds": "crds: [{}]",
    "configurations": "configurations: [{}]",
    "openapi": "openapi: {{path: {}}}",
    "patches": "patches: [{{path: {}}}]",
    "patchesJson6902": "patchesJson6902: [{{path: {}, target: {{kind: Pod}}}}]",
    "patchesStrategicMerge": "patchesStrategicMerge: [{}]",
    "replacements": "replacements: [{{path: {}}}]",
    "files": "configMapGenerator: [{{name: c, files: [{}]}}]",
    "envs": "configMapGenerator: [{{name: c, envs: [{}]}}]",
    "env": "secretGenerator: [{{name: c, env: {}}}]",
    "generators": "generators: [{}]",
    "transformers": "transformers: [{}]",
    "validators": "validators: [{}]",
}


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return write(tmp_path / "repository", {"prod/pod.yaml": POD, ".git/HEAD": "ref: refs/heads/main\n"})


@pytest.fixture
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder where a stand-in for kubectl and git keeps what it was given; it is made when one of them is run."""
    record, tools = tmp_path / "record", tmp_path / "bin"
    tools.mkdir()
    for name in ("kubectl", "git", "helm"):
        script = f'#!/bin/sh\nmkdir -p {record}\ncp -a "$2/.." {record}/given\nenv > {record}/environ\n'
        (tools / name).write_text(script)
        (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    return record


def problems_of(folder: Path) -> list[str]:
    found = read_manifests([str(folder)], Options())
    skips = [f"{skip.path}:{skip.line}:{skip.column}: {skip.reason}" for skip in found.skipped]
    return skips + [f"{error.path}:{error.line}:{error.column}: {error.message}" for error in found.errors]


def refused(repository: Path, text: str, started: Path, **more: str) -> str:
    write(repository, {"prod/kustomization.yaml": text, **{f"prod/{name}.yaml": one for name, one in more.items()}})
    (line,) = (line for line in problems_of(repository / "prod") if "kustomization.yaml" in line)
    assert not started.exists(), "a program was started"
    return line.replace(f"{repository}/", "")


# --- addresses ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("address", HOSTS)
def test_an_address_is_one_even_where_a_folder_has_its_name(repository: Path, started: Path, address: str) -> None:
    assert is_address(address)
    beside = repository / "prod" / address.strip().lstrip("/")
    if ":/" not in address:
        write(beside, {"note.txt": "a folder of that name"})
    line = refused(repository, f"# bases\nresources: [pod.yaml, {json.dumps(address)}]\n", started)
    assert line.startswith("prod/kustomization.yaml:2:23: not rendered because ")
    assert "would have to be fetched from the network, which is never done" in line
    assert "kubectl kustomize FOLDER | kubesched-lint lint -" in line


@pytest.mark.parametrize(
    "local", ["../base", "./a.b/c.d", "v1.2/base", "a=b", "x.yaml", "..//base", "@scope/a b,c", "-"]
)
def test_what_is_no_address(local: str) -> None:
    assert is_address(local) == local.startswith("@")


@pytest.mark.parametrize("spelling", [str, str.upper, str.capitalize, lambda key: key.replace("s", "\u017f")])
@pytest.mark.parametrize("field", NAMED_IN)
def test_no_field_fetches_in_any_case(repository: Path, started: Path, field: str, spelling: object) -> None:
    """Go's decoder takes keys in any case, the long s for an s, and does so at every depth."""
    text = NAMED_IN[field].format(json.dumps(f"{URL}?a" if field == "envs" else URL))
    if field == "files":
        text = text.replace(URL, f"key={URL}")
    for key in ("resources", "path", "files", "envs", "env", field):
        text = text.replace(f"{key}:", f"{spelling(key)}:")  # type: ignore[operator]
    line = refused(
        repository,
        f"resources: [pod.yaml]\n{text}\n".removeprefix("resources: [pod.yaml]\n" * ("esources" in field)),
        started,
    )
    assert "would have to be fetched" in line


@pytest.mark.parametrize("text", [
    f"x: &x {{resources: ['{URL}']}}\n<<: *x\n",
    "resources: [!!binary aHR0cDovLzEyNy4wLjAuMTo5L3g=]\n",
    f"namePrefix: &x {URL}\nresources: [*x]\n",
    '{"resources": ["http:\\u002f/127.0.0.1/x"]}\n',
    f"resources:\n- >-\n  {URL}\n",
    f"resources: [pod.yaml]\nresources: ['{URL}']\n",
    f"resources: [pod.yaml]\nResources: ['{URL}']\n",
    f"resources: ['{URL}\\n']\n".replace("'", '"'),
    f'patchesStrategicMerge: ["{URL}/: x"]\n',
    f'transformers: ["{URL}/: x"]\n',
    f'transformers: ["{URL}\\n: {{"]\n',
    f"resources: {{a: '{URL}'}}\n",
    f"resources: '{URL}'\n",
    f"resources: [['{URL}']]\n",
    f"openapi: ['{URL}']\n",
    f"patches: ['{URL}']\n",
    f"remotes: ['{URL}']\n",
    f"configMapGenerator: [{{name: c, urls: ['{URL}']}}]\n",
    "configMapGenerator: [{name: c, files: [a=b=c]}]\n",
    f"helmCharts: [{{name: redis, repo: '{URL}'}}]\n",
    f"HelmCharts: [{{name: redis, repo: '{URL}'}}]\n",
    "helmGlobals: {chartHome: /}\n",
    f"helmChartInflationGenerator: [{{chartName: redis, chartRepoUrl: '{URL}'}}]\n",
])  # fmt: skip
def test_what_is_said_in_another_way_is_not_handed_on(repository: Path, started: Path, text: str) -> None:
    write(repository, {"prod/kustomization.yaml": text})
    lines = problems_of(repository / "prod")
    if not started.exists():
        assert lines or text.startswith("resources: [pod.yaml]\nresources")
        return
    # Understood as harmless: then the tool was given what was understood, and no address.
    given = (started / "given").rglob("kustomization.yaml")
    assert not [file for file in given if any(map(is_fetched, strings(json.loads(file.read_text()))))]


def is_fetched(text: str) -> bool:
    return is_address(text) and not text.startswith("---\n")  # nothing that Go takes for an address begins so


def strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, dict)):
        for inside in value.values() if isinstance(value, dict) else value:
            yield from strings(inside)


# --- plugins --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", PLUGGED)
@pytest.mark.parametrize("field", ["generators", "transformers", "validators"])
@pytest.mark.parametrize("shape", ["inline", "file", "folder"])
def test_no_plugin_fetches(repository: Path, started: Path, kind: str, field: str, shape: str) -> None:
    settings = BUILTIN.format(kind, PLUGGED[kind])
    more = {"kustomization": "resources: [plug.yaml]\n", "plug": settings}
    entry = {"inline": json.dumps(settings), "file": "plug.yaml", "folder": "plugs"}[shape]
    if shape == "file":
        more = {"plug": settings}
    write(repository, {f"prod/plugs/{name}.yaml": text for name, text in more.items()} if shape == "folder" else {})
    more = more if shape == "file" else {}
    line = refused(repository, f"resources: [pod.yaml]\n{field}: [{entry}]\n", started, **more)
    assert "would have to be fetched" in line or "it needs a plugin, HelmChartInflationGenerator" in line
    assert "kustomization.yaml:" in line


@pytest.mark.parametrize(
    "settings",
    [
        "apiVersion: someteam.example.com/v1\nkind: Maker\nmetadata: {name: n}\n",
        "apiVersion: x/v1\nkind: Maker\nmetadata:\n  name: n\n  annotations:\n    config.kubernetes.io/function: |\n"
        "      container: {image: 'evil:1', network: true}\n",
        "apiVersion: v1\nkind: List\nitems: [{apiVersion: builtin, kind: HelmChartInflationGenerator}]\n",
        BUILTIN.format("PrefixTransformer", "prefix: a") + "---\napiVersion: x/v1\nkind: Maker\nmetadata: {name: m}\n",
        BUILTIN.format("prefixtransformer", "prefix: a"),
        "- a\n- b\n",
        "a: [\n",
    ],
)
@pytest.mark.parametrize("field", ["generators", "transformers", "validators"])
def test_only_plugins_that_are_known_are_configured(repository: Path, started: Path, settings: str, field: str) -> None:
    line = refused(repository, f"resources: [pod.yaml]\n{field}: [plug.yaml]\n", started, plug=settings)
    assert line.startswith("prod/kustomization.yaml:2:")
    assert "plugin" in line
    inline = refused(repository, f"resources: [pod.yaml]\n{field}: [{json.dumps(settings)}]\n", started)
    assert inline.startswith("prod/kustomization.yaml:2:")


def test_a_folder_of_plugins_changes_none_of_them(repository: Path, started: Path) -> None:
    """A patch of it might give a plugin the address that its file does not hold."""
    patch = f'[{{"op": "add", "path": "/path", "value": "{URL}"}}]'
    folder = f"resources: [plug.yaml]\npatches:\n- target: {{kind: PatchTransformer}}\n  patch: '{patch}'\n"
    plug = BUILTIN.format("PatchTransformer", "patch: '[]'")
    write(repository, {"prod/plugs/kustomization.yaml": folder, "prod/plugs/plug.yaml": plug})
    write(repository, {"prod/kustomization.yaml": "resources: [pod.yaml]\ntransformers: [plugs]\n"})
    (line,) = (line for line in problems_of(repository / "prod") if "'patches' is not a known field" in line)
    assert "plugs/kustomization.yaml:2:1" in line
    assert not started.exists()


# --- files ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["{out}/secret.yaml", "/proc/self/environ", "/dev/zero", "/dev/stdin"])
@pytest.mark.parametrize("field", ["resources: [link.yaml]", "configMapGenerator: [{name: c, files: [link.yaml]}]"])
def test_no_link_leaves_the_repository(
    repository: Path, started: Path, tmp_path: Path, target: str, field: str
) -> None:
    write(tmp_path / "out", {"secret.yaml": "token: hunter2"})
    (repository / "prod" / "link.yaml").symlink_to(target.format(out=tmp_path / "out"))
    write(repository, {"prod/kustomization.yaml": f"namePrefix: a-\n{field}\n"})
    (line,) = (line for line in problems_of(repository / "prod") if "/kustomization.yaml" in line)
    assert "prod/kustomization.yaml:2:" in line
    assert "link.yaml is outside the repository, and is not read" in line
    assert "hunter2" not in line
    assert not started.exists()


@pytest.mark.parametrize("field", ["resources", "bases", "components", "transformers"])
def test_no_base_is_outside_the_repository(repository: Path, started: Path, tmp_path: Path, field: str) -> None:
    write(tmp_path / "out", {"kustomization.yaml": "resources: [pod.yaml]\n", "pod.yaml": POD})
    line = refused(repository, f"namePrefix: a-\n{field}: [../../out]\n", started)
    assert line.startswith("prod/kustomization.yaml:2:")
    assert "it lists ../../out, a folder that is outside the repository" in line
    (repository / "prod" / "link").symlink_to(tmp_path / "out")
    assert "link, a folder that is outside" in refused(repository, f"{field}: [link]\n", started)


@pytest.mark.parametrize(
    "entry",
    [
        "../../secret.yaml",
        "../../none.yaml",
        "{up}tmp/none.yaml",
        "../../repository/other.yaml",
        "{repository}/other.yaml",
        "/none.yaml",
    ],
)
@pytest.mark.parametrize(
    "field",
    [
        "resources: ['{}']",
        "configMapGenerator: [{{name: c, files: ['a={}']}}]",
        "patches: [{{path: '{}'}}]",
        "transformers: [{{}}, plug.yaml]",
    ],
)
def test_without_the_load_restrictor_no_step_of_a_path_is_outside(
    repository: Path, started: Path, tmp_path: Path, entry: str, field: str
) -> None:
    flux = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nspec: {path: prod}\n"
    write(repository, {"flux.yaml": flux, "other.yaml": POD})
    write(tmp_path, {"secret.yaml": POD})
    entry = entry.format(up="../" * 40, repository=repository)
    write(repository, {"prod/plug.yaml": BUILTIN.format("PatchTransformer", f"path: '{entry}'")})
    field = field.replace("{{}}, ", "") if "plug" in field else field
    line = refused(repository, f"namePrefix: a-\n{field.format(entry)}\n", started)
    assert line.startswith("prod/kustomization.yaml:2:")
    assert "is outside the repository, and is not read" in line


def test_only_what_flux_builds_is_built_without_the_load_restrictor(repository: Path, started: Path) -> None:
    write(repository, {"prod/kustomization.yaml": "resources: [pod.yaml]\n"})
    stand_in = started.parent / "bin/kubectl"
    stand_in.write_text(f'#!/bin/sh\necho "$@" >> {started}.arguments\nexit 3\n')
    read_manifests([str(repository / "prod")], Options())
    arguments = Path(f"{started}.arguments")
    assert "--load-restrictor" not in arguments.read_text()
    arguments.unlink()
    flux = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nspec: {path: ./}\n"
    write(repository, {"flux.yaml": flux})
    read_manifests([str(repository / "prod")], Options())
    assert all("--load-restrictor LoadRestrictionsNone" in line for line in arguments.read_text().splitlines())


def test_no_flux_object_is_read_outside_the_repository(repository: Path, tmp_path: Path) -> None:
    flux = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nspec: {path: prod}\n"
    write(tmp_path / "out", {"flux.yaml": flux})
    (repository / "link.yaml").symlink_to(tmp_path / "out/flux.yaml")
    (repository / "linked").symlink_to(tmp_path / "out")
    assert not flux_repository(os.path.realpath(repository)).builds(os.path.realpath(repository / "prod"))


def test_what_is_no_regular_file_does_not_block(repository: Path, started: Path) -> None:
    os.mkfifo(repository / "prod" / "pipe.txt")
    line = refused(repository, "configMapGenerator: [{name: c, files: [pipe.txt]}]\n", started)
    assert line.startswith("prod/kustomization.yaml:1:")
    assert "pipe.txt is not read: not a regular file" in line


def test_a_file_without_end_is_not_read(repository: Path, started: Path) -> None:
    with open(repository / "prod" / "huge.txt", "wb") as file:
        file.truncate(1 << 40)
    assert "huge.txt is larger than 16 MiB" in refused(
        repository, "configMapGenerator: [{name: c, files: [huge.txt]}]\n", started
    )


def test_a_link_with_dots_is_followed_as_kustomize_does(repository: Path, started: Path, tmp_path: Path) -> None:
    """``link/../x.yaml`` is ``x.yaml`` to Go, and something else to the system's own calls."""
    write(tmp_path / "out", {"a/b.yaml": "", "x.yaml": "token: hunter2"})
    (repository / "prod" / "link").symlink_to(tmp_path / "out" / "a")
    write(repository, {"prod/kustomization.yaml": "resources: [link/../x.yaml]\n", "prod/x.yaml": POD})
    problems_of(repository / "prod")
    given = [file.read_text() for file in (started / "given").rglob("*.yaml")]
    assert POD in given
    assert not [text for text in given if "hunter2" in text]


def test_the_tool_is_given_a_copy_without_links_and_what_was_understood(repository: Path, started: Path) -> None:
    text = "Resources: [./link.yaml, ../base/]\nConfigMapGenerator:\n- Name: c\n  Files: [note.txt, k=note.txt]\n"
    write(repository, {"prod/kustomization.yml": text, "base/kustomization.yaml": "resources: [b.yaml]\n"})
    write(repository, {"base/b.yaml": POD, "base/unlisted.yaml": POD, "prod/real.txt": "hello"})
    (repository / "prod" / "link.yaml").symlink_to("pod.yaml")
    (repository / "prod" / "note.txt").symlink_to("real.txt")
    problems_of(repository / "prod")
    given = started / "given"
    assert not [file for file in given.rglob("*") if file.is_symlink()]
    names = sorted(str(file.relative_to(given)) for file in given.rglob("*") if file.is_file())
    inside = f"copy{repository}"
    assert names == [
        "around/kustomization.yaml",
        f"{inside}/base/b.yaml",
        f"{inside}/base/kustomization.yaml",
        f"{inside}/prod/kustomization.yml",
        f"{inside}/prod/pod.yaml",
        f"{inside}/prod/real.txt",
    ]
    assert json.loads((given / inside / "prod/kustomization.yml").read_text()) == {
        "resources": ["pod.yaml", "../base/"],
        "configMapGenerator": [{"name": "c", "files": ["note.txt=real.txt", "k=real.txt"]}],
    }


def test_a_folder_with_two_kustomizations_is_an_error(repository: Path, started: Path) -> None:
    """Kustomize refuses it; to take one of them would be to guess."""
    write(repository, {"prod/kustomization.yaml": "resources: [pod.yaml]\n", "prod/Kustomization": "namePrefix: a-\n"})
    write(repository, {"outer/kustomization.yaml": "resources:\n- ../prod\n"})
    (line,) = (line for line in problems_of(repository / "prod") if "more than one" in line)
    assert "prod/kustomization.yaml:1:1: its folder holds more than one kustomization" in line
    (line,) = problems_of(repository / "outer")
    assert "outer/kustomization.yaml:2:3: it lists ../prod, a folder that holds more than one kustomization" in line
    assert not started.exists()


# --- charts ---------------------------------------------------------------------------------------------------------

CHART = {"shop/Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\n", "shop/templates/pod.yaml": POD}


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        (f'{{"properties": {{"a":\n  {{"$ref": "{URL}"}}}}}}', "2:13"),
        ('{"$ref": "file:///etc/shadow"}', "1:11"),
        ('{"$ref": "other.json#/a"}', "1:11"),
        ('{"allOf": [{"$dynamicRef": "https://example.com/a"}]}', "1:29"),
        (f'{{"$schema": "{URL}"}}', "1:14"),
    ],
)
def test_no_schema_of_a_chart_is_followed(repository: Path, started: Path, schema: str, place: str) -> None:
    write(repository, {**CHART, "shop/charts/sub/values.schema.json": schema})
    (line,) = problems_of(repository / "shop")
    assert (
        f"shop/charts/sub/values.schema.json:{place}: the chart is not rendered because its schema refers to " in line
    )
    assert not started.exists()


@pytest.mark.parametrize(
    "target", ["/etc/hostname", "/etc", "/proc/self/environ", "/dev/zero", "../../../out", "../../../out/a.yaml"]
)
def test_no_link_of_a_chart_leaves_the_repository(repository: Path, started: Path, tmp_path: Path, target: str) -> None:
    write(tmp_path / "out", {"a.yaml": POD})
    write(repository, CHART)
    (repository / "shop" / "templates" / "link.yaml").symlink_to(target)
    lines = [line for line in problems_of(repository / "shop") if "link.yaml" in line]
    assert ["leads out of the repository" in line for line in lines] == [True]
    assert not started.exists()


def test_a_pipe_in_a_chart_does_not_block(repository: Path, started: Path) -> None:
    write(repository, CHART)
    os.mkfifo(repository / "shop" / "templates" / "pipe")
    (line,) = (line for line in problems_of(repository / "shop") if "pipe" in line)
    assert "not a regular file: the chart is not rendered" in line
    assert not started.exists()


def test_a_harmless_chart_is_rendered(repository: Path, started: Path) -> None:
    """Its schema refers to itself, and a link to another folder of the repository is no way out; nor is a ring."""
    schema = '{"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"a": {"$ref": "#/definitions/b"}}}'
    write(repository, {**CHART, "shop/values.schema.json": schema, "common/Chart.yaml": "name: common\n"})
    (repository / "shop" / "charts").mkdir()
    (repository / "shop" / "charts" / "common").symlink_to("../../common")
    (repository / "common" / "ring").symlink_to("../shop")
    problems_of(repository / "shop")
    assert (started / "environ").exists()


# --- the real tool --------------------------------------------------------------------------------------------------

EVERYTHING = """\
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
metadata: {name: everything}
namespace: shop
namePrefix: prod-
nameSuffix: -x
labels: [{pairs: {team: "a\\U0001F600"}, includeSelectors: false}]
commonAnnotations: {when: 2020-01-01, "on": "1.10", note: "a: b # c\\n\\tdé"}
resources: [pod.yaml, ../base/]
components: [../part]
crds: [crd.json]
configurations: [config.yaml]
images: [{name: i, newTag: "2"}]
replicas: [{name: web, count: 3}]
patches:
- path: patch.yaml
- target: {kind: Pod}
  patch: '[{"op": "add", "path": "/spec/nodeSelector", "value": {"a": "b"}}]'
patchesStrategicMerge:
- |
  apiVersion: v1
  kind: Pod
  metadata: {name: a}
  spec: {hostNetwork: true, tolerations: null}
replacements: [{path: replace.yaml}]
configMapGenerator:
- {name: c, files: [note.txt, k=sub/note.txt], literals: [a=b], options: {labels: {a: b}}}
- {name: e, envs: [vars.env], behavior: create}
secretGenerator: [{name: s, env: vars.env, type: Opaque}]
generatorOptions: {disableNameSuffixHash: false, annotations: {g: h}}
transformers:
- plug.yaml
- plugs
- "apiVersion: builtin\\nkind: AnnotationsTransformer\\nmetadata: {name: n}\\nannotations: {x: y}\\nfieldSpecs:\\n- path: metadata/annotations\\n  create: true\\n"
generators: [made.yaml]
sortOptions: {order: fifo}
"""  # noqa: E501
DEPLOYMENT = (
    "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  selector: {matchLabels: {a: w}}\n"
    "  template:\n    metadata: {labels: {a: w}}\n    spec: {containers: [{name: c, image: 'i:1'}]}\n"
)


def everything(folder: Path) -> Path:
    part = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nnamePrefix: part-\n"
    replace = (
        "source: {kind: Pod, name: a, fieldPath: spec.containers.0.name}\n"
        "targets: [{select: {kind: Deployment}, fieldPaths: [spec.template.spec.containers.0.name]}]\n"
    )
    label = BUILTIN.format("LabelTransformer", "labels: {p: q}\nfieldSpecs: [{path: metadata/labels, create: true}]")
    add = BUILTIN.format("ValueAddTransformer", "targets: [{fieldPath: metadata/annotations/root}]")
    return write(
        folder,
        {
            "prod/kustomization.yaml": EVERYTHING,
            "prod/crd.json": "{}",
            "prod/config.yaml": "nameReference:\n- kind: ConfigMap\n  fieldSpecs: [{kind: Pod, path: spec/a}]\n",
            "prod/patch.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {priority: 3}\n",
            "prod/replace.yaml": replace,
            "prod/note.txt": "hello\n",
            "prod/sub/note.txt": "there\n",
            "prod/vars.env": "A=b\nC=d=e\n",
            "prod/plug.yaml": f"{label}---\n{add}",
            "prod/plugs/kustomization.yaml": "resources: [one.yaml]\n",
            "prod/plugs/one.yaml": BUILTIN.format("PatchTransformer", "path: patch.yaml"),
            "prod/made.yaml": BUILTIN.format("ConfigMapGenerator", "files: [note.txt]"),
            "base/kustomization.yaml": "---\n# the base\nResources:\n- web.yaml\n",
            "base/web.yaml": DEPLOYMENT,
            "part/kustomization.yaml": part,
        },
    )  # fmt: skip


@has_kubectl
def test_the_copy_renders_to_what_the_original_does(repository: Path) -> None:
    everything(repository)
    (file,) = (f for f in find_files([str(repository / "prod")]) if isinstance(f, InputFile))
    done = subprocess.run(["kubectl", "kustomize", str(repository / "prod")], capture_output=True, check=True)
    assert file.data == done.stdout


@pytest.fixture
def asked() -> Iterator[list[str]]:
    """What a server on this machine is asked for."""
    paths: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            paths.append(self.path)
            self.send_error(404)

        def log_message(self, *args: object) -> None:
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        paths.append(str(server.server_port))
        yield paths
        server.shutdown()


@has_kubectl
@pytest.mark.parametrize("has_network", [True, False])
@pytest.mark.parametrize("field", NAMED_IN)
def test_the_real_kubectl_asks_no_server_on_this_machine(
    repository: Path, monkeypatch: pytest.MonkeyPatch, asked: list[str], field: str, has_network: bool
) -> None:
    """Proxies do not hold for loopback addresses."""
    if has_network:
        monkeypatch.setattr(programs, "_alone", lambda: ())
    url = f"http://127.0.0.1:{asked[0]}/x"
    text = NAMED_IN[field].format(json.dumps(url)).replace(f"{field}:", f"{field.capitalize()}:")
    write(repository, {"prod/kustomization.yaml": f"namePrefix: a-\n{text}\n"})
    assert problems_of(repository / "prod")
    assert len(asked) == 1


@has_own_network
def test_a_program_that_renders_has_no_network(asked: list[str]) -> None:
    """Should a name be fetched that nobody here understood, there is nothing to fetch it from."""
    code = f"import socket; socket.create_connection(('127.0.0.1', {asked[0]}), 5)"
    with socket.create_connection(("127.0.0.1", int(asked[0])), 5):
        pass
    done = programs.run_offline((sys.executable, "-c", code), name="python")
    assert done.code
    assert "unreachable" in done.error
    assert programs.run_offline((sys.executable, "-c", "print(1)"), name="python").out == b"1\n"


def test_where_there_are_no_namespaces_programs_run_as_ever(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    programs._alone.cache_clear()
    monkeypatch.setattr(programs, "which", lambda *args, **more: str(tmp_path / "no-unshare"))
    assert programs._alone() == ()
    programs._alone.cache_clear()


def test_a_tool_is_told_nothing_of_clusters_and_servers(
    repository: Path, started: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", "/home/me/.kube/admin")
    monkeypatch.setenv("GITHUB_TOKEN", "hunter2")
    write(repository, {"prod/kustomization.yaml": "resources: [pod.yaml]\n"})
    problems_of(repository / "prod")
    environ = (started / "environ").read_text()
    assert "KUBECONFIG=/dev/null\n" in environ
    assert "HTTPS_PROXY=http://127.0.0.1:9\n" in environ
    assert "hunter2" not in environ


def test_every_character_reaches_go_yaml() -> None:
    """A surrogate, a byte order mark and the line ends of Unicode are escaped, characters beyond the plane are not."""
    assert as_json({"a": "\x85\u2028\ufeff\ud800\U0001f600é\x01"}) == (
        '{"a": "\\u0085\\u2028\\ufeff\\ud800\U0001f600é\\u0001"}'
    )


def test_a_remote_base_is_skipped_and_the_rest_is_read(repository: Path, started: Path) -> None:
    write(repository, {"prod/kustomization.yaml": f"resources:\n- pod.yaml\n- {URL}\n"})
    found = read_manifests([str(repository)], Options())
    assert [w.name for w in found.inventory.workloads] == ["a"]
    assert [isinstance(skip, Skipped) and skip.line for skip in found.skipped] == [3]
    assert not found.errors
    assert not started.exists()
