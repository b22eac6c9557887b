"""One finding for a workload, however many DaemonSets come after it."""

from __future__ import annotations

from kubesched_lint import lint


def _object(kind: str, name: str, **selector: str) -> dict[str, object]:
    spec = {"nodeSelector": selector, "containers": [{"name": "c", "image": "registry.example.com/c:1"}]}
    template = {"metadata": {"labels": {"app": name}}, "spec": spec}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {"selector": {"matchLabels": {"app": name}}, "template": template},
    }


def _messages(*objects: dict[str, object]) -> list[tuple[str, str, int]]:
    report = lint(objects=objects)
    found = [f for f in report.findings if f.rule == "daemonset-creation-order"]
    return [(f.message, f.evidence.text, len(f.related)) for f in found]


def test_several_daemonsets_are_one_finding_that_names_them():
    late = [_object("DaemonSet", f"agent-{n}", group="pair") for n in range(5)]
    ((message, evidence, shown),) = _messages(_object("Deployment", "web", group="pair"), *late)
    assert "DaemonSet shop/agent-0, DaemonSet shop/agent-1, DaemonSet shop/agent-2 and 2 more" in message
    assert "nodes with group=pair may be made and filled without them" in message
    assert "(DaemonSet shop/agent-0; 5 in all)" in evidence
    assert shown == 3


def test_one_is_told_as_one():
    ((message, evidence, shown),) = _messages(
        _object("DaemonSet", "early", group="pair"),
        _object("Deployment", "web", group="pair"),
        _object("DaemonSet", "late", group="pair"),
        _object("DaemonSet", "elsewhere", group="other"),
    )
    assert "before DaemonSet shop/late (kubectl order): nodes with group=pair" in message
    assert message.endswith("filled without it")
    assert "early" not in message
    assert "in all" not in evidence
    assert shown == 1


def test_groups_of_which_one_lies_in_the_other_are_told_apart():
    warnings = _messages(
        _object("Deployment", "web", group="pair", disk="ssd"),
        _object("DaemonSet", "wide", group="pair"),
        _object("DaemonSet", "narrow", group="pair", disk="ssd"),
    )
    assert len(warnings) == 2
    assert {"shop/wide" in message for message, _, _ in warnings} == {True, False}
