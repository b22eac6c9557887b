"""A recorded deployment: the applied manifests, the cluster before, and the result for each workload."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

from msgspec import Struct

from kubesched_lint.commands.simulate.hypothetical import AT_ONCE, event_of
from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.engine.events.start.sizes import scale_event

Recorded = Mapping[str, Any]


class Seen(Struct, frozen=True):
    """The record of one workload: counts of pods, and messages of Kubernetes."""

    kind: str
    want: int
    bound: int
    pending: tuple[str, ...] = ()
    """One message per group of pending pods, without its reason."""
    failure: str = ""
    """Why the controller could not create pods."""
    finished: bool = True
    """Whether the rollout has replaced all pods; true without a rollout."""
    blocked: str = ""
    """The API server's answer to a drain that could not evict a pod."""
    mixed: bool = False
    """Whether pods of several revisions exist: then a pending pod may be one more than wanted, and more pods may run
    than the newest revision alone allows.
    """

    @property
    def in_trouble(self) -> bool:
        """Whether pods are missing, or an operation does not end. Pods of a Job may run one after another."""
        if self.kind == "Job":
            return self.bound == 0 < self.want
        held_up = bool(self.pending or self.failure or self.blocked) or not self.finished
        return held_up or self.bound < self.want

    def __str__(self) -> str:
        more = (*self.pending, self.failure, self.blocked, *(() if self.finished else ("not finished",)))
        return "; ".join((f"{self.bound} of {self.want} pods run", *filter(None, more)))


class RecordedPhase(Struct, frozen=True):
    """The cluster after the deployment, or after the event that followed it."""

    event: str
    """The column of the matrix; that of a scale-down has the new number of replicas."""
    workloads: Mapping[ObjectRef, Seen]
    stable: bool = True
    """Whether the cluster stopped changing before the record was made."""
    of: ObjectRef | None = None
    """The only workload that the event affected; None if it affected all."""
    size: int | None = None
    """Replicas that ``of`` was scaled to."""
    lost: tuple[str, ...] = ()
    """The nodes that were lost together, if the column is that of the hypothesis."""

    @property
    def scale(self) -> tuple[str, ...]:
        """The ``--scale`` options with which ``simulate`` has this event as a column."""
        if self.of is None or self.size is None or self.event != scale_event(self.size):
            return ()
        return (f"{self.of.kind}/{self.of.namespace}/{self.of.name}={self.size}",)

    @property
    def suppose(self) -> tuple[tuple[str, str], ...]:
        """The hypotheses with which ``simulate`` has this event as a column."""
        return tuple(_losses(self.lost))

    def concerns(self, ref: ObjectRef) -> bool:
        return self.of is None or self.of == ref


class Deployment:
    """One record of docs/research/recordings.md. Raises KeyError, TypeError or ValueError if it has another format."""

    def __init__(self, case: Recorded) -> None:
        self.name = str(case["id"])
        self.files = {path: str(text) for path, text in _mapping(case, "files").items()}
        self._case = case

    @cached_property
    def phases(self) -> tuple[RecordedPhase, ...]:
        return tuple(_phases(self._case))

    @cached_property
    def bystanders(self) -> frozenset[ObjectRef]:
        """The objects that existed before, whether or not they were applied again."""
        return frozenset(ref_of(value) for value in self._case.get("before", ()))

    def cluster(self) -> tuple[str, bytes]:
        """Return (name, content) of the cluster before: the snapshot, or a List of the recorded objects."""
        snapshot = self._case.get("snapshot")
        if snapshot:
            return "snapshot.json", self._with_finalizers(snapshot).encode()
        items = [*self._case["nodes"], *self._case.get("before", ())]
        return "cluster.json", json.dumps({"apiVersion": "v1", "kind": "List", "items": items}).encode()

    def _with_finalizers(self, snapshot: str) -> str:
        """Return the snapshot with the finalizers of pods, which older snapshots left out."""
        held = {ref_of(b): b["metadata"]["finalizers"] for b in self._case.get("before", ()) if _is_held(b)}
        if not held:
            return snapshot
        objects = json.loads(snapshot)
        for item in objects["items"]:
            if item["kind"] == "Pod" and ref_of(item) in held:
                item["metadata"].setdefault("finalizers", held[ref_of(item)])
        return json.dumps(objects)


