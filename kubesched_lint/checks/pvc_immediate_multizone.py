"""An Immediate class makes the volume before the pod has a node, perhaps in a zone where the pod cannot run."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.findings import Hazard, Place, pattern
from kubesched_lint.manifests.changes import Put
from kubesched_lint.model.node import ZONE
from kubesched_lint.model.pod import Pod
from kubesched_lint.world.claims import storage_class_of, unbound_claims
from kubesched_lint.world.world import Member

# Provisioners whose volumes are in one zone.
_ZONAL = frozenset(
    [
        "ebs.csi.aws.com",
        "pd.csi.storage.gke.io",
        "disk.csi.azure.com",
        "cinder.csi.openstack.org",
        "kubernetes.io/aws-ebs",
        "kubernetes.io/gce-pd",
        "kubernetes.io/azure-disk",
        "kubernetes.io/cinder",
    ]
)


def check(it: Member) -> Iterator[Hazard]:
    why = _zonal_wish(it.workload.pod)
    if why is None:
        return
    for claim, at in unbound_claims(it):
        storage_class = storage_class_of(it.world, claim)
        if storage_class is None or storage_class.binding_mode != "Immediate":
            continue
        if storage_class.provisioner not in _ZONAL or len(storage_class.allowed_topologies) == 1:
            continue
        related = (Place(("volumeBindingMode",), "binds at once", storage_class.source),)
        yield Hazard(
            at=at,
            evidence=pattern(f"StorageClass {storage_class.name} binds Immediate, and {why}"),
            values={"storage_class": storage_class.name, "provisioner": storage_class.provisioner, "why": why},
            related=related if storage_class.source is not None else (),
        )


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Let the class wait for the pod before it makes a volume."""
    found = [c for c in it.world.manifests.storage_classes if c.name == hazard.values["storage_class"]]
    if found:
        yield Remedy(
            "set volumeBindingMode: WaitForFirstConsumer",
            safe=False,
            changes=(Put(("volumeBindingMode",), "WaitForFirstConsumer", after=("provisioner",)),),
            source=found[0].source,
        )


def _zonal_wish(pod: Pod) -> str | None:
    """Why the zone of the volume matters; None if it does not."""
    if ZONE in pod.node_selector or any(r.key == ZONE for t in pod.required_node_terms or () for r in t.expressions):
        return "the pod is restricted to certain zones"
    if any(t.topology_key == ZONE for t in (*pod.required_affinity, *pod.required_anti_affinity)):
        return "the pod has required (anti-)affinity by zone"
    if any(c.is_hard and c.topology_key == ZONE for c in pod.spread):
        return "the pod must be spread over zones"
    return None
