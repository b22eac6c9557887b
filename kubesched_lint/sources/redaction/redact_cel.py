"""Replace the names in selectors of devices, so that a selector still chooses the devices that it chose.

A selector that only compares texts for equality works on pseudonyms. One that looks into a text (``startsWith``,
``matches``, ``semver``, an order of texts) *examines* the attributes that it names: their values must stay readable,
and so must the texts that other selectors compare them with. Names of drivers, domains and attributes never stay.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

from msgspec import Struct

from kubesched_lint.sources.redaction.open_words import is_amount, words

UNREADABLE = "redacted()"
"""Stands for an expression that no pseudonyms can replace: no CEL compiles it, so what it selects is unknown."""
_TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*)|(?P<space>\s+)"""
    r"""|(?P<text>[rRbB]{0,2}(?:\"{3}[\s\S]*?\"{3}|'{3}[\s\S]*?'{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'))"""
    r"""|(?P<word>[A-Za-z_][A-Za-z0-9_]*)|(?P<number>[0-9][0-9a-fA-FxXuU.]*(?:[eE][+-]?[0-9]+)?)"""
    r"""|(?P<sign>[=!<>]=|&&|\|\||[-+*/%<>!?:.,()\[\]{}])|(?P<odd>.)"""
)
_PLAIN_TEXT = re.compile(r"""(["'])([^"'\\]*)\1""")
_MACROS = words("exists exists_one all map filter transformList transformMap")
_EQUAL_ONLY = _MACROS | words(
    "has quantity isQuantity compareTo isGreaterThan isLessThan isInteger asInteger asApproximateFloat sign add sub "
    "bind optMap optFlatMap orValue or hasValue value of ofNonZeroValue none dyn bool"
)
"""Functions that give the same for names and for their pseudonyms."""
_EXAMINING = words(
    "startsWith endsWith contains matches find findAll indexOf lastIndexOf lowerAscii upperAscii substring replace "
    "split join trim charAt size string int uint double type semver isSemver major minor patch includes isSorted min "
    "max sum reverse sort distinct first last flatten format"
)
_COMPARISONS = words("compareTo isGreaterThan isLessThan")
_AMOUNTS = words("quantity isQuantity")
_VARIABLES = words("device true false null in cel optional")
_FIELDS = words("driver attributes capacity allowMultipleAllocations")
_MAPS = ("attributes", "capacity")
_ORDERS = frozenset(["<", ">", "<=", ">=", "+"])


class _UnreadableError(Exception):
    """The expression has something that pseudonyms cannot replace."""


class _Token(Struct, frozen=True):
    kind: str
    text: str
    lead: str = ""
    """The space before it; a comment is one, too."""

    def is_sign(self, *signs: str) -> bool:
        return self.kind == "sign" and self.text in signs


_END = _Token("end", "")


def _tokens(text: str) -> Iterator[_Token]:
    lead = ""
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or ""
        if kind in ("space", "comment"):
            lead = " "
        else:
            yield _Token(kind, match[0], lead)
            lead = ""


class Expressions:
    """Redacts selectors with ``name``; every selector must be noticed before the first is redacted."""

    def __init__(self, name: Callable[[str], str]) -> None:
        self._name = name
        self._known: dict[str, Expression | None] = {}

    def notice(self, text: str) -> None:
        if text not in self._known:
            try:
                self._known[text] = Expression(text)
            except _UnreadableError:
                self._known[text] = None

    @cached_property
    def _examined(self) -> frozenset[str]:
        """The attributes whose values stay, by name without domain."""
        left = [each for each in self._known.values() if each is not None and not each.reaches_any]
        names: frozenset[str] = frozenset()
        while more := [each for each in left if each.examines or each.names & names]:
            names = names.union(*(each.names for each in more))
            left = [each for each in left if each not in more]
        return names

    def stays(self, attribute: str) -> bool:
        """Return whether the value of an attribute stays readable."""
        return attribute.rpartition("/")[2] in self._examined

    def redacted(self, text: str) -> str:
        """Return the expression with its names replaced; ``UNREADABLE`` if that is impossible."""
        self.notice(text)
        expression = self._known[text]
        if expression is None or (expression.reaches_any and (expression.examines or self._examined)):
            return UNREADABLE
        try:
            return expression.redacted(self._name, reads=expression.examines or bool(expression.names & self._examined))
        except _UnreadableError:
            return UNREADABLE


