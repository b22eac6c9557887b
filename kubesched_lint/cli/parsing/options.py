"""The options that several commands share, each declared once."""

import inspect
from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Any, TypeVar

import typer

from kubesched_lint.cli.parsing.parser import CONFIG, INPUT, OUTPUT, RULES
from kubesched_lint.engine.base.releases import RECORDED
from kubesched_lint.rulebook.library import Rulebook
from kubesched_lint.rulebook.rule import FAMILIES


class Profile(StrEnum):
    CI = "ci"
    STRICT = "strict"
    EDITOR = "editor"


class ApplyOrder(StrEnum):
    KUBECTL = "kubectl"
    HELM = "helm"
    KUSTOMIZE = "kustomize"
    ARGOCD = "argocd"


class NodeGroups(StrEnum):
    COMPLETE = "complete"
    OPEN = "open"


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


EVENTS = "deploy,rollout,hpa-max,scale-down,node-loss,zone-loss,drain"
"""All events of ``simulate``, as one text: help shows it, and importing the simulation for it would take long."""

_PATHS = typer.Argument(
    metavar="PATH…", help="Files, folders (read recursively), or - for standard input.", show_default=False
)

Paths = Annotated[list[str], _PATHS]
OptionalPaths = Annotated[list[str] | None, _PATHS]


