"""A fix of what Flux or Argo CD apply is made in the file that sets the value, if no variable and no other set does."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.delivery.test_argocd_sets import application, own
from tests.delivery.test_flux_sets import flux, write
from tests.fix.test_fixes_of_sources import BASE as UNPLACED
from tests.fix.test_fixes_of_sources import CLUSTER, ELSEWHERE
from tests.program import called

pytestmark = pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not on PATH")

BASE = UNPLACED.replace("{name: web}", "{name: web, namespace: default}", 1)
RIGHT = BASE.replace("generel", "general")
OPTIONS = ("-c", "ops/cluster.yaml", "--no-config", "--no-cache", "--unsafe-fixes")
SYNC = {"clusters/prod/flux-system/gotk-sync.yaml": flux("flux-system", "./clusters/prod")}


def fixed(folder: Path, files: dict[str, str], *words: str) -> str:
    write(folder, {".git/HEAD": "ref: refs/heads/main\n", "ops/cluster.yaml": CLUSTER, **files})
    done = called("lint", *words, *OPTIONS, "--fix", cwd=folder)
    assert "Traceback" not in done.stderr
    return done.stdout + done.stderr


def of_flux(more: str = "", text: str = BASE) -> dict[str, str]:
    return {**SYNC, "clusters/prod/apps.yaml": flux("apps", "./apps", more), "apps/web.yaml": text}


@pytest.mark.parametrize(
    "more", ["", "  targetNamespace: shop\n", "  namePrefix: my-\n", "  postBuild: {substitute: {A: b}}\n"]
)
def test_a_manifest_that_flux_applies_is_fixed(tmp_path: Path, more: str) -> None:
    said = fixed(tmp_path, of_flux(more))
    assert "fixed 1 of 1 finding in 1 file" in said
    assert (tmp_path / "apps/web.yaml").read_text() == RIGHT


def test_a_field_beside_a_variable_is_fixed(tmp_path: Path) -> None:
    text = BASE.replace("shop/web:1.0", "${IMAGE}")
    fixed(tmp_path, of_flux("  postBuild: {substitute: {IMAGE: web}}\n", text))
    assert (tmp_path / "apps/web.yaml").read_text() == text.replace("generel", "general")


@pytest.mark.parametrize("text", ["${POOL}", "${OTHER:=generel}", '"${POOL}"'])
def test_what_a_variable_becomes_is_not(tmp_path: Path, text: str) -> None:
    text = BASE.replace("generel", text)
    said = fixed(tmp_path, of_flux("  postBuild: {substitute: {POOL: generel}}\n", text))
    assert (tmp_path / "apps/web.yaml").read_text() == text
    assert "a variable is filled in; in apps/web.yaml:12, write pool: general" in said


def test_what_a_patch_of_flux_sets_is_not(tmp_path: Path) -> None:
    patch = '[{"op": "replace", "path": "/spec/template/spec/nodeSelector/pool", "value": "genral"}]'
    more = f"  patches:\n  - target: {{kind: Deployment}}\n    patch: '{patch}'\n"
    assert "fixed none of 1 finding" in fixed(tmp_path, of_flux(more, RIGHT))
    assert (tmp_path / "apps/web.yaml").read_text() == RIGHT


def test_what_breaks_it_elsewhere_in_the_set_is_not_written(tmp_path: Path) -> None:
    patch = ELSEWHERE.replace("\n", "\n      ").rstrip()
    more = f"  targetNamespace: two\n  patches:\n  - patch: |\n      {patch}\n"
    files = of_flux("  targetNamespace: one\n") | {"clusters/prod/two.yaml": flux("two", "./apps", more)}
    said = fixed(tmp_path, files)
    assert "fixed none of" in said
    assert "does not build" not in said
    assert (tmp_path / "apps/web.yaml").read_text() == BASE


def test_what_another_set_reads_is_not(tmp_path: Path) -> None:
    """Nobody has judged what the change does in the other cluster."""
    files = of_flux() | {"apps/kustomization.yaml": "resources: [web.yaml]\n", "only/web.yaml": BASE}
    files |= {"clusters/prod/only.yaml": flux("only", "./only", "  targetNamespace: only\n")}
    files |= {"clusters/test/flux-system/gotk-sync.yaml": flux("flux-system", "./clusters/test")}
    files |= {"clusters/test/apps.yaml": flux("apps", "./apps")}
    files["kubesched.toml"] = '[[targets]]\nname = "prod"\nentry = "clusters/prod"\n'
    write(tmp_path, {".git/HEAD": "ref: refs/heads/main\n", "ops/cluster.yaml": CLUSTER, **files})
    words = ("lint", "--target", "prod", "-c", "ops/cluster.yaml", "--no-cache", "--unsafe-fixes", "--fix")
    done = called(*words, cwd=tmp_path)
    assert "what clusters/test applies is made of it, too: change it by hand" in done.stderr
    assert (tmp_path / "apps/web.yaml").read_text() == BASE
    assert (tmp_path / "only/web.yaml").read_text() == RIGHT


@pytest.mark.parametrize("kustomization", ["", "resources: [web.yaml]\nnamePrefix: my-\n"])
def test_a_manifest_that_argo_cd_applies_is_fixed(tmp_path: Path, kustomization: str) -> None:
    files = {"argo/app.yaml": application("app", own("app")), "app/web.yaml": BASE}
    said = fixed(tmp_path, files | ({"app/kustomization.yaml": kustomization} if kustomization else {}))
    assert "fixed 1 of 1 finding in 1 file" in said
    assert (tmp_path / "app/web.yaml").read_text() == RIGHT


def test_unread_releases_stay_unread_in_a_trial(tmp_path: Path) -> None:
    """A claim that an unread release may make is not missing, before or after a fix."""
    claim = "      volumes: [{name: data, persistentVolumeClaim: {claimName: made-by-release}}]\n"
    release = (
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: redis, namespace: default}\n"
        "spec: {chart: {spec: {chart: redis, version: 1.0.0}}}\n"
    )
    said = fixed(tmp_path, of_flux(text=BASE + claim) | {"clusters/prod/redis.yaml": release})
    assert "fixed 1 of" in said
    assert (tmp_path / "apps/web.yaml").read_text() == RIGHT + claim
