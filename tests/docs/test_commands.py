"""Every command in the documentation runs as it stands there, or is listed here with the reason why it cannot.

The commands of one page run one after another in a folder that holds what the pages speak of: manifests, a sketch,
nodes.json, this repository's fixtures and examples. A fence of YAML or TOML whose first line is a comment with a file's
name is saved under that name before.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml
from msgspec import Struct

ROOT = Path(__file__).parent.parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), ROOT / "examples" / "shop-repo" / "README.md"]
LINKED = [*PAGES, *sorted((ROOT / "docs" / "research").glob("*.md")), *sorted(ROOT.glob("*/CARDS.md"))]
CONSOLE = ("console", "sh", "shell", "bash")
OURS = ("kubesched-lint ", "$ kubesched-lint ", "kubectl ", "$ kubectl ", "helm ", "$ helm ")

NOT_RUN = {
    r"python -m pip install \.": "downloads; test_ci_files.py installs the package into a fresh environment",
    r"python -m pip install -e ": "downloads; .ci/run does precisely this",
    r"pip install ": "downloads",
    r"git clone ": "downloads",
    r"python3 -m venv ": "takes seconds; .ci/run does the same",
    r"env=|install=|.*\"\$(env|\{install)": "downloads; tests/hostile/test_ci_runs_nothing.py runs what is like it",
    r"kubectl get ": "asks a live cluster; tests/cluster/test_kubectl_output.py reads recorded answers",
    r"kubesched-lint snapshot ": "asks a live cluster; tests/capture runs it against a recorded one",
    r"kubesched-lint drain ": "takes seconds; tests/drain/test_drain_plans.py runs it and compares what it prints",
    r"kubesched-lint simulate fixtures/shop ": "takes seconds; test_simulate_documented.py compares what it prints",
    r"kubesched-lint lint .* --watch": "does not end; tests/cli/test_watch.py watches",
    r"uvx kubesched-lint |pipx install ": "downloads a release from PyPI",
    r"kubectl krew ": "krew is not installed here; tests/scripts/test_artifacts.py reads the files",
    r"gh ": "asks GitHub about a release",
    r"podman ": "no container engine here; test_ci_files.py makes the same copies and installs from them",
    r"sphinx-build ": "takes 15 seconds; .ci/run does precisely this",
    r"kubesched-lint charts pull": "uses the network; tests/charts pulls from a server of its own",
    r"kubesched-lint targets discover": "needs a repository of Flux; tests/delivery/test_flux_sets.py has some",
}
"""What a command begins with, as a pattern, and why it is not run."""


class Fence(Struct, frozen=True):
    """``line`` of the page, from 1; ``kind`` is empty for an indented block."""

    line: int
    kind: str
    text: str


def fences(page: Path) -> Iterator[Fence]:
    """Fenced blocks, and blocks that are indented by four."""
    kind: str | None = None
    start, kept = 0, []
    for number, line in enumerate([*page.read_text().split("\n"), ""], 1):
        if line.startswith("```"):
            if kind is None or kind == "indented":
                kind, start, kept = line[3:].strip(), number + 1, []
            else:
                yield Fence(start, kind, "\n".join(kept))
                kind = None
        elif kind is None and line.startswith("    ") and line.strip():
            kind, start, kept = "indented", number, [line[4:]]
        elif kind == "indented" and not line.startswith("    "):
            yield Fence(start, "", "\n".join(kept))
            kind = None
        elif kind is not None:
            kept.append(line[4:] if kind == "indented" else line)


def commands(fence: Fence) -> list[str]:
    """A line that ends in a backslash goes on in the next. Where some lines begin with ``$``, the others are output."""
    lines = fence.text.replace("\\\n", " ").split("\n")
    if fence.kind in CONSOLE:
        prompted = any(line.startswith("$ ") for line in lines)
        chosen = [line for line in lines if line.startswith("$ ") or not prompted]
    else:
        chosen = [line for line in lines if line.startswith(OURS)] if fence.kind == "" else []
    return [line.removeprefix("$ ") for line in chosen if line.strip() and not line.startswith("#")]


def is_left_out(command: str) -> str | None:
    """The pattern that says why a command is not run."""
    return next((pattern for pattern in NOT_RUN if re.match(pattern, command)), None)


WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: "registry.example.com/shop/web:1.0", resources: {requests: {cpu: 100m, memory: 64Mi}}}
"""


