"""Claims and volumes for the exhaustive reference: VolumeBinding, VolumeZone and the volume controller, by hand.

Mirrors ``pkg/scheduler/framework/plugins/volumebinding/binder.go`` and
``component-helpers/storage/volume/pv_helpers.go`` FindMatchingVolume (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, field

from kubesched_lint.engine.model.nodes.node import Node
from kubesched_lint.engine.model.pod import NodeSelectorTerm
from kubesched_lint.engine.model.storage import Claim, PersistentVolume, StorageClass
from tests.worlds.admission import NotCoveredError

Key = tuple[str, str]
Disks = tuple[tuple[Key, str], ...]
"""What each bound claim is bound to, sorted: a volume's name, or MADE."""
MADE = "~made for it"
FITS, NEVER = "", "UnschedulableAndUnresolvable"
ZONES = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")


class Storage(Struct):
    claims: dict[Key, Claim] = field(default_factory=dict)
    """All that exist or may come to exist."""
    volumes: Mapping[str, PersistentVolume] = field(default_factory=dict)
    classes: Mapping[str, StorageClass] = field(default_factory=dict)

    def class_of(self, key: Key) -> str:
        """The class that admission or the volume controller gives to a claim that names none."""
        wanted = self.claims[key].storage_class
        if wanted is None:
            return next((c.name for c in self.classes.values() if c.is_default), "")
        return wanted

    def is_late(self, key: Key) -> bool:
        found = self.classes.get(self.class_of(key))
        return found is not None and found.binding_mode == "WaitForFirstConsumer"

    def is_exclusive(self, key: Key) -> bool:
        return key in self.claims and "ReadWriteOncePod" in self.claims[key].access_modes

    # --- the volume controller --------------------------------------------------------------------------------------

    def bindings(self, claims: Iterable[Key], disks: Disks) -> Iterator[tuple[Key, str]]:
        """What the volume controller may bind next: claims that do not wait for a pod."""
        bound = dict(disks)
        for key in claims:
            if key in bound or key not in self.claims or self.is_late(key):
                continue
            found = self.classes.get(self.class_of(key))
            if found is not None and found.provisioner != "kubernetes.io/no-provisioner":
                raise NotCoveredError("where a volume is made at once, nobody knows")
            for volume in self._smallest(key, None, set(bound.values())):
                yield key, volume.name

    # --- VolumeBinding ----------------------------------------------------------------------------------------------

    def refuses(self, claims: Sequence[Key], disks: Disks) -> bool:
        """PreFilter: a claim that does not exist, or is not bound and will not wait."""
        bound = dict(disks)
        return any(key not in self.claims or (key not in bound and not self.is_late(key)) for key in claims)

    def code(self, claims: Sequence[Key], node: Node, disks: Disks) -> str:
        return FITS if not claims or self.bind(claims, node, disks) is not None else NEVER

    def bind(self, claims: Sequence[Key], node: Node, disks: Disks) -> Disks | None:
        """The bindings after a pod with these claims has gone to the node; None where it cannot."""
        bound = dict(disks)
        if any(bound.get(key) == MADE for key in claims):
            raise NotCoveredError("a volume that was made for a claim is somewhere")
        for key in claims:
            if key in bound and not self._reaches(self.volumes[bound[key]], node):
                return None
        left = sorted((k for k in dict.fromkeys(claims) if k not in bound), key=lambda k: self.claims[k].request)
        made = []
        for key in left:
            found = self._smallest(key, node, set(bound.values()))
            if found:
                bound[key] = found[0].name
            else:
                made.append(key)
        for key in made:
            storage_class = self.classes[self.class_of(key)]
            if storage_class.provisioner == "kubernetes.io/no-provisioner" or not _allows(storage_class, node):
                return None
            bound[key] = MADE
        return tuple(sorted(bound.items()))

    def _smallest(self, key: Key, node: Node | None, taken: set[str]) -> list[PersistentVolume]:
        """The smallest that suit a claim, on a node or anywhere; equal ones must be alike where a node is given."""
        claim, fitting = self.claims[key], []
        for volume in self.volumes.values():
            if volume.name in taken or volume.claim_ref is not None or volume.storage_class != self.class_of(key):
                continue
            if volume.capacity < claim.request or not set(claim.access_modes) <= set(volume.access_modes):
                continue
            if node is None or _in_terms(volume.node_terms, node):
                fitting.append(volume)
        least = min((v.capacity for v in fitting), default=0)
        found = [v for v in fitting if v.capacity == least]
        if node is not None and len({(v.node_terms, v.access_modes) for v in found}) > 1:
            raise NotCoveredError("volumes of equal size that differ")
        return found

    def _reaches(self, volume: PersistentVolume, node: Node) -> bool:
        """VolumeBinding by the volume's node affinity, VolumeZone by its labels."""
        if not _in_terms(volume.node_terms, node):
            return False
        if not any(key in node.labels for key in ZONES):
            return True
        return all(node.labels.get(k) in volume.labels[k].split("__") for k in ZONES if k in volume.labels)


def _in_terms(terms: tuple[NodeSelectorTerm, ...] | None, node: Node) -> bool:
    return terms is None or any(t.expressions and all(e.matches(node.labels) for e in t.expressions) for t in terms)


def _allows(storage_class: StorageClass, node: Node) -> bool:
    terms = storage_class.allowed_topologies
    return not terms or any(all(node.labels.get(key) in values for key, values in t.items()) for t in terms)
