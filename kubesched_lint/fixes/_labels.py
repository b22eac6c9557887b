"""Conditions on node labels, as nodes have them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubesched_lint.analysis.nearest import nearest_key, nearest_name
from kubesched_lint.analysis.remedy import Remedy
from kubesched_lint.findings import Path
from kubesched_lint.fixes._written import is_slip, written
from kubesched_lint.manifests.changes import Change, Put, Rename
from kubesched_lint.model.node import Node
from kubesched_lint.model.workload import Workload


def as_nodes_have_it(workload: Workload, at: Path, nodes: Sequence[Node]) -> Iterator[Remedy]:
    """For the entry of a nodeSelector or the expression at ``at``: the value, or else the key, that was meant.

    Safe where case or punctuation is all that is wrong: no pod runs as it is.
    """
    condition = written(workload.source, at)
    if isinstance(condition, str) and at[-2:-1] == ("nodeSelector",):
        key, value = str(at[-1]), condition
        here: Path = at
        renamed: Change
    elif isinstance(condition, dict) and condition.get("operator") == "In" and len(condition.get("values") or ()) == 1:
        key, value = str(condition.get("key")), str(condition["values"][0])
        here = (*at, "values", 0)
    else:
        return
    values = {node.labels[key] for node in nodes if key in node.labels}
    if values:
        meant = nearest_name(value, values)
        if meant:
            yield Remedy(f"write {key}: {meant}, as nodes have it", is_slip(value, meant), (Put(here, meant),))
        return
    meant = nearest_key(key, nodes)
    if meant and any(node.labels.get(meant) == value for node in nodes):
        renamed = Rename(at, meant) if here == at else Put((*at, "key"), meant)
        yield Remedy(f"write {meant}: {value}, as nodes have it", is_slip(key, meant), (renamed,))
