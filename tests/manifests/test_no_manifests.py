"""What public repositories have beside their manifests is no reason to fail, and never judged; a broken manifest is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from kubesched_lint.commands.lint.run import Request, check
from kubesched_lint.findings import Report
from kubesched_lint.linter.options import Options
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.sources.manifests.inputs import LARGEST
from kubesched_lint.sources.manifests.kustomize.contents import never_applied

WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "web:1", resources: {requests: {cpu: 100m}}}]}
"""
OTHERS = {
    "tsconfig.json": '{\n  // editors read it\n  "compilerOptions": {"strict": true,},\n}\n',
    ".devcontainer.json": '{"name": "dev", /* one */ "image": "python:3.12", "features": {},}',
    "renovate.json": "{\n  extends: ['config:base'],\n  // json5\n}\n",
    "emoji.json": '["\\ud83d\\ude00"]',
    "dashboard.json": '{"title": "\\ud83d\\ude00", "panels": []}',
    "with-bom.json": '\ufeff{"a": 1}',
    "events.json": '{"a": 1}\n{"a": 2}\n{"a": 3}\n',
    "cut.json": '{"a": [1, 2',
    "twice.json": '{"a": 1, "a": 2}',
    "nan.json": '{"loss": NaN}',
    "notebook.json": '{"cells": [], "metadata": {"kernelspec": {"name": "python3"}}, "nbformat": 4}',
    "bucket.json": '{"kind": "storage#object", "metadata": {"name": "x"}}',
    "package-lock.json": '{"name": "x", "lockfileVersion": 3, "packages": {"": {"kind": "module"}}}',
    "user-data.yaml": "#cloud-config\npackages: [curl]\nruncmd:\n- [ sh, -c, 'echo a: b' ]\nusers:\n\t- name: a\n",
    "metrics.yaml": '# HELP up Whether it is up.\n# TYPE up gauge\nup{job="a", zone="b"} 1\n',
    "playbook.yaml": "- hosts: all\n  vars:\n    key: !vault |\n      $ANSIBLE_VAULT;1.1\n    raw: !unsafe '{{ x }}'\n",
    "tasks.yml": "- name: x\n  set_fact:\n    y: {{ z }}\n",
    "stack.yml": "Resources:\n  A: {Type: AWS::S3::Bucket, Properties: {Name: !Sub '${B}-x', R: !Ref B}}\n",
    "ci.yml": "job:\n  script:\n  - !reference [.setup, script]\n",
    "mkdocs.yml": "markdown_extensions:\n- emoji: {emoji_index: !!python/name:material.extensions.emoji.twemoji ''}\n",
    "compose.yml": "services:\n  a: {image: x}\n  a: {image: y}\n",
    "page.yaml": "---\ntitle: A: B\n---\n# Text with [links](x)\n",
    "behind.yaml": "title: a\n...\nmore: [\n",
    "keys.yaml": "? {a: b}\n: c\n? [d]\n: e\n",
    "latin.yaml": b"city: K\xf6ln\n",
    "binary.yaml": b"\x00\x01\x02",
    "half.yaml": b"\xff\xfea",
}


def judged(*paths: Path, **more: object) -> Report:
    options = {"render": False, **more}
    return check(Request(tuple(map(str, paths)), **options), Options(), Rulebook.shipped())  # type: ignore[arg-type]


def write(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize("name", OTHERS)
def test_what_cannot_be_a_manifest_is_counted_and_no_error(tmp_path: Path, name: str) -> None:
    write(tmp_path, "web.yaml", WEB)
    alone = judged(tmp_path)
    path = write(tmp_path, name, OTHERS[name])
    report = judged(tmp_path)
    assert not report.errors
    assert report.findings == alone.findings
    assert set(report.summary.unread_kinds) <= {"YAML without a kind", "storage#object"}
    assert not judged(path, tmp_path / "web.yaml", force_exclude=True).errors  # as a hook names it


@pytest.mark.parametrize("name", [name for name in OTHERS if name.startswith(("ts", "cut", "nan", "compose", "latin"))])
def test_the_same_mistake_in_a_manifest_is_an_error_at_its_place(tmp_path: Path, name: str) -> None:
    text = OTHERS[name]
    head: str | bytes = "apiVersion: v1\nkind: Pod\n"
    if name.endswith(".json"):
        assert isinstance(text, str)
        head, text = '{"apiVersion": "v1", "kind": "Pod",', text[1:]
    written = head + text if isinstance(text, str) else head.encode() + text  # type: ignore[operator, union-attr]
    write(tmp_path, "web.yaml", WEB)
    write(tmp_path, name, written)
    (error,) = judged(tmp_path).errors
    assert error.path.endswith(name)
    assert error.line > 0
    assert error.column > 0


def test_what_a_person_names_is_an_error_whatever_it_is(tmp_path: Path) -> None:
    (error,) = judged(write(tmp_path, "broken.yaml", "kind: 'a\n")).errors
    assert (error.message, error.line, error.column) == ("not YAML: a quote that is never closed", 1, 7)


def test_a_resource_of_a_kustomization_is_meant(tmp_path: Path) -> None:
    write(tmp_path, "kustomization.yaml", "resources: [a.yaml]\n")
    write(tmp_path, "a.yaml", "spec: [\n")
    assert [error.path for error in judged(tmp_path).errors] == [str(tmp_path / "a.yaml")]


def test_large_data_is_no_error_and_a_large_manifest_is(tmp_path: Path) -> None:
    write(tmp_path, "web.yaml", WEB)
    write(tmp_path, "data.json", b"[" + b"1," * (LARGEST // 2) + b"1]")
    report = judged(tmp_path)
    assert not report.errors
    assert ["larger than 16 MiB" in item.reason for item in report.summary.left_out] == [True]
    write(tmp_path, "more.yaml", WEB.encode() + b"#" * LARGEST)
    assert ["larger than 16 MiB" in error.message for error in judged(tmp_path).errors] == [True]


NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "4"}}}
OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "uid": "1", "controller": True}
SPEC = {"nodeName": "n", "containers": [{"name": "web", "image": "web:1"}]}
OWNED = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "w", "ownerReferences": [OWNER]}, "spec": SPEC}
RUNNING = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "w"}, "spec": SPEC, "status": {"phase": "Running"}}
DEPLOYMENT = yaml.safe_load(WEB)


