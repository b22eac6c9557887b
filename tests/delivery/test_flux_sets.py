"""What Flux applies from an entry point: folders built as it builds them, with variables, and followed."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from kubesched_lint.commands.lint.run import read_manifests
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.linter.options import EVERYTHING, Options
from kubesched_lint.linter.reading.manifest_set import ManifestSet
from kubesched_lint.sources.delivery.entries import folders_like, names_of, repository_of
from tests.program import called

pytestmark = pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not on PATH")

FLUX = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n"
CONFIG = (
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: flux-system}\ndata: {ZONE: a, SIZE: big}\n"
)
WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: default
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: "web:1", resources: {requests: {cpu: 100m}}}]
"""
UNPLACED = WEB.replace("  namespace: default\n", "")
SELECTING = "      nodeSelector:\n        zone: TEXT\n"


def flux(name: str, path: str, more: str = "", source: str = "{kind: GitRepository, name: flux-system}") -> str:
    return (
        f"---\n{FLUX}metadata: {{name: {name}, namespace: flux-system}}\n"
        f"spec:\n  path: {path}\n  sourceRef: {source}\n{more}"
    )


def write(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, {".git/HEAD": "ref: refs/heads/main\n"})
    write(tmp_path, {"clusters/prod/flux-system/gotk-sync.yaml": flux("flux-system", "./clusters/prod")})
    return tmp_path


def read(files: Mapping[str, str], entry: str = "clusters/prod") -> ManifestSet:
    write(Path.cwd(), files)
    return read_manifests([entry], Options(applied=True, together=(EVERYTHING,)))


def workload(files: Mapping[str, str], entry: str = "clusters/prod") -> Workload:
    found = read(files, entry)
    assert found.errors == ()
    (only,) = found.inventory.workloads
    return only


# --- building -------------------------------------------------------------------------------------------------------

BASE = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [../base]\nnamespace: own\n"
COMPONENT = """\
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
patches:
- target: {kind: Deployment}
  patch: '[{"op": "add", "path": "/spec/template/spec/hostNetwork", "value": true}]'
"""
SETTINGS = """\
  targetNamespace: shop
  namePrefix: a-
  components: [../parts/host]
  images: [{name: web, newTag: "2"}]
  commonMetadata: {labels: {team: x}}
  patches:
  - patch: '{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 5}}'
"""


@pytest.mark.parametrize("has_kustomization", [True, False])
def test_a_folder_is_built_with_what_flux_adds(repo: Path, has_kustomization: bool) -> None:
    own = {"apps/kustomization.yaml": BASE, "base/kustomization.yaml": "resources: [web.yaml]\n", "base/web.yaml": WEB}
    files = own if has_kustomization else {"apps/deep/web.yaml": WEB, "apps/.sops.yaml": "creation_rules: []\n"}
    settings = {"clusters/prod/apps.yaml": flux("apps", "./apps", SETTINGS), "parts/host/kustomization.yaml": COMPONENT}
    web = workload({**files, **settings})
    assert (web.name, web.namespace, web.replicas) == ("a-web", "shop", 5)
    assert web.pod.host_network
    assert web.source is not None
    value = web.source.value  # type: ignore[attr-defined]
    assert value["spec"]["template"]["spec"]["containers"][0]["image"] == "web:2"
    assert value["metadata"]["labels"] == {"team": "x"}
    assert "labels" not in web.pod.labels


def test_an_image_whose_name_is_no_text_is_kubectls_to_refuse(repo: Path) -> None:
    files = {"clusters/prod/apps.yaml": flux("apps", "./apps", "  images: [{name: [1]}]\n"), "apps/web.yaml": WEB}
    (error,) = read(files).errors
    assert "Flux applies nothing of Kustomization flux-system/apps" in error.message


def test_a_made_kustomization_lists_folders_with_their_own(repo: Path) -> None:
    patched = "resources: [web.yaml]\nnameSuffix: -x\n"
    web = workload({"clusters/prod/inner/kustomization.yaml": patched, "clusters/prod/inner/web.yaml": WEB})
    assert web.name == "web-x"


