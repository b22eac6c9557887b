"""Labels and what selects them, with the exact rules of apimachinery.

Mirrors ``k8s.io/apimachinery/pkg/labels/selector.go`` (v1.36).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from kubesched_lint.findings import Path
from kubesched_lint.record import record

Labels = Mapping[str, str]


@record
class Requirement:
    """One condition on a label: ``key In (values)``, ``NotIn``, ``Exists``, ``DoesNotExist``, ``Gt`` or ``Lt``."""

    key: str
    operator: str
    values: tuple[str, ...] = ()
    path: Path = field(default=(), compare=False)

    def matches(self, labels: Labels) -> bool:
        """NotIn and DoesNotExist hold for a missing key; Gt and Lt need integers on both sides."""
        value = labels.get(self.key)
        match self.operator:
            case "In":
                return value is not None and value in self.values
            case "NotIn":
                return value is None or value not in self.values
            case "Exists":
                return value is not None
            case "DoesNotExist":
                return value is None
            case "Gt" | "Lt":
                if value is None or len(self.values) != 1:
                    return False
                have, want = go_int(value), go_int(self.values[0])
                if have is None or want is None:
                    return False
                return have > want if self.operator == "Gt" else have < want
        return False

    def may_match(self, values: tuple[str, ...]) -> bool:
        """The same for a label that has one of ``values``, or any value where there are none."""
        if not values:
            return self.operator != "DoesNotExist"
        return any(self.matches({self.key: value}) for value in values)

    def surely_matches(self, values: tuple[str, ...]) -> bool:
        """Whether it holds whichever of ``values`` the label has; where there are none, any."""
        if not values:
            return self.operator == "Exists"
        return all(self.matches({self.key: value}) for value in values)


@record
class Selector:
    """A LabelSelector: all requirements must hold; no requirement selects everything.

    A *null* selector (absent in the manifest), which selects nothing, is ``None`` wherever a selector is optional.
    """

    requirements: tuple[Requirement, ...] = ()
    path: Path = field(default=(), compare=False)

    def matches(self, labels: Labels) -> bool:
        # A loop: all() over a generator costs three times as much on the hot path.
        for requirement in self.requirements:  # noqa: SIM110
            if not requirement.matches(labels):
                return False
        return True

    def may_match(self, labels: Labels, varying: Mapping[str, tuple[str, ...]]) -> bool:
        """Whether it matches some of the pods that have ``labels`` and, of each of ``varying``, one of the values."""
        return all(r.matches(labels) or (r.key in varying and r.may_match(varying[r.key])) for r in self.requirements)

    def surely_matches(self, labels: Labels, varying: Mapping[str, tuple[str, ...]]) -> bool:
        """Whether it matches all of them. Of a label in both, ``labels`` has a value that stands for the real one."""
        return all(
            r.surely_matches(varying[r.key]) if r.key in varying and r.key not in labels else r.matches(labels)
            for r in self.requirements
        )

    @property
    def is_empty(self) -> bool:
        return not self.requirements

    def and_also(self, *more: Requirement) -> Selector:
        """The same selector with further requirements, those it already has not repeated."""
        fresh = tuple(r for r in more if r not in self.requirements)
        return Selector(self.requirements + fresh, self.path) if fresh else self

    def __str__(self) -> str:
        return ",".join(map(_words, self.requirements)) or "<everything>"


def go_int(text: str) -> int | None:
    """``strconv.ParseInt(text, 10, 64)``: an optional sign and ASCII digits within 64 bits, else None."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit()):
        return None
    digits = digits.lstrip("0") or "0"
    if len(digits) > 19:  # Python converts no more than some thousand
        return None
    number = -int(digits) if text[0] == "-" else int(digits)
    return number if -(1 << 63) <= number < 1 << 63 else None


def _words(r: Requirement) -> str:
    match r.operator:
        case "In" if len(r.values) == 1:
            return f"{r.key}={r.values[0]}"
        case "In" | "NotIn":
            return f"{r.key} {'in' if r.operator == 'In' else 'notin'} ({','.join(r.values)})"
        case "Exists":
            return r.key
        case "DoesNotExist":
            return f"!{r.key}"
    return f"{r.key}{'>' if r.operator == 'Gt' else '<'}{','.join(r.values)}"
