"""The constraint distinguishes revisions by a version label that this change does not bump."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.base.text import SHOWN, first_few, many, plural
from kubesched_lint.engine.model.workloads.workload import Workload
from kubesched_lint.engine.scenario.former import former, template_changes
from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.explaining.remedies.remedy import Remedy
from kubesched_lint.explaining.remedies.rollouts import count_by_revision
from kubesched_lint.explaining.spreading.version_labels import bumped_by_hand
from kubesched_lint.findings import Hazard, pattern


def check(it: Member) -> Iterator[Hazard]:
    if it.workload.kind != "Deployment" or it.workload.strategy.type != "RollingUpdate":
        return
    labels = list(bumped_by_hand(it.workload))
    if not labels:
        return
    before = former(it)
    changes = [] if before is None else list(islice(template_changes(before, it.workload), SHOWN + 1))
    is_rolled = _is_rolled_out(it)
    for constraint, label in labels:
        value = it.workload.pod.labels.get(label)
        values = {"label": label, "value": value, "key": constraint.topology_key}
        at = (*it.workload.pod.labels_path, label)
        same = sum(1 for bound in it.running_pods if bound.pod.labels.get(label) == value) if is_rolled else 0
        if value is None:
            continue
        if before is not None and changes and before.pod.labels.get(label) == value:
            text = f"the change alters {_named(changes, it.workload)}, and {label}={value} stays"
            yield Hazard(at=at, evidence=pattern(text), variant="unbumped", values=values)
        elif same:
            who = f"{many(same, 'running pod')} of the old revision {plural(same, 'has', 'have')}"
            yield Hazard(at=at, evidence=pattern(f"{who} {label}={value} too"), values={**values, "same": same})


def _is_rolled_out(it: Member) -> bool:
    """Whether the manifest replaces running pods, by the revision in the snapshot, else by the images that run."""
    changed = it.template_changed
    return _has_other_images(it) if changed is None else changed


def _has_other_images(it: Member) -> bool:
    """Whether no running pod has all images that are written; a pod has further containers if something adds them."""
    written = {container.name: container.image for container in it.workload.pod.containers if container.image}
    running = it.running_pods

    def has_them(images: dict[str, str]) -> bool:
        return all(images.get(name) in (None, "", image) for name, image in written.items())

    return bool(running) and not any(has_them({c.name: c.image for c in bound.pod.containers}) for bound in running)


def _named(changes: list[Path], workload: Workload) -> str:
    inside = len(workload.pod.path) - 1
    return first_few([".".join(map(str, path[inside:])) or "the template" for path in changes])


def fix(hazard: Hazard, it: Member) -> Iterator[Remedy]:
    """Count by the label that the controller bumps by itself."""
    for constraint in it.workload.pod.spread:
        if constraint.topology_key == hazard.values["key"] and constraint.selector is not None:
            yield from count_by_revision(it.workload, constraint.path)