@pytest.mark.parametrize("items", [[NODE], [OWNED], [RUNNING], [DEPLOYMENT, RUNNING], [OWNED, DEPLOYMENT, NODE]])
@pytest.mark.parametrize("how", ["json", "compact", "yaml", "kubectl", "podlist"])
def test_a_dump_of_a_cluster_is_left_out(tmp_path: Path, items: list[dict[str, object]], how: str) -> None:
    value: dict[str, object] = {"apiVersion": "v1", "kind": "List", "items": items}
    if how == "podlist":
        kind = str(items[0]["kind"]) if len(items) == 1 else ""
        value |= {"kind": f"{kind}List"}
        value["items"] = [{key: item[key] for key in item if not kind or key != "kind"} for item in items]
    text = json.dumps(value, indent=None if how == "compact" else 4)
    if how in ("yaml", "kubectl"):
        text = yaml.safe_dump(value, indent=2 if how == "yaml" else None)
    write(tmp_path, "web.yaml", WEB)
    write(tmp_path, "cluster/dump.yaml" if "yaml" in how else "cluster/dump.json", text)
    report = judged(tmp_path)
    assert report.summary.documents == 1
    ((path, reason),) = ((item.path, item.reason) for item in report.summary.left_out)
    assert Path(path).stem == "dump"
    assert reason.startswith("a dump of a cluster")


@pytest.mark.parametrize(
    "text",
    [
        "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Pod, status: {phase: Failed}}\n",
        "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Node, metadata: {name: a}}\n",
        "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Node\n  metadata: {name: a}\n"
        "---\napiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Service\n  metadata: {name: a}\n",
    ],
)
def test_a_dump_by_other_hands_is_left_out(text: str) -> None:
    """Written in one line for each item, and two answers of kubectl in one file."""
    assert never_applied(text.encode()).startswith("a dump of a cluster")


@pytest.mark.parametrize(
    "items", [[DEPLOYMENT], [{**RUNNING, "status": {}}], [DEPLOYMENT, {**OWNED, "metadata": {"name": "p"}}]]
)
@pytest.mark.parametrize("dump", [json.dumps, yaml.safe_dump])
def test_a_list_of_manifests_is_read(tmp_path: Path, items: list[dict[str, object]], dump: object) -> None:
    value = {"apiVersion": "v1", "kind": "List", "items": items}
    write(tmp_path, "list.yaml", dump(value))  # type: ignore[operator]
    assert judged(tmp_path).summary.documents == len(items)


def test_the_baseline_is_told_and_not_counted(tmp_path: Path) -> None:
    write(tmp_path, "web.yaml", WEB)
    write(tmp_path, "kubesched-baseline.json", '{"kubesched-lint-baseline": 1, "findings": [\n\n]}\n')
    report = judged(tmp_path)
    assert not report.summary.unread_kinds
    assert [item.reason for item in report.summary.left_out] == ["a baseline of kubesched-lint"]


POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"


def test_a_pointer_of_git_lfs_is_told_and_nothing_is_absent_for_it(tmp_path: Path) -> None:
    """Where the files were not fetched, nobody knows what is in them."""
    (tmp_path / "web.yaml").write_text(WEB)
    (tmp_path / "cache.yaml").write_text(POINTER)
    found = judged(tmp_path)
    assert not found.errors
    assert found.summary.gaps == "1 Git LFS pointer was not read"
    (named,) = judged(tmp_path / "cache.yaml", tmp_path / "web.yaml").errors
    assert named.message == "a pointer of Git LFS: the file itself was not fetched (git lfs pull)"


@pytest.mark.parametrize(
    "written", ["path = platform", '\tpath="platform"\r', f"path = a{' ' * 300_000}b\n\tpath = platform"]
)
def test_a_submodule_that_is_not_checked_out_is_told(tmp_path: Path, written: str) -> None:
    """However long the lines are, each is read once."""
    (tmp_path / "web.yaml").write_text(WEB)
    (tmp_path / ".git").mkdir()
    (tmp_path / "platform").mkdir()
    (tmp_path / ".gitmodules").write_text(f'[submodule "platform"]\n{written}\n\turl = ../platform\n', newline="")
    assert judged(tmp_path).summary.gaps == "1 submodule was not read"


@pytest.mark.parametrize("more", ["", "---\n", "oid sha256:4d7a\n---\n"])
def test_an_object_that_begins_like_a_pointer_is_read(tmp_path: Path, more: str) -> None:
    """Argo CD applies it, so that nobody may hide a workload so."""
    (tmp_path / "web.yaml").write_text(f"version https://git-lfs.github.com/spec/v1: x\n{more}{WEB.lstrip('-')}")
    found = judged(tmp_path)
    assert found.errors or found.summary.workloads
    assert not found.summary.gaps
