"""Starts a shipped rule: ``python scripts/new_rule.py SLUG`` writes its card and its module, and updates the index.

Both pass ``kubesched-lint rules test --only SLUG`` at once. Then replace the example by your rule (CONTRIBUTING.md).
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from kubesched_lint.rulebook.new import NewRuleError, card_body, must_be_usable  # noqa: E402
from kubesched_lint.rulebook.rule import module_name  # noqa: E402
from kubesched_lint.version import __version__  # noqa: E402

_CARD = """\
---
summary: A Deployment with one replica, which is gone while that is replaced
family: scheduling
severity: note
evidence: pattern
needs: [text]
kinds: [Deployment]
default: strict
message: "{object} has {replicas|replica}: while it is replaced there is none"
help: "run {least|replica} or more"
params:
  least: {type: integer, default: 2, minimum: 1, description: Replicas that are enough}
preview: true
since: VERSION
---
BODY"""
_LIMITS = """\
Say what it is silent about, and show it: two replicas may stand on one node.

```yaml
apiVersion: apps/v1
kind: Deployment
metadata: {name: pair, namespace: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: pair}}
  template:
    metadata: {labels: {app: pair}}
    spec: {containers: [{name: pair, image: "registry.example.com/shop/pair:1.0"}]}
```"""
_CHECK = '''\
"""Say in one sentence why this is a hazard."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.engine.scenario.scenario import Member
from kubesched_lint.findings import Hazard, pattern


def check(it: Member, *, least: int) -> Iterator[Hazard]:
    if it.replicas < least:
        yield Hazard(
            at=it.workload.replicas_path,
            evidence=pattern(f"{it.replicas} < {least}"),
            values={"replicas": it.replicas, "least": least},
        )
'''


def files_of(slug: str, root: Path = ROOT) -> dict[Path, str]:
    """The files of a new rule. Raises NewRuleError if the slug is invalid or one of them exists."""
    must_be_usable(slug)
    harm = "Say what happens then, with the real issue that it caused somebody."
    body = card_body(slug, finding="has 1 replica", harm=harm, limits=_LIMITS)
    files = {
        root / "rules" / f"{slug}.md": _CARD.replace("VERSION", __version__).replace("BODY", body),
        root / "kubesched_lint" / "checks" / f"{module_name(slug)}.py": _CHECK,
    }
    for file in files:
        if file.exists():
            raise NewRuleError(f"{file} is there already; nothing was written")
    return files


def main() -> int:
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    try:
        files = files_of(sys.argv[1])
    except NewRuleError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for file, text in files.items():
        file.write_text(text, encoding="utf-8")
        print(f"wrote {file.relative_to(ROOT)}")
    built = subprocess.run([sys.executable, "-m", "kubesched_lint.rulebook.build"], cwd=ROOT, check=False)
    print(f"next: kubesched-lint rules test --only {sys.argv[1]}; then edit both (rules/CARDS.md has the keys)")
    return built.returncode


if __name__ == "__main__":
    sys.exit(main())
