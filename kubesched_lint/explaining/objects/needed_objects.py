"""What the pods of a workload may not be without, if the set creates it and the cluster does not have it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.workloads.workload import service_account
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.engine.scenario.storage.claim_names import claim_named


def needed_claims(it: Member) -> Iterator[tuple[Path, str, Any]]:
    """Yield (place, ``claim``, claim) for the volumes of its pods."""
    live = _live(it)
    for volume in it.workload.pod.volumes:
        claim = claim_named(it.scenario, it.workload.namespace, volume.claim) if volume.claim else None
        if claim is not None and (claim.namespace, claim.name) not in live.claims_by_name:
            yield (*volume.path, "claimName"), "claim", claim


def needed_classes(it: Member) -> Iterator[tuple[Path, str, Any]]:
    """Yield (place, kind, object) for the classes and the service account that its pods name."""
    for name, at, kind, ours, theirs in _named(it, _live(it)):
        created = next((each for each in ours if each.name == name), None) if name else None
        if created is not None and not any(each.name == name for each in theirs):
            yield at, kind, created


def _live(it: Member) -> Inventory:
    return it.scenario.cluster.inventory if it.scenario.cluster is not None else Inventory()


def _named(it: Member, live: Inventory) -> Iterator[tuple[str, Path, str, Sequence[Any], Sequence[Any]]]:
    """Yield (name, place, kind, objects of the set, objects of the cluster)."""
    pod, objects = it.workload.pod, it.scenario.manifests
    at = (*pod.path, "priorityClassName")
    yield pod.priority_class, at, "PriorityClass", objects.priority_classes, live.priority_classes
    at = (*pod.path, "runtimeClassName")
    yield pod.runtime_class, at, "RuntimeClass", objects.runtime_classes, live.runtime_classes
    own, theirs = (
        [account for account in each.service_accounts if account.namespace == it.workload.namespace]
        for each in (objects, live)
    )
    yield service_account(it.workload), (*pod.path, "serviceAccountName"), "ServiceAccount", own, theirs
    for template in it.workload.claim_templates:
        at = (*template.path, "spec", "storageClassName")
        yield template.storage_class or "", at, "StorageClass", objects.storage_classes, live.storage_classes
