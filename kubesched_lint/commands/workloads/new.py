"""A first workload card, whose example passes: for a kind by its name, or from its CustomResourceDefinition."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path as File
from typing import Any

import yaml

from kubesched_lint.commands.workloads.schema import SchemaError, Shape, Template, definitions, shape_of
from kubesched_lint.engine.base.places import Path

_NAME = re.compile(r"([A-Za-z][A-Za-z0-9]*)\.([a-z0-9]([a-z0-9.-]*[a-z0-9])?\.[a-z]+)")
_REQUESTS = {"requests": {"cpu": "1", "memory": "1Gi"}}


class NewCardError(Exception):
    """Why no card was written; ``str()`` of it is the whole message."""


def card_of_name(name: str) -> tuple[str, str]:
    """Return (file name, text) of a card for ``Kind.group``. Raises NewCardError."""
    match = _NAME.fullmatch(name)
    if match is None:
        raise NewCardError(f"`{name}` is no KIND.GROUP such as Widget.example.com")
    kind, group = match[1], match[2]
    template = Template(("spec", "template"), ("spec", "replicas"))
    return _written(Shape(group, ("v1",), kind, f"{kind.lower()}s", (template,), is_scaled=True))


def card_of_crd(path: str, data: bytes) -> tuple[str, str]:
    """Return (file name, text) of a card for the first CustomResourceDefinition of a file. Raises NewCardError."""
    try:
        definition = next(definitions(path, data), None)
    except SchemaError as error:
        raise NewCardError(str(error)) from None
    if definition is None:
        raise NewCardError(f"{path} holds no CustomResourceDefinition")
    try:
        return _written(shape_of(definition))
    except SchemaError as error:
        raise NewCardError(f"{path}: {error}") from None


def _written(shape: Shape) -> tuple[str, str]:
    slug = f"{shape.plural}.{shape.group}"
    label = f"{shape.group}/{shape.kind.lower()}"
    front = "\n".join(_front(shape, label))
    example = _yaml(_resource(shape))
    plain = "---\n".join(_yaml(manifest) for manifest in _plain(shape, label))
    guessed = _GUESSED if shape.is_guessed else ""
    text = _CARD.format(slug=slug, front=front, kind=shape.kind, example=example, plain=plain, guessed=guessed)
    return f"{slug}.md", text


def _front(shape: Shape, label: str) -> Iterator[str]:
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
        if template.fields is not None and len(template.at) > 1 and not template.list_at:
            yield f"    when: {_path(template.at)}"
        if shape.is_scaled and len(shape.templates) == 1 and not template.list_at:
            yield "    replica_pods: 1"
        yield "    fields:"
        if template.replicas:
            yield f"      spec.replicas: {_path(template.replicas, template)} or {template.default}"
        yield from _template_fields(template)
        yield f"    labels: {{{label}: metadata.name}}"
        yield f"    selects: [{label}]"


def _template_fields(template: Template) -> Iterator[str]:
    at = _path(template.at, template)
    if template.fields is None:
        yield f"      spec.template: {at}"
        return
    yield from (f"      spec.template.spec.{name}: {at}.{name}" for name in template.fields if name != "resources")
    resources = f", 'resources': {at}.resources" if "resources" in template.fields else ""
    yield f"      spec.template.spec.containers: \"[{{'name': 'main'{resources}}}]\""


def _part(template: Template, number: int) -> str:
    return "item.name" if template.list_at else f"'{_part_name(template, number)}'"


def _part_name(template: Template, number: int) -> str:
    """Return the name that the part has in the example: that of its field, ``jobmanager``."""
    steps = [str(step).lower() for step in template.at if step != "spec" and not str(step).endswith("emplate")]
    return "-".join(steps) if steps and not template.list_at else f"part{number}"


def _path(path: Path, template: Template | None = None) -> str:
    steps = ("item", *path) if template is not None and template.list_at else path
    head, *rest = map(str, steps)
    return head + "".join(f".{step}" if step.isidentifier() else f"['{step}']" for step in rest)


def _pods(template: Template) -> dict[str, Any]:
    container: dict[str, Any] = {"name": "main", "image": "registry.example.com/main:1.0"}
    if template.fields is None or "resources" in template.fields:
        container["resources"] = _REQUESTS
    labels = {"app": "example"} if template.fields is None else {}
    return {"metadata": {"labels": labels}, "spec": {"containers": [container]}}


def _resource(shape: Shape) -> dict[str, Any]:
    made: dict[str, Any] = {
        "apiVersion": f"{shape.group}/{shape.versions[0]}",
        "kind": shape.kind,
        "metadata": {"name": "example"},
    }
    for number, template in enumerate(shape.templates):
        held: dict[str, Any] = made
        if template.list_at:
            items = _put(made, template.list_at, [{"name": _part_name(template, number)}])
            held = items[0]
        if template.replicas:
            _put(held, template.replicas, 2)
        if template.fields is None:
            _put(held, template.at, _pods(template))
        elif "resources" in template.fields:
            _put(held, (*template.at, "resources"), _REQUESTS)
    return made


def _put(held: dict[str, Any], path: Path, value: Any) -> Any:
    """Set a value that is not there yet; return what is there then."""
    *way, last = path
    for step in way:
        held = held.setdefault(str(step), {})
    return held.setdefault(str(last), value)


def _plain(shape: Shape, label: str) -> Iterator[dict[str, Any]]:
    single = len(shape.templates) == 1 and not shape.templates[0].list_at
    for number, template in enumerate(shape.templates):
        pods = _pods(template)
        pods["metadata"]["labels"][label] = "example"
        name = "example" if single else f"example-{_part_name(template, number)}"
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
    apart = json.loads(json.dumps(value))  # PyYAML would write a value that stands twice as an anchor and an alias
    return yaml.safe_dump(apart, sort_keys=False, default_flow_style=False)


def remark(text: str) -> str:
    """Return what a user must know about a card that was begun; empty if it is nothing special."""
    if _GUESSED not in text:
        return ""
    return "the schema has no pod template, so the card guesses by the names of fields: check it (docs/workloads.md)"


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


_GUESSED = """
The schema has no pod template. The fields of the card are those that place pods in other operators: check each of
them, the number of pods, and what the operator adds.
"""
_CARD = """\
---
{front}
since: 1.0.0
---
# {slug}

## What it makes

Say which pods the operator of {kind} makes, and what it adds to them. Read its source, and cite it under `operator`.
{guessed}
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
