"""The feature gates that decide something here, and the text of ``--feature-gates``.

Those about pods of a PodGroup are alpha and off by default in 1.36 (``pkg/features/kube_features.go``). In 1.37
GenericWorkload is beta and still off, and GANGS and PREEMPTION are no gates of their own
(``quirks.ONE_GATE_FOR_GANGS``). DRIVERS is on since 1.37 (``quirks.CSI_DRIVER_ON_THE_NODE``), and so is CAPACITY_SCORES
(``quirks.STORAGE_CAPACITY_SCORES``).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

GROUPS = "GenericWorkload"
GANGS = "GangScheduling"
TOPOLOGY = "TopologyAwareWorkloadScheduling"
PREEMPTION = "WorkloadAwarePreemption"

NEEDS: Mapping[str, str] = {GANGS: GROUPS, TOPOLOGY: GROUPS, PREEMPTION: GANGS}
"""Gate → the gate without which no component starts with it."""
DRIVERS = "VolumeLimitScaling"
OF_GROUPS = frozenset([GROUPS, GANGS, TOPOLOGY, PREEMPTION])
CAPACITY_SCORES = "StorageCapacityScoring"
READ = OF_GROUPS | {DRIVERS, CAPACITY_SCORES}
"""The gates that decide something here."""


def parsed(text: str) -> dict[str, bool]:
    """Return the gates of ``Name=true,Other=false``, also those that decide nothing here. Raises ValueError."""
    gates: dict[str, bool] = {}
    for part in filter(None, map(str.strip, text.split(","))):
        name, _, value = part.partition("=")
        if not name.isidentifier() or value.lower() not in ("true", "false"):
            raise ValueError(f"expected Name=true or Name=false, found {part!r}")
        gates[name] = value.lower() == "true"
    missing = lacking(gates)
    if missing:
        raise ValueError(missing)
    return gates


def lacking(gates: Mapping[str, bool]) -> str:
    """Return why no component would start with these gates; empty if it would."""
    for name, needed in NEEDS.items():
        if gates.get(name) and not gates.get(needed):
            return f"{name} needs {needed}=true"
    return ""


def completed(gates: Mapping[str, bool], *, one_gate: bool) -> Mapping[str, bool]:
    """Return the gates with those that ``GROUPS`` turns on or off; ``one_gate``: see ``quirks.ONE_GATE_FOR_GANGS``."""
    return {**gates, GANGS: gates[GROUPS], PREEMPTION: gates[GROUPS]} if one_gate and GROUPS in gates else gates


def enabled(gates: Mapping[str, bool]) -> Collection[str]:
    return frozenset(name for name, on in gates.items() if on)