def events_in(text: str) -> tuple[str, ...]:
    """Return the names in the value of ``--events``."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _rule_names(incomplete: str) -> list[tuple[str, str]]:
    """Return (name, summary) of rules and families that start with ``incomplete``, for shell completion."""
    book = Rulebook.shipped()
    named = [(name, FAMILIES.get(name, "")) for name in book.families]
    named += [(rule.slug, rule.summary) for rule in book]
    return [pair for pair in named if pair[0].startswith(incomplete)]


def rule_slugs(incomplete: str) -> list[tuple[str, str]]:
    """Return (slug, summary) of rules that start with ``incomplete``, for shell completion."""
    return [(rule.slug, rule.summary) for rule in Rulebook.shipped() if rule.slug.startswith(incomplete)]


ColorOption = Annotated[Color, typer.Option("--color", rich_help_panel=OUTPUT, help="Colour in text output.")]
ForceExclude = Annotated[
    bool,
    typer.Option(
        "--force-exclude",
        rich_help_panel=INPUT,
        help="Apply --exclude, and the rule about tests, to named paths too (for hooks that pass file names).",
    ),
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", rich_help_panel=OUTPUT, help="In text: print the findings only, no footer.")
]
Verbose = Annotated[
    bool,
    typer.Option(
        "--verbose",
        "-v",
        rich_help_panel=OUTPUT,
        help="In text: tell everything, also what is skipped, assumed or known.",
    ),
]
Targets = Annotated[
    list[str] | None,
    typer.Option(
        "--target", metavar="NAME", help="Check this target of the configuration, instead of a PATH. Repeatable."
    ),
]
OneTarget = Annotated[
    str | None,
    typer.Option(
        "--target", metavar="NAME", help="Read the paths and the cluster of this target of the configuration."
    ),
]
Env = Annotated[
    list[str] | None,
    typer.Option(
        "--env",
        metavar="NAME",
        rich_help_panel=INPUT,
        help="Judge only this environment of those that the manifests define, such as prod. Repeatable.",
    ),
]
RequireNodeGroups = Annotated[
    bool,
    typer.Option(
        "--require-node-groups",
        help="Exit with 2 while it is undecided whether the node groups are complete (for hooks and CI).",
    ),
]
RequireWorkloads = Annotated[
    bool,
    typer.Option(
        "--require-workloads",
        help="Exit with 2 if no workload was read beside Helm releases, charts, Argo CD applications and the like "
        "(for hooks and CI).",
    ),
]
Statistics = Annotated[
    bool,
    typer.Option(
        "--statistics", rich_help_panel=OUTPUT, help="In text: print a table with the number of findings of each rule."
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
        "The cluster: what kubectl get nodes -o json prints, a snapshot or sketch (file, .gz, folder), live[:CONTEXT].",
        "--cluster",
        "-c",
        metavar="PATH",
    ),
    "files_from": _option(
        str | None,
        None,
        INPUT,
        "Read cluster, baseline, own rules and cards from this copy of the current folder (to pin them in CI).",
        "--files-from",
        metavar="DIR",
    ),
    "namespace": _option(
        str, "default", INPUT, "Namespace of objects without a namespace.", "--namespace", "-n", metavar="NAME"
    ),
    "profile": _option(
        Profile,
        Profile.CI,
        RULES,
        "The rules to run without --select: ci (default), strict (all that are not off), editor (those of one file).",
        "--profile",
    ),
    "select": _many(RULES, "--select", "RULE", "Run only these rules or families.", autocompletion=_rule_names),
    "ignore": _many(RULES, "--ignore", "RULE", "Do not run these rules or families.", autocompletion=_rule_names),
    "rule_folders": _many(RULES, "--rules", "DIR", "A folder with your own rules, see `rules new`."),
    "workload_folders": _many(
        INPUT, "--workloads", "DIR", "A folder with your own workload cards, see `workloads new`."
    ),
    "formats": _many(
        OUTPUT,
        "--format",
        "NAME[=FILE]",
        "text, concise, json, sarif, github, gitlab, junit, rdjsonl, markdown, html.",
        "-f",
    ),
    "fail_on": _option(
        FailOn,
        FailOn.ERROR,
        OUTPUT,
        "Exit with 1 on findings of at least this severity; left out: error.",
        "--fail-on",
    ),
    "strict_skips": _option(bool, False, OUTPUT, "Exit with 1 when a rule was skipped, too.", "--strict-skips"),
    "apply_order": _option(
        ApplyOrder,
        ApplyOrder.KUBECTL,
        INPUT,
        "The tool that applies the manifests; it decides the order.",
        "--apply-order",
    ),
    "elastic": _option(
        bool | None,
        None,
        INPUT,
        "Whether an autoscaler adds and removes nodes.  [default: read from node labels]",
        "--elastic/--fixed",
    ),
    "node_groups": _option(
        NodeGroups | None,
        None,
        INPUT,
        "Whether the nodes show every node group of the cluster.  [default: undecided: proofs on nodes are warnings]",
        "--node-groups",
    ),
    "kubernetes_version": _option(
        str | None,
        None,
        INPUT,
        f"Kubernetes version.  [default: that of the cluster, else {RECORDED}]",
        "--kubernetes-version",
        metavar="VERSION",
    ),
    "feature_gates": _option(
        str | None,
        None,
        INPUT,
        "Feature gates of the cluster; gangs need some.  [default: read from the cluster's file]",
        "--feature-gates",
        metavar="NAME=true,…",
    ),
    "scheduler_config": _option(
        str | None,
        None,
        INPUT,
        "Configuration file of the cluster's kube-scheduler (KubeSchedulerConfiguration).",
        "--scheduler-config",
        metavar="FILE",
    ),
    "max_age": _option(
        str | None,
        None,
        INPUT,
        "Exit with 2 if the cluster's file is older, such as 12h, 7d or 2w.",
        "--max-age",
        metavar="AGE",
    ),
    "min_read": _option(
        int | None,
        None,
        INPUT,
        "Exit with 2 if a smaller percentage of the releases was read, such as 80.",
        "--min-read",
        metavar="PERCENT",
        min=0,
    ),
    "partial": _option(
        bool, False, INPUT, "The paths are part of a larger set; missing objects may exist elsewhere.", "--partial"
    ),
    "exclude": _many(INPUT, "--exclude", "GLOB", "Skip matching files and folders inside folders."),
    "include_tests": _option(
        bool, False, INPUT, "Judge folders of tests, expected results and copied code, too.", "--include-tests"
    ),
    "sets": _many(
        RULES, "--set", "RULE.PARAM=VALUE", "Set a parameter of a rule, or its severity (RULE.severity=note)."
    ),
    "baseline": _option(
        str | None, None, RULES, "Do not count findings that this file lists.", "--baseline", metavar="FILE"
    ),
    "render": _option(
        bool,
        True,
        INPUT,
        "Render kustomizations with kubectl kustomize, and a named chart with helm template, if installed.",
        "--render/--no-render",
    ),
    "config_file": _option(
        str | None,
        None,
        CONFIG,
        "Configuration file.  [default: the nearest kubesched.toml or pyproject.toml]",
        "--config",
        metavar="FILE",
    ),
    "no_config": _option(bool, False, CONFIG, "Read no configuration.", "--no-config"),
}
"""(type, default) of each shared option, in help order; ``settle`` reads their values."""

READING = (
    "namespace", "apply_order", "elastic", "node_groups", "kubernetes_version", "feature_gates", "scheduler_config",
    "workload_folders", "exclude",
    "include_tests", "render", "config_file", "no_config",
)  # fmt: skip
"""Options that change how manifests and clusters are read."""
JUDGING = (*READING, "profile", "select", "ignore", "rule_folders", "partial", "sets")
"""Also the options that choose and configure rules."""
GATING = (*JUDGING, "fail_on", "strict_skips", "baseline")
"""Also the options that decide the exit code."""

Run = TypeVar("Run", bound=Callable[..., None])


def takes(*names: str) -> Callable[[Run], Run]:
    """Return a decorator that adds the named shared options to a command, before its own options.

    The command takes them as ``**shared`` and does not use them: ``settle`` reads them from the context.
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
