"""``kubesched-lint config``: the settings of a run, and where each comes from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from kubesched_lint.cli.parsing.invocation import is_given
from kubesched_lint.cli.parsing.options import GATING, Format, OptionalPaths, takes
from kubesched_lint.cli.parsing.parser import Command, command_group
from kubesched_lint.cli.settings.settings import Settings, config_file_of, settle
from kubesched_lint.linter.options import Override
from kubesched_lint.printing import json_text, say, say_exactly, tell, visible
from kubesched_lint.project.config.file import named_by
from kubesched_lint.project.config.keys import DECIDING, OWN_RULES, ConfigError, Given, Target
from kubesched_lint.project.config.pinned import relative_to_here
from kubesched_lint.project.config.rule_settings import shown
from kubesched_lint.project.config.schema import text
from kubesched_lint.rulebook.library import Rulebook

app = command_group("Show the settings of a run, or the schema of the file.")


@app.command(cls=Command)
@takes("cluster", *GATING)
def show(
    context: typer.Context,
    paths: OptionalPaths = None,
    *,
    form: Annotated[Format, typer.Option("--format", "-f", help="How to print the settings.")] = Format.TEXT,
    **shared: Any,
) -> None:
    """Show every setting of a run, and whether it comes from a flag, a line of the configuration or the default.

    Takes the paths and flags of `lint`.

    Examples:

      kubesched-lint config show

      kubesched-lint config show manifests/ --fail-on warning --format json
    """
    settings = settle(context, paths or ())
    rulebook = settings.rulebook
    if form is Format.JSON:
        say_exactly([json_text(_as_json(settings, rulebook), 2), "\n"])
    else:
        say("\n".join(map(visible, _as_text(settings, rulebook))))


@app.command("files", cls=Command, context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
@takes(*(key.replace("-", "_") for key in DECIDING), "config_file", "no_config")
def print_files(context: typer.Context, **shared: Any) -> None:
    """Print the files and folders of the repository that decide what is found, one per line.

    The configuration, with its targets, or flags name them: cluster, scheduler-config, baseline, rule-folders and
    workload-folders. Other words and flags of `lint` are ignored. `lint --files-from` reads copies of them.

    Example: kubesched-lint config files --config kubesched.toml
    """
    files = []
    given = {key: context.params[key.replace("-", "_")] for key in DECIDING if is_given(context, key.replace("-", "_"))}
    try:
        file = config_file_of(context, ())
        named = () if file is None else named_by(file)
        files = [path for key, path in named if key not in given or key == OWN_RULES]
    except ConfigError as error:
        tell(f"error: {error}")
        raise SystemExit(2) from None
    for value in given.values():
        files += [value] if isinstance(value, str) else value
    for path in dict.fromkeys(relative_to_here(path) for path in files):
        if path:
            say(visible(path))


@app.command("schema", cls=Command)
def print_schema() -> None:
    """Print the JSON Schema of kubesched.toml, for completion and checks in editors.

    Example: kubesched-lint config schema > kubesched.schema.json
    """
    say_exactly([text(Rulebook.shipped())])


def _of_rules(settings: Settings, rulebook: Rulebook) -> Iterator[tuple[str, str, object, str]]:
    """Yield (slug, name, value, origin) of every parameter, and of every severity that is set."""
    for rule in rulebook:
        given = settings.params.get(rule.slug, {})
        for name, default in rule.params.items():
            yield (
                (rule.slug, name, given[name].value, given[name].origin)
                if name in given
                else (rule.slug, name, default, "default")
            )
        severity = settings.severities.get(rule.slug)
        if severity is not None:
            yield rule.slug, "severity", _word(severity.value), severity.origin


def _word(severity: object) -> object:
    return getattr(severity, "word", severity)


def _override(override: Override) -> dict[str, object]:
    severities = {slug: severity.word for slug, severity in override.severities.items()}
    return {"paths": list(override.files.patterns), "ignore": list(override.ignore), "severities": severities}


def _target(target: Target) -> dict[str, object]:
    values = {name: {"value": given.value, "from": given.origin} for name, given in target.values.items()}
    return {"name": target.name, "paths": list(target.paths), "values": values}


def _as_json(settings: Settings, rulebook: Rulebook) -> dict[str, Any]:
    rules: dict[str, dict[str, object]] = {}
    for slug, name, value, origin in _of_rules(settings, rulebook):
        rules.setdefault(slug, {})[name] = {"value": value, "from": origin}
    return {
        "file": settings.config.file or None,
        "values": {name: {"value": given.value, "from": given.origin} for name, given in settings.values.items()},
        "rules": rules,
        "overrides": [{**_override(o), "from": o.origin} for o in settings.config.overrides],
        **({"targets": list(map(_target, settings.config.targets))} if settings.config.targets else {}),
    }


def _as_text(settings: Settings, rulebook: Rulebook) -> Iterator[str]:
    rows = [(name, _toml(given.value), given.origin) for name, given in settings.values.items()]
    rows += [(f"rules.{slug}.{name}", _toml(v), origin) for slug, name, v, origin in _of_rules(settings, rulebook)]
    for number, override in enumerate(settings.config.overrides):
        for name, value in _override(override).items():
            if value:
                text = shown(value) if isinstance(value, list) else _severities(override)
                rows.append((f"overrides[{number}].{name}", text, override.origin))
    for number, target in enumerate(settings.config.targets):
        given = {"name": Given(target.name, settings.config.file), "paths": Given(target.paths, settings.config.file)}
        for name, value in {**given, **target.values}.items():
            rows.append((f"targets[{number}].{name}", _toml(value.value), value.origin))
    yield f"configuration: {settings.config.file or 'none found'}"
    yield ""
    wide = [min(56, max(len(row[column]) for row in rows)) for column in (0, 1)]
    for name, value, origin in rows:
        yield f"{name:{wide[0]}}  {value:{wide[1]}}  {origin}"


def _severities(override: Override) -> str:
    return ", ".join(f"{slug} = {_toml(severity.word)}" for slug, severity in override.severities.items())


def _toml(value: object) -> str:
    return "-" if value is None else shown(value)
