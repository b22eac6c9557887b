"""Fill the templates of cards: placeholders, numbers with their nouns, and lists in words.

``{name}`` is a value: a list reads ``a, b and c`` and is cut after three (``a, b, c and 14 more``).
``{n|node}`` is a number with its noun: ``1 node``, ``3 nodes``; ``{n|entry|entries}`` if ``s`` is wrong.
``{nodes~node}`` is the names of a list if there are at most three, else their number: ``5 nodes``.
``{n:stays|stay}`` is the word that goes with the number, without the number; ``#`` in it is the number:
``{n:the only node does not match|none of the # nodes matches}``.
``{pending of replicas}`` is the subject of most messages: ``2 of 3 pods of Deployment shop/web``, ``3 pods of …`` if it
is all of them, or the Pod itself.
``@key`` in place of a noun is what people call the topology key ``key``: ``{@key}`` reads ``zone``, ``node`` or ``value
of rack``, and ``{n|@key}`` ``3 zones``; ``@@key`` is the plural.
``{{`` and ``}}`` are braces; ``{}`` stands for itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sized
from functools import lru_cache

from kubesched_lint.engine.base.text import SHOWN, first_few, joined, many, plural
from kubesched_lint.engine.model.nodes.node import domain_word

_PIECE = (
    r"\{\{|\}\}|\{\}|"
    r"\{(?P<name>[a-z_][a-z0-9_]*)(?:(?P<kind>[|:~]| of )(?P<one>[^{}|]*)(?:\|(?P<many>[^{}|]*))?)?\}|"
    r"\{@(?P<many_of>@?)(?P<key>[a-z_]+)\}|"
    r"[{}]"
)
_NOUN = r"@(@?)([a-z_]+)"
_LITERAL = {"{{": "{", "}}": "}", "{}": "{}"}


class WordingError(ValueError):
    """A template is malformed, or uses a value that the check does not give."""


def fill(template: str, values: Mapping[str, object]) -> str:
    """Return the sentence. Raises WordingError for a malformed template or a placeholder without a value."""
    return "".join([piece if isinstance(piece, str) else _value(piece, values) for piece in _pieces(template)])


@lru_cache(maxsize=512)
def _pieces(template: str) -> tuple[str | re.Match[str], ...]:
    """The plain texts and placeholders of a template; cached, because thousands of findings share one template."""
    pieces: list[str | re.Match[str]] = []
    end = 0
    for piece in re.finditer(_PIECE, template):
        text = piece.group()
        pieces.append(template[end : piece.start()])
        end = piece.end()
        if piece["name"] is not None or piece["key"] is not None:
            pieces.append(piece)
        elif text in _LITERAL:
            pieces.append(_LITERAL[text])
        else:
            raise WordingError(f"a single {text} in the template {template!r}; write {text}{text} for a brace")
    return (*pieces, template[end:])


def _value(piece: re.Match[str], values: Mapping[str, object]) -> str:
    name, kind = piece["name"], piece["kind"]
    if name is None:
        return domain_word(str(_given(piece["key"], values)), 2 if piece["many_of"] else 1)
    value = _given(name, values)
    if kind is None:
        return words(value)
    if kind == " of ":
        return _subject(_count(value, name), _count(_given(piece["one"], values), piece["one"]), values)
    if kind == "~" and not isinstance(value, int) and _count(value, name) <= SHOWN:
        return words(value)
    return _nouns(_counted(_count(value, name), piece), _count(value, name), values)


def _given(name: str, values: Mapping[str, object]) -> object:
    if name not in values:
        raise WordingError(f"the check gives no value for {{{name}}}; it gives {listed(sorted(values), 99)}")
    return values[name]


def _subject(some: int, every: int, values: Mapping[str, object]) -> str:
    """Return ``2 of 3 pods of Deployment shop/web``; one pod that no controller makes has only its own name.

    Nobody writes the replicas of a DaemonSet: where no check counted them, all its pods are meant.
    """
    whose = words(_given("object", values))
    if values.get("kind") == "Pod":
        return whose
    if values.get("kind") == "DaemonSet" and not every:
        return f"the pods of {whose}"
    return f"{many(every, 'pod')} of {whose}" if some == every else f"{some:,} of {many(every, 'pod')} of {whose}"


def _nouns(text: str, count: int, values: Mapping[str, object]) -> str:
    """Return the text with the usual word of a topology key in place of each ``@key``."""
    if "@" not in text:
        return text
    return re.sub(_NOUN, lambda noun: domain_word(str(_given(noun[2], values)), 2 if noun[1] else count), text)


def placeholders(template: str) -> Iterator[str]:
    """Yield the names in a template, in order. Raises WordingError for a malformed one."""
    for piece in re.finditer(_PIECE, template):
        if piece["name"] is not None:
            if piece["kind"] == ":" and piece["many"] is None:
                raise WordingError(f"{piece.group()} needs two words, as in {{n:stays|stay}}")
            yield piece["name"]
            if piece["kind"] == " of ":
                yield piece["one"]
        elif piece["key"] is not None:
            yield piece["key"]
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


def listed(items: Iterable[object], longest: int = SHOWN) -> str:
    """``a, b and c``; for a long list the first ``longest`` and the number of the others; ``none`` for an empty one."""
    every = [words(item) for item in items]
    if not every:
        return "none"
    return joined(every) if len(every) <= longest else first_few(every, most=longest)


def _count(value: object, name: str) -> int:
    if isinstance(value, int):
        return value
    if isinstance(value, Sized) and not isinstance(value, str):
        return len(value)
    raise WordingError(f"{{{name}|…}} needs a number or a list, not {value!r}")


def _counted(count: int, piece: re.Match[str]) -> str:
    singular, more = piece["one"], piece["many"]
    if piece["kind"] != ":":
        return f"{count} {plural(count, singular, singular if more is None and singular.startswith('@') else more)}"
    if more is None:
        raise WordingError(f"{piece.group()} needs two words, as in {{n:stays|stay}}")
    return plural(count, singular, more).replace("#", str(count))