def test_a_folder_may_be_applied_twice_and_lists_any_file_of_the_repository(repo: Path) -> None:
    twice = "".join(flux(name, "./apps", f"  targetNamespace: {name}\n") for name in ("one", "two"))
    found = read(
        {"clusters/prod/apps.yaml": twice, "apps/kustomization.yaml": "resources: [../web.yaml]\n", "web.yaml": WEB}
    )
    assert found.errors == ()
    assert [(w.namespace, w.name) for w in found.inventory.workloads] == [("one", "web"), ("two", "web")]
    assert len({w.source.path for w in found.inventory.workloads if w.source}) == 2


def test_patches_of_the_root_change_children(repo: Path) -> None:
    more = (
        "  patches:\n  - target: {kind: Kustomization, name: apps}\n"
        '    patch: \'[{"op": "add", "path": "/spec/targetNamespace", "value": "shop"}]\'\n'
    )
    sync = {"clusters/prod/flux-system/gotk-sync.yaml": flux("flux-system", "./clusters/prod", more)}
    web = workload({**sync, "clusters/prod/apps.yaml": flux("apps", "apps"), "apps/web.yaml": WEB})
    assert web.namespace == "shop"


def test_the_root_is_built_as_its_own_output_says(repo: Path) -> None:
    """``flux-system/kustomization.yaml`` may patch the Kustomization that applies it."""
    patch = (
        "resources: [gotk-sync.yaml]\npatches:\n- target: {kind: Kustomization, name: flux-system}\n"
        '  patch: \'[{"op": "add", "path": "/spec/postBuild", "value": {"substitute": {"SIZE": "big"}}}]\'\n'
    )
    files = {"clusters/prod/flux-system/kustomization.yaml": patch}
    web = workload({**files, "clusters/prod/web.yaml": WEB + SELECTING.replace("TEXT", "'${SIZE}'")})
    assert dict(web.pod.node_selector) == {"zone": "big"}


# --- variables ------------------------------------------------------------------------------------------------------

FROM = "  postBuild: {substitute: {A: b}, substituteFrom: [{kind: ConfigMap, name: settings}MORE]}\n"
SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {name: hidden, namespace: flux-system}\nstringData: {KEY: ENC}\n"


@pytest.mark.parametrize(
    ("text", "more", "expected"),
    [
        ("${A}-${ZONE}", "", "b-a"),
        ("${NONE:-x}", "", "x"),
        ("${NONE:=${ZONE}-y}", "", "a-y"),
        ("'$${ZONE}'", "", "${ZONE}"),
        ("z${NONE}", "", "z"),
        ("'z${NONE}'", ", {kind: Secret, name: other}", "z${NONE}"),
        ("'z${KEY:-x}${NONE}'", ", {kind: Secret, name: hidden}", "z${KEY:-x}"),
    ],
)
def test_variables_come_from_the_objects_of_the_set(repo: Path, text: str, more: str, expected: str) -> None:
    apps = flux("apps", "./apps", FROM.replace("MORE", more))
    maps = {"maps/settings.yaml": CONFIG, "maps/secret.yaml": SECRET}
    files = {"clusters/prod/all.yaml": apps + flux("maps", "./maps"), **maps}
    web = workload({**files, "apps/web.yaml": WEB + SELECTING.replace("TEXT", text)})
    assert dict(web.pod.node_selector) == {"zone": expected}


def test_an_annotation_disables_variables(repo: Path) -> None:
    mark = "  annotations: {kustomize.toolkit.fluxcd.io/substitute: disabled}\n"
    text = WEB.replace("  name: web\n", f"  name: web\n{mark}", 1) + SELECTING.replace("TEXT", "'${A}'")
    apps = flux("apps", "./apps", "  postBuild: {substitute: {A: b}}\n")
    assert dict(workload({"clusters/prod/apps.yaml": apps, "apps/web.yaml": text}).pod.node_selector) == {
        "zone": "${A}"
    }


