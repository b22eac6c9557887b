"""The result of a filter: nodes, the reason, and whether evicting pods could change it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

from kubesched_lint.engine.cluster.nodeset import NodeSet
from kubesched_lint.engine.cluster.state import ClusterState
from kubesched_lint.engine.model.pod import Pod


class Rejection(NamedTuple):
    """``reason`` is kube-scheduler's string, verbatim."""

    plugin: str
    reason: str
    nodes: NodeSet
    resolvable: bool
    """False is upstream's UnschedulableAndUnresolvable: preemption cannot help."""
    is_error: bool = False
    """The plugin fails: the attempt ends with ``reason`` alone, whatever other nodes say."""


class PreFilterRefusal(NamedTuple):
    """A PreFilter rejects the pod before any node is checked: upstream gives all nodes the same status."""

    plugin: str
    message: str
    resolvable: bool


class Plugin(Protocol):
    """A module of ``engine.scheduler.plugins``, named as the kube-scheduler plugin it mirrors."""

    @property
    def NAME(self) -> str: ...  # noqa: N802

    def reject(self, pod: Pod, state: ClusterState, among: NodeSet) -> Iterator[Rejection]:
        """Yield rejections of nodes in ``among``. Only NodeResourcesFit and VolumeBinding give one node several.

        ``nodes`` may reach beyond ``among``; the caller intersects them.
        """
        ...


class PreFilterPlugin(Protocol):
    @property
    def NAME(self) -> str: ...  # noqa: N802

    def prefilter(self, pod: Pod, state: ClusterState) -> PreFilterRefusal | NodeSet | None:
        """Return a refusal, or the only nodes to check, or None for no restriction."""
        ...
