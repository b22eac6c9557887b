"""Values of app-template are read as Helm renders them, in all that scheduling reads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubesched_lint.commands.lint.run import Request, check, entries_of
from kubesched_lint.custom._charts import CHARTS
from kubesched_lint.custom.app_template import Chart, objects_of
from kubesched_lint.custom.chart_values import Values
from kubesched_lint.custom.kinds import Kinds
from kubesched_lint.findings import Report
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import ManifestSet, manifest_set
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.sources.manifests.document import Document, Text
from kubesched_lint.sources.manifests.inputs import InputFile
from tests.custom.record_app_template import NAME, NAMESPACE, RECORDED, examples

CARD = CHARTS["app-template"]
CHART = Chart(tuple(CARD["pod"]), tuple(CARD["container"]))
RECORDINGS = json.loads(RECORDED.read_text())
_OF_SPEC = ("replicas", "selector", "schedule", "completions", "parallelism", "accessModes", "storageClassName")
_OF_SPEC += ("strategy", "updateStrategy", "podManagementPolicy", "concurrencyPolicy", "volumeClaimTemplates")


def _is_nothing(value: object) -> bool:
    return value in (None, "", {}, [], False)


def _volume(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """Of sources that scheduling does not read, only their kind."""
    kept = ("name", "persistentVolumeClaim", "emptyDir")
    return {key: value[key] if key in kept else {} for key in value}


def read_by_scheduling(made: Mapping[str, Any]) -> dict[str, Any]:
    """What scheduling reads of an object, without empty values."""
    spec = made["spec"]
    found: dict[str, Any] = {key: spec[key] for key in _OF_SPEC if not _is_nothing(spec.get(key)) or spec.get(key) == 0}
    found |= {"replicas": spec.get("replicas", 1)} if made["kind"] in ("Deployment", "StatefulSet") else {}
    if made["kind"] == "StatefulSet":  # the API server's defaults
        found["replicas"], found["podManagementPolicy"] = (
            spec.get("replicas") or 1,
            spec.get("podManagementPolicy") or "OrderedReady",
        )
    found |= {key: made[key] for key in ("kind",)} | {key: made["metadata"][key] for key in ("name", "namespace")}
    inner = spec.get("jobTemplate", {}).get("spec", spec)
    if made["kind"] in ("CronJob", "Job"):
        found["parallelism"] = inner.get("parallelism", 1)
    template = inner.get("template")
    if template:
        pod = template["spec"]
        found["labels"] = template["metadata"]["labels"]
        found |= {key: pod[key] for key in CHART.pod if not _is_nothing(pod.get(key))}
        for key in ("initContainers", "containers"):
            found[key] = [
                {part: one[part] for part in ("name", *CHART.container) if not _is_nothing(one.get(part))}
                for one in pod.get(key) or []
            ]
        found["volumes"] = list(map(_volume, pod.get("volumes") or []))
    elif made["kind"] == "PersistentVolumeClaim":
        found["requests"] = spec["resources"]
    return found


def shown(objects: list[Any]) -> list[str]:
    return sorted(json.dumps(read_by_scheduling(one), sort_keys=True) for one in objects)


@pytest.mark.parametrize("number", range(len(RECORDINGS)))
def test_values_are_read_as_helm_renders_them(number: int) -> None:
    recorded = RECORDINGS[number]
    document = Document("r.yaml", 0, "HelmRelease", "helm.toolkit.fluxcd.io/v2", Text("", {"spec": recorded}), 1)
    values = Values(document, NAME, NAMESPACE, recorded["values"])
    assert shown([one.value for one in objects_of(values, CHART)]) == shown(recorded["objects"])
    assert values.open == []


def test_the_examples_of_the_card_are_recorded() -> None:
    assert [one["values"] for one in RECORDINGS[: len(examples())]] == examples()
    assert len(RECORDINGS) > 60


# --- in a set -------------------------------------------------------------------------------------------------------

RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: web, namespace: shop}
spec:
  chart: {spec: {chart: app-template, version: VERSION}}
  values:
    defaultPodOptions:
      priorityClassName: high
    controllers:
      main:
        replicas: 4
        pod:
          affinity:
            podAntiAffinity:
              requiredDuringSchedulingIgnoredDuringExecution:
              - topologyKey: kubernetes.io/hostname
                labelSelector: {matchLabels: {app.kubernetes.io/name: "{{ .Release.Name }}"}}
        containers:
          app:
            image: {repository: web, tag: "1"}
            resources: {requests: {cpu: 100m}}
"""
SKETCH = """\
apiVersion: kubesched-lint/v1
kind: ClusterSketch
nodes: [{name: worker, count: 3, allocatable: {cpu: "4", memory: 16Gi, pods: 20}}]
objects: [{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: low}, value: 1}]
"""


def read(*texts: str) -> ManifestSet:
    kinds = Kinds(reads_named=True)
    files = [InputFile("release.yaml", "---\n".join(texts).encode())]
    return manifest_set(entries_of(files, kinds), "default", kinds=kinds)


