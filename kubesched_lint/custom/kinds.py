"""Which kinds of custom resources are read: those of the shipped cards and those of a team's own."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct

from kubesched_lint.custom._index import KINDS
from kubesched_lint.engine.model.decode.objects import is_read

if TYPE_CHECKING:
    from kubesched_lint.custom.card import CustomKind
    from kubesched_lint.rulebook.cards.frontmatter import CardError
    from kubesched_lint.sources.charts.rendering import Charts


_NAMED = ("v1", "PodTemplate")
"""An object that makes no pods, but a custom resource may name it and make pods of it."""


RELEASES = {"HelmRelease": "helm.toolkit.fluxcd.io", "HelmChart": "helm.cattle.io"}
"""Kinds whose controllers install charts → their API group."""


def is_release(api_version: object, kind: object) -> bool:
    """Return whether objects of a kind install charts."""
    group = RELEASES.get(kind) if isinstance(kind, str) else None
    return group is not None and isinstance(api_version, str) and api_version.startswith(f"{group}/")


NAMED_BY_RELEASES = {
    "OCIRepository": "source.toolkit.fluxcd.io",
    "HelmRepository": "source.toolkit.fluxcd.io",
    "ConfigMap": "",
}
"""Kinds whose objects releases name → their API group."""


def is_named_by_releases(api_version: object, kind: object) -> bool:
    """Return whether releases take their chart or their values from objects of a kind."""
    group = NAMED_BY_RELEASES.get(kind) if isinstance(kind, str) else None
    return group is not None and isinstance(api_version, str) and api_version.rpartition("/")[0] == group


class Kinds(Struct, frozen=True):
    """``own`` are the kinds of a team's cards, which replace shipped ones; ``faults`` are their invalid cards."""

    own: tuple[CustomKind, ...] = ()
    faults: tuple[CardError, ...] = ()
    reads_named: bool = False
    """Whether the objects are read from which releases take values: they are many, and large."""
    charts: Charts | None = None
    """Charts that were pulled; None: releases are read by their cards alone."""

    def is_read(self, api_version: object, kind: object) -> bool:
        """Return whether documents of a kind are read."""
        if is_read(api_version, kind) or (api_version, kind) == _NAMED or is_release(api_version, kind):
            return True
        if (self.reads_named or self.charts is not None) and is_named_by_releases(api_version, kind):
            return True
        if not isinstance(kind, str) or not isinstance(api_version, str) or not (self.own or kind in KINDS):
            return False
        return self.of(api_version, kind) is not None

    def of(self, api_version: str, kind: str) -> CustomKind | None:
        """Return what a card says of a kind; None if there is no card for it."""
        group, _, version = api_version.rpartition("/")
        for own in self.own:
            if (own.group, own.kind) == (group, kind):
                return own if version in own.versions else None
        slug = KINDS.get(kind, {}).get(group)
        custom_kind = None if slug is None else _shipped(slug)
        return custom_kind if custom_kind is not None and version in custom_kind.versions else None

    def __iter__(self) -> Iterator[CustomKind]:
        """Yield all kinds, a team's own first."""
        named = {(own.group, own.kind) for own in self.own}
        yield from self.own
        for kind, groups in sorted(KINDS.items()):
            yield from (_shipped(slug) for group, slug in groups.items() if (group, kind) not in named)


SHIPPED = Kinds()


@cache
def _shipped(slug: str) -> CustomKind:
    """The gate of the cards: few sets have custom resources that make pods."""
    from kubesched_lint.custom._generated import FRONTS
    from kubesched_lint.custom.card import kind_of

    return kind_of(slug, FRONTS[slug])
