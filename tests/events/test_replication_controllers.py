"""A ReplicationController is a workload like others: read, judged, linted, told, captured."""

from __future__ import annotations

import pytest
import yaml

from kubesched_lint.engine.apiserver.validate import validate
from kubesched_lint.engine.model.decode.objects import is_read
from kubesched_lint.engine.model.decode.workloads import decode_workload
from kubesched_lint.findings import Severity
from kubesched_lint.linter.lint import lint
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading.manifest_set import manifest_set
from kubesched_lint.rulebook._generated import RULES
from kubesched_lint.sources.manifests.loader import documents
from tests.events.simulated import cell, report_of, sketch


def controller(spec: dict | None = None, **more) -> dict:
    pod = {"containers": [{"name": "c", "image": "x:1"}], **(spec or {})}
    body = {"replicas": 2, "template": {"metadata": {"labels": {"app": "web"}}, "spec": pod}, **more}
    return {"apiVersion": "v1", "kind": "ReplicationController", "metadata": {"name": "web"}, "spec": body}


def test_lint_and_simulate_tell_that_its_pods_stay_pending():
    """Recorded: 0 of 2."""
    web = controller({"nodeSelector": {"pool": "none"}})
    assert cell(report_of(sketch(), web), "web", "deploy").text == "0/2 −2"
    found = manifest_set(documents("set.yaml", yaml.safe_dump(web).encode(), is_read), "default")
    report, _ = lint(found, sketch(), Options(), RULES)
    errors = [f.rule for f in report.findings if f.severity is Severity.ERROR]
    assert errors == ["nodeselector-matches-nothing"]


def test_it_makes_pods_anew_and_has_no_rollout():
    result = report_of(sketch(1, "ab"), controller())
    assert [c.text for c in result.rows[0].cells] == [
        "2/2 ok",
        "–",
        "no HPA",
        "1/1 ok",
        "2/2 ok",
        "2/2 ok",
        "2/2 ok",
    ]


def test_a_changed_template_leaves_what_runs():
    old = {"app": "web", "v": "1"}
    owner = {"apiVersion": "v1", "kind": "ReplicationController", "name": "web", "uid": "u", "controller": True}
    pods = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"web-{i}", "namespace": "default", "labels": old, "ownerReferences": [owner]},
            "spec": {"nodeName": node, "containers": [{"name": "c", "image": "x:0"}]},
        }
        for i, node in enumerate(["w-a", "w-b"])
    ]
    deployed = cell(report_of(sketch(1, "ab", "4", "110", *pods), controller(replicas=3)), "web", "deploy")
    assert deployed.text == "3/3 ok"
    assert not deployed.stuck


def test_its_selector_is_a_map_and_by_default_the_labels_of_the_template():
    written = decode_workload(controller(selector={"app": "web"}), "default")
    assert written.selector is not None
    assert str(written.selector) == str(decode_workload(controller(), "default").selector) == "app=web"


@pytest.mark.parametrize(
    ("more", "path", "message"),
    [
        ({"selector": {"app": "db"}}, "spec.template.metadata.labels", "`selector` does not match template `labels`"),
        ({"replicas": -1}, "spec.replicas", "must be greater than or equal to 0"),
        ({"template": None}, "spec.template", "Required value"),
        ({"selector": {"matchLabels": {"app": "web"}}}, "spec.selector", "cannot unmarshal object"),
    ],
)
def test_what_the_api_server_refuses_of_it(more, path, message):
    value = controller(**more)
    if more.get("template", 1) is None:
        del value["spec"]["template"]
    verdict = validate(value)
    assert not verdict.accepted
    assert any(cause.field == path for cause in verdict.causes)
    assert message in verdict.message


def test_an_accepted_one_is_accepted():
    assert validate(controller(selector={"app": "web"})).accepted
