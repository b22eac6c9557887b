"""Charts that Applications of Argo CD install: from the lock, or from the repository, with their values."""

from __future__ import annotations

import gzip
import json
import os
import shutil
from pathlib import Path

import pytest
import yaml

from kubesched_lint.commands.lint.run import entries_of
from kubesched_lint.custom.kinds import Kinds
from kubesched_lint.linter.reading.manifest_set import ManifestSet, manifest_set
from kubesched_lint.sources.charts.folder import keep
from kubesched_lint.sources.charts.lock import Locked, Pinned, text_of
from kubesched_lint.sources.charts.rendering import Charts
from kubesched_lint.sources.delivery.entries import applied_files, charts_of_applications, repository_of
from tests.charts.packing import TEMPLATE, VALUES, WEB, needs_helm, packed, program
from tests.delivery.test_argocd_sets import OWN, application, own
from tests.delivery.test_flux_sets import UNPLACED as PLAIN
from tests.delivery.test_flux_sets import write

pytestmark = pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not on PATH")

ADDRESS = "https://example.com/charts"
REMOTE = f"repoURL: '{ADDRESS}', chart: web, targetRevision: 1.2.3"
DEPLOYMENT = "# Source: web/templates/web.yaml\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n"
ANCHOR = {"a/a.yaml": PLAIN, "argo/a.yaml": application("a", own("a"), "default")}
"""Tells the address of this repository."""


@pytest.fixture
def charts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Charts:
    """A lock with one chart, and a ``helm`` that keeps the values and the words it got."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path, {".git/HEAD": "ref: refs/heads/main\n", **ANCHOR})
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    outside.mkdir()
    digest = keep(str(outside / "charts"), packed(WEB))
    (outside / "lock").write_text(text_of([(Pinned(ADDRESS, "web", "1.2.3"), Locked(digest))]))
    (outside / "out").write_text(DEPLOYMENT)
    script = f'echo "$@" > {outside}/words; for w; do case $w in *values.json) cat "$w" > {outside}/values;; esac; done'
    folder = program(outside / "bin", f"{script}\ncat {outside}/out\n")
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return Charts(str(outside / "lock"), str(outside / "charts"))


def read(charts: Charts | None, **files: str) -> ManifestSet:
    write(Path(), {f"{name.replace('__', '/')}.yaml": text for name, text in files.items()})
    kinds = Kinds(reads_named=True, charts=charts)
    return manifest_set(entries_of(applied_files(["argo"], charts=charts), kinds), "default", kinds=kinds)


def got(charts: Charts, name: str) -> str:
    return (Path(charts.lock).parent / name).read_text()


def names(found: ManifestSet) -> list[str]:
    return sorted(workload.ref.title for workload in found.inventory.workloads)


def test_a_locked_chart_is_rendered_with_the_values_in_their_order(charts: Charts) -> None:
    parameters = (
        "[{name: replicaCount, value: '4'}, {name: a.b, value: 'true'}, {name: c, value: '1', forceString: true}]"
    )
    helm = f"{{releaseName: rel, valuesObject: {{replicaCount: 2, a: {{x: 1}}}}, parameters: {parameters}}}"
    found = read(charts, argo__web=application("web", f"{{{REMOTE}, helm: {helm}}}"))
    assert names(found) == ["default/web", "shop/web"]
    assert json.loads(got(charts, "values")) == {"replicaCount": 4, "a": {"x": 1, "b": True}, "c": "1"}
    words = got(charts, "words").split()
    assert words[words.index("--namespace") + 1] == "shop"
    assert words[-2] == "rel"
    (made,) = [one for one in found.documents if one.path.startswith("web/templates")]
    assert (made.path, made.delivered_by and made.delivered_by.title) == (
        "web/templates/web.yaml (rendered)",
        "Application web",
    )
    near = made.location(("metadata", "name")).near
    assert near is not None
    assert near.path == "argo/web.yaml"


@needs_helm
@pytest.mark.parametrize(
    ("files", "replicas"),
    [
        ("[prod.yaml]", 5),
        ("[prod.yaml, $mine/values/web.yaml]", 7),
        ("[$mine/values/web.yaml, /prod.yaml]", 5),
        ("[none.yaml], ignoreMissingValueFiles: true", 3),
        ("[prod.yaml], values: 'replicaCount: 9'", 9),
    ],
)
def test_values_of_the_chart_are_in_its_archive(
    charts: Charts, monkeypatch: pytest.MonkeyPatch, files: str, replicas: int
) -> None:
    """Above the chart's own values, in the order in which they are listed."""
    monkeypatch.setenv("PATH", os.environ["PATH"].partition(":")[2])
    digest = keep(charts.folder, packed({**WEB, "prod.yaml": "replicaCount: 5\n"}))
    Path(charts.lock).write_text(text_of([(Pinned(ADDRESS, "web", "1.2.3"), Locked(digest))]))
    sources = f"  sources:\n  - {{{REMOTE}, helm: {{valueFiles: {files}}}}}\n  - {{repoURL: '{OWN}', ref: mine}}\n"
    app = application("web", "{}").replace("  source: {}\n", sources)
    found = read(charts, argo__web=app, values__web="replicaCount: 7\n")
    assert [skipped.reason for skipped in found.skipped] == []
    (web,) = [one for one in found.inventory.workloads if one.namespace == "shop"]
    assert web.replicas == replicas
    assert web.pod.priority_class == "high"


