"""Many kustomizations are rendered by few runs, with the very text that one run for each would give."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from kubesched_lint.commands.lint.cache import CacheFolder
from kubesched_lint.commands.lint.run import Request, checked, read_manifests
from kubesched_lint.linter.options import Options
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.sources.manifests.inputs import InputFile
from kubesched_lint.sources.manifests.kustomize import kustomizing
from kubesched_lint.sources.manifests.kustomize.copy import KustomizeTree, without_schemas
from kubesched_lint.sources.manifests.kustomize.kustomizing import batches, render_trees
from kubesched_lint.sources.manifests.kustomize.overlays import applied_in
from kubesched_lint.sources.manifests.kustomize.rendering import (
    MARK,
    Rendered,
    RenderError,
    render_copy,
)
from kubesched_lint.sources.manifests.kustomize.tools import Tool, kustomizer
from kubesched_lint.sources.manifests.kustomize.tree import tree_of

pytestmark = pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not on PATH")

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: "web:1", envFrom: [{configMapRef: {name: settings}}]}]
"""
# Text that looks like the marks of another folder, in places where it is only text.
LOOKALIKE = f"""\
apiVersion: v1
kind: ConfigMap
metadata:
  name: lookalike
  annotations:
    {MARK}: "1"
data:
  text: |
    metadata:
      annotations:
        {MARK}: "0"
    ---
"""
ROLE = "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: web}}\n"
# In the order of names, in quotes or not, and as references.
NAMED = """\
apiVersion: v1
kind: ServiceAccount
metadata: {name: web}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: "system:web"}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: web}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "system:web"}
subjects: [{kind: ServiceAccount, name: web, namespace: default}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data: {web: web}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: web-a}
data: {"yes": "no"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: "12"}
"""
# Variables of Flux, which Kustomize takes for text: alone, with a default, inside another, and as references.
VARIABLES = """\
apiVersion: v1
kind: Secret
metadata: {name: "${APP}"}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: "${CLAIM:=${APP}}"}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: "web-${APP:-x}"}
---
apiVersion: v1
kind: Pod
metadata: {name: "${APP}-tail.A"}
spec:
  serviceAccountName: web-${APP:-x}
  containers: [{name: web, image: web, envFrom: [{secretRef: {name: "${APP}"}}, {configMapRef: {name: "${APP}-c"}}]}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: "${CLAIM:=${APP}}"}}]
"""
FILES = {
    "base/kustomization.yaml": "resources: [deployment.yaml]\n",
    "base/deployment.yaml": DEPLOYMENT,
    "generated/a/kustomization.yaml": """\
namespace: a
resources: [../../base]
configMapGenerator: [{name: settings, literals: [A=1]}]
""",
    "generated/b/kustomization.yaml": """\
namespace: b
resources: [../../base]
configMapGenerator: [{name: settings, literals: [B=2]}]
""",
    "generated/none/kustomization.yaml": """\
resources: [../../base]
configMapGenerator: [{name: settings, literals: [C=3]}]
""",
    "plain/one/kustomization.yaml": """\
resources: [map.yaml]
patches: [{target: {kind: ConfigMap}, patch: '[{"op": "add", "path": "/data/more", "value": "1"}]'}]
""",
    "plain/one/map.yaml": LOOKALIKE,
    "plain/two/kustomization.yaml": "resources: [role.yaml]\nlabels: [{pairs: {team: two}}]\n",
    "plain/two/role.yaml": ROLE,
    "plain/three/kustomization.yaml": "resources: [role.yaml]\n",
    "plain/three/role.yaml": ROLE,
    "prefixed/kustomization.yaml": "namePrefix: my-\nresources: [../base]\n",
    "named/kustomization.yaml": "resources: [maps.yaml]\n",
    "named/maps.yaml": NAMED,
    "renamed/kustomization.yaml": "namespace: named\nnamePrefix: x-\nresources: [../named]\n",
    "spaces/a/kustomization.yaml": "namespace: a\nresources: [../one]\n",
    "spaces/b/kustomization.yaml": "namespace: b\nresources: [../one]\n",
    "spaces/one/kustomization.yaml": "resources: [space.yaml]\n",
    "spaces/one/space.yaml": "{apiVersion: v1, kind: Namespace, metadata: {name: one}}\n",
    "variables/kustomization.yaml": """\
resources: [all.yaml]
configMapGenerator: [{name: "${APP}-c", literals: [A=1]}]
""",
    "variables/all.yaml": VARIABLES,
    "broken/kustomization.yaml": """\
resources: [../base]
patches: [{target: {kind: Deployment}, patch: '[{"op": "bad"}]'}]
""",
    "refused/kustomization.yaml": """\
resources: [map.yaml]
patches: [{target: {kind: ConfigMap}, patch: '[{"op": "remove", "path": "/data/missing"}]'}]
""",
    "refused/map.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: refused}, data: {a: b}}\n",
}
FOLDERS = sorted({os.path.dirname(name) for name in FILES if name.endswith("kustomization.yaml")})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def trees() -> list[KustomizeTree]:
    return [tree for name in FOLDERS if (tree := tree_of(name)) is not None]


