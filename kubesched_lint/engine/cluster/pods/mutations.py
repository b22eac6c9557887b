"""What webhooks, VPA and policy engines change in pods: learnt from the pods that run, against their templates.

No API tells what a webhook will do. But a controller makes its next pods from the same template, and the same webhooks
see them, so what the newest pods have beyond their template, the next ones have, too. That is certain only of pods that
this template has made for sure, and while labels and annotations stay, by which webhooks choose, those of the namespace
included, as far as they are known. Other requests are never certain: VPA recommends others tomorrow, and somebody may
have resized the pods in place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from kubesched_lint.engine.admission.mutating import with_requests
from kubesched_lint.engine.cluster.pods.running import HASH
from kubesched_lint.engine.cluster.pods.template import FOREIGN, written_template
from kubesched_lint.engine.model.pod import Container, Pod, Resources, Toleration

if TYPE_CHECKING:
    from kubesched_lint.engine.admission.admission import Admission
    from kubesched_lint.engine.cluster.pods.running import Running
    from kubesched_lint.engine.model.inventory import Inventory
    from kubesched_lint.engine.model.labels import Labels
    from kubesched_lint.engine.model.pod import BoundPod
    from kubesched_lint.engine.model.workloads.workload import Workload

Key = tuple[str, str, str]
_OF_NODES = "node.kubernetes.io/"
_ADDED = ("containers", "init_containers", "node_selector", "tolerations")
_NOT_ADDED = ("spread", "required_affinity", "required_anti_affinity", "required_node_terms", "scheduler_name")
"""Fields that something changes and that are told, not counted."""


class Mutation(Struct, frozen=True):
    """What the pods of a workload have and its template does not."""

    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    after: Mapping[str, str] = field(default_factory=dict)
    """Each of ``init_containers`` → the one before it in the pods; empty for the first."""
    requests: Mapping[str, tuple[Resources, Resources]] = field(default_factory=dict)
    """Container → its requests in the template, with defaults, and in the pods."""
    node_selector: Labels = field(default_factory=dict)
    tolerations: tuple[Toleration, ...] = ()
    uncounted: tuple[str, ...] = ()
    """Fields of the pods that differ from the template in another way."""
    pods: int = 0
    """The number of running pods that show it."""
    others: tuple[str, ...] = ()
    """For a workload of which nothing runs: those of its namespace that show it."""
    is_expected: bool = False
    """Whether the next pods may have nothing of it, as where the newest pods differ."""

    @property
    def is_nothing(self) -> bool:
        counted = self.containers, self.init_containers, self.requests, self.node_selector, self.tolerations
        return not any(counted) and not self.uncounted

    @property
    def names(self) -> tuple[str, ...]:
        """What is added or changed, as a reader knows it: containers, then fields."""
        added = [container.name for container in (*self.containers, *self.init_containers)]
        changed = map(_resized, self.requests)
        fields = ["nodeSelector"] * bool(self.node_selector) + ["tolerations"] * bool(self.tolerations)
        return (*added, *changed, *fields)

    @property
    def doubtful(self) -> tuple[str, ...]:
        """What of ``names`` the next pods may not have."""
        return self.names if self.is_expected else tuple(map(_resized, self.requests))

    @property
    def certain(self) -> Mutation | None:
        """What the next pods have for sure."""
        return None if self.is_expected else replace(self, requests={})

    def beyond(self, pod: Pod) -> Mutation:
        """Return what is left of it for the pod of a manifest: what that has itself, or changes, stays as written."""
        written = {container.name: container for container in (*pod.containers, *pod.init_containers)}

        def new(containers: Iterable[Container]) -> tuple[Container, ...]:
            return tuple(container for container in containers if container.name not in written)

        sized = {name: _left(sizes, written[name]) for name, sizes in self.requests.items() if name in written}
        overruled = (f"requests of {name}" for name, sizes in sized.items() if sizes[1] != self.requests[name][1])
        return replace(
            self,
            containers=new(self.containers),
            init_containers=new(self.init_containers),
            requests={name: sizes for name, sizes in sized.items() if sizes[1]},
            node_selector={key: value for key, value in self.node_selector.items() if key not in pod.node_selector},
            tolerations=tuple(toleration for toleration in self.tolerations if toleration not in pod.tolerations),
            uncounted=(*self.uncounted, *overruled),
        )

    def applied(self, pod: Pod) -> Pod:
        """Return the pod of a template with what is ``beyond`` it."""
        init = [*map(self._sized, pod.init_containers)]
        for inserted in self.init_containers:
            names = ["", *(container.name for container in init)]
            before = self.after.get(inserted.name, "")
            init.insert(
                names.index(before) if before in names else 0, replace(inserted, path=(*pod.path, "containers"))
            )
        added = (replace(added_container, path=(*pod.path, "containers")) for added_container in self.containers)
        return with_requests(
            replace(
                pod,
                containers=(*map(self._sized, pod.containers), *added),
                init_containers=tuple(init),
                node_selector={**self.node_selector, **pod.node_selector},
                tolerations=(*pod.tolerations, *self.tolerations),
            )
        )

    def _sized(self, container: Container) -> Container:
        changed = self.requests[container.name][1] if container.name in self.requests else {}
        return replace(container, requests={**container.requests, **changed}) if changed else container


class Mutations:
    """What is learnt of a cluster, one workload at a time."""

    def __init__(self, inventory: Inventory, running: Running, admission: Admission, *, is_expecting: bool) -> None:
        """``admission`` is that of the cluster alone: what a LimitRange fills in is no change of a webhook.

        ``is_expecting``: the next pods get also what is not certain, and those of new workloads what all others of
        their namespace have.
        """
        self._is_expecting = is_expecting
        self._inventory = inventory
        self._running = running
        self._admission = admission
        self._learnt: dict[Key, Mutation | None] = {}
        self._injected: dict[str, Mutation | None] = {}

    def of(self, workload: Workload, *, in_changed_namespace: bool = False) -> Mutation | None:
        """Return what the next pods of a workload have beyond its template; None if nothing is known to be added.

        ``in_changed_namespace``: whether the labels of its namespace may be others than when its pods were made.
        """
        live = self._running.live(workload)
        if live is None:
            mutation = self._expected(workload)
        elif (mutation := self._own(live)) is not None and (in_changed_namespace or not _chosen_alike(workload, live)):
            mutation = None if _opts_out(workload) else replace(mutation, is_expected=True)
        if mutation is not None and not self._is_expecting:
            mutation = mutation.certain
        if mutation is None or mutation.is_nothing:
            return None
        left = mutation.beyond(workload.pod)
        return None if left.is_nothing else left

    def _own(self, live: Workload) -> Mutation | None:
        if live.key not in self._learnt:
            self._learnt[live.key] = self._compared(live)
        return self._learnt[live.key]

    def _compared(self, live: Workload) -> Mutation | None:
        newest = self._newest(live)
        if not newest:
            return None
        pod = Counter(bound.pod for bound in newest).most_common(1)[0][0]
        alike = sum(_look_alike(bound.pod, pod) for bound in newest)
        hashed = {key: value for key, value in pod.labels.items() if key not in live.pod.labels}
        template = self._admission.stored(live.pod, hashed)
        own, init = (
            {container.name: container for container in each}
            for each in (template.containers, template.init_containers)
        )
        added = tuple(container for container in pod.init_containers if container.name not in init)
        order = ("", *(container.name for container in pod.init_containers))
        return Mutation(
            tuple(container for container in pod.containers if container.name not in own),
            added,
            {container.name: order[order.index(container.name) - 1] for container in added},
            dict(_resizes(pod, live.pod, {**init, **own})),
            {k: v for k, v in pod.node_selector.items() if template.node_selector.get(k) != v},
            tuple(_own_tolerations(pod, template)),
            tuple(_uncounted(pod, template)),
            alike,
            is_expected=alike < len(newest),
        )

    def _newest(self, live: Workload) -> Sequence[BoundPod]:
        """Return the pods that were made last, of those that its template has made: their images are its images."""
        pods = [bound for bound in self._running.pods_of(live) if not bound.terminating]
        if live.kind == "Deployment":
            revision = next(iter(self._running.replica_sets_of(live)), None)
            if revision is None or live.suspended:  # while it is paused, its template has made no pod
                return ()
            pods = [b for b in pods if b.pod.labels.get(HASH) == revision.template_hash]
        elif not _has_made(live, pods):
            return ()
        images = {(container.name, container.image) for container in (*live.pod.containers, *live.pod.init_containers)}
        pods = [b for b in pods if images <= {(c.name, c.image) for c in (*b.pod.containers, *b.pod.init_containers)}]
        last = max((bound.created for bound in pods), default="")
        return [bound for bound in pods if bound.created == last]

    def _expected(self, workload: Workload) -> Mutation | None:
        """Return the containers that every workload of a namespace gets, for one of which nothing runs."""
        if not self._is_expecting or workload.pod.host_network or workload.custom is not None or _opts_out(workload):
            return None
        if workload.namespace not in self._injected:
            self._injected[workload.namespace] = self._of_namespace(workload.namespace)
        return self._injected[workload.namespace]

    def _of_namespace(self, namespace: str) -> Mutation | None:
        live = [w for w in self._inventory.workloads if w.namespace == namespace and w.stays]
        known = {w.ref.title: mutation for w in live if (mutation := self._own(w)) is not None}
        if len(known) < 2:
            return None
        every = [
            {container.name: container for container in (*m.containers, *m.init_containers)} for m in known.values()
        ]
        first = next(iter(known.values()))

        def shared(containers: Sequence[Container]) -> tuple[Container, ...]:
            return tuple(
                container
                for container in containers
                if all(_same(each.get(container.name), container) for each in every)
            )

        pods = sum(each.pods for each in known.values())
        return Mutation(
            shared(first.containers),
            shared(first.init_containers),
            first.after,
            pods=pods,
            others=tuple(known),
            is_expected=True,
        )


def _same(container: Container | None, other: Container) -> bool:
    return container is not None and (container.requests, container.restart_always) == (
        other.requests,
        other.restart_always,
    )


def _resized(container: str) -> str:
    return f"other requests of {container}"


def _left(sizes: tuple[Resources, Resources], written: Container) -> tuple[Resources, Resources]:
    """Return the changed requests of a container without those that its manifest changes."""
    before, after = sizes
    return before, {r: n for r, n in after.items() if written.requests.get(r, before.get(r)) == before.get(r)}


def _resizes(
    pod: Pod, written: Pod, stored: Mapping[str, Container]
) -> Iterator[tuple[str, tuple[Resources, Resources]]]:
    """Yield what ``Mutation.requests`` has; what a LimitRange fills in may have been another value when pods were made.

    ``stored``: container → as the API server stores it now.
    """
    own = {container.name: container.requests for container in (*written.containers, *written.init_containers)}
    for container in (*pod.containers, *pod.init_containers):
        before = stored[container.name].requests if container.name in stored else container.requests
        filled_in = before.keys() - own.get(container.name, {}).keys()
        after = {r: n for r, n in container.requests.items() if r not in filled_in and n != before.get(r)}
        if after:
            yield container.name, (before, after)


def _has_made(live: Workload, pods: Sequence[BoundPod]) -> bool:
    """Return whether the template of a workload has made its pods: a Job's stays, others must have been rolled out.

    The controllers of ReplicaSets replace no pod, ``OnDelete`` and a partition keep old ones, and a rollout that waits
    for a pod that is not ready may have made none yet.
    """
    if live.kind in ("StatefulSet", "DaemonSet"):
        is_rolled = live.strategy.type == "RollingUpdate" and not live.strategy.partition
        revisions = {bound.pod.labels.get("controller-revision-hash") for bound in pods}
        return is_rolled and len(revisions) == 1 and None not in revisions and all(bound.ready for bound in pods)
    return live.kind == "Job"


def _chosen_alike(workload: Workload, live: Workload) -> bool:
    """Return whether pods of a manifest have the labels and annotations of the pods that run: webhooks choose by them.

    The annotations of a template of which a snapshot keeps only what scheduling reads count as others.
    """
    return workload.pod.labels == live.pod.labels and _notes(workload) == _notes(live)


def _notes(workload: Workload) -> Mapping[str, object]:
    """Return the annotations in the template."""
    template = written_template(workload)
    meta = template.get("metadata") if isinstance(template, dict) else None
    notes = meta.get("annotations") if isinstance(meta, dict) else None
    return {str(k): v for k, v in notes.items() if k not in FOREIGN} if isinstance(notes, dict) else {}


def _opts_out(workload: Workload) -> bool:
    """Return whether a label or an annotation asks webhooks to leave the pods alone, as Istio and Linkerd read them."""
    marks = (*workload.pod.labels.items(), *_notes(workload).items())
    return any("inject" in key and value in ("false", "disabled") for key, value in marks)


def _look_alike(pod: Pod, other: Pod) -> bool:
    """Return whether the same is added to two pods; labels may differ, as those of a StatefulSet do."""
    return pod is other or all(getattr(pod, name) == getattr(other, name) for name in _ADDED)


def _own_tolerations(pod: Pod, template: Pod) -> Iterator[Toleration]:
    """Yield the tolerations that neither the template, the API server nor a DaemonSet's controller gives."""
    known = set(template.tolerations)
    yield from (t for t in pod.tolerations if t not in known and not t.key.startswith(_OF_NODES))


def _uncounted(pod: Pod, template: Pod) -> Iterator[str]:
    for name in _NOT_ADDED:
        if getattr(pod, name) != getattr(template, name):
            yield name
