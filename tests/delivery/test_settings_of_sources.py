"""What Argo CD takes of a folder, and what ApplicationSets make, where that is easily read otherwise."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.delivery.test_argocd_sets import OWN, application, generated, own, read, web
from tests.delivery.test_flux_sets import write

pytestmark = pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not on PATH")

ANCHOR = {"anchor/x.yaml": web("anchor"), "argo/anchor.yaml": application("anchor", own("anchor"), "anchor")}
"""Tells the address of this repository."""


@pytest.fixture(autouse=True)
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, {".git/HEAD": "ref: refs/heads/main\n", **ANCHOR})
    return tmp_path


def said(files: dict[str, str]) -> tuple[list[str], str]:
    """The workloads beside the anchor, and what is not read or wrong."""
    found = read(files)
    names = sorted(f"{one.namespace}/{one.name}" for one in found.inventory.workloads if one.name != "anchor")
    return names, "; ".join([one.message for one in found.errors] + [one.reason for one in found.skipped])


MARK = "# +argocd:skip-file-rendering\n"
PREFIXED = "namePrefix: k-\nresources: [web.yaml]\n"
KUSTOMIZED = {"app/kustomization.yaml": "resources: [web.yaml]\n", "app/web.yaml": web("web")}


@pytest.mark.parametrize(
    ("more", "files", "expected", "words"),
    [
        (", directory: {recurse: true}", {"app/Chart.yaml": "name: c\n", "app/web.yaml": web("web")}, ["shop/web"], ""),
        (
            "",
            {**KUSTOMIZED, "app/Chart.yaml": "name: c\n", "app/kustomization.yaml": PREFIXED},
            ["shop/k-web"],
            "",
        ),
        (", kustomize: {namePrefix: p-}", {"app/web.yaml": web("web")}, [], "its folder holds no kustomization"),
        (
            ", kustomize: {namePrefix: p-}, directory: {recurse: true}",
            KUSTOMIZED,
            [],
            "sets kustomize and directory, and may set one",
        ),
        (
            "",
            {"app/web.yaml": web("web"), "app/no.yaml": MARK + web("no")},
            ["shop/web"],
            "",
        ),
        ("", {**KUSTOMIZED, "app/.argocd-source.yaml": "kustomize: {namePrefix: all-}\n"}, ["shop/all-web"], ""),
        ("", {**KUSTOMIZED, "app/.argocd-source-app.yaml": "kustomize: {namePrefix: own-}\n"}, ["shop/own-web"], ""),
        ("", {**KUSTOMIZED, "app/.argocd-source-other.yaml": "kustomize: {namePrefix: x-}\n"}, ["shop/web"], ""),
        ("", {**KUSTOMIZED, "app/.argocd-source.yaml": "path: anchor\n"}, ["shop/web"], ""),
        (
            ", directory: {recurse: true, exclude: inner/*}",
            {"app/web.yaml": web("web"), "app/inner/no.yaml": web("no"), "app/tests/deep.yaml": web("deep")},
            ["shop/deep", "shop/web"],
            "",
        ),
    ],
)
def test_a_folder_is_what_its_settings_say(more: str, files: dict[str, str], expected: list[str], words: str) -> None:
    names, reasons = said({**files, "argo/app.yaml": application("app", own("app", more))})
    assert names == expected
    assert words in reasons
    assert bool(words) is bool(reasons)


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ("commonLabels: {team: x}, labelWithoutSelector: true", ({}, "x")),
        ("commonLabels: {team: x}", ({"team": "x"}, "x")),
        ("replicas: [{name: web, count: '4'}]", ({}, None)),
    ],
)
def test_labels_and_replicas_of_an_application(more: str, expected: tuple[dict[str, str], str | None]) -> None:
    text = "resources: [web.yaml]\nreplicas: [{name: web, count: 2}]\n"
    files = {**KUSTOMIZED, "app/kustomization.yaml": text}
    found = read({**files, "argo/app.yaml": application("app", own("app", f", kustomize: {{{more}}}"))})
    assert found.errors == ()
    (workload,) = [one for one in found.inventory.workloads if one.name == "web"]
    assert workload.source is not None
    value = workload.source.value  # type: ignore[attr-defined]
    inside = dict(value["spec"]["selector"]["matchLabels"])
    inside.pop("app")
    assert (inside, value["metadata"].get("labels", {}).get("team")) == expected
    assert workload.replicas == (4 if "replicas" in more else 2)


def test_components_that_are_missing_may_be_ignored() -> None:
    part = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nnamePrefix: c-\n"
    files = {**KUSTOMIZED, "part/kustomization.yaml": part}
    more = ", kustomize: {components: [../part, ../none], ignoreMissingComponents: true}"
    assert said({**files, "argo/app.yaml": application("app", own("app", more))}) == (["shop/c-web"], "")
    names, reasons = said({"argo/app.yaml": application("app", own("app", more.replace("true", "false")))})
    assert names == []
    assert "it lists ../none, and there is no such file or folder" in reasons


def test_links_to_files_are_followed_inside_the_repository(repo: Path) -> None:
    write(repo, {"other/web.yaml": web("linked"), "app/web.yaml": web("web")})
    for name, target in (("link.yaml", "../other/web.yaml"), ("gone.yaml", "none.yaml"), ("folder.yaml", "../other")):
        (repo / "app" / name).symlink_to(target)
    assert said({"argo/app.yaml": application("app", own("app"))}) == (["shop/linked", "shop/web"], "")
    outside = repo.parent / f"{repo.name}-outside.yaml"
    outside.write_text(web("outside"))
    (repo / "app" / "out.yaml").symlink_to(os.path.relpath(outside, repo / "app"))
    names, reasons = said({})
    assert names == ["shop/linked", "shop/web"]
    assert "leads out of the repository" in reasons


APPS = {f"apps/{name}/x.yaml": web(name) for name in ("a", "b", ".hidden")} | {"apps/a/deep/x.yaml": web("deep")}
ELEMENTS = "elements: [{name: a, path: apps/a, path.basename: a}, {name: b, path: apps/b, path.basename: b}]"


NOT_A = "selector: {matchExpressions: [{key: name, operator: NotIn, values: [a]}]}"
TEMPLATE = "template: {metadata: {name: ''}, spec: {destination: {namespace: over}}}"
CONF = "{path: 'conf/*.yaml'}"


def git(kind: str, paths: str, more: str = "") -> str:
    return f"[{{git: {{repoURL: '{OWN}', {kind}: [{paths}]{more}}}}}]"


@pytest.mark.parametrize(
    ("text", "expected", "words"),
    [
        (generated(f"[{{list: {{{ELEMENTS}}}, selector: {{matchLabels: {{name: a}}}}}}]"), ["shop/a"], ""),
        (generated(f"[{{selector: {{matchLabels: {{name: b}}}}, list: {{{ELEMENTS}}}}}]"), ["shop/b"], ""),
        (
            generated(f"[{{list: {{{ELEMENTS}}}, {NOT_A}}}]"),
            ["shop/b"],
            "",
        ),
        (
            generated(f"[{{list: {{{ELEMENTS}}}, selector: {{matchExpressions: [{{key: name, operator: Gt}}]}}}}]"),
            [],
            "its selector has the operator Gt",
        ),
        (
            generated(f"[{{list: {{{ELEMENTS}, {TEMPLATE}}}}}]"),
            ["over/a", "over/b"],
            "",
        ),
        (
            generated("[{list: {elementsYaml: '[{name: b, path: apps/b, path.basename: b}]'}}]"),
            ["shop/b"],
            "",
        ),
        (generated("[{list: {elementsYaml: '{{ .x | toJson }}'}}]"), [], "its elementsYaml is a template"),
        (generated("[{list: {elementsYaml: 'a: b'}}]"), [], "its elementsYaml is no list"),
        (generated(git("directories", "{path: apps/*}")), ["shop/a", "shop/b"], ""),
        (generated(git("directories", "{path: apps/**}")), ["shop/a", "shop/b"], ""),
        (
            generated(git("directories", "{path: apps/*}", ", pathParamPrefix: my"), "'{{my.path}}'").replace(
                "{{path.basename}}", "{{my.path.basename}}"
            ),
            ["shop/a", "shop/b"],
            "",
        ),
        (generated(git("files", CONF), "'{{folder}}'"), ["shop/a", "shop/b"], ""),
        (
            generated(git("files", f"{CONF}, {{path: conf/deep, exclude: true}}"), "'{{folder}}'"),
            ["shop/a"],
            "",
        ),
        (generated(git("files", "{path: conf/deep}"), "'{{folder}}'"), ["shop/b"], ""),
        (generated(git("files", "{path: '../*'}"), "'{{folder}}'"), [], ""),
        (
            generated(git("directories", "{path: apps/a}"), "'{{ .path.path }}'", template=True).replace(
                "namespace: shop", "namespace: '{{ .path.basename | upper }}'"
            ),
            [],
            "its destination is a template that nobody fills",
        ),
        (
            generated(git("directories", "{path: apps/a}"), "'{{ .path.path }}'", template=True).replace(
                "path: '{{ .path.path }}'", "path: '{{ .path.path }}', kustomize: {namePrefix: '{{ lower .x }}-'}"
            ),
            [],
            "its kustomize is a template that nobody fills",
        ),
    ],
)
def test_what_generators_make(text: str, expected: list[str], words: str) -> None:
    conf = {"conf/a.yaml": "{folder: apps/a, name: a}\n", "conf/deep/b.yaml": "[{folder: apps/b, name: b}]\n"}
    names, reasons = said({**APPS, **conf, "argo/all.yaml": text})
    assert names == expected
    assert words in reasons
    assert bool(words) is bool(reasons)


def test_files_with_the_line_ends_of_windows_are_read() -> None:
    files = {**APPS, "argo/all.yaml": generated(f"[{{list: {{{ELEMENTS}}}}}]")}
    assert said({path: text.replace("\n", "\r\n") for path, text in files.items()}) == (["shop/a", "shop/b"], "")
