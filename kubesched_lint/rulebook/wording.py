"""Fill the templates of cards: placeholders, numbers with their nouns, and lists in words.

``{name}`` is a value: a list reads ``a, b and c`` and is cut after six (``… and 14 more``).
``{n|domain}`` is a number with its noun: ``1 domain``, ``3 domains``; ``{n|entry|entries}`` if ``s`` is wrong.
``{n:stays|stay}`` is the word that goes with the number, without the number; ``#`` in it is the number:
``{n:the only node does not match|none of the # nodes matches}``.
``{{`` and ``}}`` are braces; ``{}`` stands for itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sized
from functools import lru_cache

from kubesched_lint.text import LONGEST_LIST, and_others, joined, plural

_PIECE = (
    r"\{\{|\}\}|\{\}|"
    r"\{(?P<name>[a-z_][a-z0-9_]*)(?:(?P<kind>[|:])(?P<one>[^{}|]*)(?:\|(?P<many>[^{}|]*))?)?\}|"
    r"[{}]"
)
_LITERAL = {"{{": "{", "}}": "}", "{}": "{}"}


class WordingError(ValueError):
    """A template is malformed, or uses a value that the check does not give."""


def fill(template: str, values: Mapping[str, object]) -> str:
    """Return the sentence. Raises WordingError for a malformed template or a placeholder without a value."""
    return "".join([piece if isinstance(piece, str) else _value(piece, values) for piece in _pieces(template)])


@lru_cache(maxsize=512)
def _pieces(template: str) -> tuple[str | re.Match[str], ...]:
    """The plain texts and placeholders of a template; cached, because thousands of findings share one template."""
    found: list[str | re.Match[str]] = []
    end = 0
    for piece in re.finditer(_PIECE, template):
        text = piece.group()
        found.append(template[end : piece.start()])
        end = piece.end()
        if piece["name"] is not None:
            found.append(piece)
        elif text in _LITERAL:
            found.append(_LITERAL[text])
        else:
            raise WordingError(f"a single {text} in the template {template!r}; write {text}{text} for a brace")
    return (*found, template[end:])


def _value(piece: re.Match[str], values: Mapping[str, object]) -> str:
    name = piece["name"]
    if name not in values:
        raise WordingError(f"the check gives no value for {{{name}}}; it gives {listed(sorted(values), 99)}")
    if piece["kind"] is None:
        return words(values[name])
    return _counted(_count(values[name], name), piece)


def placeholders(template: str) -> Iterator[str]:
    """Yield the names in a template, in order. Raises WordingError for a malformed one."""
    for piece in re.finditer(_PIECE, template):
        if piece["name"] is not None:
            if piece["kind"] == ":" and piece["many"] is None:
                raise WordingError(f"{piece.group()} needs two words, as in {{n:stays|stay}}")
            yield piece["name"]
        elif piece.group() not in _LITERAL:
            raise WordingError(f"a single {piece.group()} at {piece.start() + 1}; write it twice for a brace")


def words(value: object) -> str:
    """A value as readable text: text and numbers unchanged, mappings as ``key: value``, the rest as a list."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return listed(f"{key}: {words(item)}" for key, item in value.items())
    if isinstance(value, (set, frozenset)):
        return listed(sorted(words(item) for item in value))
    if isinstance(value, Iterable):
        return listed(value)
    return str(value)


def listed(items: Iterable[object], longest: int = LONGEST_LIST) -> str:
    """``a, b and c``; for a long list the first ``longest`` and the number of the others; ``none`` for an empty one."""
    every = list(items)
    if not every:
        return "none"
    # "and 1 more" is no shorter than the one it hides.
    shown = [words(item) for item in (every[:longest] if len(every) > longest + 1 else every)]
    if len(every) > longest + 1:
        return and_others(shown, len(every) - longest)
    return joined(shown)


def _count(value: object, name: str) -> int:
    if isinstance(value, int):
        return value
    if isinstance(value, Sized) and not isinstance(value, str):
        return len(value)
    raise WordingError(f"{{{name}|…}} needs a number or a list, not {value!r}")


def _counted(count: int, piece: re.Match[str]) -> str:
    one, many = piece["one"], piece["many"]
    if piece["kind"] == "|":
        return f"{count} {plural(count, one, many)}"
    if many is None:
        raise WordingError(f"{piece.group()} needs two words, as in {{n:stays|stay}}")
    return plural(count, one, many).replace("#", str(count))
