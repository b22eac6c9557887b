"""What ``check`` found: what an apply starts, how that ends, and what blocks it."""

from __future__ import annotations

from collections.abc import Hashable

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.commands.plan.changes import ObjectChange
from kubesched_lint.commands.plan.room import Eviction
from kubesched_lint.commands.simulate.simulation_report import seen
from kubesched_lint.engine.base.places import Location, ObjectRef
from kubesched_lint.engine.events.answers.cells import BAD, BY_SCORES, DEPENDS, REFUSED, UNKNOWN, Cell
from kubesched_lint.engine.placing.growth.plan import Added
from kubesched_lint.engine.scenario.premises.mutated import Mutated
from kubesched_lint.findings import Finding, InputError, Severity
from kubesched_lint.notebook import Shown

PASSES, BLOCKED, UNKNOWN_FACTS = "passes", "blocked", "unknown"


class JudgedChange(Struct, frozen=True):
    """How one event ends for a workload."""

    cell: Cell
    location: Location | None = None
    """The line to blame."""
    is_started: bool = True
    """Whether this apply starts the event, or it must be survived; else it may come later."""
    waived: str = ""
    """Why its findings do not count: the reason of a waiver, or that a baseline lists them."""

    def blocks(self, least: Severity | None) -> bool:
        """Return whether it ends so badly that nothing may be applied; ``least`` None: nothing blocks."""
        if least is None or not self.is_started or self.waived:
            return False
        if self.cell.verdict == REFUSED or (self.cell.verdict == BAD and self.cell.proven):
            return True
        return least <= Severity.WARNING and self.cell.verdict in (BAD, DEPENDS, BY_SCORES)


class Started(Struct, frozen=True):
    """One workload that the apply touches; ``change`` is None if only its autoscaler or its budget changes."""

    object: ObjectRef
    change: ObjectChange | None = None
    events: tuple[JudgedChange, ...] = ()
    findings: tuple[Finding, ...] = ()
    """The warnings and errors of ``lint`` about it, without those that are waived or known."""
    environments: tuple[str, ...] = ()
    """Where this holds, if not in all environments that were judged."""
    broken_glass: str = ""
    """Why its manifest says that it is applied all the same."""
    refused: Severity | None = None
    """How sure it is that the API server refuses the change, which ``change.remark`` names; None if it does not."""

    def blocks(self, least: Severity | None) -> bool:
        return self.is_blocked_as_refused(least) or (
            not self.broken_glass and any(event.blocks(least) for event in self.events)
        )

    def is_blocked_as_refused(self, least: Severity | None) -> bool:
        """Whether what the API server refuses to change is enough to block it."""
        return not self.broken_glass and least is not None and self.refused is not None and self.refused >= least

    @property
    def seen(self) -> Hashable:
        """What a reader sees of it; where it is written may differ."""
        change = None if self.change is None else replace(self.change, location=None, line=None)
        events = tuple((seen(event.cell), event.is_started, event.waived) for event in self.events)
        return self.object, change, events, self.broken_glass, self.refused

    @property
    def is_open(self) -> bool:
        """Whether it is not established how an event ends that this apply starts."""
        return any(event.is_started and event.cell.verdict == UNKNOWN for event in self.events)


class ScaledOutside(Struct, frozen=True):
    """A workload that runs with another number of pods than its manifest says."""

    object: ObjectRef
    running: int
    written: int | None
    """None: the manifest leaves the number to the cluster."""
    by: str
    """The autoscaler that scales it, or the program that has, such as ``kubectl``."""
    is_automatic: bool = False


class Shared(Struct, frozen=True):
    """A shortage of several workloads together, of which the apply starts some."""

    message: str
    workloads: tuple[ObjectRef, ...]
    location: Location | None = None


class Check(Shown, Struct, frozen=True):
    """Everything that a report of ``check`` may show."""

    manifests: str
    """The paths, in words."""
    cluster: str
    """The cluster and its age, in words."""
    started: tuple[Started, ...] = ()
    objects: tuple[ObjectChange, ...] = ()
    """Changes of what is no workload, such as quotas."""
    unchanged: int = 0
    """Workloads of the manifests that run as they are written."""
    shortages: tuple[Shared, ...] = ()
    refused: tuple[str, ...] = ()
    """What the API server refuses and no row shows."""
    nodes: tuple[Added, ...] = ()
    """Nodes that pools add for the apply, in one placement."""
    evictions: tuple[Eviction, ...] = ()
    """Running pods of others that the apply preempts, in one placement."""
    outside: tuple[ScaledOutside, ...] = ()
    missing: tuple[str, ...] = ()
    """The facts without which nothing can be said, such as a list that the API server refuses."""
    errors: tuple[InputError, ...] = ()
    notes: tuple[str, ...] = ()
    environments: tuple[str, ...] = ()
    mutations: tuple[Mutated, ...] = ()
    """What webhooks add to the pods of the manifests."""
    shadow: bool = False
    """Nothing blocks yet: what would have is only told."""
    broken_glass: str = ""
    """Why the user applies it whatever blocks."""
    least: Severity | None = Severity.ERROR
    """What blocks: ERROR what is proven to end badly, WARNING also what fails here or may fail; None nothing."""

    @property
    def blocked(self) -> tuple[Started, ...]:
        """The workloads that must not be applied."""
        return tuple(workload for workload in self.started if workload.blocks(self.least))

    @property
    def is_blocked(self) -> bool:
        return self.least is not None and bool(self.blocked or self.shortages or self.refused)

    @property
    def verdict(self) -> str:
        if self.missing or self.errors:
            return UNKNOWN_FACTS
        return BLOCKED if self.is_blocked else PASSES

    @property
    def exit_code(self) -> int:
        is_let_through = self.shadow or self.broken_glass
        return {PASSES: 0, BLOCKED: 0 if is_let_through else 1, UNKNOWN_FACTS: 2}[self.verdict]
