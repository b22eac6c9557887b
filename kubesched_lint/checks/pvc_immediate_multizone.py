"""An Immediate class makes the volume before the pod has a node, perhaps in a zone where the pod cannot run."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.base.text import first_few
from kubesched_lint.engine.model.nodes.node import ZONE
from kubesched_lint.engine.model.pod import Pod
from kubesched_lint.engine.model.storage import ZONAL, Claim
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.engine.scenario.storage.claims import storage_class_of, unbound_claims
from kubesched_lint.explaining.remedies.remedy import Remedy
from kubesched_lint.findings import Hazard, Place, pattern
from kubesched_lint.sources.manifests.changes import Put


def check(it: Member) -> Iterator[Hazard]:
    made_anywhere = [(claim, at) for claim, at in unbound_claims(it) if _is_made_anywhere(it, claim)]
    apart = [
        claim for claim, _ in made_anywhere if claim.source is not None and claim not in it.workload.claim_templates
    ]
    why = _zonal_wish(it.workload.pod) or _no_node_in_some_zone(it) or _drawn_apart(it, len(apart))
    if why is None:
        return
    for claim, at in made_anywhere:
        storage_class = storage_class_of(it.scenario, claim)
        assert storage_class is not None
        related = (Place(("volumeBindingMode",), "binds at once", storage_class.source),)
        yield Hazard(
            at=at,
            evidence=pattern(f"StorageClass {storage_class.name} binds Immediate, and {why}"),
            values={"storage_class": storage_class.name, "provisioner": storage_class.provisioner, "why": why},
            related=related if storage_class.source is not None else (),
        )


def _is_made_anywhere(it: Member, claim: Claim) -> bool:
    """Whether a provisioner of zonal volumes chooses the zone of the claim's volume, before there is a pod."""
    storage_class = storage_class_of(it.scenario, claim)
    if storage_class is None or storage_class.binding_mode != "Immediate" or storage_class.provisioner not in ZONAL:
        return False
    return len(storage_class.allowed_topologies) != 1 and len(storage_class.zones) != 1


def _no_node_in_some_zone(it: Member) -> str | None:
    """Why the zone matters if the nodes that the pod may use are in only some zones of the cluster."""
    if it.scenario.cluster is None or not it.usable:
        return None
    zones, usable = it.scenario.index.domains(ZONE), it.usable
    without = [zone for zone, nodes in zones.items() if not nodes & usable]
    return f"no node in {first_few(without)} is open to the pod" if without and len(without) < len(zones) else None


def _drawn_apart(it: Member, claims: int) -> str | None:
    """Why the zone matters for claims that a person wrote: each volume is made in a zone of its own choice.

    Names of claims that end with one ordinal share a zone (``ChooseZonesForVolume`` of k8s.io/cloud-provider), which
    drivers of CSI follow; a cluster of one zone has no choice.
    """
    if claims < 2 or it.workload.kind == "StatefulSet":
        return None
    is_one_zone = it.scenario.cluster is not None and len(it.scenario.index.domains(ZONE)) == 1
    return None if is_one_zone else f"its {claims} volumes may be made in different zones"


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Let the class wait for the pod before it makes a volume."""
    classes = [c for c in it.scenario.manifests.storage_classes if c.name == hazard.values["storage_class"]]
    if classes:
        yield Remedy(
            "set volumeBindingMode: WaitForFirstConsumer",
            safe=False,
            changes=(Put(("volumeBindingMode",), "WaitForFirstConsumer", after=("provisioner",)),),
            source=classes[0].source,
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
