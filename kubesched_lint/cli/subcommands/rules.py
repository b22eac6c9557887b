"""``kubesched-lint rules``: list rules, explain one, test the examples of their cards, start a new rule."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from kubesched_lint.cli.parsing.options import Format, rule_slugs
from kubesched_lint.cli.parsing.parser import Command, command_group
from kubesched_lint.engine.base.text import many
from kubesched_lint.linter.lint_text import lint_example
from kubesched_lint.printing import json_text, say, say_exactly, say_markdown, tell, visible
from kubesched_lint.rulebook.cards.card import as_markdown
from kubesched_lint.rulebook.cards.frontmatter import CardError
from kubesched_lint.rulebook.examples import Trial
from kubesched_lint.rulebook.library import Rulebook, UnknownRuleError, cards_folder
from kubesched_lint.rulebook.new import NewRuleError, new_card, new_check
from kubesched_lint.rulebook.own import rulebook_with
from kubesched_lint.rulebook.rule import FAMILIES, Rule

app = command_group("List, explain, test and create rules.")

UNUSABLE = 2
OwnRules = Annotated[
    list[str] | None,
    typer.Option("--rules", metavar="DIR", help="A folder with your own rules. Repeatable.", show_default=False),
]


@app.command("list", cls=Command)
def list_rules(
    family: Annotated[
        list[str] | None, typer.Option("--family", metavar="FAMILY", help="Only this family. Repeatable.")
    ] = None,
    form: Annotated[Format, typer.Option("--format", "-f", help="Output format.")] = Format.TEXT,
    own: OwnRules = None,
) -> None:
    """List the rules by family, with their severity and the inputs that each needs.

    Examples:

      kubesched-lint rules list --family spread

      kubesched-lint rules list --rules ops/rules
    """
    book = _book(own)
    try:
        families = {name: book.family(name) for name in family or book.families}
    except UnknownRuleError as error:
        _give_up(str(error))
    if form is Format.JSON:
        say_exactly([json_text([_as_json(rule) for rules in families.values() for rule in rules], 2), "\n"])
    else:
        say("\n".join(_table(families)))
    if book.faults:
        raise typer.Exit(UNUSABLE)


@app.command(cls=Command)
def explain(
    slug: Annotated[
        str,
        typer.Argument(
            metavar="RULE", autocompletion=rule_slugs, help="Name of a rule, as in the brackets of reports."
        ),
    ],
    own: OwnRules = None,
) -> None:
    """Explain one rule: what it finds, why this is a problem, an example, what to use instead, its limits.

    With the name of a family, lists its rules.

    Example: kubesched-lint rules explain anti-affinity-exceeds-domains
    """
    book = _book(own)
    if slug in book.families and slug not in book.rules:
        rules = book.family(slug)
        say(f"`{slug}` is a family; `kubesched-lint rules explain RULE` explains one of its {len(rules)} rules.\n")
        say("\n".join(_table({slug: rules})))
        return
    try:
        rule, card = book.get(slug), book.card(slug)
    except UnknownRuleError as error:
        _give_up(f"{error}{'' if own else ' (rules of your own: --rules DIR)'}")
    except (CardError, OSError) as error:
        _give_up(str(error))
    say_markdown(as_markdown(rule, card))


@app.command("test", cls=Command)
def run_examples(
    folder: Annotated[
        str | None, typer.Argument(metavar="[DIR]", help="A folder of cards.  [default: the shipped cards]")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="RULE", help="Only the cards of this rule or family. Repeatable."),
    ] = None,
) -> None:
    """Test the examples of the cards: each must have exactly the findings that its marks name, with all rules on.

    Exits with 2 when a card is invalid or an example fails.
    """
    where = cards_folder() if folder is None else Path(folder)
    if not where.is_dir():
        _give_up(f"{where} is not a folder")
    trial = Trial.of(where)
    try:
        trial = trial.narrowed(only or ())
    except UnknownRuleError as error:
        _give_up(str(error))
    if not trial.cards and not trial.faults:
        _give_up(f"{where} has no cards")
    failed = tuple(_failures(trial))
    for problem in (*trial.faults, *failed):
        say(visible(str(problem)))
    bad = bool(trial.faults or failed)
    (tell if bad else say)(_verdict(trial, len(failed)))
    raise typer.Exit(UNUSABLE if bad else 0)


@app.command("new", cls=Command)
def new_rule(
    slug: Annotated[str, typer.Argument(help="Name of the rule: lower-case words joined by hyphens.")],
    folder: Annotated[
        str | None,
        typer.Option(
            "--dir",
            metavar="DIR",
            help="Folder to write to.  [default: ops/rules; own-rules with --python]",
            show_default=False,
        ),
    ] = None,
    python: Annotated[
        bool, typer.Option("--python/--cel", help="Check in Python, as a package, or as a CEL expression.")
    ] = False,
) -> None:
    """Create a rule whose examples pass; then edit the check and the examples.

    Examples:

      kubesched-lint rules new payment-needs-two-zones

      kubesched-lint rules new payment-needs-two-zones --python --dir acme-rules
    """
    where = Path(folder or ("own-rules" if python else "ops/rules"))
    try:
        files = (new_check if python else new_card)(slug, where)
        for file, text in files.items():
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("x", encoding="utf-8") as opened:
                opened.write(text)
            say(f"wrote {visible(str(file))}")
    except NewRuleError as error:
        _give_up(str(error))
    except OSError as error:
        _give_up(f"{error.filename}: cannot be written: {error.strerror}")
    card = next(file for file in files if file.suffix == ".md")
    if python:
        say(f"next: pip install -e {where} && kubesched-lint rules test {card.parent}")
    else:
        say(f"next: kubesched-lint rules test {where} && kubesched-lint lint manifests/ --rules {where}")


def _book(own: list[str] | None) -> Rulebook:
    """Return all rules; print the faults in the user's own cards."""
    book = rulebook_with(own or ())
    for fault in book.faults:
        tell(f"error: {fault}")
    return book


def _failures(trial: Trial) -> Iterator[CardError]:
    if trial.cards:
        yield from trial.failures(lint_example)


def _verdict(trial: Trial, failed: int) -> str:
    """Return ``2 cards, 5 examples: all as marked; 1 card cannot be used``."""
    parts = []
    if trial.cards:
        tested = f"{many(len(trial.cards), 'card')}, {many(len(trial.examples), 'example')}"
        parts.append(f"{tested}: {f'{failed} not as marked' if failed else 'all as marked'}")
    broken = len({fault.path for fault in trial.faults})
    if broken:
        parts.append(f"{many(broken, 'card')} cannot be used")
    return "; ".join(parts)


def _table(families: dict[str, tuple[Rule, ...]]) -> Iterator[str]:
    wide = max((len(rule.slug) for rules in families.values() for rule in rules), default=0)
    for number, (family, rules) in enumerate(families.items()):
        if number:
            yield ""
        yield f"{family}: {FAMILIES.get(family, '')}".rstrip(": ")
        for rule in rules:
            severity = ", ".join((rule.severity.word, *rule.marks))
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
        "preview": rule.preview,
        "summary": rule.summary,
        "params": rule.params,
        "fix": rule.fix,
        "yieldsTo": rule.yields_to,
        "yieldsHereTo": rule.yields_here_to,
        "formerly": rule.formerly,
        "since": rule.since,
    }


def _give_up(message: str) -> NoReturn:
    tell(f"error: {message}")
    raise typer.Exit(UNUSABLE)
