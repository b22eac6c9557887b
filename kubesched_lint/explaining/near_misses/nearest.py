"""The nearest miss when nothing matches."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.engine.admission.schedulers import added_affinity
from kubesched_lint.engine.base.placeholders import to_fill_in
from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.base.text import SHOWN, is_slip, misspelt, plural
from kubesched_lint.engine.cluster.nodes.shapes import INSTANCE_TYPE
from kubesched_lint.engine.cluster.nodeset import NodeSet
from kubesched_lint.engine.model.labels import Labels, Requirement
from kubesched_lint.engine.model.nodes.node import ARCH, KEPT_LIKE, OS, Node, Taint
from kubesched_lint.engine.model.pod import Pod, profile_of
from kubesched_lint.engine.scenario.scenario import Member, Scenario, once_per_scenario
from kubesched_lint.engine.scenario.words import Words, closest_word

FIXED = frozenset((ARCH, OS, *KEPT_LIKE, INSTANCE_TYPE, "beta.kubernetes.io/instance-type"))
"""Labels whose values are no words to misspell: arm64 resembles amd64, and g5.xlarge g4dn.xlarge, and means another
machine.
"""

NEW_ROLES = {"node-role.kubernetes.io/master": "node-role.kubernetes.io/control-plane"}
"""Label of a role → its name since Kubernetes 1.24, where kubeadm drops the old one (KEP-2067)."""

_COUNTED_ALONE = 8
"""So many labels are counted one by one; who asks for more lets all be counted."""
"""So many values of a label are shown."""
_MEANT = re.compile(r"[\d,]+ nodes? ha(?:s|ve) (\S+=[^\s;,]+)")
_ONLY_AS = " only as "
"""Between a label and its values on nodes, if none of them reads like the wanted one."""


class Miss(Struct, frozen=True):
    """``wanted``: the user's condition; ``at``: path of the condition that fails; ``nearest``: a sentence or empty."""

    at: Path
    wanted: str
    nearest: str = ""
    key: str = ""
    """The label key of the condition, if it is one about a label that no node has."""

    @property
    def lack(self) -> str:
        """What nodes lack, whoever asks for it: the label, or the value; empty if the condition reads like a slip."""
        is_of_value = _ONLY_AS in self.nearest
        return self.wanted if is_of_value else "" if self.nearest else self.key

    @property
    def meant(self) -> str:
        """The label of nodes that the condition is nearly, ``key=value``; empty if none reads like it."""
        match = _MEANT.match(self.nearest)
        return match.group(1) if match else ""


class Carried:
    """The labels that nodes carry. Only the first ``existing`` nodes exist (default: all); pools could add the others.

    What was counted is kept: on a large cluster, many pods may match no node.
    """

    def __init__(self, nodes: Sequence[Node], existing: int | None = None) -> None:
        self.nodes = nodes
        self.existing = nodes[:existing]
        self._future = () if existing is None else nodes[existing:]
        self._distinct: dict[tuple[str, ...], Sequence[Labels]] = {}
        self._counts: dict[str, Mapping[str, int]] = {}
        self._words: dict[str, Words] = {}

    def distinct(self, conditions: Iterable[Requirement]) -> Sequence[Labels]:
        """Return the distinct combinations of the labels that the conditions read."""
        keys = tuple(sorted({c.key for c in conditions}))
        distinct = self._distinct.get(keys)
        if distinct is None:
            rows = dict.fromkeys(tuple(map(node.labels.get, keys)) for node in self.nodes)
            distinct = self._distinct[keys] = [
                {k: v for k, v in zip(keys, row, strict=True) if v is not None} for row in rows
            ]
        return distinct

    def meets(self, condition: Requirement) -> bool:
        """Return whether some node meets a condition."""
        if condition.operator != "In":
            return any(map(condition.matches, self.distinct([condition])))
        key, counts = condition.key, self.counts(condition.key)
        return any(value in counts or self._named.get(value, {}).get(key) == value for value in condition.values)

    def counts(self, key: str) -> Mapping[str, int]:
        """Return the values of one label, in the order of nodes, with the number of existing nodes that have each.

        Of the other nodes, a label whose value is the node's name is left out.
        """
        counts = self._counts.get(key)
        if counts is None and len(self._counts) < _COUNTED_ALONE:
            counts = self._counts[key] = self._counted([key]).get(key, {})
        return self.all_counts.get(key, {}) if counts is None else counts

    @cached_property
    def all_counts(self) -> Mapping[str, Mapping[str, int]]:
        """Label key → ``counts``."""
        return self._counted()

    def _counted(self, keys: Sequence[str] | None = None) -> Mapping[str, Mapping[str, int]]:
        def pairs(node: Node) -> Iterable[tuple[str, str]]:
            labels = node.labels
            return labels.items() if keys is None else [(key, labels[key]) for key in keys if key in labels]

        counts: dict[str, dict[str, int]] = {}
        for (key, value), count in Counter(chain.from_iterable(map(pairs, self.existing))).items():
            counts.setdefault(key, {})[value] = count
        for node in self._future:
            for key, value in pairs(node):
                if value != node.name:
                    counts.setdefault(key, {}).setdefault(value, 0)
        return counts

    def words(self, key: str) -> Words:
        """Return the values of one label, to find the nearest."""
        words = self._words.get(key)
        if words is None:
            words = self._words[key] = Words(self.counts(key))
        return words

    @cached_property
    def names(self) -> Words:
        """The names of the nodes."""
        return Words(node.name for node in self.nodes)

    @cached_property
    def keys(self) -> Words:
        """The keys of all labels."""
        return Words(self.all_counts)

    @cached_property
    def keys_of(self) -> Mapping[str, Words]:
        """Value → the keys of the labels that have it."""
        keys_by_value: dict[str, set[str]] = {}
        for key, values in self.all_counts.items():
            for value in values:
                keys_by_value.setdefault(value, set()).add(key)
        return {value: Words(keys) for value, keys in keys_by_value.items()}

    @cached_property
    def _named(self) -> Mapping[str, Labels]:
        """Name → the labels of a node that does not exist yet."""
        return {node.name: node.labels for node in self._future}


