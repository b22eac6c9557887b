"""``kubesched-lint lsp``: the language server for editors."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from kubesched_lint.cli.opening import opened
from kubesched_lint.cli.parsing.options import JUDGING, Targets, takes
from kubesched_lint.cli.parsing.parser import Command
from kubesched_lint.engine.base.extras import LSP_NEEDED, has_lsp
from kubesched_lint.lsp.server import serve
from kubesched_lint.printing import tell

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


@app.command(cls=Command, short_help="Serve an editor: findings while you type, fixes, explanations.")
@takes("cluster", *JUDGING, "baseline")
def lsp(
    context: typer.Context,
    *,
    target: Targets = None,
    stdio: Annotated[bool, typer.Option("--stdio", help="Accepted because some editors pass it; always so.")] = False,
    **shared: Any,
) -> None:
    """Speak the language server protocol on standard input and output, for an editor that starts it.

    Judges the folder that the editor has open: the targets of its configuration, or else all manifests in it. Needs
    pygls: pip install 'kubesched-lint[lsp]'.

    Examples:

      kubesched-lint lsp

      kubesched-lint lsp --target prod-eu
    """
    if not has_lsp():
        tell(f"error: the language server needs pygls: {LSP_NEEDED}")
        raise typer.Exit(2)
    serve(lambda root: opened(context, [root], prefers_targets=True))
