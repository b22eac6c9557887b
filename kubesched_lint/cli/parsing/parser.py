"""Commands with help like a manual page: options in sections, and examples to copy at the end."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from inspect import cleandoc
from os.path import exists
from textwrap import wrap
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from kubesched_lint.cli.parsing.declared import values_in
from kubesched_lint.cli.parsing.invocation import Source
from kubesched_lint.cli.parsing.ordinary import Mistake
from kubesched_lint.cli.parsing.pages import page
from kubesched_lint.engine.base.text import did_you_mean
from kubesched_lint.printing import say, tell

INPUT, RULES, OUTPUT, CONFIG = "Input", "Rules", "Output", "Configuration"
"""Sections of options: values for ``rich_help_panel``. An option without a section is listed under ``Options``."""
_REST = "Options"
_SYNONYMS = {
    "check": "lint",
    "diff": "lint --diff",
    "explain": "rules explain",
    "fix": "lint --fix",
    "help": "-h",
    "validate": "lint",
    "version": "--version",
    "watch": "lint --watch",
}
"""What people type → the command and option that does it."""
_TYPES = {"<int range>": "N", "<int>": "N", "<str>": "TEXT", "<float range>": "N"}


class Command(TyperCommand):
    """A command with help like a manual page (``--help``) or on one page (``-h``); it reads arguments as usual."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options; the last takes ``-h`` from ``--help``."""
        every: list[Any] = super().get_params(ctx)
        short = copy(next((option for option in every if "-h" in option.opts), None))
        if short is None:
            return every
        short.name, short.opts, short.hidden, short.callback = "page", ["-h"], True, None
        return [*every, short]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if "-h" in args and self.make_parser(ctx).parse_args(args=list(args))[0].get("page"):
            about, examples = _without_examples(_named(self.help, ctx))
            options = [option for option in self.get_params(ctx) if option.name != "page"]
            say("\n".join(page(ctx, about, examples, options)))
            raise typer.Exit
        try:
            values, given = values_in(self, args)
        except (Mistake, ValueError):
            return super().parse_args(ctx, args)
        ctx.params.update(values)
        for name in values:
            ctx.set_parameter_source(name, Source("COMMANDLINE" if name in given else "DEFAULT"))
        ctx.args = []
        return []

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return list(_usage(super().collect_usage_pieces(ctx)))

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        _write_text(_named(self.help, ctx), formatter)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                is_argument = parameter.param_type_name == "argument"
                section = "Arguments" if is_argument else getattr(parameter, "rich_help_panel", None) or _REST
                sections.setdefault(section, []).append((_in_words(record[0]), record[1]))
        sections[_REST] = sections.pop(_REST, [])  # moves to the end
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        _write_examples(_named(self.help, ctx), formatter)


class CommandGroup(TyperGroup):
    """A command with subcommands."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read only the options before a subcommand: for each option that is not given, Typer imports pydantic."""
        if args and args[0] in self.list_commands(ctx):
            self.params, self.add_help_option = [], False
        return super().parse_args(ctx, args)

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        _write_text(_named(self.help, ctx), formatter)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        _write_examples(_named(self.help, ctx), formatter)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command. Raises UsageError with a suggestion: a similar command, or ``lint`` for a path."""
        name, known = args[0], self.list_commands(ctx)
        if name not in known and not name.startswith("-"):
            if name in _SYNONYMS and "lint" in known:
                tell(f"error: no command '{name}'; use: {ctx.command_path} {_SYNONYMS[name]}")
                raise typer.Exit(2)
            guess = did_you_mean(name, known).replace("`", "'")
            if not guess and exists(name) and "lint" in known:
                guess = f"; did you mean '{ctx.command_path} lint {name}'?"
            ctx.fail(f"No such command '{name}'{guess or '.'}")
        return super().resolve_command(ctx, args)


def _named(text: str | None, ctx: Any) -> str:
    """Return the help as a kubectl plugin words it, if the program runs as one."""
    program = ctx.find_root().info_name or ""
    is_plugin = program.startswith("kubectl ")
    return (text or "").replace("kubesched-lint ", f"{program} ") if is_plugin else text or ""


def _write_text(text: str, formatter: Any) -> None:
    formatter.write_paragraph()
    with formatter.indentation():
        formatter.write_text(_without_examples(text)[0])


def _write_examples(text: str, formatter: Any) -> None:
    examples = _without_examples(text)[1]
    if examples:
        with formatter.section("Examples" if len(examples) > 1 else "Example"):
            for example in examples:
                formatter.write("".join(f"{line}\n" for line in _wrapped(example, formatter.width)))


def _usage(pieces: list[str]) -> Iterator[str]:
    """Yield the pieces without the braces that Typer puts around required arguments."""
    for piece in pieces:
        bare = piece.removesuffix("...").strip("{}")
        yield bare.upper() if piece.startswith("{") else piece


def _in_words(names: str) -> str:
    for kind, word in _TYPES.items():
        names = names.replace(kind, word)
    return names


def _without_examples(text: str) -> tuple[str, list[str]]:
    """Return (text of a docstring before its examples, the example lines)."""
    about, _, rest = cleandoc(text).partition("\nExample")
    return about.strip(), [line.strip() for line in rest.partition(":")[2].splitlines() if line.strip()]


def _wrapped(example: str, width: int) -> Iterator[str]:
    r"""Yield lines of at most ``width`` cells, joined by ``\`` as in a shell; an option and its value share a line."""
    words = example.split(" ")
    glued = "".join(f"{word}\0" if word.startswith("-") and word != "-" else f"{word} " for word in words).strip()
    glued = glued.replace("\0-", " -").rstrip("\0")
    lines = wrap(glued, width - 4, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    for number, line in enumerate(lines, 1):
        yield f"  {line}".replace("\0", " ") + (" \\" if number < len(lines) else "")


def command_group(words: str) -> typer.Typer:
    """Return a command with subcommands; ``words`` is its help."""
    return typer.Typer(
        cls=CommandGroup,
        help=words,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )
