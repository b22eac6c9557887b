"""What Argo CD applies from Applications and ApplicationSets of a repository, cluster by cluster."""

from __future__ import annotations

import os
import shutil
import tracemalloc
from collections.abc import Mapping
from pathlib import Path
from time import process_time

import pytest

from kubesched_lint.commands.lint.run import read_manifests
from kubesched_lint.custom.kinds import Kinds
from kubesched_lint.linter.globs import Globs
from kubesched_lint.linter.options import EVERYTHING, Options
from kubesched_lint.linter.reading.manifest_set import ManifestSet
from kubesched_lint.sources.delivery import argocd
from kubesched_lint.sources.delivery.argocd_objects import matches
from kubesched_lint.sources.delivery.argocd_sources import Held, held_in
from kubesched_lint.sources.delivery.entries import first_of, names_of, repository_of
from tests.delivery.test_flux_sets import UNPLACED as WEB
from tests.delivery.test_flux_sets import write
from tests.program import called

pytestmark = pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not on PATH")

OWN = "https://github.com/example/own.git"


def application(name: str, source: str, namespace: str = "shop", server: str = "") -> str:
    where = f"server: '{server}', " if server else ""
    return (
        f"---\napiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: {name}}}\n"
        f"spec:\n  destination: {{{where}namespace: {namespace}}}\n  source: {source}\n"
    )


def own(path: str, more: str = "") -> str:
    return f"{{repoURL: '{OWN}', path: {path}{more}}}"


def generated(generators: str, path: str = "'{{path}}'", server: str = "", template: bool = False) -> str:
    where = f"server: '{server}', " if server else ""
    return (
        "---\napiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: all}\n"
        f"spec:\n  goTemplate: {str(template).lower()}\n  generators: {generators}\n  template:\n"
        f"    metadata: {{name: '{'{{.path.basename}}' if template else '{{path.basename}}{{name}}'}'}}\n"
        f"    spec: {{destination: {{{where}namespace: shop}}, source: {own(path)}}}\n"
    )


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, {".git/HEAD": "ref: refs/heads/main\n"})
    return tmp_path


def read(files: Mapping[str, str], entry: str = "argo") -> ManifestSet:
    write(Path.cwd(), files)
    options = Options(applied=True, together=(EVERYTHING,), kinds=Kinds(reads_named=True))
    return read_manifests([entry], options)


def names(found: ManifestSet) -> list[str]:
    assert found.errors == ()
    return sorted(f"{workload.namespace}/{workload.name}" for workload in found.inventory.workloads)


def web(name: str) -> str:
    return WEB.replace("web", name)


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ("", ["shop/a"]),
        (", directory: {recurse: true}", ["shop/a", "shop/deep"]),
        (", directory: {recurse: true, exclude: 'inner/*'}", ["shop/a"]),
        (", directory: {recurse: true, exclude: '{other,{i,o}nner}/**'}", ["shop/a"]),
        (", directory: {recurse: true, include: '*.yaml', exclude: '{deep.yaml,a.y*}'}", ["shop/deep"]),
        (", directory: {recurse: true, include: '{*/deep.yaml,x}'}", ["shop/deep"]),
    ],
)
def test_a_folder_is_read_as_its_settings_say(repo: Path, more: str, expected: list[str]) -> None:
    files = {"app/a.yaml": web("a"), "app/inner/deep.yaml": web("deep")}
    assert names(read({**files, "argo/app.yaml": application("app", own("app", more))})) == expected


def test_applications_of_applications_are_followed(repo: Path) -> None:
    root = application("root", own("apps"), "argocd")
    children = {"apps/a.yaml": application("a", own("a")), "apps/b.yaml": application("b", own("b"))}
    overlay = {"b/kustomization.yaml": "resources: [b.yaml]\nnamespace: other\n", "b/b.yaml": web("b")}
    found = read({"argo/root.yaml": root, **children, "a/a.yaml": web("a"), **overlay}, "argo/root.yaml")
    assert names(found) == ["other/b", "shop/a"]
    assert found.not_read.is_nothing
    (entry,) = repository_of(".").entries()
    assert entry.path == "argo/root.yaml"


@pytest.mark.parametrize(
    ("source", "words", "kind"),
    [
        ("{repoURL: 'https://charts.example.com', chart: redis}", "installs the chart redis", "remote Application"),
        ("{repoURL: 'https://github.com/example/other', path: a}", "takes it from", "remote Application"),
        (own("chart"), "renders a chart", "Helm chart"),
    ],
)
def test_what_is_not_in_the_repository_is_said(repo: Path, source: str, words: str, kind: str) -> None:
    files = {"chart/Chart.yaml": "name: c\n", "a/a.yaml": web("a"), "argo/a.yaml": application("a", own("a"))}
    found = read({**files, "argo/other.yaml": application("other", source)})
    assert names(found) == ["shop/a"]
    (skipped,) = found.skipped
    assert words in skipped.reason
    assert skipped.unrendered == kind


