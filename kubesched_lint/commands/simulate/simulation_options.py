"""What a user asks of one simulation beside the events: ``--never-ready``, ``--scale``, hypotheses, skews."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.commands.simulate.choosing_nodes import label_key
from kubesched_lint.commands.simulate.hypothetical import Asked, hypotheses
from kubesched_lint.commands.simulate.scaling import sizes
from kubesched_lint.engine.events.start.simulated_set import SimulatedSet


class SimulationOptions(Struct, frozen=True):
    never_ready: tuple[str, ...] = ()
    """Workloads, as NAMESPACE/NAME, whose new pods never become ready."""
    scale: tuple[str, ...] = ()
    """Numbers of replicas, as ``web=15``; each adds an event."""
    suppose: tuple[Asked, ...] = ()
    """Hypotheses; each adds an event, and several add one for all at once."""
    group_by: str = ""
    """The topology key by which the picture groups nodes; empty: one that the set uses."""
    skews: bool = False
    """Whether to tell how evenly pods are spread, after twenty runs for each workload: no cell needs these."""

    def applied(self, simulated: SimulatedSet) -> SimulatedSet:
        """Return the setting with ``never_ready`` and ``scale``. Raises ValueError."""
        held = [number for name in self.never_ready for number in _named(name, simulated)]
        if held:
            simulated = replace(simulated, never_ready=frozenset(held))
        return replace(simulated, scaled=sizes(self.scale, simulated)) if self.scale else simulated

    def check(self, simulated: SimulatedSet) -> None:
        """Raise ValueError for a key that no node has."""
        if self.group_by:
            try:
                label_key(self.group_by, simulated.index)
            except ValueError as error:
                raise ValueError(f"--group-by: {error}") from None

    def supposing(self, event: str, simulated: SimulatedSet) -> SimulatedSet:
        """Return the setting with the hypothesis of this name, too."""
        simulated = self.applied(simulated)
        found = (one for one in hypotheses(self.suppose, simulated) if one.event == event)
        return replace(simulated, supposed=next(found, None))


def _named(name: str, simulated: SimulatedSet) -> Sequence[int]:
    found = [i for i, w in enumerate(simulated.workloads) if f"{w.namespace}/{w.name}" == name]
    if not found:
        raise ValueError(f"no workload {name} in the manifests: --never-ready takes NAMESPACE/NAME")
    return found
