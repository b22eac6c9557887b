"""A webhook must answer before its own pods are created: once the last one is gone, none comes back."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.model.labels import Labels
from kubesched_lint.engine.model.webhooks import Webhook
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.findings import Hazard, Place, pattern

_NAME = "kubernetes.io/metadata.name"


def check(scenario: Scenario) -> Iterator[Hazard]:
    """Report only what the manifests show: pods that the webhook's Service selects, in a namespace that it takes."""
    for configuration in scenario.manifests.webhooks:
        for hook in configuration.hooks:
            if not hook.fails_closed or not hook.creates_pods:
                continue
            served = next((workload for workload in _serving(hook, scenario) if _takes(hook, workload, scenario)), None)
            if served is not None:
                yield Hazard(
                    at=(*hook.path, "clientConfig"),
                    source=configuration.source,
                    victim=served.ref,
                    evidence=pattern(f"webhook {hook.name} is called for pods of {served.namespace}"),
                    values={"webhook": hook.name, "home": served.namespace},
                    related=(Place(served.replicas_path, "whose pods answer", served.source, served.ref),),
                )


def _serving(hook: Webhook, scenario: Scenario) -> Iterator[Workload]:
    """Yield the workloads behind the Service that a webhook calls."""
    for service in scenario.manifests.services:
        if hook.service == (service.namespace, service.name) and service.selector:
            for workload in scenario.manifests.workloads:
                own = workload.pod.labels
                if workload.namespace == service.namespace and service.selector.items() <= own.items():
                    yield workload


def _takes(hook: Webhook, workload: Workload, scenario: Scenario) -> bool:
    """Whether its selectors surely take the pods; labels of a namespace that nobody shows may exclude it."""
    labels = scenario.namespaces.labels.get(workload.namespace)
    home: Labels = {**(labels or {}), _NAME: workload.namespace}
    if hook.objects is not None and not hook.objects.matches(workload.pod.labels):
        return False
    if hook.namespaces is None:
        return True
    is_known = labels is not None or all(r.key == _NAME for r in hook.namespaces.requirements)
    return is_known and hook.namespaces.matches(home)