def test_a_folder_that_does_not_exist_is_an_error_at_its_line(repo: Path) -> None:
    files = {"a/a.yaml": web("a"), "argo/a.yaml": application("a", own("a"))}
    found = read({**files, "argo/gone.yaml": application("gone", own("gone"))})
    (error,) = found.errors
    assert (error.path, error.line) == ("argo/gone.yaml", 7)
    assert "Argo CD applies nothing of it" in error.message
    assert called("lint", "--no-config", cwd=repo).returncode == 2


DIRECTORIES = f"[{{git: {{repoURL: '{OWN}', directories: [{{path: apps/*}}, {{path: apps/off, exclude: true}}]}}}}]"
LIST = "[{list: {elements: [{name: '', path: apps/a, path.basename: a}]}}]"
FILES = f"[{{git: {{repoURL: '{OWN}', files: [{{path: 'conf/*.yaml'}}]}}}}]"
TWO = f"[{{matrix: {{generators: [{{list: {{elements: [{{name: '-x'}}]}}}}, {DIRECTORIES[1:-1]}]}}}}]"
MERGED = "[{merge: {mergeKeys: [name], generators: [{list: {elements: [{name: n, path: none}]}}, OTHER]}}]".replace(
    "OTHER", "{list: {elements: [{name: n, path: apps/b}]}}"
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (generated(DIRECTORIES), ["shop/a", "shop/b"]),
        (generated(DIRECTORIES, "'{{ .path.path }}'", template=True), ["shop/a", "shop/b"]),
        (generated(LIST), ["shop/a"]),
        (generated(FILES, "'{{folder}}'"), ["shop/b"]),
        (generated(TWO), ["shop/a", "shop/b"]),
        (generated(MERGED), ["shop/b"]),
    ],
)
def test_sets_of_applications_are_made_of_their_generators(repo: Path, text: str, expected: list[str]) -> None:
    apps = {f"apps/{name}/x.yaml": web(name) for name in ("a", "b", "off")}
    found = read({"argo/all.yaml": text, **apps, "conf/b.yaml": "folder: apps/b\n"}, "argo/all.yaml")
    assert names(found) == expected


