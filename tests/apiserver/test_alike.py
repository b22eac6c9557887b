"""What is judged once must be judged as if every time."""

from __future__ import annotations

from kubesched_lint.engine.apiserver.pods.resources import requirements
from kubesched_lint.engine.apiserver.validate import validate
from kubesched_lint.engine.apiserver.values.alike import is_sound, remembered


def test_a_value_is_asked_about_once_however_often_it_comes() -> None:
    asked = []

    def test(value: object) -> bool:
        asked.append(value)
        return value == {"a": 1}

    check = remembered(test)
    assert [check({"a": 1}), check({"a": 1}), check({"a": True}), check(None)] == [True, True, True, False]
    assert asked == [{"a": 1}, {"a": True}, None]


def test_one_and_true_are_different_values() -> None:
    check = remembered(lambda value: value["a"] is True)
    assert check({"a": True})
    assert not check({"a": 1})


def test_what_is_nested_too_deep_to_be_written_down_is_judged_all_the_same() -> None:
    deep: list[object] = []
    for _ in range(5000):
        deep = [deep]
    assert remembered(lambda value: value is deep)(deep)
    assert not is_sound(requirements, {"limits": deep})


def test_the_same_fault_in_two_containers_is_told_at_both() -> None:
    faulty = {"image": "a", "resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a"},
        "spec": {"containers": [{"name": "a", **faulty}, {"name": "b", **faulty}]},
    }
    for _ in range(2):
        paths = [cause.path for cause in validate(pod).causes]
        assert paths == [("spec", "containers", n, "resources", "requests", "cpu") for n in (0, 1)]
