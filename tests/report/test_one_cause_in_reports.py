"""Reports count a cause once: what the cluster lacks, and a line that several objects share."""

from __future__ import annotations

import json
import re

from msgspec.structs import replace

from kubesched_lint.findings import Finding, Report, Severity, Summary, Suppression
from kubesched_lint.linter.lint_text import lint_example
from kubesched_lint.linter.results.causes import members, one_per_cause
from kubesched_lint.report.findings import as_github, as_gitlab, as_json, as_junit, as_markdown, as_sarif, as_text
from kubesched_lint.report.findings.context import RenderContext
from kubesched_lint.report.findings.footer import objects_with_errors, verdict
from kubesched_lint.report.html import page as as_html
from kubesched_lint.rulebook.examples import Example, ExampleOptions
from kubesched_lint.rulebook.library import Rulebook

SKETCH = """\
apiVersion: kubesched-lint/v1
kind: ClusterSketch
nodes: [{name: w, count: 2, zones: [a], labels: {disk: nvme-fast}, allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}]
"""
GONE_CRON = "apiVersion: batch/v1beta1\nkind: CronJob\nmetadata: {name: c}\nspec: {}\n"
SHARED_CLAIMS = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      volumes:
      - {name: data, persistentVolumeClaim: {claimName: data}}
      - {name: logs, persistentVolumeClaim: {claimName: logs}}
      containers:
      - name: web
        image: x
        resources: {requests: {cpu: 10m, memory: 10Mi}}
        volumeMounts: [{name: data, mountPath: /data}, {name: logs, mountPath: /logs}]
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: shop}
spec: {accessModes: [ReadWriteOnce], storageClassName: fast, resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: logs, namespace: shop}
spec: {accessModes: [ReadWriteOnce], storageClassName: fast, resources: {requests: {storage: 1Gi}}}
"""


def pod(name: str, spec: str = "", resource: str = "cpu: 10m") -> str:
    container = f"{{name: c, image: x, resources: {{limits: {{{resource}}}, requests: {{{resource}}}}}}}"
    return f"""\
