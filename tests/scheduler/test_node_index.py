"""Selectors over the index select the nodes that they select one by one."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from kubesched_lint.engine.cluster import nodeset
from kubesched_lint.engine.cluster.nodes.index import NodeIndex
from kubesched_lint.engine.cluster.pods.classes import PodClasses
from kubesched_lint.engine.cluster.selecting.labelled import PodIndex
from kubesched_lint.engine.model.labels import Requirement, Selector
from kubesched_lint.engine.model.nodes.node import Node
from kubesched_lint.engine.model.pod import Pod

KEYS = ("a", "b")
VALUES = ("1", "2", "x", "-3", "007")

labels = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES))
OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
REQUIREMENTS = [
    Requirement(key, operator, values)
    for key in ("a", "absent")
    for operator in OPERATORS
    for values in ((), *product(VALUES), *product(VALUES, VALUES))
]
MANY = [{"a": value, "b": "1"} if value else {"b": "2"} for value in (*VALUES, "")]


def test_the_index_selects_the_nodes_whose_labels_match() -> None:
    index = NodeIndex([Node(f"n{i}", own) for i, own in enumerate(MANY)])
    for requirement in REQUIREMENTS:
        for more in ((), (Requirement("b", "In", ("1",)),)):
            selector = Selector((requirement, *more))
            expected = nodeset.of(i for i, own in enumerate(MANY) if selector.matches(own))
            assert index.selected_by(selector) == expected, selector
    assert index.selected_by(Selector()) == index.all
    assert index.selected_by(None) == nodeset.EMPTY


def test_classes_are_selected_as_their_pods_are() -> None:
    classes = PodClasses()
    for own in (*MANY, *MANY):
        classes.of(Pod("shop", own))
    assert len(classes) == len(MANY)
    for requirement in REQUIREMENTS:
        if requirement.operator in ("Gt", "Lt"):
            continue  # only node selectors have them
        selector = Selector((requirement,))
        chosen = {id(c) for c in classes.members(classes.index.selected_by(selector))}
        assert chosen == {id(c) for c in classes.all if selector.matches(c.pod.labels)}, selector
    assert classes.index.selected_by(None) == 0


@given(
    st.lists(st.tuples(st.sampled_from("xy"), labels), max_size=7), st.lists(st.sampled_from(REQUIREMENTS), max_size=2)
)
def test_pods_that_are_added_later_are_found_as_well(pods: list[tuple[str, dict[str, str]]], asked: list) -> None:
    """The index answers the same whatever was asked before, and ``near`` leaves nothing out."""
    index, selector = PodIndex(), Selector(tuple(asked))
    for count, (namespace, own) in enumerate(pods, 1):
        index.add(namespace, own)
        here = [number for number, (_, labels) in enumerate(pods[:count]) if selector.matches(labels)]
        within = [number for number in here if pods[number][0] == "x"]
        assert index.selected_by(selector) == nodeset.of(here)
        assert index.selected_by(selector) & index.in_namespaces(("x", "z")) == nodeset.of(within)
        assert set(here) <= set(index.near(selector, None))
        assert set(within) <= set(index.near(selector, ("x", "z")))
        for key in KEYS:
            assert list(index.values(key)) == [labels.get(key) for _, labels in pods[:count]]


@given(st.lists(labels, max_size=6), st.sampled_from(KEYS), st.sets(st.integers(0, 5)))
def test_spanned_domains_are_those_of_the_nodes(many: list[dict[str, str]], key: str, some: set[int]) -> None:
    index = NodeIndex([Node(f"n{i}", own) for i, own in enumerate(many)])
    inside = {i for i in some if i < len(many)}
    values = {many[i][key] for i in inside if key in many[i]}
    expected = nodeset.of(i for i, own in enumerate(many) if own.get(key) in values)
    assert index.spanned(key, nodeset.of(inside)) == expected
    for i, own in enumerate(many):
        assert index.domain_of(key, i) == nodeset.of(
            j for j, other in enumerate(many) if key in own and other.get(key) == own[key]
        )