CRD = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget, plural: widgets}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        properties:
          spec: {properties: {template: {properties: {spec: {properties: {containers: {type: array}}}}}}}
"""
ROLLOUT = WEB.replace("apps/v1", "argoproj.io/v1alpha1").replace("Deployment", "Rollout")
SCHEDULER = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{schedulerName: default-scheduler}]
"""


LARGE = ("fixtures", "examples", "rules")


def prepare(folder: Path, program: Path) -> None:
    """What the pages' commands expect to find."""
    for name in LARGE:
        shutil.copytree(ROOT / name, folder / name)
    sketch = (ROOT / "fixtures" / "clusters" / "three-zones.yaml").read_text()
    (folder / "web.yaml").write_text(WEB)
    (folder / "manifests").mkdir()
    (folder / "manifests" / "web.yaml").write_text(WEB)
    overlays = folder / "manifests" / "overlays" / "prod"
    shutil.copytree(ROOT / "examples" / "shop-repo" / "manifests", folder / "overlays-of-shop")
    overlays.mkdir(parents=True)
    (overlays / "kustomization.yaml").write_text("resources: [app.yaml]\n")
    (overlays / "app.yaml").write_text(WEB.replace("name: web,", "name: app,"))
    shutil.copytree(overlays, folder / "overlays" / "prod")
    shutil.copytree(ROOT / "fixtures" / "charts" / "shop", folder / "shop")
    (folder / "snapshots").mkdir()
    for name in ("cluster.yaml", "sketch.yaml", "snapshots/eu.yaml", "snapshots/us.yaml"):
        (folder / name).write_text(sketch)
    (folder / "nodes.json").write_text(json.dumps(nodes()))
    (folder / "scheduler.yaml").write_text(SCHEDULER)
    (folder / "widgets-crd.yaml").write_text(CRD)
    (folder / "rollout.yaml").write_text(f"{ROLLOUT}  strategy: {{canary: {{}}}}\n")
    for name in ("cluster.json", "cluster.json.gz"):
        (folder / name).write_text(json.dumps(nodes()))
    for file in (folder / "fixtures" / "conformance").glob("*.jsonl.gz"):
        file.write_bytes(gzip.compress(first_cases(file), 1))
    (folder / "mine.jsonl").write_bytes(first_cases(folder / "fixtures" / "conformance" / "decisions.jsonl.gz"))
    programs(folder / "bin", program)
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false")
    (folder / "kubesched.toml").write_text("# all as it is by default\n")
    added = ["add", "cluster.yaml", "kubesched.toml", "manifests"]
    remote = ["update-ref", "refs/remotes/origin/main", "HEAD"]
    for command in (["init", "-q"], added, [*identity, "commit", "-qm", "start"], remote):
        subprocess.run(["git", *command], cwd=folder, check=True, capture_output=True)


def first_cases(recording: Path) -> bytes:
    """The first three of a recording: other tests judge them all."""
    return b"".join(gzip.decompress(recording.read_bytes()).splitlines(keepends=True)[:3])


def nodes() -> dict[str, object]:
    """As ``kubectl get nodes -o json`` prints it."""
    items = [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": f"node-{zone}",
                "labels": {"kubernetes.io/hostname": f"node-{zone}", "topology.kubernetes.io/zone": zone},
            },
            "status": {"allocatable": {"cpu": "4", "memory": "16Gi", "pods": "110"}},
        }
        for zone in ("a", "b", "c")
    ]
    return {"apiVersion": "v1", "kind": "List", "items": items}


