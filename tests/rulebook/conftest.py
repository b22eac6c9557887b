"""A small card that is right, and what changes one of its words."""

from __future__ import annotations

from collections.abc import Callable

import pytest

_CARD = """\
---
summary: Replicas that cannot be placed anywhere
family: spread
severity: error
evidence: proof
needs: [nodes]
looks_at: [spread]
message: "{object} has {replicas|replica}"
help: "use fewer"
params:
  reserve: {type: integer, default: 0, description: Domains to leave free}
since: 0.1.0
---
# some-rule

## What it finds

Something.

## Why it hurts

It does.

## Example

```yaml cluster
nodes: []
```

```yaml
kind: A
spec:
  replicas: 3  # related: wanted
  key: x  # finding: cannot # also: other-rule of all
```

## Use instead

```yaml
kind: B
```

## What it cannot see

The rest.
"""


@pytest.fixture
def card_text() -> Callable[..., str]:
    """The text of a sound card, with replacements: ``card_text({"severity: error": "severity: fatal"})``."""

    def text(changes: dict[str, str] | None = None) -> str:
        changed = _CARD
        for old, new in (changes or {}).items():
            assert old in changed, f"{old!r} is not in the card, so nothing would be changed"
            changed = changed.replace(old, new, 1)
        return changed

    return text
