"""A rule with expressions: ``where`` selects things, ``require`` is the condition that they must meet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from kubesched_lint.engine.base.places import Path
from kubesched_lint.engine.scenario.scenario import Member, Scenario
from kubesched_lint.explaining.remedies.remedy import Remedy
from kubesched_lint.findings import Evidence, Hazard, pattern, policy
from kubesched_lint.rulebook.cel.each import EACH, variables
from kubesched_lint.rulebook.cel.language import PARAM_TYPES, CelExpression, ExpressionError, Language, require_cel
from kubesched_lint.rulebook.cel.object_facts import STRUCTS
from kubesched_lint.rulebook.cel.structs import BOOL, PLAIN, Each, ItemPlace, Show, Uses, View, show_of
from kubesched_lint.sources.manifests.changes import Put, Remove

STANDARD = ("object", "kind", "namespace", "name")
"""Placeholders that every finding fills."""
_A_LINE = 120
_PUT = "put it"
"""Key of the fix's value among a hazard's values; no placeholder can have this name."""
_CONVERT: Mapping[str, Callable[[Any], Any]] = {"double": float, "list(string)": list}


class Texts(Struct, frozen=True):
    """The texts of a card as written. ``values``: placeholder → expression; ``params``: name → type.

    ``at`` is the path from the thing to the field to blame; for a workload from its object, or from its pod spec after
    ``pod``.
    """

    each: str
    require: str
    where: str = ""
    values: Mapping[str, str] = field(default_factory=dict)
    at: Path = ()
    params: Mapping[str, str] = field(default_factory=dict)
    is_policy: bool = True
    put: str = ""
    """The expression for the value that a fix writes at the field to blame."""
    remove: bool = False
    safe: bool = False
    lines: Mapping[Path, int] = field(default_factory=dict)
    """First line of each expression in its card, by its path in the front matter."""


class _Look(NamedTuple):
    """How to build each variable that some expressions read, and which expressions need a cost check."""

    shows: Mapping[str, Show]
    costly: Sequence[CelExpression]


class UnusableError(Exception):
    """An invalid expression, with its path in the front matter."""

    def __init__(self, path: Path, error: ExpressionError) -> None:
        super().__init__(path, error)
        self.path = path
        self.error = error


class ExpressionRule:
    """The check of a card with expressions. Only its texts are pickled; a process compiles them again."""

    def __init__(self, texts: Texts) -> None:
        self._texts = texts
        self._compiled: _Compiled | None = None

    def __reduce__(self) -> tuple[type[ExpressionRule], tuple[Texts]]:
        return ExpressionRule, (self._texts,)

    def __call__(self) -> Callable[..., Iterator[Hazard]]:
        """The check for ``Rule.check``. Raises MissingCelError without the extra."""
        compiled = self._compiled or self.compile()
        return compiled.of_set if EACH[self._texts.each].by_set else compiled.of_workload

    def mender(self) -> Callable[..., Iterator[Remedy]]:
        """The fix for ``Rule.mender``."""
        return self._remedies

    def _remedies(self, hazard: Hazard, *subjects: object) -> Iterator[Remedy]:
        change = Remove(hazard.at) if self._texts.remove else Put(hazard.at, hazard.values[_PUT])
        yield Remedy("", self._texts.safe, (change,))

    def compile(self) -> _Compiled:
        """Compile the expressions. Raises UnusableError for the first invalid one, MissingCelError without CEL."""
        if self._compiled is None:
            require_cel()
            self._compiled = _Compiled(self._texts)
        return self._compiled


class _Compiled:
    def __init__(self, texts: Texts) -> None:
        each = EACH[texts.each]
        self._texts = texts
        self._each = each
        self._params = {name: PARAM_TYPES[kind] for name, kind in texts.params.items()}
        self._language = Language(variables(each), self._params)
        self._where = self._condition(texts.where, "where") if texts.where else None
        self._require = self._condition(texts.require, "require")
        self._values = {name: self._value(text, ("values", name)) for name, text in texts.values.items()}
        if texts.put:
            self._values[_PUT] = self._value(texts.put, ("put",))
        asked, to_show = [self._where] if self._where else [], list(self._values.values())
        self.uses = _joined([*asked, self._require, *to_show])
        self._evidence = _evidence(texts)
        # Only facts that an expression reads are built: the others would take most of the time.
        self._to_pick = _look(each, asked)
        self._to_judge = _look(each, [self._require])
        self._to_show = _look(each, to_show)

    def needs(self) -> Iterator[tuple[str, str]]:
        """Yield (need, fact) for each need that the card must list and the fact that requires it."""
        if self._each.needs:
            yield self._each.needs, f"each: {self._each.name}"
        for struct, names in self.uses.items():
            for name in sorted(names):
                declared = STRUCTS[struct].field(name)
                if declared is not None and declared.needs:
                    yield declared.needs, f"{struct}.{name}"

    def of_workload(self, it: Member, **params: object) -> Iterator[Hazard]:
        yield from self._hazards(View(it.scenario, it.workload), params)

    def of_set(self, scenario: Scenario, **params: object) -> Iterator[Hazard]:
        yield from self._hazards(View(scenario), params)

    def _hazards(self, view: View, params: Mapping[str, object]) -> Iterator[Hazard]:
        given = {name: _CONVERT.get(kind, _same)(params[name]) for name, kind in self._params.items()}
        bare = {f"params.{name}": value for name, value in given.items()}
        for place in self._each.of(view):
            if self._where is not None and not self._where(self._bound(self._to_pick, place, view, bare)):
                continue
            if not self._require(self._bound(self._to_judge, place, view, bare)):
                shown = self._bound(self._to_show, place, view, bare) if self._values else None
                values = {name: value(shown) for name, value in self._values.items()}
                yield Hazard(
                    at=self._blamed(place, view),
                    evidence=self._evidence,
                    values={**given, **values},
                    source=place.source,
                    victim=place.owner,
                )

    def _bound(self, look: _Look, place: ItemPlace, view: View, bare: Mapping[str, Any]) -> Any:
        """The variables of some expressions with their values, after the cost check."""
        values = dict(bare)
        for name, show in look.shows.items():
            if name == self._each.variable:
                values[name] = show(place.subject, view)
            else:
                values[name] = show(view.scenario if name == "cluster" else view.workload, view)
        for expression in look.costly:
            expression.pay(values)
        return self._language.bind(values)

    def _blamed(self, place: ItemPlace, view: View) -> Path:
        at = self._texts.at
        if view.workload is not None and self._each.name == "workload":
            pod = view.workload.pod
            if at[:1] == ("pod",):
                return (*pod.labels_path, *at[2:]) if at[1:2] == ("labels",) else (*pod.path, *at[1:])
            return at or ("metadata", "name")
        return (*place.at, *at)

    def _condition(self, text: str, key: str) -> CelExpression:
        expression = self._compile(text, (key,))
        if expression.type != BOOL:
            raise UnusableError((key,), ExpressionError(f"it yields {_a(expression.type)}, and must be true or false"))
        return expression

    def _value(self, text: str, path: Path) -> CelExpression:
        expression = self._compile(text, path)
        if expression.type not in (*PLAIN, "double"):
            raise UnusableError(path, ExpressionError(f"it yields {_a(expression.type)}, which no message can show"))
        return expression

    def _compile(self, text: str, path: Path) -> CelExpression:
        try:
            line = self._texts.lines.get(path, 0)
            return replace(self._language.compile(text), name=".".join(map(str, path)), line=line)
        except ExpressionError as error:
            raise UnusableError(path, error) from None


def shown_fields(each: str) -> Mapping[str, str]:
    """Placeholder → expression for the plain facts of the thing, which a message may use without ``values``."""
    fields: dict[str, str] = {}
    for variable, struct in variables(EACH[each]).items():
        if variable != "cluster":
            fields |= {f.name: f"{variable}.{f.name}" for f in STRUCTS[struct].fields if not f.struct}
    own = EACH[each]
    fields |= {f.name: f"{own.variable}.{f.name}" for f in STRUCTS[own.struct].fields if not f.struct}
    return {name: text for name, text in fields.items() if name not in STANDARD}


def _joined(expressions: Iterable[CelExpression]) -> Uses:
    """The fields that any of the expressions reads."""
    uses: dict[str, frozenset[str]] = {}
    for expression in expressions:
        for struct, names in expression.uses.items():
            uses[struct] = uses.get(struct, frozenset()) | names
    return uses


def _look(each: Each, expressions: Sequence[CelExpression]) -> _Look:
    uses = _joined(expressions)
    shows = {name: show_of(struct, uses, STRUCTS) for name, struct in variables(each).items() if struct in uses}
    return _Look(shows, [expression for expression in expressions if not expression.cost.is_free])


def _evidence(texts: Texts) -> Evidence:
    line = " ".join(texts.require.split())
    text = f"requires {line}" if len(line) <= _A_LINE else ""
    return policy(text) if texts.is_policy else pattern(text)


def _same(value: Any) -> Any:
    return value


def _a(kind: str) -> str:
    return f"an {kind}" if kind[:1] in "aeiou" else f"a {kind}"
