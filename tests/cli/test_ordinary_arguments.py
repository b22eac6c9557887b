"""Commands read ordinary arguments themselves, exactly as Typer reads them, and `lint` without Typer."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from enum import Enum
from importlib import import_module
from typing import Any
from unittest.mock import patch

import pytest
import typer
from hypothesis import given, settings
from hypothesis import strategies as st
from typer._click.exceptions import ClickException

from kubesched_lint.cli.app import _COMMANDS, _MODULES
from kubesched_lint.cli.parsing import _lint_options, parser
from kubesched_lint.cli.parsing.declared import options_of, values_in
from kubesched_lint.cli.parsing.ordinary import Mistake, call_of_lint
from kubesched_lint.cli.subcommands.lint import app
from scripts import lint_options
from tests.share import examples

_COMMAND = typer.main.get_command(app)
_FLAGS = [flag for option in _lint_options.OPTIONS for flag in (*option.opts, *option.secondary_opts)]
_VALUES = [
    "",
    "-",
    "--",
    "x",
    "a=b",
    "-q",
    "--quiet",
    "3",
    "0",
    "-1",
    "ci",
    "strict",
    "error",
    "argocd",
    "never",
    "HEAD",
    ".",
]


def by_typer(words: list[str], command: Any = _COMMAND) -> tuple[Mapping[str, Any], set[str]] | None:
    """Return (values, the given ones); None if Typer refuses the arguments or prints help."""
    try:
        with patch.object(parser, "values_in", side_effect=Mistake):
            context = command.make_context("lint", list(words))
    except (ClickException, typer.Exit):
        return None
    values = {name: _plain(value) for name, value in context.params.items()}
    given_ones = {name for name in values if context.get_parameter_source(name).name == "COMMANDLINE"}
    return values, given_ones


def _plain(value: Any) -> Any:
    """Return what the program makes of a value; Typer has lists or tuples of texts, by its version."""
    if isinstance(value, Enum):
        return value.value
    return tuple(value) if isinstance(value, list) else value


def without_typer(words: list[str]) -> tuple[Mapping[str, Any], set[str]] | None:
    try:
        call = call_of_lint(words)
    except Mistake:
        return None
    return call.params, {name for name in call.params if call.get_parameter_source(name).name == "COMMANDLINE"}


def words_of_a_call(flags: list[str]) -> st.SearchStrategy[list[str]]:
    flag, value = st.sampled_from(flags), st.sampled_from(_VALUES)
    joined = st.builds(lambda name, text: f"{name}={text}" if name.startswith("--") else name + text, flag, value)
    bundle = st.text("qvjcnfhx3=", min_size=1, max_size=4).map("-".__add__)
    return st.lists(
        st.one_of(flag, value, joined, bundle, st.sampled_from(["-h", "--help", "--nope", "--elastic"])), max_size=6
    )


@settings(max_examples=examples(600), deadline=None)
@given(words_of_a_call(_FLAGS))
def test_both_parsers_read_the_same(words: list[str]) -> None:
    read = without_typer(words)
    assert read is None or read == by_typer(words)


def _commands() -> Iterator[tuple[str, Any]]:
    """Yield (name, command) of all commands that read ordinary arguments themselves."""
    for name in _COMMANDS:
        made = typer.main.get_command(import_module(f"kubesched_lint.cli.subcommands.{_MODULES.get(name, name)}").app)
        for own, command in getattr(made, "commands", {"": made}).items():
            with suppress(ValueError):
                yield f"{name} {own}".strip(), (options_of(command) and command)


_OTHERS = {name: command for name, command in _commands() if command}


@pytest.mark.parametrize("name", _OTHERS)
def test_every_command_reads_what_typer_reads(name: str) -> None:
    command = _OTHERS[name]
    flags = [flag for option in options_of(command) for flag in (*option.opts, *option.secondary_opts)]

    @settings(max_examples=examples(60), deadline=None)
    @given(words_of_a_call(flags or ["--nope"]))
    def compare(words: list[str]) -> None:
        with suppress(Mistake):
            values, given_ones = values_in(command, words)
            read = {name: _plain(value) for name, value in values.items()}
            assert (read, set(given_ones)) == by_typer(words, command)
            assert all(value in (None, ()) or type(value) is type(seen) for value, seen in _types(command, words))

    compare()
    for words in ([], ["x"], ["x", "y"], ["x", "y", "z"]):
        with suppress(Mistake):
            assert set(values_in(command, words)[1]) == (by_typer(words, command) or ((), None))[1]


def _types(command: Any, words: list[str]) -> Iterator[tuple[Any, Any]]:
    """Yield (value, the same by Typer): a command asks its choices for what only they have."""
    with patch.object(parser, "values_in", side_effect=Mistake):
        by = command.make_context("x", list(words)).params
    values, _ = values_in(command, words)
    return ((value, by[name]) for name, value in values.items() if not isinstance(value, tuple))


def test_the_usual_commands_read_their_arguments_themselves() -> None:
    assert {"simulate", "plan", "why", "fit", "drain", "audit", "fleet", "config show", "rules explain"} <= {*_OTHERS}


@pytest.mark.parametrize("flag", _FLAGS)
@pytest.mark.parametrize("value", ["x", "3", "strict"])
def test_every_option_is_read(flag: str, value: str) -> None:
    for words in ([flag], [flag, value], [flag, value, flag, value, "path"]):
        assert without_typer(words) == by_typer(words)
    if flag.startswith("--"):
        assert without_typer([f"{flag}={value}", "path"]) == by_typer([f"{flag}={value}", "path"])


def test_the_table_is_that_of_typer() -> None:
    assert tuple(lint_options.options()) == _lint_options.OPTIONS, "just generate"


@pytest.mark.parametrize(
    ("words", "imports_it"), [(["fixtures/shop/web.yaml"], False), (["-h"], True), (["--color", "red", "x"], True)]
)
def test_typer_is_imported_only_for_what_is_not_ordinary(words: list[str], imports_it: bool) -> None:
    program = (
        "import os, sys; import kubesched_lint.cli as cli\n"
        "os._exit = lambda code: sys.stdout.write('TYPER' * ('typer' in sys.modules))\n"
        f"sys.argv = ['kubesched-lint', 'lint', '--no-cache', '--no-config', *{words!r}]\n"
        "cli.main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env={**os.environ}, check=True
    )
    assert done.stdout.endswith("TYPER") is imports_it


@pytest.mark.parametrize(
    "words",
    [
        ["lint", "-h"],
        ["lint", "--nope"],
        ["rules", "-h"],
        ["rules", "list"],
        ["simulate", "fixtures/shop/web.yaml", "--events", "deploy", "-c", "fixtures/clusters/three-zones.yaml"],
    ],
)
def test_help_slips_and_usual_calls_import_nothing_that_only_typers_values_need(words: list[str]) -> None:
    """Typer imports pydantic for each option that it reads, given or not: 0.13 s of CPU."""
    program = (
        "import os, sys; import kubesched_lint.cli as cli\n"
        "os._exit = lambda code: print('IMPORTED', *{'pydantic', 'rich'} & set(sys.modules))\n"
        f"sys.argv = ['kubesched-lint', *{words!r}]\n"
        "cli.main()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("IMPORTED\n")


ZONES = ["-c", "fixtures/clusters/three-zones.yaml"]


@pytest.mark.parametrize("words", [["fixtures/shop/web.yaml"], ["fixtures/shop/web.yaml", *ZONES]])
def test_one_file_imports_no_large_package(words: list[str]) -> None:
    """Each takes longer than linting the file."""
    packages = {
        "asyncio",
        "highspy",
        "jsonschema",
        "kubernetes",
        "pydantic",
        "pygls",
        "rich",
        "ruamel",
        "typer",
        "yaml",
    }
    assert not packages & _imported(words)


def _imported(words: list[str]) -> set[str]:
    """Return the modules that are imported at the end of a run."""
    program = (
        "import os, sys; import kubesched_lint.cli as cli\n"
        "os._exit = lambda code: sys.stdout.write('|' + ' '.join(sys.modules))\n"
        f"sys.argv = ['kubesched-lint', 'lint', '--no-cache', '--no-config', *{words!r}]\n"
        "cli.main()"
    )
    environ = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}  # to write bytecode takes more modules, once
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environ)
    return set(done.stdout.rpartition("|")[2].split())


@pytest.mark.parametrize("words", [["--max-age", "soon", "."], ["--fix", "--diff", "."], ["--target", "x", "."]])
def test_a_mistake_that_the_settings_find_is_told_with_the_usage(words: list[str]) -> None:
    """Both ways end in the same message, because Typer reads the arguments again."""
    done = subprocess.run(
        [sys.executable, "-m", "kubesched_lint", "lint", "--no-config", *words],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("Usage: ")
    assert done.stderr.count("Usage: ") == 1
