"""Custom resources of a manifest set as the plain objects that they stand for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from kubesched_lint.custom.derive import PlainObjects, UnreadableError, made_of
from kubesched_lint.custom.kinds import Kinds
from kubesched_lint.custom.others import Others
from kubesched_lint.custom.releases import DefaultValues, MadeOf, ReleaseObject, read_release
from kubesched_lint.engine.scenario.settings.not_read import Release
from kubesched_lint.findings import InputError
from kubesched_lint.sources.charts.lock import LockError
from kubesched_lint.sources.charts.rendering import Asked, Charts, NoHelmError, default_values
from kubesched_lint.sources.manifests.document import Document, Unread, print_of
from kubesched_lint.sources.manifests.rendered.charts import Made

Placed = tuple[int, Document]
"""A document with its place in the reading order."""


def derived(
    resources: Iterable[Placed], others: Sequence[Document], kinds: Kinds, namespace: str
) -> Iterator[tuple[Document, PlainObjects | Unread]]:
    """Yield each custom resource with its plain objects; with an Unread that says why if its card cannot read it.

    ``others`` are all documents of the set: a resource may name one of them.
    """
    known = Others(others, namespace)
    for order, document in resources:
        kind = kinds.of(document.api_version, document.kind)
        assert kind is not None, "only resources with a card come here"
        try:
            yield document, made_of(document, kind, namespace, order, known)
        except UnreadableError as error:
            line = document.span(()).line
            seen = print_of(document.text, document.prefix)
            yield (
                document,
                Unread(document.path, line, document.kind, document.api_version, True, str(error), seen=seen),
            )


class Installed(NamedTuple):
    """A release with what it makes. ``problem``: why no chart at all could be rendered, said with the first release, or
    why its archive is refused, said with the first release of that.
    """

    document: Document
    release: Release
    made: MadeOf
    problem: InputError | None = None


def charted(
    delivered: Iterable[Placed], named: Sequence[Document], kinds: Kinds, namespace: str
) -> Iterator[Installed]:
    """Yield each object that installs a chart with what the chart makes: by pulled charts, else as far as cards tell.

    A release whose chart is not pulled or not rendered is read by its card, if there is one.
    """
    known = Others(named, namespace)
    releases = [ReleaseObject(document, namespace, order, known) for order, document in delivered]
    made: Mapping[int, Made] = {}
    problem = None
    refused = set[str]()
    if kinds.charts is not None:
        made, problem = _rendered(releases, kinds.charts)
    for number, release_object in enumerate(releases):
        rendered = made.get(number)
        defaults = _defaults(release_object, kinds) if rendered is not None and rendered.text else ()
        release, installed = read_release(release_object, rendered, kinds.is_read, defaults)
        if rendered is not None and rendered.is_refused and rendered.why not in refused:
            refused.add(rendered.why)
            where = release_object.document.location(("spec", "chart"))
            problem = problem or InputError(where.path, rendered.why, where.span.line, where.span.column)
        yield Installed(release_object.document, release, installed, problem)
        problem = None


def _rendered(releases: Sequence[ReleaseObject], charts: Charts) -> tuple[Mapping[int, Made], InputError | None]:
    """Return what Helm makes of the releases, by their numbers, and why it makes nothing."""
    asked = {number: release.asked for number, release in enumerate(releases)}
    known = {number: request for number, request in asked.items() if isinstance(request, Asked)}
    others = {number: Made(why=request) for number, request in asked.items() if isinstance(request, str)}
    try:
        return {**others, **dict(zip(known, charts.made(list(known.values())), strict=True))}, None
    except (LockError, NoHelmError) as error:
        return others, InputError(charts.lock, str(error))


def _defaults(release: ReleaseObject, kinds: Kinds) -> Sequence[DefaultValues]:
    pinned = release.pinned
    if kinds.charts is None or isinstance(pinned, str):
        return ()
    locked = kinds.charts.locked().get(pinned)
    return default_values(kinds.charts.folder, locked.sha256, release.files) if locked else ()
