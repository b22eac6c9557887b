"""Releases that are rendered from pulled charts: what is read, which line is to blame, what is refused."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
import yaml

from kubesched_lint.commands.lint.run import entries_of
from kubesched_lint.custom.kinds import Kinds
from kubesched_lint.linter.reading.manifest_set import manifest_set
from kubesched_lint.sources.charts import rendering
from kubesched_lint.sources.charts.folder import keep
from kubesched_lint.sources.charts.lock import NAME, Locked, Pinned, text_of
from kubesched_lint.sources.charts.rendering import Asked, Charts, default_values
from kubesched_lint.sources.manifests.document import Document
from kubesched_lint.sources.manifests.inputs import InputFile
from tests.charts.packing import CHART, SCHEMA, WEB, needs_helm, packed, program
from tests.program import called

pytestmark = pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not on PATH")

SYNC = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: flux-system, namespace: flux-system}
spec: {path: ./cluster, sourceRef: {kind: GitRepository, name: flux-system}}
"""
RELEASE = """\
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {name: charts, namespace: shop}
spec: {url: ADDRESS}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: web, namespace: shop}
spec:
  chart:
    spec: {chart: web, version: 1.2.3, sourceRef: {kind: HelmRepository, name: charts}}
  values:
    nodeSelector:
      disk: ssd
"""
SKETCH = """\
apiVersion: kubesched-lint/v1
kind: ClusterSketch
nodes: [{name: worker, count: 3, allocatable: {cpu: "4", memory: 16Gi, pods: 20}}]
objects: [{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: low}, value: 1}]
"""
ADDRESS = "https://example.com/charts"
RENDERED = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web-front}
spec:
  replicas: 3
  selector: {matchLabels: {app: front}}
  template:
    metadata: {labels: {app: front}}
    spec:
      priorityClassName: high
      nodeSelector: {disk: ssd}
      containers: [{name: app, image: web, resources: {requests: {cpu: 100m, memory: 64Mi}}}]
"""


class Repository:
    """A repository of Flux with one release, and a cache of charts."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.bin, self.cache = folder, folder / "bin", folder / "cache"
        (folder / "cluster").mkdir()
        (folder / ".git").mkdir()
        (folder / "cluster" / "gotk-sync.yaml").write_text(SYNC)
        (folder / "sketch.yaml").write_text(SKETCH)
        (folder / "kubesched.toml").write_text('cluster = "sketch.yaml"\n[gitops]\nhelm = "cache"\n')
        self.release(RELEASE.replace("ADDRESS", ADDRESS))

    def release(self, text: str) -> None:
        (self.folder / "cluster" / "release.yaml").write_text(text)

    def locks(self, data: bytes, digest: str = "") -> str:
        self.cache.mkdir(mode=0o700, exist_ok=True)
        found = keep(str(self.cache / "charts"), data)
        (self.folder / NAME).write_text(text_of([(Pinned(ADDRESS, "web", "1.2.3"), Locked(digest or found))]))
        return found

    def prints(self, text: str, more: str = "") -> None:
        """Make ``helm`` print a text."""
        (self.folder / "out.yaml").write_text(text)
        program(self.bin, f"{more}\ncat {self.folder}/out.yaml\n")

    def run(self, *words: str, path: str = "") -> subprocess.CompletedProcess[str]:
        environ = {**os.environ, "KUBESCHED_LINT_CACHE_DIR": str(self.cache)}
        environ["PATH"] = path or f"{self.bin}:{os.environ['PATH']}"
        return called(*words, cwd=self.folder, environ=environ)

    def findings(self) -> dict[str, tuple[str, str, int]]:
        """Rule → severity, file, line."""
        done = self.run("lint", "--format", "json")
        return {
            one["rule"]: (one["severity"], one["location"]["path"], one["location"]["line"])
            for one in json.loads(done.stdout)["findings"]
        }

    def reasons(self) -> list[str]:
        """Why releases are not read."""
        done = self.run("lint", "--format", "json")
        return [one["reason"] for one in json.loads(done.stdout)["summary"]["releases"]["notRead"]]


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