def test_children_get_variables_too(repo: Path) -> None:
    child = flux("apps", "./apps/${WHERE}")
    parent = flux("all", "./all", "  postBuild: {substitute: {WHERE: eu}}\n")
    assert workload({"clusters/prod/all.yaml": parent, "all/apps.yaml": child, "apps/eu/web.yaml": WEB}).name == "web"


# --- what cannot be read --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("files", "place", "words"),
    [
        ({"clusters/prod/apps.yaml": flux("apps", "./gone")}, "clusters/prod/apps.yaml:6", "there is no such folder"),
        ({"clusters/prod/apps.yaml": flux("apps", "./${X}")}, "clusters/prod/apps.yaml:6", "variable that nobody"),
        (
            {"clusters/prod/apps.yaml": flux("apps", "./apps"), "apps/kustomization.yaml": "resources:\n- gone.yaml\n"},
            "apps/kustomization.yaml:2",
            "there is no such file or folder: Flux applies nothing of Kustomization flux-system/apps",
        ),
        (
            {"clusters/prod/apps.yaml": flux("apps", "./apps"), "apps/values.yaml": "replicas: 3\n"},
            "clusters/prod/apps.yaml:6",
            "because apps does not build: kubectl kustomize:",
        ),
        (
            {"clusters/prod/apps.yaml": flux("apps", "./apps", "  components: [../gone]\n"), "apps/web.yaml": WEB},
            "clusters/prod/apps.yaml:6",
            "it lists ../gone, and there is no such file or folder",
        ),
    ],
)
def test_what_flux_cannot_build_is_an_error_at_its_line_and_hides_nothing(
    repo: Path, files: dict[str, str], place: str, words: str
) -> None:
    good = {"clusters/prod/good.yaml": flux("good", "./good"), "good/web.yaml": WEB}
    found = read({**files, **good})
    (error,) = found.errors
    assert f"{error.path}:{error.line}" == place
    assert words in error.message
    assert [w.name for w in found.inventory.workloads] == ["web"]
    done = called("lint", "--no-config", cwd=repo)
    assert (done.returncode, f"{place}:" in done.stdout) == (2, True)
    assert called("lint", ".", "--no-config", "--jobs", "1", cwd=repo).returncode == 2


LISTED = {"apps/kustomization.yaml": "resources: [web.yaml]\n"}


@pytest.mark.parametrize(
    ("more", "files", "words"),
    [
        ("  components: [../gone]\n  ignoreMissingComponents: true\n", {"apps/web.yaml": WEB}, None),
        ("", {"apps/kustomization.yaml": "# nothing yet\n"}, ""),
        ("", {"apps/kustomization.yaml": "resources: []\n"}, ""),
        ("", {"apps/README.md": "nothing yet\n"}, ""),
        (
            "",
            {"apps/kustomization.yaml": "resources: [in]\n", "apps/in/kustomization.yaml": "# nothing\n"},
            "that is empty, which kubectl refuses",
        ),
        (
            "",
            {"apps/kustomization.yaml": "helmCharts: [{name: x, repo: https://a.b, version: 1.0.0, releaseName: r}]\n"},
            "it inflates a Helm chart, which Flux does not",
        ),
        ("  postBuild: {substitute: {a-b: x}}\n", {"apps/web.yaml": WEB}, "its variable a-b is no name"),
        ("  postBuild: {substitute: {A: 3}}\n", {"apps/web.yaml": WEB}, "its variable A is no text"),
        (
            "  postBuild: {substituteFrom: [{kind: ConfigMap, name: settings}]}\n",
            {"apps/web.yaml": WEB, "clusters/prod/map.yaml": CONFIG.replace("ZONE", "the-zone")},
            "its variable the-zone is no name",
        ),
    ],
)
def test_what_kustomize_controller_does_with_it(
    repo: Path, more: str, files: dict[str, str], words: str | None
) -> None:
    """``words``: None if it applies the workload, empty if it applies nothing, and that is no error."""
    found = read({"clusters/prod/apps.yaml": flux("apps", "./apps", more), **files})
    assert [one.name for one in found.inventory.workloads] == (["web"] if words is None else [])
    assert [(words or "-") in one.message for one in found.errors] == ([True] if words else [])


