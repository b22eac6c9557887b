"""Labels and selectors, with the exact rules of apimachinery.

Mirrors ``k8s.io/apimachinery/pkg/labels/selector.go`` (v1.36).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from kubesched_lint.engine.base.partly_compared import PartlyCompared
from kubesched_lint.engine.base.places import Path

Labels = Mapping[str, str]


class Requirement(PartlyCompared, frozen=True):
    """A condition on a label: ``key In (values)``, ``NotIn``, ``Exists``, ``DoesNotExist``, ``Gt`` or ``Lt``."""

    key: str
    operator: str
    values: tuple[str, ...] = ()
    path: Path = ()

    def matches(self, labels: Labels) -> bool:
        """Return whether the condition holds:

        NotIn and DoesNotExist hold for a missing key; Gt and Lt need two integers.
        """
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
        """Return whether it holds for one of the ``values`` that the label may have; empty: any value."""
        if not values:
            return self.operator != "DoesNotExist"
        return any(self.matches({self.key: value}) for value in values)

    def surely_matches(self, values: tuple[str, ...]) -> bool:
        """Return whether it holds for all of the ``values`` that the label may have; empty: any value."""
        if not values:
            return self.operator == "Exists"
        return all(self.matches({self.key: value}) for value in values)


class Selector(PartlyCompared, frozen=True):
    """A LabelSelector: all requirements must hold; an empty one selects everything.

    A *null* selector (absent in the manifest) selects nothing; optional selectors represent it as ``None``.
    """

    requirements: tuple[Requirement, ...] = ()
    path: Path = ()

    def matches(self, labels: Labels) -> bool:
        # A loop, because all() over a generator takes three times as long on the hot path.
        for requirement in self.requirements:  # noqa: SIM110
            if not requirement.matches(labels):
                return False
        return True

    def may_match(self, labels: Labels, varying: Mapping[str, tuple[str, ...]]) -> bool:
        """Return whether it matches some pod with ``labels`` and, for each label of ``varying``, one of its values."""
        return all(r.matches(labels) or (r.key in varying and r.may_match(varying[r.key])) for r in self.requirements)

    def surely_matches(self, labels: Labels, varying: Mapping[str, tuple[str, ...]]) -> bool:
        """Return whether it matches all such pods.

        For a label in both, ``labels`` holds a value that represents the real one.
        """
        return all(
            r.surely_matches(varying[r.key]) if r.key in varying and r.key not in labels else r.matches(labels)
            for r in self.requirements
        )

    @property
    def is_empty(self) -> bool:
        return not self.requirements

    def labels_of_selected(
        self, users: Callable[[tuple[str, str]], int] = lambda label: 0
    ) -> Collection[tuple[str, str]] | None:
        """Return labels of which all that it selects have at least one; None if they may have none.

        Of several such sets of labels it is the one with the fewest ``users``.
        """
        known = [dict.fromkeys((r.key, value) for value in r.values) for r in self.requirements if r.operator == "In"]
        return min(known, key=lambda labels: sum(map(users, labels)), default=None)

    def and_also(self, *more: Requirement) -> Selector:
        """Return the selector with further requirements, without duplicates."""
        fresh = tuple(r for r in more if r not in self.requirements)
        return Selector(self.requirements + fresh, self.path) if fresh else self

    def __str__(self) -> str:
        return ",".join(map(_words, self.requirements)) or "<everything>"


def go_int(text: str) -> int | None:
    """Return ``strconv.ParseInt(text, 10, 64)``: an optional sign and ASCII digits within 64 bits, else None."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit()):
        return None
    digits = digits.lstrip("0") or "0"
    if len(digits) > 19:  # Python refuses to convert more than some thousand digits
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
