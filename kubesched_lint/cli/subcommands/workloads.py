"""``kubesched-lint workloads``: list and explain workload cards, test their examples, start a new card."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from kubesched_lint.cli.parsing.options import Format
from kubesched_lint.cli.parsing.parser import Command, command_group
from kubesched_lint.commands.lint.run import read_manifests
from kubesched_lint.commands.workloads.explained import card_of, explained
from kubesched_lint.commands.workloads.mapping import resources
from kubesched_lint.commands.workloads.new import NewCardError, card_of_crd, card_of_name, remark, write
from kubesched_lint.commands.workloads.schema import SchemaError
from kubesched_lint.commands.workloads.trial import trial_of
from kubesched_lint.custom.card import CustomKind, cards_folder
from kubesched_lint.custom.kinds import Kinds
from kubesched_lint.custom.own import kinds_with
from kubesched_lint.engine.base.text import did_you_mean, many
from kubesched_lint.files import content
from kubesched_lint.linter.options import Options
from kubesched_lint.printing import json_text, say, say_exactly, say_markdown, tell, visible, visible_lines
from kubesched_lint.sources.manifests.inputs import LARGEST

app = command_group("List, explain, test and create cards of custom resources.")

UNUSABLE = 2
OwnCards = Annotated[
    list[str] | None,
    typer.Option("--workloads", metavar="DIR", help="A folder with your own cards. Repeatable.", show_default=False),
]


@app.command("list", cls=Command)
def list_cards(
    form: Annotated[Format, typer.Option("--format", "-f", help="Output format.")] = Format.TEXT,
    own: OwnCards = None,
) -> None:
    """List the kinds of custom resources that are read, with the file of each card.

    Example: kubesched-lint workloads list --workloads ops/workloads
    """
    kinds = _kinds(own)
    cards = [(kind, card_of(kind)) for kind in kinds]
    if form is Format.JSON:
        rows = [
            {
                "kind": kind.kind,
                "group": kind.group,
                "versions": list(kind.versions),
                "card": kind.path or f"{kind.slug}.md",
                "summary": card.front.value["summary"],
            }
            for kind, card in cards
        ]
        say_exactly([json_text(rows, 2), "\n"])
    else:
        names = [f"{kind.kind}.{kind.group}" for kind, _ in cards]
        wide = max(map(len, names))
        for name, (_, card) in zip(names, cards, strict=True):
            say(f"{visible(name):{wide}}  {visible(str(card.front.value['summary']))}")
    if kinds.faults:
        raise typer.Exit(UNUSABLE)


@app.command(cls=Command)
def explain(
    name: Annotated[str, typer.Argument(metavar="KIND", help="A kind, such as Rollout or Rollout.argoproj.io.")],
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PATH]...", help="Show what is read from the resources of these files."),
    ] = None,
    own: OwnCards = None,
) -> None:
    """Explain a kind: what its operator makes, how its fields are read, how it rolls out, and what is unknown.

    Examples:

      kubesched-lint workloads explain Rollout

      kubesched-lint workloads explain Rollout rollout.yaml
    """
    kinds = _kinds(own)
    asked = name.lower()
    custom_kinds = [k for k in kinds if asked in (k.kind.lower(), f"{k.kind}.{k.group}".lower(), k.slug)]
    if not custom_kinds:
        nearest = did_you_mean(name, [kind.kind for kind in kinds])
        _give_up(f"no card has the kind `{name}`{nearest or ' (--workloads names a folder of your own cards)'}")
    if paths:
        _explain_resources(custom_kinds, kinds, paths)
        return
    for kind in custom_kinds:
        say_markdown(explained(kind))


def _explain_resources(custom_kinds: Sequence[CustomKind], kinds: Kinds, paths: Sequence[str]) -> None:
    manifests = read_manifests(paths, Options(kinds=kinds))
    for error in manifests.errors:
        tell(f"error: {error.place}: {error.message}")
    lines = [line for kind in custom_kinds for line in resources(manifests, kind)]
    if not lines:
        _give_up(f"{', '.join(paths)}: no {custom_kinds[0].kind}")
    say(visible_lines("\n".join(lines)).rstrip("\n"))
    if manifests.errors:
        raise typer.Exit(UNUSABLE)


@app.command("test", cls=Command)
def run_examples(
    folder: Annotated[
        str | None, typer.Argument(metavar="[DIR]", help="A folder of cards.  [default: the shipped cards]")
    ] = None,
    crd: Annotated[
        list[str] | None,
        typer.Option(
            "--crd",
            metavar="FILE",
            help="A definition that must have the cards' paths. Repeatable.",
        ),
    ] = None,
) -> None:
    """Test the examples of the cards: a custom resource must give the findings and cells of the plain workloads.

    Exits with 2 when a card is invalid, an example fails, or a definition lacks a path that a card reads.

    Example: kubesched-lint workloads test ops/workloads --crd widgets-crd.yaml
    """
    where = cards_folder() if folder is None else Path(folder)
    if not where.is_dir():
        _give_up(f"{where} is not a folder")
    definitions = {}
    for path in crd or ():
        try:
            definitions[path] = content(path, LARGEST)
        except OSError as error:
            _give_up(f"{path}: cannot be read: {error.strerror}")
    try:
        trial = trial_of(where, definitions)
    except SchemaError as error:
        _give_up(str(error))
    if not trial.cards and not trial.problems:
        _give_up(f"{where} has no cards")
    for problem in trial.problems:
        say(visible(str(problem)))
    verdict = f"{many(trial.cards, 'card')}, {many(trial.examples, 'example')}"
    outcome = many(len(trial.problems), "problem") if trial.problems else "all alike"
    (tell if trial.problems else say)(f"{verdict}: {outcome}")
    raise typer.Exit(UNUSABLE if trial.problems else 0)


@app.command("new", cls=Command)
def new_card(
    name: Annotated[
        str | None, typer.Argument(metavar="[KIND.GROUP]", help="The kind, such as Widget.example.com.")
    ] = None,
    crd: Annotated[
        str | None, typer.Option("--crd", metavar="FILE", help="The kind's CustomResourceDefinition.")
    ] = None,
    folder: Annotated[str, typer.Option("--dir", metavar="DIR", help="Folder to write to.")] = "ops/workloads",
) -> None:
    """Create a card whose example passes; then read the operator's source and edit the card.

    Examples:

      kubesched-lint workloads new Widget.example.com

      kubesched-lint workloads new --crd widgets-crd.yaml
    """
    if (name is None) == (crd is None):
        _give_up("name either a kind (Widget.example.com) or --crd FILE")
    try:
        card_and_name = card_of_name(name or "") if crd is None else card_of_crd(crd, content(crd, LARGEST))
    except NewCardError as error:
        _give_up(str(error))
    except OSError as error:
        _give_up(f"{crd}: cannot be read: {error.strerror}")
    try:
        written = write(Path(folder), *card_and_name)
    except NewCardError as error:
        _give_up(str(error))
    except OSError as error:
        _give_up(f"{folder}: cannot be written: {error.strerror}")
    say(f"wrote {visible(str(written))}")
    if told := remark(card_and_name[1]):
        say(f"note: {told}")
    say(f"next: kubesched-lint workloads test {folder} && kubesched-lint lint manifests/ --workloads {folder}")


def _kinds(own: list[str] | None) -> Kinds:
    """Return all kinds; print the faults of the user's own cards."""
    kinds = kinds_with(own or ())
    for fault in kinds.faults:
        tell(f"error: {fault}")
    return kinds


def _give_up(message: str) -> NoReturn:
    tell(f"error: {message}")
    raise typer.Exit(UNUSABLE)
