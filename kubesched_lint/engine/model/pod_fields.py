"""The fields of a Pod that scheduling reads: the only list of them.

A mapping holds the fields of an object, a list of one shape the items of a list; a leaf names its type. Four users
follow it: decoding (``engine.model.decode.pods``), the key under which pods share a decoded one
(``engine.cluster.collecting.pod_json``), what a capture keeps (``sources.capture.parts``) and the comparison of
templates (``engine.cluster.pods.template``). ``tests/cluster/test_pod_fields.py`` changes each field and checks that
they react. Names as in ``k8s.io/api/core/v1`` (v1.36).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubesched_lint.engine.model.pod import INLINE_DISKS

Shape = Any
"""A leaf, a mapping of field name → shape, or a list of one shape."""
Fields = Mapping[str, Shape]

TEXT, NUMBER, FLAG, TEXTS = "text", "number", "flag", "texts"
LABELS = "labels"
"""Texts by names that users choose."""
AMOUNTS = "amounts"
"""Quantities by resource name."""

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"

EXPRESSION: Fields = {"key": TEXT, "operator": TEXT, "values": TEXTS}
SELECTOR: Fields = {"matchLabels": LABELS, "matchExpressions": [EXPRESSION]}
NODE_TERM: Fields = {"matchExpressions": [EXPRESSION], "matchFields": [EXPRESSION]}
NODE_TERMS: Fields = {"nodeSelectorTerms": [NODE_TERM]}
_POD_TERM: Fields = {
    "topologyKey": TEXT,
    "labelSelector": SELECTOR,
    "namespaces": TEXTS,
    "namespaceSelector": SELECTOR,
    "matchLabelKeys": TEXTS,
    "mismatchLabelKeys": TEXTS,
}
_POD_AFFINITY: Fields = {_REQUIRED: [_POD_TERM], _PREFERRED: [{"weight": NUMBER, "podAffinityTerm": _POD_TERM}]}
AFFINITY: Fields = {
    "nodeAffinity": {_REQUIRED: NODE_TERMS, _PREFERRED: [{"weight": NUMBER, "preference": NODE_TERM}]},
    "podAffinity": _POD_AFFINITY,
    "podAntiAffinity": _POD_AFFINITY,
}
TOLERATION: Fields = {"key": TEXT, "operator": TEXT, "value": TEXT, "effect": TEXT, "tolerationSeconds": NUMBER}
_SPREAD: Fields = {
    "maxSkew": NUMBER,
    "topologyKey": TEXT,
    "whenUnsatisfiable": TEXT,
    "labelSelector": SELECTOR,
    "minDomains": NUMBER,
    "nodeAffinityPolicy": TEXT,
    "nodeTaintsPolicy": TEXT,
    "matchLabelKeys": TEXTS,
}

_RESOURCE_CLAIM: Fields = {"name": TEXT, "resourceClaimName": TEXT, "resourceClaimTemplateName": TEXT}
RESOURCES: Fields = {"requests": AMOUNTS, "limits": AMOUNTS, "claims": [{"name": TEXT, "request": TEXT}]}
_PORT: Fields = {"name": TEXT, "containerPort": NUMBER, "hostPort": NUMBER, "hostIP": TEXT, "protocol": TEXT}
CONTAINER: Fields = {
    "name": TEXT,
    "image": TEXT,
    "ports": [_PORT],
    "resources": RESOURCES,
    "restartPolicy": TEXT,
    "restartPolicyRules": [{"action": TEXT}],
}

CLAIM_SPEC: Fields = {
    "accessModes": TEXTS,
    "resources": RESOURCES,
    "storageClassName": TEXT,
    "volumeName": TEXT,
    "volumeMode": TEXT,
    "selector": SELECTOR,
}
_CLAIM_NOTES: Fields = {
    "volume.kubernetes.io/selected-node": TEXT,
    "pv.kubernetes.io/bind-completed": TEXT,
    "volume.beta.kubernetes.io/storage-class": TEXT,
}
_CLAIM_TEMPLATE: Fields = {"metadata": {"labels": LABELS, "annotations": _CLAIM_NOTES}, "spec": CLAIM_SPEC}
_DISK: Fields = {
    "pdName": TEXT,
    "volumeID": TEXT,
    "iqn": TEXT,
    "image": TEXT,
    "pool": TEXT,
    "monitors": TEXTS,
    "driver": TEXT,
    "readOnly": FLAG,
}
"""The fields that distinguish inline disks (volume_restrictions.go)."""
VOLUME: Fields = {
    "name": TEXT,
    "persistentVolumeClaim": {"claimName": TEXT, "readOnly": FLAG},
    "ephemeral": {"volumeClaimTemplate": _CLAIM_TEMPLATE},
    "image": {"reference": TEXT},
    **dict.fromkeys(INLINE_DISKS, _DISK),
}
"""A volume of another source keeps only its name: scheduling does not read it."""

POD: Fields = {
    "nodeName": TEXT,
    "containers": [CONTAINER],
    "initContainers": [CONTAINER],
    "affinity": AFFINITY,
    "nodeSelector": LABELS,
    "tolerations": [TOLERATION],
    "topologySpreadConstraints": [_SPREAD],
    "volumes": [VOLUME],
    "overhead": AMOUNTS,
    "resources": RESOURCES,
    "hostNetwork": FLAG,
    "hostUsers": FLAG,
    "schedulerName": TEXT,
    "schedulingGates": [{"name": TEXT}],
    "schedulingGroup": {"podGroupName": TEXT},
    "priority": NUMBER,
    "priorityClassName": TEXT,
    "preemptionPolicy": TEXT,
    "runtimeClassName": TEXT,
    "resourceClaims": [_RESOURCE_CLAIM],
}


def _has_source(volume: Mapping[str, Any]) -> bool:
    """Return whether scheduling reads a volume."""
    return any(volume.get(source) is not None for source in VOLUME if source != "name")


def read_of(value: Any, shape: Shape) -> Any:
    """Return the part of a value that scheduling reads, as plain values; a value of another type unchanged."""
    if isinstance(shape, Mapping) and isinstance(value, dict):
        return {name: read_of(value[name], shape[name]) for name in value if name in shape}
    if isinstance(shape, list) and isinstance(value, list):
        read = [read_of(item, shape[0]) for item in value]
        return [v for v in read if not isinstance(v, dict) or _has_source(v)] if shape[0] is VOLUME else read
    return value
