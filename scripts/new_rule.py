"""Begins a shipped rule: ``python scripts/new_rule.py SLUG`` writes its card and its module, and the index anew.

Both pass ``kubesched-lint rules test --only SLUG`` at once; then make them say what you mean (CONTRIBUTING.md).
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from kubesched_lint.rulebook.new import NewRuleError, must_be_usable  # noqa: E402
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
# SLUG

## What it finds

Say in plain words what is wrong, and of which objects.

## Why it hurts

Say what happens then, with the real issue that it caused somebody.

## Example

```yaml
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 1  # finding: has 1 replica
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "registry.example.com/shop/web:1.0"}]}
```

## Use instead

```yaml
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "registry.example.com/shop/web:1.0"}]}
```

## What it cannot see

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
```
"""
_CHECK = '''\
"""Say in one sentence why this is a hazard."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint.findings import Hazard, pattern
from kubesched_lint.world.world import Member


def check(it: Member, *, least: int) -> Iterator[Hazard]:
    if it.replicas < least:
        yield Hazard(
            at=it.workload.replicas_path,
            evidence=pattern(f"{it.replicas} < {least}"),
            values={"replicas": it.replicas, "least": least},
        )
'''


def files_of(slug: str, root: Path = ROOT) -> dict[Path, str]:
    """The files of a new rule. Raises NewRuleError where the slug cannot be used or one of them is there."""
    must_be_usable(slug)
    files = {
        root / "rules" / f"{slug}.md": _CARD.replace("SLUG", slug).replace("VERSION", __version__),
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
    print(f"next: kubesched-lint rules test --only {sys.argv[1]}")
    return built.returncode


if __name__ == "__main__":
    sys.exit(main())
