"""Whatever stands in the fields of what installs charts: it is read or not, and nothing raises."""

from __future__ import annotations

import copy
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubesched_lint.commands.lint.run import entries_of, read_manifests
from kubesched_lint.custom.kinds import Kinds
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import manifest_set
from kubesched_lint.sources.charts.folder import keep
from kubesched_lint.sources.charts.lock import Locked, Pinned, text_of
from kubesched_lint.sources.charts.rendering import Charts
from kubesched_lint.sources.delivery.entries import applied_files
from kubesched_lint.sources.manifests.inputs import InputFile
from tests.charts.packing import WEB, packed, program
from tests.delivery.test_flux_sets import UNPLACED as PLAIN
from tests.delivery.test_flux_sets import write

pytestmark = pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not on PATH")

ADDRESS = "https://example.com/charts"
GARBAGE: list[Any] = [None, 1, True, "", "-x", "\x00", "../x", "{{", [], {}, [1], [{}], {"a": [{}]}, "a: [", "x" * 300]
RELEASE = {
    "apiVersion": "helm.toolkit.fluxcd.io/v2",
    "kind": "HelmRelease",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {
        "chart": {"spec": {"chart": "web", "version": "1.2.3", "sourceRef": {"kind": "HelmRepository", "name": "c"}}},
        "releaseName": "rel",
        "targetNamespace": "shop",
        "valuesFrom": [{"kind": "ConfigMap", "name": "more"}],
        "values": {"replicaCount": 2, "nodeSelector": {"a": "b"}},
    },
}
SOURCE = {
    "apiVersion": "source.toolkit.fluxcd.io/v1",
    "kind": "HelmRepository",
    "metadata": {"name": "c", "namespace": "shop"},
    "spec": {"url": ADDRESS},
}
OWN = "https://github.com/example/own.git"
APPLICATION = {
    "apiVersion": "argoproj.io/v1alpha1",
    "kind": "Application",
    "metadata": {"name": "web"},
    "spec": {
        "destination": {"namespace": "shop"},
        "sources": [
            {
                "repoURL": ADDRESS,
                "chart": "web",
                "targetRevision": "1.2.3",
                "helm": {
                    "releaseName": "rel",
                    "valueFiles": ["$own/values.yaml"],
                    "values": "a: 1",
                    "valuesObject": {"a": 1},
                    "parameters": [{"name": "a", "value": "b"}],
                },
            },
            {"repoURL": OWN, "ref": "own"},
            {"repoURL": OWN, "path": "plain"},
        ],
    },
}
ENTRY = {
    "name": "web",
    "repo": ADDRESS,
    "version": "1.2.3",
    "releaseName": "rel",
    "namespace": "shop",
    "valuesFile": "values.yaml",
    "additionalValuesFiles": ["values.yaml"],
    "valuesInline": {"a": 1},
    "valuesMerge": "merge",
}


def spoilt(value: Any, at: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield the path of every value."""
    if at:
        yield at
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, child in children:
        yield from spoilt(child, (*at, step))


def with_garbage(value: Any, at: tuple[str | int, ...], garbage: Any) -> Any:
    found = copy.deepcopy(value)
    inner = found
    for step in at[:-1]:
        inner = inner[step]
    inner[at[-1]] = garbage
    return found


@pytest.fixture
def charts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Charts:
    repository, outside = tmp_path / "repository", tmp_path / "outside"
    repository.mkdir()
    outside.mkdir()
    monkeypatch.chdir(repository)
    write(repository, {".git/HEAD": "", "values.yaml": "a: 1\n", "plain/a.yaml": PLAIN})
    digest = keep(str(outside / "charts"), packed(WEB))
    (outside / "lock").write_text(text_of([(Pinned(ADDRESS, "web", "1.2.3"), Locked(digest))]))
    monkeypatch.setenv("PATH", f"{program(outside / 'bin', f'cat {repository}/plain/a.yaml')}:{os.environ['PATH']}")
    return Charts(str(outside / "lock"), str(outside / "charts"))


@pytest.mark.parametrize("document", [RELEASE, SOURCE], ids=["HelmRelease", "HelmRepository"])
def test_objects_of_flux(charts: Charts, document: dict[str, Any]) -> None:
    kinds = Kinds(reads_named=True, charts=charts)
    for at in spoilt(document["spec"], ("spec",)):
        for garbage in GARBAGE:
            texts = [yaml.safe_dump(one) for one in (RELEASE, SOURCE) if one is not document]
            text = yaml.safe_dump(with_garbage(document, at, garbage))
            files = [InputFile("a.yaml", "---\n".join([text, *texts]).encode())]
            found = manifest_set(entries_of(files, kinds), "default", kinds=kinds)
            assert len(found.releases) == 1


def test_applications_of_argo_cd(charts: Charts) -> None:
    kinds = Kinds(reads_named=True, charts=charts)
    for number, at in enumerate(spoilt(APPLICATION["spec"]["sources"][0], ("spec", "sources", 0))):  # type: ignore[index]
        garbage = GARBAGE[number % len(GARBAGE) :] + GARBAGE[: number % len(GARBAGE)]
        for one in garbage[:5]:
            write(Path(), {"argo/a.yaml": yaml.safe_dump(with_garbage(APPLICATION, at, one))})
            found = manifest_set(entries_of(applied_files(["argo"], charts=charts), kinds), "default", kinds=kinds)
            assert found.inventory.workloads


def test_charts_of_kustomizations(charts: Charts) -> None:
    for number, at in enumerate(spoilt(ENTRY)):
        garbage = GARBAGE[number % len(GARBAGE) :] + GARBAGE[: number % len(GARBAGE)]
        for one in garbage[:5]:
            written = yaml.safe_dump({"helmCharts": [with_garbage(ENTRY, at, one)]})
            write(Path(), {"kustomization.yaml": written})
            read_manifests(["."], Options(kinds=Kinds(charts=charts)))