def tool() -> Tool:
    found = kustomizer()
    assert found is not None
    return found


def text_of(outcome: Rendered | RenderError, tree: KustomizeTree) -> str:
    """The text; each run has its own temporary folder, so the origins are given by their real paths."""
    if isinstance(outcome, RenderError):
        return f"error: {outcome}"
    lines = outcome.text.split("\n")
    marks = ("      path: ", "      configuredIn: ")

    def shown(line: str) -> str:
        mark = next((mark for mark in marks if line.startswith(mark)), "")
        return f"{mark}{outcome.real(line.removeprefix(mark))}" if mark else line

    return "\n".join(map(shown, lines))


def one_by_one(tree: KustomizeTree) -> Rendered | RenderError:
    try:
        return render_copy(tool(), tree)
    except RenderError as error:
        return error


def test_a_batch_gives_the_text_of_single_runs(folder: Path) -> None:
    runs: list[int] = []
    alone: list[str] = []
    copies, copy = kustomizing.render_copies, kustomizing.render_copy

    def counting(tool: Tool, batch: Sequence[KustomizeTree]) -> Rendered:
        runs.append(len(batch))
        return copies(tool, batch)

    def noting(tool: Tool, tree: KustomizeTree, *, whole: bool = False) -> Rendered:
        alone.append(tree.folder)
        return copy(tool, tree, whole=whole)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kustomizing, "render_copies", counting)
        patch.setattr(kustomizing, "render_copy", noting)
        together = render_trees(trees(), tool())
    assert max(runs) > 2
    assert "named" in alone  # one of its names is a number
    assert "variables" not in alone
    for tree in trees():
        assert text_of(together[tree.real], tree) == text_of(one_by_one(tree), tree), tree.folder
    failed = {os.path.relpath(real, folder) for real, found in together.items() if isinstance(found, RenderError)}
    assert failed == {"broken", "refused"}


def test_folders_with_the_same_objects_share_a_batch_unless_names_are_kept(folder: Path) -> None:
    apart = [{os.path.relpath(tree.real, folder) for tree in batch} for batch in batches(trees())]
    assert any({"base", "broken", "prefixed", "generated/none", "spaces/a", "spaces/b"} <= batch for batch in apart)
    assert {"plain/one"} in apart  # it has our own mark
    both = replace(next(tree for tree in trees() if tree.folder.endswith("spaces/a")), value={})
    assert [len(batch) for batch in batches([both, both])] == [1, 1]


def test_batches_cover_each_folder_once(tmp_path: Path) -> None:
    many = [KustomizeTree(str(tmp_path / str(n)), {}, folders={"/base"}) for n in range(100)]
    kept = {"crd.yaml": b"kind: CustomResourceDefinition"}
    many += [KustomizeTree(str(tmp_path / f"one-{n}"), {}, folders={"/base"}, files=kept) for n in range(5)]
    found = list(batches(many))
    assert sorted(tree.folder for batch in found for tree in batch) == sorted(tree.folder for tree in many)
    assert len(found) == 1 + 4


def outcomes(store: CacheFolder) -> Mapping[str, str]:
    folders = [name for name in FOLDERS if name not in ("broken", "refused")]  # failures are not kept
    return {path: repr(found) for path, (found,) in applied_in(folders, ".", store=store).instead.items()}


def test_an_unchanged_folder_is_not_rendered_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = CacheFolder(str(folder / "kept"))
    before = outcomes(store)
    rendered: list[str] = []
    monkeypatch.setattr(kustomizing, "_rendered", lambda batch, tool: rendered.extend(t.folder for t in batch) or {})
    assert outcomes(store) == before
    assert rendered == []


