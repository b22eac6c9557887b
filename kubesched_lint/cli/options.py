"""The options that several commands share, each declared once."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer


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


_PATHS = typer.Argument(help="Files, folders (read recursively), or - for standard input.", show_default=False)

Paths = Annotated[list[str], _PATHS]
OptionalPaths = Annotated[list[str] | None, _PATHS]
ClusterPath = Annotated[
    str | None,
    typer.Option(
        "--cluster", "-c", metavar="PATH", help="Snapshot or sketch: a file or folder, also .gz; or live[:CONTEXT]."
    ),
]
Namespace = Annotated[str, typer.Option("--namespace", "-n", help="Namespace of objects that name none.")]
ProfileOption = Annotated[Profile, typer.Option("--profile", help="Which rules run unless selected by name.")]
Select = Annotated[
    list[str] | None,
    typer.Option("--select", metavar="RULE", help="Run only these rules or families. Repeatable."),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option("--ignore", metavar="RULE", help="Leave out these rules or families. Repeatable."),
]
FailOnOption = Annotated[
    FailOn, typer.Option("--fail-on", help="The severity from which findings make the exit code 1.")
]
StrictSkips = Annotated[bool, typer.Option("--strict-skips", help="Exit with 1 also when a rule had to be skipped.")]
ApplyOrderOption = Annotated[
    ApplyOrder,
    typer.Option("--apply-order", help="Which tool applies the manifests, and so in which order."),
]
Elastic = Annotated[
    bool | None,
    typer.Option("--elastic/--fixed", help="Whether nodes come and go by an autoscaler.  [default: seen from labels]"),
]
KubernetesVersion = Annotated[
    str,
    typer.Option("--kubernetes-version", metavar="VERSION", help="Version whose scheduler is modelled."),
]
ColorOption = Annotated[Color, typer.Option("--color", help="Colour in text output.")]
Partial = Annotated[bool, typer.Option("--partial", help="The paths are part of a larger set: absence proves nothing.")]
Formats = Annotated[
    list[str] | None,
    typer.Option(
        "--format",
        "-f",
        metavar="NAME[=FILE]",
        help="text, json, sarif, github, gitlab, junit, markdown or html. Repeatable.",
    ),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option(
        "--exclude", metavar="GLOB", help="Pass over such files and folders where a folder is read. Repeatable."
    ),
]
Baseline = Annotated[
    str | None,
    typer.Option("--baseline", metavar="FILE", help="Findings that this file knows do not count."),
]
RuleFolders = Annotated[
    list[str] | None,
    typer.Option("--rules", metavar="DIR", help="A folder with rules of your own, see `rules new`. Repeatable."),
]
Sets = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="RULE.PARAM=VALUE",
        help="Set a parameter of a rule, or its severity (RULE.severity=note). Repeatable.",
    ),
]
ConfigFile = Annotated[
    str | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="Read this configuration.  [default: the nearest kubesched.toml or pyproject.toml]",
    ),
]
NoConfig = Annotated[bool, typer.Option("--no-config", help="Read no configuration.")]
Render = Annotated[
    bool,
    typer.Option(
        "--render/--no-render",
        help="Read kustomizations as what kubectl kustomize makes of them, and a named chart as helm template does, "
        "where these are installed.",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="In text: findings only, nothing below them.")]
Verbose = Annotated[
    bool,
    typer.Option("--verbose", "-v", help="In text: name the rules that were skipped, and list known findings."),
]
Statistics = Annotated[
    bool, typer.Option("--statistics", help="In text: a table of the rules and how often each found something.")
]
