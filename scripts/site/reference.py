"""The generated parts of the reference as Markdown.

Commands and names of the library are made when the site is built. ``python scripts/site/reference.py`` writes the keys
of the configuration into their page, because people look them up without the site.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import sys
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from msgspec import Struct

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

import kubesched_lint  # noqa: E402
from kubesched_lint.project.config.schema import schema  # noqa: E402
from kubesched_lint.rulebook.library import Rulebook  # noqa: E402

_WIDTH = 100
_KEYS = "<!-- generated: keys, from here to the end of the page -->"
_HERE = re.compile(r"^<!-- The site has it here: .*-->$", re.MULTILINE)


def filled(page: str, text: str) -> str:
    """Return a page of docs/reference with its generated part. Raises KeyError or ValueError for a page without one."""
    parts = {"docs/reference/commands": commands, "docs/reference/library": names}
    before, after = _HERE.split(text)
    return "\n".join((before.rstrip(), "", *parts[page](), after))


def with_keys(text: str) -> str:
    """Return the page of keys with its generated part made anew. Raises ValueError if it has lost the mark."""
    head, mark, _ = text.partition(_KEYS)
    if not mark:
        raise ValueError(f"the page has lost its mark {_KEYS}")
    return "\n".join((head + mark, "", *keys(), ""))


def commands() -> Iterator[str]:
    """Yield the help of every command."""
    from typer.main import get_command

    from kubesched_lint.cli.app import app

    yield from _help(get_command(app), "kubesched-lint", None)


def _help(command: Any, path: str, parent: Any) -> Iterator[str]:
    context = command.make_context(path.split()[-1], [], parent=parent, resilient_parsing=True, terminal_width=_WIDTH)
    yield from ("", f"## {path}", "", "```text", command.get_help(context).rstrip(), "```")
    for name in getattr(command, "list_commands", lambda context: ())(context):
        yield from _help(command.get_command(context, name), f"{path} {name}", context)


def _inner(name: str, key: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the keys of a table, except of rules, whose parameters have a table of their own."""
    yield from () if name == "rules" else key.get("properties", {}).items()


def keys() -> Iterator[str]:
    """Yield a table of the keys of the configuration, and one of the parameters of rules."""
    properties = schema(Rulebook.shipped())["properties"]
    yield from ("| key | value | default | |", "|---|---|---|---|")
    tables = (
        (f"{name}.{inner}", inner_key) for name, key in properties.items() for inner, inner_key in _inner(name, key)
    )
    for name, key in (*((n, k) for n, k in properties.items() if not any(_inner(n, k))), *tables):
        default = _code(json.dumps(key["default"])) if "default" in key else ""
        yield f"| `{name}` | {_value(key)} | {default} | {_cell(key.get('description', ''))} |"
    yield from ("", "## Parameters of rules", "", "In a table `[rules.SLUG]`; every rule also has `severity`.", "")
    yield from ("| rule | parameter | value | default | |", "|---|---|---|---|---|")
    for slug, rule in properties["rules"]["properties"].items():
        for name, key in rule.get("properties", {}).items():
            if name != "severity":
                link = f"[{slug}](../../rules/{slug}.md)"
                default = _code(json.dumps(key.get("default")))
                yield f"| {link} | `{name}` | {_value(key)} | {default} | {_cell(key.get('description', ''))} |"


def _value(key: Mapping[str, Any]) -> str:
    if "enum" in key:
        return ", ".join(f"`{word}`" for word in key["enum"])
    kind = key.get("type", "")
    if kind == "array":
        return f"list of {_value(key['items'])}s"
    words = {"string": "text", "integer": "whole number", "object": "table", "boolean": "`true` or `false`", "": "name"}
    return (
        words.get(kind, str(kind))
        if isinstance(kind, str)
        else " or ".join(_value({"type": each_kind}) for each_kind in kind)
    )


def names() -> Iterator[str]:
    """Yield a section for every exported name, functions first."""
    every = {name: getattr(kubesched_lint, name) for name in kubesched_lint.__all__ if not name.startswith("_")}
    for name, member in sorted(every.items(), key=lambda pair: (inspect.isclass(pair[1]), pair[0].lower())):
        yield from ("", f"## {name}", "", *_signature(name, member), _prose(inspect.getdoc(member) or ""))
        if inspect.isclass(member) and issubclass(member, Struct):
            notes = _notes(member)
            kinds = member.__annotations__
            yield from (
                "",
                *(f"- `{field}`: `{kinds[field]}`{notes.get(field, '')}" for field in member.__struct_fields__),
            )


def _notes(record: type) -> dict[str, str]:
    """Return field → the text below it in the source."""
    (body,) = (node.body for node in ast.parse(inspect.getsource(record)).body if isinstance(node, ast.ClassDef))
    return {
        field.target.id: f". {_prose(' '.join(note.value.value.split()))}"
        for field, note in pairwise(body)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(note, ast.Expr) and isinstance(note.value, ast.Constant) and isinstance(note.value.value, str)
    }


def _signature(name: str, member: Any) -> Iterator[str]:
    """Yield a function's name and parameters, one on a line."""
    if inspect.isclass(member):
        return
    yield from ("```python", f"{name}(")
    may_be_bare = True
    for parameter in inspect.signature(member).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and may_be_bare:
            yield "    *,"
        may_be_bare = parameter.kind is parameter.POSITIONAL_OR_KEYWORD
        star = "*" if parameter.kind is parameter.VAR_POSITIONAL else ""
        default = "" if parameter.default is parameter.empty else f" = {parameter.default!r}"
        yield f"    {star}{parameter.name}: {parameter.annotation}{default},"
    yield from (")", "```", "")


def _prose(docstring: str) -> str:
    return docstring.replace("``", "`")


def _code(text: str) -> str:
    return f"`{_cell(text)}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


if __name__ == "__main__":
    page = ROOT / "docs" / "reference" / "configuration.md"
    page.write_text(with_keys(page.read_text(encoding="utf-8")), encoding="utf-8")
