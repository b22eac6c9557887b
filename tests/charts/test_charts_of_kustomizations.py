"""``helmCharts`` of a kustomization are inflated from pulled charts, where the configuration wants it."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from kubesched_lint.commands.lint.run import read_manifests
from kubesched_lint.custom.kinds import Kinds
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import ManifestSet
from kubesched_lint.sources.charts.folder import keep
from kubesched_lint.sources.charts.inflating import charts_of_kustomizations
from kubesched_lint.sources.charts.lock import Locked, Pinned, text_of
from kubesched_lint.sources.charts.rendering import Charts
from tests.charts.packing import WEB, needs_helm, packed, program

pytestmark = pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not on PATH")

ADDRESS = "https://example.com/charts"
ENTRY = f"name: web, repo: '{ADDRESS}', version: 1.2.3, releaseName: rel"
MADE = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: made}\nspec: {replicas: 2}\n"


@pytest.fixture
def charts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Charts:
    """A lock with one chart, and a ``helm`` that keeps the values it got."""
    repository, outside = tmp_path / "repository", tmp_path / "outside"
    (repository / ".git").mkdir(parents=True)
    outside.mkdir()
    monkeypatch.chdir(repository)
    digest = keep(str(outside / "charts"), packed(WEB))
    (outside / "lock").write_text(text_of([(Pinned(ADDRESS, "web", "1.2.3"), Locked(digest))]))
    (outside / "out").write_text(MADE)
    script = f'for w; do case $w in *values.json) cat "$w" > {outside}/values;; esac; done\ncat {outside}/out\n'
    monkeypatch.setenv("PATH", f"{program(outside / 'bin', script)}:{os.environ['PATH']}")
    return Charts(str(outside / "lock"), str(outside / "charts"))


def read(charts: Charts | None, entry: str, more: str = "") -> ManifestSet:
    Path("app").mkdir(exist_ok=True)
    Path("app/kustomization.yaml").write_text(f"namePrefix: my-\nhelmCharts:\n- {{{entry}}}\n{more}")
    return read_manifests(["app"], Options(kinds=Kinds(charts=charts)))


def values(charts: Charts) -> object:
    return json.loads((Path(charts.lock).parent / "values").read_text())


def test_a_chart_is_a_resource_of_its_kustomization(charts: Charts) -> None:
    Path("app").mkdir()
    Path("app/more.yaml").write_text("replicaCount: 1\na: {b: 1, c: 2}\n")
    entry = f"{ENTRY}, namespace: shop, valuesFile: more.yaml, valuesInline: {{a: {{b: 9}}}}"
    found = read(charts, entry)
    (workload,) = found.inventory.workloads
    assert (workload.name, workload.replicas) == ("my-made", 2)
    assert values(charts) == {"replicaCount": 1, "a": {"b": 9, "c": 2}}
    (document,) = found.documents
    near = document.location(("spec", "replicas")).near
    assert near is not None
    assert near.path == "app/kustomization.yaml"
    read(charts, f"{entry}, valuesMerge: merge")
    assert values(charts) == {"replicaCount": 1, "a": {"b": 1, "c": 2}}
    read(charts, f"{entry}, valuesMerge: replace")
    assert values(charts) == {"a": {"b": 9}}


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        (ENTRY.replace("1.2.3", "1.2.4"), "web 1.2.4 is not in kubesched-charts.lock: kubesched-lint charts pull"),
        (
            ENTRY.replace("1.2.3", "1.x"),
            "web 1.x is a range, and kubesched-charts.lock has no version for it: kubesched-lint charts pull",
        ),
        (ENTRY.replace(", releaseName: rel", ""), "web has no releaseName, so that helm draws one"),
        (ENTRY.replace(f", repo: '{ADDRESS}'", ""), "web names no repository"),
        (f"{ENTRY}, skipHooks: true", "skipHooks of web is not read"),
        (f"{ENTRY}, valuesFile: ../../etc/passwd", "../../etc/passwd is outside the repository, and is not read"),
        (f"{ENTRY}, valuesInline: []", None),
        (f"{ENTRY}, valuesInline: [1]", "the values of web are not read"),
    ],
)
def test_what_is_not_inflated_says_why(charts: Charts, entry: str, why: str | None) -> None:
    found = read(charts, entry)
    words = [one.reason for one in found.skipped]
    expected = f"not rendered because it inflates a Helm chart, which is not rendered: {why}: "
    assert words == ([] if why is None else [f"{expected}the files are read without rendering"])


def test_without_charts_it_is_not_built(charts: Charts) -> None:
    (skipped,) = read(None, ENTRY).skipped
    assert "it inflates a Helm chart: the files" in skipped.reason
    assert not (Path(charts.lock).parent / "values").exists()


def test_the_charts_to_pull_are_those_of_kustomizations_too(charts: Charts) -> None:
    read(charts, ENTRY, "- {name: other}\n- 7\n")
    assert list(charts_of_kustomizations(".")) == [Pinned(ADDRESS, "web", "1.2.3")]


@needs_helm
def test_helm_itself_inflates_it(charts: Charts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", os.environ["PATH"].partition(":")[2])
    (workload,) = read(charts, f"{ENTRY}, valuesInline: {{replicaCount: 6}}").inventory.workloads
    assert (workload.name, workload.replicas) == ("my-rel-front", 6)


@pytest.mark.parametrize("path", ["app", "."])
def test_a_refused_archive_is_an_error_at_its_line(charts: Charts, path: str) -> None:
    digest = keep(charts.folder, packed({**WEB, "../evil": ""}))
    Path(charts.lock).write_text(text_of([(Pinned(ADDRESS, "web", "1.2.3"), Locked(digest))]))
    read(charts, ENTRY)
    found = read_manifests([path], Options(kinds=Kinds(charts=charts)))
    (error,) = found.errors
    assert (error.path, error.line) == ("app/kustomization.yaml", 3)
    assert error.message == "the archive of web 1.2.3 is refused: 'web/../evil' leads out of it"
    assert not (Path(charts.lock).parent / "values").exists()


def test_a_broken_lock_is_an_error(charts: Charts) -> None:
    Path(charts.lock).write_text("charts = 1")
    (error,) = read(charts, ENTRY).errors
    assert (error.line, error.message) == (3, f"{charts.lock}: expected [[charts]] and nothing else")


def test_without_helm_it_is_an_error(charts: Charts, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "only").mkdir()
    (tmp_path / "only" / "kubectl").symlink_to(shutil.which("kubectl") or "")
    monkeypatch.setenv("PATH", str(tmp_path / "only"))
    (error,) = read(charts, ENTRY).errors
    assert error.message == "charts are to be rendered (gitops.helm), and helm is not on PATH"
