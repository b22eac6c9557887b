"""What a person sees who asks for help, mistypes a command, or presses the tabulator."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from tests.program import called

ROOT = Path(__file__).parents[2]
COMMANDS = [
    "lint",
    "why",
    "simulate",
    "plan",
    "drain",
    "check",
    "fit",
    "audit",
    "fleet",
    "lsp",
    "init",
    "snapshot",
    "verify",
]
INNER = [("baseline", "write"), ("baseline", "prune"), ("baseline", "update"), ("config", "show"), ("config", "schema")]
INNER += [("config", "files"), ("rules", "list"), ("rules", "explain"), ("rules", "test"), ("rules", "new")]
INNER += [("workloads", "list"), ("workloads", "explain"), ("workloads", "test"), ("workloads", "new")]
INNER += [("targets", "discover"), ("charts", "pull")]
EVERY = [(name,) for name in COMMANDS] + INNER


def run(*args: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return called(*args, cwd=ROOT, environ={**os.environ, "COLUMNS": "80", **environ})


def test_the_tests_here_know_every_command() -> None:
    listed = re.findall(r"^  (\w+) {2,}", run("--help").stdout.partition("Commands:")[2], re.MULTILINE)
    assert {*COMMANDS, *(group for group, _ in INNER)} == set(listed)
    for group in ("baseline", "charts", "config", "rules", "targets", "workloads"):
        listed = re.findall(r"^  (\w+) {2,}", run(group, "--help").stdout.partition("Commands:")[2], re.MULTILINE)
        assert {name for its, name in INNER if its == group} == set(listed)


@pytest.mark.parametrize("command", EVERY, ids=" ".join)
def test_every_command_explains_itself_within_80_columns_and_ends_with_examples(command: tuple[str, ...]) -> None:
    done = run(*command, "--help")
    assert done.returncode == 0
    assert max(map(len, done.stdout.splitlines())) <= 80
    usage, _, rest = done.stdout.partition("\n\n")
    assert "{" not in usage
    assert "<str>" not in done.stdout
    assert "<int" not in done.stdout
    if command[1:] != ("test",):
        head, examples = re.split(r"\nExamples?:\n", rest)
        assert head.strip()
        assert f"kubesched-lint {' '.join(command)}" in examples


def test_the_list_of_commands_is_not_cut_short() -> None:
    listed = run("--help").stdout.partition("Commands:")[2].partition("\n\n")[0]
    assert "..." not in listed


@pytest.mark.parametrize(
    ("args", "guess"),
    [
        (["lnit"], "No such command 'lnit'; did you mean 'lint'?"),
        (["fixtures/shop"], "lint fixtures/shop'?"),
        (["frobnicate"], "No such command 'frobnicate'."),
        (["rules", "explan"], "No such command 'explan'; did you mean 'explain'?"),
        (["rules", "explain", "anti-affinity-exceeds-domain"], "did you mean `anti-affinity-exceeds-domains`?"),
        (["config", "shwo"], "did you mean 'show'?"),
        (["lint", "fixtures/shop", "--formt", "json"], "--format"),
    ],
)
def test_a_slip_gets_a_guess(args: list[str], guess: str) -> None:
    done = run(*args)
    assert done.returncode == 2
    assert guess in done.stderr
    assert "Traceback" not in done.stderr


# --- completion -----------------------------------------------------------------------------------------------------


def started_program(folder: Path) -> str:
    """A ``kubesched-lint`` for the PATH that starts Python."""
    file = folder / "kubesched-lint"
    file.write_text(
        f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(ROOT)!r})\n"
        "from kubesched_lint.cli import main\nmain()\n"
    )
    file.chmod(0o755)
    return str(folder)


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not on PATH")
@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("s", ["simulate", "snapshot"]),
        ("rules e", ["explain"]),
        ("lint --stat", ["--statistics"]),
        ("lint --profile s", ["strict"]),
        ("lint --select anti-affinity-e", ["anti-affinity-exceeds-domains"]),
        ("lint --ignore daemonset-s", ["daemonset-self-affinity", "daemonset-starvation", "daemonset-surge-hostport"]),
        ("rules explain spread-s", None),
    ],
)
def test_bash_completes_commands_options_and_rules(
    tmp_path: Path, program: Path, typed: str, offered: list[str] | None
) -> None:
    words = ["kubesched-lint", *typed.split(" ")]
    array = " ".join(f"'{word}'" for word in words)
    script = (
        'eval "$(kubesched-lint --show-completion bash)"\n'
        f"COMP_WORDS=({array}); COMP_CWORD={len(words) - 1}\n"
        "_kubesched_lint_completion kubesched-lint\n"
        'printf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    path = f"{started_program(tmp_path) if typed == 's' else program.parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "--norc", "-c", script], env={**os.environ, "PATH": path}, capture_output=True, text=True, timeout=60
    )
    found = done.stdout.split()
    assert not done.stderr
    if offered is None:
        assert found
        assert all((ROOT / "rules" / f"{slug}.md").is_file() and slug.startswith("spread-s") for slug in found)
    else:
        assert found == offered


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_has_a_script_that_asks_us(shell: str) -> None:
    done = run("--show-completion", shell)
    assert done.returncode == 0
    assert f"_KUBESCHED_LINT_COMPLETE=complete_{shell}" in done.stdout
    interpreter = shutil.which(shell)
    if interpreter:
        check = subprocess.run([interpreter, "-n"], input=done.stdout, capture_output=True, text=True, check=False)
        assert check.returncode == 0, check.stderr


def test_an_unknown_shell_is_refused() -> None:
    assert run("--show-completion", "tcsh").returncode == 2


# --- colour ---------------------------------------------------------------------------------------------------------


SHOP = ("fixtures/shop", "-c", "fixtures/clusters/three-zones.yaml")


@pytest.mark.parametrize("command", [("lint", *SHOP), ("why", "web", *SHOP), ("simulate", *SHOP, "--events", "deploy")])
def test_the_environment_decides_about_colour_unless_a_flag_does(command: tuple[str, ...]) -> None:
    def is_painted(*flags: str, **environ: str) -> bool:
        return "\x1b[" in run(*command, *flags, **{"NO_COLOR": "", "FORCE_COLOR": "", **environ}).stdout

    assert not is_painted()
    assert is_painted(FORCE_COLOR="1")
    assert not is_painted(FORCE_COLOR="0")
    assert not is_painted(FORCE_COLOR="1", NO_COLOR="1")
    assert is_painted("--color", "always", NO_COLOR="1")
    assert not is_painted("--color", "never", FORCE_COLOR="1")


def test_quiet_leaves_the_findings_and_the_exit_code() -> None:
    whole, quiet = run("lint", *SHOP), run("lint", *SHOP, "--quiet")
    assert whole.returncode == quiet.returncode == 1
    assert whole.stdout.startswith(quiet.stdout)
    assert "error[" in quiet.stdout
    assert not re.search(r"^ ?(checked|result)", quiet.stdout, re.MULTILINE)


def test_a_cluster_that_does_not_exist_is_one_line_on_stderr() -> None:
    done = run("lint", "fixtures/shop", "-c", "no-such.yaml")
    assert done.returncode == 2
    assert (done.stdout, done.stderr) == ("", "error: no-such.yaml: there is no such file\n")


def test_on_elastic_nodes_the_result_says_what_fixed_ones_would_make_of_it() -> None:
    errors = run("lint", *SHOP, "--fixed", "-v").stdout.splitlines()[-1]
    assert errors.split("result")[1].strip() == "2 errors, 1 warning, 1 note"
    elastic = run("lint", *SHOP, "--elastic", "-v").stdout.splitlines()[-1]
    summary = "3 warnings, 1 note; --fixed (no autoscaler) makes 2 warnings errors"
    assert elastic.split("result")[1].strip() == summary


def test_a_list_of_commands_shows_their_own_short_help() -> None:
    """It imports none of them, so that help and a tab key answer at once."""
    from kubesched_lint.cli import app as module

    group = typer.main.get_command(module.app)
    told = {name: group.get_command(None, name).get_short_help_str(100) for name in module._COMMANDS}  # type: ignore[attr-defined]
    assert told == module._COMMANDS