def test_values_of_another_source_are_files_of_this_repository(charts: Charts) -> None:
    chart = f"{{{REMOTE}, helm: {{valueFiles: [$mine/values/web.yaml]}}}}"
    sources = f"  sources:\n  - {chart}\n  - {{repoURL: '{OWN}', ref: mine}}\n"
    app = application("web", "{}").replace("  source: {}\n", sources)
    found = read(charts, argo__web=app, values__web="replicaCount: 7\n")
    assert names(found) == ["default/web", "shop/web"]
    assert json.loads(got(charts, "values")) == {"replicaCount": 7}


@pytest.mark.parametrize(
    ("source", "why"),
    [
        (
            REMOTE.replace("1.2.3", "1.*"),
            "web 1.* is a range, and kubesched-charts.lock has no version for it: kubesched-lint charts pull",
        ),
        (REMOTE.replace("1.2.3", "main"), "main is no version of the chart web"),
        (REMOTE.replace("1.2.3", "1.2.4"), "web 1.2.4 is not in kubesched-charts.lock: kubesched-lint charts pull"),
        (f"{REMOTE}, helm: {{valueFiles: [values-prod.yaml]}}", "web 1.2.3: values-prod.yaml is not in the chart"),
        (f"{REMOTE}, helm: {{valueFiles: [https://example.com/a]}}", "https://example.com/a is not read"),
        (f"{REMOTE}, helm: {{valueFiles: ['*.yaml']}}", "*.yaml is not read"),
        (f"{REMOTE}, helm: {{valueFiles: [$other/a.yaml]}}", "$other/a.yaml is in another repository"),
        (f"{REMOTE}, helm: {{values: '[]'}}", "its values are no mapping"),
        (f"{REMOTE}, helm: {{values: 'a: {{{{x}}}}'}}", "its values are a template that nobody fills"),
        (f"{REMOTE}, helm: {{parameters: [{{name: 'a[0]', value: x}}]}}", "the parameter a[0] is not read"),
        (f"{REMOTE}, helm: {{fileParameters: [{{name: a, path: x}}]}}", "helm.fileParameters is not read"),
        (REMOTE.replace("https", "file"), "file://example.com/charts is no address of charts"),
    ],
)
def test_what_is_not_rendered_says_why(charts: Charts, source: str, why: str) -> None:
    found = read(charts, argo__web=application("web", f"{{{source}}}"))
    assert [skipped.reason for skipped in found.skipped] == [f"Application web: {why}"]
    assert names(found) == ["default/web"]


def test_without_charts_nothing_is_rendered(charts: Charts) -> None:
    found = read(None, argo__web=application("web", f"{{{REMOTE}}}"))
    assert [skipped.reason for skipped in found.skipped] == ["Application web: it installs the chart web"]
    assert not (Path(charts.lock).parent / "words").exists()


