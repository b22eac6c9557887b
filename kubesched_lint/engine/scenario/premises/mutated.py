"""What webhooks, VPA and policy engines add to the pods of the manifests, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from kubesched_lint.engine.base.places import ObjectRef
from kubesched_lint.engine.base.text import first_few, joined, many
from kubesched_lint.engine.cluster.pods.mutations import Mutation
from kubesched_lint.engine.model.quantity import show
from kubesched_lint.engine.scenario.scenario import Scenario


class Mutated(Struct, frozen=True):
    """A workload whose pods differ from its manifest."""

    object: ObjectRef
    mutation: Mutation
    larger: Mapping[str, int]
    """Resource → what each pod requests more than its manifest says; negative: less."""

    @property
    def size(self) -> str:
        """``250m cpu and 64Mi memory larger than its manifest``; empty if it is as large."""
        parts = [
            f"{joined([f'{show(r, abs(n))} {r}' for r, n in self.larger.items() if (n > 0) is more])} {word}"
            for more, word in ((True, "larger"), (False, "smaller"))
            if any((n > 0) is more for n in self.larger.values())
        ]
        return f"{joined(parts)} than its manifest" if parts else ""

    @property
    def text(self) -> str:
        what = f"{self.size or 'not as its manifest says'}: {first_few(self.mutation.names)}"
        return f"{what}, as the pods of {first_few(self.mutation.others)}" if self.mutation.others else what


def mutated(scenario: Scenario) -> Iterator[Mutated]:
    """Yield the workloads of the manifests whose pods webhooks change."""
    for workload in scenario.manifests.workloads:
        mutation = scenario.mutation_of(workload)
        if mutation is None or not mutation.names:
            continue
        admission = scenario.admission
        written = admission.stored(workload.pod, source=workload.source).requests
        stored = admission.stored(admission.pod_of(workload), source=workload.source).requests
        every = dict.fromkeys((*stored, *written))
        larger = {name: stored.get(name, 0) - written.get(name, 0) for name in every}
        yield Mutated(workload.ref, mutation, {name: more for name, more in larger.items() if more})


def mutation_notes(scenario: Scenario) -> Iterator[str]:
    """Yield what is counted that no manifest says, each once, and what is not counted."""
    alike: dict[str, list[Mutated]] = {}
    for mutated_workload in mutated(scenario):
        alike.setdefault(mutated_workload.text, []).append(mutated_workload)
    for text, sharing in alike.items():
        names = [mutated_workload.object.title for mutated_workload in sharing]
        whose = first_few(names) if len(names) == 1 else f"{many(len(names), 'workload')} ({first_few(names)})"
        yield f"each pod of {whose} is {text}"
    uncounted = {
        w.ref.title: mutation.uncounted
        for w in scenario.manifests.workloads
        if (mutation := scenario.mutation_of(w)) is not None
    }
    fields = list(dict.fromkeys(name for names in uncounted.values() for name in names))
    if fields:
        whose = first_few([name for name, changed_fields in uncounted.items() if changed_fields])
        yield f"something changes {first_few(fields)} in the pods of {whose}, which is not counted"
