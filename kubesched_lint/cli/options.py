"""The options that several commands share, each declared once."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from kubesched_lint.cli.parser import CONFIG, INPUT, OUTPUT, RULES


class Profile(StrEnum):
    CI = "ci"
    STRICT = "strict"
    EDITOR = "editor"


class ApplyOrder(StrEnum):
    KUBECTL = "kubectl"
    HELM = "helm"
    KUSTOMIZE = "kustomize"
    ARGOCD = "argocd"


class FailOn(StrEnum):
    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"
    NEVER = "never"


class Color(StrEnum):
    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


_PATHS = typer.Argument(
    metavar="PATH…", help="Files, folders (read recursively), or - for standard input.", show_default=False
)

Paths = Annotated[list[str], _PATHS]
OptionalPaths = Annotated[list[str] | None, _PATHS]
ClusterPath = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        "-c",
        metavar="PATH",
        rich_help_panel=INPUT,
        help="Snapshot or sketch: a file or folder, also .gz; or live[:CONTEXT].",
    ),
]
Namespace = Annotated[
    str,
    typer.Option(
        "--namespace", "-n", metavar="NAME", rich_help_panel=INPUT, help="Namespace of objects that name none."
    ),
]
ProfileOption = Annotated[
    Profile, typer.Option("--profile", rich_help_panel=RULES, help="Which rules run unless selected by name.")
]


def _rule_names(incomplete: str) -> list[tuple[str, str]]:
    """Rules and families that begin so, for the shell."""
    from kubesched_lint.rulebook.library import Rulebook
    from kubesched_lint.rulebook.rule import FAMILIES

    book = Rulebook.shipped()
    named = [(name, FAMILIES.get(name, "")) for name in book.families]
    named += [(rule.slug, rule.summary) for rule in book]
    return [pair for pair in named if pair[0].startswith(incomplete)]


def rule_slugs(incomplete: str) -> list[tuple[str, str]]:
    """Rules that begin so, for the shell."""
    from kubesched_lint.rulebook.library import Rulebook

    return [(rule.slug, rule.summary) for rule in Rulebook.shipped() if rule.slug.startswith(incomplete)]


Select = Annotated[
    list[str] | None,
    typer.Option(
        "--select",
        metavar="RULE",
        autocompletion=_rule_names,
        rich_help_panel=RULES,
        help="Run only these rules or families. Repeatable.",
    ),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option(
        "--ignore",
        metavar="RULE",
        autocompletion=_rule_names,
        rich_help_panel=RULES,
        help="Leave out these rules or families. Repeatable.",
    ),
]
FailOnOption = Annotated[
    FailOn,
    typer.Option("--fail-on", rich_help_panel=OUTPUT, help="The severity from which findings make the exit code 1."),
]
StrictSkips = Annotated[
    bool, typer.Option("--strict-skips", rich_help_panel=OUTPUT, help="Exit with 1 also when a rule had to be skipped.")
]
ApplyOrderOption = Annotated[
    ApplyOrder,
    typer.Option(
        "--apply-order", rich_help_panel=INPUT, help="Which tool applies the manifests, and so in which order."
    ),
]
Elastic = Annotated[
    bool | None,
    typer.Option(
        "--elastic/--fixed",
        rich_help_panel=INPUT,
        help="Whether nodes come and go by an autoscaler.  [default: seen from labels]",
    ),
]
KubernetesVersion = Annotated[
    str,
    typer.Option(
        "--kubernetes-version", metavar="VERSION", rich_help_panel=INPUT, help="Version whose scheduler is modelled."
    ),
]
ColorOption = Annotated[Color, typer.Option("--color", rich_help_panel=OUTPUT, help="Colour in text output.")]
Partial = Annotated[
    bool,
    typer.Option(
        "--partial", rich_help_panel=INPUT, help="The paths are part of a larger set: absence proves nothing."
    ),
]
Formats = Annotated[
    list[str] | None,
    typer.Option(
        "--format",
        "-f",
        metavar="NAME[=FILE]",
        rich_help_panel=OUTPUT,
        help="text, json, sarif, github, gitlab, junit, markdown or html. Repeatable.",
    ),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option(
        "--exclude",
        metavar="GLOB",
        rich_help_panel=INPUT,
        help="Pass over such files and folders where a folder is read. Repeatable.",
    ),
]
ForceExclude = Annotated[
    bool,
    typer.Option(
        "--force-exclude",
        rich_help_panel=INPUT,
        help="Exclude also what is named itself: for hooks, which name each file.",
    ),
]
Baseline = Annotated[
    str | None,
    typer.Option(
        "--baseline", metavar="FILE", rich_help_panel=RULES, help="Findings that this file knows do not count."
    ),
]
RuleFolders = Annotated[
    list[str] | None,
    typer.Option(
        "--rules",
        metavar="DIR",
        rich_help_panel=RULES,
        help="A folder with rules of your own, see `rules new`. Repeatable.",
    ),
]
Sets = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="RULE.PARAM=VALUE",
        rich_help_panel=RULES,
        help="Set a parameter of a rule, or its severity (RULE.severity=note). Repeatable.",
    ),
]
ConfigFile = Annotated[
    str | None,
    typer.Option(
        "--config",
        metavar="FILE",
        rich_help_panel=CONFIG,
        help="Read this configuration.  [default: the nearest kubesched.toml or pyproject.toml]",
    ),
]
NoConfig = Annotated[bool, typer.Option("--no-config", rich_help_panel=CONFIG, help="Read no configuration.")]
Render = Annotated[
    bool,
    typer.Option(
        "--render/--no-render",
        rich_help_panel=INPUT,
        help="Read kustomizations as what kubectl kustomize makes of them, and a named chart as helm template does, "
        "where these are installed.",
    ),
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", rich_help_panel=OUTPUT, help="In text: findings only, nothing below them.")
]
Verbose = Annotated[
    bool,
    typer.Option(
        "--verbose",
        "-v",
        rich_help_panel=OUTPUT,
        help="In text: name the rules that were skipped, and list known findings.",
    ),
]
Statistics = Annotated[
    bool,
    typer.Option(
        "--statistics", rich_help_panel=OUTPUT, help="In text: a table of the rules and how often each found something."
    ),
]
