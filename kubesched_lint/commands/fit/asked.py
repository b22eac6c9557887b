"""The pod that ``fit`` counts: like one of a workload, or of the amounts that a user gives."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.commands.why.naming import find
from kubesched_lint.engine.base.text import joined
from kubesched_lint.engine.model.decode.fields import DecodeError
from kubesched_lint.engine.model.decode.workloads import decode_workload
from kubesched_lint.engine.model.inventory import Inventory
from kubesched_lint.engine.model.nodes.node import HOSTNAME, ZONE
from kubesched_lint.engine.model.resources import made_anew
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.linter.environments.environments import environments_of

_KEYS = {"zone": ZONE, "node": HOSTNAME}
"""What a user may write for a topology key."""
_NAME = "pod"


class Amounts(Struct, frozen=True):
    """A pod in a user's words: ``requests`` as in a manifest, and topology keys, for which zone and node are short."""

    requests: Mapping[str, str]
    spread: str = ""
    apart: str = ""

    def __str__(self) -> str:
        """``with cpu 2 and memory 4Gi (spread over zone)``."""
        requests = joined([f"{resource} {amount}" for resource, amount in self.requests.items()])
        rules = [f"spread over {self.spread}"] if self.spread else []
        rules += [f"one in each {self.apart}"] if self.apart else []
        return f"with {requests or 'no requests'}" + (f" ({joined(rules)})" if rules else "")

    def workload(self, namespace: str) -> Workload:
        """Return a workload of such pods. Raises ValueError for an amount that is none."""
        labels = {"app": _NAME}
        pod: dict[str, Any] = {"containers": [{"name": _NAME, "resources": {"requests": dict(self.requests)}}]}
        selector = {"labelSelector": {"matchLabels": labels}}
        if self.spread:
            key = _KEYS.get(self.spread, self.spread)
            pod["topologySpreadConstraints"] = [
                {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule", **selector}
            ]
        if self.apart:
            term = {"topologyKey": _KEYS.get(self.apart, self.apart), **selector}
            pod["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        template = {"metadata": {"labels": labels}, "spec": pod}
        value = {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {"name": _NAME},
            "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": template},
        }
        try:
            return decode_workload(value, namespace)
        except DecodeError as error:
            raise ValueError(error.message) from None


def like(name: str, manifests: Inventory, live: Inventory) -> tuple[Workload, str]:
    """Return the workload of that name, or of a pod of that name, and in words what pods are like it.

    Raises NamingError, and ValueError for a DaemonSet.
    """
    subject = find(name, manifests, live)
    if subject.kind == "DaemonSet":
        raise ValueError(f"{subject} has one pod on each node: there are no more like it")
    workload = subject.workload
    if subject.bound is not None:
        pod = replace(made_anew(subject.bound.pod), node_name="")
        workload = replace(Amounts({}).workload(subject.namespace), name=subject.name, pod=pod)
    assert workload is not None, "a name means a workload or a pod"
    return workload, f"like {subject}"


def only_environment(manifests: Inventory, together: Collection[str] = (), wanted: Sequence[str] = ()) -> Inventory:
    """Return the manifests of the only environment, or of the one that is wanted. Raises ValueError for several."""
    environments = environments_of(manifests, together, wanted).each
    if len(environments) > 1:
        names = ", ".join(environment.name for environment in environments)
        raise ValueError(f"these manifests have several environments: --env chooses one of {names}")
    return environments[0].manifests


def requests_of(cpu: str, memory: str, gpu: str, others: Sequence[str]) -> Mapping[str, str]:
    """Return requests from options; ``others`` are RESOURCE=AMOUNT. Raises ValueError."""
    requests = {"cpu": cpu, "memory": memory, "nvidia.com/gpu": gpu}
    for other in others:
        resource, equals, amount = other.partition("=")
        if not (resource and equals and amount):
            raise ValueError(f"--request {other}: it takes RESOURCE=AMOUNT, as example.com/nic=1")
        requests[resource] = amount
    return {resource: amount for resource, amount in requests.items() if amount}
