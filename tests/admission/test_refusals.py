"""Which pods the API server creates: the refusals of its admission plugins, in their order and words."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kubesched_lint.commands.why.ask import Question, answer
from kubesched_lint.engine.admission.admission import Admission
from kubesched_lint.engine.admission.decision import AdmissionRefusal, Decision
from kubesched_lint.engine.admission.podsecurity import Policy, violation
from kubesched_lint.engine.base.releases import RECORDED
from kubesched_lint.engine.events.start.simulated_set import SimulatedSet
from kubesched_lint.engine.model.decode.objects import decode_object, gather
from kubesched_lint.engine.verdicts.matrix import Matrix
from kubesched_lint.library import lint, load_cluster, simulate
from kubesched_lint.report.findings.explanation import as_text
from tests.events.simulated import snapshot

EVERYTHING = frozenset(["PriorityClass", "RuntimeClass", "LimitRange", "Namespace"])


def workload(spec: dict[str, Any] | None = None, resources: dict[str, Any] | None = None) -> dict[str, Any]:
    container = {"name": "c", "image": "x:1", "resources": resources or {}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [container], **(spec or {})},
            },
        },
    }


def decided(given: dict[str, Any], *objects: dict[str, Any], known: frozenset[str] = EVERYTHING) -> Decision:
    inventory = gather(decode_object(value, "shop") for value in (given, *objects))
    return Admission(inventory, RECORDED, known).decision(inventory.workloads[0])


def said(given: dict[str, Any], *objects: dict[str, Any], known: frozenset[str] = EVERYTHING) -> str:
    refusal = decided(given, *objects, known=known).refusal
    return "" if refusal is None else refusal.message


def limit_range(**item: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "l", "namespace": "shop"},
        "spec": {"limits": [{"type": "Container", **item}]},
    }


def priority_class(name: str, value: int, **more: Any) -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
        **more,
    }


def runtime_class(**more: Any) -> dict[str, Any]:
    return {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": {"name": "kata"},
        "handler": "k",
        **more,
    }


def test_a_class_that_is_not_there_is_refused_and_one_that_nobody_knows_is_not_known() -> None:
    named = workload({"priorityClassName": "none-such"})
    assert said(named) == "no PriorityClass with name none-such was found"
    assert decided(named, known=frozenset()) == Decision(unknown=("whether PriorityClass none-such exists",))
    assert said(workload({"priorityClassName": "system-node-critical"})) == ""
    sandboxed = workload({"runtimeClassName": "gvisor"})
    assert said(sandboxed) == 'pod rejected: RuntimeClass "gvisor" not found'
    assert decided(sandboxed, known=frozenset()).unknown == ("whether RuntimeClass gvisor exists",)


def test_a_priority_must_be_that_of_its_class() -> None:
    high = priority_class("high", 1000, preemptionPolicy="Never")
    assert said(workload({"priorityClassName": "high", "priority": 1000}), high) == ""
    assert said(workload({"priorityClassName": "high", "priority": 7}), high) == (
        "the integer value of priority (7) must not be provided in pod spec; "
        "priority admission controller computed 1000 from the given PriorityClass name"
    )
    assert said(workload({"priorityClassName": "high", "preemptionPolicy": "PreemptLowerPriority"}), high) == (
        "the string value of PreemptionPolicy (PreemptLowerPriority) must not be provided in pod spec; "
        "priority admission controller computed Never from the given PriorityClass name"
    )
    assert "computed 5" in said(workload({"priority": 7}), priority_class("usual", 5, globalDefault=True))
    assert decided(workload({"priority": 7}), known=frozenset()) == Decision()


def test_a_runtime_class_and_its_pods_must_agree() -> None:
    zoned = runtime_class(scheduling={"nodeSelector": {"kata": "yes"}}, overhead={"podFixed": {"cpu": "250m"}})
    asked = {"runtimeClassName": "kata"}
    assert said(workload({**asked, "nodeSelector": {"kata": "yes", "disk": "ssd"}}), zoned) == ""
    assert said(workload({**asked, "nodeSelector": {"kata": "no"}}), zoned) == (
        "conflict: runtimeClass.scheduling.nodeSelector[kata] = yes; pod.spec.nodeSelector[kata] = no"
    )
    assert said(workload({**asked, "overhead": {"cpu": "1"}}), zoned) == (
        "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
    )
    assert said(workload({**asked, "overhead": {"cpu": "250m"}}), zoned) == ""
    without = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
    assert said(workload({**asked, "overhead": {"cpu": "1"}}), runtime_class()) == without
    assert said(workload({"overhead": {"cpu": "1"}})) == without


@pytest.mark.parametrize(
    ("limits", "resources", "message"),
    [
        ({"max": {"cpu": "2"}}, {"requests": {"cpu": "1"}}, ""),
        (
            {"max": {"cpu": "1"}},
            {"requests": {"cpu": "1"}, "limits": {"cpu": "1500m"}},
            "maximum cpu usage per Container is 1, but limit is 1500m",
        ),
        (
            {"min": {"memory": "1Gi"}},
            {"requests": {"memory": "512Mi"}},
            "minimum memory usage per Container is 1Gi, but request is 512Mi",
        ),
        ({"min": {"memory": "1Gi"}}, {}, ""),
        (
            {"maxLimitRequestRatio": {"cpu": "2"}},
            {"requests": {"cpu": "100m"}, "limits": {"cpu": "250m"}},
            "cpu max limit to request ratio per Container is 2, but provided ratio is 2.500000",
        ),
        ({"maxLimitRequestRatio": {"cpu": "2"}}, {"requests": {"cpu": "100m"}, "limits": {"cpu": "200m"}}, ""),
        (
            {"min": {"cpu": "1"}, "max": {"memory": "64M"}},
            {"requests": {"cpu": "0.5"}, "limits": {"memory": "128M"}},
            "[minimum cpu usage per Container is 1, but request is 500m, "
            "maximum memory usage per Container is 64M, but limit is 128M]",
        ),
        (
            {"default": {"cpu": "1"}},
            {"requests": {"cpu": "2"}},
            'spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1',
        ),
    ],
)
def test_limit_ranges_bound_containers(limits: dict[str, Any], resources: dict[str, Any], message: str) -> None:
    assert said(workload(resources=resources), limit_range(**limits)) == message


def test_limit_ranges_bound_whole_pods() -> None:
    """A sidecar counts with the containers, an init container by itself."""
    init = [
        {"name": "a", "restartPolicy": "Always", "resources": {"limits": {"cpu": "1"}}},
        {"name": "b", "resources": {"limits": {"cpu": "4"}}},
    ]
    whole = limit_range(type="Pod", max={"cpu": "4"})
    assert said(workload({"initContainers": init}, {"limits": {"cpu": "2"}}), whole) == (
        "maximum cpu usage per Pod is 4, but limit is 5"
    )
    whole = limit_range(type="Pod", max={"cpu": "5"})
    assert said(workload({"initContainers": init}, {"limits": {"cpu": "2"}}), whole) == ""


def test_what_comes_first_speaks() -> None:
    """Priority and RuntimeClass mutate before anything validates."""
    bad = workload({"runtimeClassName": "gvisor", "priorityClassName": "none-such"}, {"requests": {"cpu": "2"}})
    assert "PriorityClass" in said(bad, limit_range(max={"cpu": "1"}))
    only = workload({"runtimeClassName": "gvisor"}, {"requests": {"cpu": "2"}})
    assert "RuntimeClass" in said(only, limit_range(max={"cpu": "1"}))


def namespace(**labels: str) -> dict[str, Any]:
    named = {f"pod-security.kubernetes.io/{key.replace('_', '-')}": value for key, value in labels.items()}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": named}}


def test_pod_security_refuses_what_its_namespace_enforces() -> None:
    privileged = workload({"hostNetwork": True})
    assert said(privileged, namespace(enforce="baseline")) == (
        'violates PodSecurity "baseline:latest": host namespaces (hostNetwork=true)'
    )
    assert said(privileged, namespace(enforce="privileged")) == ""
    assert said(privileged, namespace(warn="baseline", audit="restricted")) == ""
    assert said(workload(), namespace(enforce="baseline")) == ""
    assert "restricted:v1.18" in said(workload(), namespace(enforce="restricted", enforce_version="v1.18"))
    assert "seccompProfile" not in said(workload(), namespace(enforce="restricted", enforce_version="v1.18"))


@pytest.mark.parametrize("sysctl", ["net.ipv4.tcp_slow_start_after_idle", "net.ipv4.tcp_notsent_lowat"])
def test_pod_security_allows_more_sysctls_from_1_37_on(sysctl: str) -> None:
    """pod-security-admission/policy/check_sysctls.go, sysctlsV1Dot37."""
    template = {"spec": {"securityContext": {"sysctls": [{"name": sysctl, "value": "1"}]}}}
    latest, pinned = Policy("baseline", "latest"), Policy("baseline", "v1.36")
    assert sysctl in violation(latest, template, 36)
    assert violation(latest, template, 37) == ""
    assert sysctl in violation(pinned, template, 37)


def test_pod_security_names_every_container() -> None:
    context = {"capabilities": {"add": ["NET_ADMIN"]}, "seLinuxOptions": {"type": "spc_t"}}
    given = workload({"initContainers": [{"name": "i", "securityContext": {**context, "privileged": True}}]})
    given["spec"]["template"]["spec"]["containers"][0]["securityContext"] = context
    assert said(given, namespace(enforce="baseline")) == (
        'violates PodSecurity "baseline:latest": non-default capabilities (containers "i", "c" must not include '
        '"NET_ADMIN" in securityContext.capabilities.add), privileged (container "i" must not set '
        'securityContext.privileged=true), seLinuxOptions (containers "i", "c" set forbidden '
        'securityContext.seLinuxOptions: type "spc_t")'
    )


# --- every engine says so -------------------------------------------------------------------------------------------

NODES = [
    {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": f"n{i}", "labels": {"kubernetes.io/hostname": f"n{i}"}},
        "status": {"allocatable": {"cpu": "4", "memory": "16Gi", "pods": "110"}},
    }
    for i in range(2)
]
SPREAD = {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule"}
SPREAD |= {"labelSelector": {"matchLabels": {"app": "web"}}}
BOUNDS = limit_range(max={"cpu": "1"})
GREEDY = workload(resources={"requests": {"cpu": "2"}})
WORDS = 'spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1'


def test_lint_simulate_and_why_say_the_same() -> None:
    objects, cluster = [GREEDY], [*NODES, BOUNDS]
    (finding,) = lint(objects=objects, cluster=load_cluster(objects=cluster)).findings
    assert finding.rule == "admission-refuses-pods"
    assert finding.severity.word == "error"
    assert finding.evidence.text == f'Pod "web-*" is invalid: {WORDS}'
    (outcome,) = simulate(objects=objects, cluster=load_cluster(objects=cluster), events=["deploy"]).outcomes
    assert (outcome.verdict, outcome.proven, outcome.text) == ("bad", True, "0/1 −1")
    assert outcome.message == finding.evidence.text
    inventory = gather(decode_object(value, "shop") for value in objects)
    explained = answer(Question("web"), inventory, load_cluster(objects=cluster))
    assert explained.not_created
    assert explained.message == finding.evidence.text
    assert "no pod is created" in as_text(explained).splitlines()[0]


def test_pods_that_are_never_created_take_no_room() -> None:
    """Two pods of four cores fit on two nodes when the third workload is refused."""
    big = workload(resources={"requests": {"cpu": "4"}})
    big["metadata"] = {"name": "big", "namespace": "lab"}
    big["spec"] |= {"replicas": 2, "strategy": {"type": "Recreate"}}
    cluster = load_cluster(objects=[*NODES, BOUNDS])
    found = simulate(objects=[GREEDY, big], cluster=cluster, events=["deploy"]).outcomes
    assert [(o.text, o.proven) for o in found] == [("0/1 −1", True), ("2/2 ok", True)]
    assert {f.rule for f in lint(objects=[GREEDY, big], cluster=cluster).findings} == {"admission-refuses-pods"}


def test_nobody_is_proven_right_beside_pods_of_which_nothing_is_known() -> None:
    """The nodes hold both only if the class is missing."""
    classed = workload({"priorityClassName": "none-such"}, {"requests": {"cpu": "3"}})
    other = workload(resources={"requests": {"cpu": "3"}})
    other["metadata"] = {"name": "other", "namespace": "shop"}
    kinds = ["Node", "Pod", "ResourceQuota", "LimitRange", "Namespace"]
    first, second = simulate(
        objects=[classed, other], cluster=snapshot(*NODES, kinds=kinds), events=["deploy"]
    ).outcomes
    assert (first.verdict, first.proven, first.text) == ("unknown", False, "0–1/1 ?")
    assert not second.proven
    notes = lint(objects=[classed, other], cluster=snapshot(*NODES, kinds=kinds)).summary.notes
    said = "unknown, so there is no verdict on whether pods are created: whether PriorityClass none-such exists"
    assert said in notes


def test_a_list_of_nodes_is_taken_to_have_the_classes_that_are_named() -> None:
    """One assumption in the line of the verdict and in a note of lint, where a snapshot's gap leaves all open."""
    classed = workload({"priorityClassName": "none-such"})
    cluster = load_cluster(objects=NODES)
    (outcome,) = simulate(objects=[classed], cluster=cluster, events=["deploy"]).outcomes
    premise = "PriorityClass none-such exists, and gives priority 0"
    assert (outcome.verdict, outcome.proven, outcome.text) == ("fine", False, "1/1 ok *")
    assert premise in outcome.assumes
    notes = lint(objects=[classed], cluster=cluster).summary.notes
    assert notes == (f"assumed, because the cluster file does not say: {premise}",)
    nowhere = workload({"priorityClassName": "none-such", "nodeSelector": {"disk": "none"}})
    found = lint(objects=[nowhere], cluster=cluster).findings
    assert [f.severity.word for f in found if f.rule == "nodeselector-matches-nothing"] == ["error"], "whatever it says"


@pytest.mark.parametrize(
    ("spec", "cpu", "severity"),
    [
        ({}, "2", "warning"),
        ({}, "9", "error"),
        ({"nodeSelector": {"kubernetes.io/hostname": "n0"}}, "2", "error"),
        ({"topologySpreadConstraints": [SPREAD]}, "9", "error"),
        ({"topologySpreadConstraints": [SPREAD], "nodeSelector": {"kubernetes.io/hostname": "n0"}}, "2", "warning"),
    ],
)
def test_a_runtime_class_that_nobody_tells_of_may_open_nodes(spec: dict[str, Any], cpu: str, severity: str) -> None:
    """Its tolerations open the large node, its selector may let a spread leave a domain out."""
    small, large = ({**node, "status": {"allocatable": {"cpu": "1", "memory": "16Gi", "pods": "9"}}} for node in NODES)
    large |= {"spec": {"taints": [{"key": "sandbox", "effect": "NoSchedule"}]}}
    large["status"] = {"allocatable": {"cpu": "8", "memory": "16Gi", "pods": "9"}}
    classed = workload({"runtimeClassName": "gvisor", **spec}, {"requests": {"cpu": cpu}})
    premise = "RuntimeClass gvisor adds no nodeSelector and no tolerations"
    for cluster in (load_cluster(objects=[small, large]), snapshot(small, large, kinds=["Node", "Pod"])):
        found = [f for f in lint(objects=[classed], cluster=cluster).findings if f.rule == "resource-exceeds-any-node"]
        assert [f.severity.word for f in found] == [severity]
        assert (premise in found[0].evidence.assumes) == (severity == "warning")
        known = lint(objects=[classed, {**runtime_class(), "metadata": {"name": "gvisor"}}], cluster=cluster).findings
        assert [f.severity.word for f in known if f.rule == "resource-exceeds-any-node"] == ["error"]


