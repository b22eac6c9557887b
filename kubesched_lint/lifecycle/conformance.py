"""Recorded lifecycles of a real control plane held against our outcome sets, and our predictions for them.

The recording's ``runs`` are read only by ``verify_lifecycles``, after the prediction was made.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kubesched_lint.lifecycle.events import Phase, Story
from kubesched_lint.lifecycle.outcomes import Outcome, Range, outcomes
from kubesched_lint.model.decode.nodes import decode_node
from kubesched_lint.model.decode.objects import decode_object, gather
from kubesched_lint.model.decode.workloads import decode_workload
from kubesched_lint.model.workload import KINDS

Case = Mapping[str, Any]


def story_of(case: Case, **options: Any) -> Iterator[tuple[int, str, Story, Phase]]:
    """The phases of a recorded case, played: its index, its name, the story so far and what it led to."""
    nodes = [decode_node(n) for n in case["nodes"]]
    workloads, others = [], []
    for i, value in enumerate(case["objects"]):
        if value["kind"] in KINDS:
            workloads.append(decode_workload(value, "default", None, i))
        else:
            others.append(decode_object(value, "default", None, i))
    applied = {i: decode_workload(s["apply"], "default") for i, s in enumerate(case["steps"]) if "apply" in s}
    story = Story(
        nodes,
        gather(others),
        foreseen=[*workloads, *applied.values()],
        marks=_marks(case["steps"]),
        **options,
    )
    yield 0, "initial", story, story.deploy(workloads, together=case["mode"] == "together")
    for i, step in enumerate(case["steps"]):
        yield i + 1, step["name"], story, _play(step, story, applied.get(i))


def _marks(steps: Iterable[Mapping[str, Any]]) -> dict[str, tuple[int, ...]]:
    """Which steps single out which node."""
    found: dict[str, tuple[int, ...]] = {}
    for i, step in enumerate(steps):
        for name in (*([step["cordon"]] if "cordon" in step else []), *([step["drain"]] if "drain" in step else []), *step.get("lose", ())):
            found[name] = (*found.get(name, ()), i)
    return found


def _play(step: Mapping[str, Any], story: Story, applied: Any) -> Phase:
    if applied is not None:
        return story.rollout(applied)
    if "scale" in step:
        s = step["scale"]
        return story.scale(s["kind"], s["namespace"], s["name"], s["replicas"])
    if "cordon" in step:
        return story.cordon(step["cordon"])
    if "drain" in step:
        return story.drain(step["drain"])
    return story.lose(step["lose"])
