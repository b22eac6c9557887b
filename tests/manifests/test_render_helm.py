"""What Helm renders is blamed on its templates.

``fixtures/charts/recorded`` holds what Helm made of the chart beside it. A script that prints the recording stands in
for ``helm``; where the real one is, it is asked as well.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from kubesched_lint.commands.lint.run import read_manifests
from kubesched_lint.linter.options import Options
from tests.charts.packing import needs_helm
from tests.program import called

ROOT = Path(__file__).parent.parent.parent
CHART = ROOT / "fixtures" / "charts" / "shop"
RECORDED = ROOT / "fixtures" / "charts" / "recorded" / "shop.yaml"
SKETCH = ROOT / "fixtures" / "clusters" / "three-zones.yaml"


def lint(folder: Path, *arguments: str, piped: str = "", path: str = "") -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "PATH": path or os.environ["PATH"]}
    return called("lint", *arguments, "-c", SKETCH, cwd=folder, stdin=piped, environ=environ)


@pytest.fixture
def charts(tmp_path: Path) -> Path:
    """A folder with the chart in it, and a ``helm`` that prints the recording."""
    shutil.copytree(CHART, tmp_path / "shop")
    tool = tmp_path / "bin" / "helm"
    tool.parent.mkdir()
    tool.write_text(f'#!/bin/sh\n[ "$1 $2" = "template --skip-tests" ] && [ -f "$3/Chart.yaml" ] && cat {RECORDED}\n')
    tool.chmod(0o755)
    return tmp_path


def test_a_piped_chart_is_blamed_on_its_templates(charts: Path) -> None:
    done = lint(charts, "-", "--apply-order", "helm", piped=RECORDED.read_text())
    shown = done.stdout
    assert done.returncode == 1
    assert "error[anti-affinity-exceeds-domains]: 3 of 6 pods of Deployment default/release-name-web" in shown
    assert "--> shop/templates/web.yaml (rendered):28:15" in shown
    assert "28 | /             - labelSelector:" in shown
    assert "= from: shop/templates/web.yaml:17:1" in shown
    assert "<stdin>" not in shown


def test_reports_that_annotate_files_point_to_the_template(charts: Path) -> None:
    piped = RECORDED.read_text()
    github = lint(charts, "-", "--format", "github", piped=piped).stdout
    assert "::error file=shop/templates/web.yaml,line=17," in github
    assert "in the rendered text: shop/templates/web.yaml (rendered):28:15" in github
    sarif = json.loads(lint(charts, "-", "--format", "sarif", piped=piped).stdout)
    place = sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "shop/templates/web.yaml"
    assert place["region"]["startLine"] == 17
    (finding, *_) = json.loads(lint(charts, "-", "--format", "json", piped=piped).stdout)["findings"]
    assert finding["location"]["path"] == "shop/templates/web.yaml (rendered)"
    assert (finding["location"]["near"]["path"], finding["location"]["near"]["line"]) == ("shop/templates/web.yaml", 17)


def test_templates_that_are_elsewhere_are_named_all_the_same(tmp_path: Path) -> None:
    shown = lint(tmp_path, "-", piped=RECORDED.read_text()).stdout
    assert "--> shop/templates/web.yaml (rendered):28:15" in shown
    assert "= from:" not in shown
    github = lint(tmp_path, "-", "--format", "github", piped=RECORDED.read_text()).stdout
    assert "::error file=shop/templates/web.yaml,line=1," in github
    assert "in the rendered text: shop/templates/web.yaml (rendered):28:15" in github


def test_inside_the_chart_the_template_is_found_as_well(charts: Path) -> None:
    shown = lint(charts / "shop", "-", piped=RECORDED.read_text()).stdout
    assert "= from: templates/web.yaml:17:1" in shown


def test_comments_in_a_template_waive(charts: Path) -> None:
    text = RECORDED.read_text()
    waived = "            # kubesched: ignore[anti-affinity-exceeds-domains] by hand\n            - labelSelector:"
    done = lint(charts, "-", piped=text.replace("            - labelSelector:", waived))
    assert "anti-affinity-exceeds-domains]: " not in done.stdout
    assert "1 suppressed" in done.stdout


def test_broken_yaml_of_a_template_is_told_by_its_name(charts: Path) -> None:
    done = lint(charts, "-", piped=RECORDED.read_text().replace("replicas: 6", "replicas: [6"))
    assert done.returncode == 2
    assert (done.stdout, done.stderr.count("error: shop/templates/web.yaml (rendered):19:11: not YAML: ")) == ("", 1)


def test_a_comment_of_that_kind_in_a_file_is_a_comment(tmp_path: Path) -> None:
    shutil.copy(RECORDED, tmp_path / "all.yaml")
    assert "--> all.yaml:28:15" in lint(tmp_path, "all.yaml").stdout


def test_a_named_chart_is_rendered_where_helm_is(charts: Path) -> None:
    shown = lint(charts, "shop", "-v", path=f"{charts}/bin:{os.environ['PATH']}").stdout
    assert "--> shop/templates/web.yaml (rendered):28:15" in shown
    assert "= from: shop/templates/web.yaml:17:1" in shown
    assert "rendered with helm template shop" in shown


def test_a_named_chart_is_told_as_skipped_where_helm_is_not(charts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(charts / "nothing"))
    manifests = read_manifests([str(charts / "shop")], Options())
    assert not manifests.documents
    (skip,) = manifests.skipped
    assert skip.path.endswith("shop/templates")
    assert "helm is not on PATH" in skip.reason


def test_what_helm_refuses_is_one_error(charts: Path) -> None:
    (charts / "bin" / "helm").write_text("#!/bin/sh\necho 'Error: no template \"x\"' >&2\nexit 1\n")
    done = lint(charts, "shop", path=f"{charts}/bin:{os.environ['PATH']}")
    assert done.returncode == 2
    assert (done.stdout, done.stderr) == ("", 'error: shop/Chart.yaml: helm template: no template "x"\n')


@needs_helm
def test_the_recording_is_what_helm_prints() -> None:
    printed = subprocess.run(["helm", "template", str(CHART)], capture_output=True, text=True, check=True).stdout
    assert printed == RECORDED.read_text()
