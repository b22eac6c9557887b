"""One table: kind → decoder and field of an Inventory."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from typing import Any

from kubesched_lint.engine.base.places import Source
from kubesched_lint.engine.model.decode.fields import Value
from kubesched_lint.engine.model.decode.workloads import decode_workload
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.workloads.workload import KINDS

_POLICY = "kubesched_lint.engine.model.decode.policy"
_DEVICES = "kubesched_lint.engine.model.decode.devices"
_STORAGE = "kubesched_lint.engine.model.decode.storage"
_WEBHOOKS = "kubesched_lint.engine.model.decode.webhooks"
_MAKERS = "kubesched_lint.engine.model.decode.node_makers"

# kind → (API group, field of Inventory, module, decoder). A module is loaded at the first document of its kind.
_OTHERS: dict[str, tuple[str, str, str, str]] = {
    "Namespace": ("", "namespaces", _POLICY, "decode_namespace"),
    "Service": ("", "services", _POLICY, "decode_service"),
    "HorizontalPodAutoscaler": ("autoscaling", "autoscalers", _POLICY, "decode_autoscaler"),
    "ScaledObject": ("keda.sh", "autoscalers", _POLICY, "decode_scaled_object"),
    "VerticalPodAutoscaler": (
        "autoscaling.k8s.io",
        "vertical_autoscalers",
        "kubesched_lint.engine.model.decode.vertical",
        "decode_vertical_autoscaler",
    ),
    "PodDisruptionBudget": ("policy", "budgets", _POLICY, "decode_budget"),
    "PriorityClass": ("scheduling.k8s.io", "priority_classes", _POLICY, "decode_priority_class"),
    "RuntimeClass": ("node.k8s.io", "runtime_classes", _POLICY, "decode_runtime_class"),
    "ServiceAccount": ("", "service_accounts", _POLICY, "decode_service_account"),
    "DeviceClass": ("resource.k8s.io", "device_classes", _DEVICES, "decode_device_class"),
    "ResourceSlice": ("resource.k8s.io", "resource_slices", _DEVICES, "decode_resource_slice"),
    "DeviceTaintRule": ("resource.k8s.io", "device_taint_rules", _DEVICES, "decode_device_taint_rule"),
    "ResourceClaim": ("resource.k8s.io", "device_claims", _DEVICES, "decode_device_claim"),
    "ResourceClaimTemplate": (
        "resource.k8s.io",
        "device_claim_templates",
        _DEVICES,
        "decode_device_claim_template",
    ),
    "PodGroup": ("scheduling.k8s.io", "pod_groups", _POLICY, "decode_pod_group"),
    "Workload": ("scheduling.k8s.io", "group_templates", _POLICY, "decode_group_templates"),
    "LimitRange": ("", "limit_ranges", _POLICY, "decode_limit_range"),
    "ResourceQuota": ("", "quotas", _POLICY, "decode_quota"),
    "PersistentVolumeClaim": ("", "claims", _STORAGE, "decode_claim"),
    "PersistentVolume": ("", "volumes", _STORAGE, "decode_volume"),
    "StorageClass": ("storage.k8s.io", "storage_classes", _STORAGE, "decode_storage_class"),
    "CSIDriver": ("storage.k8s.io", "csi_drivers", _STORAGE, "decode_csi_driver"),
    "CSINode": ("storage.k8s.io", "csi_nodes", _STORAGE, "decode_csi_node"),
    "CSIStorageCapacity": ("storage.k8s.io", "storage_capacities", _STORAGE, "decode_storage_capacity"),
    "NodePool": ("karpenter.sh", "node_pools", "kubesched_lint.engine.model.decode.nodepools", "decode_node_pool"),
    "NodeOverlay": (
        "karpenter.sh",
        "node_overlays",
        "kubesched_lint.engine.model.decode.nodepools",
        "decode_node_overlay",
    ),
    "Provisioner": ("karpenter.sh", "node_pools", "kubesched_lint.engine.model.decode.nodepools", "decode_provisioner"),
    "NodeFeatureRule": ("nfd.k8s-sigs.io", "node_makers", _MAKERS, "decode_feature_rule"),
    "ClusterPolicy": ("nvidia.com", "node_makers", _MAKERS, "decode_operators_object"),
    "GpuDevicePlugin": ("deviceplugin.intel.com", "node_makers", _MAKERS, "decode_operators_object"),
    "QatDevicePlugin": ("deviceplugin.intel.com", "node_makers", _MAKERS, "decode_operators_object"),
    "SgxDevicePlugin": ("deviceplugin.intel.com", "node_makers", _MAKERS, "decode_operators_object"),
    "MutatingWebhookConfiguration": ("admissionregistration.k8s.io", "webhooks", _WEBHOOKS, "decode_webhooks"),
    "ValidatingWebhookConfiguration": ("admissionregistration.k8s.io", "webhooks", _WEBHOOKS, "decode_webhooks"),
    "VolumeAttachment": ("storage.k8s.io", "volume_attachments", _STORAGE, "decode_volume_attachment"),
}
_WORKLOAD_GROUPS = {
    "Deployment": "apps",
    "DaemonSet": "apps",
    "StatefulSet": "apps",
    "ReplicaSet": "apps",
    "ReplicationController": "",
    "Job": "batch",
    "CronJob": "batch",
    "Pod": "",
}
_ALSO_OF = {"PodGroup": frozenset(["scheduling.volcano.sh", "scheduling.x-k8s.io"])}
"""Kind → other API groups with an object of this name, which its decoder reads as well."""
# Groups that servers stopped serving years ago: such objects are read, so that a finding can report the group.
_FORMER_GROUPS = {"Deployment": "extensions", "DaemonSet": "extensions", "ReplicaSet": "extensions"}
_NAMESPACED = frozenset(
    {
        "claims",
        "storage_capacities",
        "services",
        "autoscalers",
        "vertical_autoscalers",
        "budgets",
        "limit_ranges",
        "quotas",
        "service_accounts",
        "pod_groups",
        "group_templates",
    }
)

READ_KINDS = frozenset(KINDS) | frozenset(_OTHERS)


def is_read(api_version: object, kind: object) -> bool:
    """Return whether this kind is decoded; the API group must match too, so a Knative ``Service`` is not."""
    return isinstance(kind, str) and isinstance(api_version, str) and kind in READ_KINDS and _is_read(api_version, kind)


@lru_cache(maxsize=256)
def _is_read(api_version: str, kind: str) -> bool:
    group = api_version.rpartition("/")[0]
    wanted = _WORKLOAD_GROUPS[kind] if kind in _WORKLOAD_GROUPS else _OTHERS[kind][0]
    return group in (wanted, _FORMER_GROUPS.get(kind)) or group in _ALSO_OF.get(kind, ())


def decode_object(value: Value, namespace: str, source: Source | None = None, order: int = 0) -> tuple[str, Any]:
    """Return the object's field in Inventory, and the object. ``namespace`` is the default if it has none.

    The caller has checked ``is_read``. Raises DecodeError.
    """
    kind = value["kind"]
    if kind in _WORKLOAD_GROUPS:
        return "workloads", decode_workload(value, namespace, source, order)
    field, decode, takes_namespace = _decoder(kind)
    return field, decode(value, namespace, source) if takes_namespace else decode(value, source)


@cache
def _decoder(kind: str) -> tuple[str, Callable[..., Any], bool]:
    """Return the field of Inventory for a kind, its decoder, and whether that takes the default namespace."""
    _, field, module, name = _OTHERS[kind]
    decode = getattr(__import__(module, fromlist=[name]), name)
    return field, decode, module in (_POLICY, _DEVICES) or field in _NAMESPACED


def kinds_in(inventory: Inventory) -> frozenset[str]:
    """Return the kinds of all objects in the inventory."""
    others = (kind for kind, (_, field, *_) in _OTHERS.items() if getattr(inventory, field) and field != "autoscalers")
    scalers = (scaler.kind for scaler in inventory.autoscalers)
    return frozenset({*others, *scalers, *(workload.kind for workload in inventory.workloads)})


def gather(objects: Iterable[tuple[str, Any]]) -> Inventory:
    """Return an Inventory of decoded objects, in their order."""
    fields: dict[str, list[Any]] = {}
    for field, item in objects:
        fields.setdefault(field, []).append(item)
    return Inventory(**{field: tuple(decoded) for field, decoded in fields.items()})