def line_of(text: str, word: str) -> int:
    return next(number for number, line in enumerate(text.split("\n"), 1) if word in line)


def test_a_release_is_what_its_locked_chart_makes(repository: Repository) -> None:
    repository.locks(packed(WEB))
    repository.prints(RENDERED)
    found = repository.findings()
    assert found["nodeselector-matches-nothing"] == ("error", "cluster/release.yaml", line_of(RELEASE, "disk: ssd"))
    assert found["priority-class-missing"] == ("error", "web/values.yaml (of the chart)", 6)
    assert repository.reasons() == []
    shown = repository.run("lint").stdout
    assert "--> web/values.yaml (of the chart):6:" in shown
    assert f"= from: cluster/release.yaml:{line_of(RELEASE, 'spec: {chart: web')}" in shown
    assert "1 release, 1 workload" in repository.run("targets", "discover").stdout


def test_what_is_partly_a_default_stands_at_the_values_of_the_release(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A finding about a whole pod is about what the release says of it; if that is nothing, about the release."""
    repository.locks(packed(WEB))
    repository.prints(RENDERED)
    monkeypatch.setenv("PATH", f"{repository.bin}:{os.environ['PATH']}")
    charts = Charts(str(repository.folder / NAME), str(repository.cache / "charts"))
    kinds = Kinds(reads_named=True, charts=charts)
    for values, word in (("nodeSelector: {disk: ssd}", "nodeSelector"), ("other: 1", "name: web, ")):
        text = RELEASE.partition("  values:")[0].replace("ADDRESS", ADDRESS) + f"  values:\n    {values}\n"
        found = manifest_set(entries_of([InputFile("a.yaml", text.encode())], kinds), "default", kinds=kinds)
        (workload,) = found.inventory.workloads
        assert isinstance(workload.source, Document)
        assert workload.source.location(("spec", "template", "spec")).span.line == line_of(text, word)


def test_a_value_that_two_fields_hold_blames_the_release(repository: Repository) -> None:
    values = "\n".join((WEB["values.yaml"], "back: {priorityClassName: high}\n"))
    repository.locks(packed({**WEB, "values.yaml": values}))
    repository.prints(RENDERED)
    found = repository.findings()
    assert found["priority-class-missing"][1:] == ("cluster/release.yaml", line_of(RELEASE, "name: web, "))


def test_a_waiver_at_the_value_counts(repository: Repository) -> None:
    waived = RELEASE.replace("disk: ssd", "disk: ssd  # kubesched: ignore[nodeselector-matches-nothing] bought soon")
    repository.release(waived.replace("ADDRESS", ADDRESS))
    repository.locks(packed(WEB))
    repository.prints(RENDERED)
    shown = repository.run("lint").stdout
    assert "nodeselector-matches-nothing" not in shown
    assert "1 suppressed" in shown


def test_without_the_setting_nothing_is_rendered(repository: Repository) -> None:
    repository.locks(packed(WEB))
    repository.prints(RENDERED, "touch started")
    (repository.folder / "kubesched.toml").write_text('cluster = "sketch.yaml"\n')
    assert repository.reasons() == ["no values card describes its chart"]
    assert not (repository.folder / "started").exists()


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (
            "version: 1.2.3",
            'version: "1.x"',
            "web 1.x is a range, and kubesched-charts.lock has no version for it: kubesched-lint charts pull",
        ),
        (
            "version: 1.2.3, ",
            "",
            "web * is a range, and kubesched-charts.lock has no version for it: kubesched-lint charts pull",
        ),
        ("version: 1.2.3", "version: main", "main is no version of its chart"),
        ("name: charts}}", "name: others}}", "HelmRepository others, which has its chart, is not in the set"),
        ("kind: HelmRepository, ", "kind: GitRepository, ", "its chart is taken from a GitRepository"),
        ("url: https", "url: file", "file://example.com/charts is no address of charts"),
        ("version: 1.2.3", "version: 1.2.4", "web 1.2.4 is not in kubesched-charts.lock: kubesched-lint charts pull"),
        ("  values:\n", "  kubeConfig: {}\n  values:\n", None),
        ("  values:\n", "  kubeConfig: {a: b}\n  values:\n", "it is installed in another cluster (kubeConfig)"),
    ],
)
def test_what_is_not_rendered_says_why(repository: Repository, old: str, new: str, why: str | None) -> None:
    repository.locks(packed(WEB))
    repository.prints(RENDERED)
    assert old in RELEASE.replace("ADDRESS", ADDRESS)
    repository.release(RELEASE.replace("ADDRESS", ADDRESS).replace(old, new))
    assert repository.reasons() == ([] if why is None else [why])


def test_what_charts_make_is_validated_as_helm_controller_applies_it(repository: Repository) -> None:
    """The server drops an unknown field, because the controller is no strict client; a wrong value it refuses."""
    repository.locks(packed(WEB))
    repository.prints(RENDERED.replace("replicas: 3", "replicaz: 3"))
    assert repository.findings()["api-would-reject"][:2] == ("warning", "cluster/release.yaml")
    repository.prints(RENDERED.replace("replicas: 3", "replicas: -3"))
    assert repository.findings()["api-would-reject"][:2] == ("error", "cluster/release.yaml")


def test_custom_resources_of_a_chart_have_their_cards(repository: Repository) -> None:
    repository.locks(packed(WEB))
    cluster = {"instances": 3, "affinity": {"nodeSelector": {"disk": "ssd"}}, "storage": {"size": "1Gi"}}
    made = {"apiVersion": "postgresql.cnpg.io/v1", "kind": "Cluster", "metadata": {"name": "db"}, "spec": cluster}
    settings = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"
    repository.prints(f"{settings}---\n{yaml.safe_dump(made)}")
    found = repository.findings()
    assert found["nodeselector-matches-nothing"] == ("error", "cluster/release.yaml", line_of(RELEASE, "disk: ssd"))
    assert repository.reasons() == []


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ("  valuesFrom: [{kind: Secret, name: s}]\n", "values of Secret s are not known"),
        ("  postRenderers: [{kustomize: {generators: []}}]\n", "postRenderers change what the chart makes"),
        ("  postRenderers: [{other: {}}]\n", "postRenderers change what the chart makes"),
        ("  postRenderers: [{kustomize: {patches: [{path: x}]}}]\n", "postRenderers change what the chart makes"),
    ],
)
def test_what_may_change_is_read_and_proves_nothing(repository: Repository, more: str, why: str) -> None:
    repository.locks(packed(WEB))
    repository.prints(RENDERED)
    repository.release(RELEASE.replace("ADDRESS", ADDRESS).replace("  values:\n", f"{more}  values:\n"))
    assert repository.reasons() == [why]
    assert {severity for severity, _, _ in repository.findings().values()} <= {"warning", "note"}


def test_post_renderers_change_what_helm_made(repository: Repository) -> None:
    repository.locks(packed(WEB))
    repository.prints(RENDERED)
    first = "{patch: '- {op: remove, path: /spec/template/spec/nodeSelector}', target: {kind: Deployment}}"
    second = "{patch: '{apiVersion: apps/v1, kind: Deployment, metadata: {name: web-front}, spec: {replicas: 0}}'}"
    post = f"  postRenderers: [{{kustomize: {{patches: [{first}]}}}}, {{kustomize: {{patches: [{second}]}}}}]\n"
    repository.release(RELEASE.replace("ADDRESS", ADDRESS).replace("  values:\n", f"{post}  values:\n"))
    found = repository.findings()
    assert "nodeselector-matches-nothing" not in found
    assert repository.reasons() == []
    broken = post.replace("op: remove", "op: rub out")
    repository.release(RELEASE.replace("ADDRESS", ADDRESS).replace("  values:\n", f"{broken}  values:\n"))
    (reason,) = repository.reasons()
    assert reason.startswith("web 1.2.3: kubectl kustomize: ")


@needs_helm
@pytest.mark.parametrize(
    ("text", "more", "expected"),
    [
        ("7", "targetPath: replicaCount", 7),
        ("low", "targetPath: front.priorityClassName", 3),
        ("replicaCount: 8", "", 8),
        ("a,b=c", "targetPath: front.priorityClassName", None),
        ("a,b", "targetPath: front.priorityClassName, literal: true", 3),
        ("'low'", "targetPath: front.priorityClassName", 3),
        ("7", "targetPath: 'a[0]'", None),
    ],
)
def test_a_value_of_a_config_map_is_set_at_its_path(
    repository: Repository, text: str, more: str, expected: int | None
) -> None:
    repository.locks(packed(WEB))
    given = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "v", "namespace": "shop"},
        "data": {"k": text},
    }
    source = f"  valuesFrom: [{{kind: ConfigMap, name: v, valuesKey: k{', ' * bool(more)}{more}}}]\n  values:\n"
    release = RELEASE.replace("ADDRESS", ADDRESS).replace("  values:\n", source)
    charts = Charts(str(repository.folder / NAME), str(repository.cache / "charts"))
    kinds = Kinds(reads_named=True, charts=charts)
    file = InputFile("a.yaml", f"{release}---\n{yaml.safe_dump(given)}".encode())
    found = manifest_set(entries_of([file], kinds), "default", kinds=kinds)
    (workload,), (its,) = found.inventory.workloads, found.releases
    assert its.why == ("values of ConfigMap v are not known" if expected is None else "")
    assert workload.replicas == (expected or 3)
    if "priorityClassName" in more and expected:
        assert workload.pod.priority_class == text.strip("'")


PROD = "replicaCount: 5\nnodeSelector: {disk: none}\nfront: {priorityClassName: prod}\n"


@needs_helm
@pytest.mark.parametrize(
    ("files", "priority"),
    [
        ("valuesFiles: [values.yaml, ./prod/values-prod.yaml]", "prod"),
        ("valuesFiles: [prod/values-prod.yaml, values.yaml]", "high"),
        ("valuesFiles: [prod/values-prod.yaml]", "prod"),
        ("valuesFiles: [values.yaml, none.yaml], ignoreMissingValuesFiles: true", "high"),
        ("valuesFile: prod/values-prod.yaml", "prod"),
    ],
)
def test_files_of_the_chart_stand_in_for_its_values(repository: Repository, files: str, priority: str) -> None:
    repository.locks(packed({**WEB, "prod/values-prod.yaml": PROD}))
    repository.release(RELEASE.replace("ADDRESS", ADDRESS).replace("version: 1.2.3", f"version: 1.2.3, {files}"))
    assert repository.reasons() == []
    report = json.loads(repository.run("lint", "--format", "json").stdout)
    (found,) = [one for one in report["findings"] if one["rule"] == "priority-class-missing"]
    assert f"no PriorityClass {priority}" in found["message"]
    file = "values.yaml" if priority == "high" else "prod/values-prod.yaml"
    assert found["location"]["path"] == f"web/{file} (of the chart)"


@needs_helm
@pytest.mark.parametrize("name", ["none.yaml", "templates/web.yaml", "../values.yaml", "/etc/passwd"])
def test_a_file_that_the_chart_does_not_have_is_said(repository: Repository, name: str) -> None:
    repository.locks(packed(WEB))
    text = RELEASE.replace("ADDRESS", ADDRESS).replace("version: 1.2.3", f"version: 1.2.3, valuesFiles: [{name}]")
    repository.release(text)
    (reason,) = repository.reasons()
    assert reason in (f"web 1.2.3: {name} is not in the chart", f"web 1.2.3: {name} is no file of values")


MANIFEST = f"sha256:{'a' * 64}"
OCI = """\
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: charts, namespace: shop}
spec: {url: oci://example.com/charts/web, ref: REF}
"""


@pytest.mark.parametrize(
    ("ref", "words", "said"),
    [
        ("{tag: 1.2.3}", "oci://example.com/charts/web --version=1.2.3", "web 1.2.3: pulled"),
        ("{tag: 1.2.3, semver: 1.x}", "oci://example.com/charts/web --version=1.x", "web 1.x: pulled 1.2.3"),
        (f"{{tag: 1.2.3, digest: '{MANIFEST}'}}", f"oci://example.com/charts/web@{MANIFEST}", "web 1.2.3: pulled"),
        (f"{{semver: 1.x, digest: '{MANIFEST}'}}", f"oci://example.com/charts/web@{MANIFEST}", "web sha256:aaa"),
        (f"{{tag: latest, digest: '{MANIFEST}'}}", f"oci://example.com/charts/web@{MANIFEST}", "web sha256:aaa"),
        ("{semver: 1.x, semverFilter: '.*-rc'}", "", "semverFilter of OCIRepository charts is not read"),
        ("{tag: latest}", "", "latest is no version of its chart"),
        ("{digest: 'sha256:x'}", "", "sha256:x is no digest of its chart"),
    ],
)
def test_a_digest_decides_what_an_oci_repository_is(
    repository: Repository, tmp_path: Path, ref: str, words: str, said: str
) -> None:
    (tmp_path / "web.tgz").write_bytes(packed(WEB))
    script = (
        f'echo "$@" > {tmp_path}/words\nfor w; do case $w in --destination=*) cp {tmp_path}/web.tgz "${{w#*=}}";; esac'
    )
    program(repository.bin, f"{script}; done\n")
    release = RELEASE.partition("---\n")[2].partition("spec:")
    values = release[2].partition("  values:")[2]
    chart = "spec:\n  chartRef: {kind: OCIRepository, name: charts}\n  values:"
    repository.release(f"{OCI.replace('REF', ref)}---\n{release[0]}{chart}{values}")
    done = repository.run("charts", "pull")
    assert said in done.stdout + done.stderr
    assert (tmp_path / "words").exists() is bool(words)
    if words:
        assert (tmp_path / "words").read_text().startswith(f"pull {words} --destination=")
        assert repository.run("charts", "pull").stdout.startswith(said.replace("pulled", "unchanged"))
        repository.prints(RENDERED)
        assert repository.reasons() == []


def test_another_archive_than_locked_is_not_rendered(repository: Repository) -> None:
    digest = repository.locks(packed(WEB))
    repository.prints(RENDERED, "touch started")
    (repository.cache / "charts" / f"{digest}.tgz").write_bytes(packed({**WEB, "more": ""}))
    assert repository.reasons() == ["web 1.2.3 is locked, and its archive is not here: kubesched-lint charts pull"]
    assert not (repository.folder / "started").exists()


def test_a_refused_archive_is_one_error_and_the_rest_is_checked(repository: Repository) -> None:
    repository.locks(packed({**WEB, "../\x1b[31m\nevil": ""}))
    repository.prints(RENDERED, "touch started")
    second = RELEASE.replace("ADDRESS", ADDRESS).partition("---\n")[2].replace("name: web,", "name: web2,")
    front = RENDERED.replace("{name: web-front}", "{name: web-front, namespace: shop}")
    repository.release(f"{RELEASE.replace('ADDRESS', ADDRESS)}---\n{second}---\n{front}")
    done = repository.run("lint")
    assert done.returncode == 2
    line = line_of(RELEASE, "spec: {chart: web")
    why = r"the archive of web 1.2.3 is refused: 'web/../\x1b[31m\nevil' leads out of it"
    assert done.stdout.count(why) == 1
    assert f"error: {why}\n  --> cluster/release.yaml:{line}:5\n" in done.stdout
    assert "\x1b" not in done.stdout + done.stderr
    assert "error[nodeselector-matches-nothing]" in done.stdout
    assert not (repository.folder / "started").exists()
    assert len(repository.reasons()) == 2


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("head -c 70000000 /dev/zero | tr '\\0' x", "web 1.2.3: helm template writes more than 64 MiB"),
        ("head -c 20000000 /dev/zero | tr '\\0' x", "its chart makes YAML without a kind and apiVersion"),
        ("echo 'kind: Deployment'", "its chart makes YAML without a kind and apiVersion"),
        ("head -c 9000000 /dev/zero | tr '\\0' x >&2; exit 1", "web 1.2.3: helm template: "),
        ("printf 'Error: \\033[31m\\nevil' >&2; exit 1", "web 1.2.3: helm template: "),
        ("printf 'a: \\033'", "what its chart makes cannot be read: "),
        ("kill -9 $$", "web 1.2.3: helm template: ended with -9 and no message"),
    ],
)
def test_what_helm_prints_does_no_harm(repository: Repository, script: str, why: str) -> None:
    repository.locks(packed(WEB))
    repository.prints("", f"{script}; exit 0")
    (found,) = repository.reasons()
    assert found.startswith(why)
    assert len(found) < 600
    done = repository.run("lint", "-v")
    assert "\x1b" not in done.stdout + done.stderr
    assert done.returncode == 2  # no workload was read


def test_a_chart_that_hangs_costs_one_limit(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    repository.locks(packed(WEB))
    repository.prints(RENDERED, f"echo x >> {repository.folder}/started; sleep 60")
    monkeypatch.setenv("PATH", f"{repository.bin}:{os.environ['PATH']}")
    monkeypatch.setattr(rendering, "render", partial(rendering.render, timeout=0.5))
    charts = Charts(str(repository.folder / NAME), str(repository.cache / "charts"))
    many = [Asked(Pinned(ADDRESS, "web", "1.2.3"), f"r{number}", "shop", "{}") for number in range(20)]
    whys = [made.why for made in charts.made(many)]
    assert whys[0] == "web 1.2.3: helm template took longer than 0.5 seconds and was stopped"
    assert whys[-1] == "web 1.2.3: helm template took too long for another release of the chart"
    assert len((repository.folder / "started").read_text().split()) <= (os.cpu_count() or 1) + 1


@pytest.mark.parametrize("link", ["cache", "cache/charts"])
def test_a_folder_of_archives_that_is_a_link_is_not_read(repository: Repository, link: str) -> None:
    repository.locks(packed(WEB))
    repository.prints(RENDERED)
    place = repository.folder / link
    place.rename(repository.folder / "elsewhere")
    place.symlink_to(repository.folder / "elsewhere")
    is_users = link == "cache"  # the user names the cache; the folder in it is ours
    assert (repository.reasons() == []) == is_users


@needs_helm
def test_helm_gets_what_it_would_take_from_the_archive(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    """``.helmignore`` counts where a chart is packed, a schema refers to the network, and a packed subchart is read."""
    inner = {"Chart.yaml": CHART.format(name="sub", version="1.0.0"), "templates/s.yaml": WEB["templates/web.yaml"]}
    inner |= {"values.yaml": WEB["values.yaml"].replace("high", "highest"), "values.schema.json": SCHEMA}
    more = {".helmignore": "templates/\ncharts/\n", "templates/.hidden.yaml": WEB["templates/web.yaml"]}
    parent = {**WEB, **more, **{f"charts/other/{path}": text for path, text in inner.items()}}
    repository.locks(packed({**parent, "values.schema.json": SCHEMA}))
    charts = Charts(str(repository.folder / NAME), str(repository.cache / "charts"))
    asked = Asked(Pinned(ADDRESS, "web", "1.2.3"), "web", "shop", "{}")
    (made,) = charts.made([asked])
    assert made.why == ""
    sources = [line.removeprefix("# Source: ") for line in made.text.splitlines() if line.startswith("# Source: ")]
    assert sorted(sources) == [
        "web/charts/sub/templates/s.yaml",
        "web/templates/.hidden.yaml",
        "web/templates/web.yaml",
    ]
    defaults = default_values(charts.folder, charts.locked()[asked.chart].sha256)
    assert [(at, path) for at, path, _ in defaults] == [
        (("sub",), "web/charts/other/values.yaml"),
        ((), "web/values.yaml"),
    ]


def test_a_broken_lock_is_one_error(repository: Repository) -> None:
    repository.locks(packed(WEB))
    repository.prints(RENDERED)
    (repository.folder / NAME).write_text("charts = 1")
    done = repository.run("lint")
    assert done.returncode == 2
    assert f"error: {NAME}: expected [[charts]] and nothing else\n" in done.stderr


def test_without_helm_there_is_one_message(repository: Repository, tmp_path: Path) -> None:
    repository.locks(packed(WEB))
    second = RELEASE.replace("ADDRESS", ADDRESS).partition("---\n")[2].replace("name: web,", "name: web2,")
    repository.release(f"{RELEASE.replace('ADDRESS', ADDRESS)}---\n{second}")
    (tmp_path / "only").mkdir()
    for name in ("kubectl", "git"):
        (tmp_path / "only" / name).symlink_to(shutil.which(name) or "")
    done = repository.run("lint", path=str(tmp_path / "only"))
    assert done.returncode == 2
    assert done.stderr.count("helm is not on PATH") == 1
    assert "charts are to be rendered (gitops.helm), and helm is not on PATH" in done.stderr


@pytest.mark.parametrize(
    ("text", "more", "why"),
    [
        ("", "echo 'Error: no template' >&2; exit 1", "web 1.2.3: helm template: no template"),
        ("a: [", "", "what its chart makes cannot be read: not YAML: "),
        (RELEASE, "", "its chart makes HelmRelease web, which is not followed"),
        (RENDERED.replace("replicas: 3", "replicas: many"), "", "its Deployment web-front has the wrong type: "),
    ],
)
def test_what_helm_cannot_make_is_not_read(repository: Repository, text: str, more: str, why: str) -> None:
    repository.locks(packed(WEB))
    repository.prints(text, more)
    (found,) = repository.reasons()
    assert found.startswith(why)
    assert "/tmp" not in found


def test_helm_finds_no_settings_of_the_user(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HELM_PLUGINS", "HELM_REPOSITORY_CONFIG", "KUBECONFIG", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "/home/user/secret")
    repository.locks(packed({**WEB, "values.schema.json": SCHEMA}))
    repository.prints(
        RENDERED, f'env > {repository.folder}/env; echo "$@" > {repository.folder}/words; ls "$HOME" > home'
    )
    repository.findings()
    environ = dict(line.partition("=")[::2] for line in (repository.folder / "env").read_text().splitlines())
    assert "/home/user/secret" not in environ.values()
    assert environ["HELM_NO_PLUGINS"] == "1"
    folders = {value for name, value in environ.items() if name.startswith("HELM_") and name != "HELM_NO_PLUGINS"}
    assert len(folders) == 7
    assert all(folder.startswith(f"{environ['HOME']}/helm_") for folder in folders)
    assert (repository.folder / "home").read_text() == ""
    words = (repository.folder / "words").read_text().split()
    assert words[:2] == ["template", "--skip-tests"]
    assert words[-3:-1] == ["--", "web"]


# --- with Helm itself -----------------------------------------------------------------------------------------------


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder as a repository of charts; yield its address."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *words: object) -> None:
            return None

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def publish(folder: Path, *charts: bytes) -> None:
    """Serve charts as the versions 1.2.3, 1.3.0 and 2.0.0 of one."""
    folder.mkdir(exist_ok=True)
    entries = []
    for data, version in zip(charts, ("1.2.3", "1.3.0", "2.0.0"), strict=False):
        (folder / f"web-{version}.tgz").write_bytes(data)
        entries.append({"apiVersion": "v2", "name": "web", "version": version, "urls": [f"web-{version}.tgz"]})
    (folder / "index.yaml").write_text(yaml.safe_dump({"apiVersion": "v1", "entries": {"web": entries}}))


def version(number: str, priority: str) -> bytes:
    values = WEB["values.yaml"].replace("high", priority)
    return packed({**WEB, "Chart.yaml": CHART.format(name="web", version=number), "values.yaml": values})


@needs_helm
def test_pulled_once_it_is_rendered_without_the_server(repository: Repository, tmp_path: Path) -> None:
    publish(tmp_path / "served", packed({**WEB, "values.schema.json": SCHEMA}))
    with served(tmp_path / "served") as address:
        repository.release(RELEASE.replace("ADDRESS", address))
        done = repository.run("charts", "pull")
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == f"web 1.2.3: pulled\n{NAME}: 1 chart locked\n"
        assert repository.run("charts", "pull").stdout.startswith("web 1.2.3: unchanged\n")
    found = repository.findings()
    assert found["nodeselector-matches-nothing"] == ("error", "cluster/release.yaml", line_of(RELEASE, "disk: ssd"))
    assert found["priority-class-missing"] == ("error", "web/values.yaml (of the chart)", 6)
    assert repository.findings() == found


@needs_helm
def test_another_archive_under_a_locked_version_is_refused(repository: Repository, tmp_path: Path) -> None:
    publish(tmp_path / "served", packed(WEB))
    with served(tmp_path / "served") as address:
        repository.release(RELEASE.replace("ADDRESS", address))
        assert repository.run("charts", "pull").returncode == 0
        lock = (repository.folder / NAME).read_text()
        shutil.rmtree(repository.cache)
        publish(tmp_path / "served", packed({**WEB, "more": ""}))
        done = repository.run("charts", "pull")
    assert done.returncode == 2
    assert "error: web 1.2.3: another archive than locked" in done.stderr
    assert (repository.folder / NAME).read_text() == lock


@needs_helm
def test_what_cannot_be_pulled_is_said(repository: Repository, tmp_path: Path) -> None:
    publish(tmp_path / "served", packed(WEB))
    ranged = RELEASE.partition("---\n")[2].replace("name: web,", "name: ranged,").replace("1.2.3", "main")
    with served(tmp_path / "served") as address:
        text = RELEASE.replace("1.2.3", "9.9.9").replace("ADDRESS", address)
        repository.release(f"{text}---\n{ranged}")
        done = repository.run("charts", "pull")
    assert done.returncode == 2
    assert "error: web 9.9.9: helm pull: " in done.stderr
    assert "HelmRelease ranged: not pulled: main is no version of its chart" in done.stdout


@needs_helm
@pytest.mark.parametrize("wanted", ["1.2.3", "1.x"])
def test_an_archive_that_is_refused_is_not_locked(repository: Repository, tmp_path: Path, wanted: str) -> None:
    publish(tmp_path / "served", packed({**WEB, "templates/../../evil": ""}))
    with served(tmp_path / "served") as address:
        repository.release(RELEASE.replace("ADDRESS", address).replace("1.2.3", wanted))
        done = repository.run("charts", "pull")
    assert done.returncode == 2
    assert f"error: web {wanted}: " in done.stderr
    assert "0 charts locked, 1 failed" in done.stdout


@needs_helm
def test_the_lock_pins_what_a_range_means(repository: Repository, tmp_path: Path) -> None:
    first, second, third = version("1.2.3", "one"), version("1.3.0", "two"), version("2.0.0", "three")
    publish(tmp_path / "served", first)
    with served(tmp_path / "served") as address:
        text = RELEASE.replace("ADDRESS", address).replace("1.2.3", '">=1.2 <2"')
        latest = text.partition("---\n")[2].replace("name: web,", "name: latest,").replace('version: ">=1.2 <2", ', "")
        repository.release(text)
        assert repository.reasons() == [
            "web >=1.2 <2 is a range, and kubesched-charts.lock has no version for it: kubesched-lint charts pull"
        ]
        assert repository.run("charts", "pull").stdout.startswith("web >=1.2 <2: pulled 1.2.3\n")
        assert "no PriorityClass with name one" in repository.run("lint").stdout
        publish(tmp_path / "served", first, second, third)
        assert "no PriorityClass with name one" in repository.run("lint").stdout
        assert repository.run("charts", "pull").stdout.startswith("web >=1.2 <2: pulled 1.3.0\n")
        assert repository.run("charts", "pull").stdout.startswith("web >=1.2 <2: unchanged 1.3.0\n")
        repository.release(f"{text}---\n{latest}")
        assert repository.run("charts", "pull").stdout.startswith("web *: pulled 2.0.0\nweb >=1.2 <2: unchanged")
        found = repository.run("lint").stdout
        assert ("no PriorityClass with name two" in found, "no PriorityClass with name three" in found) == (True, True)
        publish(tmp_path / "served", first, version("1.3.0", "other"))
        done = repository.run("charts", "pull")
    assert done.returncode == 2
    assert "error: web >=1.2 <2: another archive than locked: " in done.stderr
