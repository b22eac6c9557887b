"""The refusals of the default admission plugins for a Pod, given the classes of a cluster.

Mirrors ``plugin/pkg/admission/priority`` and ``plugin/pkg/admission/runtimeclass`` (v1.36). Templates pass: their pods
are refused later, one by one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from kubesched_lint.findings import Path
from kubesched_lint.record import record
from kubesched_lint.validation import class_words
from kubesched_lint.validation.causes import Cause, quoted

Value = dict[str, Any]


@record
class Classes:
    """The PriorityClasses (name → value) and RuntimeClasses (name → whether it has an overhead) of a cluster."""

    priority: Mapping[str, int] = field(default_factory=dict)
    runtime: Mapping[str, bool] = field(default_factory=dict)


def before_validation(pod: Value, classes: Classes) -> Cause | None:
    """Return the first refusal of the mutating plugins, which ends the request: Priority, then RuntimeClass."""
    spec = pod.get("spec", {})
    name = spec.get("priorityClassName", "")
    known = {**class_words.SYSTEM_PRIORITIES, **classes.priority}
    if name and name not in known:
        return _refusal(pod, class_words.no_priority_class(name), "priorityClassName")
    computed = known[name] if name else 0
    if "priority" in spec and spec["priority"] != computed:
        return _refusal(pod, class_words.other_priority(spec["priority"], computed), "priority")
    runtime = spec.get("runtimeClassName")
    if runtime is not None and runtime not in classes.runtime:
        return _refusal(pod, class_words.no_runtime_class(runtime), "runtimeClassName")
    return None


def after_validation(pod: Value, classes: Classes) -> Cause | None:
    """Return the refusal of the validating plugins for a pod that is valid itself."""
    spec = pod.get("spec", {})
    if spec.get("overhead") and not classes.runtime.get(spec.get("runtimeClassName", ""), False):
        return _refusal(pod, class_words.OVERHEAD_WITHOUT_CLASS, "overhead")
    return None


def _refusal(pod: Value, reason: str, name: str) -> Cause:
    path: Path = ("spec", name)
    return Cause("", "", f"pods {quoted(pod.get('metadata', {}).get('name', ''))} is forbidden: {reason}", path)
