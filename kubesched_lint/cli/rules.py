"""``kubesched-lint rules``: what rules there are, what one of them is about, and whether their examples hold."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

if TYPE_CHECKING:
    from kubesched_lint.rulebook.frontmatter import CardError
    from kubesched_lint.rulebook.rule import Rule
    from kubesched_lint.rulebook.trial import Trial

app = typer.Typer(
    help="List, explain and test the rules.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

FAILED, UNUSABLE = 1, 2


class Format(StrEnum):
    TEXT = "text"
    JSON = "json"


@app.command("list")
def list_rules(
    family: Annotated[
        list[str] | None, typer.Option("--family", metavar="FAMILY", help="Only this family. Repeatable.")
    ] = None,
    form: Annotated[Format, typer.Option("--format", "-f", help="How to print them.")] = Format.TEXT,
) -> None:
    """List the rules by family, with severity and what each needs to run.

    Example: kubesched-lint rules list --family spread
    """
    from kubesched_lint.rulebook.library import Rulebook, UnknownRuleError

    book = Rulebook.shipped()
    try:
        families = {name: book.family(name) for name in family or book.families}
    except UnknownRuleError as error:
        _give_up(str(error))
    if form is Format.JSON:
        import json

        typer.echo(json.dumps([_as_json(rule) for rules in families.values() for rule in rules], indent=2))
    else:
        typer.echo("\n".join(_table(families)))


@app.command()
def explain(slug: Annotated[str, typer.Argument(help="The rule, as reports name it in brackets.")]) -> None:
    """Explain one rule: what it finds, why it hurts, an example, what to use instead, what it cannot see.

    Example: kubesched-lint rules explain anti-affinity-exceeds-domains
    """
    from kubesched_lint.rulebook.frontmatter import CardError
    from kubesched_lint.rulebook.library import Rulebook, UnknownRuleError
    from kubesched_lint.rulebook.prose import as_markdown

    book = Rulebook.shipped()
    try:
        rule, card = book.get(slug), book.card(slug)
    except (UnknownRuleError, CardError, OSError) as error:
        _give_up(str(error))
    text = as_markdown(rule, card)
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.markdown import Markdown

        console = Console()
        console.print(Markdown(text, code_theme="ansi_dark"), width=min(console.width, 110))
    else:
        typer.echo(text, nl=False)


@app.command("test")
def run_examples(
    folder: Annotated[
        str | None, typer.Argument(metavar="[DIR]", help="A folder of cards; the shipped ones if none is given.")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="RULE", help="Only the cards of this rule or family. Repeatable."),
    ] = None,
) -> None:
    """Run the examples of the cards: each must show exactly what its marks say, under all other rules as well.

    Exit code 1 when an example does not hold, 2 when a card cannot be used.
    """
    from pathlib import Path

    from kubesched_lint.rulebook.library import UnknownRuleError, cards_folder
    from kubesched_lint.rulebook.trial import Trial

    where = cards_folder() if folder is None else Path(folder)
    if not where.is_dir():
        _give_up(f"{where} is not a folder")
    trial = Trial.of(where)
    try:
        trial = trial.narrowed(only or ())
    except UnknownRuleError as error:
        _give_up(str(error))
    if not trial.cards and not trial.faults:
        _give_up(f"{where} holds no card")
    failed = tuple(_failures(trial))
    for problem in (*trial.faults, *failed):
        typer.echo(str(problem))
    verdict = f"{len(failed)} failures" if failed else "all as marked"
    typer.echo(f"{len(trial.cards)} cards, {len(trial.examples)} examples: {verdict}", err=bool(failed))
    if trial.faults:
        raise typer.Exit(UNUSABLE)
    raise typer.Exit(FAILED if failed else 0)


def _failures(trial: Trial) -> Iterator[CardError]:
    if trial.cards:
        from kubesched_lint.engine.on_text import lint_example

        yield from trial.failures(lint_example)


def _table(families: dict[str, tuple[Rule, ...]]) -> Iterator[str]:
    from kubesched_lint.rulebook.families import FAMILIES

    wide = max((len(rule.slug) for rules in families.values() for rule in rules), default=0)
    for number, (family, rules) in enumerate(families.items()):
        if number:
            yield ""
        yield f"{family}: {FAMILIES.get(family, '')}".rstrip(": ")
        for rule in rules:
            severity = rule.severity.word if rule.default == "on" else f"{rule.severity.word}, {rule.default}"
            yield f"  {rule.slug:{wide}}  {severity:15}  {'+'.join(rule.needs):10}  {rule.summary}"


def _as_json(rule: Rule) -> dict[str, object]:
    return {
        "slug": rule.slug,
        "family": rule.family,
        "severity": rule.severity.word,
        "evidence": rule.evidence,
        "needs": rule.needs,
        "uses": rule.uses,
        "default": rule.default,
        "summary": rule.summary,
        "params": rule.params,
        "yieldsTo": rule.yields_to,
        "formerly": rule.formerly,
        "since": rule.since,
    }


def _give_up(message: str) -> NoReturn:
    typer.echo(f"kubesched-lint rules: {message}", err=True)
    raise typer.Exit(UNUSABLE)