def test_two_sample_folders_are_two_scenarios() -> None:
    import yaml

    def texts(limits: str, web: str) -> dict[str, str]:
        plain = [{**o, "metadata": {"name": o["metadata"]["name"]}} for o in (BOUNDS, GREEDY)]
        return {limits: yaml.safe_dump(plain[0]), web: yaml.safe_dump(plain[1])}

    def rules(files: dict[str, str]) -> set[str]:
        return {f.rule for f in lint(text=files, cluster=load_cluster(objects=NODES)).findings}

    assert "admission-refuses-pods" not in rules(texts("samples/limits/l.yaml", "samples/web/web.yaml"))
    assert "admission-refuses-pods" in rules(texts("samples/web/l.yaml", "samples/web/web.yaml"))
    assert "admission-refuses-pods" in rules(texts("samples/l.yaml", "samples/web/web.yaml"))
    named = {"limits/l.yaml": yaml.safe_dump(BOUNDS), "apps/web.yaml": yaml.safe_dump(GREEDY)}
    assert "admission-refuses-pods" in rules(named)


def test_a_quota_without_a_namespace_counts_the_pods_of_its_folder() -> None:
    """A sample inside a folder of samples has a namespace of its own; a quota that names the namespace counts all."""
    import yaml

    def finds(quota: str, web: str, **metadata: str) -> bool:
        hard = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "few"} | metadata}
        plain = {**GREEDY, "metadata": {"name": "web"} | metadata}
        texts = {quota: yaml.safe_dump(hard | {"spec": {"hard": {"pods": "0"}}}), web: yaml.safe_dump(plain)}
        return "quota-refuses-pods" in {f.rule for f in lint(text=texts, cluster=load_cluster(objects=NODES)).findings}

    assert finds("samples/web/q.yaml", "samples/web/web.yaml")
    assert not finds("samples/q.yaml", "samples/web/web.yaml")
    assert finds("samples/q.yaml", "samples/web/web.yaml", namespace="lab")


