"""The ordinals of a StatefulSet that have a claim, read from the names of the namespace's claims."""

from __future__ import annotations

from itertools import product

import pytest

from kubesched_lint.engine.controllers.statefulset import ClaimNames, claim_name, ordinals_with
from kubesched_lint.engine.model.decode.workloads import decode_workload
from kubesched_lint.engine.scenario.storage import claim_names
from tests.events.simulated import other, report_of, sketch, workload


def database(name: str, start: int = 0):
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    more = {"volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": claim}]}
    return workload("StatefulSet", name, 3, ordinals={"start": start}, **more)


@pytest.mark.parametrize(("name", "start"), list(product(("db", "db-1", "1"), (0, 2))))
def test_ordinals_are_those_whose_claims_the_controller_would_name_so(name: str, start: int) -> None:
    given = decode_workload(database(name, start), "default", None, 0)
    (template,) = given.claim_templates
    parts = ("data", "db", "1", "01", "-", "-db-", "2", "", "12345678901", "٣")
    names = {"-".join(words) for count in (1, 2, 3, 4) for words in product(parts, repeat=count)}
    expected = {start + number for number in range(20) if claim_name(given, template, number) in names}
    assert expected
    assert {ordinal for ordinal in ordinals_with(given, ClaimNames(names)) if start <= ordinal < start + 20} == expected


def test_claims_are_listed_once_for_all_stateful_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    real = claim_names.all_claims
    monkeypatch.setattr(claim_names, "all_claims", lambda scenario: made.append(scenario) or real(scenario))
    there = [other("PersistentVolumeClaim", f"data-db{i}-0", spec={"volumeName": "x"}) for i in range(20)]
    report_of(sketch(), *(database(f"db{i}") for i in range(20)), *there, events=("deploy",))
    scenarios = {id(scenario) for scenario in made}
    assert 0 < len(made) <= 3 * len(scenarios)