def lint(folder: Path, text: str) -> Report:
    (folder / "release.yaml").write_text(text)
    (folder / "cluster.yaml").write_text(SKETCH)
    request = Request((str(folder / "release.yaml"),), str(folder / "cluster.yaml"))
    return check(request, Options(), Rulebook.shipped())


def test_findings_stand_at_the_value(tmp_path: Path) -> None:
    report = lint(tmp_path, RELEASE.replace("VERSION", "4.1.1"))
    placed = {finding.rule: (finding.severity.word, finding.location.span.line) for finding in report.findings}
    assert placed["anti-affinity-exceeds-domains"] == ("error", 16)
    assert placed["priority-class-missing"][1] == 8
    assert {finding.object.kind for finding in report.findings} == {"Deployment"}
    assert report.summary.unread_releases == ()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("VERSION", "5.0.0"),
        ("VERSION", "4.x"),
        ("VERSION", '"4.1.1 || 5"'),
        ("VERSION", "4.1.1 - 6"),
        (", version: VERSION", ""),
        ("priorityClassName: high", "tolerations: [{key: '{{ .Values.key }}'}]"),
        ("  values:\n", "  valuesFrom: [{kind: Secret, name: s}]\n  values:\n"),
        ("  values:\n", "  postRenderers: [{kustomize: {}}]\n  values:\n"),
    ],
)
def test_what_is_not_known_makes_no_error(tmp_path: Path, old: str, new: str) -> None:
    report = lint(tmp_path, RELEASE.replace(old, new).replace("VERSION", "4.1.1"))
    assert {finding.severity.word for finding in report.findings} <= {"warning", "note"}
    assert report.summary.workloads == 1


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("  values:\n", "  valuesFrom: [{kind: Secret, name: s}]\n  values:\n", "values of Secret s are not known"),
        ("  values:\n", "  postRenderers: [{kustomize: {}}]\n  values:\n", "postRenderers change what the chart makes"),
        ("controllers:", "rawResources: {x: {}}\n    controllers:", "rawResources are not read"),
        ("app-template", "other", "no values card describes its chart"),
        ("VERSION", "3.7.3", "its values card begins with app-template 4.0.0"),
        ("main:\n", "main:\n        forceRename: '{{ .Values.x }}'\n", "controllers.main.forceRename is a template"),
        ("replicas: 4", "type: pod", "controllers.main.type is pod"),
    ],
)
def test_a_release_says_why_it_is_not_read(old: str, new: str, why: str) -> None:
    (release,) = read(RELEASE.replace(old, new).replace("VERSION", "4.1.1")).releases
    assert (release.why, release.namespace, release.name) == (why, "shop", "web")


NEWER = """\
controllers:
  main:
    replicas: 4
    strategy: RollingUpdate
    rollingUpdate: {maxUnavailable: 0, surge: 2, maxSurge: 1}
    extraSelectorLabels: {tier: "{{ .Release.Name }}"}
    pod:
      labels: {own: a, tier: none}
      schedulingGates: [{name: wait}]
      topologySpreadConstraints:
      - {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}
      - {maxSkew: 1, topologyKey: host, whenUnsatisfiable: DoNotSchedule, labelSelector: {}}
    containers: {app: {image: x}}
defaultPodOptions: {labels: {default: b}}
persistence:
  scratch: {type: ephemeral, accessMode: ReadWriteOnce, size: 1Gi, storageClass: fast}
  files: {type: image, image: {repository: x, tag: y}}
"""


def newer(text: str) -> dict[str, Any]:
    """What 5.3 makes of values, as its templates say."""
    value = yaml.safe_load(text)
    document = Document("r.yaml", 0, "HelmRelease", "v2", Text("", {"spec": {"values": value}}), 1)
    chart = Chart(CHART.pod, CHART.container, is_newer=True)
    (made,) = objects_of(Values(document, "web", "shop", value), chart)
    return made.value


def test_a_newer_version_is_read_as_the_templates_of_5_3_are() -> None:
    spec = newer(NEWER)["spec"]
    own = {
        **{f"app.kubernetes.io/{key}": "web" for key in ("instance", "name")},
        "app.kubernetes.io/controller": "main",
    }
    own |= {"tier": "web"}
    assert spec["selector"] == {"matchLabels": own}
    assert spec["strategy"]["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": 1}
    pod = spec["template"]["spec"]
    assert spec["template"]["metadata"]["labels"] == {**own, "own": "a"}
    assert [one["labelSelector"] for one in pod["topologySpreadConstraints"]] == [{"matchLabels": own}, {}]
    assert pod["schedulingGates"] == [{"name": "wait"}]
    claim, image = {one["name"]: one for one in pod["volumes"]}["scratch"], pod["volumes"][0]
    assert claim["ephemeral"]["volumeClaimTemplate"]["spec"]["storageClassName"] == "fast"
    assert "image" in image
    assert "replicas" not in newer(NEWER.replace("replicas: 4", "horizontalPodAutoscaler: {maxReplicas: 9}"))["spec"]