def test_what_applications_build_is_built_together_and_once(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The entry points are found by building, too, so that lint would build twice what it keeps."""
    folders = ("one", "two", "three")  # not of one letter, which YAML may read otherwise
    apps = {f"apps/{name}/x.yaml": web(name) for name in folders}
    lists = {f"apps/{name}/kustomization.yaml": "resources: [x.yaml]\n" for name in folders}
    runs = repo / "runs"
    tool = repo / "bin/kubectl"
    write(repo, {"argo/all.yaml": generated(DIRECTORIES), **apps, **lists})
    write(repo, {"bin/kubectl": f'#!/bin/sh\necho "$@" >> {runs}\nexec {shutil.which("kubectl")} "$@"\n'})
    tool.chmod(0o755)
    environ = {"PATH": f"{repo}/bin:{os.environ['PATH']}", "KUBESCHED_LINT_CACHE_DIR": str(repo / "kept")}
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert called("lint", "--no-config", cwd=repo).returncode == 0
    assert runs.read_text().count("kustomize") == 1, runs.read_text()
    assert called("lint", "--no-config", cwd=repo).returncode == 0
    assert runs.read_text().count("kustomize") == 1, runs.read_text()


def test_a_file_that_is_too_large_is_not_read_in_part(repo: Path) -> None:
    """A part of a file may be a whole list of parameters, or all objects but the last."""
    long = "# " + "x" * (16 << 20)
    text = generated(f"[{{git: {{repoURL: '{OWN}', files: [{{path: clusters.yaml}}]}}}}]", "'{{n}}'")
    files = {
        "argo/s.yaml": text,
        "clusters.yaml": f"- {{n: a}}\n{long}\n- {{n: b}}\n",
        "b/web.yaml": f"{long}\n---\n{WEB}",
    }
    found = read({**files, "argo/b.yaml": application("b", own("b"))})
    assert [(error.path, error.message) for error in found.errors] == [("b/web.yaml", "larger than 16 MiB")]
    assert [one.reason for one in found.skipped] == ["ApplicationSet all: larger than 16 MiB"]


def test_other_generators_are_said(repo: Path) -> None:
    files = {"a/a.yaml": web("a"), "argo/a.yaml": application("a", own("a"))}
    found = read({**files, "argo/all.yaml": generated("[{clusters: {}}]")})
    (skipped,) = found.skipped
    assert "what its generator clusters finds is not in this repository" in skipped.reason


PATCH = "{{- if .odd }}\nspec: {ignoreDifferences: {{ toYaml .odd }}}\n{{- end }}"


@pytest.mark.parametrize(
    ("patch", "options", "expected", "unread"),
    [
        (PATCH, "", ["shop/a"], "Application b"),
        (PATCH, "missingkey=error", [], "Application a"),
        (PATCH.replace("\n{{- end", "{{ else }}x: y{{ end"), "", [], "Application a"),
        ("spec: {source: {path: c}}", "", [], "Application a"),
    ],
)
def test_a_patch_for_some_changes_no_others(
    repo: Path, patch: str, options: str, expected: list[str], unread: str
) -> None:
    elements = "[{list: {elements: [{name: a}, {name: b, odd: [x]}]}}]"
    text = generated(elements, "'apps/{{.name}}'", template=True).replace("{{.path.basename}}", "{{.name}}")
    more = f"  goTemplateOptions: ['{options}']\n  templatePatch: |\n    " + patch.replace("\n", "\n    ") + "\n"
    found = read({"argo/all.yaml": text + more, "apps/a/x.yaml": web("a"), "apps/b/x.yaml": web("b")}, "argo/all.yaml")
    assert names(found) == expected
    assert f"{unread}: templatePatch is not read" in [skipped.reason for skipped in found.skipped]


def test_a_set_that_is_not_made_hides_no_application_of_its_name(repo: Path) -> None:
    files = {"a/a.yaml": web("a"), "argo/a.yaml": application("all", own("a"))}
    found = read({**files, "argo/all.yaml": generated("[{clusters: {}}]")})
    assert names(found) == ["shop/a"]
    (skipped,) = found.skipped
    assert skipped.reason.startswith("ApplicationSet all: what its generator clusters finds")


def test_no_application_is_lost_between_others(repo: Path) -> None:
    """Those of a circle, beside one whose root folder is another repository's, and one that a folder leaves out."""
    folder = "{recurse: true, exclude: 'argo/*'}"
    files = {
        "other/app.yaml": application("other", "{repoURL: 'https://github.com/example/other', path: ''}"),
        "left/one.yaml": application("one", own("right")),
        "right/two.yaml": application("two", own("left")),
        "right/web.yaml": web("circle"),
        "infra/argo/infra.yaml": application("infra", own("infra", f", directory: {folder}")),
        "infra/argo/more.yaml": application("more", own("m")),
        "m/m.yaml": web("m"),
    }
    found = read(files, ".")
    assert names(found) == ["shop/circle", "shop/m"]
    (entry,) = repository_of(".").entries()
    assert entry.path == "."


def test_a_set_of_nothing_but_what_is_not_read_is_no_answer(repo: Path) -> None:
    config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n"
    files = {"a/a.yaml": config, "argo/a.yaml": application("a", own("a"))}
    write(repo, {**files, "argo/all.yaml": generated("[{clusters: {}}]")})
    done = called("lint", "--no-config", cwd=repo)
    assert done.returncode == 2
    assert "not judged: no workload was read, and 1 remote Application was not read" in done.stdout + done.stderr
    write(repo, {"a/web.yaml": web("a")})
    assert called("lint", "--no-config", cwd=repo).returncode == 0


LONG = f"{{list: {{elements: [{', '.join(f'{{n: {number}}}' for number in range(300))}]}}}}"
NESTED = "{list: {}}"
for _ in range(4):
    NESTED = f"{{matrix: {{generators: [{LONG}, {NESTED}]}}}}"


@pytest.mark.parametrize(
    ("generators", "words"),
    [
        ("[{matrix: {generators: []}}]", "its generator (none)"),
        ("[{merge: {}}]", "its generator (none)"),
        (f"[{NESTED}]", "make more than 16 MiB"),
    ],
)
def test_generators_that_make_nothing_end(repo: Path, generators: str, words: str) -> None:
    files = {"a/a.yaml": web("a"), "argo/a.yaml": application("a", own("a"))}
    found = read({**files, "argo/all.yaml": generated(generators)})
    (skipped,) = found.skipped
    assert words in skipped.reason


def test_an_application_that_is_not_read_is_said(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two with one name, and of too many: what they define may be what another object needs."""
    write(repo, {f"{name}/x.yaml": web(name) for name in "abc"})
    found = read({"argo/a.yaml": application("a", own("a")), "argo/b.yaml": application("a", own("b"))})
    assert names(found) == ["shop/a"]
    assert [skipped.reason for skipped in found.skipped] == ["Application a: another one was read before it"]
    assert not found.is_complete
    monkeypatch.setattr(argocd, "MOST_FOLDERS", 1)
    found = read({"argo/b.yaml": application("b", own("b")), "argo/c.yaml": application("c", own("c"))})
    assert [error.message for error in found.errors] == ["not read: the set has more than 1 Applications"]


def test_a_folder_may_be_excluded(repo: Path) -> None:
    files = {"a/a.yaml": web("a"), "b/b.yaml": web("b"), "argo/a.yaml": application("a", own("a"))}
    write(repo, {**files, "argo/b.yaml": application("b", own("b"))})
    options = Options(applied=True, exclude=Globs(("b",)), together=(EVERYTHING,))
    found = read_manifests(["argo"], options)
    assert names(found) == ["shop/a"]
    assert [skipped.reason for skipped in found.left_out] == ["b is excluded"]


def test_each_cluster_is_a_set(repo: Path) -> None:
    elements = "[{list: {elements: [{name: eu, url: 'https://eu.example.com'}, {name: us, url: 'https://us'}]}}]"
    text = generated(elements, "'apps/{{name}}'", "{{url}}")
    write(repo, {"argo/all.yaml": text, "apps/eu/x.yaml": web("eu"), "apps/us/x.yaml": web("us")})
    entries = repository_of(".").entries()
    assert [entry.path for entry in entries] == ["argo/all.yaml#eu.example.com", "argo/all.yaml#us"]
    assert called("targets", "discover", cwd=repo).stdout.count("  1 Application,") == 2
    assert names_of(entries) == ["eu.example.com", "us"]
    assert names(read({}, "argo/all.yaml#us")) == ["shop/us"]
    done = called("lint", "--no-config", "--jobs", "1", "-v", cwd=repo)
    assert (done.returncode, "2 sets, each alone" in done.stdout) == (0, True)
    assert "no findings" in done.stdout.splitlines()[-1]
    assert "not read" not in done.stdout.splitlines()[-1]


@pytest.mark.parametrize(
    ("path", "pattern", "is_match"),
    [
        ("a/b", "a/*", True),
        ("a/b/c", "a/*", False),
        ("a/b/c", "a/**", False),
        ("a/b", "a/**", True),
        ("b", "a", False),
        ("a", "[", False),
    ],
)
def test_patterns_of_argo_cd(path: str, pattern: str, is_match: bool) -> None:
    assert matches(path, pattern) is is_match


def test_hostile_sets_end(repo: Path) -> None:
    """A matrix of two long lists, a deep folder, and Applications that name each other."""
    elements = ", ".join(f"{{name: '{number}'}}" for number in range(1_000))
    lists = f"{{list: {{elements: [{elements}]}}}}"
    deep = repo / "deep" / "/".join("d" for _ in range(600))
    deep.mkdir(parents=True)
    (deep / "web.yaml").write_text(WEB)
    circle = application("one", own("argo")) + application("two", own("argo"))
    matrix = generated(f"[{{matrix: {{generators: [{lists}, {lists}]}}}}]", "'gone/{{name}}'")
    begun = process_time()
    found = read(
        {"argo/circle.yaml": circle, "argo/matrix.yaml": matrix, "root.yaml": application("r", own("argo"))}, "."
    )
    assert found.inventory.workloads == ()
    assert process_time() - begun < 10, "what nobody can apply need not be made"
    assert 0 < len(found.errors) <= 2_000


def test_applications_alike_are_held_against_a_file_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    holds = Held.holds
    monkeypatch.setattr(Held, "holds", lambda held, file: asked.append(file) or holds(held, file))
    files = ["/r/apps/all.yaml"] * 500 + ["/r/apps/more.yaml"]
    assert first_of(files, [[Held("/r/apps")] for _ in files]) == [0]
    assert len(asked) == 2


def test_a_pattern_of_many_choices_is_not_written_out() -> None:
    tracemalloc.start()
    try:
        held = held_in("/r", {"include": "{" + "," * 20_000 + "}" + "x" * 20_000})
        assert not held.holds("/r/x")
        assert tracemalloc.get_traced_memory()[1] < 50 << 20
    finally:
        tracemalloc.stop()
