"""The tree of commands. Each lives in a module of its own, imported when it is named or when help lists it."""

from __future__ import annotations

import gc
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

_COMMANDS = ("lint", "why", "simulate", "fleet", "init", "snapshot", "baseline", "config", "rules", "verify")


class _Commands(TyperGroup):
    """Looks for the command NAME in ``kubesched_lint.cli.NAME``, which has it as ``app``."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in _COMMANDS:
            return None
        if cmd_name != "lint":
            gc.enable()  # see main()
        command = typer.main.get_command(import_module(f"kubesched_lint.cli.{cmd_name}").app)
        command.name = cmd_name
        return command


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from kubesched_lint.version import __version__

        typer.echo(f"kubesched-lint {__version__}")
        raise typer.Exit()


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Before you deploy: will every pod of these manifests find a node, and if not, which line is to blame?"""
