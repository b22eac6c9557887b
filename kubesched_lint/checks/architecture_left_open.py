"""One workload selects the architecture of its image, and another runs the same image on nodes of any."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from kubesched_lint.engine.model.nodes.node import ARCH, stable_key
from kubesched_lint.engine.model.pod import Pod
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.scenario.scenario import Member, Scenario, once_per_scenario
from kubesched_lint.findings import Hazard, Place, pattern


def check(it: Member) -> Iterator[Hazard]:
    """Ask nothing of a workload that says anything about architectures, and of nodes of one architecture."""
    if _wish(it.workload.pod) is not None:
        return
    architectures = tuple(it.scenario.index.domains_with(ARCH, it.usable))
    if len(architectures) < 2:
        return
    for container in it.workload.pod.containers:
        sibling = _selecting(it.scenario).get((it.workload.namespace, _repository(container.image)))
        if sibling is not None:
            arch = _wish(sibling.pod) or ""
            yield Hazard(
                at=(*container.path, "image"),
                evidence=pattern(f"{sibling} runs {container.image} and selects {arch}"),
                values={
                    "image": container.image,
                    "sibling": str(sibling),
                    "arch": arch,
                    "others": tuple(arch_of_nodes for arch_of_nodes in architectures if arch_of_nodes != arch),
                },
                related=(Place(sibling.pod.path, f"which selects {arch}", sibling.source, sibling.ref),),
            )
            return


@once_per_scenario
def _selecting(scenario: Scenario) -> Mapping[tuple[str, str], Workload]:
    """(namespace, image without its tag) → the first workload that runs it and selects an architecture.

    Without images of which more workloads leave it open: those seem to have several.
    """
    selecting: dict[tuple[str, str], Workload] = {}
    balance: Counter[tuple[str, str]] = Counter()
    for workload in scenario.manifests.workloads:
        wish = _wish(workload.pod)
        for key in {(workload.namespace, _repository(container.image)) for container in workload.pod.containers}:
            balance[key] += 1 if wish else -1 if wish is None else 0
            if wish:
                selecting.setdefault(key, workload)
    return {key: workload for key, workload in selecting.items() if balance[key] >= 0}


def _wish(pod: Pod) -> str | None:
    """Return the one architecture that a pod requires; empty if it asks for several; None if for none."""
    asked = [value for key, value in pod.node_selector.items() if stable_key(key) == ARCH]
    for term in pod.required_node_terms or ():
        for r in term.expressions:
            if stable_key(r.key) == ARCH:
                asked += r.values if r.operator == "In" else ("", "")
    return None if not asked else asked[0] if len(set(asked)) == 1 else ""


def _repository(image: str) -> str:
    """Return an image without tag and digest; empty without one, which no other image equals."""
    name = image.partition("@")[0]
    head, slash, last = name.rpartition("/")
    return f"{head}{slash}{last.partition(':')[0]}"
