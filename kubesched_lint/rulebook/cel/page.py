"""docs/facts.md, made of the facts themselves: ``python -m kubesched_lint.rulebook.cel.page`` writes it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path as File

from kubesched_lint.rulebook.cel.each import EACH, variables
from kubesched_lint.rulebook.cel.object_facts import STRUCTS
from kubesched_lint.rulebook.cel.structs import Field

_HEAD = """\
# The facts that expressions may read

Generated from `kubesched_lint/rulebook/cel/facts.py` by `python -m kubesched_lint.rulebook.cel.page`; never edit it.
How to write a rule: [own-rules.md](own-rules.md).

Every fact has a type and is always there: what a manifest does not write is the API server's default, else an empty
text, list or map, 0, or what the table says. Nothing is null, so `has()` is for keys of maps only. A misspelt fact, or
a comparison of two types, is refused when the rule is loaded. A fact with an entry under *needs* is known only when
that is: a card that reads it lists it among its own `needs`, and is skipped, and counted as skipped, where it is
missing.

## What a rule looks at

`each` names it; the expressions then know the variables beside it, and `params.<name>` for each parameter of the card.

"""
_TYPES = """\
## Types and functions

CEL as [the language defines it](https://github.com/google/cel-spec/blob/master/doc/langdef.md), with its macros `has`,
`all`, `exists`, `exists_one`, `filter` and `map`, and one function of ours: `map.get(key, otherwise)`.

| write | get |
|---|---|
| `workload.labels["team"]`, `workload.labels.team` | the label; an error of the rule where it is not there |
| `workload.labels.get("team", "")` | the label, or what you say where it is not there |
| `"team" in workload.labels`, `has(workload.labels.team)` | whether it is there |
| `size(pod.tolerations)`, `pod.tolerations.exists(t, t.key == "a")` | lists |
| `workload.name.startsWith("canary-")`, `.matches("^a.*")` | text; patterns are RE2, so none takes for ever |
| `params.classes`, `pod.priority_class in params.classes` | a parameter; `number` is a double, `strings` a list |
| `double(workload.replicas) * 1.5 > 3.0` | an int and a double are never mixed without saying so |

A parameter, or a value of `values`, must be text, a number, true or false, or a list or map of these.

"""


def page() -> str:
    """The whole page."""
    return _HEAD + "".join(_each()) + "\n" + _TYPES + "".join(_structs())


def _each() -> Iterator[str]:
    yield "| `each` | is about | variables | needs |\n|---|---|---|---|\n"
    for each in EACH.values():
        names = ", ".join(f"`{name}`: [{struct}](#{struct.lower()})" for name, struct in variables(each).items())
        yield f"| `{each.name}` | {each.about} | {names} | {_code(each.needs)} |\n"


def _structs() -> Iterator[str]:
    for struct in STRUCTS.values():
        yield f"## {struct.name}\n\n{struct.about}\n\n| fact | type | needs | |\n|---|---|---|---|\n"
        yield from (_row(field) for field in struct.fields)
        yield f"\n```text\n{struct.example}\n```\n\n"


def _row(field: Field) -> str:
    return f"| `{field.name}` | {_type(field)} | {_code(field.needs)} | {field.about} |\n"


def _type(field: Field) -> str:
    if not field.struct:
        return f"`{field.type}`"
    link = f"[{field.struct}](#{field.struct.lower()})"
    return f"list of {link}" if field.is_list else link


def _code(needs: str) -> str:
    return f"`{needs}`" if needs else ""


def main() -> None:
    target = File(__file__).parents[3] / "docs" / "facts.md"
    target.write_text(page(), encoding="utf-8")
    print(f"{target} written")


if __name__ == "__main__":
    main()
