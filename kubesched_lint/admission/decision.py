"""What becomes of the pods that a controller, or somebody, creates from one template."""

from __future__ import annotations

from kubesched_lint.findings import Path
from kubesched_lint.model.policy import LimitRange, Namespace, ResourceQuota, RuntimeClass
from kubesched_lint.model.workload import Workload
from kubesched_lint.record import record

VALIDATION = "validation"
OBJECT = "object"
"""The workload itself is refused, so that no controller makes pods of it."""


@record
class AdmissionRefusal:
    """Why the API server creates no pod of a template."""

    plugin: str
    """``Priority``, ``RuntimeClass``, ``LimitRanger``, ``PodSecurity``, ``ResourceQuota``, or one of those above."""
    message: str
    """What it says after the pod's name: ``no PriorityClass with name none-such was found``."""
    at: Path
    """The place to blame in the workload."""
    by: LimitRange | Namespace | ResourceQuota | RuntimeClass | None = None
    """The object that refuses; None where one is missing."""
    by_at: Path = ()
    assumes: tuple[str, ...] = ()
    claim: str = ""
    """The claim that is refused, so that its StatefulSet makes no pod; empty where the pod itself is."""
    sure: bool = True
    """False where it assumes that there is no object of a kind which the cluster file does not tell."""

    def said_of(self, workload: Workload) -> str:
        """What the API server answers to whoever creates a pod of the workload, or the workload itself."""
        if self.plugin == OBJECT:
            return self.message
        if self.claim:
            return f'persistentvolumeclaims "{self.claim}-{workload.name}-0" is forbidden: {self.message}'
        return about_pod(workload, self.message, is_invalid=self.plugin == VALIDATION)


def about_pod(workload: Workload, message: str, ordinal: int = 0, *, is_invalid: bool = False) -> str:
    """``pods "web-*" is forbidden: …``: names end in random characters, but of StatefulSets and bare pods."""
    suffix = {"Pod": "", "StatefulSet": f"-{ordinal}"}.get(workload.kind, "-*")
    if is_invalid:
        return f'Pod "{workload.name}{suffix}" is invalid: {message}'
    return f'pods "{workload.name}{suffix}" is forbidden: {message}'


@record
class Decision:
    """``refusal`` holds whatever is unknown; without one, the pods are created where ``unknown`` is empty."""

    refusal: AdmissionRefusal | None = None
    unknown: tuple[str, ...] = ()
    """What nobody told us and the creation hangs on, ``whether RuntimeClass gvisor exists``."""
    assumed: tuple[str, ...] = ()
    """The same where the cluster file leaves whole kinds out: ``RuntimeClass gvisor exists, …``."""


CREATED = Decision()