def programs(folder: Path, program: Path) -> None:
    """``kubesched-lint``, and a ``helm`` that prints what Helm's library made of the chart."""
    folder.mkdir()
    (folder / "kubesched-lint").symlink_to(program)
    recorded = ROOT / "fixtures" / "charts" / "recorded" / "shop.yaml"
    texts = {"helm": f'cat "{recorded}"', "python": f'exec "{sys.executable}" "$@"'}
    for name, text in texts.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory, program: Path) -> Path:
    folder = tmp_path_factory.mktemp("docs") / "prepared"
    folder.mkdir()
    prepare(folder, program)
    return folder


def unnamed(text: str, prepared: Path) -> Callable[[str, list[str]], list[str]]:
    """What a page does not name among the fixtures, examples and rules: most pages need few of 600 files."""
    large = {str(prepared / name) for name in LARGE}
    return lambda folder, names: [name for name in names if name not in text] if folder in large else []


@pytest.mark.skipif(shutil.which("kubectl") is None or shutil.which("git") is None, reason="needs kubectl and git")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_commands_of_a_page_run(page: Path, prepared: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    shutil.copytree(prepared, work, symlinks=True, ignore=unnamed(f"{page}\n{page.read_text()}", prepared))
    if page.parent.name == "shop-repo":
        work = work / "examples" / "shop-repo"
        subprocess.run(["git", "init", "-q"], cwd=work, check=True)
    environ = {**os.environ, "PATH": f"{tmp_path / 'work' / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    environ["PYTHONPATH"] = str(ROOT)
    if any("-o cluster.yaml" in c and "--force" not in c for fence in fences(page) for c in commands(fence)):
        (work / "cluster.yaml").unlink()  # the page shows how it is made
    for fence in fences(page):
        named = re.match(r"# ([\w./-]+\.(?:ya?ml|toml))\n", fence.text)
        if fence.kind in ("yaml", "toml") and named and not named[1].startswith("."):
            (work / named[1]).write_text(fence.text)
        for command in commands(fence):
            if is_left_out(command) is None:
                done = subprocess.run(
                    ["bash", "-o", "pipefail", "-c", command],
                    cwd=work,
                    env=environ,
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    text=True,
                    timeout=120,
                    check=False,
                )
                failure = (
                    f"{page.name}:{fence.line}: {command}\nended with {done.returncode}\n{done.stdout}{done.stderr}"
                )
                assert done.returncode in (0, 1), failure
                assert "Traceback" not in done.stderr, failure


@pytest.mark.parametrize(("cluster", "code"), [("cluster.yaml", 1), ("nowhere.yaml", 2)])
def test_the_program_of_these_pages_is_the_one_that_python_starts(
    cluster: str, code: int, program: Path, tmp_path: Path
) -> None:
    shutil.copy(ROOT / "fixtures" / "clusters" / "three-zones.yaml", tmp_path / "cluster.yaml")
    manifests = (ROOT / "fixtures" / "shop" / "cache.yaml").read_text()
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    ends = []
    for command in ([program], [sys.executable, "-m", "kubesched_lint"]):
        command += ["lint", "-", "-c", cluster]
        done = subprocess.run(command, cwd=tmp_path, env=environ, input=manifests, capture_output=True, text=True)
        ends.append((done.returncode, done.stdout, done.stderr))
    assert ends[0] == ends[1]
    assert ends[0][0] == code


def test_what_is_not_run_is_still_in_the_documentation() -> None:
    there = {is_left_out(command) for page in PAGES for fence in fences(page) for command in commands(fence)}
    assert set(NOT_RUN) <= there, f"no page has these any more: {set(NOT_RUN) - there}"


def test_every_page_has_its_commands_found() -> None:
    found = {page.name: sum(len(commands(fence)) for fence in fences(page)) for page in PAGES}
    assert found["README.md"] >= 3
    assert found["sketch.md"] >= 4
    assert found["ci-more.md"] >= 3


# --- what pages show beside commands ----------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_yaml_in_a_page_is_yaml(page: Path) -> None:
    for fence in fences(page):
        if fence.kind == "yaml":
            assert list(yaml.safe_load_all(fence.text.replace("…", "etc"))), f"{page.name}:{fence.line}"


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not on PATH")
@pytest.mark.parametrize("replicas", [3, 9])
def test_the_plugin_for_argo_cd_prints_only_what_is_clean(prepared: Path, tmp_path: Path, replicas: int) -> None:
    plugin = yaml.safe_load((ROOT / "examples" / "deploy-gates" / "argocd-plugin.yaml").read_text())
    generate = plugin["spec"]["generate"]
    repo = tmp_path / "repo"
    shutil.copytree(ROOT / "examples" / "shop-repo", repo)
    overlay = repo / "manifests" / "overlays" / "prod"
    listed = (
        (overlay / "kustomization.yaml")
        .read_text()
        .replace("{name: cache, count: 3}", f"{{name: cache, count: {replicas}}}")
    )
    (overlay / "kustomization.yaml").write_text(listed)
    script = generate["args"][0].replace("/etc/kubesched/cluster.yaml", str(repo / "cluster.yaml"))
    environ = {**os.environ, "PATH": f"{prepared / 'bin'}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [*generate["command"], script], cwd=overlay, env=environ, capture_output=True, text=True, check=False
    )
    if replicas == 3:
        assert done.returncode == 0, done.stderr
        assert (
            done.stdout
            == subprocess.run(
                ["kubectl", "kustomize", "."], cwd=overlay, capture_output=True, text=True, check=True
            ).stdout
        )
    else:
        assert (done.returncode, done.stdout) == (1, "")
        assert "error[anti-affinity-exceeds-domains]" in done.stderr


def test_the_page_on_sketches_names_every_field() -> None:
    schema = json.loads((ROOT / "kubesched_lint" / "schemas" / "cluster.schema.json").read_text())["$defs"]
    page = (ROOT / "docs" / "sketch.md").read_text()
    fields = {*schema["ClusterSketch"]["properties"], *schema["nodes"]["properties"]} - {"apiVersion", "kind", "nodes"}
    assert not [field for field in sorted(fields) if f"`{field}`" not in page]


@pytest.mark.parametrize("page", LINKED, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_to_files_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text())
    missing = [t for t in targets if "://" not in t and not (page.parent / t).exists()]
    assert not missing


@pytest.mark.parametrize("page", LINKED, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_to_headings_lead_to_one(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]*)#([^)]+)\)", page.read_text())
    local = [(page.parent / target if target else page, anchor) for target, anchor in links if "://" not in target]
    missing = [f"{file.name}#{anchor}" for file, anchor in local if anchor not in anchors(file)]
    assert not missing


def test_anchors_are_made_as_github_makes_them(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# What it holds, and what `not`\n\n```sh\n# no heading\n```\n\n## Twice\n\n## Twice\n")
    assert anchors(page) == {"what-it-holds-and-what-not", "twice", "twice-1"}


def anchors(page: Path) -> set[str]:
    """What GitHub calls the headings of a page: small letters, no punctuation, a number behind what comes again."""
    found: set[str] = set()
    is_code = False
    for line in page.read_text().split("\n"):
        is_code ^= line.startswith("```")
        heading = re.match(r"#{1,6} +(.+)", line)
        if heading and not is_code:
            stem = re.sub(r"[^\w\- ]", "", heading[1].strip().lower()).replace(" ", "-")
            found.add(next(name for name in (stem, *(f"{stem}-{n}" for n in range(1, 99))) if name not in found))
    return found