def test_without_helm_there_is_one_error(charts: Charts, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    only = tmp_path.parent / f"{tmp_path.name}-only"
    only.mkdir()
    (only / "kubectl").symlink_to(shutil.which("kubectl") or "")
    monkeypatch.setenv("PATH", str(only))
    two = "".join(application(name, f"{{{REMOTE}}}") for name in ("x", "y"))
    found = read(charts, argo__web=two)
    assert [error.message for error in found.errors] == [
        "charts are to be rendered (gitops.helm), and helm is not on PATH"
    ]
    assert len(found.skipped) == 2


def test_the_charts_to_pull_are_those_of_applications_too(charts: Charts) -> None:
    sources = (REMOTE, REMOTE.replace("1.2.3", "1.*"), "repoURL: ghcr.io/org/charts, chart: app, targetRevision: 2.0.0")
    text = "".join(application(f"a{number}", f"{{{source}}}") for number, source in enumerate(sources))
    write(Path(), {"argo/web.yaml": text})
    found = charts_of_applications(repository_of("."))
    ranged = Pinned(ADDRESS, "web", "1.*")
    assert found == (Pinned(ADDRESS, "web", "1.2.3"), ranged, Pinned("oci://ghcr.io/org/charts", "app", "2.0.0"))


@needs_helm
def test_a_chart_of_the_repository_is_rendered_with_its_value_files(
    charts: Charts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", os.environ["PATH"].partition(":")[2])
    write(Path(), {f"charts/web/{name}": text for name, text in WEB.items()})
    source = own("charts/web", ", helm: {valueFiles: [prod.yaml, none.yaml], ignoreMissingValueFiles: true}")
    write(Path(), {"charts/web/prod.yaml": "replicaCount: 5\n"})
    found = read(charts, argo__web=application("web", source))
    (web,) = [one for one in found.inventory.workloads if one.namespace == "shop"]
    assert (web.name, web.replicas) == ("web-front", 5)
    assert web.source is not None
    assert web.source.path == "charts/web/templates/web.yaml (rendered)"
    assert yaml.safe_load(VALUES)["replicaCount"] == 3
    assert "replicaCount" in TEMPLATE


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("$mine/../../etc/passwd", "leads out of the repository"),
        ("$mine/../outside/../../../etc/passwd", "leads out of the repository"),
        ("$mine/linked.yaml", "a link that leads out of the repository: it is not read"),
        ("$mine/folder/values.yaml", "a link that leads out of the repository: it is not read"),
        ("$mine/pipe", "not a regular file"),
        ("$mine/large.yaml", ": larger than 16 MiB"),
        ('"$mine/a\\0b"', "no name of a file"),
        ('"$mine/\\u001b[31m\\nx"', "does not exist"),
    ],
)
def test_values_outside_the_repository_are_not_read(charts: Charts, name: str, why: str) -> None:
    outside = Path(charts.lock).parent
    (outside / "values.yaml").write_text("replicaCount: 9\n")
    Path("linked.yaml").symlink_to(outside / "values.yaml")
    Path("folder").symlink_to(outside)
    os.mkfifo("pipe")
    Path("large.yaml").write_text("a: " + "x" * (16 << 20))
    sources = f"  sources:\n  - {{{REMOTE}, helm: {{valueFiles: [{name}]}}}}\n  - {{repoURL: '{OWN}', ref: mine}}\n"
    found = read(charts, argo__web=application("web", "{}").replace("  source: {}\n", sources))
    (skipped,) = found.skipped
    assert why in skipped.reason
    assert not (outside / "words").exists()
    assert names(found) == ["default/web"]


def test_a_refused_archive_is_one_error(charts: Charts) -> None:
    digest = keep(charts.folder, packed({**WEB, "../evil": ""}))
    Path(charts.lock).write_text(text_of([(Pinned(ADDRESS, "web", "1.2.3"), Locked(digest))]))
    found = read(charts, argo__web="".join(application(name, f"{{{REMOTE}}}") for name in ("x", "y")))
    (error,) = found.errors
    assert (error.path, error.line > 0) == ("argo/web.yaml", True)
    assert error.message == "the archive of web 1.2.3 is refused: 'web/../evil' leads out of it"
    assert len(found.skipped) == 2
    assert names(found) == ["default/web"]


def test_packed_subcharts_of_a_chart_in_the_repository_have_one_limit(charts: Charts) -> None:
    zeros = gzip.compress(gzip.decompress(packed({"Chart.yaml": "name: a"}, "a")) + bytes(40 << 20))
    write(Path(), {"charts/web/Chart.yaml": "name: web\n", "charts/web/charts/a/charts/none": ""})
    Path("charts/web/charts/a.tgz").write_bytes(zeros)
    assert read(charts, argo__web=application("web", own("charts/web"))).errors == ()
    Path("charts/web/charts/a/charts/b.tgz").write_bytes(zeros)
    (error,) = read(charts, argo__web=application("web", own("charts/web"))).errors
    assert error.path.startswith("charts/web/charts/")
    assert "the archive is refused, and the chart is not rendered: it becomes more than 64 MiB" in error.message


def test_a_chart_that_leads_out_of_the_repository_is_not_rendered(charts: Charts) -> None:
    write(Path(), {"charts/web/Chart.yaml": "name: web\n"})
    os.symlink("/etc/passwd", "charts/web/values.yaml")
    found = read(charts, argo__web=application("web", own("charts/web")))
    (error,) = found.errors
    assert "leads out of the repository" in error.message
    assert not (Path(charts.lock).parent / "words").exists()
