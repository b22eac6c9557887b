"""The examples of the page on proofs: one is proven, the other depends on the order of events."""

from __future__ import annotations

import re
from pathlib import Path

from kubesched_lint.findings import Severity
from kubesched_lint.library import lint, load_cluster, simulate

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "proofs.md").read_text()
MANIFESTS, SKETCH = re.findall(r"```yaml\n(.*?)```", PAGE, flags=re.DOTALL)


def test_the_count_of_the_first_example_is_a_proof() -> None:
    cluster = load_cluster(ROOT / "fixtures" / "clusters" / "three-zones.yaml")
    found = lint(ROOT / "fixtures" / "shop" / "cache.yaml", cluster=cluster).findings
    [error] = [finding for finding in found if finding.severity is Severity.ERROR]
    assert error.evidence.kind == "proof"
    for line in (f"error[{error.rule}]", f"proof: {error.evidence.text}", f"assumes  {error.evidence.assumes[0]}"):
        assert line in PAGE


def test_the_order_of_the_second_example_is_a_witness() -> None:
    cluster = load_cluster(text=SKETCH)
    [warning] = lint(text=MANIFESTS, cluster=cluster).findings
    assert (warning.severity, warning.evidence.kind) == (Severity.WARNING, "witness")
    cells = simulate(text=MANIFESTS, cluster=cluster, events=["deploy"]).outcomes
    assert [(str(cell.object), cell.verdict, cell.proven) for cell in cells] == [("Deployment shop/ring", "bad", False)]
    assert f"`{cells[0].text.partition(' ')[0]}`: it fails here" in PAGE
