"""Rules of services, storage, autoscalers, budgets, classes and quotas (pkg/apis/*/validation, v1.36)."""

from __future__ import annotations

import pytest

from kubesched_lint.engine.apiserver.validate import validate
from kubesched_lint.engine.base.releases import MODELLED

NODE_AFFINITY = {"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "h", "operator": "Exists"}]}]}}


def thing(api_version, kind, name="a", **rest):
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}} | rest


def service(**spec):
    return thing("v1", "Service", spec={"ports": [{"port": 80}]} | spec)


def claim(**spec):
    sound = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return thing("v1", "PersistentVolumeClaim", spec=sound | spec)


def volume(**spec):
    sound = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}}
    source = {} if {"local", "csi", "nfs"} & set(spec) else {"hostPath": {"path": "/d"}}
    return thing("v1", "PersistentVolume", spec=sound | source | spec)


def storage_class(**rest):
    return thing("storage.k8s.io/v1", "StorageClass", **({"provisioner": "ebs.csi.aws.com"} | rest))


def autoscaler(**spec):
    sound = {"maxReplicas": 3, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"}}
    return thing("autoscaling/v2", "HorizontalPodAutoscaler", spec=sound | spec)


def budget(**spec):
    return thing("policy/v1", "PodDisruptionBudget", spec={"selector": {"matchLabels": {"app": "a"}}} | spec)


def limits(*items):
    return thing("v1", "LimitRange", spec={"limits": list(items)})


def quota(**spec):
    return thing("v1", "ResourceQuota", spec=spec)


def errors_of(value):
    return [str(cause) for cause in validate(value).causes]


REFUSED = [
    (service(ports=[]), "spec.ports: Required value"),
    (service(ports=[{"port": 1}, {"port": 2}]), "spec.ports[0].name: Required value"),
    (
        service(ports=[{"port": 80, "protocol": "HTTP"}]),
        'spec.ports[0].protocol: Unsupported value: "HTTP": supported values: "SCTP", "TCP", "UDP"',
    ),
    (
        service(ports=[{"port": 80, "targetPort": "8080"}]),
        'spec.ports[0].targetPort: Invalid value: "8080": must contain at least one letter (a-z)',
    ),
    (
        service(ports=[{"port": 80, "nodePort": 30080}]),
        "spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'",
    ),
    (
        service(type="Internal"),
        'spec.type: Unsupported value: "Internal": supported values: "ClusterIP", "ExternalName", "LoadBalancer", '
        '"NodePort"',
    ),
    (
        service(type="NodePort", clusterIP="None"),
        "spec.clusterIPs[0]: Invalid value: \"None\": may not be set to 'None' for NodePort services",
    ),
    (
        service(clusterIP="10.0.0"),
        'spec.clusterIPs[0]: Invalid value: "10.0.0": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
    ),
    (service(type="ExternalName"), "spec.externalName: Required value"),
    (
        service(loadBalancerSourceRanges=["10.0.0.0/8"]),
        "spec.LoadBalancerSourceRanges: Forbidden: may only be used when `type` is 'LoadBalancer'",
    ),
    (
        service(externalTrafficPolicy="Local"),
        'spec.externalTrafficPolicy: Invalid value: "Local": may only be set for externally-accessible services',
    ),
    (
        service(selector={"app": "bad value!"}),
        'spec.selector: Invalid value: "bad value!": a valid label must be an empty string or consist of alphanumeric '
        "characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or "
        "'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
    ),
    (claim(accessModes=[]), "spec.accessModes: Required value: at least 1 access mode is required"),
    (
        claim(accessModes=["RWO"]),
        'spec.accessModes: Unsupported value: "RWO": supported values: "ReadOnlyMany", "ReadWriteMany", '
        '"ReadWriteOnce", "ReadWriteOncePod"',
    ),
    (claim(resources={}), "spec.resources[storage]: Required value"),
    (
        claim(resources={"requests": {"storage": "0"}}),
        'spec.resources[storage]: Invalid value: "0": must be greater than zero',
    ),
    (
        claim(accessModes=["ReadWriteOncePod", "ReadWriteMany"]),
        "spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes",
    ),
    (
        volume(local={"path": "/mnt"}),
        "spec.nodeAffinity: Required value: Local volume requires node affinity",
    ),
    (thing("v1", "PersistentVolume", spec={}), "spec: Required value: must specify a volume type"),
    (volume(csi={"driver": "d"}), "spec.csi.volumeHandle: Required value"),
    (
        volume(nfs={"server": "s", "path": "rel"}),
        'spec.nfs.path: Invalid value: "rel": must be an absolute path',
    ),
    (
        volume(nodeAffinity={}),
        "spec.nodeAffinity.required: Required value: must specify required node constraints",
    ),
    (
        volume(capacity={"storage": "1Gi", "cpu": "1"}),
        'spec.capacity: Unsupported value: {"cpu":"1","storage":"1Gi"}: supported values: "storage"',
    ),
    (
        storage_class(volumeBindingMode="Late"),
        'volumeBindingMode: Unsupported value: "Late": supported values: "Immediate", "WaitForFirstConsumer"',
    ),
    (
        storage_class(allowedTopologies=[{"matchLabelExpressions": [{"key": "z", "values": ["a", "a"]}]}]),
        'allowedTopologies[0].matchLabelExpressions[0].values[1]: Duplicate value: "a"',
    ),
    (storage_class(provisioner=""), "provisioner: Required value"),
    (autoscaler(maxReplicas=0), "spec.maxReplicas: Required value: must be set and greater than 0"),
    (
        autoscaler(minReplicas=5),
        "spec.maxReplicas: Invalid value: 3: must be greater than or equal to `minReplicas`",
    ),
    (
        autoscaler(scaleTargetRef={"kind": "Deployment", "name": "a"}),
        'spec.scaleTargetRef.apiVersion: Invalid value: "": apiVersion must specify API group',
    ),
    (
        autoscaler(metrics=[{"type": "Resource"}]),
        "spec.metrics[0].resource: Required value: must populate information for the given metric source",
    ),
    (
        autoscaler(metrics=[{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization"}}}]),
        "spec.metrics[0].resource.target.averageUtilization: Required value: "
        "must set either a target raw value or a target utilization",
    ),
    (
        autoscaler(behavior={"scaleDown": {"stabilizationWindowSeconds": 3601}}),
        "spec.behavior.scaleDown.stabilizationWindowSeconds: Invalid value: 3601: must be less than or equal to 3600",
    ),
    (
        budget(minAvailable=1, maxUnavailable=1),
        'spec: Invalid value: {"MinAvailable":1,"Selector":{"matchLabels":{"app":"a"}},"MaxUnavailable":1,'
        '"UnhealthyPodEvictionPolicy":null}: minAvailable and maxUnavailable cannot be both set',
    ),
    (
        budget(maxUnavailable="101%"),
        'spec.maxUnavailable: Invalid value: "101%": must not be greater than 100%',
    ),
    (
        thing("scheduling.k8s.io/v1", "PriorityClass", value=1000000001),
        "value: Forbidden: maximum allowed value of a user defined priority is 1000000000",
    ),
    (
        thing("scheduling.k8s.io/v1", "PriorityClass", "system-mine", value=1),
        "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. "
        "error: system-mine is not a known system priority class",
    ),
    (thing("node.k8s.io/v1", "RuntimeClass"), "handler: Required value"),
    (
        thing("node.k8s.io/v1", "RuntimeClass", handler="h", scheduling={"tolerations": [{"key": "a"}] * 2}),
        'scheduling.tolerations[1]: Duplicate value: {"Key":"a","Operator":"","Value":"","Effect":"",'
        '"TolerationSeconds":null}',
    ),
    (
        thing("v1", "Namespace", "a.b"),
        'metadata.name: Invalid value: "a.b": must not contain dots',
    ),
    (
        limits({"type": "Container", "min": {"cpu": "2"}, "max": {"cpu": "1"}}),
        'spec.limits[0].min[cpu]: Invalid value: "2": min value 2 is greater than max value 1',
    ),
    (
        limits({"type": "Pod", "default": {"cpu": "1"}}),
        "spec.limits[0].default: Forbidden: may not be specified when `type` is 'Pod'",
    ),
    (
        limits({"type": "Container"}, {"type": "Container"}),
        'spec.limits[1].type: Duplicate value: "Container"',
    ),
    (
        quota(hard={"cpus": "1"}),
        'spec.hard[cpus]: Invalid value: "cpus": must be a standard resource for quota',
    ),
    (
        quota(hard={"pods": "0.5"}),
        'spec.hard[pods]: Invalid value: "500m": must be an integer',
    ),
    (
        quota(hard={"services": "1"}, scopes=["BestEffort"]),
        'spec.scopes: Invalid value: ["BestEffort"]: unsupported scope applied to resource',
    ),
    (
        quota(scopeSelector={"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In"}]}),
        "spec.scopeSelector.matchExpressions.values: Required value: "
        "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector",
    ),
]


@pytest.mark.parametrize(("value", "message"), REFUSED, ids=[text.partition(": ")[0] for _, text in REFUSED])
def test_an_object_is_refused_with(value, message):
    assert message in errors_of(value)


@pytest.mark.parametrize(
    "value",
    [
        service(clusterIP="None", ports=[]),
        service(type="ExternalName", externalName="db.example.com.", ports=[]),
        service(type="LoadBalancer", externalTrafficPolicy="Local", loadBalancerSourceRanges=["10.0.0.0/8"]),
        service(type="NodePort", ports=[{"port": 80, "nodePort": 30080, "targetPort": "http"}]),
        service(ports=[{"name": "a", "port": 53}, {"name": "b", "port": 53, "protocol": "UDP"}]),
        service(sessionAffinity="ClientIP"),
        claim(storageClassName="", volumeMode="Block"),
        claim(dataSource={"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "s"}),
        claim(dataSource={"kind": "Anything", "name": "dropped on creation"}),
        volume(),
        volume(local={"path": "/mnt"}, nodeAffinity=NODE_AFFINITY),
        volume(csi={"driver": "ebs.csi.aws.com", "volumeHandle": "vol-1"}),
        storage_class(volumeBindingMode="WaitForFirstConsumer", parameters={"type": "gp3"}),
        autoscaler(),
        autoscaler(behavior={"scaleUp": {"stabilizationWindowSeconds": 0}}),
        autoscaler(scaleTargetRef={"apiVersion": "v1", "kind": "ReplicationController", "name": "a"}),
        budget(minAvailable="50%"),
        budget(maxUnavailable=0, unhealthyPodEvictionPolicy="AlwaysAllow"),
        thing("scheduling.k8s.io/v1", "PriorityClass", value=-10, preemptionPolicy="Never"),
        thing("node.k8s.io/v1", "RuntimeClass", handler="kata", overhead={"podFixed": {"cpu": "250m"}}),
        thing("v1", "Namespace", spec={"finalizers": ["kubernetes"]}),
        limits({"type": "Container", "default": {"cpu": "1"}, "defaultRequest": {"cpu": "500m"}}),
        limits({"type": "PersistentVolumeClaim", "max": {"storage": "10Gi"}}),
        quota(hard={"requests.cpu": "10", "count/deployments.apps": "5", "requests.nvidia.com/gpu": "4"}),
        quota(hard={"pods": "5"}, scopes=["BestEffort"]),
        thing("example.com/v1", "Widget", spec=5),
    ],
)
def test_a_sound_object_is_accepted(value):
    assert errors_of(value) == []


def test_both_versions_of_autoscalers_are_known():
    spec = {"maxReplicas": 2, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"}}
    first = thing("autoscaling/v1", "HorizontalPodAutoscaler", spec=spec | {"targetCPUUtilizationPercentage": 80})
    assert errors_of(first) == []
    second = first | {"apiVersion": "autoscaling/v2"}
    assert validate(second).causes[0].field == "spec.targetCPUUtilizationPercentage"


def test_an_api_that_is_gone_matches_nothing():
    verdict = validate(thing("policy/v1beta1", "PodDisruptionBudget"))
    assert (verdict.accepted, verdict.code) == (False, 404)
    assert verdict.message == 'no matches for kind "PodDisruptionBudget" in version "policy/v1beta1"'
    assert verdict.causes[0].path == ("apiVersion",)


def test_each_version_has_its_own_schema_and_the_recorded_rules():
    wrong_rule = budget(minAvailable=1, maxUnavailable=1)
    assert {validate(wrong_rule, version=version).message for version in MODELLED} == {validate(wrong_rule).message}
    assert not validate(wrong_rule).accepted
    unknown = budget(minAvailables=1)
    assert validate(unknown, version="1.30").causes[0].suggestion == "minAvailable"
    newer = thing("v1", "Pod", spec={"containers": [{"name": "a", "image": "a"}], "resources": {}})
    assert validate(newer, version="1.31").causes[0].field == "spec.resources"
    assert validate(newer, version="1.32").accepted
    with pytest.raises(ValueError, match=r"Kubernetes 1\.29 is not modelled"):
        validate(newer, version="1.29")
