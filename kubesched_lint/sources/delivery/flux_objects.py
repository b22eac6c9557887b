"""Kustomizations of Flux as objects: which folder they apply, and what they add to the kustomization in it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from kubesched_lint.engine.base.places import Location
from kubesched_lint.sources.manifests.filling import Variables
from kubesched_lint.sources.manifests.kustomize.tree import Applier, as_json

KUSTOMIZATION = ("kustomize.toolkit.fluxcd.io", "Kustomization")
DEFAULT_NAMESPACE = "default"
_NAME = re.compile("[_a-zA-Z][_a-zA-Z0-9]*")


def is_kind(api_version: object, kind: object, wanted: tuple[str, str]) -> bool:
    """Return whether a document is of an API group and kind, in any version."""
    return kind == wanted[1] and isinstance(api_version, str) and api_version.rpartition("/")[0] == wanted[0]


class FluxKustomization(Struct, frozen=True):
    """A Kustomization of Flux that a set reaches; ``where`` is the place that names its folder."""

    namespace: str
    name: str
    spec: Mapping[str, Any]
    where: Location

    @property
    def title(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def path(self) -> str:
        path = self.spec.get("path")
        return path if isinstance(path, str) else ""

    @property
    def source(self) -> tuple[str, str]:
        """The kind and the name of the source that has its folder; empty if it names none."""
        ref = mapping(self.spec.get("sourceRef"))
        return str(ref.get("kind") or ""), str(ref.get("name") or "")

    @property
    def awaited(self) -> list[str]:
        """The titles of the Kustomizations that must be ready first."""
        wanted = map(mapping, listed(self.spec.get("dependsOn")))
        return [f"{ref.get('namespace') or self.namespace}/{ref.get('name')}" for ref in wanted]

    @property
    def applier(self) -> Applier:
        return Applier(self.title, self._changed, self.where)

    def _changed(self, value: dict[str, Any], folder: str) -> dict[str, Any]:
        """Return the kustomization in its folder with its settings, as kustomize-controller merges them."""
        spec, changed = self.spec, dict(value)
        fields = (("targetNamespace", "namespace"), ("namePrefix", "namePrefix"), ("nameSuffix", "nameSuffix"))
        changed.update(
            {theirs: spec[ours] for ours, theirs in fields if isinstance(spec.get(ours), str) and spec[ours]}
        )
        components = listed(spec.get("components"))
        components = are_in(folder, components) if spec.get("ignoreMissingComponents") is True else components
        more = {"patches": [*patches_of(spec)], "components": components}
        labels = mapping(mapping(spec.get("commonMetadata")).get("labels"))
        more["labels"] = [{"pairs": labels, "includeSelectors": False}] if labels else []
        changed.update({key: [*listed(value.get(key)), *items] for key, items in more.items() if items})
        images = listed(spec.get("images"))
        if images:
            names = {str(mapping(image).get("name")) for image in images}
            kept = (image for image in listed(value.get("images")) if str(mapping(image).get("name")) not in names)
            changed["images"] = [*kept, *images]
        return changed

    def variables(self, maps: Mapping[tuple[str, str], Mapping[str, str]], secrets: Secrets) -> Variables | None:
        """Return what it fills in; None if it has no variables. ``maps`` are the ConfigMaps of the set."""
        build = mapping(self.spec.get("postBuild"))
        given, sources = mapping(build.get("substitute")), listed(build.get("substituteFrom"))
        if not given and not sources:
            return None
        values: dict[str, str] = {}
        hidden: set[str] = set()
        unknown = []
        for source in map(mapping, sources):
            at, kind = (self.namespace, str(source.get("name"))), source.get("kind")
            if kind == "ConfigMap" and at in maps:
                values.update(maps[at])
                hidden -= maps[at].keys()
            elif kind == "Secret" and at in secrets:
                hidden |= secrets[at]
            else:
                unknown.append(f"{kind} {at[1]}")
        values.update({str(name): value for name, value in given.items() if isinstance(value, str)})
        hidden -= given.keys()
        pairs = tuple((name, value.replace("\n", "")) for name, value in values.items() if name not in hidden)
        return Variables(pairs, ", ".join(unknown), True, frozenset(hidden))

    def wrong_variable(self, maps: Mapping[tuple[str, str], Mapping[str, str]]) -> str:
        """Return for which variable Flux applies nothing; empty if there is none. ``maps`` as in ``variables``."""
        build = mapping(self.spec.get("postBuild"))
        given, sources = mapping(build.get("substitute")), map(mapping, listed(build.get("substituteFrom")))
        of_maps = (str(reference.get("name")) for reference in sources if reference.get("kind") == "ConfigMap")
        names = [*map(str, given), *(name for title in of_maps for name in maps.get((self.namespace, title), ()))]
        plain = next((str(name) for name, value in given.items() if not isinstance(value, str)), "")
        wrong = next((name for name in names if not _NAME.fullmatch(name)), "")
        return f"its variable {plain} is no text" if plain else f"its variable {wrong} is no name" if wrong else ""


Secrets = Mapping[tuple[str, str], frozenset[str]]
"""Namespace and name of a Secret → its keys."""


def patches_of(spec: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the patches of a Kustomization or a post-renderer, each as Kustomize has it under ``patches``."""
    yield from listed(spec.get("patches"))
    for patch in listed(spec.get("patchesStrategicMerge")):
        yield {"patch": as_json(patch)}
    for patch in map(mapping, listed(spec.get("patchesJson6902"))):
        yield {"patch": as_json(patch.get("patch")), "target": patch.get("target")}


def are_in(folder: str, entries: Iterable[Any]) -> list[Any]:
    """Return the entries that name something in or around a folder, such as ``../part``."""
    return [entry for entry in entries if "\0" not in str(entry) and os.path.lexists(os.path.join(folder, str(entry)))]


def mapping(value: Any) -> Mapping[str, Any]:
    """Return a mapping; an empty one for other values."""
    return value if isinstance(value, dict) else {}


def listed(value: Any) -> Sequence[Any]:
    """Return a list; an empty one for other values."""
    return value if isinstance(value, list) else []
