"""What the API server adds to a pod, plugin by plugin (v1.36)."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kubesched_lint.engine.admission.mutating import admit, default_priority_class
from kubesched_lint.engine.base.partly_compared import same_values
from kubesched_lint.engine.model.decode.nodes import decode_pod_object
from kubesched_lint.engine.model.labels import Requirement, Selector
from kubesched_lint.engine.model.pod import Pod, PodAffinityTerm, SpreadConstraint, Toleration, WeightedPodAffinityTerm
from kubesched_lint.engine.model.policy import LimitRange, PriorityClass, RuntimeClass
from tests.scheduler.small import pod, selecting

NOT_READY, UNREACHABLE = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"


def decoded(**spec: Any) -> Pod:
    return decode_pod_object({"metadata": {"name": "p", "namespace": "shop"}, "spec": spec})


@pytest.mark.parametrize(
    ("own", "added"),
    [
        ((), [NOT_READY, UNREACHABLE]),
        ((Toleration(NOT_READY, "Exists", "", "NoExecute", 5),), [UNREACHABLE]),
        ((Toleration(NOT_READY, "Exists"),), [UNREACHABLE]),
        ((Toleration("", "Exists"),), []),
        ((Toleration(NOT_READY, "Exists", "", "NoSchedule"),), [NOT_READY, UNREACHABLE]),
    ],
)
def test_pods_stay_five_minutes_on_a_lost_node(own: tuple[Toleration, ...], added: list[str]) -> None:
    """plugin/pkg/admission/defaulttolerationseconds."""
    found = admit(pod(tolerations=own)).tolerations
    assert found[: len(own)] == own
    assert [(t.key, t.operator, t.effect, t.seconds) for t in found[len(own) :]] == [
        (key, "Exists", "NoExecute", 300) for key in added
    ]


LOWER = "PreemptLowerPriority"
CLASSES = {
    "high": PriorityClass("high", 1000),
    "polite": PriorityClass("polite", 500, "Never"),
}
DEFAULT = {**CLASSES, "usual": PriorityClass("usual", 50, is_default=True)}


@pytest.mark.parametrize(
    ("fields", "classes", "priority", "policy", "name"),
    [
        ({}, CLASSES, 0, LOWER, ""),
        ({}, DEFAULT, 50, LOWER, "usual"),
        ({"priority_class": "high"}, DEFAULT, 1000, LOWER, "high"),
        ({"priority_class": "polite"}, CLASSES, 500, "Never", "polite"),
        ({"priority_class": "polite", "preemption_policy": LOWER}, CLASSES, 500, LOWER, "polite"),
        ({"priority_class": "system-node-critical"}, {}, 2_000_001_000, LOWER, "system-node-critical"),
        ({"priority_class": "system-cluster-critical"}, {}, 2_000_000_000, LOWER, "system-cluster-critical"),
        ({"priority_class": "unheard-of"}, CLASSES, None, "", "unheard-of"),
    ],
)  # fmt: skip
def test_priority_comes_from_the_class(
    fields: dict[str, Any], classes: dict[str, PriorityClass], priority: int | None, policy: str, name: str
) -> None:
    """plugin/pkg/admission/priority."""
    default = default_priority_class(classes.values())
    found = admit(pod(**fields), priority_classes=classes, default_class=default)
    assert (found.priority, found.preemption_policy, found.priority_class) == (priority, policy, name)
    assert same_values(admit(found, priority_classes=classes, default_class=default), found)


def test_limit_ranges_fill_what_a_container_leaves_open() -> None:
    """plugin/pkg/admission/limitranger, mergePodResourceRequirements."""
    limits = LimitRange("shop", "l", {"cpu": 250, "memory": 64}, {"cpu": 500})
    what = decoded(
        containers=[{"name": "a"}, {"name": "b", "resources": {"requests": {"cpu": "1"}}}],
        initContainers=[{"name": "i", "resources": {"limits": {"memory": "1000"}}}],
    )
    found = admit(what, limit_ranges=[limits, LimitRange("lab", "other", {"cpu": 9999})])
    assert found.requests == {"cpu": 1250, "memory": 1000}
    assert found.containers[0].limits == {"cpu": 500}
    assert same_values(admit(found, limit_ranges=[limits]), found)


def test_a_runtime_class_adds_overhead_selector_and_tolerations() -> None:
    """plugin/pkg/admission/runtimeclass."""
    sandbox = RuntimeClass("sandbox", {"cpu": 100}, {"sandbox": "yes"}, (Toleration("sandbox", "Exists"),))
    what = replace(pod(requests={"cpu": 400}, node_selector={"disk": "ssd"}), runtime_class="sandbox")
    found = admit(what, runtime_classes={"sandbox": sandbox})
    assert found.requests == {"cpu": 500}
    assert found.node_selector == {"disk": "ssd", "sandbox": "yes"}
    assert Toleration("sandbox", "Exists") in found.tolerations
    assert same_values(admit(found, runtime_classes={"sandbox": sandbox}), found)
    assert admit(what).requests == {"cpu": 400}


def test_label_keys_are_merged_from_the_labels_of_the_revision() -> None:
    """pkg/registry/core/pod/strategy.go, applyMatchLabelKeysAndMismatchLabelKeys and applyMatchLabelKeys."""
    term = PodAffinityTerm("zone", selecting(app="web"), match_label_keys=("pod-template-hash", "absent"))
    other = PodAffinityTerm("zone", Selector(), mismatch_label_keys=("app",))
    null = PodAffinityTerm("zone", None, match_label_keys=("app",))
    what = pod(
        required_affinity=(null,),
        required_anti_affinity=(term,),
        preferred_anti_affinity=(WeightedPodAffinityTerm(1, other),),
        spread=(SpreadConstraint(1, "zone", "DoNotSchedule", Selector(), match_label_keys=("pod-template-hash",)),),
    )
    found = admit(what, extra_labels={"pod-template-hash": "h1"})
    revision = Requirement("pod-template-hash", "In", ("h1",))
    assert found.labels == {"app": "web", "pod-template-hash": "h1"}
    assert found.required_affinity == (null,)
    assert found.required_anti_affinity[0].selector == selecting(app="web").and_also(revision)
    assert found.preferred_anti_affinity[0].term.selector == Selector((Requirement("app", "NotIn", ("web",)),))
    assert found.spread[0].selector == Selector((revision,))
    assert same_values(admit(found), found)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        # Sidecars run beside the containers, and beside the init containers after them.
        (
            {
                "containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}],
                "initContainers": [
                    {"name": "s", "restartPolicy": "Always", "resources": {"requests": {"cpu": "500m"}}},
                    {"name": "i", "resources": {"requests": {"cpu": "2", "memory": "1Gi"}}},
                ],
            },
            {"cpu": 2500, "memory": 1 << 30},
        ),
        # The pod level overrides cpu and memory, overhead comes on top.
        (
            {
                "containers": [{"name": "c", "resources": {"requests": {"cpu": "1", "example.com/gpu": "1"}}}],
                "resources": {"requests": {"cpu": "3"}},
                "overhead": {"cpu": "250m"},
            },
            {"cpu": 3250, "example.com/gpu": 1},
        ),
        # A limit without a request is one.
        ({"containers": [{"name": "c", "resources": {"limits": {"cpu": "100m"}}}]}, {"cpu": 100}),
    ],
)
def test_requests_are_what_the_pod_needs_at_its_peak(spec: dict[str, Any], expected: dict[str, int]) -> None:
    """component-helpers/resource/helpers.go, PodRequests."""
    assert admit(decoded(**spec)).requests == expected
