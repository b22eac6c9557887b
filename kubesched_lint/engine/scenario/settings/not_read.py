"""What of a set of manifests nobody has read: it may define any object."""

from __future__ import annotations

from msgspec import Struct


class Release(Struct, frozen=True):
    """An object with which a controller installs a chart, such as a HelmRelease of Flux."""

    kind: str
    namespace: str
    """Where the objects of the chart are made."""
    name: str
    chart: str = ""
    """The chart as the object names it, with its version if it has one; empty if it names it elsewhere."""
    path: str = ""
    line: int = 0
    why: str = ""
    """Why nobody knows all that it makes; empty if that is known."""


class NotRead(Struct, frozen=True):
    """What of a set was not read, by its places: it may define any object, and no rule may claim that one is absent
    without saying so. Each place counts once, in the order of the files.
    """

    broken: tuple[str, ...] = ()
    """What should have been read: files with errors, kustomizations that cannot be built."""
    others: tuple[str, ...] = ()
    """Sources of other tools, patches, and objects whose controllers make further ones, such as HelmRelease."""

    releases: tuple[Release, ...] = ()
    """The releases among ``others``: whatever their charts make may have any name in their namespace."""

    @property
    def is_nothing(self) -> bool:
        return not (self.broken or self.others)
