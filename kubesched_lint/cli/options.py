"""The options that several commands share, each declared once."""

import inspect
from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Any, TypeVar

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


class Format(StrEnum):
    TEXT = "text"
    JSON = "json"


class Color(StrEnum):
    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


_PATHS = typer.Argument(
    metavar="PATH…", help="Files, folders (read recursively), or - for standard input.", show_default=False
)

Paths = Annotated[list[str], _PATHS]
OptionalPaths = Annotated[list[str] | None, _PATHS]


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


ColorOption = Annotated[Color, typer.Option("--color", rich_help_panel=OUTPUT, help="Colour in text output.")]
ForceExclude = Annotated[
    bool,
    typer.Option(
        "--force-exclude",
        rich_help_panel=INPUT,
        help="Exclude also what is named itself: for hooks, which name each file.",
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


def _option(kind: Any, default: object, panel: str, about: str, *names: str, **more: Any) -> tuple[Any, object]:
    return Annotated[kind, typer.Option(*names, rich_help_panel=panel, help=about, **more)], default


def _many(panel: str, name: str, metavar: str, about: str, *short: str, **more: Any) -> tuple[Any, object]:
    return _option(list[str] | None, None, panel, f"{about} Repeatable.", name, *short, metavar=metavar, **more)


_SHARED = {
    "cluster": _option(
        str | None,
        None,
        INPUT,
        "Snapshot or sketch: a file or folder, also .gz; or live[:CONTEXT].",
        "--cluster",
        "-c",
        metavar="PATH",
    ),
    "namespace": _option(
        str, "default", INPUT, "Namespace of objects that name none.", "--namespace", "-n", metavar="NAME"
    ),
    "profile": _option(Profile, Profile.CI, RULES, "Which rules run unless selected by name.", "--profile"),
    "select": _many(RULES, "--select", "RULE", "Run only these rules or families.", autocompletion=_rule_names),
    "ignore": _many(RULES, "--ignore", "RULE", "Leave out these rules or families.", autocompletion=_rule_names),
    "rule_folders": _many(RULES, "--rules", "DIR", "A folder with rules of your own, see `rules new`."),
    "formats": _many(
        OUTPUT, "--format", "NAME[=FILE]", "text, json, sarif, github, gitlab, junit, markdown or html.", "-f"
    ),
    "fail_on": _option(
        FailOn, FailOn.ERROR, OUTPUT, "The severity from which findings make the exit code 1.", "--fail-on"
    ),
    "strict_skips": _option(bool, False, OUTPUT, "Exit with 1 also when a rule had to be skipped.", "--strict-skips"),
    "apply_order": _option(
        ApplyOrder,
        ApplyOrder.KUBECTL,
        INPUT,
        "Which tool applies the manifests, and so in which order.",
        "--apply-order",
    ),
    "elastic": _option(
        bool | None,
        None,
        INPUT,
        "Whether nodes come and go by an autoscaler.  [default: seen from labels]",
        "--elastic/--fixed",
    ),
    "kubernetes_version": _option(
        str, "1.36", INPUT, "Version whose scheduler is modelled.", "--kubernetes-version", metavar="VERSION"
    ),
    "partial": _option(bool, False, INPUT, "The paths are part of a larger set: absence proves nothing.", "--partial"),
    "exclude": _many(INPUT, "--exclude", "GLOB", "Pass over such files and folders where a folder is read."),
    "sets": _many(
        RULES, "--set", "RULE.PARAM=VALUE", "Set a parameter of a rule, or its severity (RULE.severity=note)."
    ),
    "baseline": _option(
        str | None, None, RULES, "Findings that this file knows do not count.", "--baseline", metavar="FILE"
    ),
    "render": _option(
        bool,
        True,
        INPUT,
        "Read kustomizations as what kubectl kustomize makes of them, and a named chart as helm template does, "
        "where these are installed.",
        "--render/--no-render",
    ),
    "config_file": _option(
        str | None,
        None,
        CONFIG,
        "Read this configuration.  [default: the nearest kubesched.toml or pyproject.toml]",
        "--config",
        metavar="FILE",
    ),
    "no_config": _option(bool, False, CONFIG, "Read no configuration.", "--no-config"),
}
"""What ``settle`` reads: type and default of each option, in the order of a command's help."""

READING = (
    "namespace", "apply_order", "elastic", "kubernetes_version", "exclude", "render", "config_file", "no_config",
)  # fmt: skip
"""How manifests and clusters are read."""
JUDGING = (*READING, "profile", "select", "ignore", "rule_folders", "partial", "sets")
"""… and by which rules they are judged."""
GATING = (*JUDGING, "fail_on", "strict_skips", "baseline")
"""… and what fails the run."""

Run = TypeVar("Run", bound=Callable[..., None])


def takes(*names: str) -> Callable[[Run], Run]:
    """Gives shared options to a command, before its own.

    The command lists them as ``**shared`` and does not look at them: ``settle`` reads them from the context, beside
    the configuration.
    """

    def give(command: Run) -> Run:
        own = inspect.signature(command, eval_str=True)
        shared = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)
            for name, (annotation, default) in _SHARED.items()
            if name in names
        ]
        kept = [p for p in own.parameters.values() if p.kind is not p.VAR_KEYWORD]
        first = [p for p in kept if p.kind is p.POSITIONAL_OR_KEYWORD]
        command.__signature__ = own.replace(parameters=[*first, *shared, *kept[len(first) :]])  # type: ignore[attr-defined]
        return command

    return give
