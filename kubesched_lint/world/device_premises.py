"""The assumptions of proofs about devices, as sentences."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kubesched_lint.world.devices import needs_devices
from kubesched_lint.world.new_nodes import pools_in_words
from kubesched_lint.world.premises import node_premise
from kubesched_lint.world.world import World

if TYPE_CHECKING:
    from kubesched_lint.model.pod import Pod


def device_premise(world: World) -> str:
    """Return the assumption about devices in every proof that counts devices."""
    found = "drivers announce no other devices than those of the snapshot"
    stated = stated_devices(world)
    return f"{found}, and {stated}" if stated else found


def stated_devices(world: World) -> str:
    """Return what is assumed about the devices of nodes that pools could add; empty if no pool states any."""
    stating = pools_in_words([pool for pool in world.pools if pool.devices is not None])
    return f"new nodes of {stating} have the devices that the cluster file states" if stating else ""


def set_premises(pods: Iterable[Pod], world: World) -> tuple[str, ...]:
    """Return the assumptions of a proof that counts nodes, and devices if any of these pods as written needs some."""
    needy = any(needs_devices(pod, world) for pod in pods)
    return (node_premise(world), device_premise(world)) if needy else (node_premise(world),)