def test_what_is_said_by_number_follows_the_workloads_that_are_left() -> None:
    """The first is refused, so that the second is the first of those that are created."""
    web = workload(resources={"requests": {"cpu": "1"}})
    web["metadata"] = {"name": "second", "namespace": "lab"}
    web["spec"]["replicas"] = 2
    inventory = gather(decode_object(value, "shop") for value in (GREEDY, web))
    setting = SimulatedSet((), inventory, inventory.workloads, scaled={1: (5,)}, changes={1: False})
    refused = replace(setting, decisions={0: Decision(AdmissionRefusal("LimitRanger", "no", ()))})
    assert [w.name for w in refused.created.workloads] == ["second"]
    assert (refused.created.scaled, refused.created.changes) == ({0: (5,)}, {0: False})
    assert Matrix(refused).place(1) == 0
    assert Matrix(refused).place(0) is None


def test_a_stateful_set_whose_claims_are_refused_makes_no_pod() -> None:
    """PersistentVolumeClaimValidateLimitFunc."""
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "20Gi"}}}
    template = {"metadata": {"name": "data"}, "spec": spec}
    web = {**workload(), "kind": "StatefulSet"}
    web["spec"] = {**web["spec"], "volumeClaimTemplates": [template]}
    most = limit_range(type="PersistentVolumeClaim", max={"storage": "10Gi"})
    refusal = decided(web, most).refusal
    assert refusal is not None
    assert refusal.message == "maximum storage usage per PersistentVolumeClaim is 10Gi, but request is 20Gi"
    assert said(web, limit_range(type="PersistentVolumeClaim", max={"storage": "20Gi"})) == ""
    (outcome,) = simulate(objects=[web], cluster=load_cluster(objects=[*NODES, most]), events=["deploy"]).outcomes
    assert outcome.message == f'persistentvolumeclaims "data-web-0" is forbidden: {refusal.message}'


def test_before_1_34_the_pods_of_a_stateful_set_are_refused_and_not_the_set() -> None:
    wrong = workload({"topologySpreadConstraints": [{"maxSkew": 0, "topologyKey": "z", "whenUnsatisfiable": "x"}]})
    wrong = {**wrong, "kind": "StatefulSet", "spec": {**wrong["spec"], "serviceName": "web"}}
    for version, rule, words in (
        ("1.33", "pods-stay-pending", 'Pod "web-0" is invalid: [spec.topologySpreadConstraints[0].maxSkew'),
        ("1.34", "api-would-reject", "would refuse StatefulSet shop/web"),
    ):
        report = lint(objects=[wrong], cluster=load_cluster(objects=NODES), kubernetes_version=version)
        (error,) = {f.rule: f for f in report.findings if f.severity.word == "error"}.values()
        assert (error.rule, words in error.message) == (rule, True), error.message
