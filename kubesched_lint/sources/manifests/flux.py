"""Which folders of a repository Flux applies, how it builds them, and which variables it fills in.

An object of the kind Kustomization in the API group of Flux names a folder of the repository. Flux builds that folder
without Kustomize's load restrictor, and fills in the variables of ``spec.postBuild`` in what it has built.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct

from kubesched_lint.files import content_at, is_within
from kubesched_lint.sources.manifests.filling import Filling, Variables
from kubesched_lint.sources.manifests.inputs import LARGEST
from kubesched_lint.sources.manifests.recognizing.kustomization import text_to_read, value_in
from kubesched_lint.sources.manifests.walking import Found, Walk
from kubesched_lint.sources.manifests.yaml.split import parts

_GROUP = "kustomize.toolkit.fluxcd.io"
_IN_GROUP = f"{_GROUP}/".encode()


class FluxKustomization(Struct, frozen=True):
    """``folder`` is the real path of what it applies; ``variables`` are None if it fills in nothing.

    ``components`` are the real paths of the folders that it adds to the components of the kustomization in ``folder``.
    """

    folder: str
    variables: Variables | None = None
    components: tuple[str, ...] = ()


class FluxRepository(Struct, frozen=True):
    """The Kustomizations of Flux in the repository ``root``, a path without links."""

    root: str
    kustomizations: tuple[FluxKustomization, ...] = ()

    def builds(self, folder: str) -> bool:
        """Return whether Flux applies a folder, given without links, or one around it."""
        return any(is_within(folder, kustomization.folder) for kustomization in self.kustomizations)

    def filling(self, folder: str) -> Filling | None:
        """Return how variables are filled in there: by the Kustomizations that name the nearest folder around it."""
        around = [kustomization for kustomization in self.kustomizations if is_within(folder, kustomization.folder)]
        nearest = max((len(kustomization.folder) for kustomization in around), default=0)
        ways = tuple(
            dict.fromkeys(kustomization.variables for kustomization in around if len(kustomization.folder) == nearest)
        )
        return Filling(ways) if any(ways) else None

    def components(self, folder: str) -> tuple[str, ...]:
        """Return the components that are added to the kustomization in this folder; none if that differs."""
        ways = {kustomization.components for kustomization in self.kustomizations if kustomization.folder == folder}
        return next(iter(ways)) if len(ways) == 1 else ()


NO_FLUX = FluxRepository("")


def flux_repository(root: str) -> FluxRepository:
    """Return what Flux does in the repository ``root``; it reads the YAML below ``root`` and follows no link out."""
    files_below = Walk(root, root, None, False).below(root, root)
    files = (item.real for item in files_below if isinstance(item, Found) and not item.real.endswith(".json"))
    return FluxRepository(root, tuple(dict.fromkeys(_kustomizations(files, root))))


def _kustomizations(files: Iterable[str], root: str) -> Iterator[FluxKustomization]:
    for path in files:
        try:
            data = content_at(path, LARGEST)
        except OSError:
            continue  # whoever reads it as a manifest reports the error
        if _IN_GROUP in data:
            for value in objects_in(text_to_read(data), _GROUP):
                yield from _kustomization(value, root)


def objects_in(text: str, word: str) -> Iterator[dict[str, Any]]:
    """Yield the objects of the documents that contain a word."""
    for part in parts(text):
        value = value_in(part.text) if word in part.text else None
        items = value.get("items") if isinstance(value, dict) and value.get("kind") == "List" else [value]
        yield from (item for item in items if isinstance(item, dict)) if isinstance(items, list) else ()


def _kustomization(value: dict[str, Any], root: str) -> Iterator[FluxKustomization]:
    if value.get("kind") != "Kustomization" or not str(value.get("apiVersion")).startswith(f"{_GROUP}/"):
        return
    spec = value.get("spec")
    path = spec.get("path", "") if isinstance(spec, dict) else None
    if not isinstance(path, str) or not isinstance(spec, dict):
        return
    folder = folder_in(root, path.lstrip("/"), root)
    if folder:
        components = tuple(_components(spec.get("components"), folder, root))
        yield FluxKustomization(folder, variables_of(spec.get("postBuild")), components)


def _components(listed: Any, folder: str, root: str) -> Iterator[str]:
    """Yield the folders in the repository that exist."""
    for entry in listed if isinstance(listed, list) else ():
        real = folder_in(folder, entry, root) if isinstance(entry, str) else ""
        if real:
            yield real


def folder_in(start: str, path: str, root: str) -> str:
    """Return the real path of a folder in the repository; empty if there is none, as for a name with U+0000."""
    try:
        real = os.path.realpath(os.path.join(start, path))
        return real if is_within(real, root) and os.path.isdir(real) else ""
    except ValueError:
        return ""


def variables_of(post_build: Any) -> Variables | None:
    """Return what ``postBuild`` fills in; None if it has no variables, because Flux then leaves the text as it is."""
    if not isinstance(post_build, dict):
        return None
    given, elsewhere = post_build.get("substitute"), post_build.get("substituteFrom")
    values = given.items() if isinstance(given, dict) else ()
    pairs = tuple((str(name), value.replace("\n", "")) for name, value in values if isinstance(value, str))
    others = (
        [reference for reference in elsewhere if isinstance(reference, dict)] if isinstance(elsewhere, list) else []
    )
    names = ", ".join(f"{reference.get('kind')} {reference.get('name')}" for reference in others)
    return Variables(pairs, names) if pairs or names else None