def test_links_are_not_in_what_flux_fetches(repo: Path) -> None:
    write(repo, {"other/web.yaml": WEB, "made/own.yaml": WEB.replace("web", "own"), **LISTED})
    for name, target in (("apps/web.yaml", "../other/web.yaml"), ("made/web.yaml", "../other/web.yaml")):
        (repo / name).symlink_to(target)
    (repo / "linked").symlink_to("other")
    children = "".join(flux(name, f"./{name}") for name in ("apps", "made", "linked"))
    found = read({"clusters/prod/all.yaml": children})
    assert [one.name for one in found.inventory.workloads] == ["own"]
    messages = sorted(error.message for error in found.errors)
    assert "applies ./linked, a link, which Flux leaves out of what it fetches" in messages[0]
    assert "web.yaml is a link, which Flux leaves out of what it fetches" in messages[1]


@pytest.mark.parametrize(
    ("child", "reason", "is_gap"),
    [
        (flux("apps", "./apps", "  suspend: true\n"), "is suspended: Flux applies nothing of it", False),
        (flux("apps", "./apps", "  kubeConfig: {secretRef: {name: x}}\n"), "another cluster (kubeConfig)", False),
        (flux("apps", "./apps", source="{kind: OCIRepository, name: x}"), "OCIRepository x, which is not this", True),
        (flux("apps", "./apps", source="{kind: ExternalArtifact, name: x}"), "ExternalArtifact x", True),
    ],
)
def test_what_flux_does_not_apply_from_here_is_said(repo: Path, child: str, reason: str, is_gap: bool) -> None:
    found = read({"clusters/prod/apps.yaml": child, "apps/web.yaml": WEB})
    assert found.inventory.workloads == ()
    (skipped,) = found.skipped
    assert reason in skipped.reason
    assert bool(skipped.unrendered) is is_gap


def test_a_repository_with_the_same_address_is_this_one(repo: Path) -> None:
    git = (
        "---\napiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\n"
        "metadata: {name: NAME, namespace: flux-system}\nspec: {url: u}\n"
    )
    apps = flux("apps", "./apps", source="{kind: GitRepository, name: other}")
    files = {"clusters/prod/git.yaml": git.replace("NAME", "flux-system") + git.replace("NAME", "other")}
    assert workload({**files, "clusters/prod/apps.yaml": apps, "apps/web.yaml": WEB}).name == "web"


