"""A new rule that already passes its examples: a card with an expression, or a package with a Python check."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path as File

from kubesched_lint.rulebook.entry_points import GROUP
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.rulebook.rule import module_name

_SLUG = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


class NewRuleError(Exception):
    """Why no rule was written; ``str()`` of it is the whole message."""


def new_card(slug: str, folder: File) -> Mapping[File, str]:
    """Path → text of the files for a rule with an expression. Raises NewRuleError."""
    must_be_usable(slug)
    return _absent({folder / f"{slug}.md": _card(slug, _EXPRESSION)})


def new_check(slug: str, folder: File) -> Mapping[File, str]:
    """Path → text of the files for a Python rule, with a whole package if ``folder`` has none. Raises NewRuleError."""
    must_be_usable(slug)
    files: dict[File, str] = {}
    package = _package_in(folder)
    if package is None:
        name = re.sub(r"\W+", "_", folder.resolve().name).strip("_").lower()
        package = folder / (name if name.isidentifier() else f"rules_{name}")
        words = {"NAME": package.name.replace("_", "-"), "PACKAGE": package.name, "GROUP": GROUP}
        files[folder / "pyproject.toml"] = _with(words, _PROJECT)
        files[package / "__init__.py"] = '"""Our own rules for kubesched-lint: cards in rules/, checks in checks/."""\n'
        files[package / "checks" / "__init__.py"] = '"""One module a rule, named after its card."""\n'
    files[package / "rules" / f"{slug}.md"] = _card(slug, _PARAMS)
    files[package / "checks" / f"{module_name(slug)}.py"] = _CHECK
    return _absent(files)


def must_be_usable(slug: str) -> None:
    """Raise NewRuleError for an invalid slug, or the slug of a shipped rule."""
    if not _SLUG.fullmatch(slug):
        raise NewRuleError(f"`{slug}` is no name of a rule: small letters and digits, words joined by hyphens")
    if slug in Rulebook.shipped().rules:
        raise NewRuleError(f"there is a shipped rule `{slug}`: give yours another name")


def _absent(files: Mapping[File, str]) -> Mapping[File, str]:
    for file in files:
        if file.exists():
            raise NewRuleError(f"{file} is there already; nothing was written")
    return files


def _package_in(folder: File) -> File | None:
    """The package with rules in an existing project; None if ``folder`` holds no project."""
    if not (folder / "pyproject.toml").is_file():
        return None
    packages = [*sorted(_packages(folder)), *sorted(_packages(folder / "src"))]
    if not packages:
        raise NewRuleError(f"{folder} is a project, but holds no package with a folder rules/")
    return packages[0]


def _packages(folder: File) -> Iterator[File]:
    for init in folder.glob("*/__init__.py"):
        if (init.parent / "rules").is_dir():
            yield init.parent


def _card(slug: str, middle: str) -> str:
    body = card_body(
        slug,
        finding="has 1 replica, and we ask for 2",
        harm="Say what happened the last time.",
        limits="Say where it is silent although something is wrong.",
    )
    return _with({"SLUG": slug, "MIDDLE\n": middle, "BODY": body}, _CARD)


def card_body(slug: str, *, finding: str, harm: str, limits: str) -> str:
    """The Markdown of a new card, with an example of a Deployment that has one replica and should have two."""
    return _with({"SLUG": slug, "FINDING": finding, "HARM": harm, "LIMITS": limits}, _BODY)


def _with(words: Mapping[str, str], template: str) -> str:
    for word, text in words.items():
        template = template.replace(word, text)
    return template


_PARAMS = """\
params:
  least: {type: integer, default: 2, minimum: 1, description: Replicas that are enough}
"""
_EXPRESSION = f"""\
# `where` picks what is meant, `require` says what must hold; docs/facts.md lists what they may read.
where: workload.kind == "Deployment"
require: workload.replicas >= params.least
at: spec.replicas
{_PARAMS}"""
_BODY = """\
# SLUG

## What it finds

Say in plain words what is wrong, and of which objects.

## Why it hurts

HARM

## Example

```yaml
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 1  # finding: FINDING
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: "registry.example.com/shop/web:1.0"}
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
    spec:
      containers:
      - {name: web, image: "registry.example.com/shop/web:1.0"}
```

## What it cannot see

LIMITS
"""
_CARD = """\
---
summary: A Deployment with fewer replicas than we ask for
family: policy
severity: warning
evidence: policy
needs: [text]
MIDDLE
message: "{object} has {replicas|replica}, and we ask for {least}"
help: "set replicas to {least}"
since: 0.1.0
---
BODY"""
_CHECK = '''\
"""Fewer replicas than we ask for."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched_lint import Facts, Hazard, Workload, policy


def check(workload: Workload, facts: Facts, *, least: int) -> Iterator[Hazard]:
    replicas = facts.replicas(workload)
    if workload.kind == "Deployment" and replicas < least:
        yield Hazard(
            at=workload.replicas_path,
            evidence=policy(f"{replicas} < {least}"),
            values={"replicas": replicas, "least": least},
        )
'''
_PROJECT = """\
[build-system]
requires = ["setuptools>=70.1"]
build-backend = "setuptools.build_meta"

[project]
name = "NAME"
version = "0.1.0"
description = "Our own rules for kubesched-lint"
requires-python = ">=3.11"
dependencies = ["kubesched-lint"]

[project.entry-points."GROUP"]
NAME = "PACKAGE"

[tool.setuptools]
packages = ["PACKAGE", "PACKAGE.checks"]

[tool.setuptools.package-data]
PACKAGE = ["rules/*.md"]
"""
