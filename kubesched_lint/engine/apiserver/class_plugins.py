"""The refusals of a Pod by the Priority and RuntimeClass plugins, given the classes of a cluster, and their texts.

Mirrors ``plugin/pkg/admission/priority`` and ``plugin/pkg/admission/runtimeclass`` (v1.36). Templates pass: their pods
are refused later, one by one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from kubesched_lint.engine.apiserver.values.causes import Cause, quoted
from kubesched_lint.engine.base.places import Path

SYSTEM_PRIORITIES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
"""Classes that every API server creates."""
SYSTEM_PREFIX = "system-"
"""No other class may have a name that begins so."""
OVERHEAD_WITHOUT_CLASS = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
OTHER_OVERHEAD = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"


def no_priority_class(name: str) -> str:
    """Return the refusal of a class that does not exist."""
    return f"no PriorityClass with name {name} was found"


def other_priority(written: object, computed: int) -> str:
    """Return the refusal of a priority that differs from the class's."""
    text = f"the integer value of priority ({written}) must not be provided in pod spec"
    return f"{text}; priority admission controller computed {computed} from the given PriorityClass name"


def other_policy(written: str, computed: str) -> str:
    """Return the refusal of a preemptionPolicy that differs from the class's."""
    text = f"the string value of PreemptionPolicy ({written}) must not be provided in pod spec"
    return f"{text}; priority admission controller computed {computed} from the given PriorityClass name"


def no_runtime_class(name: str) -> str:
    """Return the refusal of a class that does not exist."""
    return f"pod rejected: RuntimeClass {quoted(name)} not found"


def other_node_selector(key: str, value: str, own: str) -> str:
    """Return the refusal of a node selector that contradicts the class's."""
    ours = f"pod.spec.nodeSelector[{key}] = {own}"
    return f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; {ours}"


# --- The refusals of the default admission plugins for a Pod, given the classes of a cluster --------------------------

Value = dict[str, Any]


class Classes(Struct, frozen=True):
    """The PriorityClasses (name → value) and RuntimeClasses (name → whether it has an overhead) of a cluster."""

    priority: Mapping[str, int] = field(default_factory=dict)
    runtime: Mapping[str, bool] = field(default_factory=dict)


def before_validation(pod: Value, classes: Classes) -> Cause | None:
    """Return the first refusal of the mutating plugins, which ends the request: Priority, then RuntimeClass."""
    spec = pod.get("spec", {})
    name = spec.get("priorityClassName", "")
    known = {**SYSTEM_PRIORITIES, **classes.priority}
    if name and name not in known:
        return _refusal(pod, no_priority_class(name), "priorityClassName")
    computed = known[name] if name else 0
    if "priority" in spec and spec["priority"] != computed:
        return _refusal(pod, other_priority(spec["priority"], computed), "priority")
    runtime = spec.get("runtimeClassName")
    if runtime is not None and runtime not in classes.runtime:
        return _refusal(pod, no_runtime_class(runtime), "runtimeClassName")
    return None


def after_validation(pod: Value, classes: Classes) -> Cause | None:
    """Return the refusal of the validating plugins for a pod that is valid itself."""
    spec = pod.get("spec", {})
    if spec.get("overhead") and not classes.runtime.get(spec.get("runtimeClassName", ""), False):
        return _refusal(pod, OVERHEAD_WITHOUT_CLASS, "overhead")
    return None


def _refusal(pod: Value, reason: str, name: str) -> Cause:
    path: Path = ("spec", name)
    return Cause("", "", f"pods {quoted(pod.get('metadata', {}).get('name', ''))} is forbidden: {reason}", path)
