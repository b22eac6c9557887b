"""What a controller leaves out, makes by other means or decrypts is neither judged as it stands nor hidden."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.charts.test_rendered_releases import SKETCH
from tests.custom.test_app_template import RELEASE
from tests.delivery.test_argocd_sets import application, own
from tests.delivery.test_flux_sets import write
from tests.program import called

pytestmark = pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not on PATH")

SYNC = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: flux-system, namespace: flux-system}
spec: {path: ./cluster, sourceRef: {kind: GitRepository, name: flux-system}}
"""
WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: web, resources: {requests: {cpu: 1m, memory: 1Mi}}}]}
"""
PENDING = WEB.replace("name: web, n", "name: bad, n").replace(
    "spec: {containers", "spec: {nodeSelector: {disk: ssd}, containers"
)
SOPS = "sops: {mac: 'ENC[x]', version: 3.9.0}\n"
PLACED = (
    RELEASE.replace("VERSION", "4.1.1")
    .replace("replicas: 4", "replicas: 1")
    .replace("priorityClassName: high", "nodeSelector: {disk: ssd}")
)
SOURCE = """\
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {name: charts, namespace: shop}
spec: {url: ADDRESS}
"""
RESOURCES = """\
apiVersion: fluxcd.controlplane.io/v1
kind: ResourceSet
metadata: {name: more, namespace: shop}
spec: {resources: [{apiVersion: apps/v1, kind: Deployment, metadata: {name: more}}]}
"""


def said(folder: Path, files: dict[str, str]) -> tuple[int, str]:
    settings = {
        ".git/HEAD": "ref: refs/heads/main\n",
        "sketch.yaml": SKETCH,
        "kubesched.toml": 'cluster = "sketch.yaml"\n',
    }
    write(folder, {**settings, **files})
    done = called("lint", cwd=folder, environ=os.environ)
    return done.returncode, done.stdout + done.stderr


def flux(*texts: str) -> dict[str, str]:
    return {"cluster/gotk-sync.yaml": SYNC} | {f"cluster/{number}.yaml": text for number, text in enumerate(texts)}


def argo(more: str, **files: str) -> dict[str, str]:
    apps = application("a", own("a")) + application("b", own("b", more))
    return {
        "argo/a.yaml": apps,
        "a/web.yaml": WEB,
        **{f"b/{name.replace('_', '.')}": text for name, text in files.items()},
    }


def marked(mark: str, field: str = "annotations") -> str:
    return PENDING.replace("namespace: shop}", f"namespace: shop, {field}: {{{mark}}}}}")


FLUX = "kustomize.toolkit.fluxcd.io"


@pytest.mark.parametrize(
    ("files", "words"),
    [
        (flux(WEB, marked(f"{FLUX}/reconcile: disabled")), "is told to leave it out"),
        (flux(WEB, marked(f"{FLUX}/reconcile: Disabled", "labels")), "is told to leave it out"),
        (flux(WEB, marked(f"{FLUX}/ssa: Ignore")), "is told to leave it out"),
        (argo("", web_yaml=marked("argocd.argoproj.io/hook: Skip")), "Application b is told to skip it"),
        (argo(", plugin: {name: x}", web_yaml=PENDING), "1 remote Application was not read"),
        (
            {
                path: text.replace("name: b}", "name: b, annotations: {argocd.argoproj.io/skip-reconcile: 'true'}}")
                for path, text in argo("", web_yaml=PENDING).items()
            },
            "Application b: Argo CD is told not to reconcile it",
        ),
        (argo("", main_jsonnet="{}"), "1 remote Application was not read"),
        (flux(WEB, PENDING + SOPS), "1 encrypted object was not read"),
        (flux(WEB, PLACED + SOPS), "1 encrypted object was not read"),
        (flux(WEB, RESOURCES), "1 ResourceSet was not read"),
        (flux(WEB, PLACED.replace("  values:\n", "  suspend: true\n  values:\n")), "1 of 1 release not read (web)"),
    ],
)
def test_it_is_no_error_and_said(tmp_path: Path, files: dict[str, str], words: str) -> None:
    code, text = said(tmp_path, files)
    assert (code, "error[" in text, "checked 1 workload" in text) == (0, False, True), text
    assert words in text


@pytest.mark.parametrize("files", [flux(PENDING + SOPS), flux(RESOURCES), flux(PLACED + SOPS)])
def test_alone_it_is_no_answer(tmp_path: Path, files: dict[str, str]) -> None:
    assert said(tmp_path, files)[0] == 2


def test_a_mark_of_the_other_controller_means_nothing(tmp_path: Path) -> None:
    assert said(tmp_path, flux(WEB, marked("argocd.argoproj.io/hook: Skip")))[0] == 1
    other = tmp_path / "other"
    assert said(other, argo("", web_yaml=marked(f"{FLUX}/reconcile: disabled")))[0] == 1


@pytest.mark.parametrize(
    ("address", "word"),
    [
        ("https://other.example/charts", "warning"),
        ("https://bjw-s-labs.github.io/helm-charts", "error"),
        ("oci://ghcr.io/bjw-s/helm", "error"),
    ],
)
def test_another_chart_of_the_same_name_proves_nothing(tmp_path: Path, address: str, word: str) -> None:
    text = PLACED.replace("version: 4.1.1}", "version: 4.1.1, sourceRef: {kind: HelmRepository, name: charts}}")
    assert f"{word}[nodeselector-matches-nothing]" in said(tmp_path, flux(text + SOURCE.replace("ADDRESS", address)))[1]


def test_two_sets_that_begin_in_one_folder_are_both_judged(tmp_path: Path) -> None:
    files = flux(WEB, application("x", own("apps/x"))) | {"apps/x/web.yaml": PENDING}
    code, text = said(tmp_path, files)
    assert code == 1
    assert "checked 2 workloads in 2 targets (cluster, cluster-2)" in text