apiVersion: v1
kind: Pod
metadata: {{name: {name}, namespace: shop}}
spec:
  containers: [{container}]
{spec}---
"""


def lint(manifest: str, *rules: str, cluster: str = SKETCH) -> Report:
    book = Rulebook.shipped()
    example = Example("none", "none.md", 1, manifest, cluster=cluster, setting=ExampleOptions(profile="ci"))
    return lint_example(example, [book.get(slug) for slug in rules] or book.select("ci"), book)


def rendered(report: Report, *objects: str) -> Report:
    """The report as if overlays rendered its only finding for several objects."""
    (finding,) = report.findings
    copies = [replace(finding, object=replace(finding.object, namespace=name), fingerprint=name) for name in objects]
    return replace(report, findings=tuple(copies))


def two(report: Report) -> tuple[Finding, Finding]:
    first, second = one_per_cause(report).findings
    return first, second


def test_pods_that_want_the_same_missing_resource_are_one_finding() -> None:
    manifest = "".join(pod(name, resource="nvidia.com/gpu: 1") for name in ("a", "b"))
    report = lint(manifest + pod("c", resource="amd.com/gpu: 1"), "extended-resource-missing")
    nvidia, amd = two(report)
    assert [member.object.name for member in members(nvidia)] == ["a", "b"]
    assert members(amd) == (amd,)
    assert verdict(one_per_cause(report)) == "2 errors"
    assert {subject.name for subject in objects_with_errors(one_per_cause(report))} == {"a", "b", "c"}


VOLUME = """\
apiVersion: v1
kind: PersistentVolume
metadata: {name: %(name)s}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  local: {path: /mnt}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: box, operator: In, values: [%(box)s]}]}]}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: %(name)s, namespace: shop}
spec: {accessModes: [ReadWriteOnce], storageClassName: "", volumeName: %(name)s, resources: {requests: {storage: 1Gi}}}
---
"""


def test_volumes_on_nodes_that_the_cluster_lacks_are_one_finding() -> None:
    volumes = "".join(
        VOLUME % {"name": name, "box": box} for name, box in (("a", "main"), ("b", "main"), ("c", "cold"))
    )
    pods = "".join(
        pod(name, f"  volumes: [{{name: v, persistentVolumeClaim: {{claimName: {name}}}}}]\n") for name in "abc"
    )
    main, cold = two(lint(volumes + pods.replace("image: x", "image: x, volumeMounts: [{name: v, mountPath: /v}]"),
                          "pv-zone-pinning-conflict"))  # fmt: skip
    assert [member.object.name for member in members(main)] == ["a", "b"]
    assert main.message.endswith("is on nodes with box=main, and there is no such node")
    assert members(cold) == (cold,)


def test_a_selector_that_misses_by_a_slip_is_a_mistake_of_its_file() -> None:
    missing = "".join(pod(name, "  nodeSelector: {rack: r1}\n") for name in ("a", "b"))
    (finding,) = one_per_cause(lint(missing, "nodeselector-matches-nothing")).findings
    assert len(members(finding)) == 2
    misspelt = "".join(pod(name, "  nodeSelector: {disk: nvme-fats}\n") for name in ("a", "b"))
    assert len(one_per_cause(lint(misspelt, "nodeselector-matches-nothing")).findings) == 2


def test_pods_for_nodes_of_another_kind_are_one_finding() -> None:
    """Nodes have the label, with values that nobody can have misread."""
    missing = "".join(pod(name, "  nodeSelector: {kubernetes.io/os: windows}\n") for name in ("a", "b"))
    (finding,) = one_per_cause(lint(missing, "nodeselector-matches-nothing")).findings
    assert len(members(finding)) == 2


def test_devices_of_a_vendor_that_the_cluster_lacks_altogether_are_one_finding() -> None:
    wanted = ("gpu.intel.com/i915", "qat.intel.com/generic", "amd.com/gpu")
    report = lint(
        "".join(pod(f"p{n}", resource=f"{name}: 1") for n, name in enumerate(wanted)), "extended-resource-missing"
    )
    intel, _ = two(report)
    assert [member.object.name for member in members(intel)] == ["p0", "p1"]
    assert "no DeviceClass offers intel.com/* (DRAExtendedResource)" in intel.evidence.assumes
    text = "".join(as_text.render(one_per_cause(report), RenderContext()))
    assert "qat.intel.com/generic" in text


def test_a_vendor_of_which_the_cluster_has_a_device_lacks_each_other_one() -> None:
    nodes = SKETCH.replace('pods: "10"', 'pods: "10", npu.intel.com/accel: "1"')
    wanted = ("gpu.intel.com/i915", "qat.intel.com/generic")
    pods = "".join(pod(f"p{n}", resource=f"{name}: 1") for n, name in enumerate(wanted))
    assert len(one_per_cause(lint(pods, "extended-resource-missing", cluster=nodes)).findings) == 2


def test_a_version_that_is_gone_is_one_finding() -> None:
    budget = (
        "apiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nmetadata: {name: %s}\nspec: {minAvailable: 1}\n---\n"
    )
    folded = one_per_cause(lint(budget % "a" + budget % "b" + GONE_CRON, "api-would-reject"))
    budgets, cron = folded.findings
    assert len(members(budgets)) == 2
    assert members(cron) == (cron,)


CLAIM = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: %s}\nspec: {%s}\n---\n"


def test_a_mistake_that_somebody_copied_is_one_finding() -> None:
    size = "resources: {requests: {storage: 1Gi}}"
    claims = CLAIM % ("a", size) + CLAIM % ("b", size) + CLAIM % ("c", f"{size}, accessModes: [Often]")
    missing, unsupported = two(lint(claims, "api-would-reject"))
    assert [member.object.name for member in members(missing)] == ["a", "b"]
    assert members(unsupported) == (unsupported,)


def test_the_same_unknown_fields_of_two_probes_are_one_finding() -> None:
    probe = "{httpGet: {port: 80, timeoutSeconds: 5, periodSeconds: 9}}"
    container = f"{{name: c, image: x, livenessProbe: {probe}, readinessProbe: {probe}}}"
    two_probes = f"apiVersion: v1\nkind: Pod\nmetadata: {{name: p}}\nspec: {{containers: [{container}]}}\n---\n"
    (finding,) = one_per_cause(lint(two_probes, "api-would-reject")).findings
    assert len(members(finding)) == 4
    other = two_probes.replace("name: p", "name: q").replace("timeoutSeconds", "failureThreshold")
    assert len(one_per_cause(lint(two_probes + other, "api-would-reject")).findings) == 2


def test_unknown_fields_of_one_mapping_are_one_finding() -> None:
    """They stand one level too high; a misspelt field is a mistake of its own."""
    spec = "spec: {containers: [{name: c, image: x}]}"
    fields = f"  template:\n    runsOn: x\n    policyOfRestart: Never\n    metdata: {{}}\n    {spec}\n"
    manifest = f"apiVersion: batch/v1\nkind: Job\nmetadata: {{name: j}}\nspec:\n{fields}"
    found = one_per_cause(lint(manifest, "api-would-reject")).findings
    assert sorted(len(members(finding)) for finding in found if "unknown field" in finding.message) == [1, 2]


def test_an_object_that_several_files_define_has_a_mistake_once() -> None:
    """As in a bundle and in the files it was made from, or in old releases that lie beside each other."""
    (first,) = lint(pod("a", "  nodeSelector: {disk: nvme-fats}\n"), "nodeselector-matches-nothing").findings
    copy = replace(first, location=replace(first.location, path="bundle.yaml"))
    other = replace(copy, object=replace(copy.object, name="b"), location=replace(copy.location, path="b.yaml"))
    folded = one_per_cause(Report((first, copy, other))).findings
    assert [len(members(finding)) for finding in folded] == [2, 1]
    assert len(one_per_cause(Report((first, replace(copy, message="1 pod of another kind")))).findings) == 2


def test_a_line_that_overlays_render_is_one_finding_with_the_objects_beside_it() -> None:
    report = rendered(
        lint(pod("a", "  nodeSelector: {disk: nvme-fats}\n"), "nodeselector-matches-nothing"), "dev", "prod"
    )
    folded = one_per_cause(report)
    shown = json.loads("".join(as_json.render(folded, RenderContext())))
    (finding,) = shown["findings"]
    assert finding["object"]["namespace"] == "dev"
    assert [(part["object"]["namespace"], part["fingerprint"]) for part in finding["also"]] == [("prod", "prod")]
    assert shown["summary"]["findings"]["error"] == 1
    text = "".join(as_text.render(folded, RenderContext(verbose=True)))
    assert "and 1 more of the same cause" in text
    assert "also:" not in text
    assert "1 error" in text


def test_two_mistakes_of_one_object_at_one_line_stay_two() -> None:
    (finding,) = lint(pod("a", "  nodeSelector: {disk: nvme-fats}\n"), "nodeselector-matches-nothing").findings
    other = replace(finding, message="another mistake", fingerprint="2")
    assert len(one_per_cause(Report((finding, other))).findings) == 2


def test_what_is_known_or_less_severe_hides_nothing() -> None:
    report = rendered(
        lint(pod("a", "  nodeSelector: {disk: nvme-fats}\n"), "nodeselector-matches-nothing"), "dev", "prod"
    )
    dev, prod = report.findings
    known = replace(dev, suppressed=Suppression("known", known=True))
    assert one_per_cause(Report((known, prod))).findings == (known, prod)
    mild = replace(dev, severity=Severity.WARNING)
    assert one_per_cause(Report((mild, prod))).findings == (mild, prod)


def test_an_entry_of_gitlab_counts_the_others() -> None:
    report = rendered(
        lint(pod("a", "  nodeSelector: {disk: nvme-fats}\n"), "nodeselector-matches-nothing"), "dev", "prod"
    )
    (entry,) = json.loads("".join(as_gitlab.render(one_per_cause(report), RenderContext())))
    assert entry["description"].endswith("(and 1 more of the same cause)")


def test_a_test_case_of_junit_is_about_one_object() -> None:
    report = rendered(
        lint(pod("a", "  nodeSelector: {disk: nvme-fats}\n"), "nodeselector-matches-nothing"), "dev", "prod"
    )
    text = "".join(as_junit.render(one_per_cause(report), RenderContext()))
    assert "dev/a" in text
    assert "prod/a" in text


def test_a_result_of_sarif_has_the_other_places_beside_it() -> None:
    manifest = "".join(pod(name, resource="nvidia.com/gpu: 1") for name in ("a", "b"))
    folded = one_per_cause(lint(manifest, "extended-resource-missing"))
    log = json.loads("".join(as_sarif.render(folded, RenderContext())))
    (result,) = log["runs"][0]["results"]
    lines = [place["physicalLocation"]["region"]["startLine"] for place in result["relatedLocations"]]
    assert lines[-1] > result["locations"][0]["physicalLocation"]["region"]["startLine"]


def test_claims_that_one_edit_of_the_workload_mends_are_one_finding() -> None:
    (finding,) = lint(SHARED_CLAIMS, "claim-shared-by-replicas").findings
    assert "holds the claims data and logs, which are ReadWriteOnce" in finding.message
    assert [related.location.span.line for related in finding.related] == [12]
    replicas = lint(SHARED_CLAIMS.replace("replicas: 1", "replicas: 2"), "claim-shared-by-replicas")
    (finding,) = replicas.findings
    assert "2 pods of Deployment shop/web share the claims data and logs" in finding.message


def test_a_pod_that_never_runs_opens_no_node() -> None:
    manifest = pod("a", "  nodeSelector: {kubernetes.io/os: windows}\n  tolerations: [{operator: Exists}]\n")
    (finding,) = lint(manifest, "nodeselector-matches-nothing", "toleration-blanket").findings
    assert finding.rule == "nodeselector-matches-nothing"
    assert [part.rule for part in finding.also] == ["toleration-blanket"]


def test_overlays_that_render_one_line_are_all_named() -> None:
    """Three overlays of one base give objects of the same name; a reader must still know which ones."""
    report = lint(pod("a", resource="nvidia.com/gpu: 1"), "extended-resource-missing")
    (finding,) = report.findings
    copies = tuple(replace(finding, rendered=f"overlays/{name}") for name in ("dev", "prod", "test"))
    folded = one_per_cause(replace(report, findings=copies))
    text = "".join(as_text.render(folded, RenderContext()))
    assert re.search(r"^ *--> \S+ \(overlays/dev, overlays/prod, overlays/test\)$", text, re.MULTILINE)
    known = replace(folded, summary=Summary(environments=("dev", "prod", "test")))
    assert " (dev, prod, test)\n" in "".join(as_text.render(known, RenderContext()))
    for module in (as_markdown, as_html):
        shown = "".join(module.render(known, RenderContext()))
        assert "dev, prod, test" in shown, module.__name__
        assert "more of the same cause" not in shown, "one answer, said once"
    for module in (as_markdown, as_github, as_sarif, as_html):
        shown = "".join(module.render(folded, RenderContext()))
        assert shown.count("overlays/") >= 3, module.__name__
    (written,) = json.loads("".join(as_json.render(folded, RenderContext())))["findings"]
    assert [written["rendered"], *(part["rendered"] for part in written["also"])] == [c.rendered for c in copies]
