"""A first workload card, whose example passes: for a kind by its name, or from its CustomResourceDefinition."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path as File
from typing import Any

from kubesched_lint.findings import InputError, Path
from kubesched_lint.manifests.loader import documents
from kubesched_lint.record import record

_NAME = re.compile(r"([A-Z][A-Za-z0-9]*)\.([a-z0-9]([a-z0-9.-]*[a-z0-9])?\.[a-z]+)")
_DEEPEST = 12
_MOST_TEMPLATES = 20


class NewCardError(Exception):
    """Why no card was written; ``str()`` of it is the whole message."""


@record
class _Template:
    """A pod template in a schema: ``list_at`` is the list whose items have it, or empty."""

    at: Path
    replicas: Path = ()
    default: int = 1
    list_at: Path = ()


@record
class _Shape:
    group: str
    versions: tuple[str, ...]
    kind: str
    plural: str
    templates: tuple[_Template, ...]
    is_scaled: bool = False


def card_of_name(name: str) -> tuple[str, str]:
    """Return (file name, text) of a card for ``Kind.group``. Raises NewCardError."""
    match = _NAME.fullmatch(name)
    if match is None:
        raise NewCardError(f"`{name}` is no KIND.GROUP such as Widget.example.com")
    kind, group = match[1], match[2]
    template = _Template(("spec", "template"), ("spec", "replicas"))
    return _written(_Shape(group, ("v1",), kind, f"{kind.lower()}s", (template,), is_scaled=True))


def card_of_crd(path: str, data: bytes) -> tuple[str, str]:
    """Return (file name, text) of a card for the first CustomResourceDefinition of a file. Raises NewCardError."""
    for entry in documents(path, data, lambda version, kind: kind == "CustomResourceDefinition"):
        if isinstance(entry, InputError):
            raise NewCardError(f"{path}:{entry.line}: {entry.message}")
        value = getattr(entry, "value", None)
        if isinstance(value, dict):
            return _written(_shape(path, value))
    raise NewCardError(f"{path} holds no CustomResourceDefinition")


def _shape(path: str, crd: Mapping[str, Any]) -> _Shape:
    spec = _map(crd.get("spec"))
    names, group = _map(spec.get("names")), spec.get("group")
    served = [v for v in _list(spec.get("versions")) if isinstance(v, dict) and v.get("served", True)]
    stored = next((v for v in served if v.get("storage")), served[0] if served else {})
    kind, plural = names.get("kind"), names.get("plural")
    if not (isinstance(group, str) and isinstance(kind, str) and isinstance(plural, str) and served):
        raise NewCardError(f"{path}: the definition has no group, names or served version")
    scale = _map(_map(stored.get("subresources")).get("scale")).get("specReplicasPath")
    schema = _map(_map(stored.get("schema")).get("openAPIV3Schema"))
    replicas = tuple(scale.strip(".").split(".")) if isinstance(scale, str) else ()
    found = tuple(_templates(schema, (), ()))[:_MOST_TEMPLATES]
    if not found:
        begin = f"kubesched-lint workloads new {kind}.{group} begins a card to complete by hand (docs/workloads.md)"
        raise NewCardError(f"{path}: the schema of {kind} has no pod template at a fixed place; {begin}")
    default = _map(_at(schema, replicas)).get("default", 1) if replicas else 1
    whole = [_Template(t.at, t.replicas, t.default, t.list_at) for t in found]
    if replicas and len(whole) == 1 and not whole[0].list_at:
        whole = [_Template(whole[0].at, replicas, default if isinstance(default, int) else 1)]
    versions = tuple(v["name"] for v in served if isinstance(v.get("name"), str))
    return _Shape(group, versions, kind, plural, tuple(whole), bool(replicas))


def _templates(schema: Mapping[str, Any], at: Path, list_at: Path) -> Iterator[_Template]:
    """Yield the pod templates of a schema, in its order; inside a list, paths begin at its item."""
    properties = _map(schema.get("properties"))
    if "containers" in _map(_map(properties.get("spec")).get("properties")) and at:
        yield _Template(at, list_at=list_at)
        return
    if len(at) + len(list_at) > _DEEPEST:
        return
    beside = next((name for name in ("replicas", "count", "size") if name in properties), "")
    for name, inner in properties.items():
        if name in ("status", "metadata") and not at:
            continue
        inner = _map(inner)
        items = _map(inner.get("items"))
        if items and not list_at:
            yield from _templates(items, (), (*at, name))
        else:
            for found in _templates(inner, (*at, name), list_at):
                if beside and not found.replicas and found.list_at == list_at:
                    default = _map(properties.get(beside)).get("default", 1)
                    found = _Template(found.at, (*at, beside), default if isinstance(default, int) else 1, list_at)
                yield found


def _at(schema: Mapping[str, Any], path: Path) -> Any:
    for step in path:
        schema = _map(_map(schema.get("properties")).get(str(step)))
    return schema


def _map(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


# --- the card --------------------------------------------------------------------------------------------------------


def _written(shape: _Shape) -> tuple[str, str]:
    slug = f"{shape.plural}.{shape.group}"
    label = f"{shape.group}/{shape.kind.lower()}"
    front = "\n".join(_front(shape, label))
    example = _yaml(_resource(shape))
    plain = "---\n".join(_yaml(one) for one in _plain(shape, label))
    text = _CARD.format(slug=slug, front=front, kind=shape.kind, example=example, plain=plain)
    return f"{slug}.md", text


def _front(shape: _Shape, label: str) -> Iterator[str]:
    yield f'summary: "{shape.kind}: say in one sentence what it is"'
    yield f"group: {shape.group}"
    yield f"versions: [{', '.join(shape.versions)}]"
    yield f"kind: {shape.kind}"
    yield "operator: {source: the operator's repository, version: its version, files: [the files that you read]}"
    yield "workloads:"
    for number, template in enumerate(shape.templates):
        yield "  - as: Deployment"
        yield "    owner: ReplicaSet"
        if template.list_at:
            yield f"    each: {_path(template.list_at)}"
        if len(shape.templates) > 1 or template.list_at:
            yield f'    part: "{_part(template, number)}"'
            yield f"    name: metadata.name + '-' + {_part(template, number)}"
        if shape.is_scaled and len(shape.templates) == 1 and not template.list_at:
            yield "    replica_pods: 1"
        yield "    fields:"
        if template.replicas:
            yield f"      spec.replicas: {_path(template.replicas, template)} or {template.default}"
        yield f"      spec.template: {_path(template.at, template)}"
        yield f"    labels: {{{label}: metadata.name}}"
        yield f"    selects: [{label}]"


def _part(template: _Template, number: int) -> str:
    return "item.name" if template.list_at else f"'part{number}'"


def _path(path: Path, template: _Template | None = None) -> str:
    steps = ("item", *path) if template is not None and template.list_at else path
    head, *rest = map(str, steps)
    return head + "".join(f".{step}" if step.isidentifier() else f"['{step}']" for step in rest)


def _pods(template: _Template) -> dict[str, Any]:
    container = {
        "name": "main",
        "image": "registry.example.com/main:1.0",
        "resources": {"requests": {"cpu": "1", "memory": "1Gi"}},
    }
    return {"metadata": {"labels": {"app": "example"}}, "spec": {"containers": [container]}}


def _resource(shape: _Shape) -> dict[str, Any]:
    made: dict[str, Any] = {
        "apiVersion": f"{shape.group}/{shape.versions[0]}",
        "kind": shape.kind,
        "metadata": {"name": "example"},
    }
    for number, template in enumerate(shape.templates):
        held: dict[str, Any] = made
        if template.list_at:
            items = _put(made, template.list_at, [{"name": f"part{number}"}])
            held = items[0]
        if template.replicas:
            _put(held, template.replicas, 2)
        _put(held, template.at, _pods(template))
    return made


def _put(held: dict[str, Any], path: Path, value: Any) -> Any:
    """Set a value that is not there yet; return what is there then."""
    *way, last = path
    for step in way:
        held = held.setdefault(str(step), {})
    return held.setdefault(str(last), value)


def _plain(shape: _Shape, label: str) -> Iterator[dict[str, Any]]:
    single = len(shape.templates) == 1 and not shape.templates[0].list_at
    for number, template in enumerate(shape.templates):
        pods = _pods(template)
        pods["metadata"]["labels"][label] = "example"
        name = "example" if single else f"example-part{number}"
        yield {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": name},
            "spec": {
                "replicas": 2 if template.replicas else 1,
                "selector": {"matchLabels": {label: "example"}},
                "template": pods,
            },
        }


def _yaml(value: object) -> str:
    import yaml

    return yaml.safe_dump(value, sort_keys=False, default_flow_style=False)


def write(folder: File, name: str, text: str) -> File:
    """Write a card that is not there yet and return its file. Raises NewCardError."""
    file = folder / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with file.open("x", encoding="utf-8") as opened:
            opened.write(text)
    except FileExistsError:
        raise NewCardError(f"{file} is there already; nothing was written") from None
    except OSError as error:
        raise NewCardError(f"{error.filename}: cannot be written: {error.strerror}") from None
    return file


_CARD = """\
---
{front}
since: 1.0.0
---
# {slug}

## What it makes

Say which pods the operator of {kind} makes, and what it adds to them. Read its source, and cite it under `operator`.

## How it rolls out

Say how a change of the template reaches the pods. `as: Deployment` rolls them; `unknown: {{rollout: why}}` is honest.

## Example

```yaml cluster
apiVersion: kubesched-lint/v1
kind: ClusterSketch
nodes:
- {{name: worker, count: 3, zones: [eu-west-1a], allocatable: {{cpu: "4", memory: 16Gi, pods: 20}}}}
```

```yaml
{example}```

```yaml plain
{plain}```

## What it does not know

Say what the operator decides at run time.
"""
