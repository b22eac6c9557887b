"""The command tree. Each command has its own module, imported when the user names it or help lists it."""

import gc
from enum import StrEnum
from importlib import import_module
from typing import Annotated, Any

import typer
from typer._completion_shared import get_completion_script
from typer.core import TyperCommand

from kubesched_lint.cli import COMPLETE
from kubesched_lint.cli.parsing.pages import ROOT
from kubesched_lint.cli.parsing.parser import CommandGroup
from kubesched_lint.printing import say, say_exactly
from kubesched_lint.version import __version__

_COMMANDS = {
    "lint": "Check manifests against a cluster, and name the lines to blame.",
    "why": "Explain where one pod can go, node by node.",
    "simulate": "Show what deploys, rollouts and losses do to each workload.",
    "plan": "Show what a change does to each workload.",
    "check": "Judge what applying manifests to a live cluster starts.",
    "fit": "Count how many more pods fit, and what stops the next one.",
    "drain": "Plan the waves in which nodes can be drained.",
    "audit": "Show what is wrong in a cluster as it runs.",
    "fleet": "Check one set of manifests against many clusters.",
    "lsp": "Serve an editor: findings while you type, fixes, explanations.",
    "init": "Write a short sketch of a cluster's nodes, for --cluster.",
    "snapshot": "Save what scheduling reads from a live cluster, for --cluster.",
    "baseline": "Record known findings, so that lint does not fail on them.",
    "targets": "Find what Flux or Argo CD applies from a repository.",
    "charts": "Pull the charts of releases, so that lint can render them.",
    "config": "Show the settings of a run, or the schema of the file.",
    "rules": "List, explain, test and create rules.",
    "workloads": "List, explain, test and create cards of custom resources.",
    "verify": "Compare our model with recorded decisions of a scheduler.",
}
"""Command → its short help: a list of all commands imports none of them."""
_MODULES = {"targets": "target_commands"}
"""Command → the module that has it, if that is called otherwise."""


class Shell(StrEnum):
    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


class _Commands(CommandGroup):
    """Loads the command NAME from its module in ``kubesched_lint.cli.subcommands``, where it is ``app``."""

    _is_listing = False

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args[:1] == ["-h"]:
            say(ROOT.format(program=ctx.command_path).rstrip())
            raise typer.Exit
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: Any) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in _COMMANDS:
            return None
        if self._is_listing:
            return TyperCommand(cmd_name, short_help=_COMMANDS[cmd_name])
        command = typer.main.get_command(
            import_module(f"kubesched_lint.cli.subcommands.{_MODULES.get(cmd_name, cmd_name)}").app
        )
        if cmd_name != "lint":
            gc.freeze()  # what was imported stays
            gc.set_threshold(50_000, 20)  # see main(); the objects of a simulation live long, most to its end
            gc.enable()
        command.name = cmd_name
        return command

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        self._is_listing = True
        super().format_commands(ctx, formatter)
        self._is_listing = False

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        self._is_listing = True
        completions = super().shell_complete(ctx, incomplete)
        self._is_listing = False
        return completions


app = typer.Typer(
    cls=_Commands,
    add_completion=False,  # Typer's options detect the shell; ours takes its name
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        say(f"kubesched-lint {__version__}")
        raise typer.Exit()


def _show_completion(shell: str | None) -> None:
    if shell:
        say_exactly([get_completion_script(prog_name="kubesched-lint", complete_var=COMPLETE, shell=shell), "\n"])
        raise typer.Exit()


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
    show_completion: Annotated[
        Shell | None,
        typer.Option(
            "--show-completion",
            callback=_show_completion,
            is_eager=True,
            help="Print a script that completes commands, options and rule names in this shell.",
        ),
    ] = None,
) -> None:
    """Check before you deploy: will every pod of these manifests find a node, and if not, which line is to blame?

    `kubesched-lint COMMAND --help` explains a command and its exit codes. For most commands: 0 = no problem, 1 =
    findings, 2 = invalid input, configuration or options.

    Examples:

      kubesched-lint lint manifests/ --cluster nodes.json

      kubesched-lint rules explain anti-affinity-exceeds-domains

      kubesched-lint --show-completion bash >> ~/.bashrc
    """
