"""Each workload fits alone, but together they do not."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.base.text import many
from kubesched_lint.engine.placing.together.joint import contradictions
from kubesched_lint.engine.scenario.scenario import Scenario
from kubesched_lint.explaining.crowding.contradictions import proof_of, values_of
from kubesched_lint.explaining.sizes.replicas import line_of_replicas
from kubesched_lint.findings import Hazard, Place


def check(scenario: Scenario) -> Iterator[Hazard]:
    for contradiction in contradictions(scenario):
        *others, last = contradiction.demands
        yield Hazard(
            at=line_of_replicas(last.workload),
            source=last.workload.source,
            victim=last.workload.ref,
            together=tuple(d.workload.ref for d in contradiction.demands),
            # The order decides which one waits; it is proven that one does. Where it rests on pods of others,
            # ``engine.verdicts.what_if`` asks again without them, if they are old.
            evidence=proof_of(contradiction, scenario),
            values=values_of(contradiction),
            related=tuple(
                Place(
                    d.workload.replicas_path,
                    f"{many(d.count, 'pod')} of {d.workload}",
                    d.workload.source,
                    d.workload.ref,
                )
                for d in others
            ),
        )