def test_nothing_outside_the_repository_is_read(repo: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("other")
    write(other, {"web.yaml": WEB})
    (repo / "linked").symlink_to(other)
    (repo / "apps").mkdir()
    (repo / "apps" / "web.yaml").symlink_to(other / "web.yaml")
    up = os.path.relpath(other, repo)
    climbing = {"clusters/prod/up.yaml": flux("up", f"./{up}"), "clusters/prod/linked.yaml": flux("linked", "./linked")}
    apps = {"clusters/prod/apps.yaml": flux("apps", "./apps"), "apps/own.yaml": WEB.replace("web", "own")}
    found = read({**climbing, **apps})
    assert [w.name for w in found.inventory.workloads] == ["own"]
    assert sorted(error.path for error in found.errors) == ["clusters/prod/linked.yaml", "clusters/prod/up.yaml"]


# --- objects without a namespace --------------------------------------------------------------------------------------

OBJECT = "apiVersion: VERSION\nkind: KIND\nmetadata:\n  name: x\n"
CLASS = "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 5\n---\n"
IN_A_LIST = "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Secret\n  metadata: {name: x}\n"
LEFT_OUT = "  annotations: {kustomize.toolkit.fluxcd.io/reconcile: disabled}\n"


def of_kind(version: str, kind: str) -> str:
    return OBJECT.replace("VERSION", version).replace("KIND", kind)


@pytest.mark.parametrize(
    ("more", "files", "place"),
    [
        ("", {"apps/web.yaml": CLASS + UNPLACED}, "Deployment/web apps/web.yaml:9"),
        ("  targetNamespace: shop\n", {"apps/web.yaml": UNPLACED}, ""),
        ("", {"apps/web.yaml": UNPLACED, "apps/kustomization.yaml": "resources: [web.yaml]\nnamespace: a\n"}, ""),
        ("", {"apps/a.yaml": IN_A_LIST, "apps/web.yaml": WEB}, "Secret/x apps/a.yaml:1"),
        (
            "",
            {"apps/a.yaml": of_kind("kustomize.toolkit.fluxcd.io/v1", "Kustomization")},
            "Kustomization/x apps/a.yaml:4",
        ),
        ("", {"apps/a.yaml": of_kind("helm.toolkit.fluxcd.io/v2", "HelmRelease")}, "HelmRelease/x apps/a.yaml:4"),
        ("", {"apps/a.yaml": of_kind("example.com/v1", "Service"), "apps/web.yaml": WEB}, ""),
        ("", {"apps/a.yaml": of_kind("v1", "Namespace") + "---\n" + of_kind("storage.k8s.io/v1", "CSIDriver")}, ""),
        ("", {"apps/a.yaml": of_kind("v1", "ConfigMap") + LEFT_OUT, "apps/web.yaml": WEB}, ""),
        ("  postBuild: {substitute: {A: b}}\n", {"apps/web.yaml": WEB.replace("default", "${A}")}, ""),
        (
            "  postBuild: {substitute: {A: b}}\n",
            {"apps/web.yaml": WEB.replace("default", "${NONE}")},
            "Deployment/web apps/web.yaml:4",
        ),
        (
            "  postBuild: {substituteFrom: [{kind: Secret, name: other}]}\n",
            {"apps/web.yaml": WEB.replace("default", "${NONE:=}")},
            "",
        ),
    ],
)
def test_an_object_that_needs_a_namespace_and_has_none_stops_its_kustomization(
    repo: Path, more: str, files: dict[str, str], place: str
) -> None:
    """As server-side apply refuses it; never of kinds that may be of the cluster, or that Flux leaves out."""
    kind, _, at = place.partition(" ")
    good = {"clusters/prod/good.yaml": flux("good", "./good"), "good/web.yaml": WEB.replace("web", "good")}
    found = read({"clusters/prod/apps.yaml": flux("apps", "./apps", more), **files, **good})
    words = (
        f"{kind} namespace not specified: the server could not find the requested resource: Flux applies nothing of "
        "Kustomization flux-system/apps; set metadata.namespace, kustomization.yaml's namespace or spec.targetNamespace"
    )
    assert [(f"{one.path}:{one.line}", one.message) for one in found.errors] == ([(at, words)] if place else [])
    is_applied = not place and "apps/web.yaml" in files
    assert sorted(one.name for one in found.inventory.workloads) == ["good", *(["web"] if is_applied else [])]
    assert found.inventory.priority_classes == ()
    assert called("lint", "--no-config", cwd=repo).returncode == (2 if place else 0)


def test_it_is_one_error_of_a_kustomization_and_what_that_creates_is_not_applied(repo: Path) -> None:
    two = UNPLACED + "---\n" + UNPLACED.replace("web", "zoo")
    files = {"all/two.yaml": two, "all/apps.yaml": flux("apps", "./apps"), "apps/web.yaml": WEB}
    found = read({"clusters/prod/all.yaml": flux("all", "./all"), **files})
    assert [(one.path, one.line) for one in found.errors] == [("all/two.yaml", 4)]
    assert found.inventory.workloads == ()


def test_a_kustomization_may_give_itself_a_namespace(repo: Path) -> None:
    patch = (
        "resources: [gotk-sync.yaml]\npatches:\n- target: {kind: Kustomization, name: flux-system}\n"
        '  patch: \'[{"op": "add", "path": "/spec/targetNamespace", "value": "flux-system"}]\'\n'
    )
    files = {"clusters/prod/flux-system/kustomization.yaml": patch, "clusters/prod/web.yaml": UNPLACED}
    assert workload(files).namespace == "flux-system"


def test_what_nothing_says_how_it_is_applied_gets_the_default_namespace(repo: Path) -> None:
    """A person names a folder: nobody has seen the Kustomization that applies it."""
    assert workload({"other/web.yaml": UNPLACED}, "other").namespace == "default"
    wanted = {"argo/app.yaml": ARGO, "app/web.yaml": UNPLACED}
    assert workload(wanted, "argo").namespace == "shop"


ARGO = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: app}
spec: {destination: {namespace: shop}, source: {repoURL: "https://github.com/example/own.git", path: app}}
"""


# --- entry points ---------------------------------------------------------------------------------------------------

INSTANCE = (
    "apiVersion: fluxcd.controlplane.io/v1\nkind: FluxInstance\nmetadata: {name: flux}\n"
    "spec: {sync: {path: clusters/eu}}\n"
)
RELEASE = (
    "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: flux-instance}\n"
    "spec: {values: {instance: {sync: {path: clusters/us}}}}\n"
)


def test_entry_points_are_what_syncs_a_folder(repo: Path) -> None:
    write(repo, {"clusters/eu/i.yaml": INSTANCE, "x/release.yaml": RELEASE, "apps/apps.yaml": flux("other", "./o")})
    found = repository_of(".").entries()
    assert [entry.path for entry in found] == ["clusters/eu", "clusters/prod", "clusters/us"]
    assert names_of(found) == ["eu", "prod", "us"]
    read_us = read_manifests(["clusters/us"], Options(applied=True))
    (error,) = read_us.errors
    assert (error.path, error.line) == ("x/release.yaml", 4)


@pytest.mark.parametrize("path", ["../..", "link", '"a\\0b"'])
def test_no_entry_point_is_outside_the_repository(
    repo: Path, tmp_path_factory: pytest.TempPathFactory, path: str
) -> None:
    (repo / "link").symlink_to(tmp_path_factory.mktemp("outside"))
    instance = "apiVersion: fluxcd.controlplane.io/v1\nkind: FluxInstance\nmetadata: {name: flux}\n"
    write(repo, {"instance.yaml": f"{instance}spec: {{sync: {{path: {path}}}}}\n"})
    assert [entry.path for entry in repository_of(".").entries()] == ["clusters/prod"]


def test_a_path_with_a_variable_is_each_folder_that_fits(repo: Path) -> None:
    shutil.rmtree(repo / "clusters")
    instance = "apiVersion: fluxcd.controlplane.io/v1\nkind: FluxInstance\nmetadata: {name: flux}\n"
    write(repo, {"apps/instance.yaml": f"{instance}spec: {{sync: {{path: 'clusters/${{CLUSTER}}/first'}}}}\n"})
    for name in ("eu", "us", ".git"):
        write(repo, {f"clusters/{name}/first/web.yaml": WEB.replace("web", name.strip("."))})
    write(repo, {"clusters/none/web.yaml": WEB})
    assert [entry.path for entry in repository_of(".").entries()] == ["clusters/eu/first", "clusters/us/first"]
    assert workload({}, "clusters/us/first").name == "us"


def test_folders_like_a_path_of_many_variables_are_found_at_once(repo: Path) -> None:
    """A pattern that goes back over its steps would try each way to share the name among the variables."""
    (repo / ("a" * 200)).mkdir()
    assert folders_like(str(repo), "${A}" * 40 + "b") == []
    assert folders_like(str(repo), "${A}" * 40) == ["a" * 200]


def test_no_folder_outside_the_repository_is_like_a_path(repo: Path) -> None:
    (repo / "link").symlink_to("..")
    assert folders_like(str(repo), "../${A}") == []
    assert folders_like(str(repo), "link/${A}") == []


def test_without_them_they_are_kustomizations_that_no_other_applies(repo: Path) -> None:
    shutil.rmtree(repo / "clusters")
    write(
        repo,
        {
            "a/one/ks.yaml": flux("apps", "./apps"),
            "b/one/ks.yaml": flux("b", "./apps"),
            "apps/ks.yaml": flux("c", "./c"),
        },
    )
    found = repository_of(".").entries()
    assert [entry.path for entry in found] == ["a/one/ks.yaml", "b/one/ks.yaml"]
    assert names_of(found) == ["a-one", "b-one"]
    assert workload({"c/web.yaml": WEB}, "a/one/ks.yaml").name == "web"


def test_what_applies_itself_begins_a_set(repo: Path) -> None:
    """Whatever it is called; Kustomizations that its kustomization lists begin none."""
    shutil.rmtree(repo / "clusters")
    listing = {"flux/kustomization.yaml": "resources: [repo.yaml, ../deploy/ks.yaml]\n"}
    other = flux("other", "./", source="{kind: GitRepository, name: x}")
    write(repo, {"flux/repo.yaml": flux("config", "./flux"), "deploy/ks.yaml": flux("web", "./web"), **listing})
    web = workload({"web/web.yaml": WEB, "deploy/other/ks.yaml": other}, "flux")
    assert web.name == "web"
    assert [entry.path for entry in repository_of(".").entries()] == ["flux"]


# --- commands -------------------------------------------------------------------------------------------------------


APART = """\
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: web}}}
"""


@pytest.fixture
def two(repo: Path) -> Path:
    write(repo, {"clusters/test/flux-system/gotk-sync.yaml": flux("flux-system", "./clusters/test")})
    for cluster, replicas in (("prod", 4), ("test", 1)):
        patch = f"{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: web}}, spec: {{replicas: {replicas}}}}}"
        write(repo, {f"clusters/{cluster}/apps.yaml": flux("apps", "./apps", f"  patches: [{{patch: '{patch}'}}]\n")})
    write(repo, {"apps/web.yaml": WEB + APART, "unused/web.yaml": WEB.replace("web", "unused")})
    node = "{name: worker, count: 3, allocatable: {cpu: '4', memory: 16Gi, pods: 20}}"
    write(repo, {"cluster.yaml": f"apiVersion: kubesched-lint/v1\nkind: ClusterSketch\nnodes: [{node}]\n"})
    return repo


@pytest.mark.parametrize("paths", [(), (".",)])
def test_lint_judges_each_set_alone_and_says_so(two: Path, paths: tuple[str, ...]) -> None:
    words = ("-c", "cluster.yaml", "--no-config", "--jobs", "1")
    short = called("lint", *paths, *words, cwd=two)
    assert (short.returncode, "checked 2 workloads in 2 targets (prod, test)\n" in short.stdout) == (1, True)
    done = called("lint", *paths, *words, "-v", cwd=two)
    assert done.returncode == 1, done.stdout
    assert (
        "what Flux or Argo CD applies was judged, 2 sets, each alone, from clusters/prod, clusters/test" in done.stdout
    )
    assert "targets: prod" in done.stdout
    assert "unused" not in done.stdout
    assert "apps/web.yaml" in done.stdout
    files = called("lint", ".", "--files", "-c", "cluster.yaml", "--no-config", "-v", cwd=two)
    assert (files.returncode, "was judged" in files.stdout) == (0, False)
    assert called("lint", "apps", "-c", "cluster.yaml", "--no-config", cwd=two).returncode == 0


def test_discover_prints_and_writes_targets(two: Path) -> None:
    done = called("targets", "discover", cwd=two)
    assert done.stdout.splitlines()[:2] == [
        "prod: clusters/prod (gotk-sync)",
        "  2 Kustomizations, 0 releases, 1 workload",
    ]
    (two / "kubesched.toml").write_text('cluster = "cluster.yaml"\n')
    assert called("targets", "discover", "--write", cwd=two).returncode == 0
    tables = ('[[targets]]\nname = "prod"\nentry = "clusters/prod"\n', '[[targets]]\nname = "test"\n')
    written = "\n".join(('cluster = "cluster.yaml"\n', *tables))
    assert (two / "kubesched.toml").read_text().startswith(written)
    done = called("lint", "--jobs", "1", "-v", cwd=two)
    assert (done.returncode, "was judged" in done.stdout) == (1, False)
    assert called("lint", "--target", "test", cwd=two).returncode == 0
    assert called("targets", "discover", "--write", cwd=two).returncode == 2
    assert (two / "kubesched.toml").read_text().startswith(written)


def test_target_takes_the_names_of_the_sets(two: Path) -> None:
    words = ("-c", "cluster.yaml", "--no-config")
    assert called("lint", "--target", "prod", *words, cwd=two).returncode == 1
    assert called("lint", "--target", "test", *words, cwd=two).returncode == 0
    assert called("simulate", "--target", "test", *words, cwd=two).returncode == 0
    done = called("lint", "--target", "dev", *words, cwd=two)
    assert (done.returncode, "no target is called 'dev'; there are prod, test" in done.stderr) == (2, True)
    done = called("lint", "--fix", *words, cwd=two)
    assert (done.returncode, "name one with --target" in done.stderr) == (2, True)


def test_other_commands_take_the_sets(two: Path) -> None:
    done = called("simulate", "-c", "cluster.yaml", "--no-config", cwd=two)
    assert (done.returncode, "web" in done.stdout, "unused" in done.stdout) == (1, True, False)
    done = called("why", "web", ".", "-c", "cluster.yaml", "--no-config", cwd=two)
    assert (done.returncode, "prod" in done.stdout) == (0, True)


@pytest.mark.parametrize("arguments", [("lint", "--changed"), ("plan",)])
def test_a_change_of_a_set_is_compared_with_the_set_before(repo: Path, arguments: tuple[str, ...]) -> None:
    shutil.rmtree(repo / ".git")
    apps = flux("apps", "./apps", "  targetNamespace: shop\n")
    files = {"clusters/prod/apps.yaml": apps, "apps/web.yaml": (WEB + APART).replace("replicas: 1", "replicas: 3")}
    node = "{name: worker, count: 3, allocatable: {cpu: '4', memory: 16Gi, pods: 20}}"
    sketch = f"apiVersion: kubesched-lint/v1\nkind: ClusterSketch\nnodes: [{node}]\n"
    entry = 'cluster = "cluster.yaml"\n[[targets]]\nname = "prod"\nentry = "clusters/prod"\n'
    write(repo, {**files, "cluster.yaml": sketch, "kubesched.toml": entry})
    for command in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "one"],
    ):
        subprocess.run(["git", *command], check=True)
    assert called(*arguments, cwd=repo).returncode == 0
    (repo / "apps" / "web.yaml").write_text(files["apps/web.yaml"].replace("replicas: 3", "replicas: 5"))
    done = called(*arguments, cwd=repo)
    assert (done.returncode, "web" in done.stdout, "could not be read" in done.stdout) == (1, True, False)


@pytest.mark.parametrize(
    ("labels", "annotations", "is_told"),
    [
        ("{team: web}", "", True),
        ("{}", "", True),
        ("{team: shop}", "", False),
        ("{team: web}", ", annotations: {kustomize.toolkit.fluxcd.io/ssa: Merge}", False),
        ("{team: web}", ", annotations: {kustomize.toolkit.fluxcd.io/ssa: {no: text}}", False),
    ],
)
def test_two_kustomizations_that_label_one_namespace_are_told(
    repo: Path, labels: str, annotations: str, is_told: bool
) -> None:
    def namespace(labels: str, more: str = "") -> str:
        return f"apiVersion: v1\nkind: Namespace\nmetadata: {{name: shop, labels: {labels}{more}}}\n"

    files = {
        "clusters/prod/apps.yaml": flux("first", "./first") + flux("second", "./second"),
        "first/ns.yaml": namespace("{team: shop}"),
        "second/ns.yaml": namespace(labels, annotations),
        "second/web.yaml": WEB.replace("namespace: default", "namespace: shop"),
    }
    write(repo, files)
    said = called("lint", "--format", "concise", "--select", "defined-twice").stdout
    words = "apply Namespace shop with different labels (team): each sync replaces what the last one set"
    assert (words in said) is is_told
    assert said.count("second/ns.yaml:3:18: warning defined-twice") == is_told
