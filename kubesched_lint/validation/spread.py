"""Topology spread constraints and scheduling gates.

Mirrors ``validateTopologySpreadConstraints`` and ``validateSchedulingGates`` in
``pkg/apis/core/validation/validation.go`` (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kubesched_lint.findings import Path
from kubesched_lint.validation.affinity import label_keys
from kubesched_lint.validation.causes import Cause, duplicate, field_of, invalid, named, not_supported, required
from kubesched_lint.validation.labels import label_selector
from kubesched_lint.validation.names import qualified_name

Value = dict[str, Any]
_ACTIONS = ("DoNotSchedule", "ScheduleAnyway")
_POLICIES = ("Honor", "Ignore")
_POSITIVE = "must be greater than zero"


def topology_spread_constraints(constraints: Sequence[Value], path: Path) -> Iterator[Cause]:
    for i, constraint in enumerate(constraints):
        yield from _constraint(constraint, constraints[i + 1 :], (*path, i))


def _constraint(constraint: Value, rest: Sequence[Value], path: Path) -> Iterator[Cause]:
    max_skew = constraint.get("maxSkew", 0)
    if max_skew <= 0:
        yield invalid((*path, "maxSkew"), max_skew, _POSITIVE)
    key, action = constraint.get("topologyKey", ""), constraint.get("whenUnsatisfiable", "")
    if not key:
        yield required((*path, "topologyKey"), "can not be empty")
    if action not in _ACTIONS:
        yield not_supported((*path, "whenUnsatisfiable"), named(action), _ACTIONS)
    for other in rest:
        if other.get("topologyKey", "") == key and other.get("whenUnsatisfiable", "") == action:
            field = f"{field_of(path)}.{{topologyKey, whenUnsatisfiable}}"
            yield duplicate((*path, "topologyKey"), f"{{{key}, {action}}}", field=field)
            break
    if "minDomains" in constraint:
        yield from _min_domains(constraint["minDomains"], action, (*path, "minDomains"))
    for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        if constraint.get(policy, "Honor") not in _POLICIES:
            yield not_supported((*path, policy), named(constraint[policy]), _POLICIES)
    selector = constraint.get("labelSelector")
    if constraint.get("matchLabelKeys"):
        yield from label_keys(constraint["matchLabelKeys"], (), selector, path)
    yield from label_selector(selector, (*path, "labelSelector"))


def _min_domains(number: int, action: str, path: Path) -> Iterator[Cause]:
    if number <= 0:
        yield invalid(path, number, _POSITIVE)
    if action != "DoNotSchedule":
        detail = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
        yield invalid(path, number, detail)


def scheduling_gates(gates: Sequence[Value], path: Path) -> Iterator[Cause]:
    seen = set()
    for i, gate in enumerate(gates):
        name = gate.get("name", "")
        for detail in qualified_name(name):
            yield invalid((*path, i), name, detail)
        if name in seen:
            yield duplicate((*path, i), name)
        seen.add(name)