@pytest.mark.parametrize("key", ["horizontalPodAutoscaler", "podDisruptionBudget"])
def test_objects_of_a_newer_version_that_are_not_read_are_said(key: str) -> None:
    text = RELEASE.replace("replicas: 4", f"replicas: 4\n        {key}: {{maxReplicas: 9, minAvailable: 1}}")
    (release,) = read(text.replace("VERSION", "5.3.0")).releases
    assert release.why == f"controllers.main.{key} is not read"
    assert read(text.replace("VERSION", "4.1.1")).releases[0].why == ""


def test_a_newer_version_has_no_finding_about_a_selector_that_the_chart_sets(tmp_path: Path) -> None:
    spread = "{maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule}"
    text = RELEASE.partition("          affinity:")[0] + f"          topologySpreadConstraints: [{spread}]\n"
    text += "        containers: {app: {image: web, resources: {requests: {cpu: 100m}}}}\n"
    found = {version: lint(tmp_path, text.replace("VERSION", version)).findings for version in ("4.1.1", "5.1.0")}
    rules = {version: {finding.rule for finding in several} for version, several in found.items()}
    assert "spread-selector-noop" in rules["4.1.1"] - rules["5.1.0"]
    assert all(finding.severity.word != "error" for finding in found["5.1.0"])


def test_many_containers_that_wait_for_each_other_are_ordered_at_once() -> None:
    """A chain against the order of names, with a claim for each."""
    numbers = range(3_000)
    chain = {f"c{n:04}": {"image": "x", "dependsOn": f"c{n + 1:04}"} for n in numbers} | {"c3000": {"image": "x"}}
    claims = {f"v{n}": {"size": "1Gi", "accessMode": "ReadWriteOnce"} for n in numbers}
    value = {"controllers": {"web": {"containers": chain}}, "persistence": claims}
    values = Values(
        Document("r.yaml", 0, "HelmRelease", "v2", Text("", {"spec": {"values": value}}), 1), "r", "n", value
    )
    web, *others = objects_of(values, CHART)
    assert [one["name"] for one in web.value["spec"]["template"]["spec"]["containers"]] == sorted(chain, reverse=True)
    assert len(others) == len(numbers)


def test_too_many_controllers_are_not_read() -> None:
    many = "".join(f"      c{number}: {{containers: {{a: {{image: x}}}}}}\n" for number in range(201))
    found = read(RELEASE.replace("    controllers:\n", f"    controllers:\n{many}"))
    assert [release.why for release in found.releases] == ["more than 200 controllers"]


def test_the_chart_and_values_may_stand_elsewhere() -> None:
    source = (
        "apiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata: {name: chart, namespace: shop}\n"
        "spec: {url: oci://ghcr.io/bjw-s-labs/helm/app-template, ref: {tag: 4.1.1}}\n"
    )
    values = (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more, namespace: shop}\n"
        "data: {values.yaml: 'controllers: {main: {replicas: 9, strategy: RollingUpdate}}'}\n"
    )
    old = "  chart: {spec: {chart: app-template, version: VERSION}}\n"
    new = "  chartRef: {kind: OCIRepository, name: chart}\n  valuesFrom: [{kind: ConfigMap, name: more}]\n"
    found = read(RELEASE.replace(old, new), source, values)
    (workload,), (release,) = found.inventory.workloads, found.releases
    assert (workload.replicas, workload.strategy.type, release.why) == (4, "RollingUpdate", "")
    assert isinstance(workload.source, Document)
    where = workload.source.location(("spec", "strategy", "type")).span.line
    assert RELEASE.replace(old, new).split("\n")[where - 1].startswith("  valuesFrom:")


def test_a_release_has_its_target_namespace_and_name() -> None:
    found = read(RELEASE.replace("VERSION", "4.1.1").replace("spec:\n", "spec:\n  targetNamespace: other\n", 1))
    (workload,) = found.inventory.workloads
    assert (workload.namespace, workload.name) == ("other", "other-web")


def test_a_name_that_is_too_long_is_shortened_as_helm_controller_does() -> None:
    """The name was made with ``ShortenName`` of helm-controller: 40 characters, and 12 of the SHA-256 of the whole."""
    long = "a-namespace-with-a-name-that-is-long-enough-to-cut"
    text = RELEASE.replace("VERSION", "4.1.1").replace("spec:\n", f"spec:\n  targetNamespace: {long}\n", 1)
    (workload,) = read(text.replace("name: web", "name: web-of-it")).inventory.workloads
    assert (
        workload.name
        == f"a-namespace-with-a-name-that-is-long-eno-{sha256(f'{long}-web-of-it'.encode()).hexdigest()[:12]}"
    )
