"""No command and no request of an editor ends with a fault of ours, whatever the manifests and the cluster hold.

Thousands more: ``python -m tests.garbage.commands``.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from random import Random

import pytest

from kubesched_lint.engine.placing import attempts
from tests.garbage.commands import OTHERS, change, change_kept_in_type, changed, try_set
from tests.share import every

SETS = 12
"""For each command: enough for each of its formats, and for each of lint's beside it."""


@pytest.fixture(autouse=True)
def _as_users_run_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "raising", False)  # other tests look for proofs that a run refutes


@pytest.mark.parametrize(("name", "number"), every(7, product(OTHERS, range(SETS))))
def test_no_command_breaks_on_garbage(name: str, number: int) -> None:
    try_set(number * len(OTHERS) + OTHERS.index(name))


@pytest.mark.parametrize("how", [change, change_kept_in_type])
def test_garbage_is_drawn_by_its_seed(how: Callable[[Random, dict[str, object]], None]) -> None:
    pod = {"kind": "Pod", "metadata": {"name": "a"}, "spec": {"priority": 1, "containers": [{"name": "c"}]}}
    drawn = [repr(changed(Random(seed), [pod])) for seed in (*range(20), *range(20))]
    assert drawn[:20] == drawn[20:]
    assert len(set(drawn)) > 10
