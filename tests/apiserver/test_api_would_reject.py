"""The rule api-would-reject in the linter: every document is asked, at the line, in the API server's words."""

from __future__ import annotations

import pytest

from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.findings import Severity
from kubesched_lint.linter.lint import lint
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import manifest_set
from kubesched_lint.linter.waivers.suppression import suppress
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.sources.manifests.loader import documents

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop}
spec:
  containers:
  - name: web
    image: nginx:1.27
"""


def report_on(text, **options):
    settings = Options(**{"select": ("api-would-reject",)} | options)
    book = Rulebook.shipped()
    rules = book.select(settings.profile, settings.select, settings.ignore)
    manifests = manifest_set(documents("web.yaml", text.encode(), is_read), settings.namespace)
    return suppress(lint(manifests, None, settings, rules)[0], manifests, book, rules, settings)


def test_a_refusal_is_an_error_at_its_line():
    (finding,) = report_on(POD + "  dnsPolicy: Cluster\n").findings
    assert finding.severity is Severity.ERROR
    assert finding.location.span.line == 8
    assert str(finding.object) == "Pod shop/web"
    assert finding.message == (
        'the API server would refuse Pod shop/web: spec.dnsPolicy: Unsupported value: "Cluster": '
        'supported values: "ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"'
    )
    assert finding.evidence.kind == "proof"


def test_an_unknown_field_is_marked_at_its_key():
    (finding,) = report_on(POD + "  dnspolicy: Default\n").findings
    span = finding.location.span
    assert (span.line, span.column, span.end_column) == (8, 3, 12)
    assert finding.message.endswith('unknown field "spec.dnspolicy"; did you mean dnsPolicy?')
    assert finding.help.startswith("write dnsPolicy;")


@pytest.mark.parametrize("select", [("api-would-reject",), ()], ids=["selected", "not selected"])
def test_a_wrong_type_in_what_is_read_is_one_error_of_the_input_in_the_servers_words(select):
    report = report_on(POD + "  priority: high\n", select=select)
    assert report.findings == ()
    (error,) = report.errors
    assert error.line == 8
    assert error.message.endswith("cannot unmarshal string into Go struct field PodSpec.spec.priority of type int32")


def test_a_wrong_type_elsewhere_is_a_finding():
    (finding,) = report_on(POD + "  terminationGracePeriodSeconds: soon\n").findings
    assert "PodSpec.spec.terminationGracePeriodSeconds of type int64" in finding.message


def test_objects_that_run_no_pods_are_asked_too():
    service = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: 80, protocol: http}]}\n"
    cluster_wide = "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: gold}\nvalue: 2000000000\n"
    found = report_on(f"{service}---\n{cluster_wide}", namespace="shop").findings
    assert [str(finding.object) for finding in found] == ["Service shop/web", "PriorityClass gold"]


def test_one_place_has_one_finding():
    text = POD + "  schedulingGates: [{}]\n"  # both an empty name and one that breaks the pattern
    assert len(report_on(text).findings) == 1


def test_what_follows_from_a_missing_selector_is_not_said_again():
    template = "{metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}"
    text = f"apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web}}\nspec: {{template: {template}}}\n"
    (finding,) = report_on(text).findings
    assert finding.message.endswith("spec.selector: Required value")


def test_a_quantity_is_told_with_its_field():
    (finding,) = report_on(POD + "  volumes: [{name: v, emptyDir: {sizeLimit: 64mi}}]\n").findings
    assert finding.message.endswith("spec.volumes[0].emptyDir.sizeLimit: unable to parse quantity's suffix")
    assert finding.location.span.line == 8


@pytest.mark.parametrize(
    "line", ["  dnsPolicy: ${DNS}", "  serviceAccountName: $SA_NAME", "  nodeName: '<your-node>'", "  hostname: a-${N}"]
)
def test_what_is_filled_in_later_is_left_alone(line):
    assert report_on(f"{POD}{line}\n").findings == ()


ANNOTATED = "apiVersion: v1\nkind: Namespace\nmetadata: {name: web, annotations: {keep: 1440}}\n"


@pytest.mark.parametrize(
    ("text", "rendered", "as_written"),
    [
        (ANNOTATED, 0, 1),
        (POD + "    env: [{name: TLS, value: yes}]\n", 0, 1),
        (POD + "    env:\n    - name: TLS\n      value: off\n", 0, 1),
        (POD + "    env: [{name: TLS, value: true}]\n", 1, 1),
        (POD + "    env: [{name: TLS, value: 5}]\n", 1, 1),
        (POD + "  enableServiceLinks: 5\n", 1, 1),
    ],
)
def test_what_kustomize_writes_as_text_is_no_wrong_type_in_its_resources(text, rendered, as_written):
    """Asked of ``kubectl kustomize`` 5.5, which keeps ``true`` and ``5`` in an env value and quotes ``yes``."""
    book = Rulebook.shipped()
    settings = Options(select=("api-would-reject",))
    rules = book.select(settings.profile, settings.select, settings.ignore)
    for unrendered, expected in ((True, rendered), (False, as_written)):
        manifests = manifest_set(documents("web.yaml", text.encode(), is_read, unrendered=unrendered), "default")
        assert len(lint(manifests, None, settings, rules)[0].findings) == expected


def test_an_object_that_a_cluster_has_stored_was_accepted():
    text = POD.replace("{name: web,", "{name: web, resourceVersion: '5',") + "  dnsPolicy: Cluster\n"
    assert report_on(text).findings == ()


@pytest.mark.parametrize(("version", "assumed"), [("1.34", 1), ("1.36", 0), ("1.36.2", 0), ("1.37", 1)])
def test_other_versions_are_assumed_to_validate_like_the_recorded_one(version, assumed):
    (finding,) = report_on(POD + "  dnsPolicy: Cluster\n", kubernetes_version=version).findings
    assert len(finding.evidence.assumes) == assumed
    (finding,) = report_on(POD + "  nope: 1\n", kubernetes_version=version).findings
    assert not finding.evidence.assumes


def test_a_comment_waives_it():
    text = POD + "  bananas: 3  # kubesched: ignore[api-would-reject] filled in by a webhook\n"
    (finding,) = report_on(text).findings
    assert finding.suppressed is not None


SCALER = """\
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: shop}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 0
  maxReplicas: 5