@once_per_scenario
def _carried(scenario: Scenario) -> Carried:
    """The labels of all nodes of a scenario."""
    return Carried(scenario.nodes, scenario.today.bit_count())


def node_miss(pod: Pod, carried: Carried, *, near: bool = True) -> Miss:
    """Return why no node matches nodeSelector and required node affinity, by the condition closest to being met.

    Without ``near`` it does not look for what nodes have instead.
    """
    selector = [Requirement(k, "In", (v,), (*pod.path, "nodeSelector", k)) for k, v in pod.node_selector.items()]
    terms = pod.required_node_terms
    if terms is not None and not any(t.expressions or t.fields for t in terms):
        at = terms[0].path if terms else (*pod.path, "affinity", "nodeAffinity")
        return Miss(at, "an empty node selector term, which matches nothing")
    alternatives = [[*selector, *t.expressions] for t in terms or () if t.expressions or t.fields] or [selector]
    fields = [f for t in terms or () for f in t.fields]
    conditions = alternatives[0]
    if len(alternatives) > 1:
        conditions = min(alternatives, key=lambda a: _failing(a, carried.distinct(a)))
    alone = [c for c in conditions if not carried.meets(c)]
    if alone:
        worst = next((c for c in alone if not to_fill_in(_words(c))), alone[0])  # what is filled in may match then
        return Miss(worst.path, _words(worst), nearest_label(worst, carried) if near else "", worst.key)
    if fields and not conditions:
        names = ", ".join(v for f in fields for v in f.values)
        close = carried.names.closest(fields[0].values[0]) if near and fields[0].values else ""
        return Miss(fields[0].path, f"metadata.name {names}", f"there is a node {close}" if close else "")
    if fields:
        return Miss(fields[0].path, "the pinned node with these labels")
    wanted = " and ".join(_words(c) for c in conditions)
    return Miss(conditions[-1].path, wanted, _best_node(conditions, carried.existing) if near else "")


def nearest_label(wanted: Requirement, carried: Carried) -> str:
    """Return a sentence about another spelling of the key or value that nodes carry: ``3 nodes have disktype=ssd``."""
    counts = carried.counts(wanted.key)
    if counts:
        if wanted.operator not in ("In", "Gt", "Lt"):
            return ""
        words = carried.words(wanted.key)
        close = words.closest(wanted.values[0]) if wanted.values and wanted.key not in FIXED else ""
        if close:
            return f"{_nodes(counts[close])} {wanted.key}={close}"
        shown = ", ".join(words.first(SHOWN)) + (", …" if len(counts) > SHOWN else "")
        return f"nodes have {wanted.key}{_ONLY_AS}{shown}"
    renamed = NEW_ROLES.get(wanted.key, "")
    if carried.counts(renamed):
        return f"{_nodes(sum(carried.counts(renamed).values()))} {renamed}, which replaces {wanted.key}"
    same_value = (carried.keys_of[v].closest(wanted.key) for v in wanted.values if v in carried.keys_of)
    key = next(filter(None, same_value), "") or carried.keys.closest(wanted.key)
    if not key:
        return ""
    counts = carried.counts(key)
    value = next((v for v in counts if v in wanted.values), max((n, v) for v, n in counts.items())[1])
    return f"{_nodes(counts[value])} {key}={value}; you wrote {wanted.key}"


def nearest_key(key: str, nodes: Iterable[Node]) -> str:
    """A label key that nodes carry and that replaces ``key``, or reads like it; empty without one."""
    carried = {k for node in nodes for k in node.labels}
    renamed = NEW_ROLES.get(key, "")
    return renamed if renamed in carried else closest_word(key, carried)


def nearest_name(name: str, names: Iterable[str]) -> str:
    """One of ``names`` that reads like ``name``; empty without one."""
    return closest_word(name, names)


def nearest_class(scenario: Scenario, kind: str, name: str, names: Iterable[str]) -> str:
    """The class that is surely meant by ``name``, or resembles it if all classes of the kind are known; else empty."""
    known = tuple(names)
    return nearest_name(name, known) if scenario.cluster_has(kind) else misspelt(name, known)


