"""``scripts/planted_proofs.py`` changes modules by name, so the names must exist."""

from __future__ import annotations

from importlib.util import find_spec

from scripts.planted_proofs import SHARED


def test_every_module_to_change_exists() -> None:
    assert [name for name in SHARED if find_spec(f"kubesched_lint.{name}") is None] == []
