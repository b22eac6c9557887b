"""Which nodes courses lose where there are too many to try each."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kubesched_lint.lifecycle import lost_nodes


@pytest.mark.parametrize(("kind", "lost"), [("Deployment", ["n3", "n0"]), ("DaemonSet", ["n3", "n0", "n1", "n2"])])
def test_one_node_without_pods_stands_for_all_such_nodes(
    kind: str, lost: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing moves where any of them is lost; but a DaemonSet wants a pod less."""
    nothing: Any = None
    monkeypatch.setattr(lost_nodes, "pods_by_node", lambda story: {"n3": 1})
    monkeypatch.setattr(lost_nodes, "_kinds", lambda setting: {f"n{i}": 0 for i in range(9)})
    story: Any = SimpleNamespace(desired_states={0: SimpleNamespace(spec=SimpleNamespace(kind=kind))})
    assert lost_nodes.nodes_to_lose(nothing, story, 4) == lost
