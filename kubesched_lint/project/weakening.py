"""The ``config`` line of every report: the configuration, and its settings that make the check weaker, or may do so.

The configuration, the baseline, waivers and often the sketch are in the repository that is checked, so a change can
edit them, too. This is allowed, but every report says so.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from kubesched_lint.engine.base.limits import LONGEST_VALUE
from kubesched_lint.engine.base.text import first_few, in_which, one_line, plural
from kubesched_lint.findings import Report, Severity
from kubesched_lint.project.config.keys import BY_NAME, DECLARED, OWN_RULES, Config, Given, Target
from kubesched_lint.project.config.rule_settings import shown

if TYPE_CHECKING:
    from kubesched_lint.project.changed import Changes

_WEAKER: Mapping[str, tuple[object, ...]] = {
    "fail-on": ("never",),
    "shadow": (True,),
    "profile": ("editor",),
    "elastic": (True,),
    "node-groups": ("open",),
    "partial": (True,),
    "render": (False,),
}
"""Key → its values that are weaker than the default."""
_ANY = (
    "cluster", DECLARED, OWN_RULES, "workload-folders", "select", "ignore", "kubernetes-version", "feature-gates",
    "scheduler-config", "fresh-pods", "baseline", "exclude",
)  # fmt: skip
"""Keys whose every value decides what the check finds. Of these, only ``ignore`` surely makes it weaker."""


NOTHING_WEAKER = "makes nothing weaker"


def in_force(config: Config, values: Mapping[str, Given], targets: Sequence[Target] = ()) -> str:
    """The configuration with its settings that matter, also those of ``targets``; empty without a configuration.

    Leaves out what a flag overrides, and the cluster of each target, which the report names anyway.
    """
    if not config.file:
        return ""
    weaker, others = [], []
    for name, value, where in _settings(config, values, targets):
        if value in _WEAKER.get(name, ()) or (name == "ignore" and value):
            weaker.append(f"{_setting(name, value)}{where}")
        elif name in _ANY and value != BY_NAME[name].default:
            others.append(f"{_setting(name, value)}{where}")
    weaker += _lowered(config)
    others += _of_rules(config)
    parts = [f"makes the gate weaker: {'; '.join(weaker)}"] if weaker else []
    if others:
        parts.append(f"{'it ' if weaker else ''}sets {'; '.join(others)}")
    return f"{config.file} {'; '.join(parts) or NOTHING_WEAKER}"


def _settings(
    config: Config, values: Mapping[str, Given], targets: Sequence[Target]
) -> Iterator[tuple[str, object, str]]:
    """Yield (key, value, names of the targets that set it, as text)."""

    def is_overridden(name: str) -> bool:
        return values[name].is_flag and name != OWN_RULES

    for name, given in config.values.items():
        if not is_overridden(name) and not (targets and all(name in target.values for target in targets)):
            yield name, given.value, ""
    owners: dict[tuple[str, str], list[Target]] = {}
    for target in targets:
        for name, given in target.values.items():
            if name != "cluster" and not is_overridden(name):
                owners.setdefault((name, repr(given.value)), []).append(target)
    for (name, _), same_targets in owners.items():
        yield name, same_targets[0].values[name].value, in_which([target.name for target in same_targets], len(targets))


def _lowered(config: Config) -> Iterator[str]:
    lowered = [slug for slug, given in config.severities.items() if _is_lower(slug, given.value, config)]
    if lowered:
        yield f"lower severity of {_named(lowered)}"


def _of_rules(config: Config) -> Iterator[str]:
    if config.params:
        yield f"parameters of {_named(list(config.params))}"
    if config.overrides:
        files = [pattern for override in config.overrides for pattern in override.files.patterns]
        yield f"overrides for {_named(files)}"


def _setting(name: str, value: object) -> str:
    if isinstance(value, tuple):
        return f"{name} = [{_named([shown(item) for item in value])}]"
    return f"{name} = {_short(shown(value))}"


def _is_lower(slug: str, severity: object, config: Config) -> bool:
    rule = config.rulebook.rules.get(slug) if config.rulebook else None
    return rule is None or cast("Severity", severity) < rule.severity


def _named(names: Sequence[str]) -> str:
    return first_few([_short(name) for name in names])


def _short(name: str) -> str:
    name = one_line(name)
    return name if len(name) <= LONGEST_VALUE else f"{name[:LONGEST_VALUE]}…"


def line(configuration: str, report: Report, baseline: str | None, edited: Sequence[str]) -> str:
    """The whole line, with the numbers of waived and known findings, and which of these files the change edits."""
    known = sum(1 for finding in report.findings if finding.suppressed and finding.suppressed.known)
    waived = sum(1 for finding in report.findings if finding.suppressed) - known
    parts = []
    if waived:
        parts.append(f"{waived} {plural(waived, 'finding')} waived in the files")
    if known:
        parts.append(f"{known} known from {baseline}")
    if edited:
        parts.append(f"the change edits files that affect its own check: {', '.join(edited)}")
    if not parts:
        return configuration
    return "; ".join([configuration or "no configuration", *parts])


def edited_by(changes: Changes, paths: Sequence[str | None]) -> tuple[str, ...]:
    """The given files and folders that the change touches."""
    return tuple(path for path in paths if path and changes.concerns(os.path.realpath(path)))