def nearest_resource(resource: str, offered: Iterable[str]) -> str:
    """One of the resources that nodes offer whose name reads like ``resource``; empty without one.

    Other numbers name another device (``mig-1g.5gb``), and so does another vendor (``amd.com/gpu``).
    """
    vendor, numbers = resource.partition("/")[0], re.findall(r"\d+", resource)
    alike = {name for name in offered if "/" in name and re.findall(r"\d+", name) == numbers}
    own = {name for name in alike if name.partition("/")[0] == vendor or is_slip(vendor, name.partition("/")[0])}
    return closest_word(resource, own)


def akin_resources(resource: str, offered: Iterable[str]) -> Sequence[str]:
    """Return what nodes offer of the same vendor (``nvidia.com/mig-1g.5gb``), else under the same name (``*/gpu``)."""
    extended = sorted(name for name in offered if "/" in name)
    vendor, _, name = resource.partition("/")
    same = [other for other in extended if other.partition("/")[0] == vendor]
    return same or [other for other in extended if other.partition("/")[2] == name]


def nodes_with(taint: Taint, taints: Mapping[Taint, int], today: int) -> str:
    """``3 nodes have the taint …``; ``taints`` as ``NodeIndex.taints``, ``today`` are the nodes that exist."""
    return f"{_nodes((taints[taint] & today).bit_count())} the taint {taint}"


def hint(nearest: str, lead: str = "") -> str:
    """The nearest miss in parentheses, to end a sentence; empty without one."""
    return f" ({lead}{nearest})" if nearest else ""


def correction(nearest: str) -> str:
    """The start of a help, ``write right, or ``: the obvious correction comes first; empty without one."""
    return f"write {nearest}, or " if nearest else ""


def _failing(conditions: Sequence[Requirement], nodes: Sequence[Labels]) -> int:
    """Return how many conditions fail on the node that meets most of them."""
    return min((sum(not c.matches(labels) for c in conditions) for labels in nodes), default=len(conditions))


def _best_node(conditions: Sequence[Requirement], nodes: Sequence[Node]) -> str:
    if not nodes:
        return ""
    best = min(nodes, key=lambda n: sum(not c.matches(n.labels) for c in conditions))
    failing = [c for c in conditions if not c.matches(best.labels)]
    return f"node {best.name} has all but {' and '.join(map(_words, failing))}"


def _nodes(count: int) -> str:
    return f"{count} {plural(count, 'node has', 'nodes have')}" if count else "new nodes of a pool have"


def _words(r: Requirement) -> str:
    match r.operator:
        case "In" if len(r.values) == 1:
            return f"{r.key}={r.values[0]}"
        case "In" | "NotIn":
            return f"{r.key} {r.operator} ({', '.join(r.values)})"
    return f"{r.key} {r.operator}{' ' + r.values[0] if r.values else ''}"


def miss_of(it: Member, among: NodeSet | None = None, *, near: bool = True) -> Miss:
    """Return why none of some nodes (default: all) has the labels that a workload requires; see ``node_miss``."""
    pod, index, added = it.pod, it.scenario.index, profile_of(it.pod).added_node_terms
    among = index.all if among is None else among
    carried = _carried(it.scenario) if among == index.all else Carried(tuple(index.nodes_of(among)))
    is_choosy = pod.node_selector or pod.required_node_terms is not None
    if added is None or (is_choosy and not among & index.matching(pod.node_selector, pod.required_node_terms)):
        return node_miss(pod, carried, near=near)
    adds = f"the scheduler {pod.scheduler_name} adds"
    labels_of_nodes = Carried(carried.nodes)
    if not among & index.matching({}, added):
        alone = node_miss(replace(pod, node_selector={}, required_node_terms=added), labels_of_nodes, near=near)
        return Miss(added_affinity(pod.path), f"{alone.wanted}, which {adds}", alone.nearest)
    own = node_miss(pod, labels_of_nodes, near=False)
    return Miss(added_affinity(own.at), f"{own.wanted} and the node affinity that {adds}")


def nearest_key_of(scenario: Scenario, key: str) -> str:
    """A label key of the nodes that reads like ``key``; empty without one."""
    return _words_on_nodes(scenario).closest(key)


@once_per_scenario
def _words_on_nodes(scenario: Scenario) -> Words:
    return Words({key for node in scenario.nodes for key in node.labels})


def nearest_key_among(scenario: Scenario, key: str, nodes: NodeSet) -> str:
    """A label key of some nodes that reads like ``key``; empty without one."""
    known = _keys_of_nodes(scenario)
    if nodes not in known:
        known[nodes] = Words({key for node in scenario.index.nodes_of(nodes) for key in node.labels})
    return known[nodes].closest(key)


@once_per_scenario
def _keys_of_nodes(scenario: Scenario) -> dict[NodeSet, Words]:
    """Return a cache: nodes → the keys of their labels."""
    return {}


def nodes_carry(scenario: Scenario, key: str) -> bool:
    """Whether a node of the snapshot has the label key: then it is a real label, even if it looks misspelt."""
    return scenario.cluster is not None and bool(scenario.index.with_key(key))
