"""What is cut away is what nobody reads: rich objects decode the same before and after."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from kubesched_lint.engine.base.partly_compared import same_values
from kubesched_lint.engine.cluster.collecting.pods import PodReader
from kubesched_lint.engine.cluster.pods.template import difference
from kubesched_lint.engine.model.decode.nodes import decode_node
from kubesched_lint.engine.model.decode.objects import decode_object
from kubesched_lint.engine.model.decode.pods import decode_pod
from kubesched_lint.sources.capture.resources import RESOURCES, Resource
from kubesched_lint.sources.redaction.redact import Redactor

BY_KIND = {resource.kind: resource for resource in RESOURCES}
SELECTOR = {"matchLabels": {"app": "a"}, "matchExpressions": [{"key": "t", "operator": "NotIn", "values": ["x"]}]}
POD_TERM = {
    "topologyKey": "zone",
    "labelSelector": SELECTOR,
    "namespaces": ["b"],
    "namespaceSelector": {},
    "matchLabelKeys": ["pod-template-hash"],
    "mismatchLabelKeys": ["tenant"],
}
NODE_TERM = {
    "matchExpressions": [{"key": "gen", "operator": "Gt", "values": ["3"]}],
    "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}],
}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
POD_AFFINITY = {REQUIRED: [POD_TERM], PREFERRED: [{"weight": 7, "podAffinityTerm": POD_TERM}]}
CONTAINER = {
    "name": "c",
    "image": "registry/x:1",
    "env": [{"name": "PASSWORD", "value": "hunter2"}],
    "envFrom": [{"secretRef": {"name": "hunter2"}}],
    "args": ["--password=hunter2"],
    "command": ["hunter2"],
    "volumeMounts": [{"name": "v", "mountPath": "/hunter2"}],
    "livenessProbe": {"httpGet": {"port": 1, "httpHeaders": [{"name": "Authorization", "value": "hunter2"}]}},
    "ports": [{"name": "p", "containerPort": 80, "hostPort": 8080, "hostIP": "10.0.0.1", "protocol": "UDP"}],
    "resources": {"requests": {"cpu": "1", "acme.com/x": "2"}, "limits": {"memory": "1Gi"}, "claims": [{"name": "g"}]},
    "restartPolicyRules": [{"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [1]}}],
}
CLAIM_TEMPLATE = {
    "metadata": {"name": "d", "labels": {"l": "1"}, "annotations": {"x": "hunter2"}},
    "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "", "resources": {"requests": {"storage": "1Gi"}}},
}
VOLUMES = [
    {"name": "pvc", "persistentVolumeClaim": {"claimName": "d", "readOnly": True}},
    {"name": "eph", "ephemeral": {"volumeClaimTemplate": {"metadata": {}, "spec": CLAIM_TEMPLATE["spec"]}}},
    {"name": "img", "image": {"reference": "registry/y:2"}},
    {"name": "gce", "gcePersistentDisk": {"pdName": "p", "readOnly": True}},
    {"name": "aws", "awsElasticBlockStore": {"volumeID": "vol-1"}},
    {"name": "rbd", "rbd": {"monitors": ["m:1"], "image": "i", "pool": "q"}},
    {"name": "iscsi", "iscsi": {"iqn": "iqn.2001"}},
    {"name": "csi", "csi": {"driver": "d.example.com", "readOnly": True}},
]
SECRET_VOLUMES = [
    {"name": "s", "secret": {"secretName": "hunter2"}},
    {"name": "p", "projected": {"sources": [{"secret": {"name": "hunter2"}}]}},
    {"name": "kube-api-access-x", "projected": {"sources": [{"serviceAccountToken": {"path": "hunter2"}}]}},
    {"name": "h", "hostPath": {"path": "/hunter2"}},
]
SPEC = {
    "nodeName": "n1",
    "containers": [CONTAINER],
    "initContainers": [{**CONTAINER, "name": "i", "restartPolicy": "Always"}],
    "affinity": {
        "nodeAffinity": {
            REQUIRED: {"nodeSelectorTerms": [NODE_TERM, {}]},
            PREFERRED: [{"weight": 3, "preference": NODE_TERM}],
        },
        "podAffinity": POD_AFFINITY,
        "podAntiAffinity": POD_AFFINITY,
    },
    "nodeSelector": {"pool": "a"},
    "tolerations": [{"key": "k", "operator": "Equal", "value": "v", "effect": "NoExecute", "tolerationSeconds": 30}],
    "topologySpreadConstraints": [
        {
            "maxSkew": 2,
            "topologyKey": "zone",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": SELECTOR,
            "minDomains": 3,
            "nodeAffinityPolicy": "Ignore",
            "nodeTaintsPolicy": "Honor",
            "matchLabelKeys": ["pod-template-hash"],
        }
    ],
    "volumes": VOLUMES,
    "overhead": {"cpu": "250m"},
    "resources": {"requests": {"cpu": "3"}},
    "hostNetwork": True,
    "hostUsers": False,
    "schedulerName": "mine",
    "schedulingGates": [{"name": "g"}],
    "priority": 7,
    "priorityClassName": "high",
    "preemptionPolicy": "Never",
    "runtimeClassName": "kata",
    "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "t"}],
    "serviceAccountName": "hunter2",
    "imagePullSecrets": [{"name": "hunter2"}],
    "hostAliases": [{"ip": "1.2.3.4", "hostnames": ["hunter2"]}],
}
META = {
    "name": "x",
    "namespace": "b",
    "uid": "u-1",
    "labels": {"app": "a"},
    "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "hunter2", "note": "hunter2"},
    "managedFields": [{"manager": "hunter2"}],
    "ownerReferences": [{"apiVersion": "v1", "kind": "ReplicaSet", "name": "r", "uid": "u-2", "controller": True}],
    "creationTimestamp": "2026-11-21T03:30:58Z",
    "deletionTimestamp": "2026-11-21T04:30:58Z",
    "finalizers": ["example.com/hold"],
}


def trimmed(resource: Resource, value: dict[str, Any]) -> dict[str, Any] | None:
    item = msgspec.json.decode(json.dumps(value).encode(), type=resource.part)
    if resource.cut is not None and not resource.cut(item):
        return None
    text = msgspec.json.encode(item)
    assert b"hunter2" not in text
    found: dict[str, Any] = json.loads(text)
    return {"apiVersion": resource.api_version(resource.versions[0]), "kind": resource.kind, **found}


def test_a_pod_with_everything_is_the_same_pod() -> None:
    status = {
        "phase": "Running",
        "startTime": "2026-11-21T03:31:00Z",
        "nominatedNodeName": "n2",
        "conditions": [{"type": "Ready", "status": "False", "message": "hunter2"}],
        "containerStatuses": [{"lastState": {"terminated": {"message": "hunter2"}}}],
    }
    whole = {"metadata": META, "spec": {**SPEC, "volumes": VOLUMES}, "status": status}
    cut = trimmed(BY_KIND["Pod"], {**whole, "spec": {**SPEC, "volumes": VOLUMES + SECRET_VOLUMES}})
    assert cut is not None
    assert same_values(PodReader().value(cut), PodReader().value(whole))
    assert "hostPath" not in json.dumps(cut)


def test_pods_that_are_over_are_left_out() -> None:
    for phase in ("Succeeded", "Failed"):
        assert trimmed(BY_KIND["Pod"], {"metadata": META, "spec": SPEC, "status": {"phase": phase}}) is None


@pytest.mark.parametrize("empty", [None, {}])
def test_an_empty_selector_stays_apart_from_none(empty: object) -> None:
    term = {**POD_TERM, "labelSelector": empty, "namespaceSelector": empty}
    spec = {"affinity": {"podAntiAffinity": {REQUIRED: [term]}}}
    cut = trimmed(BY_KIND["Pod"], {"metadata": META, "spec": spec})
    assert cut is not None
    assert same_values(decode_pod(cut["spec"], "b", {}, (), ()), decode_pod(spec, "b", {}, (), ()))


TEMPLATE = {"metadata": {"labels": {"app": "a"}, "annotations": {"t": "hunter2"}}, "spec": SPEC}
WORKLOADS: dict[str, dict[str, Any]] = {
    "Deployment": {
        "replicas": 0,
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "30%", "maxUnavailable": 0}},
        "minReadySeconds": 9,
    },
    "StatefulSet": {
        "podManagementPolicy": "Parallel",
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 2, "maxUnavailable": 2}},
        "volumeClaimTemplates": [{**CLAIM_TEMPLATE, "metadata": {"name": "d"}}],
    },
    "DaemonSet": {"updateStrategy": {"type": "OnDelete"}},
    "ReplicaSet": {"replicas": 4},
    "ReplicationController": {"replicas": 4, "minReadySeconds": 2, "selector": {"app": "a"}},
    "Job": {"parallelism": 3, "completions": 2},
    "CronJob": {"jobTemplate": {"spec": {"parallelism": 3, "template": TEMPLATE}}},
}


@pytest.mark.parametrize("kind", WORKLOADS)
def test_a_workload_with_everything_is_the_same_workload(kind: str) -> None:
    resource = BY_KIND[kind]
    value = {"metadata": META, "spec": {"selector": SELECTOR, "template": TEMPLATE, **WORKLOADS[kind]}}
    cut = trimmed(resource, value)
    assert cut is not None
    whole = {**value, "apiVersion": cut["apiVersion"], "kind": kind}
    ours, theirs = decode_object(cut, "b")[1], decode_object(whole, "b")[1]
    for name in ours.__struct_fields__:
        if name not in ("template", "annotations"):
            assert same_values(getattr(ours, name), getattr(theirs, name)), name
    assert difference(theirs.template, ours.template, trimmed=True) is not True, "the same template is no change"
    other = json.loads(json.dumps(theirs.template).replace("registry/x:1", "registry/x:2"))
    assert difference(other, ours.template, trimmed=True) is True


def test_a_finished_job_is_left_out() -> None:
    over = {"conditions": [{"type": "Complete", "status": "True"}]}
    assert trimmed(BY_KIND["Job"], {"metadata": META, "spec": {"template": TEMPLATE}, "status": over}) is None


def test_of_an_old_revision_only_its_number_stays() -> None:
    notes = {"deployment.kubernetes.io/revision": "12", "deployment.kubernetes.io/revision-history": "hunter2"}
    value = {"metadata": {**META, "annotations": notes}, "spec": {"replicas": 0, "template": TEMPLATE}}
    cut = trimmed(BY_KIND["ReplicaSet"], value)
    assert cut is not None
    assert cut["metadata"]["annotations"] == {"deployment.kubernetes.io/revision": "12"}
    assert "template" not in cut["spec"]
    value["spec"]["replicas"] = 1  # type: ignore[index]
    still = trimmed(BY_KIND["ReplicaSet"], value)
    assert still is not None
    assert still["spec"]["template"]["spec"]["containers"][0]["image"] == "registry/x:1"


def test_a_node_with_everything_is_the_same_node() -> None:
    value = {
        "metadata": {**META, "annotations": {"cluster.x-k8s.io/machine": "m", "note": "hunter2"}},
        "spec": {
            "taints": [{"key": "k", "value": "v", "effect": "NoSchedule", "timeAdded": "2026-11-21T03:30:58Z"}],
            "unschedulable": True,
            "providerID": "aws:///hunter2",
        },
        "status": {
            "allocatable": {"cpu": "3920m", "nvidia.com/gpu": "1"},
            "capacity": {"cpu": "4"},
            "conditions": [{"type": "Ready", "status": "Unknown", "message": "hunter2"}],
            "images": [{"names": ["registry/x:1"], "sizeBytes": 12345}],
            "declaredFeatures": ["F"],
            "nodeInfo": {"kubeletVersion": "v1.36.2-acme", "machineID": "hunter2"},
            "addresses": [{"type": "Hostname", "address": "hunter2"}],
        },
    }
    cut = trimmed(BY_KIND["Node"], value)
    assert cut is not None
    assert decode_node(cut) == decode_node(value)
    assert cut["metadata"]["annotations"] == {"cluster.x-k8s.io/machine": "m"}
    assert cut["status"]["nodeInfo"] == {"kubeletVersion": "v1.36.2-acme"}
    assert decode_node(cut).kubelet_version == "v1.36.2-acme"
    assert Redactor(b"k").item(cut)["status"]["nodeInfo"] == {"kubeletVersion": "v1.36.2"}


OBJECTS: dict[str, dict[str, Any]] = {
    "Namespace": {},
    "Service": {"spec": {"selector": {"app": "a"}, "externalName": "hunter2"}},
    "HorizontalPodAutoscaler": {
        "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "x"}, "minReplicas": 2, "maxReplicas": 9}
    },
    "VerticalPodAutoscaler": {
        "spec": {
            "targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "x"},
            "updatePolicy": {"updateMode": "Initial", "minReplicas": 1},
            "resourcePolicy": {
                "containerPolicies": [
                    {"containerName": "*", "mode": "Off"},
                    {
                        "containerName": "a",
                        "minAllowed": {"cpu": "1"},
                        "maxAllowed": {"memory": "1Gi"},
                        "controlledResources": ["memory"],
                        "controlledValues": "RequestsOnly",
                    },
                ]
            },
        },
        "status": {
            "recommendation": {
                "containerRecommendations": [
                    {"containerName": "a", "target": {"cpu": "2"}, "uncappedTarget": {"cpu": "3"}}
                ]
            }
        },
    },
    "PodDisruptionBudget": {
        "spec": {"selector": SELECTOR, "minAvailable": "50%", "unhealthyPodEvictionPolicy": "AlwaysAllow"},
        "status": {"disruptionsAllowed": 0},
    },
    "PriorityClass": {"value": 9, "preemptionPolicy": "Never", "globalDefault": True, "description": "hunter2"},
    "RuntimeClass": {
        "handler": "hunter2",
        "overhead": {"podFixed": {"cpu": "1"}},
        "scheduling": {"nodeSelector": {"a": "b"}, "tolerations": SPEC["tolerations"]},
    },
    "LimitRange": {
        "spec": {
            "limits": [
                {"type": "Container", "min": {"cpu": "1"}, "max": {"cpu": "4"}, "default": {"cpu": "3"}},
                {"type": "Container", "defaultRequest": {"memory": "1Gi"}},
            ]
        }
    },
    "ResourceQuota": {"spec": {"hard": {"pods": "9"}, "scopes": ["BestEffort"]}, "status": {"used": {"pods": "2"}}},
    "PersistentVolumeClaim": {
        "spec": {**CLAIM_TEMPLATE["spec"], "volumeName": "v", "volumeMode": "Block", "selector": SELECTOR},
        "status": {"phase": "Bound"},
    },
    "PersistentVolume": {
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "gp3",
            "volumeMode": "Block",
            "claimRef": {"namespace": "b", "name": "c", "uid": "u"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [NODE_TERM]}},
            "csi": {
                "driver": "ebs.csi.aws.com",
                "volumeHandle": "vol-1",
                "nodeStageSecretRef": {"name": "hunter2"},
                "volumeAttributes": {"key": "hunter2"},
            },
        },
        "status": {"phase": "Bound"},
    },
    "StorageClass": {
        "provisioner": "ebs.csi.aws.com",
        "parameters": {"adminSecret": "hunter2"},
        "volumeBindingMode": "WaitForFirstConsumer",
        "allowedTopologies": [{"matchLabelExpressions": [{"key": "zone", "values": ["a"]}]}],
    },
    "CSINode": {
        "spec": {"drivers": [{"name": "d", "nodeID": "hunter2", "topologyKeys": ["z"], "allocatable": {"count": 25}}]}
    },
    "VolumeAttachment": {
        "spec": {"attacher": "d", "nodeName": "n", "source": {"persistentVolumeName": "v"}},
        "status": {"attachmentMetadata": {"devicePath": "hunter2"}},
    },
    "CSIStorageCapacity": {
        "storageClassName": "s",
        "capacity": "9Gi",
        "maximumVolumeSize": "3Gi",
        "nodeTopology": {"matchLabels": {"zone": "a"}},
    },
    "PodGroup": {
        "spec": {
            "schedulingPolicy": {"gang": {"minCount": 4}},
            "schedulingConstraints": {"topology": [{"key": "zone"}]},
            "priorityClassName": "high",
        }
    },
}


@pytest.mark.parametrize("kind", OBJECTS)
def test_an_object_with_everything_is_the_same_object(kind: str) -> None:
    resource = BY_KIND[kind]
    notes = {"volume.kubernetes.io/selected-node": "n1", "storageclass.kubernetes.io/is-default-class": "true"}
    cut = trimmed(resource, {"metadata": {**META, "annotations": {**META["annotations"], **notes}}, **OBJECTS[kind]})
    assert cut is not None
    whole = {"apiVersion": cut["apiVersion"], "kind": kind, "metadata": {**META, "annotations": notes}, **OBJECTS[kind]}
    assert same_values(decode_object(cut, "b"), decode_object(whole, "b"))


@pytest.mark.parametrize("source", ["nfs", "hostPath", "local", "iscsi", "fc", "awsElasticBlockStore", "vsphereVolume"])
def test_the_source_of_a_volume_is_named_and_no_more(source: str) -> None:
    cut = trimmed(BY_KIND["PersistentVolume"], {"metadata": META, "spec": {source: {"path": "hunter2"}}})
    assert cut is not None
    assert decode_object(cut, "")[1].kind == source


def test_every_kind_that_is_read_is_captured() -> None:
    from kubesched_lint.engine.model.decode.objects import READ_KINDS

    # Karpenter served Provisioner last in 0.32: newer clusters would all be told that it is missing
    # A Workload is only compared with its own controller, so one in the cluster decides nothing.
    # KEDA has made a HorizontalPodAutoscaler of each ScaledObject in the cluster, and that is captured.
    # What these have added to nodes, the nodes show; webhooks matter only beside the pods of the manifests.
    makers = {"NodeFeatureRule", "ClusterPolicy", "GpuDevicePlugin", "QatDevicePlugin", "SgxDevicePlugin"}
    # ServiceAccounts matter only among the manifests: which phase makes them, and which need not be assumed.
    webhooks = {"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}
    not_captured = {
        "Pod",
        "Provisioner",
        "NodeOverlay",
        "Workload",
        "ScaledObject",
        "ServiceAccount",
        *makers,
        *webhooks,
    }
    assert READ_KINDS - not_captured <= set(BY_KIND), "a kind that rules read belongs into a snapshot"