class Expression:
    """The tokens of one selector. Raises _UnreadableError for what no selector of devices contains."""

    def __init__(self, text: str) -> None:
        self._tokens = list(_tokens(text))
        called = set(self._called())
        if (
            any(t.kind == "odd" for t in self._tokens)
            or called - _EQUAL_ONLY - _EXAMINING
            or not self._is_about_a_device()
        ):
            raise _UnreadableError
        self.examines = bool(called & _EXAMINING) or any(map(self._compares_texts, range(len(self._tokens))))
        """It looks into texts."""
        self.reaches_any = bool(called & _MACROS) or self._has_computed_index()
        """A macro or a computed index reaches attributes that it does not name: no text tells a name from a value."""
        self.names = frozenset(self._attributes())
        """The attributes that it names, without domain."""

    def redacted(self, name: Callable[[str], str], *, reads: bool) -> str:
        """Return the expression; with ``reads``, texts that stand for values stay. Raises _UnreadableError."""
        if reads and any(self._is_driver(i) and not self._has_plain_driver(i) for i in range(len(self._tokens))):
            raise _UnreadableError
        return "".join(t.lead + self._shown(i, name, reads=reads) for i, t in enumerate(self._tokens))

    def _shown(self, i: int, name: Callable[[str], str], *, reads: bool) -> str:
        token = self._tokens[i]
        if token.kind == "word":
            return token.text if self._is_open_word(i) else name(token.text)
        if token.kind != "text" or (self._is_amount(i) and is_amount(token.text[1:-1])):
            return token.text
        if reads and not self._is_name(i):
            return token.text
        plain = _PLAIN_TEXT.fullmatch(token.text)
        if plain is None:
            raise _UnreadableError
        return f'"{name(plain[2])}"'

    # --- what a token is ---------------------------------------------------------------------------------------------

    def _at(self, i: int) -> _Token:
        return self._tokens[i] if 0 <= i < len(self._tokens) else _END

    def _called(self) -> Iterator[str]:
        for i, token in enumerate(self._tokens):
            if token.kind == "word" and self._at(i + 1).is_sign("("):
                yield token.text

    def _is_about_a_device(self) -> bool:
        texts = [t.text for t in self._tokens if t.kind == "word"]
        return "device" in texts or texts in (["true"], ["false"])

    def _is_open_word(self, i: int) -> bool:
        word = self._tokens[i].text
        if self._at(i + 1).is_sign("("):
            return True
        return self._is_device_field(i) if self._is_selected(i) else word in _VARIABLES

    def _is_selected(self, i: int) -> bool:
        """Return whether a word follows a dot: ``.name`` or ``.?name``."""
        return self._at(i - 1).is_sign(".") or (self._at(i - 1).is_sign("?") and self._at(i - 2).is_sign("."))

    def _is_device_field(self, i: int) -> bool:
        at = i - 2 if self._at(i - 1).is_sign(".") else i - 3
        return self._tokens[i].text in _FIELDS and self._at(at).text == "device" and not self._is_selected(at)

    def _is_driver(self, i: int) -> bool:
        return self._tokens[i].text == "driver" and self._is_selected(i) and self._is_device_field(i)

    def _is_amount(self, i: int) -> bool:
        return self._at(i - 1).is_sign("(") and self._at(i - 2).text in _AMOUNTS

    def _is_index(self, i: int) -> bool:
        """Return whether a bracket opens an index and not a list."""
        before = self._at(i - 1)
        is_operand = before.kind == "word" and (before.text not in _VARIABLES or before.text == "device")
        return self._at(i).is_sign("[") and (is_operand or before.is_sign("]", ")"))

    def _is_key(self, i: int) -> bool:
        """Return whether a text is a whole index: ``["text"]`` or ``[?"text"]``."""
        start = i - 2 if self._at(i - 1).is_sign("?") else i - 1
        return self._tokens[i].kind == "text" and self._is_index(start) and self._at(i + 1).is_sign("]")

    def _is_name(self, i: int) -> bool:
        """Return whether a text stands for a driver, a domain or a name of an attribute."""
        following = [self._at(i + n).text for n in range(1, 5)]
        is_asked = following[:3] == ["in", "device", "."] and following[3] in _MAPS
        return self._is_key(i) or is_asked or i in self._driver_texts

    @cached_property
    def _driver_texts(self) -> frozenset[int]:
        """Positions of texts that ``device.driver`` is compared with."""
        return frozenset(j for i in range(len(self._tokens)) if self._is_driver(i) for j in self._compared_with(i))

    def _has_plain_driver(self, i: int) -> bool:
        return bool(list(self._compared_with(i)))

    def _compared_with(self, i: int) -> Iterator[int]:
        """Yield the texts beside ``device.driver``: its operand of == or !=, or the list after ``in``."""
        if self._at(i + 1).is_sign("==", "!=") and self._at(i + 2).kind == "text":
            yield i + 2
        elif self._at(i - 3).is_sign("==", "!=") and self._at(i - 4).kind == "text":
            yield i - 4
        elif self._at(i + 1).text == "in" and self._at(i + 2).is_sign("["):
            j = i + 3
            while self._at(j).kind == "text" or self._at(j).is_sign(","):
                if self._at(j).kind == "text":
                    yield j
                j += 1

    def _compares_texts(self, i: int) -> bool:
        """Return whether an order or a sum may be one of texts: no operand beside it is a number or a quantity."""
        if self._tokens[i].text in _COMPARISONS and self._at(i + 1).is_sign("("):
            return self._at(i + 2).text != "quantity"
        sides: Sequence[_Token] = (self._at(i - 1), self._at(i + 1))
        if sides[1].is_sign("-"):
            sides = (sides[0], self._at(i + 2))
        return self._tokens[i].is_sign(*_ORDERS) and not any(side.kind == "number" for side in sides)

    def _has_computed_index(self) -> bool:
        for i in range(len(self._tokens)):
            at = i + 2 if self._at(i + 1).is_sign("?") else i + 1
            if self._is_index(i) and not (self._at(at).kind == "text" and self._is_key(at)):
                return True
        return False

    def _attributes(self) -> Iterator[str]:
        for i, token in enumerate(self._tokens):
            if token.kind == "word" and not self._is_open_word(i):
                yield token.text
            elif token.kind == "text" and self._is_key(i):
                yield token.text.strip("\"'").rpartition("/")[2]
