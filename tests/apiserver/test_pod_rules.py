"""Rules of pods and templates, each with the field and words of pkg/apis/core/validation/validation.go (v1.36)."""

from __future__ import annotations

import pytest

from kubesched_lint.engine.apiserver.class_plugins import Classes
from kubesched_lint.engine.apiserver.validate import validate


def pod(meta=None, **spec):
    whole = {"containers": [{"name": "c", "image": "i"}]} | spec
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"} | (meta or {}), "spec": whole}


def with_container(**parts):
    return pod(containers=[{"name": "c", "image": "i"} | parts])


def deployment(meta=None, **spec):
    template = {"metadata": {"labels": {"app": "a"}} | (meta or {}), "spec": pod(**spec)["spec"]}
    spec = {"selector": {"matchLabels": {"app": "a"}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": spec}


def errors_of(value):
    return [str(cause) for cause in validate(value).causes]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (pod(containers=[]), "spec.containers: Required value"),
        (pod(containers=[{}]), "spec.containers[0].name: Required value"),
        (with_container(image=""), "spec.containers[0].image: Required value"),
        (
            with_container(image=" nginx"),
            'spec.containers[0].image: Invalid value: " nginx": must not have leading or trailing whitespace',
        ),
        (
            with_container(imagePullPolicy="Sometimes"),
            'spec.containers[0].imagePullPolicy: Unsupported value: "Sometimes": '
            'supported values: "Always", "IfNotPresent", "Never"',
        ),
        (with_container(env=[{"name": ""}]), "spec.containers[0].env[0].name: Required value"),
        (
            with_container(env=[{"name": "A", "value": "1", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}]),
            'spec.containers[0].env[0].valueFrom: Invalid value: "": may not be specified when `value` is not empty',
        ),
        (
            with_container(env=[{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "status.phase"}}}]),
            'spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Unsupported value: "status.phase": '
            'supported values: "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", '
            '"spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"',
        ),
        (
            with_container(env=[{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.nope"}}}]),
            'spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Invalid value: "spec.nope": '
            "error converting fieldPath: field label not supported: spec.nope",
        ),
        (
            with_container(env=[{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.gpu"}}}]),
            'spec.containers[0].env[0].valueFrom.resourceFieldRef.resource: Unsupported value: "limits.gpu": supported '
            'values: "limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu", '
            '"requests.ephemeral-storage", "requests.memory"',
        ),
        (
            with_container(envFrom=[{}]),
            'spec.containers[0].envFrom: Invalid value: "": must specify one of: `configMapRef` or `secretRef`',
        ),
        (
            with_container(volumeMounts=[{"name": "v", "mountPath": "/v"}]),
            'spec.containers[0].volumeMounts[0].name: Not found: "v"',
        ),
        (
            with_container(livenessProbe={}),
            "spec.containers[0].livenessProbe: Required value: must specify a handler type",
        ),
        (
            with_container(livenessProbe={"httpGet": {"port": 0}}),
            "spec.containers[0].livenessProbe.httpGet.port: Invalid value: 0: must be between 1 and 65535, inclusive",
        ),
        (
            with_container(livenessProbe={"exec": {"command": ["a"]}, "successThreshold": 2}),
            "spec.containers[0].livenessProbe.successThreshold: Invalid value: 2: must be 1",
        ),
        (
            with_container(readinessProbe={"exec": {"command": ["a"]}, "periodSeconds": -1}),
            "spec.containers[0].readinessProbe.periodSeconds: Invalid value: -1: must be greater than or equal to 0",
        ),
        (
            with_container(lifecycle={"preStop": {"sleep": {"seconds": 31}}}),
            "spec.containers[0].lifecycle.preStop.sleep: Invalid value: 31: "
            "must be non-negative and less than terminationGracePeriodSeconds (30)",
        ),
        (
            pod(initContainers=[{"name": "i", "image": "i", "readinessProbe": {"exec": {"command": ["a"]}}}]),
            "spec.initContainers[0].readinessProbe: Forbidden: "
            "may not be set for init containers without restartPolicy=Always",
        ),
        (
            pod(initContainers=[{"name": "c", "image": "i"}]),
            'spec.initContainers[0].name: Duplicate value: "c"',
        ),
        (
            with_container(securityContext={"allowPrivilegeEscalation": False, "privileged": True}),
            'spec.containers[0].securityContext: Invalid value: {"allowPrivilegeEscalation":false,"privileged":true}: '
            "cannot set `allowPrivilegeEscalation` to false and `privileged` to true",
        ),
        (
            pod(securityContext={"seccompProfile": {"type": "Localhost"}}),
            "spec.securityContext.seccompProfile.localhostProfile: Required value: "
            "must be set when seccomp type is Localhost",
        ),
        (
            pod(securityContext={"runAsUser": -1}),
            "spec.securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive",
        ),
        (
            pod(dnsPolicy="None"),
            "spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None",
        ),
        (
            pod(dnsConfig={"nameservers": ["x"]}),
            'spec.dnsConfig.nameservers[0]: Invalid value: "x": '
            "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
        ),
        (
            pod(hostAliases=[{"ip": "10.0.0.256"}]),
            'spec.hostAliases[0].ip: Invalid value: "10.0.0.256": '
            "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
        ),
        (
            pod(preemptionPolicy="Maybe"),
            'spec.preemptionPolicy: Unsupported value: "Maybe": supported values: "PreemptLowerPriority", "Never"',
        ),
        (
            pod(os={"name": "plan9"}),
            'spec.os: Unsupported value: "plan9": supported values: "linux", "windows"',
        ),
        (
            pod(os={"name": "windows"}, securityContext={"fsGroup": 1}),
            "spec.securityContext.fsGroup: Forbidden: cannot be set for a windows pod",
        ),
        (
            pod({"annotations": {"controller.kubernetes.io/pod-deletion-cost": "+1"}}),
            'metadata.annotations[controller.kubernetes.io/pod-deletion-cost]: Invalid value: "+1": '
            "must be a 32bit integer",
        ),
        (
            pod(resourceClaims=[{"name": "gpu"}]),
            'spec.resourceClaims[0]: Invalid value: {"Name":"gpu","ResourceClaimName":null,'
            '"ResourceClaimTemplateName":null}: must specify one of: `resourceClaimName`, `resourceClaimTemplateName`',
        ),
        (
            with_container(resources={"claims": [{"name": "gpu"}]}),
            'spec.containers[0].resources.claims[0]: Not found: "gpu": '
            "must be one of the names in pod.spec.resourceClaims which is empty",
        ),
        (
            pod(resources={"limits": {"ephemeral-storage": "1"}}),
            'spec.resources.limits[ephemeral-storage]: Unsupported value: "ephemeral-storage": '
            'supported values: "cpu", "hugepages-", "memory"',
        ),
        (
            pod(topologySpreadConstraints=[{"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "no"}]),
            'spec.topologySpreadConstraints[0].whenUnsatisfiable: Unsupported value: "no": '
            'supported values: "DoNotSchedule", "ScheduleAnyway"',
        ),
    ],
)
def test_a_pod_is_refused_with(value, message):
    assert message in errors_of(value)


@pytest.mark.parametrize(
    "value",
    [
        with_container(env=[{"name": "odd name!", "value": ""}]),
        with_container(env=[{"name": "L", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['app']"}}}]),
        with_container(ports=[{"containerPort": 80, "hostIP": "not checked"}]),
        with_container(resources={"requests": {"cpu": 1, "memory": "1.5Gi"}, "limits": {"cpu": "2"}}),
        with_container(resources={"limits": {"example.com/gpu": 1}}),
        with_container(livenessProbe={"grpc": {"port": 80}}, readinessProbe={"tcpSocket": {"port": "web"}}),
        pod(
            initContainers=[
                {"name": "s", "image": "i", "restartPolicy": "Always", "livenessProbe": {"exec": {"command": ["a"]}}}
            ]
        ),
        pod(tolerations=[{"operator": "Exists"}]),
        pod(dnsPolicy="None", dnsConfig={"nameservers": ["10.0.0.10"], "searches": ["_a.b.", "."]}),
        pod(hostNetwork=True, containers=[{"name": "c", "image": "i", "ports": [{"containerPort": 80}]}]),
        pod({"annotations": {"controller.kubernetes.io/pod-deletion-cost": "-10"}}),
        pod(resources={"requests": {"cpu": "2"}, "limits": {"cpu": "2"}}),
        pod(securityContext={"sysctls": [{"name": "net.ipv4.ip_unprivileged_port_start", "value": "0"}]}),
    ],
)
def test_a_sound_pod_is_accepted(value):
    assert errors_of(value) == []


def test_a_pods_limit_stands_for_its_missing_request_but_a_templates_does_not():
    # SetDefaults_Pod (pkg/apis/core/v1/defaults.go): a request over the limit cannot come from defaulting.
    resources = {"requests": {"example.com/gpu": "1"}}
    wanted = "resources.limits: Required value: Limit must be set for non overcommitable resources"
    assert any(wanted in text for text in errors_of(with_container(resources=resources)))
    alone = {"limits": {"hugepages-2Mi": "4Mi", "cpu": "1"}}
    assert errors_of(with_container(resources=alone)) == []


def test_a_host_network_template_keeps_its_host_ports_unset():
    ports = [{"containerPort": 80}]
    container = {"name": "c", "image": "i", "ports": ports}
    assert errors_of(deployment(hostNetwork=True, containers=[container])) == []
    container = container | {"ports": [{"containerPort": 80, "hostPort": 81}]}
    refused = errors_of(deployment(hostNetwork=True, containers=[container]))
    assert refused == [
        "spec.template.spec.containers[0].ports[0].hostPort: Invalid value: 81: "
        "must match `containerPort` when `hostNetwork` is true"
    ]


def test_only_in_pods_are_match_label_keys_merged_into_the_selector():
    term = {
        "topologyKey": "z",
        "labelSelector": {"matchLabels": {"app": "a"}},
        "matchLabelKeys": ["app"],
    }
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    place = "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0][0]"
    (cause,) = validate(pod({"labels": {"app": "a"}}, affinity=affinity)).causes
    assert str(cause) == f'{place}: Invalid value: "app": exists in both matchLabelKeys and labelSelector'
    assert cause.path[-2:] == ("matchLabelKeys", 0)
    assert errors_of(deployment(affinity=affinity)) == []


def test_template_labels_are_named_without_metadata_and_placed_with_it():
    (cause,) = validate(deployment({"labels": {"app": "a", "x": "bad value!"}})).causes
    assert cause.field == "spec.template.labels"
    assert cause.path == ("spec", "template", "metadata", "labels", "x")


def test_a_mount_option_is_named_without_its_index_and_placed_with_it():
    value = with_container(volumeMounts=[{"name": "v", "mountPath": "/v", "subPath": "/abs"}])
    value["spec"]["volumes"] = [{"name": "v"}]
    (cause,) = validate(value).causes
    assert cause.field == "spec.containers[0].volumeMounts.subPath"
    assert cause.path == ("spec", "containers", 0, "volumeMounts", 0, "subPath")


def test_requests_and_limits_are_compared_exactly():
    resources = {"requests": {"memory": "1Gi"}, "limits": {"memory": "1G"}}
    assert errors_of(with_container(resources=resources)) == [
        'spec.containers[0].resources.requests: Invalid value: "1Gi": must be less than or equal to memory limit of 1G'
    ]


def test_pod_resources_must_cover_those_of_the_containers():
    value = with_container(resources={"requests": {"cpu": "3"}})
    value["spec"]["resources"] = {"requests": {"cpu": "2"}}
    assert errors_of(value) == [
        'spec.resources.requests[cpu]: Invalid value: "2": '
        "must be greater than or equal to aggregate container requests of 3"
    ]


def test_admission_refuses_unknown_classes_first_and_overhead_last():
    none = Classes()
    assert validate(pod(priorityClassName="gone"), classes=none).message == (
        'pods "a" is forbidden: no PriorityClass with name gone was found'
    )
    assert validate(pod(priorityClassName="system-cluster-critical"), classes=none).accepted
    assert validate(pod(priorityClassName="gold"), classes=Classes(priority={"gold": 5})).accepted
    assert validate(pod(priority=7), classes=none).code == 403
    assert validate(pod(runtimeClassName="kata"), classes=none).message == (
        'pods "a" is forbidden: pod rejected: RuntimeClass "kata" not found'
    )
    assert validate(pod(overhead={"cpu": "1"}), classes=none).code == 403
    assert validate(pod(overhead={"cpu": "1"}, restartPolicy="no"), classes=none).code == 422
    assert validate(pod(priorityClassName="gone")).accepted  # nobody said which classes there are


def test_a_generated_name_is_made_before_it_is_judged():
    value = pod({"generateName": "web-"})
    del value["metadata"]["name"]
    assert errors_of(value) == []
    value["metadata"]["generateName"] = "Bad-"
    assert {cause.field for cause in validate(value).causes} == {"metadata.generateName", "metadata.name"}