def test_the_commands_share_the_renderings(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBESCHED_LINT_CACHE_DIR", str(folder / "kept"))
    before = read_manifests(["generated"], Options())
    rendered: list[str] = []

    def refused(batch: Sequence[KustomizeTree], tool: Tool) -> Mapping[str, RenderError]:
        rendered.extend(tree.folder for tree in batch)
        return {tree.real: RenderError("no tool") for tree in batch}

    monkeypatch.setattr(kustomizing, "_rendered", refused)
    after = [read_manifests(["generated"], Options())]
    after.append(checked(Request(("generated",), cache=True), Options(), Rulebook.shipped()).manifests)
    assert rendered == []
    for manifests in after:
        assert [str(w) for w in manifests.inventory.workloads] == [str(w) for w in before.inventory.workloads] != []
    checked(Request(("generated",), cache=False), Options(), Rulebook.shipped())
    assert rendered, "--no-cache renders again"


@pytest.mark.parametrize("changed", ["base/deployment.yaml", "generated/a/kustomization.yaml"])
def test_a_changed_file_is_rendered_again(folder: Path, changed: str) -> None:
    store = CacheFolder(str(folder / "kept"))
    a = [tree for tree in trees() if tree.folder == "generated/a"]
    render_trees(a, tool(), store)
    (folder / changed).write_text((folder / changed).read_text().replace("web:1", "web:2").replace("A=1", "A=2"))
    a = [tree for tree in trees() if tree.folder == "generated/a"]
    new = render_trees(a, tool(), store)[a[0].real]
    assert isinstance(new, Rendered)
    assert "web:2" in new.text or 'A: "2"' in new.text


def test_a_new_tool_renders_again(folder: Path) -> None:
    store = CacheFolder(str(folder / "kept"))
    a = [tree for tree in trees() if tree.folder == "generated/a"]
    render_trees(a, tool(), store)
    other = folder / "kubectl"
    other.write_text(f'#!/bin/sh\n"{tool().command[0]}" "$@" | sed s/web:1/web:new/\n')
    other.chmod(0o755)
    found = render_trees(a, Tool("kubectl kustomize", (str(other), "kustomize")), store)[a[0].real]
    assert isinstance(found, Rendered)
    assert "web:new" in found.text


def test_a_damaged_entry_is_rendered_again(folder: Path) -> None:
    store = CacheFolder(str(folder / "kept"))
    a = [tree for tree in trees() if tree.folder == "generated/a"]
    before = render_trees(a, tool(), store)[a[0].real]
    (entry,) = (folder / "kept").glob("*.rendering")
    entry.write_bytes(entry.read_bytes()[:-1] + b"?")
    assert text_of(render_trees(a, tool(), store)[a[0].real], a[0]) == text_of(before, a[0])


CRD = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  names: {kind: Thing, plural: things}
  scope: Namespaced
  versions:
  # the only one
  - name: v1

    served: true
"""


@pytest.mark.parametrize("more", ["", "status: {a: b}\n", "# the end\n---\napiVersion: v1\nkind: Pod\nspec: {a: b}\n"])
def test_the_copy_has_no_schemas(more: str) -> None:
    head = CRD.partition("spec:")[0]
    rest = more.removeprefix("# the end\n")  # a comment behind the spec goes with it
    assert without_schemas((CRD + more).encode()) == f"{head}spec: {{}}\n{rest}".encode()
    other = CRD.replace("CustomResourceDefinition", "Thing # CustomResourceDefinition")
    assert without_schemas(other.encode()) == other.encode()


def test_a_patch_of_a_schema_gets_the_whole_file(tmp_path: Path) -> None:
    (tmp_path / "crd.yaml").write_text(CRD)
    (tmp_path / "kustomization.yaml").write_text(
        "resources: [crd.yaml]\npatches:\n- target: {kind: CustomResourceDefinition}\n"
        "  patch: |-\n    - {op: replace, path: /spec/versions/0/name, value: v2}\n"
    )
    (file,) = applied_in([str(tmp_path)], str(tmp_path)).instead[str(tmp_path / "kustomization.yaml")]
    assert isinstance(file, InputFile)
    assert b"name: v2" in file.data
