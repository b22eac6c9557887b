"""The lint pipeline with its rules in parts, which several processes may run at the same time.

A part is the rules about the whole set, or all rules about some workloads; later, the attempts to refute some errors.
What the parts find is put in the order in which one process finds it. Caches do not go from one process to another, so
the parts together count at least as many steps of ``work`` as one process. If half of the limit suffices for them, and
nothing in them reached a limit, then one process reaches none either, and finds the same. Otherwise one process runs
all rules.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property
from io import BytesIO
from typing import Any, Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from kubesched_lint import work
from kubesched_lint.cluster.cluster import Cluster
from kubesched_lint.findings import InputError, Report, Skip
from kubesched_lint.linter.applies import Carriers, lacking, rests_on_nodes
from kubesched_lint.linter.judged import Judged
from kubesched_lint.linter.lint import LEAST_STEPS, Run, concluded, lint, most_steps
from kubesched_lint.linter.options import Options
from kubesched_lint.linter.reading import ManifestSet
from kubesched_lint.manifests.document import Document
from kubesched_lint.model.workload import Workload
from kubesched_lint.rulebook.library import Rule
from kubesched_lint.world.world import World

T = TypeVar("T")

_LARGEST, _SMALLEST = 8, 96
"""A part is so much of what is left (an eighth), but not less than so much of all."""

FEWEST_ERRORS = 40
"""Fewest errors that several processes try to refute: starting them takes as long as some dozen attempts."""


class _DiffersError(Exception):
    """One process might find something else than the parts."""


class Found(Struct, frozen=True):
    """What a rule says of a part."""

    judged: Sequence[Judged]
    skipped: Sequence[Skip]
    failed: Mapping[str, InputError]
    unreported: Mapping[str, set[object]]
    steps: float


_OfPart = Mapping[str, Found]
"""Rule → what it says of the part; rules that say nothing and cost nothing are left out."""


class Share(Protocol):
    """Yields the results of so many parts in order; results of other processes go through the last two functions."""

    def __call__(
        self, count: int, do: Callable[[int], T], dumps: Callable[[T], bytes], loads: Callable[[bytes], T]
    ) -> Iterator[T]: ...


def lint_in_parts(
    manifests: ManifestSet, cluster: Cluster | None, options: Options, rules: Sequence[Rule], share: Share
) -> tuple[Report, tuple[Judged, ...]]:
    """Return what ``linter.lint.lint`` returns. Copies of one object are judged by one process."""
    if manifests.inventory.has_duplicates:
        return lint(manifests, cluster, options, rules)
    before = work.limits_reached()
    try:
        with work.within(most_steps(manifests) / 2):
            found = concluded(_RunInParts(manifests, options, share, rules), cluster, rules)
            if work.limits_reached() == before:
                return found
    except (_DiffersError, work.OutOfWorkError):
        pass
    # What the parts have cached would save steps: one process begins without it.
    fresh = replace(manifests, inventory=replace(manifests.inventory))
    return lint(fresh, None if cluster is None else replace(cluster), options, rules)


class _RunInParts(Run):
    """Runs the rules about workloads and sets when the first of them is asked for."""

    def __init__(self, manifests: ManifestSet, options: Options, share: Share, rules: Iterable[Rule]) -> None:
        super().__init__(manifests, options, {})
        self._share = share
        self._rules = [rule for rule in rules if rule.each in ("workload", "set")]
        self._known: dict[int, Mapping[str, Sequence[Found]]] = {}
        """``id`` of a world → what each rule says in it, part by part."""
        self._steps_of_sets = 0.0

    def today(self, rules: Iterable[Rule], world: World, cluster: Cluster) -> None:
        self._rules = [rule for rule in self._rules if rests_on_nodes(rule)]
        super().today(rules, world, cluster)

    def _run_rule(self, rule: Rule, world: World) -> None:
        if rule.each not in ("workload", "set") or not self._is_one_set:
            super()._run_rule(rule, world)
            return
        if id(world) not in self._known:
            self._known[id(world)] = self._found_in(world)
        steps = self._steps_of_sets
        (of_set,) = self._sets_for(rule)
        for found in self._known[id(world)].get(rule.slug, ()):
            for judged in found.judged:
                self._keep(judged, of_set)
            self.skipped.update(dict.fromkeys(found.skipped))
            for key, error in found.failed.items():
                self.failed.setdefault(key, error)
            for which, identities in found.unreported.items():
                self._unreported.setdefault(which, set()).update(identities)
            steps += found.steps
        if steps > work.share(LEAST_STEPS):
            raise _DiffersError

    def refuting(self, errors: Sequence[Judged], world: World) -> Iterator[str]:
        if len(errors) < FEWEST_ERRORS:
            yield from super().refuting(errors, world)
            return
        from kubesched_lint.linter.refuting import Attempts

        all_of_them, begun = Attempts(lambda one: self.world_of(one, world)), []
        for one in errors:
            with work.within(work.share(0)):
                begun.append(all_of_them.begun(one))
        parts = list(_parts(tuple(begun)))

        def do(number: int) -> tuple[Sequence[str], float]:
            found, steps = [], 0.0
            for attempt in parts[number]:
                with work.within(work.share(0)) as share:
                    found.append(all_of_them.ended(attempt))
                steps += share.spent
            return found, steps

        def loads(answer: bytes) -> tuple[Sequence[str], float]:
            found: tuple[Sequence[str], float] = pickle.loads(answer)
            work.spend(int(found[1]))
            return found

        for found, _ in self._share(len(parts), do, pickle.dumps, loads):
            yield from found

    @cached_property
    def _is_one_set(self) -> bool:
        """Whether there are no alternatives. In one process the first rule that asks pays for the answer."""
        with work.within(work.share(LEAST_STEPS)) as share:
            found = len(self.sets) == 1
        self._steps_of_sets = share.spent
        return found

    def _found_in(self, world: World) -> Mapping[str, Sequence[Found]]:
        rules = [rule for rule in self._rules if not lacking(rule, world)]
        workloads = self.manifests.inventory.workloads
        of_set, of_workloads = ([rule for rule in rules if rule.each == each] for each in ("set", "workload"))
        # The rules about the set are one part, because they share caches.
        parts = [(of_set, workloads), *((of_workloads, part) for part in _parts(workloads))]
        before = work.limits_reached()

        def do(number: int) -> _OfPart:
            found = self._of_part(*parts[number], world)
            if work.limits_reached() > before:
                raise _DiffersError
            return found

        def loads(answer: bytes) -> _OfPart:
            found = by_number.loads(answer)
            work.spend(int(sum(of_rule.steps for of_rule in found.values())))
            return found

        sources = [workload.source for workload in workloads]  # those of custom resources are not among the documents
        together: dict[str, list[Found]] = {}
        by_number = _ByNumber([*self.manifests.documents, *sources, *workloads, *rules])
        for part in self._share(len(parts), do, by_number.dumps, loads):
            for slug, found in part.items():
                together.setdefault(slug, []).append(found)
        return together

    def _of_part(self, rules: Sequence[Rule], workloads: Sequence[Workload], world: World) -> _OfPart:
        found = {}
        part = copy(self)
        part._carriers = Carriers(workloads)
        for rule in rules:
            part.judged, part.skipped, part.failed, part.costs = [], {}, {}, {}
            part._homes, part._unreported = {}, {}
            Run._run_rule(part, rule, world)
            steps = part.costs[rule.slug]
            if steps or part.judged or part.skipped or part.failed or part._unreported:
                found[rule.slug] = Found(part.judged, tuple(part.skipped), part.failed, part._unreported, steps)
        return found


def _parts(items: tuple[T, ...]) -> Iterator[tuple[T, ...]]:
    """Yield parts that become smaller, so that no process waits long for the last one."""
    begin = 0
    while begin < len(items):
        size = max((len(items) - begin) // _LARGEST, len(items) // _SMALLEST) + 1
        yield items[begin : begin + size]
        begin += size


class _ByNumber:
    """Pickles the objects of the set as numbers, so that they are the same objects in every process."""

    def __init__(self, objects: Sequence[object]) -> None:
        self._objects = objects
        self._numbers = {id(each): number for number, each in enumerate(objects)}

    def dumps(self, found: _OfPart) -> bytes:
        """Raises KeyError for a document, a workload, a rule or a place that is not in the set."""
        for source in (one.hazard.source for of_rule in found.values() for one in of_rule.judged):
            if source is not None and id(source) not in self._numbers:
                raise KeyError(source)
        stream = BytesIO()
        pickler = pickle.Pickler(stream, pickle.HIGHEST_PROTOCOL)
        # Called for these types alone; ``persistent_id`` is called for every string and takes longer than all the rest.
        pickler.dispatch_table = dict.fromkeys((Document, Workload, Rule), self._as_number)
        pickler.dump(found)
        return stream.getvalue()

    def loads(self, answer: bytes) -> _OfPart:
        found: _OfPart = _Unpickler(answer, self._objects).load()
        return found

    def _as_number(self, given: object) -> tuple[Callable[[int], object], tuple[int]]:
        return _numbered, (self._numbers[id(given)],)


def _numbered(number: int) -> object:
    """Stand in a pickle for the objects, of which each process has its own."""
    raise NotImplementedError


class _Unpickler(pickle.Unpickler):
    def __init__(self, answer: bytes, objects: Sequence[object]) -> None:
        super().__init__(BytesIO(answer))
        self._objects = objects

    def find_class(self, module: str, name: str) -> Any:
        return self._objects.__getitem__ if name == _numbered.__name__ else super().find_class(module, name)