"""
EXTERNAL = "  metrics: [{type: External, external: {metric: {name: q}, target: {type: Value, value: 1}}}]\n"


def test_what_only_a_gate_forbids_is_a_warning_that_says_so():
    (finding,) = report_on(SCALER + EXTERNAL).findings
    assert finding.severity is Severity.WARNING
    assert finding.evidence.assumes == ("the feature gate HPAScaleToZero is off, as it is by default",)


def test_without_a_metric_to_wake_it_scaling_to_zero_is_refused_whatever_the_gate():
    assert [f.severity for f in report_on(SCALER).findings][:1] == [Severity.ERROR]
    negative = (SCALER + EXTERNAL).replace("minReplicas: 0", "minReplicas: -1")
    assert [f.severity for f in report_on(negative).findings][:1] == [Severity.ERROR]


def test_every_wrong_type_is_a_finding_of_its_own_and_unknown_fields_come_with_the_last():
    text = POD + "  dnsPolicy: 5\n  hostPID: maybe\n  subdomains: a\n"
    found = [(f.location.span.line, f.message.partition(": ")[2][:12]) for f in report_on(text).findings]
    assert found == [(8, "json: cannot"), (9, "json: cannot"), (10, "unknown fiel")]


def test_a_name_that_a_kustomization_may_still_give_is_not_refused():
    """``namespace: shop`` of a kustomization names a Namespace that it lists (``kubectl kustomize`` 5.5)."""
    text = "apiVersion: v1\nkind: Namespace\nmetadata: {name: _}\n"
    for unrendered, expected in ((True, 0), (False, 1)):
        manifests = manifest_set(documents("ns.yaml", text.encode(), is_read, unrendered=unrendered), "default")
        rules = Rulebook.shipped().select("ci", ("api-would-reject",))
        assert len(lint(manifests, None, Options(), rules)[0].findings) == expected


def test_what_a_kustomization_may_still_mend_is_told_among_the_skipped():
    text = (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: edge, namespace: shop}\nspec:\n"
        "  selector: {matchLabels: {app: edge}}\n  template:\n    metadata: {labels: {app: edeg}}\n"
        "    spec: {containers: [{name: c, image: 'c:1'}]}\n"
    )
    rules = Rulebook.shipped().select("ci", ("api-would-reject",))
    reports = [
        lint(
            manifest_set(documents("edge.yaml", text.encode(), is_read, unrendered=one), "default"),
            None,
            Options(),
            rules,
        )
        for one in (True, False)
    ]
    (beside, _), (alone, _) = reports
    (skip,) = beside.skipped
    assert not beside.findings
    assert skip.reason.startswith("edge.yaml:1: not checked is what the kustomization beside it may change")
    assert "`selector` does not match template `labels`" in skip.reason
    assert len(alone.findings) == 1
    assert not alone.skipped


@pytest.mark.parametrize("name", ["ROLLOUT_NAME-active", "REPLACEME-canary", "CLUSTERNAMESPACE", "FILLED BY IT"])
def test_a_word_in_capitals_is_filled_in_before_anybody_applies_it(name):
    report = report_on(f"apiVersion: v1\nkind: Service\nmetadata: {{name: {name}}}\nspec: {{ports: [{{port: 80}}]}}\n")
    assert not report.findings
    assert [skip.reason.partition(": ")[2] for skip in report.skipped if skip.rule == "api-would-reject"] == [
        f"{name.partition('-')[0]} is a placeholder, fill it in first"
    ]


@pytest.mark.parametrize(("namespace", "count"), [("FILLED BY THE OPERATOR", 0), ("web", 1)])
def test_who_fills_in_the_namespace_may_add_a_volume(namespace, count):
    mount = "{name: a, image: a, volumeMounts: [{name: driver, mountPath: /d}]}"
    pod = f"apiVersion: v1\nkind: Pod\nmetadata: {{name: a, namespace: {namespace}}}\nspec: {{containers: [{mount}]}}\n"
    assert len(report_on(pod).findings) == count


@pytest.mark.parametrize(("resource", "count"), [("FILLED_BY_VALIDATOR", 0), ("example.com/Filled_By-", 1)])
def test_the_name_of_a_resource_may_be_filled_in(resource, count):
    container = f"{{name: a, image: a, resources: {{limits: {{{resource}: 1}}}}}}"
    pod = f"apiVersion: v1\nkind: Pod\nmetadata: {{name: a}}\nspec: {{containers: [{container}]}}\n"
    assert bool(report_on(pod).findings) is bool(count)


@pytest.mark.parametrize("name", ["myApp", "WEB", "web_server"])
def test_other_names_that_are_refused_are_mistakes(name):
    report = report_on(f"apiVersion: v1\nkind: Service\nmetadata: {{name: {name}}}\nspec: {{ports: [{{port: 80}}]}}\n")
    assert [finding.severity for finding in report.findings] == [Severity.ERROR]


@pytest.mark.parametrize(
    ("spec", "severity"),
    [("{ipFamilyPolicy: PreferDualStack}", Severity.NOTE), ("{selector: {app: web}}", Severity.ERROR)],
)
def test_a_service_without_ports_and_selector_is_a_part_of_one_that_exists(spec, severity):
    report = report_on(f"apiVersion: v1\nkind: Service\nmetadata: {{name: web}}\nspec: {spec}\n")
    (finding,) = report.findings
    assert finding.message.endswith("spec.ports: Required value")
    assert finding.severity is severity


@pytest.mark.parametrize(("path", "count"), [("template.yaml", 0), ("web-template.yaml", 0), ("web.yaml", 1)])
def test_a_file_called_template_may_write_its_words_small(path, count):
    text = b"apiVersion: v1\nkind: Service\nmetadata: {name: service_name}\nspec: {ports: [{port: 80}]}\n"
    options = Options(select=("api-would-reject",))
    rules = Rulebook.shipped().select(options.profile, options.select, options.ignore)
    report, _ = lint(manifest_set(documents(path, text, is_read), "default"), None, options, rules)
    assert len(report.findings) == count


@pytest.mark.parametrize(("unrendered", "count"), [(True, 0), (False, 1)])
def test_a_patch_of_the_kustomization_may_add_the_volume_of_a_mount(unrendered, count):
    text = POD + "    volumeMounts: [{name: data, mountPath: /data}]\n"
    manifests = manifest_set(documents("web.yaml", text.encode(), is_read, unrendered=unrendered), "default")
    rules = Rulebook.shipped().select("ci", ("api-would-reject",))
    report, _ = lint(manifests, None, Options(), rules)
    assert len(report.findings) == count
    assert bool(report.skipped) == unrendered
