"""The result of admission for the pods of one template."""

from __future__ import annotations

from msgspec import Struct

from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.model.policy import LimitRange, Namespace, ResourceQuota, RuntimeClass
from kubesched_lint.engine.model.workloads.workload import Workload

VALIDATION = "validation"


class AdmissionRefusal(Struct, frozen=True):
    """Why the API server creates no pod of a template."""

    plugin: str
    """``Priority``, ``RuntimeClass``, ``LimitRanger``, ``PodSecurity``, ``ResourceQuota`` or ``VALIDATION``."""
    message: str
    """The API server's text after the pod's name: ``no PriorityClass with name none-such was found``."""
    at: Path
    """The place to blame in the workload."""
    by: LimitRange | Namespace | ResourceQuota | RuntimeClass | None = None
    """The object that refuses; None if the refusal is for a missing object."""
    by_at: Path = ()
    assumes: tuple[str, ...] = ()
    claim: str = ""
    """The refused claim, without which its StatefulSet creates no pod; empty if the pod itself is refused."""
    sure: bool = True
    """False if it assumes that no object of a kind exists that the cluster file does not list, or that no webhook
    changes the pod."""

    def answer_to(self, workload: Workload) -> str:
        """Return the API server's answer to the creation of a pod of the workload."""
        if self.claim:
            return f'persistentvolumeclaims "{self.claim}-{workload.name}-0" is forbidden: {self.message}'
        return about_pod(workload, self.message, is_invalid=self.plugin == VALIDATION)


def about_pod(workload: Workload, message: str, ordinal: int = 0, *, is_invalid: bool = False) -> str:
    """Return ``pods "web-*" is forbidden: …``: only names in StatefulSets and of bare pods are not random."""
    suffix = {"Pod": "", "StatefulSet": f"-{ordinal}"}.get(workload.kind, "-*")
    if is_invalid:
        return f'Pod "{workload.name}{suffix}" is invalid: {message}'
    return f'pods "{workload.name}{suffix}" is forbidden: {message}'


class Decision(Struct, frozen=True):
    """``refusal`` holds even if something is unknown; without one, the pods are created if ``unknown`` is empty."""

    refusal: AdmissionRefusal | None = None
    unknown: tuple[str, ...] = ()
    """Unknown facts on which the creation depends: ``whether RuntimeClass gvisor exists``."""
    assumed: tuple[str, ...] = ()
    """The same if the cluster file leaves out whole kinds: ``RuntimeClass gvisor exists, …``."""


CREATED = Decision()
