"""What a type checker of somebody else sees of the library."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SCRIPT = """\
from kubesched_lint import Plan, Report, Severity, as_html, as_json, as_text, check, fit, lint, load_cluster
from kubesched_lint import load_rules, plan, simulate, why

report: Report = lint("a", cluster=load_cluster("b"), rules=load_rules("c"), severities={"d": Severity.NOTE})
line: int = report.findings[0].location.span.line
text: str = simulate("a", cluster="b").outcomes[0].text + as_json(check("a", cluster="live"))
change: Plan = plan("a", before={"a.yaml": ""}, cluster="b")
page: str = as_html(why("web", "a", cluster="b")) + as_text(fit(cluster="b", requests={"cpu": "1"}))
wrong: int = report.findings
lint(1)
"""


def test_the_public_names_are_typed(tmp_path: Path) -> None:
    """Two lines are wrong, and nothing else is."""
    (tmp_path / "script.py").write_text(SCRIPT)
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--no-error-summary", "script.py"]
    done = subprocess.run(
        [*command, "--cache-dir=/dev/null"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={"MYPYPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
    )
    assert [line.partition(": error")[0] for line in done.stdout.splitlines() if ": error" in line] == [
        "script.py:9",
        "script.py:10",
    ], done.stdout
