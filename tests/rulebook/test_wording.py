"""What a template of a card becomes."""

from __future__ import annotations

import pytest

from kubesched_lint.rulebook.wording import WordingError, fill, listed, placeholders


@pytest.mark.parametrize(
    ("template", "values", "sentence"),
    [
        ("{object} waits", {"object": "Deployment shop/web"}, "Deployment shop/web waits"),
        ("in {zones}", {"zones": ("a",)}, "in a"),
        ("in {zones}", {"zones": ("a", "b", "c")}, "in a, b and c"),
        ("in {zones}", {"zones": ()}, "in none"),
        ("in {zones}", {"zones": frozenset({"b", "a"})}, "in a and b"),
        ("{per}", {"per": {"a": 2, "b": 1}}, "a: 2 and b: 1"),
        ("{n|domain}", {"n": 1}, "1 domain"),
        ("{n|domain}", {"n": 3}, "3 domains"),
        ("{n|domain}", {"n": 0}, "0 domains"),
        ("{n|entry|entries}", {"n": 2}, "2 entries"),
        ("{nodes|node}", {"nodes": ("a", "b")}, "2 nodes"),
        ("{n|replica} {n:stays|stay} Pending", {"n": 1}, "1 replica stays Pending"),
        ("{n|replica} {n:stays|stay} Pending", {"n": 2}, "2 replicas stay Pending"),
        ("write {{matchLabels: …}} or {}", {}, "write {matchLabels: …} or {}"),
        ("{value}", {"value": "{not a placeholder}"}, "{not a placeholder}"),
        ("on {nodes~node}", {"nodes": ("a", "b")}, "on a and b"),
        ("on {nodes~node}", {"nodes": ("a", "b", "c", "d")}, "on 4 nodes"),
        (
            "{few of every}",
            {"few": 1, "every": 3, "object": "Deployment shop/web"},
            "1 of 3 pods of Deployment shop/web",
        ),
        ("{few of every}", {"few": 3, "every": 3, "object": "Deployment shop/web"}, "3 pods of Deployment shop/web"),
        ("{few of every}", {"few": 1, "every": 1, "object": "Pod shop/db", "kind": "Pod"}, "Pod shop/db"),
        (
            "{every of every}",
            {"every": 0, "object": "DaemonSet shop/x", "kind": "DaemonSet"},
            "the pods of DaemonSet shop/x",
        ),
        ("a {@key} of {n|@key}", {"key": "topology.kubernetes.io/zone", "n": 3}, "a zone of 3 zones"),
        ("{n:the only @key|all # @key}", {"key": "kubernetes.io/hostname", "n": 1}, "the only node"),
        ("over {@@key}", {"key": "rack"}, "over values of rack"),
    ],
)
def test_templates_become_sentences(template: str, values: dict[str, object], sentence: str) -> None:
    assert fill(template, values) == sentence


def test_a_long_list_is_cut_and_counted() -> None:
    nodes = [f"n{i}" for i in range(20)]
    assert listed(nodes) == "n0, n1, n2 and 17 more"
    assert listed(nodes[:5]) == "n0, n1, n2 and 2 more"
    assert listed(nodes[:4]) == "n0, n1, n2 and n3", "a name is as short as the words for one more"
    assert listed(nodes[:3]) == "n0, n1 and n2"


@pytest.mark.parametrize(
    ("template", "complaint"),
    [
        ("{missing}", "no value for {missing}; it gives a and text"),
        ("{text|word}", "needs a number or a list"),
        ("a { b", "single {"),
        ("a } b", "single }"),
        ("{Object}", "single {"),
        ("{a:stays}", "needs two words"),
    ],
)
def test_a_template_that_cannot_be_filled_is_an_error(template: str, complaint: str) -> None:
    with pytest.raises(WordingError) as caught:
        fill(template, {"a": 1, "text": "x"})
    assert complaint in str(caught.value)


def test_placeholders_are_known_without_values() -> None:
    assert list(placeholders("{n|replica} of {object} {{x}} {n:stays|stay}")) == ["n", "object", "n"]
    with pytest.raises(WordingError):
        list(placeholders("{n:stays}"))
