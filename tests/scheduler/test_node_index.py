"""Selectors over the index select the nodes that they select one by one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kubesched_lint.cluster import nodeset
from kubesched_lint.cluster.classes import PodClasses
from kubesched_lint.cluster.index import NodeIndex
from kubesched_lint.model.labels import Requirement, Selector
from kubesched_lint.model.node import Node
from kubesched_lint.model.pod import Pod

KEYS = ("a", "b")
VALUES = ("1", "2", "x", "-3", "007")

labels = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES))
requirements = st.builds(
    Requirement,
    st.sampled_from((*KEYS, "absent")),
    st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]),
    st.lists(st.sampled_from(VALUES), max_size=3).map(tuple),
)
selectors = st.lists(requirements, max_size=3).map(lambda found: Selector(tuple(found)))


@given(st.lists(labels, max_size=6), selectors)
def test_the_index_selects_the_nodes_whose_labels_match(many: list[dict[str, str]], selector: Selector) -> None:
    index = NodeIndex([Node(f"n{i}", own) for i, own in enumerate(many)])
    assert index.selected_by(selector) == nodeset.of(i for i, own in enumerate(many) if selector.matches(own))
    assert index.selected_by(None) == nodeset.EMPTY


@given(st.lists(labels, max_size=6), selectors)
def test_classes_are_selected_as_their_pods_are(many: list[dict[str, str]], selector: Selector) -> None:
    """Gt and Lt do not exist for pods, and select none."""
    plain = Selector(tuple(r for r in selector.requirements if r.operator not in ("Gt", "Lt")))
    classes = PodClasses()
    for own in many:
        classes.of(Pod("shop", own))
    chosen = {id(c) for c in classes.members(classes.selected_by(plain))}
    assert chosen == {id(c) for c in classes.all if plain.matches(c.pod.labels)}
    assert len(classes) == len({frozenset(own.items()) for own in many})


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
