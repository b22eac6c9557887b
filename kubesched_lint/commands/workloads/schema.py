"""What a CustomResourceDefinition tells of the pods that its operator makes: templates, or fields that place pods."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint.commands.limits import MOST_NESTED
from kubesched_lint.engine.base.places import Path
from kubesched_lint.findings import InputError
from kubesched_lint.sources.manifests.document import Document
from kubesched_lint.sources.manifests.loader import documents

_NUMBERS = ("replicas", "count", "size", "instances", "numberOfInstances", "members")
"""Fields for a number of pods."""
_AROUND = ("nodeSelector", "affinity", "tolerations", "topologySpreadConstraints")
_FIELDS = (*_AROUND, "priorityClassName", "resources")
"""Fields by which operators place pods that they make of fields instead of a template."""
_FIELD = re.compile(r"[\w-]+")


class Template(Struct, frozen=True):
    """A pod template in a schema, or the object whose ``fields`` seem to place pods.

    ``list_at`` is the list whose items have it, or empty.
    """

    at: Path
    replicas: Path = ()
    default: int = 1
    list_at: Path = ()
    fields: tuple[str, ...] | None = None
    """None for a pod template."""


class Shape(Struct, frozen=True):
    group: str
    versions: tuple[str, ...]
    kind: str
    plural: str
    templates: tuple[Template, ...]
    is_scaled: bool = False

    @property
    def is_guessed(self) -> bool:
        return any(template.fields is not None for template in self.templates)


class SchemaError(Exception):
    """A definition without what a card needs; the text says what."""


_NAMES = {
    "group": re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?\.[a-z]+"),
    "kind": re.compile(r"[A-Za-z][A-Za-z0-9]*"),
    "plural": re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?"),
}


def definitions(path: str, data: bytes) -> Iterator[dict[str, Any]]:
    """Yield the CustomResourceDefinitions of a file. Raises SchemaError if the file cannot be read."""
    for entry in documents(path, data, lambda version, kind: kind == "CustomResourceDefinition"):
        if isinstance(entry, InputError):
            raise SchemaError(f"{path}:{entry.line}:{entry.column}: {entry.message}")
        if isinstance(entry, Document):
            yield entry.value


def shape_of(crd: Mapping[str, Any]) -> Shape:
    """Return what a definition says of its kind and pods. Raises SchemaError."""
    spec = _map(crd.get("spec"))
    given = {"group": spec.get("group"), **_map(spec.get("names"))}
    names = {name: str(given.get(name, "")) for name in _NAMES}
    served = [v for v in _list(spec.get("versions")) if isinstance(v, dict) and v.get("served", True)]
    wrong = [name for name, pattern in _NAMES.items() if not pattern.fullmatch(names[name])]
    if wrong or not served:
        raise SchemaError(f"the definition has no valid {wrong[0] if wrong else 'served version'}")
    stored = next((version for version in served if version.get("storage")), served[0])
    scale = _map(_map(stored.get("subresources")).get("scale")).get("specReplicasPath")
    replicas = tuple(scale.strip(".").split(".")) if isinstance(scale, str) else ()
    schema = _map(_map(stored.get("schema")).get("openAPIV3Schema"))
    versions = tuple(str(version.get("name")) for version in served)
    return Shape(
        names["group"], versions, names["kind"], names["plural"], _makers(schema, replicas), is_scaled=bool(replicas)
    )


def _makers(schema: Mapping[str, Any], replicas: Path) -> tuple[Template, ...]:
    """Return the pod templates of a schema, else the fields that place pods.

    ``replicas`` is the path of the scale subresource.
    """
    templates = tuple(
        template for template in _templates(schema, (), ()) if "override" not in (*template.list_at, *template.at)
    )
    if not templates:
        spec = _map(_map(schema.get("properties")).get("spec"))
        whole = _with_replicas(Template(("spec",), fields=()), _map(spec.get("properties")), ("spec",))
        templates = tuple(_placing(schema, (), ())) or (whole,)
    if replicas and len(templates) == 1 and not templates[0].list_at:
        default = _map(_at(schema, replicas)).get("default", 1)
        templates = (replace(templates[0], replicas=replicas, default=default if isinstance(default, int) else 1),)
    return templates


def _templates(schema: Mapping[str, Any], at: Path, list_at: Path) -> Iterator[Template]:
    """Yield the pod templates of a schema, in its order; inside a list, paths begin at its item."""
    properties = _map(schema.get("properties"))
    if "containers" in _map(_map(properties.get("spec")).get("properties")) and at:
        yield Template(at, list_at=list_at)
        return
    for inner, inner_at, inner_list in _below(schema, at, list_at):
        for template in _templates(inner, inner_at, inner_list):
            is_beside = not template.replicas and template.list_at == list_at
            yield _with_replicas(template, properties, at) if is_beside else template


def _placing(schema: Mapping[str, Any], at: Path, list_at: Path) -> Iterator[Template]:
    """Yield the outermost objects with fields that place pods, each with the number of pods beside them."""
    properties = _map(schema.get("properties"))
    if (at or list_at) and any(name in properties for name in _AROUND):
        fields = tuple(name for name in _FIELDS if name in properties)
        yield _with_replicas(Template(at, list_at=list_at, fields=fields), properties, at)
        return
    for inner, inner_at, inner_list in _below(schema, at, list_at):
        yield from _placing(inner, inner_at, inner_list)


def _below(schema: Mapping[str, Any], at: Path, list_at: Path) -> Iterator[tuple[dict[str, Any], Path, Path]]:
    """Yield the schemas of the fields of an object, with their paths; inside a list, they begin at its item."""
    if len(at) + len(list_at) > MOST_NESTED:
        return
    for name, inner in _map(schema.get("properties")).items():
        if _FIELD.fullmatch(name) and (at or list_at or name not in ("status", "metadata")):
            items = _map(_map(inner).get("items"))
            yield (items, (), (*at, name)) if items and not list_at else (_map(inner), (*at, name), list_at)


def _with_replicas(template: Template, properties: Mapping[str, Any], at: Path) -> Template:
    beside = next((name for name in _NUMBERS if name in properties), "")
    if not beside:
        return template
    default = _map(properties[beside]).get("default", 1)
    return replace(template, replicas=(*at, beside), default=default if isinstance(default, int) else 1)


def _at(schema: Mapping[str, Any], path: Path) -> Any:
    for step in path:
        schema = _map(_map(schema.get("properties")).get(str(step)))
    return schema


def _map(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
