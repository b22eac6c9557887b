"""What to raise in the quotas of a workload, so that they allow one pod more than it wants."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from kubesched_lint.engine.admission.quotas import canonical, required_by, unset
from kubesched_lint.engine.base.text import first_few, joined
from kubesched_lint.engine.model.policy import ResourceQuota
from kubesched_lint.engine.placing.wanted import pods_wanted
from kubesched_lint.engine.scenario.others.running import pods_of_others
from kubesched_lint.engine.scenario.quotas import asked_of, drawing, used
from kubesched_lint.engine.scenario.scenario import Member, Scenario, once_per_scenario


def raise_for(it: Member, pods: int) -> str:
    """Return in words what so many pods of a workload need of its quotas, beside the pods of all others.

    ``raise pods to 5 and requests.cpu to 2500m in quota team (beside Deployment shop/web)``; what containers do not set
    and a quota asks for.
    """
    left_out = unset(it.pod)
    missing = {
        entry if "." in entry else f"requests.{entry}": None
        for quota in it.scenario.admission.quotas_of(it.workload, it.pod)
        for entry in required_by(quota, left_out)
    }
    if missing:
        return f"set {joined(list(missing))} for every container, or give the namespace a LimitRange with defaults"
    found = [f"{joined(short)} in quota {quota.name}{beside}" for quota, short, beside in _short(it, pods)]
    return f"raise {joined(found)}" if found else "raise the quota"


def _short(it: Member, pods: int) -> Iterator[tuple[ResourceQuota, list[str], str]]:
    """Yield the quotas that such pods exceed, what to raise there, and who else uses that."""
    charged = pods_of_others(it.scenario).charged
    for quota in it.scenario.admission.quotas_of(it.workload, it.pod):
        others = [it.scenario.member(w) for w in drawing(quota, it.scenario) if w is not it.workload]
        entries: list[str] = []
        users: dict[str, None] = {}
        for entry, hard in quota.hard.items():
            each = asked_of(it, entry)
            needed = each * pods + used(it, quota, entry, charged).most
            needed += sum(asked_of(other, entry) * pods_wanted(other) for other in others)
            if each and needed > hard:
                entries.append(f"{entry} to {canonical(entry, needed)}")
                users.update({str(one.workload): None for one in others if asked_of(one, entry) * pods_wanted(one)})
        if entries:
            yield quota, entries, f" (beside {first_few(list(users))})" if users else ""


@once_per_scenario
def without_quotas(scenario: Scenario) -> Scenario:
    """Return the scenario as it is if no quota bounds anything."""
    cluster = scenario.cluster
    if cluster is not None and cluster.inventory.quotas:
        scenario = scenario.on(replace(cluster, inventory=replace(cluster.inventory, quotas=())))
    return scenario.with_manifests(replace(scenario.manifests, quotas=()))