def _is_held(value: Recorded) -> bool:
    return value["kind"] == "Pod" and bool(value["metadata"].get("finalizers"))


def _mapping(case: Recorded, name: str) -> dict[str, Any]:
    value = case[name]
    if not isinstance(value, dict):
        raise ValueError(f"{name}: expected a mapping")
    return value


def ref_of(value: Recorded) -> ObjectRef:
    metadata = value["metadata"]
    return ObjectRef(str(value["kind"]), str(metadata.get("namespace") or "default"), str(metadata["name"]))


def _phases(case: Recorded) -> Iterator[RecordedPhase]:
    deploy = _mapping(case, "deploy") if "deploy" in case else {}
    yield RecordedPhase("deploy", dict(_workloads(deploy, "deploy")), stable=not deploy.get("quiet"))
    if case.get("event"):
        event = _mapping(case, "event")
        name, size = str(event["event"]), event.get("to")
        if name == "scale-down" and size is not None:
            name = scale_event(int(size))
        workloads = dict(_workloads(event, name))
        of = ref_named(event["workload"]) if event.get("workload") else None
        if name:
            yield RecordedPhase(name, workloads, not event.get("quiet"), of, None if size is None else int(size))
        lost = tuple(map(str, event.get("lost", ())))
        if lost:
            name = AT_ONCE if len(lost) > 1 else event_of(*next(_losses(lost)))
            yield RecordedPhase(name, workloads, not event.get("quiet"), lost=lost)


def _losses(lost: Iterable[str]) -> Iterator[tuple[str, str]]:
    return (("lose", f"node/{name}") for name in lost)


def _workloads(phase: Recorded, event: str) -> Iterator[tuple[ObjectRef, Seen]]:
    blocked = (phase.get("note") or {}).get("blocked", ())
    for name, value in (_mapping(phase, "workloads") if "workloads" in phase else {}).items():
        ref = ref_named(name)
        if event == "node-loss" and ref.kind == "Job" and _is_early(value, str(phase.get("node"))):
            continue
        refused = next((str(b["error"]) for b in blocked if _is_of(str(b["pod"]), ref)), "")
        yield _owner(ref) if event == "cron" else ref, _seen(ref.kind, value, event, refused)


def _is_early(value: Recorded, lost: str) -> bool:
    """Whether a Job was read before its controller had acted on the loss of a node: such a record shows no end.

    Its pods still count on the lost node, or are not made again yet: the controller waits 10 s after a pod that failed,
    and longer after each further one (``pkg/controller/job/backoff_utils.go``, v1.36).
    """
    made = int(value["bound"]) + sum(_mapping(value, "pending").values() if "pending" in value else ())
    return lost in value.get("on", ()) or (made < int(value["want"]) and not value.get("failure"))


def ref_named(name: str) -> ObjectRef:
    kind, _, rest = name.partition(" ")
    namespace, _, own = rest.partition("/")
    return ObjectRef(kind, namespace, own)


def _owner(ref: ObjectRef) -> ObjectRef:
    """Return the CronJob of a Job that it has created: the Job's name adds a dash and a suffix."""
    return ObjectRef("CronJob", ref.namespace, ref.name.rpartition("-")[0]) if ref.kind == "Job" else ref


def _is_of(pod: str, ref: ObjectRef) -> bool:
    """Return whether a pod has a name that the workload's controller gives to its pods."""
    return pod == ref.name if ref.kind == "Pod" else pod.startswith(f"{ref.name}-")


def _seen(kind: str, value: Recorded, event: str, refused: str) -> Seen:
    want = int(value["want"])
    finished = kind != "Deployment" or bool(value.get("done", True))
    mixed = kind == "DaemonSet" and int(value.get("updated", want)) < want
    if event == "rollout":
        finished = finished and not mixed
    mixed = mixed or bool(value.get("old"))
    pending = _mapping(value, "pending") if "pending" in value else {}
    messages = tuple(message.partition(": ")[2] for message in pending)
    return Seen(kind, want, int(value["bound"]), messages, str(value.get("failure") or ""), finished, refused, mixed)
