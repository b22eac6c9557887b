"""The texts of the Priority and RuntimeClass plugins when they refuse a pod; they are defined only here.

Mirrors ``plugin/pkg/admission/priority`` and ``plugin/pkg/admission/runtimeclass`` (v1.36).
"""

from __future__ import annotations

from kubesched_lint.validation.causes import quoted

SYSTEM_PRIORITIES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
"""Classes that every API server creates."""
OVERHEAD_WITHOUT_CLASS = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
OTHER_OVERHEAD = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"


def no_priority_class(name: str) -> str:
    """Return the refusal of a class that does not exist."""
    return f"no PriorityClass with name {name} was found"


def other_priority(written: object, computed: int) -> str:
    """Return the refusal of a priority that differs from the class's."""
    said = f"the integer value of priority ({written}) must not be provided in pod spec"
    return f"{said}; priority admission controller computed {computed} from the given PriorityClass name"


def other_policy(written: str, computed: str) -> str:
    """Return the refusal of a preemptionPolicy that differs from the class's."""
    said = f"the string value of PreemptionPolicy ({written}) must not be provided in pod spec"
    return f"{said}; priority admission controller computed {computed} from the given PriorityClass name"


def no_runtime_class(name: str) -> str:
    """Return the refusal of a class that does not exist."""
    return f"pod rejected: RuntimeClass {quoted(name)} not found"


def other_node_selector(key: str, value: str, own: str) -> str:
    """Return the refusal of a node selector that contradicts the class's."""
    ours = f"pod.spec.nodeSelector[{key}] = {own}"
    return f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; {ours}"
